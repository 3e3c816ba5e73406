"""What things are called in explanations: short, quoted, and never longer than a person wants."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from boomslang.asg.graph import ASG, PRESENT
from boomslang.trace.model import ABSENT, Kind
from boomslang.trace.scalars import int_to_text

LONGEST = 60
HEAD, TAIL = 20, 14
"""Characters of a long text that are shown, of its beginning and of its end."""


def short(x: object) -> str:
    """repr; of a long one both ends, its length, and a mark that tells it from others which are the same there: a story
    in which two different values look alike cannot be followed."""
    text = int_to_text(x) if isinstance(x, int) and not isinstance(x, bool) else repr(x)
    if len(text) <= LONGEST:
        return text
    import hashlib

    mark = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:4]
    return f"{text[:HEAD]}...{text[-TAIL:]} (#{mark}, {len(text)} characters)"


def listed(elements: Sequence[object]) -> str:
    """A list; of a long one the end, where what matters usually is."""
    shown = [short(e) for e in elements]
    while len(shown) > 1 and sum(map(len, shown)) + 2 * len(shown) > LONGEST:
        shown = shown[1:]
    gone = len(elements) - len(shown)
    return "[" + ", ".join([f"{gone} more", *shown] if gone else shown) + "]"


class Names:
    """Names of an ASG's transactions, keys and values. An argument says the same few again and again, so keys and
    places are put into words once."""

    def __init__(self, asg: ASG) -> None:
        self.asg = asg
        self._keys: dict[int, str] = {}
        self._places: dict[int, str] = {}

    def txn(self, t: int) -> str:
        """T17: the number in the trace, which `describe` tells more about."""
        return f"T{int(self.asg.txn_of[t])}"

    def session(self, t: int) -> str:
        return short(self.asg.trace.sessions[int(self.asg.trace.txn_session[int(self.asg.txn_of[t])])])

    def key(self, key: int) -> str:
        if (name := self._keys.get(key)) is None:
            name = self._keys[key] = short(self.asg.trace.keys[self.asg.trace_key(key)])
        return name

    def value(self, value: int) -> str:
        if value == ABSENT or value == len(
            self.asg.trace.values
        ):  # the latter: as a version (asg/entries.py)
            return "absent"
        return "some value" if value == PRESENT else short(self.asg.trace.values[int(value)])

    def at(self, rows: Sequence[int]) -> str:
        """Where an operation stands, to follow the words about it: " (history.jsonl:204)"; the file without its folder,
        which the list of transactions tells."""
        if not rows:
            return ""
        row = int(rows[0])
        if (place := self._places.get(row)) is None:
            place = self._places[row] = f" ({PurePath(self.asg.trace.operation(row).where).name})"
        return place

    def seen(self, read: int) -> str:
        """What a read saw: a value, or a list."""
        row = int(self.asg.read_op[read])
        if self.asg.trace.op_kind[row] == Kind.LIST:
            return listed(self.asg.trace.operation(row).elements)
        if (place := self.asg.entry(int(self.asg.read_key[read]))) is not None:
            return self.matched(place, int(self.asg.read_value[read]))
        return self.value(int(self.asg.read_value[read]))

    def matched(self, place: int, pattern: int) -> str:
        """What a read of an entry saw."""
        entries = self.asg.entries
        assert entries is not None
        if entries.joint[place] >= 0:
            return "some version"
        return "no match" if pattern == ABSENT else "a match"
