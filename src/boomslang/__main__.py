"""`python -m boomslang` is the command `boomslang`."""

from boomslang.cli.main import run

if __name__ == "__main__":
    run()
