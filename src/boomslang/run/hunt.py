"""The hunt: run after run, each another seed and other settings (variation.py), until one breaks the level.

While a run is being checked, in a process of its own, the next one goes. Traces that are valid are thrown away; one
that is not is kept, with its certificate, and so is one that the checker gave up on. A hunt's time ends its runs and
not its last check; that has its own limit, if any, and what it finds is explained within one (`EXPLAINING`).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from boomslang.checker import check
from boomslang.errors import UsageError
from boomslang.levels import Level, find_level
from boomslang.record.rules import ROTATED
from boomslang.run.near_misses import NearMisses, near_misses
from boomslang.run.runner import Plan, Ran, Speed, require_empty, run
from boomslang.trace import read_trace
from boomslang.verdict import INVALID, UNKNOWN, VALID
from boomslang.workers.forked import processes
from boomslang.workers.processes import end_with_parent

if TYPE_CHECKING:
    from boomslang.stream.beside import Beside, Told

Status = Callable[["Hunted", Speed | None], object]
Learn = Callable[["Tried"], object]
STORY = 60
"""Lines of a story that are kept."""
EXPLAINING = 30.0
"""Seconds for which a finding is explained. Whoever hunts wants to know of it; `boomslang check` of what was kept takes
the time that a minimal core needs."""
CUT_SHORT = (
    "(Time ran out before every part had been tried: fewer may do, and `boomslang check` of it looks longer.)"
)


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
    story: tuple[str, ...] = ()
    """What is wrong with it, in words."""

    def to_json(self) -> dict[str, Any]:
        certificate = None if self.certificate is None else str(self.certificate)
        return {
            "trace": str(self.trace),
            "certificate": certificate,
            "status": self.status,
            "reason": self.reason or None,
            "run": self.about,
        }


@dataclass(frozen=True)
class Tried:
    """One run of a hunt that was checked."""

    number: int
    """From 1."""
    began: float
    """Seconds after the hunt did."""
    status: str
    reason: str
    near: NearMisses | None
    """None: nobody looked."""
    about: dict[str, Any]
    """What was run."""

    def to_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "began": round(self.began, 3),
            "status": self.status,
            "reason": self.reason or None,
            "near_misses": None if self.near is None else self.near.to_json(),
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
    tried: list[Tried] = field(default_factory=list)
    """The runs that have been checked, one by one."""
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
            "tried": [tried.to_json() for tried in self.tried],
            "problems": self.problems,
            "seconds": round(self.seconds, 3),
        }


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
    keep: float | None = None,
    learn: Learn | None = None,
    explaining: float = EXPLAINING,
) -> Hunted:
    """Runs plan after plan for so many seconds, and checks each trace, within `timeout` seconds and `memory` megabytes.
    A violation is explained for `explaining` seconds at most: if that was too little its core is not minimal.

    With `watch` each is checked while it runs, and a run ends when it is found out; a session that says nothing is
    waited for so many seconds. With `keep`, too, what is checked and older than so many seconds is deleted.

    Stops at the first that is invalid, or goes on to collect more, until `enough` says that it is. `folder` must be new
    or empty; what is found stays there, and the first run has the number `first`. `learn` is told of each run once it
    is checked, which is while the next one goes.
    """
    place = made_folder(folder)
    hunted = Hunted()
    tell = status or (lambda *_: None)
    start = time.monotonic()

    def left() -> float:
        hunted.seconds = time.monotonic() - start
        return seconds - hunted.seconds

    def note(tried: Tried) -> None:
        hunted.tried.append(tried)
        if learn is not None:
            learn(tried)

    checker = _Checker(note, find_level(level), modules, timeout, memory, explaining)
    try:
        for plan in plans:
            trace = place / f"run-{hunted.runs + first:04d}"
            began = time.monotonic() - start
            with _beside(trace, level, watch, memory, keep) as watching:
                ran = run(
                    plan,
                    trace,
                    seconds=max(0.1, left()),
                    until=_any(watching.found, lambda: not collect and checker.found()),
                    progress=lambda speed: tell(hunted, speed),
                    rotate=None if keep is None else keep * ROTATED,
                )
                told = watching.answer()
            hunted.runs += 1
            for problem in ran.problems:
                hunted.problems.append(f"{trace.name}: {problem}")
            if ran.problems and not ran.committed:
                raise UsageError("\n".join(ran.problems))
            done = checker.collect(hunted)  # the run before this one
            if (done == INVALID and not collect) or (enough is not None and enough(hunted)):
                shutil.rmtree(trace)
                break
            if told is not None and told.status == VALID:
                hunted.valid += 1
                hunted.committed += ran.committed
                note(Tried(hunted.runs - 1 + first, began, VALID, "", None, ran.to_json()))
                shutil.rmtree(ran.folder)
            elif told is not None and told.last.deleted:
                hunted.committed += ran.committed
                about = ran.to_json()
                note(Tried(hunted.runs - 1 + first, began, told.status, told.reason, None, about))
                hunted.found.append(
                    Quarry(ran.folder, None, told.status, told.reason, about, told.story[:STORY])
                )
                if told.status == INVALID and not collect:
                    break
            else:
                checker.ask(ran, hunted.runs - 1 + first, began)
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

    def answer(self) -> None:
        return None


class _Watch:
    """A watch beside a run. What it says of a violation, or cannot say, the checker says of the finished trace, if
    that is still whole."""

    def __init__(self, beside: Beside) -> None:
        self.found, self._beside = beside.found, beside

    def answer(self) -> Told | None:
        """What it says, once the run is over; None: it cannot say anything."""
        self._beside.end()
        try:
            return self._beside.answer()
        except (UsageError, RuntimeError):
            return None


@contextmanager
def _beside(
    trace: Path, level: str | Level, idle: float | None, memory: float | None, keep: float | None
) -> Iterator[_Watch | _NoWatch]:
    if idle is None:
        yield _NoWatch()
        return
    from boomslang.stream.beside import Beside

    with Beside(trace, find_level(level), idle=idle, memory=memory, keep=keep) as beside:
        yield _Watch(beside)


class _Answer(NamedTuple):
    """What the checker says of a trace. An "error" has the exception for its reason."""

    status: str
    reason: Any
    near: NearMisses | None = None
    story: tuple[str, ...] = ()


class _Checker:
    """A process that checks one trace at a time."""

    def __init__(self, note: Callable[[Tried], object], *question: Any) -> None:
        self.note = note
        self.question = question
        self.asked: tuple[Ran, int, float] | None = None
        self.answer: _Answer | None = None
        self._begin()

    def _begin(self) -> None:
        context = processes(preload="boomslang.run.client")
        self.wire, theirs = context.Pipe()
        self.process = context.Process(target=_answer, args=(theirs, *self.question), daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, ran: Ran, number: int, began: float) -> None:
        self.asked = ran, number, began
        self.wire.send(str(ran.folder))

    def collect(self, hunted: Hunted) -> str:
        """Waits for the answer, if one was asked for, and notes it."""
        if self.asked is None:
            return VALID
        answer = self.answer or self._receive()
        (ran, number, began), self.asked, self.answer = self.asked, None, None
        status, reason = answer.status, answer.reason
        if status == "error":
            raise reason
        self.note(Tried(number, began, status, reason, answer.near, ran.to_json()))
        hunted.committed += ran.committed
        if status == VALID:
            hunted.valid += 1
            shutil.rmtree(ran.folder)
        else:
            file = certificate_of(ran.folder)
            certificate = file if file.exists() else None
            quarry = Quarry(ran.folder, certificate, status, reason, ran.to_json(), answer.story)
            hunted.found.append(quarry)
        return status

    def found(self) -> bool:
        """Has it found a violation already?"""
        if self.asked is not None and self.answer is None and self.wire.poll():
            self.answer = self._receive()
        return self.answer is not None and self.answer.status == INVALID

    def _receive(self) -> _Answer:
        try:
            return _Answer(*self.wire.recv())
        except (EOFError, OSError):  # it was killed, most likely for its memory
            self._begin()
            return _Answer(UNKNOWN, "the checker died")

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
    wire: Any,
    level: str | Level,
    modules: tuple[str, ...],
    timeout: float | None,
    memory: float | None,
    explaining: float,
) -> None:
    """The body of the checker's process. It ends when the other end of the wire is closed.

    A level comes as itself: the name of one that a file has is not known here.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    while True:
        try:
            trace = Path(wire.recv())
        except (EOFError, OSError):  # closed, or torn off by Ctrl-C with an answer still in it
            os._exit(0)
        try:
            read = read_trace(trace)
            verdict = check(
                read, level, modules=modules, timeout=timeout, memory=memory, explaining=explaining
            )
            told = verdict.counterexample
            reason = told.anomaly.name if told is not None and told.anomaly is not None else verdict.reason
            if verdict.status == INVALID and (data := verdict.certificate()) is not None:
                certificate_of(trace).write_text(json.dumps(data) + "\n")
            story = () if told is None else tuple(islice(told.lines(), STORY))
            if told is not None and told.cut_short:
                story = (*story, CUT_SHORT)
            answer = _Answer(verdict.status, reason, near_misses(read), story)
        except Exception as error:
            problem = (
                error if isinstance(error, UsageError) else RuntimeError(f"{type(error).__name__}: {error}")
            )
            answer = _Answer("error", problem)
        try:
            wire.send(tuple(answer))
        except OSError:
            os._exit(0)
