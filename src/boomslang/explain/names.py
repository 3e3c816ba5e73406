"""What things are called in explanations: short, quoted, and never longer than a person wants."""

from __future__ import annotations

from boomslang.asg.graph import ASG, PRESENT
from boomslang.trace.model import ABSENT
from boomslang.trace.scalars import int_to_text

LONGEST = 60


def short(x: object) -> str:
    """repr, shortened with its length."""
    text = int_to_text(x) if isinstance(x, int) and not isinstance(x, bool) else repr(x)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 20]}... ({len(text)} characters)"


class Names:
    """Names of an ASG's transactions, keys and values."""

    def __init__(self, asg: ASG) -> None:
        self.asg = asg

    def txn(self, t: int) -> str:
        """T17: the number in the trace, which `describe` tells more about."""
        return f"T{int(self.asg.txn_of[t])}"

    def session(self, t: int) -> str:
        return short(self.asg.trace.sessions[int(self.asg.trace.txn_session[int(self.asg.txn_of[t])])])

    def key(self, key: int) -> str:
        return short(self.asg.trace.keys[self.asg.trace_key(key)])

    def value(self, value: int) -> str:
        if value == ABSENT:
            return "absent"
        return "some value" if value == PRESENT else short(self.asg.trace.values[int(value)])
