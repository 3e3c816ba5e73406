"""What `ctx` tells of versions: one reading of the hints, for modules and encodings alike.

    put or delete    "version": 7                    the place of its version among those of the key
    begin            "cdc": 7, or "commit": 7        the same, for all that the transaction writes: its position in the
                     ("cts" is the same)             change log, or its commit timestamp
    get or next      "version": 7                    the place of the version it saw; 0: the initial one
    any read         "versions": {"x": 7}            of several keys (by their text) the place
                     "versions": [["x", "t1"]]       of several keys the transaction whose version it saw; null: none,
                                                     it is the initial one

A place is a number, or a list of numbers that compare from left to right. Places of different kinds (`version`, `cdc`,
`commit`) are on different scales and say nothing of each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boomslang.errors import UsageError
from boomslang.trace.model import Kind
from boomslang.trace.scalars import typed

Place = tuple[float, ...]
SCALES = ("version", "cdc", "commit")
FIRST: Place = (0,)
"""Of the initial version, on every scale."""


def moment(hint: str, value: Any) -> Place:
    """A place or timestamp of a hint: a number, or a list of numbers, compared from left to right."""
    parts = value if isinstance(value, list) else [value]
    if not parts or any(isinstance(x, bool) or not isinstance(x, int | float) or x != x for x in parts):
        raise UsageError(f"found {value!r} as {hint!r} in ctx; expected a number or a list of numbers")
    return tuple(parts)


def ranks(hint: str, values: list[Any]) -> NDArray[np.int64]:
    """Of each moment, its rank among them. Nearly always they are integers, or pairs of two."""
    shape = {type(x) if type(x) is int else (type(x), len(x)) if type(x) is list else None for x in values}
    if len(shape) == 1 and None not in shape:
        rows = values if int in shape else [part for x in values for part in x]
        if {type(x) for x in rows} == {int} and max(rows) < 2**62 and min(rows) > -(2**62):
            columns = np.array(rows, np.int64).reshape(len(values), -1)
            order = np.lexsort(columns.T[::-1])
            steps = (columns[order][1:] != columns[order][:-1]).any(axis=1)
            place = np.empty(len(values), np.int64)
            place[order] = np.concatenate(([0], np.cumsum(steps)))
            return place
    moments = [moment(hint, x) for x in values]
    known = {when: i for i, when in enumerate(sorted(set(moments)))}
    return np.array([known[when] for when in moments], np.int64)


def places(operation: Mapping[str, Any], transaction: Mapping[str, Any]) -> dict[str, Place]:
    """The place of a written version on each scale that the hints of its operation and transaction know."""
    said = {
        "version": operation.get("version"),
        "cdc": transaction.get("cdc"),
        "commit": transaction.get("cts", transaction.get("commit")),
    }
    return {hint: moment(hint, value) for hint, value in said.items() if value is not None}


class Seen(NamedTuple):
    """The version that a read saw: by its place, or (`place` is None) by its writer's name."""

    place: Place | None
    writer: object = None
    """The name of a transaction; None for the initial version."""


def seen(kind: int, ctx: Mapping[str, Any], key: object) -> Seen | None:
    """What the hints of a reading operation tell of the version of this key; None if they tell nothing."""
    told = ctx.get("versions")
    if isinstance(told, dict):
        place = told.get(str(key))
        return None if place is None else Seen(moment("versions", place))
    if told is not None:
        if not isinstance(told, list) or any(not isinstance(pair, list) or len(pair) != 2 for pair in told):
            raise UsageError(
                f"found {told!r} as 'versions' in ctx; expected pairs of a key and a transaction, or an object of keys "
                "and places"
            )
        for of, writer in told:
            if typed(of) == typed(key):
                return Seen(None, writer)
        return None
    if kind in (Kind.GET, Kind.NEXT) and ctx.get("version") is not None:
        return Seen(moment("version", ctx["version"]))
    return None
