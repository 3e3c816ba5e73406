"""One client: a session that runs its stream of transactions, one after the other, and records them.

An abort is counted, and the next transaction comes (or the same again, if retries are asked for). A lost connection is
replaced, and the session goes on: whether the transaction committed stays unknown if it was committing, and the
recorder has written that down. A trace that cannot be written any further ends the client, before anything is
committed that is not on file.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import select
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from boomslang.databases.database import Aborted, Connection, Database, DatabaseError, Failed, Lost
from boomslang.errors import UsageError
from boomslang.record import Recorded, RecordingFailed, Tracer
from boomslang.run.client_board import CUT, DIE, DONE, KILLED, NOTHING, READY, RUNNING, Board, Row
from boomslang.run.faults import wire
from boomslang.workloads import GiveUp, Transaction, Workload

PATIENCE = 30.0
"""Seconds in which a lost database must be back."""
LOOK_UP = 32
"""Transactions after which a client looks whether the runner still lives."""
WAIT = 0.05
"""Seconds for which one that is ahead waits for those behind: no longer, since one of them may hang."""
PAUSES = 8
"""A client pauses once in so many operations, and for so many times as long: what is dangerous is not that all are
slow, but that others pass by one that is."""


@dataclass(frozen=True)
class Job:
    """What a client is to do. Picklable if the database is."""

    database: Database
    workload: Workload
    level: str
    tracer: Tracer
    slot: int
    """Its row on the board."""
    name: str
    """Of its session in the trace."""
    session: int
    """Whose stream it runs."""
    first: int
    end: int
    """The numbers of its transactions in the stream."""
    retries: int
    node: int
    """Which of the database's nodes it begins with."""
    listens: bool
    """It may be told to die or to lose its connection."""
    tells: bool = False
    """Its level is not that of the run, so its transactions say it."""

    def ctx(self, node: str | None) -> dict[str, str] | None:
        """What is noted with each of its transactions."""
        said = {"node": node, "level": self.level if self.tells else None}
        return {name: told for name, told in said.items() if told is not None} or None


class _Killed(BaseException):
    """The client was told to die. No error: nothing must catch it but the end."""


class _TimeIsUp(BaseException):
    """The run is over, and the client is waiting for a database that is not back yet. It has not given up."""


class Client:
    """Runs a job. `alive` says whether the runner still is."""

    def __init__(self, job: Job, board: Board, alive: Callable[[], bool] = lambda: True) -> None:
        self.job = job
        self.board = board
        self.me: Row = board.row(job.slot)
        self.alive = alive
        self.node = job.node
        self.connection: Connection | None = None
        settings = job.workload.settings
        self.longest_pause = 2 * PAUSES * settings.pause / 1000
        """In seconds; any shorter one is as likely."""
        self.random = random.Random(f"{settings.seed}/{job.session}/pauses")
        within = job.workload.meets_within()
        self.apart = None if within is None else max(1.0, within / 2)
        """By how many transactions it may be ahead of the slowest."""

    def run(self) -> None:
        """All transactions, or as many as there were until the end. Raises what ended it early."""
        job = self.job
        try:
            self.connection = self._connect()
            with job.tracer.session(job.name) as session:
                self.me.set("state", READY)
                while not self.board.going and not self._over():
                    time.sleep(0.001)
                self.me.set("number", job.first)
                self.me.set("state", RUNNING)
                if job.listens:
                    threading.Thread(target=self._listen, daemon=True, name=f"{job.name} ears").start()
                for number in range(job.first, job.end):
                    if self.board.stopped or (number % LOOK_UP == 0 and self._over()):
                        break
                    self._keep_together(number)
                    self.me.set("number", number + 1)
                    for attempt in range(1 + job.retries):
                        if self._transaction(session, job.workload.transaction(job.session, number, attempt)):
                            break
        except _Killed:
            self.me.set("state", KILLED)
        except _TimeIsUp:
            pass
        finally:
            if self.connection is not None:
                self.connection.close()
            if self.me.state != KILLED:
                self.me.set("state", DONE)

    def _transaction(self, session: Any, transaction: Transaction) -> bool:
        """Runs it. False if it was aborted by the database, and may be tried again."""
        assert self.connection is not None
        recorded = Recorded(self.connection, session)
        while True:
            try:
                recorded.begin(self.job.level, ctx=self.job.ctx(self.connection.node))
                break
            except (Aborted, Failed):
                self.me.add("aborted")
                return False
            except Lost:  # nothing has begun
                self._reconnect()
                recorded = Recorded(self.connection, session)
        committing = again = False
        self.me.set("inside", 1)
        try:
            plain = not (self.job.listens or self.longest_pause)
            transaction.run(recorded if plain else _Attentive(recorded, self.me, self._pause))
            self._pause()
            if not self.alive():
                raise _Killed  # whoever runs next there is not told of us
            committing = True
            recorded.commit()
            self.me.add("committed")
        except GiveUp:
            self._abort(recorded)
        except Aborted:
            again = True
            self.me.add("aborted")
        except Failed:
            again = True
            self._abort(recorded)
        except Lost:
            self.me.add("unknown" if committing else "aborted")
            self._reconnect()
        except RecordingFailed:
            with suppress(DatabaseError):
                recorded.abort()
            raise
        self.me.set("inside", 0)
        return not again

    def _keep_together(self, number: int) -> None:
        """Waits a moment for sessions that are so far behind that this one would not meet them any more."""
        if self.apart is None or number - self.board.slowest() <= self.apart:
            return
        end = time.monotonic() + WAIT
        while (
            number - self.board.slowest() > self.apart and time.monotonic() < end and not self.board.stopped
        ):
            time.sleep(0.0005)

    def _pause(self) -> None:
        if self.longest_pause and self.random.random() * PAUSES < 1:
            time.sleep(self.longest_pause * self.random.random())

    def _abort(self, recorded: Recorded) -> None:
        self.me.add("aborted")
        try:
            recorded.abort()
        except Lost:
            self._reconnect()

    def _connect(self) -> Connection:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return self.job.database.connect_to(self.node)
            except Lost as lost:
                if self.job.database.fails_over:
                    self.node = (self.node + 1) % len(self.job.database.nodes)
                if time.monotonic() > end:
                    raise UsageError(f"the database cannot be reached: {lost}") from None
                if not self.alive():
                    raise _Killed from None
                if self.board.stopped:
                    raise _TimeIsUp from None
                time.sleep(0.05)

    def _reconnect(self) -> None:
        assert self.connection is not None
        self.connection.close()
        self.connection = None
        self.connection = self._connect()

    def _over(self) -> bool:
        return self.board.stopped or not self.alive()

    def _listen(self) -> None:
        """Cuts the connection when told to, whatever is being done with it."""
        while self.me.state == RUNNING:
            if self.me.order == CUT:
                self.me.set("order", NOTHING)
                connection = self.connection
                cut = None if connection is None else wire(connection)
                if cut is not None:
                    cut()
            time.sleep(0.002)


class _Attentive:
    """A recorded connection that, before each operation, pauses and looks whether its client is to die.

    So a client that is a thread dies as a killed process does: in the middle of a transaction, without abort or
    goodbye; the operating system would close its connection, and so does the end of `Client.run`.
    """

    def __init__(self, recorded: Recorded, me: Row, pause: Callable[[], None]) -> None:
        self._recorded = recorded
        self._me = me
        self._pause = pause

    def __getattr__(self, name: str) -> Any:
        self._pause()
        if self._me.order == DIE:
            raise _Killed
        return getattr(self._recorded, name)


def in_process(job: Job, board: Board, answer: Any) -> None:
    """The body of a client's process: sends None when it is done, or the exception that ended it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the runner decides what Ctrl-C means
    runner = multiprocessing.parent_process()
    ends = select.poll()  # asked before each commit: a tenth of what `is_alive` takes
    if runner is not None:
        ends.register(runner.sentinel, select.POLLIN)
    problem: BaseException | None = None
    try:
        Client(job, board, lambda: runner is None or not ends.poll(0)).run()
    except UsageError as error:
        problem = UsageError(str(error))
    except BaseException as error:
        problem = RuntimeError(f"{type(error).__name__}: {error}")
    with suppress(OSError):
        answer.send(problem)
        answer.close()
    # Drivers may leave threads behind that would keep the process.
    os._exit(0)
