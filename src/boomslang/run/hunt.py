"""The hunt: run after run, each another seed and another contention, until one breaks the level.

While a run is being checked, in a process of its own, the next one goes. Traces that are valid are thrown away; one
that is not is kept, with its certificate, and so is one that the checker gave up on.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boomslang.checker import check
from boomslang.errors import UsageError
from boomslang.levels import Level, find_level
from boomslang.run.runner import Plan, Ran, Speed, require_empty, run
from boomslang.trace import read_trace
from boomslang.verdict import INVALID, UNKNOWN, VALID
from boomslang.workers.forked import processes
from boomslang.workloads import Workload

if TYPE_CHECKING:
    from boomslang.stream.beside import Beside

SHRINK = (1, 4, 16, 64)
"""A run has so many times fewer keys than the workload's own number."""
SKEWS = ("uniform", "zipf", "hotspot")
LEAST_KEYS = 2
SESSIONS = 8
"""If nothing is said of them; then every other run or so has half of them."""

Status = Callable[["Hunted", Speed | None], object]


@dataclass(frozen=True)
class Quarry:
    """A trace that is not valid, or that the checker gave up on."""

    trace: Path
    certificate: Path | None
    status: str
    reason: str
    """The anomaly's name, or why the answer is unknown."""
    about: dict[str, Any]
    """What was run."""

    def to_json(self) -> dict[str, Any]:
        certificate = None if self.certificate is None else str(self.certificate)
        return {
            "trace": str(self.trace),
            "certificate": certificate,
            "status": self.status,
            "reason": self.reason or None,
            "run": self.about,
        }


@dataclass
class Hunted:
    """How much was tried, and what was found."""

    runs: int = 0
    committed: int = 0
    """Transactions in the runs that have been checked."""
    valid: int = 0
    seconds: float = 0.0
    found: list[Quarry] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    gave_up: bool = False
    """It ended because all clients of a run did before their time."""

    def of(self, status: str) -> list[Quarry]:
        return [quarry for quarry in self.found if quarry.status == status]

    def to_json(self) -> dict[str, Any]:
        return {
            "runs": self.runs,
            "committed": self.committed,
            "valid": self.valid,
            "invalid": [quarry.to_json() for quarry in self.of(INVALID)],
            "unknown": [quarry.to_json() for quarry in self.of(UNKNOWN)],
            "problems": self.problems,
            "seconds": round(self.seconds, 3),
        }


def variations(workload: type[Workload], given: Mapping[str, Any], seed: int) -> Iterator[Workload]:
    """The workload as it is, then with other seeds and contentions. What was given stays as it was given."""
    rng = random.Random(f"{seed}/hunt")
    given = {**given, "sessions": given.get("sessions")}
    fixed = given["sessions"] is not None
    given["sessions"] = given["sessions"] or SESSIONS
    yield workload.with_settings(**{**given, "seed": seed})
    while True:
        seed += 1
        chosen = workload.with_settings(**{**given, "seed": seed}).settings
        if "keys" in workload.uses and given.get("keys") is None:
            chosen = replace(
                chosen, keys=max(min(LEAST_KEYS, chosen.keys), chosen.keys // rng.choice(SHRINK))
            )
        if "distribution" in workload.uses and given.get("distribution") is None:
            chosen = replace(chosen, distribution=rng.choice(SKEWS))
        if "ops" in workload.uses and given.get("ops") is None:
            chosen = replace(chosen, ops=max(1, rng.choice((chosen.ops, chosen.ops // 2))))
        if not fixed:
            chosen = replace(chosen, sessions=max(2, rng.choice((chosen.sessions, chosen.sessions // 2))))
        yield workload(chosen)


def hunt(
    plans: Iterator[Plan],
    folder: str | os.PathLike[str],
    level: str | Level,
    *,
    modules: tuple[str, ...] = (),
    seconds: float = 60.0,
    collect: bool = False,
    timeout: float | None = None,
    memory: float | None = None,
    status: Status | None = None,
    first: int = 1,
    watch: float | None = None,
    enough: Callable[[Hunted], bool] | None = None,
) -> Hunted:
    """Runs plan after plan for so many seconds, and checks each trace, within `timeout` seconds and `memory` megabytes.

    With `watch` each is checked while it runs, and a run ends when it is found out; a session that says nothing is
    waited for so many seconds.

    Stops at the first that is invalid, or goes on to collect more, until `enough` says that it is. `folder` must be new
    or empty; what is found stays there, and the first run has the number `first`.
    """
    place = made_folder(folder)
    hunted = Hunted()
    tell = status or (lambda *_: None)
    start = time.monotonic()

    def left() -> float:
        hunted.seconds = time.monotonic() - start
        return seconds - hunted.seconds

    checker = _Checker(find_level(level).name, modules, timeout, memory)
    try:
        for plan in plans:
            trace = place / f"run-{hunted.runs + first:04d}"
            with _beside(trace, level, watch, memory) as watching:
                ran = run(
                    plan,
                    trace,
                    seconds=max(0.1, left()),
                    until=_any(watching.found, lambda: not collect and checker.found()),
                    progress=lambda speed: tell(hunted, speed),
                )
                holds = watching.holds()
            hunted.runs += 1
            for problem in ran.problems:
                hunted.problems.append(f"{trace.name}: {problem}")
            if ran.problems and not ran.committed:
                raise UsageError("\n".join(ran.problems))
            done = checker.collect(hunted)  # the run before this one
            if (done == INVALID and not collect) or (enough is not None and enough(hunted)):
                shutil.rmtree(trace)
                break
            if holds:
                hunted.valid += 1
                hunted.committed += ran.committed
                shutil.rmtree(ran.folder)
            else:
                checker.ask(ran)
            tell(hunted, None)
            if ran.left_behind:
                hunted.problems.append(
                    f"{trace.name}: the hunt ends here; what the client that hung may still commit would be missing "
                    "from the next trace"
                )
                break
            if ran.gave_up:
                hunted.gave_up = True
                hunted.problems.append(
                    f"{trace.name}: the hunt ends here: every client gave up before its time"
                )
                break
            if left() <= 0:
                break
        checker.collect(hunted)
    finally:
        checker.close()
    left()
    return hunted


def made_folder(folder: str | os.PathLike[str]) -> Path:
    """A new or empty folder for what is found."""
    place = Path(folder)
    require_empty(place)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise UsageError(
            f"{place}: cannot keep anything there ({failure.strerror}); expected a folder that can be written to"
        ) from None
    return place


def _any(*asked: Callable[[], bool]) -> Callable[[], bool]:
    return lambda: any(ask() for ask in asked)


class _NoWatch:
    """Nobody looks while it runs."""

    def found(self) -> bool:
        return False

    def holds(self) -> bool:
        return False


class _Watch:
    """A watch beside a run. What it says of a violation, or cannot say, the checker says of the finished trace."""

    def __init__(self, beside: Beside) -> None:
        self.found, self._beside = beside.found, beside

    def holds(self) -> bool:
        """Was the level kept? Asked once the run is over."""
        self._beside.end()
        try:
            return self._beside.answer().status == VALID
        except (UsageError, RuntimeError):
            return False


@contextmanager
def _beside(
    trace: Path, level: str | Level, idle: float | None, memory: float | None
) -> Iterator[_Watch | _NoWatch]:
    if idle is None:
        yield _NoWatch()
        return
    from boomslang.stream.beside import Beside

    with Beside(trace, find_level(level), idle=idle, memory=memory) as beside:
        yield _Watch(beside)


class _Checker:
    """A process that checks one trace at a time."""

    def __init__(self, *question: Any) -> None:
        self.question = question
        self.asked: Ran | None = None
        self.answer: tuple[str, Any] | None = None
        self._begin()

    def _begin(self) -> None:
        context = processes(preload="boomslang.run.client")
        self.wire, theirs = context.Pipe()
        self.process = context.Process(target=_answer, args=(theirs, *self.question), daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, ran: Ran) -> None:
        self.asked = ran
        self.wire.send(str(ran.folder))

    def collect(self, hunted: Hunted) -> str:
        """Waits for the answer, if one was asked for, and notes it."""
        if self.asked is None:
            return VALID
        status, reason = self.answer or self._receive()
        ran, self.asked, self.answer = self.asked, None, None
        if status == "error":
            raise reason
        hunted.committed += ran.committed
        if status == VALID:
            hunted.valid += 1
            shutil.rmtree(ran.folder)
        else:
            file = certificate_of(ran.folder)
            quarry = Quarry(ran.folder, file if file.exists() else None, status, reason, ran.to_json())
            hunted.found.append(quarry)
        return status

    def found(self) -> bool:
        """Has it found a violation already?"""
        if self.asked is not None and self.answer is None and self.wire.poll():
            self.answer = self._receive()
        return self.answer is not None and self.answer[0] == INVALID

    def _receive(self) -> tuple[str, Any]:
        try:
            status, reason = self.wire.recv()
        except (EOFError, OSError):  # it was killed, most likely for its memory
            self._begin()
            return UNKNOWN, "the checker died"
        return status, reason

    def close(self) -> None:
        self.wire.close()  # the end of its questions
        self.process.join(0.5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def certificate_of(trace: Path) -> Path:
    """Where the certificate of a trace is kept: beside its folder, which holds sessions only."""
    return trace.with_name(f"{trace.name}.certificate.json")


def _answer(
    wire: Any, level: str, modules: tuple[str, ...], timeout: float | None, memory: float | None
) -> None:
    """The body of the checker's process. It ends when the other end of the wire is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            trace = Path(wire.recv())
        except (EOFError, OSError):  # closed, or torn off by Ctrl-C with an answer still in it
            os._exit(0)
        try:
            verdict = check(read_trace(trace), level, modules=modules, timeout=timeout, memory=memory)
            told = verdict.counterexample
            reason = told.anomaly.name if told is not None and told.anomaly is not None else verdict.reason
            if verdict.status == INVALID and (data := verdict.certificate()) is not None:
                certificate_of(trace).write_text(json.dumps(data) + "\n")
            answer: tuple[str, Any] = (verdict.status, reason)
        except Exception as error:
            problem = (
                error if isinstance(error, UsageError) else RuntimeError(f"{type(error).__name__}: {error}")
            )
            answer = ("error", problem)
        try:
            wire.send(answer)
        except OSError:
            os._exit(0)
