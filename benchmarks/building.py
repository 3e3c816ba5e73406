"""What `make demo` costs on a machine that has nothing of it: the environment, each compilation, the demo.

In a fresh clone, without a cache of compilations. CPU seconds are counted by the system for each step and what it
started; a compilation's by a launcher, which CMake puts before the compiler: this file, with `--launch`. Each is then
repeated with nothing but reading the source (`-fsyntax-only`) and without optimisation (`-O0`): what no setting saves.

    python benchmarks/building.py            print it
    python benchmarks/building.py --write    write docs/benchmarks-build.md
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "benchmarks-build.md"
STEPS = {
    ".venv/.made": "the environment, with pip",
    ".venv/.built": "fetching what builds and runs, configuring, linking, installing",
    "demo": "the demo itself, with SlateDB's wheel",
}


def cpu(command: list[str], **options: object) -> float:
    """CPU seconds of a command and all that it waited for; it must end well."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, **options)  # type: ignore[call-overload]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def launch(log: str, command: list[str]) -> int:
    """Compile, and note down how long it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = subprocess.run(command, check=False).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    with Path(log).open("a") as notes:
        notes.write(json.dumps([seconds, str(Path.cwd()), command]) + "\n")
    return code


def name_of(command: list[str]) -> str:
    """Which part of the program a compilation makes."""
    output = command[command.index("-o") + 1]
    found = re.search(r"CMakeFiles/([\w-]+)\.dir/(?:native/)?(.*)\.o$", output)
    if not found:
        return output
    return found[1] if "unity" in found[2] else found[2]


def less(options: list[str], command: list[str], place: str) -> float:
    """The same compilation with other optimisation, and nothing kept."""
    words = [word for word in command if not re.fullmatch(r"-O.|-MD", word)]
    for option in ("-o", "-MT", "-MF"):
        if option in words:
            at = words.index(option)
            del words[at : at + 2]
    return cpu([*words, *options, "-o", os.devnull], cwd=place)


def measure() -> tuple[dict[str, float], list[tuple[str, float, float, float]]]:
    """CPU seconds of each step, and of each compilation: as it is, -O0, and its source read."""
    with tempfile.TemporaryDirectory() as folder:
        clone, log = Path(folder) / "clone", Path(folder) / "compilations"
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        launcher = [sys.executable, str(Path(__file__).resolve()), "--launch", str(log)]
        environment = {**os.environ, "CMAKE_CXX_COMPILER_LAUNCHER": ";".join(launcher)}
        python = getattr(sys, "_base_executable", sys.executable)
        steps = {}
        for step in STEPS:
            print(f"make {step} ...", file=sys.stderr)
            make = ["make", "--silent", f"PYTHON={python}", step]
            steps[step] = cpu(make, cwd=clone, env=environment, stdout=sys.stderr)
        noted = [json.loads(line) for line in log.read_text().splitlines()]
        # Not what CMake compiles to try the compiler.
        made = [each for each in noted if "-c" in each[2] and "TryCompile" not in each[1]]
        steps[".venv/.built"] -= sum(seconds for seconds, _, _ in made)
        rows = []
        for seconds, place, command in made:
            print(f"{name_of(command)} again ...", file=sys.stderr)
            without, read = (less([option], command, place) for option in ("-O0", "-fsyntax-only"))
            rows.append((name_of(command), seconds, without, read))
    return steps, sorted(rows, key=lambda row: -row[1])


def page(steps: dict[str, float], rows: list[tuple[str, float, float, float]]) -> str:
    compiled = [sum(row[n] for row in rows) for n in (1, 2, 3)]
    total = sum(steps.values()) + compiled[0]
    compiler = subprocess.run(
        [os.environ.get("CXX", "c++"), "--version"], capture_output=True, text=True, check=True
    ).stdout.splitlines()[0]
    lines = [
        "# What it costs to build",
        "",
        "Measured by `python benchmarks/building.py --write`: CPU seconds of `make demo` in a fresh clone, without",
        f"a cache of compilations; {compiler}, Python {sys.version.split()[0]}, {os.cpu_count()} cores,",
        f"load {os.getloadavg()[1]:.0f}.",
        "",
        "| step | CPU s |",
        "| --- | ---: |",
        *(f"| {words} | {steps[step]:.1f} |" for step, words in STEPS.items()),
        f"| compiling | {compiled[0]:.1f} |",
        f"| all | {total:.1f} |",
        "",
        "Each compilation as it is, the same without optimisation, and its source only read. What the last two columns",
        "hold no setting of the compiler saves; only less code does, or fewer templates:",
        "",
        "| part | CPU s | -O0 | read |",
        "| --- | ---: | ---: | ---: |",
        *(f"| {name} | {' | '.join(f'{value:.1f}' for value in values)} |" for name, *values in rows),
        f"| all | {' | '.join(f'{value:.1f}' for value in compiled)} |",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    given = parser.parse_args()
    text = page(*measure())
    if given.write:
        PAGE.write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--launch"]:
        sys.exit(launch(sys.argv[2], sys.argv[3:]))
    sys.exit(main())
