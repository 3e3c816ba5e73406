"""From what a protocol tells of a connection to its trace: statements sent, answers that came, states, ends.

A watcher tells, in the order of the bytes: `sent` before a statement is forwarded, `answered` or `failed` when its
answer is there, `settled` when the server has said whether a transaction is open. Behind it is the `Conversation` that
`trace_connection` uses, so that the trace is the one that it would have written.

Clients need not wait for an answer before they send on. Answers come in the order of the statements, so what was sent
early waits in `under_way` and is told to the conversation when those before it are answered. Its begin has then no
time: it was sent before something returned that is before it in the session, and a time that is missing accuses nobody.

What is sent early may be committed before its answer is here. So before a commit is forwarded with writes ahead of it
whose answers are not here, what these may write is on file: as a transaction of a session of its own (`...+ahead`),
which is aborted as soon as all is recorded. If the proxy dies before, it is of unknown outcome, and what it names is
tainted.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from boomslang.errors import UsageError
from boomslang.record.conversation import Conversation
from boomslang.record.drivers import Driver
from boomslang.record.outcomes import AMBIGUOUS, Effect, sqlstate_of
from boomslang.record.session import RecordingFailed, Session
from boomslang.record.sql.meaning import ROWS_ONLY, START
from boomslang.record.sql.schema import EVERYTHING
from boomslang.record.sql.understanding import Questions, understanding
from boomslang.record.statements import Table
from boomslang.record.step import Step, told_of
from boomslang.record.tracer import Tracer

REMEMBERED = 2000
"""Texts."""
PROMISES = 4
"""Transactions ahead that one connection has open at a time; then everything is promised."""


SECRET = re.compile(
    r"(\bpassword\b\s*(?:for\b[^=]*)?=?\s*|\bidentified\b[^']*?)(?:'(?:[^']|'')*'|\$\$.*?\$\$)", re.I | re.S
)
"""A password in a statement, which goes by and is not written down."""
SECRETS = re.compile(r"(?i)password|identified")
"""In a text that may have one."""


def without_secrets(data: bytes) -> bytes:
    """Bytes of statements, as many, with stars for passwords."""
    text = data.decode("latin-1")
    if SECRETS.search(text) is None:
        return data
    return SECRET.sub(lambda found: found[1] + _starred(found[0][len(found[1]) :]), text).encode("latin-1")


def _starred(literal: str) -> str:
    mark = 2 if literal.startswith("$$") else 1
    return literal[:mark] + "*" * (len(literal) - 2 * mark) + literal[-mark:]


class ServerError(Exception):
    """What the server answered: an error. `state` is its SQLSTATE, `code` MySQL's number."""

    def __init__(self, text: str, state: str | None = None, code: int | None = None) -> None:
        super().__init__(text)
        self.sqlstate, self.mysql_code = state, code


class ConnectionGone(Exception):
    """The connection ended before there was an answer."""

    sqlstate = "08006"


class WireDriver(Driver):
    """What the server last said about the transaction; protocols say what their errors mean (`effect`)."""

    def __init__(self) -> None:
        self.inside = False
        """A transaction is open."""
        self.failed = False
        """And will be rolled back."""
        self.lost = False
        self.in_doubt = False
        """The connection was lost, and nobody knows what the server did of what was under way."""

    def in_transaction(self, connection: Any) -> bool:
        return self.inside

    def autocommits(self, connection: Any, text: str) -> bool:
        return True

    def doomed(self, connection: Any) -> bool:
        return self.failed

    def gone(self, connection: Any) -> bool:
        return self.lost


class Standing(Enum):
    """Of a text."""

    PLAIN = "it may be forwarded before it is understood"
    HELD = "it is looked at first"
    ODD = "after it names and tables may not be what they were"


class Exchange:
    """A statement that was sent, and what became of it."""

    __slots__ = ("alone", "at", "over", "parameters", "step", "text", "untold")

    def __init__(self, text: str, parameters: Any, at: int, alone: bool) -> None:
        self.text, self.parameters, self.at, self.alone = text, parameters, at, alone
        self.step: Step | None = None
        self.over: Callable[[], None] | None = None
        """Told when it is."""
        self.untold: str | None = None
        """Why its answer tells nothing, if so: it was too large, it came in pieces."""


def ambiguous(error: BaseException) -> bool:
    """May a commit that failed with this have happened?"""
    state = sqlstate_of(error)
    return state is None or state.startswith(AMBIGUOUS)


def nothing() -> Step:
    """A step that tells nothing."""
    step = Step()
    step.free = lambda: None
    return step


class Dialogue:
    """One connection's, into a session of its own, which is made with its first statement."""

    def __init__(
        self,
        tracer: Tracer,
        driver: WireDriver,
        time: Callable[[], int] = time.monotonic_ns,
        *,
        buffered: bool = False,
    ) -> None:
        """`time`: when what is told was sent or came. `buffered`: what is lost can be told again (spool.py)."""
        self._buffered = buffered
        self._tracer = tracer
        self._time = time
        self.driver = driver
        assert driver.dialect is not None
        self.known = understanding(tracer, driver.dialect)
        self.under_way: deque[Exchange] = deque()
        """Sent, and not answered."""
        self._talk: Conversation | None = None
        self._now = 0
        self._ahead: list[Session] = []
        self._promised: set[str] = set()
        self._promises = 0
        self._implicit = False
        self._may_commit = False
        """Something was forwarded that may commit what is under way."""
        self._open_texts: set[str] = set()

    @property
    def implicit(self) -> bool:
        """Several statements are one transaction that nobody began."""
        return self._implicit

    @property
    def moved(self) -> bool:
        """Nobody knows which table a name means."""
        return self._talk is not None and self._talk.names_moved

    @property
    def talk(self) -> Conversation:
        if self._talk is None:
            session = self._tracer.session()
            session.now = self._clock
            session.buffered = self._buffered
            self._talk = Conversation(self, self.driver, session, Table({}), None, None, self.known)
        return self._talk

    # --- before anything is forwarded

    def questions(self, text: str, parameters: Any) -> Questions | None:
        """What the server must be asked, on this connection, before the statement is told by `sent`. Only if nothing
        is under way and the server has said that it is ready (asking.py)."""
        return self.talk.questions(text, parameters)

    def standing(self, text: str, parameters: Any) -> Standing:
        """May this text be forwarded before it is understood, when it comes again?"""
        talk, known = self.talk, self.known
        if talk.control(text):
            return Standing.PLAIN
        if talk.names_moved or known.schema is None or known.stale:
            first = START.match(text)
            return Standing.HELD if first and first[1].lower() in ROWS_ONLY else Standing.ODD
        meaning = known.meaning(text, parameters)
        if meaning.changes_schema or meaning.creates or meaning.moves_names or meaning.commits:
            return Standing.ODD
        return Standing.HELD if known.stale or SECRETS.search(text) else Standing.PLAIN

    def ready(self) -> bool:
        """Is all known that statements may need?"""
        talk, known = self._talk, self.known
        return talk is not None and talk.identified and known.schema is not None and not known.stale

    def sent(self, text: str, parameters: Any = None, *, alone: bool = True) -> Exchange:
        """A statement is about to be forwarded. `alone`: outside of a transaction it is one of its own; otherwise it
        is the first or a further one of several that are one transaction, until `settled`."""
        if SECRETS.search(text):
            text = SECRET.sub(r"\1'...'", text)
        made = Exchange(text, parameters, self._time(), alone)
        self.under_way.append(made)
        if len(self.under_way) == 1:
            self._take(made)
        return made

    # --- a statement and its answer, both whole, while nothing else is under way (native/wire/whole.hpp)

    def idle(self) -> bool:
        """Is nothing under way, and all known that a statement may need?"""
        talk = self._talk
        return (
            talk is not None
            and not self.under_way
            and not talk.names_moved
            and not self.known.stale
            and talk.session.failed is None
        )

    def open_text(self, text: str) -> bool:
        """Is a text without passwords?"""
        if text not in self._open_texts:
            if SECRETS.search(text):
                return False
            if len(self._open_texts) >= REMEMBERED:
                self._open_texts.clear()
            self._open_texts.add(text)
        return True

    def take_whole(self, text: str, parameters: Any, at: int) -> Step:
        """It was sent then: as by `sent`."""
        made = Exchange(text, parameters, at, True)
        self._take(made)
        assert made.step is not None
        return made.step

    def finish_whole(
        self, step: Step, rows: Any, count: int, last: Any = None, *, untold: str | None = None
    ) -> None:
        """It is answered: as by `answered`."""
        self._now = self._time()
        self.driver.failed = False
        if untold is None:
            step.done(rows, count, last)
        else:
            step.left_out(untold)

    def promise(self, exchanges: Iterable[Exchange] | None = None) -> None:
        """Something is about to be forwarded that may commit what is under way."""
        self._may_commit = True
        names: set[str] = set()
        for one in self.under_way if exchanges is None else exchanges:
            names |= self._may_write(one)
        if not names - self._promised:
            return
        if self._promises == PROMISES:
            names = {EVERYTHING}
        if EVERYTHING in self._promised:
            return
        if self._promises >= len(self._ahead):
            self._ahead.append(self._tracer.session(f"{self.talk.session.name}+ahead{len(self._ahead)}"))
        self._ahead[self._promises].log("begin", ctx={"writes": sorted(names)})
        self._promises += 1
        self._promised |= names

    def _may_write(self, exchange: Exchange) -> set[str]:
        step = exchange.step
        if step is not None and step.on_file:
            return set()
        if self.known.schema is None or self.known.stale or self.talk.names_moved:
            return {EVERYTHING}
        if self.talk.control(exchange.text):
            return set()
        return set(self.known.meaning(exchange.text, exchange.parameters).writes)

    # --- when answers come

    def wants_rows(self) -> bool:
        """Are the rows of the answer that comes now worth keeping?"""
        step = self._head().step
        return step is not None and step.wants_rows

    def answered(self, rows: Any = (), count: int = -1, last: Any = None) -> None:
        """The statement that is under way longest was done."""
        head = self._finish()
        self.driver.failed = False
        if head.step is not None:
            if head.untold is not None:
                head.step.left_out(head.untold)
            else:
                head.step.done(rows, count, last)
        self._settle_promises()

    def rolled_back(self) -> None:
        """It was done, and the server says that it has rolled back, whatever was asked."""
        step = self._head().step
        if getattr(step, "certain", True):
            self.answered()
        else:
            self.failed(ServerError("the database rolled it back", "40000"))

    def failed(self, error: Exception) -> None:
        """It failed. The driver must know by now what the server said about the transaction."""
        head = self._finish()
        if head.step is not None:
            head.step.failed(error)
        self._settle_promises()

    def skipped(self) -> None:
        """The server did not look at it."""
        exchange = self.under_way.popleft()
        if exchange.over is not None:
            exchange.over()
        if exchange.step is not None:
            self._now = self._time()
            exchange.step.failed(ServerError("skipped: a statement before it failed", "25P02"))
        self._settle_promises()

    def settled(self, inside: bool, failed: bool = False) -> None:
        """The server said whether a transaction is open now, and nothing is under way that it speaks of."""
        driver = self.driver
        driver.inside, driver.failed = inside, failed
        talk = self._talk
        if talk is None or talk.session.failed is not None:
            return
        self._now = self._time()
        if self._implicit:
            self._implicit = False
            if talk.open and not inside:
                talk.session.log("abort" if talk.doomed else "commit", returned=self._clock())
                talk.ended()
        if talk.open and not inside:
            talk.lost_track("the transaction was ended by a statement that was not known to end it")
        elif inside and not talk.open:
            talk.session.log("begin")
            talk.began()
        if talk.open:
            talk.doomed = failed

    def ended(self, committed: bool) -> None:
        """The server said that a transaction was ended, by a statement that was not known to end one: it was committed,
        or nobody knows."""
        talk = self.talk
        if not talk.open or talk.session.failed is not None:
            return
        self._now = self._time()
        self._implicit = False
        if committed:
            talk.session.log("commit", returned=self._clock())
            talk.ended()
        else:
            talk.lost_track("it was ended by a statement that is not understood")

    def doom(self, error: Exception) -> None:
        """The server failed to commit what nobody began."""
        if not self.talk.open:
            return
        if self.driver.effect(self, error) in (Effect.DOOMED, Effect.NOTHING) and not ambiguous(error):
            self.talk.doomed = True
        else:
            self._implicit = False
            self.talk.lost_track(told_of(error))

    def flush(self) -> None:
        """All that is recorded is on file then."""
        if self._talk is not None and self._talk.session.failed is None:
            self._talk.session.flush()

    def closed(self) -> None:
        """The connection is gone. What was on its way to be committed is of unknown outcome."""
        driver, talk = self.driver, self._talk
        driver.lost, driver.in_doubt = True, self._may_commit
        for one in self.under_way:
            if one.over is not None:
                one.over()
                one.over = None
        if talk is None:
            return
        try:
            if talk.session.failed is None:
                self._close(talk)
        finally:
            for session in (talk.session, *self._ahead):
                session.close()

    def _close(self, talk: Conversation) -> None:
        while self.under_way:
            head = self._finish()
            if head.step is not None:
                head.step.failed(ConnectionGone("the connection was lost before the answer"))
            if self._may_commit:
                break
        if talk.open and (self._may_commit or self._implicit):
            talk.lost_track("the connection was lost, and it may have been committed")
        talk.closed()

    # --- how

    def _head(self) -> Exchange:
        head = self.under_way[0]
        if head.step is None:
            self._take(head)
        return head

    def _finish(self) -> Exchange:
        head = self._head()
        self.under_way.popleft()
        if head.over is not None:
            head.over()
        self._now = self._time()
        return head

    def _take(self, exchange: Exchange) -> None:
        """Its turn in the conversation."""
        talk = self.talk
        self._now = exchange.at
        if talk.open and talk.control(exchange.text) == "begin":
            exchange.step = self._begin_inside(exchange)
            return
        if not exchange.alone and not talk.open and not talk.control(exchange.text):
            writes = sorted(self._may_write(exchange))
            talk.session.log("begin", ctx={"writes": writes} if writes else None, invoke=self._clock())
            talk.began()
            self._implicit = True
        try:
            exchange.step = talk.statement(exchange.text, exchange.parameters)
        except RecordingFailed:
            raise
        except UsageError as why:
            # The database will answer it in its own way; what it may have done to the transaction is not known here.
            exchange.step = nothing()
            if talk.open:
                talk.cannot_be_told(str(why))

    def _begin_inside(self, exchange: Exchange) -> Step:
        """A begin inside of a transaction. PostgreSQL warns, and goes on."""
        return nothing()

    def _clock(self) -> int | None:
        """The time of what is being told: when it was sent, or now; none if that was before something that has been
        told."""
        reached = self._talk.session.reached if self._talk is not None else None
        return None if reached is not None and self._now < reached else self._now

    def _settle_promises(self) -> None:
        """All that was promised is on file, if nothing is under way."""
        if self.under_way:
            return
        self._may_commit = False
        if self._promises:
            for session in self._ahead[: self._promises]:
                session.log("abort")
            self._promises = 0
            self._promised.clear()
