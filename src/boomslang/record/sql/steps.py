"""The steps of statements that the parser understands, or does not: inside of a transaction, and each one by itself.

A write in autocommit mode is there for others to see before its answer is back. If the program were killed in between,
they would have read what, by the trace, nobody wrote. So what it may write is on file before it is sent, with the begin
of its transaction: if no end follows, that is tainted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from boomslang.record.found_rows import NOBODY_KNOWS
from boomslang.record.outcomes import Effect
from boomslang.record.sql.meaning import untold
from boomslang.record.sql.notes import Sent
from boomslang.record.sql.told import Answer, Told

if TYPE_CHECKING:
    from boomslang.record.conversation import Conversation
    from boomslang.record.sql.meaning import Meaning
    from boomslang.record.sql.understanding import Understanding

from boomslang.record.step import Step, told_of


class ToldStep(Step):
    """What both kinds share: from an answer to what it told."""

    def __init__(self, talk: Conversation, text: str, meaning: Meaning, parameters: Any) -> None:
        self._talk, self._meaning, self._sent = talk, meaning, Sent(text, meaning, parameters)
        self.wants_rows = meaning.wants_rows
        self.counts = meaning.is_write
        self.sends = meaning.sends
        self._invoked = talk.session.now()

    def _tell(self, rows: Any, count: int) -> Told:
        from boomslang.record.sql.understanding import plain

        meaning = self._meaning
        values = [plain(row) for row in rows] if meaning.wants_rows else []
        if any(row is None for row in values):
            return Told(
                taints=list(meaning.writes), why="rows that a row factory has made into something else"
            )
        if count == 0 and meaning.counts_changes:
            found = self._talk.driver.found(self._talk.connection)
            count = NOBODY_KNOWS if found is None else found
        answer = Answer([row for row in values if row is not None], count, self.last)
        try:
            return meaning.tell(self._sent.parameters, answer)
        except Exception as error:  # a statement that we misread must do the application no harm
            return Told(taints=list(meaning.writes), why=f"misread ({told_of(error)})")

    def _planned(self, rows: Any, count: int, invoked: int | None, returned: int | None) -> bool:
        """By the statement's plan, if it has one that fits."""
        plan = self._meaning.plan
        if plan is None:
            return False
        try:
            lines = plan(self._sent.parameters, rows, count)
        except Exception:  # the long way says what is wrong
            return False
        return lines is not None and self._talk.notes.tell_lines(self._sent, lines, invoked, returned)

    def _note_failure(self, error: BaseException) -> None:
        if self._meaning.keeps:
            self._talk.notes.taint(self._sent, f"it failed, and kept what it had done ({told_of(error)})")
        else:
            self._talk.notes.failed(self._sent, told_of(error))

    def _left_out(self, why: str) -> None:
        meaning, self._meaning = self._meaning, untold(self._meaning, why)
        try:
            self._done((), -1)
        finally:
            self._meaning = meaning

    def _finish(self) -> None:
        if self._meaning.changes_schema and self._talk.understanding is not None:
            self._talk.understanding.changed()


class ToldInside(ToldStep):
    """Inside of a transaction: recorded when it is back."""

    def __init__(self, talk: Conversation, text: str, meaning: Meaning, parameters: Any) -> None:
        super().__init__(talk, text, meaning, parameters)
        self._inside = talk.driver.in_transaction(talk.connection)

    def _done(self, rows: Any, count: int) -> None:
        talk = self._talk
        returned = talk.session.now()
        try:
            if not self._planned(rows, count, self._invoked, returned):
                told = self._tell(rows, count)
                talk.notes.tell(self._sent, told, self._invoked, returned)
        except BaseException as error:
            talk.cannot_be_told(told_of(error))
            raise
        self._finish()
        if self._inside and not talk.driver.in_transaction(talk.connection):
            talk.ended_behind_our_back()

    def _failed(self, error: BaseException) -> None:
        talk = self._talk
        self._note_failure(error)
        talk.after_failure(error, wrote=self.sent and self._meaning.is_write)


class ToldAlone(ToldStep):
    """A statement that is a transaction of its own."""

    on_file = True

    def __init__(self, talk: Conversation, text: str, meaning: Meaning, parameters: Any) -> None:
        super().__init__(talk, text, meaning, parameters)
        ctx = {"writes": list(meaning.writes)} if meaning.is_write else None
        talk.session.log("begin", ctx=ctx, invoke=self._invoked)

    def _done(self, rows: Any, count: int) -> None:
        talk = self._talk
        if not self._planned(rows, count, None, None):
            talk.notes.tell(self._sent, self._tell(rows, count), None, None)
        talk.session.log("commit", returned=talk.session.now())
        self._finish()

    def _failed(self, error: BaseException) -> None:
        talk = self._talk
        self._note_failure(error)
        effect = talk.driver.effect(talk.connection, error)
        doubtful = effect in (Effect.LOST, Effect.DOUBTFUL) or self.sent
        if doubtful and self._meaning.is_write:
            talk.session.log("commit", error=told_of(error))
            talk.session.leave()
        elif self._meaning.keeps:
            talk.session.log("commit", returned=talk.session.now())
        else:
            talk.session.log("abort")


class CommitsFirst(Step):
    """A statement before which the database commits (MySQL's DDL): the end of the transaction, and whatever else."""

    def __init__(self, talk: Conversation, text: str, meaning: Meaning) -> None:
        self._talk, self._meaning = talk, meaning
        if meaning.writes:
            talk.notes.taint(Sent(text, meaning), "the schema is changed")
        talk.session.log_input("commit")

    def _done(self, rows: Any, count: int) -> None:
        self._talk.session.log_output()
        self._talk.ended()
        if self._meaning.changes_schema and self._talk.understanding is not None:
            self._talk.understanding.changed()

    def _failed(self, error: BaseException) -> None:
        talk = self._talk
        talk.session.log_error(told_of(error))
        if talk.driver.still_open(talk.connection):
            return
        if talk.driver.in_transaction(talk.connection):
            talk.doubt = told_of(error)
            return
        talk.ended()
        talk.session.leave()


class SchemaChange(Step):
    """A statement that changes nothing that is recorded but what there is."""

    def __init__(self, known: Understanding, inner: Step) -> None:
        self._known, self._inner = known, inner

    def _done(self, rows: Any, count: int) -> None:
        self._inner._done(rows, count)
        self._known.changed()

    def _failed(self, error: BaseException) -> None:
        self._inner._failed(error)
        self._known.changed()
