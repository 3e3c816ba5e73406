"""A run: a database, a workload and a level in, a trace out.

The database is emptied and loaded, the clients connect, and once all of them are ready they are let go together. They
are processes of their own where the database is a server, threads where it lives in this process. The runner watches
the board, reports how fast it goes, makes the faults that were asked for, and writes down in `run.json`, beside the
sessions of the trace, what was run.
"""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import boomslang
from boomslang.databases.database import Database, DatabaseError, Lost, Offered
from boomslang.errors import UsageError
from boomslang.levels import find_level, implies
from boomslang.record import Recorded, RecordingFailed, Tracer
from boomslang.run.client import Client, Job, in_process
from boomslang.run.client_board import CUT, DIE, DONE, KILLED, RUNNING, STARTING, Board
from boomslang.run.fault_schedule import Scheduled, Trouble, check_schedule
from boomslang.run.faults import CUT_CONNECTION, KILL_CLIENT, Fault, check_faults, schedule
from boomslang.workers.forked import processes
from boomslang.workloads import Workload

ABOUT = "run.json"
"""The file that tells what a trace's folder holds."""
STALLED = 120.0
"""Seconds without any progress after which a run is given up."""
GRACE = 30.0
"""Seconds in which clients must end when they are told to."""

Progress = Callable[["Speed"], object]


@dataclass(frozen=True)
class Speed:
    """How a run is doing."""

    begun: int
    total: int
    committed: int
    aborted: int
    seconds: float

    def __str__(self) -> str:
        each = max(self.seconds, 1e-3)
        return f"{self.committed / each:,.0f} commits/s, {self.aborted / each:,.0f} aborts/s"


@dataclass(frozen=True)
class Plan:
    """What is to be run."""

    database: Database
    workload: Workload
    level: Offered
    txns: int = 1000
    """In all sessions together; what is tried again is not counted again."""
    retries: int = 0
    """How often a transaction that the database aborted is tried again."""
    faults: dict[str, int] = field(default_factory=dict)
    schedule: tuple[Scheduled, ...] = ()
    """Faults of a cluster's nodes."""
    others_at: Offered | None = None
    """What every other session is asked for; it promises no less than `level`, so the promise is that of `level`."""

    def __post_init__(self) -> None:
        if self.others_at is not None and not promises_no_less(self.others_at, self.level):
            raise UsageError(
                f"found other sessions at {self.others_at.name!r}, which does not promise what {self.level.name!r} "
                "does; expected a level that does"
            )
        for name, least in (("txns", 1), ("retries", 0)):
            if getattr(self, name) < least:
                raise UsageError(f"found {name} = {getattr(self, name)}; expected {least} or more")
        missing = self.workload.needs - self.database.capabilities
        if missing:
            raise UsageError(
                f"the workload {self.workload.name} needs {' and '.join(sorted(missing))}, "
                f"which {self.database.title} does not offer; see `boomslang workloads`"
            )

    @property
    def sessions(self) -> int:
        return min(self.workload.settings.sessions, self.txns)

    def notes(self, version: str) -> dict[str, Any]:
        """What the header of the trace says: what was recorded, how it was set, and what it had to endure."""
        faults = [f"{kind}={count}" for kind, count in self.faults.items()] + list(map(str, self.schedule))
        told = {
            "database": version,
            "level": self.level.name,
            "workload": self.workload.name,
            "settings": dict(self.database.settings),
            "faults": "; ".join(faults),
            "others_at": self.others_at and self.others_at.name,
        }
        return {name: said for name, said in told.items() if said}

    def to_json(self) -> dict[str, Any]:
        return {
            "database": self.database.name,
            "level": self.level.name,
            "others_at": self.others_at and self.others_at.name,
            "promises": self.level.promises,
            "modules": list(self.level.modules),
            "workload": self.workload.name,
            "txns": self.txns,
            "retries": self.retries,
            "faults": self.faults,
            "schedule": "; ".join(map(str, self.schedule)),
            "options": {name: said for name, said in self.database.options.items() if said},
            "settings": dict(self.database.settings),
            **self.workload.settings.to_json(),
        }


def promises_no_less(other: Offered, level: Offered) -> bool:
    """Does a level promise all that another does? One whose promise has modules is not compared."""
    alike = not other.modules and not level.modules
    return alike and implies(find_level(other.promises), find_level(level.promises))


@dataclass(frozen=True)
class Ran:
    """What a run did."""

    plan: Plan
    folder: Path
    version: str
    """Of the database, as it told itself."""
    seconds: float
    committed: int
    aborted: int
    unknown: int
    faults: list[str]
    """Those that were made."""
    problems: list[str]
    """What ended clients before their time. The trace is right all the same."""
    gave_up: bool = False
    """No client came to the end of its transactions: this is not the load that was asked for."""
    left_behind: bool = False
    """A client that hung could not be ended, as it is a thread: the database is not ours alone any more."""
    fault_times: list[dict[str, Any]] = field(default_factory=list)
    """Faults of nodes: what, and from when to when by the clock that the sessions were recorded by."""

    @property
    def speed(self) -> Speed:
        begun = self.committed + self.aborted + self.unknown
        return Speed(begun, self.plan.txns, self.committed, self.aborted, self.seconds)

    def to_json(self) -> dict[str, Any]:
        return {
            "boomslang": boomslang.__version__,
            **self.plan.to_json(),
            "version": self.version,
            "seconds": round(self.seconds, 3),
            "committed": self.committed,
            "aborted": self.aborted,
            "unknown": self.unknown,
            "made_faults": self.faults,
            "fault_times": self.fault_times,
            "problems": self.problems,
            "gave_up": self.gave_up,
        }


def run(
    plan: Plan,
    folder: str | os.PathLike[str],
    *,
    seconds: float | None = None,
    until: Callable[[], bool] | None = None,
    progress: Progress | None = None,
    rotate: float | None = None,
) -> Ran:
    """Runs it and records it into `folder`, which must be new or empty.

    Ends early after so many seconds, or as soon as `until` says so. `rotate`: seconds after which each client goes on
    recording in another file.
    """
    return _Run(plan, Path(folder), seconds, until, progress, rotate).run()


def require_empty(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: found a file; expected a new or empty folder; fix: name another")
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(
            f"found files in the folder {folder}; expected a new or empty one; fix: name another"
        )


class _Body(Protocol):
    """A client's thread or process."""

    def is_alive(self) -> bool: ...
    def problem(self) -> str | None: ...
    def kill(self) -> None: ...


class _Run:
    def __init__(
        self,
        plan: Plan,
        folder: Path,
        seconds: float | None,
        until: Callable[[], bool] | None,
        progress: Progress | None,
        rotate: float | None,
    ) -> None:
        self.plan = plan
        self.rotate = rotate
        self.folder = folder
        self.seconds = seconds
        self.until = until or (lambda: False)
        self.progress = progress or (lambda _: None)
        self.waiting = schedule(plan.faults, plan.txns)
        self.made: list[str] = []
        self.problems: list[str] = []
        self.gave_up = False
        self.left_behind = False
        self.context: Any = processes(preload="boomslang.run.client")
        kills = plan.faults.get(KILL_CLIENT, 0)
        self.board = Board(plan.sessions + kills, self.context)
        self.jobs: list[Job] = []
        self.bodies: list[_Body] = []
        self.repairs: list[threading.Thread] = []
        # Which client a fault meets is no part of the workload's stream, but follows from the seed too.
        self.random = random.Random(f"{plan.workload.settings.seed}/faults")

    def run(self) -> Ran:
        with ExitStack() as stack:
            try:
                stack.enter_context(self.plan.database.claimed())
            except Lost as error:
                raise UsageError(f"{self.plan.database.title} cannot be made ready: {error}") from None
            return self._alone()

    def _alone(self) -> Ran:
        plan = self.plan
        check_faults(plan.faults, plan.database)
        check_schedule(plan.schedule, plan.database)
        trouble = Trouble(plan.schedule, getattr(plan.database, "server", None)) if plan.schedule else None
        initial = plan.workload.initial()
        require_empty(self.folder)  # before a database is emptied for nothing
        try:
            if trouble is not None:
                trouble.prepare()
            plan.database.prepare(initial)
            version = plan.database.version()
        except DatabaseError as error:
            raise UsageError(f"{plan.database.title} cannot be made ready: {error}") from None
        self.tracer = Tracer(
            self.folder, initial=initial or "empty", rotate=self.rotate, ctx=plan.notes(version)
        )
        share, more = divmod(plan.txns, plan.sessions)
        try:
            for n in range(plan.sessions):
                self._start(f"c{n + 1}", n, 0, share + (n < more))
            self._wait(lambda: all(row.state != STARTING for row in self._rows()), "no client could begin")
            self.board.go()
            if trouble is not None:
                trouble.begin()
            start = time.monotonic()
            self._watch(start)
            self.problems += [
                f"a fault was not made: {fault.kind}: the run was over" for fault in self.waiting
            ]
            took = time.monotonic() - start
        finally:
            self.board.stop()
            if trouble is not None:
                trouble.heal()
            self._end()
        if trouble is not None:
            self.problems += trouble.problems
            self.made += [f"{seconds:.1f} s: {what}" for seconds, what in trouble.happened]
            self._read_everything()
        ran = Ran(
            plan, self.folder, version, took,
            self.board.total("committed"), self.board.total("aborted"), self.board.total("unknown"),
            self.made, self.problems, self.gave_up, self.left_behind, trouble.spans if trouble else [],
        )  # fmt: skip
        try:
            (self.folder / ABOUT).write_text(json.dumps(ran.to_json(), indent=2) + "\n")
        except OSError as error:
            raise RecordingFailed(f"{self.folder / ABOUT}: {error.strerror or error}") from error
        return ran

    # --- clients

    def _start(self, name: str, session: int, first: int, end: int) -> None:
        plan = self.plan
        other = plan.others_at if session % 2 else None
        level = (other or plan.level).name
        job = Job(
            plan.database, plan.workload, level, self.tracer, len(self.jobs), name, session, first, end,
            plan.retries, session % max(1, len(plan.database.nodes)), bool(plan.faults), other is not None,
        )  # fmt: skip
        self.jobs.append(job)
        body = _Thread if plan.database.one_process else _Process
        self.bodies.append(body(job, self.board, self.context))

    def _rows(self) -> list[Any]:
        return [self.board.row(job.slot) for job in self.jobs]

    def _dead(self) -> bool:
        return not any(body.is_alive() for body in self.bodies)

    def _wait(self, until: Callable[[], bool], problem: str) -> None:
        end = time.monotonic() + STALLED
        while not until() and not self._dead():
            if time.monotonic() > end:
                raise UsageError(f"{problem} within {STALLED:.0f} s")
            time.sleep(0.002)

    def _watch(self, start: float) -> None:
        last, moved = -1, start
        while not self._dead():
            now = time.monotonic()
            speed = self._speed(now - start)
            self.progress(speed)
            done = speed.committed + speed.aborted
            if done != last:
                last, moved = done, now
            if now - moved > STALLED:
                self.problems.append(f"nothing moved for {STALLED:.0f} s; the run was given up")
                self.gave_up = True
                return
            if (self.seconds is not None and now - start > self.seconds) or self.until():
                self.waiting.clear()
                return
            over = 0.0 if self.seconds is None else (now - start) / self.seconds
            while self.waiting and (self.waiting[0].after <= speed.begun or self.waiting[0].share <= over):
                if not self._make(self.waiting[0]):
                    break  # nobody is in a transaction at this moment
                self.waiting.pop(0)
            time.sleep(0.01 if not self.waiting else 0.001)

    def _speed(self, seconds: float) -> Speed:
        # A client's number is where it is in its stream; one that took over began where the killed one was.
        rows = zip(self.jobs, self._rows(), strict=True)
        begun = sum(max(0, row.number - job.first) for job, row in rows)
        return Speed(
            begun, self.plan.txns, self.board.total("committed"), self.board.total("aborted"), seconds
        )

    # --- faults

    def _make(self, fault: Fault) -> bool:
        if fault.kind not in (KILL_CLIENT, CUT_CONNECTION):
            self.made.append(fault.kind)
            thread = threading.Thread(target=self._kill_server, daemon=True)
            self.repairs.append(thread)
            thread.start()
            return True
        inside = [n for n, row in enumerate(self._rows()) if row.state == RUNNING and row.inside]
        if not inside:
            return False
        n = self.random.choice(inside)
        job, row = self.jobs[n], self.board.row(n)
        if fault.kind == CUT_CONNECTION:
            row.set("order", CUT)
        else:
            row.set("order", DIE)
            self.bodies[n].kill()
            if row.state == DONE:
                return False  # it was faster
            if row.inside:
                row.add("unknown")
            row.set("state", KILLED)
            self._start(f"{job.name}+", job.session, row.number, job.end)
        self.made.append(f"{fault.kind} {job.name}")
        return True

    def _kill_server(self) -> None:
        server: Any = getattr(self.plan.database, "server", None)
        try:
            server.kill()
            time.sleep(0.2)
            server.restart()
        except Exception as error:
            self.problems.append(f"the server did not come back: {error}")
            self.board.stop()

    # --- the end

    def _read_everything(self) -> None:
        """A last look at all there is, from every node: what was confirmed and is lost shows in it."""
        database = self.plan.database
        faults = "; ".join(map(str, self.plan.schedule))
        for n, node in enumerate(database.nodes):
            try:
                recorded = Recorded(database.connect_to(n), self.tracer.session(f"last-{node}"))
                try:
                    recorded.begin(self.plan.level.name, ctx={"node": node, "faults": faults})
                    recorded.scan(None, None)
                    recorded.commit()
                finally:
                    recorded.close()
                    recorded.session.close()
            except DatabaseError as error:
                self.problems.append(f"the last read of {node} failed: {error}")

    def _end(self) -> None:
        for thread in self.repairs:
            thread.join(GRACE)
        end = time.monotonic() + GRACE
        fine = 0
        for n, (job, body) in enumerate(zip(self.jobs, self.bodies, strict=True)):
            while body.is_alive() and time.monotonic() < end:
                time.sleep(0.002)
            if body.is_alive():
                self.problems.append(f"client {job.name} hung, and was given up")
                body.kill()
                self.left_behind |= self.plan.database.one_process
            elif (problem := body.problem()) is not None and self.board.row(n).state != KILLED:
                self.problems.append(f"client {job.name}: {problem}")
            elif self.board.row(n).state != KILLED:
                fine += 1
        self.gave_up = self.gave_up or not fine


class _Process:
    def __init__(self, job: Job, board: Board, context: Any) -> None:
        self.answer, theirs = context.Pipe(duplex=False)
        self.process = context.Process(
            target=in_process, args=(job, board, theirs), daemon=True, name=job.name
        )
        self.process.start()
        theirs.close()

    def is_alive(self) -> bool:
        return bool(self.process.is_alive())

    def kill(self) -> None:
        self.process.kill()
        self.process.join()

    def problem(self) -> str | None:
        self.process.join()
        try:
            error = self.answer.recv() if self.answer.poll() else None
        except EOFError:
            error = None
        finally:
            self.answer.close()
        if error is None and self.process.exitcode:
            code = self.process.exitcode
            return f"died of {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return None if error is None else str(error)


class _Thread:
    def __init__(self, job: Job, board: Board, context: Any) -> None:
        self.error: BaseException | None = None
        self.client = Client(job, board)
        self.thread = threading.Thread(target=self._run, name=job.name, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.client.run()
        except BaseException as error:
            self.error = error

    def is_alive(self) -> bool:
        return self.thread.is_alive()

    def kill(self) -> None:
        """It was told to die, and does so at its next operation."""
        self.thread.join(GRACE)

    def problem(self) -> str | None:
        if self.error is None:
            return None
        told = str(self.error)
        return told if isinstance(self.error, UsageError) else f"{type(self.error).__name__}: {told}"
