"""What a reader would refuse, noticed while it can still be helped.

One line that breaks the rules of a trace (docs/trace-format.md) makes the whole trace unreadable, long after the run.
So the recorder knows those rules that it can: how long a line may be, what a hint may look like, which keys a range
can hold and in which order an iterator returns them. Arguments are looked at before anything is sent. Results are
looked at when it is too late to refuse the operation; what cannot be said of them is not said, and a trace that tells
less accuses nobody wrongly. (What joins sessions, such as that a key holds a list or a register, only the reader sees.)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from boomslang.errors import UsageError
from boomslang.trace.scalars import Unbounded

LONGEST = 64 << 20
"""Bytes of a line, for the reader."""
ROOM = 1 << 16
"""What may be added to the arguments of an operation: times, or an error."""
LONGEST_ERROR = 2000
"""Characters of an error, which is for people."""
DEEPEST = 60
"""Of lists and objects inside of a ctx."""
TIMES = range(-(2**63) + 1, 2**63)

Place = tuple[int, Any, bool]


class RecordingWarning(UserWarning):
    """Something that happened could not be recorded as it was; what is in the trace is true, and less."""


def place(key: Any) -> Place:
    """Where a key stands among those of its type. All numbers are one type; of two of one size the integer is first.

    Text orders by its UTF-8 bytes, which is the order of its characters' numbers, and so Python's."""
    if isinstance(key, str):
        return 4, key, False
    if key is None:
        return 0, 0, False
    if isinstance(key, bool):
        return 1, key, False
    if isinstance(key, bytes):
        return 5, key, False
    return 2, key, isinstance(key, float)


class Range:
    """[lo, hi), and what a scan or iterator may return of it."""

    def __init__(self, lo: Any, hi: Any) -> None:
        self.lo = None if lo is None or lo is Unbounded else place(lo)
        self.hi = None if hi is None or hi is Unbounded else place(hi)
        if self.lo is not None and self.hi is not None:
            if self.lo[0] != self.hi[0]:
                raise UsageError(
                    f"found a range from {shown(lo)} to {shown(hi)}, keys of two types; expected bounds of one type, "
                    "or two numbers; fix: scan each type by itself"
                )
            if self.lo > self.hi:
                raise UsageError(
                    f"found a range from {shown(lo)} down to {shown(hi)}; expected [lo, hi), the smaller key first, "
                    "also for a reverse scan"
                )

    def holds(self, key: Any) -> Place:
        at = place(key)
        for bound, outside in ((self.lo, False), (self.hi, True)):
            if bound is not None and (bound[0] != at[0] or (at >= bound) == outside):
                raise UsageError(
                    f"found the key {shown(key)} returned from outside its range; expected keys from lo up to but not "
                    "including hi, of their type; fix: use a binary collation, and record keys as they are"
                )
        return at

    def check_items(self, keys: Iterable[Any]) -> None:
        """A scan returned these."""
        seen: set[Place] = set()
        for key in keys:
            at = self.holds(key)
            if at in seen:
                raise UsageError(f"found the key {shown(key)} twice in one scan; expected each key once")
            seen.add(at)


class Cursor(Range):
    """An iterator that is open. `lost`: what it returned was not all recorded, so what follows tells nothing."""

    def __init__(self, lo: Any, hi: Any) -> None:
        super().__init__(lo, hi)
        self.last: dict[int, Place] = {}
        self.lost = self.ended = False

    def step(self, key: Any) -> None:
        """It returned this."""
        at = self.holds(key)
        last = self.last.get(at[0])
        if last is not None and last >= at:
            raise UsageError(
                f"found the key {shown(key)} from an iterator after {shown(last[1])}; expected keys that increase; "
                "fix: use a binary collation; record a reverse iteration as a scan"
            )
        self.last[at[0]] = at


def check_once(pairs: Iterable[tuple[Any, Any]]) -> None:
    """The initial state, in which a key is given once."""
    places = [place(key) for key, _ in pairs]
    if len(set(places)) < len(places):
        raise UsageError("found a key twice in the initial state; expected each once")


STATE = "initial.jsonl"
"""The file that tells the initial state for all others."""
ROTATED = 0.25
"""Of the time that is kept: after so much of it a session goes on in another file, so that the one before can go."""
NEXT_FILE = "~"
"""Between a session's name and the number of its next file: no name has it, and it counts after whatever ends one."""


def check_list(folder: Path, key: Any) -> None:
    """Lists start empty, and known to be so."""
    held = _held(folder / STATE)
    if held is None:
        raise UsageError(
            "found a list operation in a trace whose initial state is unknown; expected lists that start empty; "
            "fix: Tracer(initial='empty') if they do"
        )
    if held and place(key) in held:
        raise UsageError(
            f"found a list operation on {shown(key)}, which has an initial value; expected lists that start empty; "
            "fix: append the elements in a transaction of their own"
        )


@lru_cache(maxsize=8)
def _held(state: Path) -> frozenset[Place] | None:
    """The keys that are there at the start; None: nobody knows. (Nothing, where this is no tracer's folder.)"""
    try:
        header = json.loads(state.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return frozenset()
    initial = header["initial"]
    if isinstance(initial, str):
        return None if initial == "unknown" else frozenset()
    keys = (key for key, _ in initial["items"])
    return frozenset(place(bytes.fromhex(k["bytes"]) if isinstance(k, dict) else k) for k in keys)


def check_length(line: bytes, what: str, room: int = ROOM) -> bytes:
    if len(line) > LONGEST - room:
        raise UsageError(
            f"found {what} of {len(line) >> 20:,} MB; expected less than {LONGEST >> 20} MB, the longest line of a "
            "trace; nothing was sent; fix: record something shorter in its place, such as a digest, here and in reads"
        )
    return line


def check_time(time: Any, least: int | None, what: str) -> int:
    if isinstance(time, bool) or not isinstance(time, int) or time not in TIMES:
        raise UsageError(f"found {shown(time)} as the time of {what}; expected an integer of 64 bits")
    if least is not None and time < least:
        raise UsageError(
            f"found the time {time} of {what} in a session that has come to {least}; expected times that run forwards"
        )
    return time


def check_hints(ctx: Mapping[str, Any], text: str) -> None:
    """Fields once, and not too deep: JSON says 1 and "1" alike."""
    for name, value in ctx.items():
        if type(name) is not str or (type(value) not in _SCALARS and not _is_plain(value)):
            break
    else:
        return
    if _depth(json.loads(text, object_pairs_hook=_once)) > DEEPEST:
        raise UsageError(f"found a ctx that is nested deeper than {DEEPEST}; expected a dict of plain values")


_SCALARS = frozenset((str, int, bool, float, type(None)))


def _is_plain(value: Any) -> bool:
    """A scalar; or a list of such, or a mapping of names to such or to lists of such: each name is there once."""
    if type(value) is list:
        return all(type(part) in _SCALARS for part in value)
    if type(value) is dict:
        return all(
            type(name) is str
            and (type(part) in _SCALARS or (type(part) is list and all(type(x) in _SCALARS for x in part)))
            for name, part in value.items()
        )
    return not isinstance(value, dict | list | tuple)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise UsageError(
            f"found a name twice in a ctx, as JSON says it, among {sorted(made)}; expected each once"
        )
    return made


def _depth(x: Any) -> int:
    deepest, level = 0, [x]
    while level:
        deepest += 1
        level = [
            y for x in level for y in (x.values() if isinstance(x, dict) else x) if isinstance(y, dict | list)
        ]
    return deepest


def short(text: object) -> str:
    """An error's text."""
    said = str(text)
    return said if len(said) <= LONGEST_ERROR else f"{said[:LONGEST_ERROR]}... ({len(said):,} characters)"


def shown(x: Any) -> str:
    """For a message, whatever it is."""
    try:
        said = repr(x)
    except Exception:  # a number of very many digits has none
        said = f"some {type(x).__name__}"
    return said if len(said) <= 80 else f"{said[:80]}..."
