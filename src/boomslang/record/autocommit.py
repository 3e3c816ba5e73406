"""An operation that is a transaction of its own: what a client does in autocommit mode, outside any begin and commit.

Its effect is there for others to see as soon as the database has it, before it returned to us. If the program were
killed in between, others would have read a value that, by the trace, nobody wrote: a false accusation. So a write is
on file *before* it is sent, as an open transaction that is unknown until its commit follows.

A write that the database says found nothing to write (a delete of an absent key) was recorded as one too early: its
transaction is ended with an abort, and what was observed, that the key is absent, becomes a transaction of its own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from boomslang.errors import UsageError
from boomslang.record.session import Session
from boomslang.trace.scalars import Absent

WRITES = ("put", "append", "delete")


class Single:
    """One such operation of a session: make it, send it, then call `done` or `failed`."""

    def __init__(
        self, session: Session, op: str, args: Sequence[Any], ctx: Mapping[str, Any] | None = None
    ) -> None:
        self._session = session
        self._op = op
        self._args = args
        self._ctx = ctx
        self._invoked = time.monotonic_ns()
        session.log("begin", invoke=self._invoked)
        try:
            if op in WRITES:
                session.log(op, args, ctx=ctx, invoke=self._invoked)
            else:
                session.log_input(op, args, ctx)
        except UsageError:  # it cannot be said in a trace, so it is not to be sent
            if session.failed is None:
                session.log("abort")
            raise

    def done(self, result: Any = None, *, wrote: bool = True) -> None:
        """It returned. `wrote`: False if a put found nothing to overwrite (an UPDATE that matched no row)."""
        session = self._session
        if self._op not in WRITES:
            session.log_output(result)
        elif not wrote or (self._op == "delete" and result is False):
            session.log("abort")
            session.log("begin", invoke=self._invoked)
            if self._op == "delete":
                session.log("delete", self._args, False, ctx=self._ctx, invoke=self._invoked)
            else:
                session.log("get", self._args[:1], Absent, ctx=self._ctx, invoke=self._invoked)
        session.log("commit", returned=time.monotonic_ns())

    def failed(self, text: str, *, aborted: bool) -> None:
        """It raised. `aborted`: certainly without effect; otherwise nobody knows. A read never has an effect."""
        if self._op not in WRITES:
            self._session.log_error(text, aborted=True)
        elif aborted:
            self._session.log("abort")
        else:
            self._session.log("commit", error=text)
            self._session.leave()
