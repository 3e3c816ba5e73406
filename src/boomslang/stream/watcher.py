"""A watch: a trace is checked while it is being written, until its recorder has ended or the level is broken.

The files are followed (follow.py), and what came in is decided window by window (forward.py). How a watch ends:

- *invalid*: a window has no order, and neither has all that was recorded so far, of which it is a part. What is
  judged is what was recorded by then: at a plain level a value that somebody read before its writer had begun is read
  from nowhere, although `check` of the finished trace might take the writer that came later.
- *valid*: the recorder has ended (somebody said so), and every window has an order.
- *unknown*: a limit was reached, such as the time that one window may be searched; or the windows that are kept do not
  say why one has no order, or something was told too late: a session that was idle went on with what others had not
  waited for. Then the files are read once more from their beginning, in larger windows and with more patience, a few
  times.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from boomslang.checker import Checker
from boomslang.errors import UsageError
from boomslang.levels.catalog import LEVELS
from boomslang.levels.level import Dependency, Level
from boomslang.levels.needs import lacks
from boomslang.solve.solution import Limits, Solution
from boomslang.stream.follow import IDLE, NAP, GrowingFiles
from boomslang.stream.forward import BYTES, KEPT, TAIL, Forward
from boomslang.stream.growing_certificate import GrowingCertificate
from boomslang.stream.keep import Forgotten, Keeper
from boomslang.stream.no_answer import NotForward, Stuck
from boomslang.stream.past import Past
from boomslang.stream.patience import SECONDS
from boomslang.stream.so_far import recorded_so_far
from boomslang.stream.tally import Status, Tally
from boomslang.stream.window import Question
from boomslang.trace.blocks import Block
from boomslang.trace.errors import LimitReached
from boomslang.trace.reader import resident_mb
from boomslang.verdict import INVALID, UNKNOWN, VALID, Verdict
from boomslang.windows.worth import fits_windows

PACE = 0.25
"""Seconds between two windows, at least, unless there is much to read."""
RARELY = 3
"""Where a window took nothing, as a session is waited for, the next comes after so many times what it has cost."""
LOOKING = "looking at all that was recorded so far"
WHOLE = 256 << 20
"""Bytes of a trace that is told as a whole when it is broken."""
SEARCH = 120.0
"""Seconds that one window is searched at most."""
RESTARTS = 3
"""How often the files are read again from their beginning."""
SO_FAR = (
    "Judged is what was recorded up to then: nothing that is recorded later counts as the writer of what was read "
    "before."
)
NOTHING = "no transaction is known to have committed, so what was recorded says nothing about any level"
GONE = "what could tell was deleted (--keep)"
STUCK = "a window has no order, and what came before it, as far as it is kept, does not say why"
_NEEDED = ("times", "sessions")


@dataclass(frozen=True, eq=False)
class Watched:
    """What a watch found."""

    status: str
    """valid, invalid or unknown."""
    reason: str
    last: Status
    """How far it had come."""
    verdict: Verdict | None = None
    """Of what is invalid: with its story."""


class CannotWatch(UsageError):
    """This trace, or this level, cannot be checked while it is being written."""


def refuse_level(level: Level) -> None:
    """Raises if a level cannot be watched."""
    if not fits_windows(level):
        known = ", ".join(level.short for level in LEVELS if fits_windows(level))
        raise CannotWatch(
            f"found the level {level.title}; expected one that an order of begins and commits decides, as a trace "
            f"that is being written asks for: {known}; fix: check the trace when it is finished"
        )


class Watcher:
    """One watch. `run` works until the end; all else may be called from other threads meanwhile."""

    def __init__(
        self,
        path: Path,
        level: Level,
        *,
        memory: float | None = None,
        idle: float = IDLE,
        until_idle: float | None = None,
        size: int = BYTES,
        pace: float = PACE,
        tail: int = TAIL,
        kept: int = KEPT,
        certificate: Path | None = None,
        keep: float | None = None,
        search: float = SEARCH,
    ) -> None:
        """`search`: seconds after which a window that is not decided ends the watch. `certificate`: where that of
        *valid* goes; of what is invalid the verdict has one. `keep`: seconds after which what is checked is deleted."""
        self.path, self.level, self.memory = path, level, memory
        self.idle, self.until_idle, self.size, self.pace = idle, until_idle, size, pace
        self.tail, self.kept, self.search = tail, kept, search
        self.tally = Tally()
        self.start = time.monotonic()
        self.restarts = 0
        self._status = Status(level.title, "waiting for the recorder", 0.0)
        self.lacking: set[str] = set(_NEEDED)
        """What the level needs and nothing recorded so far has."""
        self.certificate = GrowingCertificate(certificate, level)
        self.keeper = None if keep is None else Keeper(path, keep)
        self._ended = threading.Event()
        self._forward: Forward | None = None
        self._past: Past | None = None
        refuse_level(level)

    @property
    def status(self) -> Status:
        """How it is doing now: also in the middle of a window that takes long."""
        status = self._status
        patience = None if self._forward is None else self._forward.patience
        if status.phase != LOOKING and patience is not None and (told := patience.told()):
            status = replace(status, phase=told)
        return replace(status, seconds=time.monotonic() - self.start)

    def end(self) -> None:
        """The recorder has ended, or nobody wants to wait any longer: what is recorded now is all."""
        self._ended.set()

    def run(self) -> Watched:
        """Until the end, or the first violation."""
        try:
            watched = self._run()
            if watched.status == VALID:
                assert self._forward is not None
                self.certificate.finish(self._forward.counted.operations)
            return watched
        finally:
            self.certificate.abandon()

    def _run(self) -> Watched:
        size, patience, said = self.size, self.idle, ""
        while True:
            try:
                verdict = self._through(size, patience)
                return self._invalid(verdict) if verdict is not None else self._valid()
            except LimitReached as limit:
                return self._unknown(limit.reason)
            except (Stuck, NotForward) as why:
                reason = str(why).removesuffix("; give it more --memory") or STUCK
                if self.forgotten:
                    return self._unknown(f"{reason}; {GONE}")
                if isinstance(why, Stuck) and (verdict := self._in_one_piece(self._files())) is not None:
                    return self._invalid(verdict)
                if isinstance(why, NotForward) and not (self._forward and self._forward.counted.windows):
                    raise CannotWatch(
                        f"{self.path}: cannot be checked while it is being written: {reason}"
                    ) from None
                if self.restarts >= RESTARTS or (isinstance(why, NotForward) and reason == said):
                    return self._unknown(reason)
                self.restarts += 1
                said, size, patience = reason, 4 * size, 4 * patience
                self.tally = Tally()

    @property
    def forgotten(self) -> Forgotten | None:
        """What is known of what was deleted; None: nothing was."""
        return self.keeper.forgotten if self.keeper is not None and self.keeper.forgotten else None

    def _files(self) -> GrowingFiles:
        assert self._forward is not None and isinstance(self._forward.blocks, GrowingFiles)
        return self._forward.blocks

    def _through(self, size: int, patience: float) -> Verdict | None:
        """From the beginning of the files to the end of the watch."""
        files = GrowingFiles(
            self.path, idle=patience, check=self._check, seen=self._seen, stop=self._ended.is_set
        )
        limits = Limits(megabytes=self.memory, jobs=1)
        part = replace(limits, seconds=self.search)
        forgotten = None if self.keeper is None else self.keeper.forgotten
        self._past = Past(files.once_more, part, forgotten, growing=True)
        self.certificate.begin(lambda f: files.sources[f].name)
        forward = self._forward = Forward(
            files,
            self.level,
            limits,
            take=self.certificate.take,
            mend=self.certificate.mend,
            refuted=self._refuted,
            size=size,
            tail=self.tail,
            kept=self.kept,
            first_search=min(SECONDS, self.search / 4),
            longest_search=self.search,
        )
        stepped, wait, known = 0.0, self.pace, (0, 0)
        try:
            while True:
                if self._ended.is_set() and not files.ended:
                    files.end()
                files.look()
                self._tell(files, forward)
                now = time.monotonic()
                state = len(files.sources), len(files.idle)
                if not files.ended and self._quiet(files, now):
                    self._ended.set()
                    continue
                much = files.ready >= size // 4 and now - stepped >= wait - self.pace
                some = now - stepped >= wait and files.ready > 0
                changed = now - stepped >= self.pace and state != known
                if not files.ended and not (files.started and (much or some or changed)):
                    self._ended.wait(NAP)
                    continue
                stepped, known, before = now, state, forward.counted.transactions
                if (found := forward.step()) is not None:
                    assert isinstance(found, Verdict)
                    return found
                in_vain = forward.counted.transactions == before
                wait = self.pace + (RARELY * (time.monotonic() - now) if in_vain else 0.0)
                if forward.done:
                    forward.finish()
                    return None
                if self.keeper is not None and not files.ended:
                    self.keeper.tidy(files, forward)
        finally:
            self._tell(files, forward)
            files.close()

    def _quiet(self, files: GrowingFiles, now: float) -> bool:
        return self.until_idle is not None and bool(files.sources) and files.quiet(now) >= self.until_idle

    # --- what is seen on the way

    def _seen(self, block: Block, files: int) -> None:
        self.tally.block(block, files)
        if len(block.trace):
            self.lacking &= set(lacks(self.level, block.trace).values())

    def _check(self) -> None:
        if self.memory is not None and resident_mb() > self.memory:
            raise LimitReached(f"memory limit of {self.memory:.0f} MB reached")

    def _refuted(self, forward: Forward, asked: Question, found: Solution) -> Verdict | None:
        """Is all that was recorded so far refuted?"""
        files = self._files()
        phase = self._status.phase
        self._status = replace(self._status, phase=LOOKING)
        assert self._past is not None
        verdict = self._past(forward, asked, found)
        if verdict is None:
            self._status = replace(self._status, phase=phase)
        return None if verdict is None else self._in_one_piece(files) or verdict

    def _in_one_piece(self, files: GrowingFiles) -> Verdict | None:
        """The verdict on all that was recorded so far as one trace, which its certificate is about; None: it is too
        long for that, or not refuted."""
        if self.forgotten or files.recorded > WHOLE:
            return None
        self._status = replace(self._status, phase=LOOKING)
        try:
            trace = recorded_so_far(self.path, files, memory=self.memory)
            verdict = Checker(trace, timeout=self.search, memory=self.memory).check(self.level)
        except LimitReached:
            return None
        return verdict if verdict.invalid else None

    def _tell(self, files: GrowingFiles, forward: Forward) -> None:
        counted, tally = forward.counted, self.tally
        decided, commits, aborts = tally.speed(counted.transactions)
        phase = "checking" if files.started else "waiting for the recorder"
        if files.ended:
            phase = "checking what is left"
        self._status = Status(
            self.level.title,
            phase,
            time.monotonic() - self.start,
            transactions=counted.transactions,
            per_second=decided,
            committed=tally.committed,
            aborted=tally.aborted,
            commits_per_second=commits,
            aborts_per_second=aborts,
            lag=tally.between(forward.decided, files.newest),
            unread=files.unread,
            megabytes=resident_mb(),
            keys=counted.keys,
            windows=counted.windows,
            joins=counted.joins,
            held=counted.held,
            lost=counted.lost,
            open=counted.open,
            sessions=files.sessions,
            idle=tuple(files.idle),
            restarts=self.restarts,
            latency=tally.latency(),
            recorded=files.recorded,
            deleted=self.forgotten.bytes if self.forgotten else 0,
        )

    # --- answers

    def _valid(self) -> Watched:
        if not self.tally.committed:
            return self._unknown(NOTHING)
        if self.lacking:
            return self._unknown(
                f"no {' and no '.join(sorted(self.lacking))} in the trace: all else that it asks holds"
            )
        return Watched(VALID, "", self._last())

    def _unknown(self, reason: str) -> Watched:
        return Watched(UNKNOWN, reason, self._last())

    def _invalid(self, verdict: Verdict) -> Watched:
        if not self._ended.is_set() and not self.level.has(Dependency.RT):
            verdict = replace(verdict, notes=(*verdict.notes, SO_FAR))
        told = verdict.counterexample
        name = told.anomaly.name if told is not None and told.anomaly is not None else verdict.reason
        return Watched(INVALID, name, self._last(), verdict)

    def _last(self) -> Status:
        return replace(self.status, phase="over", seconds=time.monotonic() - self.start)
