"""What the smaller benchmarks share: one check in a fresh process, timed phase by phase, and a table for a page.

The phases are those of the pipeline: *parse* (the trace from its file), *construct* (ASG and IR, written
out for eager back ends), *optimise* (the passes), *encode* (for the solver), *solve*. Explaining is left
out: the question is how long an answer takes.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from run import machine
from simulate import HERE

from boomslang.solve.solution import Limits
from boomslang.trace import LimitReached

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
    """Or "cpu": user and system time of the process and its children, which a busy machine tells best. Then the limit
    is one of CPU seconds too, and the clock on the wall may show PATIENCE times as many."""
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
PATIENCE = 10
"""So many times the limit by the clock, where it is one of CPU seconds: for machines that others use, too."""
GRACE = 15
"""CPU seconds after its limit in which a check may still say how far it came; then it is killed."""
DID_NOT_END = "did not end"


def run(path: Path, way: Way) -> Run:
    """One check in a process of its own. One that does not heed its limit is killed, and so is one that takes far
    longer by the clock; what is known of it then is the phases that it came to the end of."""
    words = [str(path), json.dumps(way.__dict__)]
    command = [sys.executable, str(Path(__file__).resolve()), *words]
    most = (PATIENCE if way.clock == "cpu" else 2) * way.timeout + 60
    try:
        child = subprocess.run(command, capture_output=True, text=True, check=False, timeout=most)
        code, said, complained = child.returncode, child.stdout, child.stderr
    except subprocess.TimeoutExpired as late:
        code, said, complained = -signal.SIGKILL, (late.stdout or b"").decode(), ""
    told = [json.loads(line.removeprefix(MARK)) for line in said.splitlines() if line.startswith(MARK)]
    if told and (told[-1]["status"] != DID_NOT_END or code in (-signal.SIGKILL, -signal.SIGXCPU)):
        return Run(way, **told[-1])
    if code in (-signal.SIGKILL, -signal.SIGXCPU):
        return Run(way, DID_NOT_END)
    if way.memory and ("MemoryError" in complained or "bad_alloc" in complained):
        return Run(way, "out of memory")
    return Run(way, f"failed: {(complained.strip().splitlines() or [f'exit code {code}'])[-1]}")


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
    from boomslang.solve.strategy import solve

    if way.memory:
        resource.setrlimit(resource.RLIMIT_AS, (way.memory << 20, way.memory << 20))
    limits = Limits(way.timeout)
    if way.clock == "cpu":
        limits = Limits(PATIENCE * way.timeout)
        _end_by_cpu(limits, way.timeout)
    now_by = cpu_seconds if way.clock == "cpu" else time.perf_counter
    clock = Clock(limits)
    level = find_level(way.level)
    found: dict[str, Any] = {"status": DID_NOT_END, "seconds": {}, "megabytes": 0.0}
    seconds = found["seconds"]
    start = now_by()

    def lap(phase: str) -> None:
        """The phase is over; said at once, as the next may not come to its end."""
        nonlocal start
        now = now_by()
        seconds[phase] = now - start
        start = now
        found["megabytes"] = _memory()
        print(MARK + json.dumps(found), flush=True)

    def over(status: str) -> dict[str, Any]:
        return {**found, "status": status, "megabytes": _memory()}

    trace = read_trace(path)
    lap("parse")
    asg = build_asg(trace)
    if first_broken(asg) is not None:
        lap("construct")
        return over("invalid")
    ir = lower(asg, level)
    if way.solver == "native":
        lap("construct")
        status = solve(ir, clock.left()).status
        lap("solve")
        return over(status)
    back = EAGER[way.solver]
    phase = "construct"
    try:
        encode = None if way.encoding is None else find_encoding(way.encoding).encode
        problem = expand(ir, clock) if encode is None else encode(asg, level, clock)
        found["superpositions"] = found["left"] = len(problem.superpositions)
        lap(phase)
        phase = "optimise"
        smaller, effects = optimise(problem, chosen(way.passes), back.solve, limits)
        found["left"] = len(smaller.superpositions)
        found["told"] = {effect.name: str(effect) for effect in effects}
        lap(phase)
        if smaller.refuted:
            return over("invalid")
        phase = "solve"
        solution = back.solve(smaller, limits)
        lap(phase)
    except LimitReached:
        lap(phase)
        return over("unknown")
    encoded, searched = (solution.stats.get(name, 0.0) for name in ("encode", "solve"))
    # A solver tells both by the clock on the wall: so are they shares of what it took.
    seconds["encode"] = seconds["solve"] * encoded / max(encoded + searched, 1e-9)
    seconds["solve"] -= seconds["encode"]
    return over(solution.status)


def _end_by_cpu(limits: Limits, most: float) -> None:
    """After so many CPU seconds the limits are over, which whoever looks at them sees; whoever does not is interrupted
    some seconds later; and what hears no Python at all is killed."""
    heard = 0

    def expired(*_: object) -> None:
        nonlocal heard
        heard += 1  # the system says it again every second
        object.__setattr__(limits, "seconds", 0.0)
        if heard > 3:
            raise LimitReached("time")

    signal.signal(signal.SIGXCPU, expired)
    soft = math.ceil(most)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, soft + GRACE))


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
