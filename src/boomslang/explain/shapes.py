"""Transactions by what they execute: those of one *shape* send the same statements, whatever their values.

Where a trace was recorded from SQL, a shape is the texts of its statements, once each, without literals and without the
lengths of lists. Else it is what its operations are.
"""

from __future__ import annotations

import re

from boomslang.trace.model import Trace
from boomslang.trace.statements import Statements

Shape = tuple[str, ...]

LITERAL = re.compile(r"('(?:[^'\\]|''|\\.)*')|(?<![\w.$:%])-?\d+(?:\.\d+)?(?![\w.])")
MARK = r"(?:\?\d*|\$\d+|%s|%\(\w+\)s|:\w+)(?:::\w+)?"
MANY = re.compile(rf"\(\s*{MARK}(?:\s*,\s*{MARK})+\s*\)")


def shape_of_text(text: str) -> str:
    """A statement without what differs from one time to the next."""
    return MANY.sub("(...)", LITERAL.sub("?", " ".join(text.split())))


class Shapes:
    """Of a trace's transactions."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._statements = Statements(trace)

    def of(self, t: int) -> Shape:
        executed = [shape_of_text(one.text) for one in self._statements.of(t) if not one.failed]
        if executed:
            return tuple(dict.fromkeys(executed))
        kinds = [o.kind.name.lower() for o in self._trace.transaction(t).operations if o.error is None]
        return (", ".join(dict.fromkeys(kinds)) or "nothing",)

    @property
    def recorded_at(self) -> str:
        """The database and its isolation level, as far as they are told."""
        told = self._statements.database
        at = f" at {told['isolation']}" if "isolation" in told else ""
        return f"{told['dialect']}{at}" if "dialect" in told else ""
