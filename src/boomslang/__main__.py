"""`python -m boomslang` is the command `boomslang`."""

from boomslang.cli.entry import run

if __name__ == "__main__":
    run()
