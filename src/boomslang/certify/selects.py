"""What selects say of rows: the verifiers' own reading of it, shared with nothing that checks.

Of each row of its table a select saw one version of every column that its condition names (of the row's
existence, if it names none): with these the condition is true if the row was returned, and not true if it
was not. Own writes of the transaction are what they are. A core calls this `2 * keys + n` for the n-th row,
and `keys + k` what an AND says of the key k alone, if the row was returned; a witness names the version of
the key k that a select saw as that of `keys + k`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from boomslang.certify.seen import rows_of, written
from boomslang.trace import ABSENT, Absent, Flag, Kind, Trace
from boomslang.trace.conditions import TRUE, Condition, ConditionError, conjuncts, tests, truth
from boomslang.trace.rows import Row, tables_of

Array = np.ndarray[Any, np.dtype[Any]]
Refuse = Callable[[Array, str], None]


@dataclass(frozen=True)
class Asked:
    """What was said of a row: the keys that others wrote, and whether some values of theirs fit."""

    txn: int
    row: int
    keys: tuple[int, ...]
    own: dict[int, int]
    condition: Condition
    place: Row
    returned: bool
    column: str | None = None
    """If it is about this column alone."""

    def fits(self, trace: Trace, seen: tuple[int, ...]) -> bool:
        held = {**self.own, **dict(zip(self.keys, seen, strict=True))}
        names = (self.column,) if self.column is not None else self.condition.columns
        values = {name: _scalar(trace, held.get(self.place.columns.get(name, -1), ABSENT)) for name in names}
        if self.column is not None:
            parts = [p for p in conjuncts(self.condition.tree) if _names(p) == {self.column}]
            there = values[self.column] is not Absent
            return there and all(truth(p, values, self.place.key) == TRUE for p in parts)
        there = held.get(self.place.exists, ABSENT) != ABSENT if not names else Absent not in values.values()
        return (there and truth(self.condition.tree, values, self.place.key) == TRUE) == self.returned


def _names(tree: Any) -> set[str]:
    return {name for test in tests(tree) for name in test.columns}


def _scalar(trace: Trace, value: int) -> Any:
    return Absent if value == ABSENT else trace.values[value]


def asked(trace: Trace, row: int, number: int) -> Asked | None:
    """What a core's (operation, number) says; None if the operation asked no such thing."""
    found, keys = tables_of(trace), len(trace.keys)
    if found is None or trace.op_kind[row] != Kind.SELECT or trace.op_flags[row] & Flag.ERROR:
        return None
    assert trace.op_where is not None
    condition = found.conditions[int(trace.op_where[row])]
    column = None
    if number >= 2 * keys:
        if number - 2 * keys >= len(found.rows):
            return None
        place = found.rows[number - 2 * keys]
    else:
        known = found.of_key.get(number - keys)
        if known is None or known[1] not in condition.columns:
            return None
        place, column = known
    if place.table != condition.table:
        return None
    returned = place.exists in _items(trace, row)
    if column is not None and not returned:
        return None
    return _asked(trace, row, condition, place, returned, column)


def _items(trace: Trace, row: int) -> dict[int, int]:
    r = int(trace.op_range[row])
    span = slice(int(trace.range_items[r]), int(trace.range_items[r + 1]))
    return dict(zip(trace.item_key[span].tolist(), trace.item_value[span].tolist(), strict=True))


def _asked(
    trace: Trace, row: int, condition: Condition, place: Row, returned: bool, column: str | None = None
) -> Asked:
    t = int(np.searchsorted(trace.txn_ops, row, side="right")) - 1
    names = (column,) if column is not None else condition.columns
    keys = [place.columns.get(name, -1) for name in names] if names else [place.exists]
    before = range(rows_of(trace, t).start, row)
    own = {key: value for _, key, value in written(trace, before) if key in keys}
    others = tuple(key for key in keys if key >= 0 and key not in own)
    by_key = [p for p in conjuncts(condition.tree) if not _names(p)]
    if returned and any(truth(p, {}, place.key) != TRUE for p in by_key):
        own, others = {}, ()  # whatever its columns were
    return Asked(t, row, others, own, condition, place, returned, column)


# --- replay


def replay_selects(
    trace: Trace,
    counts: Array,
    value: Callable[[int, int], int] | None,
    told: Callable[[int, int], int | None],
    may: Callable[[int], frozenset[int]],
    refuse: Refuse,
) -> int:
    """Checks what all selects that count say of the rows of their tables.

    `value(key, row)` is what the operation saw in a key that its transaction had not written, where the order
    settles it. Where it does not (None), `told(row, key)` is what the version holds that the witness names, and
    `may(key)` all that it can have been: what the witness does not name must not matter. Says how many names
    were used.
    """
    found, used = tables_of(trace), 0
    if found is None or trace.op_where is None:
        return 0
    good: dict[Any, bool] = {}  # of each condition and what a row's columns may have been: does it come out?
    keys_of: dict[int, list[tuple[Row, tuple[int, ...]]]] = {}
    alike: dict[int, dict[int, Row]] = {}
    matched: dict[int, set[int]] = {}
    moved = set(trace.op_key[np.isin(trace.op_kind, (Kind.PUT, Kind.DELETE))].tolist())
    for row in np.flatnonzero((trace.op_kind == Kind.SELECT) & counts).tolist():
        text = int(trace.op_where[row])
        condition = found.conditions[text]
        names = condition.columns
        items = _items(trace, row)
        if text not in keys_of:
            keys_of[text] = [
                (place, tuple(place.columns.get(name, -1) for name in names) if names else (place.exists,))
                for place in found.of_table[condition.table]
            ]
            if value is not None:
                # Rows that nobody writes are always the same: they are looked at once for each condition.
                alike[text], matching, moving = {}, set(), []
                for place, keys in keys_of[text]:
                    held = [ABSENT if key < 0 else value(key, row) for key in keys]
                    comes_out = [
                        place.exists >= 0
                        and moved.isdisjoint(keys)
                        and _comes_out(trace, condition, place, keys, returned, held)
                        for returned in (False, True)
                    ]
                    if not any(comes_out):
                        moving.append((place, keys))
                        continue
                    alike[text][place.exists] = place
                    if comes_out[True]:
                        matching.add(place.exists)
                keys_of[text], matched[text] = moving, matching
        if value is not None:
            for key in (items.keys() & alike[text].keys()) ^ matched[text]:
                refuse(np.array([row]), _wrongly(alike[text][key], key in items))
        t = int(np.searchsorted(trace.txn_ops, row, side="right")) - 1
        own = {key: v for _, key, v in written(trace, range(rows_of(trace, t).start, row))}
        own[-1] = ABSENT
        for place, keys in keys_of[text]:
            seen: list[Any] = []
            for key in keys:
                if key in own:
                    seen.append(own[key])
                elif value is not None:
                    seen.append(value(key, row))
                else:
                    named = told(row, key)
                    used += named is not None
                    seen.append(named if named is not None else items.get(key, may(key)))
            returned = place.exists in items
            code = (text, place.key if condition.key_parts else (), returned, *seen)
            if code not in good:
                good[code] = _comes_out(trace, condition, place, keys, returned, seen)
            if not good[code]:
                refuse(np.array([row]), _wrongly(place, returned))
    return used


def _wrongly(place: Row, returned: bool) -> str:
    what = "does not match, and returned it" if returned else "matches, and did not return it"
    return f"saw a state in which {place.name} {what}"


def _comes_out(
    trace: Trace, condition: Condition, place: Row, keys: tuple[int, ...], returned: bool, seen: list[Any]
) -> bool:
    """Whatever the columns were (of each, a value or a set of values): is the row returned if and only if
    it matches?"""
    said = Asked(-1, -1, keys, {}, condition, place, returned)
    options = [sorted(v) if isinstance(v, frozenset) else [v] for v in seen]
    try:
        return all(said.fits(trace, values) for values in product(*options))
    except (ConditionError, IndexError):  # values of two types, or one that the trace does not name
        return False
