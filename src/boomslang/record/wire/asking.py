"""Questions of the recorder's own, asked on a client's connection while nothing else is under way there.

To understand statements the schema must be known, and, at the start, the rows that are there. Asking on the connection
of the client needs no credentials, and sees what the client would see. The protocol sends a question (`ask`), keeps the
answer from the client, and tells it here (`answer`, `fail`); the client is held meanwhile. `then` goes on with what it
sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from boomslang.record.sql.understanding import WAIT, NotAnswered, Questions


class Asking:
    """One round of questions."""

    def __init__(
        self,
        questions: Questions,
        ask: Callable[[str], None],
        then: Callable[[], None],
        later: Callable[[Callable[[], None]], None],
    ) -> None:
        """`later` calls something in a moment."""
        self._questions, self._ask, self._then, self._later = questions, ask, then, later

    def start(self) -> None:
        self._go_on(lambda: next(self._questions))

    def answer(self, rows: Sequence[Sequence[Any]]) -> None:
        self._go_on(lambda: self._questions.send(rows))

    def fail(self, why: str) -> None:
        """The server answered with an error."""
        self._go_on(lambda: self._questions.throw(NotAnswered(why)))

    def _go_on(self, step: Callable[[], str]) -> None:
        try:
            query = step()
        except StopIteration:
            self._then()
            return
        if query == WAIT:
            self._later(lambda: self.answer([]))
        else:
            self._ask(query)
