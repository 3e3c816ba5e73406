"""How long does a check take, and what does it need? The measuring half; `cases.py` says of what.

Each check runs in a fresh process, one at a time, so that no case profits from another's warm
memory and the peak is its own. Seconds mean little between machines, so two ratios go with
them: loading over merely reading the file's bytes (what the reader costs), and solving over
loading (what the checker costs; at most 1 on a real, valid history is the aim). Over the sizes of
a ladder the slope of log time over log size is the exponent of growth: 1 is linear.

    python benchmarks/run.py                      the quick group
    python benchmarks/run.py standard weak        groups by name; --list shows what is in them
    python benchmarks/run.py all --write          everything but ten-million, into docs/benchmarks.md
    python benchmarks/run.py all --only Zipf      the cases whose name holds this

Exit code 1 if a verdict is not the expected one or a check broke down, else 0: speed is reported,
never judged.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cases import GROUPS, Case
from simulate import DATA, HERE, compiler, stored

REPORT = HERE.parent / "docs" / "benchmarks.md"
RESULTS = DATA / "results.json"
MARK = "measured: "  # opens the one line of a child's output that is for the parent


# ---------------------------------------------------------------- in the child: one check


def read_bytes(path: Path) -> int:
    """The yardstick: every byte of the trace, read and forgotten."""
    size = 0
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        with file.open("rb", buffering=0) as stream:
            while piece := stream.read(1 << 20):
                size += len(piece)
    return size


def measure(path: Path, level: str, timeout: float, memory: float) -> dict[str, Any]:
    """Load and check in this process."""
    import boomslang

    read = math.inf
    for _ in range(4):  # the best counts: disks are not the subject
        start = time.perf_counter()
        size = read_bytes(path)
        read = min(read, time.perf_counter() - start)

    start = time.perf_counter()
    trace = boomslang.read_trace(path)
    load = time.perf_counter() - start
    verdict = boomslang.check(trace, level=level, timeout=timeout, memory=memory)
    total = time.perf_counter() - start
    usage = resource.getrusage(resource.RUSAGE_SELF)

    def spent(*phases: str) -> float:
        return float(sum(verdict.stats.get(phase, 0) for phase in phases))

    return {
        "status": verdict.status,
        "reason": verdict.reason,
        "transactions": len(trace.txn_outcome),
        "operations": len(trace.op_kind),
        "bytes": size,
        "read": read,
        "load": load,
        "analyse": spent("analyse", "lower"),
        "solve": spent("solve"),
        "explain": spent("certify", "explain"),
        "total": total,
        "cpu": usage.ru_utime + usage.ru_stime,
        "megabytes": usage.ru_maxrss / 1024,
        "conflicts": verdict.stats.get("conflicts", 0),  # none where analysis alone decides
        "decisions": verdict.stats.get("decisions", 0),
    }


# ---------------------------------------------------------------- in the parent: all of them


@dataclass(frozen=True)
class Result:
    group: str
    case: Case
    figures: dict[str, Any]  # empty when the child broke down
    error: str = ""

    @property
    def status(self) -> str:
        return str(self.figures.get("status", "error"))

    @property
    def as_expected(self) -> bool:
        if self.status == "error":
            return False
        if self.status == "unknown":
            return self.case.may_give_up
        return self.case.expect in (None, self.status)

    @property
    def reached(self) -> bool | None:
        """Within the numbers to reach; None when the case has none."""
        if self.case.seconds is None or not self.figures:
            return None
        fits = self.case.megabytes is None or self.figures["megabytes"] <= self.case.megabytes
        return fits and bool(self.figures["total"] <= self.case.seconds)


def run_case(group: str, case: Case) -> Result:
    path = case.history if isinstance(case.history, Path) else stored(case.history)
    words = [str(path), case.level, str(case.timeout), str(case.memory)]
    command = [sys.executable, str(Path(__file__).resolve()), "--child", *words]
    child = subprocess.run(command, capture_output=True, text=True, check=False)
    for line in child.stdout.splitlines():
        if line.startswith(MARK):
            return Result(group, case, json.loads(line.removeprefix(MARK)))
    last = (child.stderr.strip().splitlines() or [f"exit code {child.returncode}"])[-1]
    return Result(group, case, {}, error=last)


def slope(points: Iterable[tuple[float, float]]) -> float:
    """The exponent b of y = a x^b, by least squares in the logarithms."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    mean_x = sum(x for x, _ in logs) / len(logs)
    mean_y = sum(y for _, y in logs) / len(logs)
    spread = sum((x - mean_x) ** 2 for x, _ in logs)
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / spread


def ladders(results: list[Result]) -> dict[str, float]:
    """The slope of total time over transactions, for each ladder with two rungs or more."""
    rungs: dict[str, dict[int, float]] = {}
    for result in results:
        if result.case.ladder and result.figures:
            sizes = rungs.setdefault(result.case.ladder, {})
            sizes[result.figures["transactions"]] = result.figures["total"]
    return {name: slope(sizes.items()) for name, sizes in rungs.items() if len(sizes) > 1}


# ---------------------------------------------------------------- showing it

COLUMNS = (
    ("case", 46),
    ("level", 19),
    ("verdict", 8),
    ("load s", 7),
    ("analyse", 7),
    ("solve", 7),
    ("explain", 7),
    ("total", 7),
    ("CPU", 7),
    ("MB", 6),
    ("conflicts", 9),
    ("decisions", 9),
    ("solve/load", 10),
    ("load/read", 9),
    ("reach", 12),
)


def row(result: Result) -> list[str]:
    case, f = result.case, result.figures
    head = [case.name, case.level, result.status]
    if not f:
        return [*head, *[""] * (len(COLUMNS) - 4), result.error]
    reach = "" if case.seconds is None else f"{case.seconds:g} s"
    if case.megabytes is not None:
        reach += f" {case.megabytes:g} MB"
    if result.reached is False:
        reach += " gave up" if result.status == "unknown" else " missed"
    if not result.as_expected:
        reach = f"WRONG: expected {case.expect}"
    seconds = [f"{f[name]:.3f}" for name in ("load", "analyse", "solve", "explain", "total", "cpu")]
    counts = [f"{f['megabytes']:.0f}", str(f["conflicts"]), str(f["decisions"])]
    ratios = [f"{f['solve'] / f['load']:.2f}", f"{f['load'] / f['read']:.1f}"]
    return [*head, *seconds, *counts, *ratios, reach]


def plain(cells: Iterable[str]) -> str:
    """A line for the terminal: words to the left, numbers to the right."""
    pairs = [(cell, name, width) for cell, (name, width) in zip(cells, COLUMNS, strict=True)]
    words = ("case", "level", "verdict", "reach")
    return "  ".join(c.ljust(w) if name in words else c.rjust(w) for c, name, w in pairs).rstrip()


def machine() -> str:
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if "model name" in line
        ]
        model = models[0] if models else model
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    version = subprocess.run([compiler(), "--version"], capture_output=True, text=True, check=False).stdout
    return (
        f"{os.cpu_count()} cores ({model}), {memory:.0f} GB of memory, {platform.system()}, "
        f"Python {platform.python_version()}, {version.splitlines()[0] if version else compiler()}, "
        f"{datetime.date.today().isoformat()}, load average at the start {os.getloadavg()[0]:.1f}"
    )


def report(results: list[Result], about: str, command: str) -> str:
    """The page `docs/benchmarks.md`."""
    lines = [
        "# Benchmarks",
        "",
        f"Measured by `{command}` on {about}.",
        "",
        "Seconds are wall-clock time in a fresh process for each line; *total* is load and check together,",
        "without the start of Python; *analyse* leads up to the IR, *explain* makes the certificate,",
        "*CPU* what the whole process used, Python's start included (on a busy machine it says more than the",
        "wall clock). *load/read* is loading over merely reading the file's bytes,",
        "*solve/load* what the solver costs on top. *reach* is the number the project set itself.",
        "Histories come from the seeded simulator in `benchmarks/simulate.py`, except those of the corpus;",
        "their transactions have 8 operations. An SI, RR or RC database promises no more than that.",
        "Traces of a real database, a file system's metadata and RandomBench beside the published times, are on",
        "[a page of their own](benchmarks-recorded.md).",
    ]
    for group in dict.fromkeys(result.group for result in results):
        names = [name for name, _ in COLUMNS]
        rule = ["---" if name in ("case", "level", "verdict", "reach") else "---:" for name in names]
        lines += ["", f"## {group}", "", f"| {' | '.join(names)} |", f"| {' | '.join(rule)} |"]
        lines += [f"| {' | '.join(row(result))} |" for result in results if result.group == group]
    if slopes := ladders(results):
        lines += ["", "## Growth", "", "The exponent of total time over size; 1 is linear.", ""]
        lines += ["| ladder | exponent |", "| --- | ---: |"]
        lines += [f"| {name} | {value:.2f} |" for name, value in slopes.items()]
    return "\n".join(lines) + "\n"


def save(results: list[Result], about: str, command: str) -> None:
    """For programs: every figure, under the name of its case."""
    rows = [
        {
            "group": result.group,
            "case": result.case.name,
            "level": result.case.level,
            "expect": result.case.expect,
            "as_expected": result.as_expected,
            "reached": result.reached,
            "error": result.error,
            **result.figures,
        }
        for result in results
    ]
    DATA.mkdir(exist_ok=True)
    content = {"machine": about, "command": command, "results": rows, "slopes": ladders(results)}
    RESULTS.write_text(json.dumps(content, indent=1) + "\n")


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--child"]:
        path, level, timeout, memory = arguments[1:]
        print(MARK + json.dumps(measure(Path(path), level, float(timeout), float(memory))))
        return 0

    parser = argparse.ArgumentParser(prog="run.py", description="Measure the checker.")
    parser.add_argument("groups", nargs="*", help=f"all, or some of: {', '.join(GROUPS)} (default: quick)")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="only cases whose name or level holds TEXT"
    )
    parser.add_argument("--list", action="store_true", help="show the cases and run none")
    parser.add_argument("--write", action="store_true", help=f"write docs/{REPORT.name}")
    given = parser.parse_args(arguments)
    names = given.groups or ["quick"]
    if names == ["all"]:
        names = [name for name in GROUPS if name != "ten-million"]
    if strangers := [name for name in names if name not in GROUPS]:
        parser.error(f"no group {strangers[0]!r}; there are {', '.join(GROUPS)}, and all")

    chosen = [(name, case) for name in names for case in GROUPS[name]()]
    chosen = [(name, case) for name, case in chosen if given.only in f"{case.name} {case.level}"]
    if given.list:
        for name, case in chosen:
            print(f"{name:12} {case.name:42} {case.level:20} {case.expect or 'any verdict'}")
        return 0

    about = machine()
    command = " ".join(["python benchmarks/run.py", *arguments])
    print(about, plain(name for name, _ in COLUMNS), sep="\n\n")
    results: list[Result] = []
    for name, case in chosen:
        results.append(run_case(name, case))
        print(plain(row(results[-1])), flush=True)
        save(results, about, command)
    for ladder, exponent in ladders(results).items():
        print(f"growth of {ladder}: total ~ size^{exponent:.2f}")
    if given.write:
        REPORT.parent.mkdir(exist_ok=True)
        REPORT.write_text(report(results, about, command))
    wrong = [result for result in results if not result.as_expected]
    print(f"{len(results)} checks, {len(wrong)} not as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
