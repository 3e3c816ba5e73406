"""Operations and values as the report shows them: a letter, a label that fits a box, a line; on demand all of it."""

from __future__ import annotations

from itertools import islice
from typing import Any

from boomslang.cli.screen import escape
from boomslang.explain.names import LONGEST, short
from boomslang.explain.operation_words import ITEMS, deed
from boomslang.report.transaction_summary import Glance
from boomslang.trace.model import Kind, Operation, Trace
from boomslang.trace.rows import what_was_read
from boomslang.trace.scalars import Absent, Scalar, Unbounded, int_to_text, same

WHOLE = 8_000
"""Characters of a value that is shown as a whole on demand; a longer one stays shortened."""
BUDGET = 400_000
"""Characters of all such values together."""
OPERATIONS = {"core": 80, "candidate": 80, "likely": 80, "neighbour": 20}
"""Of a transaction that are shown, beside those that matter."""
ALL_OPERATIONS = 4_000
"""Of all transactions together, beside those that matter."""
LINE = 240
"""Characters that tell what an operation did that does not matter."""
KEY, VALUE = 14, 9
"""Characters of a key and a value in a label."""
NAME = 80
"""Characters of a session's or file's name."""

Json = dict[str, Any]
_LOOKS = {
    Kind.PUT: ("write", "w"),
    Kind.APPEND: ("write", "a"),
    Kind.DELETE: ("write", "d"),
    Kind.GET: ("read", "r"),
    Kind.LIST: ("read", "r"),
    Kind.SCAN: ("read", "s"),
    Kind.SELECT: ("read", "q"),
    Kind.NEXT: ("read", "n"),
    Kind.ITERATOR: ("other", "i"),
    Kind.BEGIN: ("other", "b"),
    Kind.COMMIT: ("other", "c"),
    Kind.ABORT: ("other", "x"),
}
"""What an operation does, and its letter."""


def printable(text: str) -> str:
    """The text with all that is not printable spelled out: control characters, and letters that turn a line around."""
    return escape(text)


def clipped(text: str, longest: int = NAME) -> str:
    """A name, shortened with its length."""
    return text if len(text) <= longest else f"{text[: longest - 20]}... ({len(text)} characters)"


class Values:
    """Of one trace. Whole values, and operations that do not matter, are handed out until the budget is spent."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.left = BUDGET
        self.operations_left = ALL_OPERATIONS
        self.wanted: dict[int, list[int]] = {}
        """Of operations that read several keys: those that an explanation is about."""
        self._others: dict[int, Values] = {}

    def on(self, trace: Trace) -> Values:
        """These, or those of another trace: that of the parts into which modules split the transactions of this one."""
        if trace is self.trace:
            return self
        return self._others.setdefault(id(trace), Values(trace))

    def transaction(self, view: Glance, role: str, matter: set[int]) -> Json:
        """A transaction with its operations: those that matter, and the first of the others."""
        room = min(OPERATIONS[role], self.operations_left)
        others = list(islice((row for row in view.rows if row not in matter), max(0, room)))
        self.operations_left -= len(others)
        shown = sorted({*others, *(row for row in matter if row in view.rows)})
        return {
            "id": f"T{view.index}",
            "session": None if view.session is None else clipped(view.session),
            "name": None if view.name is None else short(view.name),
            "outcome": view.outcome.name.lower(),
            "role": role,
            "where": clipped(view.where, 2 * NAME),
            "operations": [self.operation(self.trace.operation(row), row in matter) for row in shown],
            "more": len(view.rows) - len(shown),
        }

    def operation(self, o: Operation, matters: bool) -> Json:
        does, glyph = _LOOKS[o.kind]
        return {
            "id": o.index,
            "does": does,
            "glyph": glyph,
            "label": _label(o, [what_was_read(self.trace, k) for k in self.wanted.get(o.index, ())]),
            "text": deed(o) if matters else clipped(deed(o), LINE),
            "error": None if o.error is None else short(o.error),
            "where": clipped(o.where, 2 * NAME),
            "matters": matters,
            "full": self._full(o) if matters else None,
        }

    def _full(self, o: Operation) -> str | None:
        """The whole value, where the line has a part of it only; None if it is too long."""
        parts = [x for x in (o.key, o.value, o.lo, o.hi) if x is not Absent and x is not Unbounded]
        parts += [x for pair in o.items for x in pair] + list(o.elements)
        texts = [_text(x) for x in parts]
        many = max(len(o.items), len(o.elements)) > ITEMS
        if not many and all(len(text) <= LONGEST for text in texts):
            return None
        if o.items:
            whole = ", ".join(f"{_text(k)} = {_text(v)}" for k, v in o.items)
        elif o.elements:
            whole = "[" + ", ".join(map(_text, o.elements)) + "]"
        else:
            whole = " = ".join(texts)
        if len(whole) > min(WHOLE, self.left):
            return None
        self.left -= len(whole)
        return whole


def _text(x: object) -> str:
    return int_to_text(x) if isinstance(x, int) and not isinstance(x, bool) else repr(x)


def _brief(x: object, longest: int) -> str:
    """A key or value for a label: without quotes, cut in its middle, since long ones often differ at their end only."""
    ends = x if not isinstance(x, str) or len(x) <= 2 * longest else x[:longest] + x[-longest:]
    text = printable(ends) if isinstance(ends, str) else _text(ends)
    if len(text) <= longest:
        return text
    tail = (longest - 1) // 2
    return f"{text[: longest - 1 - tail]}…{text[-tail:]}"


def _label(o: Operation, about: list[Scalar]) -> str:
    key = "" if o.key is Absent else _brief(o.key, KEY)
    value = "absent" if o.value is Absent else _brief(o.value, VALUE)
    match o.kind:
        case Kind.PUT:
            return f"{key} := {value}"
        case Kind.APPEND:
            return f"{key} += {value}"
        case Kind.DELETE:
            return f"del {key}"
        case Kind.GET:
            return f"{key} → {value}"
        case Kind.NEXT:
            return "next → end" if o.end else f"next {key} → {value}"
        case Kind.LIST:
            last = f"…{_brief(o.elements[-1], VALUE)}" if len(o.elements) > 1 else ""
            return f"{key} → [{last or ''.join(_brief(e, VALUE) for e in o.elements)}]"
        case Kind.SELECT:
            return f"select → {sum(1 for k, _ in o.items if str(k).endswith(']'))}"
        case Kind.SCAN:
            if len(about) != 1:
                return f"scan → {len(o.items)}"
            found = [_brief(v, VALUE) for k, v in o.items if same(k, about[0])]
            return f"scan {_brief(about[0], KEY)} → {found[0] if found else 'absent'}"
        case _:
            return o.kind.name.lower()
