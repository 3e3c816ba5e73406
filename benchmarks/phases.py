"""What the smaller benchmarks share: one check in a fresh process, timed phase by phase, and a table for a page.

The phases are those of the pipeline: *parse* (the trace from its file), *construct* (ASG and IR, written
out for eager back ends), *optimise* (the passes), *encode* (for the solver), *solve*. Explaining is left
out: the question is how long an answer takes.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from run import machine
from simulate import HERE

PHASES = ("parse", "construct", "optimise", "encode", "solve")
MARK = "measured: "
DOCS = HERE.parent / "docs"


@dataclass(frozen=True)
class Way:
    """How a trace is checked."""

    level: str = "ser"
    solver: str = "native"
    passes: tuple[str, ...] | None = ()
    encoding: str | None = None
    timeout: float = 60.0
    clock: str = "wall"
    """Or "cpu": user and system time of the process and its children, which a busy machine tells best."""
    memory: int = 0
    """Megabytes of address space that the process may have; 0: as many as there are."""


@dataclass(frozen=True)
class Run:
    way: Way
    status: str
    seconds: dict[str, float] = field(default_factory=dict)
    megabytes: float = 0.0
    superpositions: int = 0
    left: int = 0
    """Superpositions after the passes."""
    told: dict[str, str] = field(default_factory=dict)

    @property
    def total(self) -> float:
        return sum(self.seconds.values())

    def cells(self) -> list[str]:
        if not self.seconds:
            return [self.status, *[""] * (len(PHASES) + 2)]
        times = [f"{self.seconds.get(phase, 0.0):.3f}" for phase in PHASES]
        return [self.status, *times, f"{self.total:.3f}", f"{self.megabytes:.0f}"]


COLUMNS = ("verdict", *PHASES, "total s", "MB")


def run(path: Path, way: Way, most: float | None = None) -> Run:
    """One check in a process of its own, which is ended after so long (twice its limit and a minute)."""
    words = [str(path), json.dumps(way.__dict__)]
    command = [sys.executable, str(Path(__file__).resolve()), *words]
    try:
        child = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=most or 2 * way.timeout + 60
        )
    except subprocess.TimeoutExpired:
        return Run(way, "did not end")
    for line in child.stdout.splitlines():
        if line.startswith(MARK):
            return Run(way, **json.loads(line.removeprefix(MARK)))
    last = (child.stderr.strip().splitlines() or [f"exit code {child.returncode}"])[-1]
    if way.memory and ("MemoryError" in child.stderr or "bad_alloc" in child.stderr):
        return Run(way, "out of memory")
    return Run(way, f"failed: {last}")


def measure(path: Path, way: Way) -> dict[str, Any]:
    """The same, in this process."""
    import boomslang.trace.formats.jsonl  # noqa: F401 - or it would be timed as parsing
    from boomslang import read_trace
    from boomslang.asg import build_asg
    from boomslang.encodings import find_encoding
    from boomslang.explain.parts import first_broken
    from boomslang.ir import lower
    from boomslang.levels import find_level
    from boomslang.passes import chosen, expand, optimise
    from boomslang.solve.backends import EAGER
    from boomslang.solve.clock import Clock
    from boomslang.solve.solution import Limits
    from boomslang.solve.strategy import solve
    from boomslang.trace import LimitReached

    if way.memory:
        resource.setrlimit(resource.RLIMIT_AS, (way.memory << 20, way.memory << 20))
    now_by = cpu_seconds if way.clock == "cpu" else time.perf_counter
    level, seconds, told = find_level(way.level), {}, {}
    superpositions = left = 0
    start = now_by()

    def lap(phase: str) -> None:
        nonlocal start
        now = now_by()
        seconds[phase] = now - start
        start = now

    trace = read_trace(path)
    lap("parse")
    asg = build_asg(trace)
    if first_broken(asg) is not None:
        lap("construct")
        return {"status": "invalid", "seconds": seconds, "megabytes": _memory()}
    ir = lower(asg, level)
    if way.solver == "native":
        lap("construct")
        status = solve(ir, Limits(way.timeout)).status
        lap("solve")
        return {"status": status, "seconds": seconds, "megabytes": _memory()}
    clock = Clock(Limits(way.timeout))
    back = EAGER[way.solver]
    stop = time.monotonic() + way.timeout
    try:
        encode = None if way.encoding is None else find_encoding(way.encoding).encode
        problem = expand(ir, clock) if encode is None else encode(asg, level, clock)
        lap("construct")
        superpositions = left = len(problem.superpositions)
        limits = Limits(max(0.01, stop - time.monotonic()))
        smaller, effects = optimise(problem, chosen(way.passes), back.solve, limits)
    except LimitReached:
        lap("optimise" if "construct" in seconds else "construct")
        return {
            "status": "unknown",
            "seconds": seconds,
            "megabytes": _memory(),
            "superpositions": superpositions,
            "left": left,
        }
    lap("optimise")
    left, told = len(smaller.superpositions), {effect.name: str(effect) for effect in effects}
    status = "invalid"
    if not smaller.refuted:
        found = back.solve(smaller, Limits(max(0.01, stop - time.monotonic())))
        status = found.status
        lap("solve")
        encode, search = (found.stats.get(name, 0.0) for name in ("encode", "solve"))
        # A solver tells both by the clock on the wall: so are they shares of what it took.
        seconds["encode"] = seconds["solve"] * encode / max(encode + search, 1e-9)
        seconds["solve"] -= seconds["encode"]
    return {
        "status": status,
        "seconds": seconds,
        "megabytes": _memory(),
        "superpositions": superpositions,
        "left": left,
        "told": told,
    }


def cpu_seconds() -> float:
    uses = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)


def _memory() -> float:
    """The peak, in megabytes, as the system tells it of this program: what `getrusage` tells begins with the peak of
    whoever forked the process."""
    status = Path("/proc/self/status")
    for line in status.read_text().splitlines() if status.exists() else ():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# --- showing it


def shown(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=False)).rstrip()


def table(names: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> list[str]:
    """A Markdown table; the first `words` columns are text, the others numbers."""
    rule = ["---" if i < words else "---:" for i in range(len(names))]
    lines = [f"| {' | '.join(names)} |", f"| {' | '.join(rule)} |"]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def page(
    name: str,
    title: str,
    paragraphs: Sequence[str],
    lines: Sequence[str],
    arguments: Sequence[str],
    *,
    script: str | None = None,
) -> None:
    """Writes docs/NAME.md; the script is called NAME.py too, unless it says otherwise."""
    command = " ".join([f"python benchmarks/{script or name}.py", *arguments])
    text = [f"# {title}", "", f"Measured by `{command}` on {machine()}.", ""]
    for paragraph in paragraphs:
        text += [paragraph, ""]
    (DOCS / f"{name}.md").write_text("\n".join([*text, *lines]) + "\n")


def parser(doc: str | None, name: str) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog=f"{name}.py", description=(doc or "").splitlines()[0])
    made.add_argument("--write", action="store_true", help=f"write docs/{name}.md")
    return made


if __name__ == "__main__":
    given = json.loads(sys.argv[2])
    given["passes"] = None if given["passes"] is None else tuple(given["passes"])
    print(MARK + json.dumps(measure(Path(sys.argv[1]), Way(**given))))
