"""A client's conversation with an SQL database, as a trace: what to record before a statement, and what after it.

This is the part that all drivers share, plain and asyncio: they send and receive, and tell it what they do. It keeps
track of the transaction: one begins with the first statement, or as the application says; it ends with a commit that
the database confirmed, a rollback, or in doubt.

Nothing is sent to be committed unless every write of the transaction is on file. What a savepoint may still undo is
kept back until it is released. After a statement of which nobody knows whether it happened, only a rollback is let
through.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from boomslang.errors import UsageError
from boomslang.record.autocommit import Single
from boomslang.record.drivers import Driver
from boomslang.record.found_rows import rows_found
from boomslang.record.outcomes import Effect, refused_commit
from boomslang.record.session import RecordingFailed, Session
from boomslang.record.sql.catalogs import isolation
from boomslang.record.sql.meaning import START, names_move, unclear
from boomslang.record.sql.notes import Notes
from boomslang.record.sql.steps import CommitsFirst, SchemaChange, ToldAlone, ToldInside
from boomslang.record.statements import (
    Change,
    Ignored,
    Put,
    Record,
    Statement,
    Table,
    Unsuited,
    squeezed,
)
from boomslang.record.step import Step, told_of

if TYPE_CHECKING:
    from boomslang.record.sql.understanding import Questions, Resolved, Understanding

NAME = r'(?P<name>"[^"]+"|`[^`]+`|\w+)'
CONTROL = {
    "begin": r"(BEGIN|START TRANSACTION)( (WORK|TRANSACTION|DEFERRED|IMMEDIATE|EXCLUSIVE|CONCURRENT))?"
    r"(,? (ISOLATION LEVEL (READ (UN)?COMMITTED|REPEATABLE READ|SERIALIZABLE)|READ (ONLY|WRITE)|(NOT )?DEFERRABLE"
    r"|WITH CONSISTENT SNAPSHOT))*",
    "commit": r"(COMMIT|END)( (WORK|TRANSACTION))?( AND NO CHAIN)?",
    "rollback": r"(ROLLBACK|ABORT)( (WORK|TRANSACTION))?( AND NO CHAIN)?",
    "savepoint": rf"SAVEPOINT {NAME}",
    "release": rf"RELEASE( SAVEPOINT)? {NAME}",
    "rollback to": rf"ROLLBACK( (WORK|TRANSACTION))? TO( SAVEPOINT)? {NAME}",
    "setting": r"(SET|SHOW) (?!.*\b(autocommit)\b)[^;(]*",
}
"""Statements that every application has, and nobody wants in a table."""
ISOLATION = re.compile(
    r"\bisolation\s+level\s+(read\s+(?:un)?committed|repeatable\s+read|serializable)", re.IGNORECASE
)
AUTOCOMMIT = re.compile(r"\s*set\b.*\bautocommit\b", re.IGNORECASE | re.DOTALL)
PATTERNS = [(kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in CONTROL.items()]

READS = ("get", "scan")
"""Operations of statements that write nothing."""

REMEMBERED = 1000
"""How many texts' meanings are kept: some applications write values into them."""


class Conversation:
    """Of one connection, into one session."""

    def __init__(
        self,
        connection: Any,
        driver: Driver,
        session: Session,
        table: Table,
        key: Change | None,
        value: Change | None,
        understanding: Understanding | None = None,
    ) -> None:
        self.understanding = understanding
        """Of statements that are in no table; None: these are refused."""
        self.notes = Notes(session, understanding)
        self.identified = False
        """It is known which database this is."""
        self.names_moved = False
        """Nobody knows any more which table a name means."""
        self.connection = connection
        self.driver = driver
        self.session = session
        self.table = table
        self.key: Change = key or same
        self.value: Change = value or same
        self.open = False
        """A transaction is."""
        self.doomed = False
        """The database will roll it back, whatever the client says."""
        self.doubt: str | None = None
        self.savepoints: list[str] = []
        self._under_way = threading.Lock()
        self._meanings: dict[str, Statement | tuple[str, str] | None] = {}

    def statement(self, text: str, parameters: Any, *, adds: bool = False) -> Step:
        """Before a statement is sent. Raises if it must not be. `adds`: the text that the step `sends` can be sent in
        place of this one, and its rows be kept from the application."""
        return self._take(lambda: self._statement(text, parameters, adds))

    def questions(self, text: str, parameters: Any) -> Questions | None:
        """What the database must be asked before this statement can be understood, if anything."""
        known = self.understanding
        if known is None or self.doomed or self.driver.doomed(self.connection):
            return None
        if not known.stale and self._plain_meaning(text) is None:
            known.meaning(text, parameters)
        if known.stale or not self.identified:
            questions = known.questions() if known.stale else known.identify()
            new, self.identified = not self.identified, True
            return self._ask(questions, known.dialect, new)
        return None

    def _ask(self, questions: Resolved, dialect: str, new: bool) -> Questions:
        """Ask these, and for the isolation level of a new connection. If names mean something else here, none of its
        statements is understood."""
        alike = yield from questions
        self.names_moved |= not alike
        if new:
            self.notes.isolation = yield from isolation(dialect)

    def _note_level(self, text: str) -> None:
        """A statement may set the isolation level."""
        found = ISOLATION.search(text)
        if found is not None:
            self.notes.isolation = " ".join(found[1].lower().split())

    def control(self, text: str) -> str | None:
        """Which of the statements that every application has, and that neither read nor write: CONTROL's names."""
        what = self._plain_meaning(text)
        return what[0] if isinstance(what, tuple) else None

    def begin(self) -> Step:
        return self._take(self._begin_step)

    def commit(self) -> Step:
        return self._take(self._commit)

    def rollback(self) -> Step:
        return self._take(self._rollback)

    def savepoint(self, kind: str, name: str) -> Step:
        """`kind`: savepoint, release, rollback to, or undo, which is rollback to and release."""
        return self._take(lambda: self._savepoint(kind, name))

    def nothing(self) -> Step:
        return self._take(Step)

    def _take(self, make: Callable[[], Step]) -> Step:
        """The next step, if there is none under way: a session is a sequence."""
        if not self._under_way.acquire(blocking=False):
            raise UsageError(
                f"found two statements at a time on the connection of session {self.session.name!r}; expected one; "
                "fix: give each thread and each task a connection of its own"
            )
        try:
            step = make()
        except BaseException:
            self._under_way.release()
            raise
        step.free = self._under_way.release
        return step

    def _statement(self, text: str, parameters: Any, adds: bool) -> Step:
        what = self._plain_meaning(text)
        if what is None:
            return self._understood(text, parameters, adds)
        if isinstance(what, Statement):
            return self._operation(text, what, parameters)
        kind, name = what
        if kind == "begin":
            self._note_level(text)
            return self._begin_step()
        if kind == "commit":
            return self._commit()
        if kind == "rollback":
            return self._rollback()
        if kind == "setting":
            return self._setting(text)
        return self._savepoint(kind, name)

    def _plain_meaning(self, text: str) -> Statement | tuple[str, str] | None:
        """What a text is, remembered; None: it is for the parser."""
        if text not in self._meanings:
            if len(self._meanings) >= REMEMBERED:
                self._meanings.clear()
            self._meanings[text] = self._meaning(squeezed(text))
        return self._meanings[text]

    def _meaning(self, text: str) -> Statement | tuple[str, str] | None:
        """What a text is: a statement of the table, or one that every application has (with a savepoint's name)."""
        if text not in self.table:
            if self.understanding is not None and names_move(text):
                return None
            for kind, pattern in PATTERNS:
                match = pattern.fullmatch(text)
                if match:
                    name = match.groupdict().get("name", "")
                    return kind, name[1:-1] if name[:1] in ('"', "`") else name.lower()
            if self.understanding is not None:
                return None
        return self.table.find(text)

    def _understood(self, text: str, parameters: Any, adds: bool) -> Step:
        """A statement for the parser. It is always sent: what is not known of it is noted."""
        self._go_on()
        known = self.understanding
        assert known is not None
        lost = self.names_moved or known.schema is None or known.stale
        adds = adds and self._may_add(text)
        if lost:
            routines = frozenset[str]() if known.schema is None else known.schema.routines
            what = unclear(text, known.dialect, routines)
        else:
            what = known.meaning(text, parameters, adds=adds)
        if not what.plain:
            if AUTOCOMMIT.search(text):
                self.refuse_inside("a change of autocommit")
            if what.moves_names:
                self.names_moved = True
            known.announce(what.creates)
            if what.commits and self.open:
                return CommitsFirst(self, text, what)
            if what.ignored:
                step = self._setting(text)
                return SchemaChange(known, step) if what.changes_schema else step
        if not self.open:
            if self.driver.autocommits(self.connection, text):
                return ToldAlone(self, text, what, parameters)
            self._begin()
        return ToldInside(self, text, what, parameters)

    def _may_add(self, text: str) -> bool:
        """May RETURNING be added, as far as the driver goes?"""
        if not self.driver.hides_rows or self.driver.tells_keys:
            return self.driver.hides_rows
        first = START.match(text)
        return first is not None and first[1].lower() in ("update", "delete")

    def _operation(self, text: str, statement: Statement, parameters: Any) -> Step:
        self._go_on()
        known = None if isinstance(statement, Ignored) else statement.before(parameters, self.key, self.value)
        if self.open:
            return _Statement(self, text, statement, parameters, known)
        if self.driver.autocommits(self.connection, text):
            return self._alone(text, statement, parameters, known)
        self._begin()
        return _Statement(self, text, statement, parameters, known)

    def _setting(self, text: str) -> Step:
        """It changes nothing, but in some databases it begins a transaction as any statement does."""
        self._note_level(text)
        if not self.open and not self.driver.autocommits(self.connection, text):
            self._go_on()
            self._begin()
        return _Setting(self)

    def _alone(self, text: str, statement: Statement, parameters: Any, known: Record | None) -> Step:
        if isinstance(statement, Ignored):
            return Step()
        if known is None or not (statement.ahead or known.op in READS):
            raise UsageError(
                f"found the statement {text!r} outside of a transaction; what it writes is known only when it has "
                "happened, and if the program died in between it would be missing in the trace; fix: send it in a "
                "transaction"
            )
        return _Alone(self, text, statement, parameters, known)

    # --- the ends of transactions

    def _begin_step(self) -> Step:
        self.refuse_inside("a begin")
        self._go_on()
        return _Begin(self)

    def _commit(self) -> Step:
        if not self.open:
            return Step()
        self._go_on()
        lost = self.driver.gone(self.connection)
        doomed = lost or self.doomed or self.driver.doomed(self.connection)
        self.session.log_input("abort" if doomed else "commit")
        return _End(self, certain=doomed)

    def _rollback(self) -> Step:
        if not self.open or self.session.failed is not None:
            self.ended()
            return Step()
        self.session.log_input("abort")
        return _End(self, certain=True)

    def closed(self) -> None:
        """The connection was closed: what was not committed is rolled back."""
        if self.open and self.session.failed is None:
            self.session.log("abort")
        self.ended()

    def _savepoint(self, kind: str, name: str) -> Step:
        if kind in ("rollback to", "undo") and self.open:
            return _Savepoint(self, kind, name) if self.session.failed is None else Step()
        self._go_on()
        if not self.open:
            if self.driver.autocommits(self.connection, "SAVEPOINT"):
                raise UsageError("found a savepoint outside of a transaction; expected begin first")
            self._begin()
        if kind == "savepoint" and any(s != name and s.lower() == name.lower() for s in self.savepoints):
            raise UsageError(
                f"found the savepoint {name!r} inside of one whose name differs in case only; to some databases these "
                "are two, to some they are one; expected another name"
            )
        return _Savepoint(self, kind, name)

    def refuse_inside(self, what: str) -> None:
        """Of what would end the transaction behind our back."""
        if self.open:
            raise UsageError(
                f"found {what} inside a transaction, which it may end; expected commit or rollback first"
            )

    # --- what the steps do

    def _go_on(self) -> None:
        self.session.usable()
        if self.doubt is not None:
            raise RecordingFailed(
                f"nobody knows what became of an earlier statement ({self.doubt}), so what follows cannot be "
                "recorded; expected a rollback"
            )

    def _begin(self) -> None:
        self.notes.isolation = self.driver.isolation(self.connection) or self.notes.isolation
        self.session.log("begin", invoke=self.session.now())
        self.began()

    def began(self) -> None:
        self.open, self.doomed, self.doubt = True, False, None
        self.savepoints.clear()

    def ended(self) -> None:
        if self.savepoints:
            self.notes.forget()
        self.open, self.doomed, self.doubt = False, False, None
        self.savepoints.clear()

    def records(
        self, text: str, statement: Statement, parameters: Any, rows: Any, count: int
    ) -> list[Record]:
        """What a statement was, now that it is back."""
        if count == 0 and isinstance(statement, Put) and not statement.wants_rows:
            count = rows_found(text, lambda: self.driver.found(self.connection))
        return list(statement.after(parameters, rows, count, self.key, self.value))

    def after_failure(self, error: BaseException, *, wrote: bool = False) -> None:
        """A statement of an open transaction failed; that is recorded. `wrote`: but it may have written."""
        match self.driver.effect(self.connection, error):
            case Effect.NOTHING if wrote:
                self.doubt = told_of(error)
            case Effect.DOOMED:
                self.doomed = True
            case Effect.ABORTED | Effect.LOST:
                self.session.log("abort")
                self.ended()
            case Effect.DOUBTFUL:
                self.doubt = told_of(error)

    def ended_behind_our_back(self) -> NoReturn:
        """The database says that the transaction is over, by a statement that was not said to end it."""
        why = (
            "a statement ended the transaction (MySQL commits before it changes a table), and nobody said so"
        )
        self.lost_track(why)
        raise RecordingFailed(f"{why}; whether it was committed is not known; fix: commit before it")

    def lost_track(self, why: str) -> None:
        """The transaction is over, and nobody knows how it ended."""
        self.session.log("commit", error=why)
        self.session.leave()
        self.ended()

    def cannot_be_told(self, why: str) -> None:
        """It happened, and is not what it was said to be: the transaction must not be committed."""
        self.doubt = why


class _Statement(Step):
    """A statement inside a transaction: recorded when it is back."""

    def __init__(
        self, talk: Conversation, text: str, statement: Statement, parameters: Any, known: Record | None
    ) -> None:
        self._talk = talk
        self._text = text
        self._statement = statement
        self._parameters = parameters
        self._known = known
        self.wants_rows, self.counts = statement.wants_rows, not isinstance(statement, Ignored)
        if known is not None:
            talk.session.check(known.op, known.args)
        self._inside = talk.driver.in_transaction(talk.connection)
        self._invoked = talk.session.now()

    def _done(self, rows: Any, count: int) -> None:
        self._record(rows, count, self._talk.session.now())
        if self._inside and not self._talk.driver.in_transaction(self._talk.connection):
            self._talk.ended_behind_our_back()

    def _record(self, rows: Any, count: int, returned: int | None) -> None:
        talk = self._talk
        if isinstance(self._statement, Ignored):
            return
        try:
            records = talk.records(self._text, self._statement, self._parameters, rows, count)
            for n, record in enumerate(records):
                talk.session.log(
                    record.op,
                    record.args,
                    record.result,
                    ctx=record.ctx,
                    invoke=self._invoked if n == 0 else None,
                    returned=returned if n == len(records) - 1 else None,
                )
        except BaseException as error:
            talk.cannot_be_told(told_of(error))
            if isinstance(error, Unsuited):
                raise RecordingFailed(f"{error}; nothing of this transaction can be committed") from error
            raise

    def _failed(self, error: BaseException) -> None:
        talk = self._talk
        if self._known is not None:
            talk.session.log(self._known.op, self._known.args, error=told_of(error), invoke=self._invoked)
        reads = isinstance(self._statement, Ignored) or (self._known is not None and self._known.op in READS)
        talk.after_failure(error, wrote=self.sent and not reads)


class _Alone(Step):
    """A statement that is a transaction of its own."""

    def __init__(
        self, talk: Conversation, text: str, statement: Statement, parameters: Any, known: Record
    ) -> None:
        self._talk = talk
        self._text = text
        self._statement = statement
        self._parameters = parameters
        self.wants_rows, self.counts = statement.wants_rows, True
        self._single = Single(talk.session, known.op, known.args, known.ctx)
        self._op = known.op

    def _done(self, rows: Any, count: int) -> None:
        talk = self._talk
        try:
            records = talk.records(self._text, self._statement, self._parameters, rows, count)
        except BaseException as error:
            self._single.failed(told_of(error), aborted=False)
            talk.session.fail(told_of(error))
            raise RecordingFailed(f"{error}; it is committed, and the trace ends before it") from error
        if not records:
            self._single.failed("nothing was written", aborted=True)
        elif records[0].op != self._op:
            self._single.done(wrote=False)
        else:
            self._single.done(records[0].result)

    def _failed(self, error: BaseException) -> None:
        effect = self._talk.driver.effect(self._talk.connection, error)
        certain = effect not in (Effect.LOST, Effect.DOUBTFUL) and not self.sent
        self._single.failed(told_of(error), aborted=certain)


class _Setting(Step):
    """It changes nothing, but where an error dooms the transaction, this one's does too."""

    def __init__(self, talk: Conversation) -> None:
        self._talk = talk
        self._inside = talk.open and talk.driver.in_transaction(talk.connection)

    def _done(self, rows: Any, count: int) -> None:
        if self._inside and not self._talk.driver.in_transaction(self._talk.connection):
            self._talk.ended_behind_our_back()

    def _failed(self, error: BaseException) -> None:
        if self._talk.open:
            self._talk.after_failure(error)


class _Begin(Step):
    def __init__(self, talk: Conversation) -> None:
        self._talk = talk
        talk.session.log_input("begin")

    def _done(self, rows: Any, count: int) -> None:
        self._talk.session.log_output()
        self._talk.began()

    def _failed(self, error: BaseException) -> None:
        self._talk.session.log_error(told_of(error))


class _End(Step):
    """A commit or a rollback; `certain`: it has no effect, however this turns out."""

    def __init__(self, talk: Conversation, certain: bool) -> None:
        self._talk = talk
        self.certain = certain

    def _done(self, rows: Any, count: int) -> None:
        try:
            self._talk.session.log_output()
        finally:
            self._talk.ended()

    def _failed(self, error: BaseException) -> None:
        talk = self._talk
        if self.certain:
            if talk.driver.gone(talk.connection) or talk.driver.effect(talk.connection, error) == Effect.LOST:
                self._done((), -1)
            else:  # it may still be open
                talk.session.log_error(told_of(error))
                talk.doubt = told_of(error)
        elif talk.driver.still_open(talk.connection):
            talk.session.log_error(told_of(error))
        else:
            refused = refused_commit(error)
            talk.ended()
            talk.session.log_error(told_of(error), aborted=refused)
            if not refused:
                talk.session.leave()


class _Savepoint(Step):
    def __init__(self, talk: Conversation, kind: str, name: str) -> None:
        self._talk = talk
        self._kind = kind
        self._name = name

    def _done(self, rows: Any, count: int) -> None:
        talk, kind = self._talk, self._kind
        if kind == "savepoint":
            talk.session.hold()
            talk.savepoints.append(self._name)
            return
        while talk.savepoints:
            name = talk.savepoints.pop()
            if kind == "release":
                talk.session.let_go()
            else:
                talk.session.forget()
            if name.lower() == self._name.lower():
                break
        if kind != "release":
            talk.doomed = False
            talk.notes.forget()
        if kind == "rollback to":
            talk.session.hold()
            talk.savepoints.append(self._name)

    def _failed(self, error: BaseException) -> None:
        self._talk.after_failure(error)


def same(x: Any) -> Any:
    return x
