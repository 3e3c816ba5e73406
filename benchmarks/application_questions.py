"""Questions about one trace, each at its level, in one process that is measured as it goes.

A question costs what this process uses for it: reading the trace is counted with each, Python's start with none. The
limit of a question is meant as seconds of the processor, but the engine has an eye on the time of day alone; so it is
given as many times more as this process has had to wait for its turn so far, or as there are processes that want one.
An answer that took longer than the limit all the same counts as unknown.

    python benchmarks/application_questions.py TRACE '{"questions": [["ser", null], ["si", "1s"]], "timeout": 10,
        "memory": 4000}'
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from boomslang import Checker, UsageError, read_trace
from boomslang.levels import bounded, find_level
from boomslang.levels.within import written

Question = tuple[str, str | None]
"""A level, and the bound within which it is asked for."""
NOTHING = {
    "status": "unknown", "core": 0, "decided_by": "", "name": "", "lines": 0, "reason": "", "cpu": 0.0,
    "megabytes": 0.0, "solving": 0.0, "explaining": 0.0, "refuted_within": None,
}  # fmt: skip
BUSIEST = 12.0
GRACE = 60.0


def ask(path: Path, questions: Sequence[Question], timeout: float, memory: float) -> list[dict[str, Any]]:
    """The figures of each question. A process that does not end is ended; what it had answered counts."""
    given = json.dumps({"questions": list(questions), "timeout": timeout, "memory": memory})
    command = [sys.executable, __file__, str(path), given]
    environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ}  # as the command has it
    limit = GRACE + len(questions) * 2 * BUSIEST * timeout
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, check=False, env=environment
        )
        out, why = done.stdout, (done.stderr.strip().splitlines() or ["it ended early"])[-1]
    except subprocess.TimeoutExpired as late:
        out, why = (late.stdout or b"").decode(), "did not end"
    found = [json.loads(line) for line in out.splitlines()]
    return found + [{**NOTHING, "status": "error", "reason": why} for _ in questions[len(found) :]]


class Measured(Checker):
    """A checker that notes how long it solved and how long it explained, in seconds of this process."""

    seconds_solving = seconds_explaining = 0.0
    _inside = False

    @contextmanager
    def _measured(self, what: str) -> Iterator[None]:
        if self._inside:
            yield
            return
        self._inside, begin = True, time.process_time()
        try:
            yield
        finally:
            self._inside = False
            setattr(self, what, getattr(self, what) + time.process_time() - begin)

    def solve(self, *given: Any, **more: Any) -> Any:
        with self._measured("seconds_solving"):
            return super().solve(*given, **more)

    def explained(self, *given: Any, **more: Any) -> Any:
        with self._measured("seconds_explaining"):
            return super().explained(*given, **more)

    def explained_by_proof(self, *given: Any, **more: Any) -> Any:
        with self._measured("seconds_explaining"):
            return super().explained_by_proof(*given, **more)


def _most_memory() -> float:
    """Megabytes. (What Linux says of a process begins with what the one had that started it, so ask for the memory's
    own record where there is one.)"""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _answers(
    path: Path, questions: Sequence[Question], timeout: float, memory: float
) -> Iterator[dict[str, Any]]:
    trace, reading = read_trace(path), time.process_time() - _started[1]
    for level, within in questions:
        day, used = time.monotonic() - _started[0], time.process_time() - _started[1]
        crowd = os.getloadavg()[0] / (os.cpu_count() or 1)
        busy = min(BUSIEST, max(1.0, day / max(used, 0.05), crowd))
        checker = Measured(trace, timeout=timeout * busy, memory=memory)
        begin = time.process_time()
        asked = find_level(level)
        try:
            verdict = checker.check(asked if within is None else bounded(asked, within))
        except UsageError as error:
            yield {**NOTHING, "status": "error", "reason": str(error)}
            continue
        made = {**NOTHING, "status": verdict.status, "reason": verdict.reason or ""}
        made["decided_by"] = str(verdict.stats.get("decided by", ""))
        if (example := verdict.counterexample) is not None:
            made["core"] = len(example.core.transactions)
            made["name"] = "no name" if example.anomaly is None else example.anomaly.name
            made["lines"] = sum(1 for _ in example.lines())
        if verdict.bounded is not None:
            made["refuted_within"] = written(verdict.bounded.refuted_within, verdict.bounded.unit)
        made["cpu"] = time.process_time() - begin + reading
        made["solving"], made["explaining"] = checker.seconds_solving, checker.seconds_explaining
        made["megabytes"] = _most_memory()
        if made["cpu"] > timeout + reading + max(2.0, checker.seconds_explaining):
            made |= {"status": "unknown", "reason": "it came too late"}
        yield made


_started = time.monotonic(), time.process_time()

if __name__ == "__main__":
    told = json.loads(sys.argv[2])
    for line in _answers(Path(sys.argv[1]), told["questions"], told["timeout"], told["memory"]):
        print(json.dumps(line), flush=True)
