"""What selects say of rows: entries and the reads of them (entries.py), from conditions and who wrote which
column.

For each select and each row of its table: own writes of the transaction are what they are; the columns that
are left may have been written by others. If the condition comes out as it was observed whatever they wrote,
nothing is said. If it depends on one column, an entry of that column was read. If it depends on several, it
is a joint read. A row that was returned is taken apart first: what an AND says of single columns is an
entry each.

To leave out what needs no look is most of the work: a row that no version of a column ever made match is
never looked at. So for each condition the values of a column are tested once, and the rows found by arrays.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.entries import PRESENT, UNKNOWN_INITIAL, Joint, Making, added
from boomslang.deadline import look
from boomslang.distinct import distinct
from boomslang.errors import UsageError
from boomslang.trace.conditions import (
    FALSE,
    TRUE,
    UNKNOWN,
    Column,
    Condition,
    ConditionError,
    Join,
    Literal,
    Test,
    Tree,
    conjuncts,
    family,
    in_words,
    tests,
    truth,
)
from boomslang.trace.model import ABSENT, Absent, Flag, Initial, Kind, Outcome
from boomslang.trace.rows import Row, Tables, refusal, tables

if TYPE_CHECKING:
    from boomslang.asg.graph import ASG

Int64 = NDArray[np.int64]
Truths = NDArray[np.int8]

MOST_COMBINATIONS = 4096
"""Of classes of values, for one row and one condition."""


def with_predicates(asg: ASG, own_writes: str) -> ASG:
    """The ASG with what its selects say of the rows of their tables."""
    trace = asg.trace
    found = tables(trace)
    if found is None or not (trace.op_kind == Kind.SELECT).any():
        return asg
    if own_writes != "must":
        raise UsageError(
            "the trace has selects, whose own writes are always seen; ask without the module read-own-writes"
        )
    return _Derivation(asg, found).result()


class _Values:
    """The values that a column has anywhere, and what tests make of them."""

    def __init__(self, ids: Int64, table: Any) -> None:
        self.ids = ids
        self.scalars = [table[i] for i in ids.tolist()]
        self.place = {v: n for n, v in enumerate(ids.tolist())}

    @cached_property
    def _null(self) -> NDArray[np.bool_]:
        return np.array([x is None for x in self.scalars], bool)

    @cached_property
    def _families(self) -> set[str]:
        return {family(x) for x in self.scalars if x is not None}

    @cached_property
    def _places_of(self) -> dict[Any, list[int]]:
        """Python's equality of numbers is exact, and there is one family: that is checked before this is
        used."""
        found: dict[Any, list[int]] = {}
        for n, x in enumerate(self.scalars):
            if x is not None:
                found.setdefault(x, []).append(n)
        return found

    @cached_property
    def _sorted(self) -> tuple[list[Any], Int64]:
        order = sorted((n for n, x in enumerate(self.scalars) if x is not None), key=self.scalars.__getitem__)
        return [self.scalars[n] for n in order], np.array(order, np.int64)

    def truths(self, tree: Tree) -> Truths:
        """Of each value, what the tree is, which names this column alone and no part of the key."""
        if isinstance(tree, Test):
            return self._test(tree)
        parts = [self.truths(part) for part in tree.parts]
        if tree.op == "not":
            return (TRUE - parts[0]).astype(np.int8)
        whole = np.full(len(self.ids), TRUE if tree.op == "and" else FALSE, np.int8)
        for part in parts:
            whole = np.minimum(whole, part) if tree.op == "and" else np.maximum(whole, part)
        return whole

    def _test(self, test: Test) -> Truths:
        first, *rest = test.operands
        plain = isinstance(first, Column) and all(isinstance(o, Literal) for o in rest)
        wanted = [o.value for o in rest if isinstance(o, Literal)]
        some = [x for x in wanted if x is not None]
        same = all({family(x)} >= self._families for x in some)
        if not plain or not same or test.op in ("like", "is-null") or (test.op != "in" and not some):
            name = test.columns[0] if test.columns else ""
            return np.array([test.truth({name: x}, ()) for x in self.scalars], np.int8)
        yes = np.zeros(len(self.ids), bool)
        if test.op in ("=", "!=", "in"):
            for x in some:
                yes[self._places_of.get(x, [])] = True
            if test.op == "!=":
                yes = ~yes
        else:
            ordered, order = self._sorted
            cut = (bisect_left if test.op in ("<", ">=") else bisect_right)(ordered, some[0])
            yes[order[:cut] if test.op in ("<", "<=") else order[cut:]] = True
        truths = np.where(yes, TRUE, UNKNOWN if len(some) < len(wanted) else FALSE).astype(np.int8)
        truths[self._null] = UNKNOWN
        return truths


class _ColumnOf:
    """A column of a table: its keys, in the order of the rows, and all that was written to them."""

    def __init__(self, asg: ASG, rows: list[Row], name: str | None) -> None:
        held = [(n, r.exists if name is None else r.columns.get(name, -1)) for n, r in enumerate(rows)]
        held = [(n, key) for n, key in held if key >= 0]
        self.row = np.array([n for n, _ in held], np.int64)
        self.key = np.array([key for _, key in held], np.int64)
        low, high = asg.key_start[self.key], asg.key_start[self.key + 1]
        counts = high - low
        at = np.repeat(low - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        self.write_row = np.repeat(self.row, counts)
        self.write_value = asg.write_value[at]
        self.initial = asg.initial[self.key]

    def may(self, fits: Any) -> set[int]:
        """Rows (by place) that some version of the column fits; or of which nobody knows what it was."""
        written = self.write_row[fits(self.write_value)]
        initially = self.row[fits(self.initial) | (self.initial == UNKNOWN_INITIAL)]
        return set(np.concatenate([written, initially]).tolist())


class _Asked:
    """A condition, and what of it can be looked up for all rows at once."""

    def __init__(self, of: _Derivation, condition: Condition, text: int) -> None:
        self.of, self.condition, self.text = of, condition, text
        self.rows = of.found.of_table[condition.table]
        self.parts = conjuncts(condition.tree)
        self.several = [p for p in self.parts if len(_columns(p)) > 1]
        self.found: dict[Any, Any] = {}
        """What was found out about rows that the asking transaction had not written."""

    @property
    def simple(self) -> bool:
        """One column and nothing of the key: the usual case."""
        return len(self.condition.columns) == 1 and not self.condition.key_parts

    @cached_property
    def may_match(self) -> set[int]:
        """Rows (by place) that may ever have matched by what others wrote."""
        names = self.condition.columns
        left: set[int] | None = None
        if not names:
            left = self.of.column(self.condition.table, None).may(lambda v: v != ABSENT)
        for name in names:
            mine = [p for p in self.parts if _columns(p) == (name,) and not _uses_key(p)]
            fitting = self.of.fitting(self.condition.table, name, Join("and", tuple(mine)))
            rows = self.of.column(self.condition.table, name).may(fitting)
            left = rows if left is None else left & rows
        assert left is not None
        by_key = [p for p in self.parts if not _columns(p) and _uses_key(p)]
        if by_key:
            left = {n for n in left if all(truth(p, {}, self.rows[n].key) == TRUE for p in by_key)}
        return left


def _columns(tree: Tree) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for test in tests(tree) for name in test.columns))


def _uses_key(tree: Tree) -> bool:
    return any(test.uses_key for test in tests(tree))


class _Derivation:
    def __init__(self, asg: ASG, found: Tables) -> None:
        self.asg, self.found, self.trace = asg, found, asg.trace
        self.keys = len(asg.trace.keys)
        self.made = Making()
        self.joints: list[Joint] = []
        self._columns: dict[tuple[str, str | None], _ColumnOf] = {}
        self._values: dict[tuple[str, str], _Values] = {}
        self._asked: dict[int, _Asked] = {}
        self._entries: dict[tuple[Any, ...], int] = {}
        self._relations: dict[tuple[Any, ...], Any] = {}
        self._place = {r.number: n for rows in found.of_table.values() for n, r in enumerate(rows)}

    # --- looked up once

    def column(self, table: str, name: str | None) -> _ColumnOf:
        if (table, name) not in self._columns:
            self._columns[table, name] = _ColumnOf(self.asg, self.found.of_table[table], name)
        return self._columns[table, name]

    def values(self, table: str, name: str) -> _Values:
        if (table, name) not in self._values:
            keys = distinct(self.column(table, name).key)
            t = self.trace
            held = t.op_value[np.isin(t.op_key, keys)]
            if t.initial_mode == Initial.UNKNOWN:  # what was read may be what was there
                held = np.concatenate([held, t.item_value[np.isin(t.item_key, keys)]])
            ids = distinct(np.concatenate([held, self.column(table, name).initial]))
            self._values[table, name] = _Values(ids[ids >= 0].astype(np.int64), t.values)
        return self._values[table, name]

    def fitting(self, table: str, name: str, tree: Tree) -> Any:
        """A function from values of a column to whether the tree is true of them; of absent it is not."""
        values = self.values(table, name)
        good = np.append(values.truths(tree) == TRUE, False)

        def fits(ids: NDArray[np.int32]) -> NDArray[np.bool_]:
            place = np.searchsorted(values.ids, ids)
            return np.asarray(good[np.where(ids >= 0, place, len(values.ids))], bool)

        return fits

    # --- all selects

    def result(self) -> ASG:
        t = self.trace
        selects = np.flatnonzero((t.op_kind == Kind.SELECT) & (t.op_flags & Flag.ERROR == 0))
        txns = distinct(np.searchsorted(t.txn_ops, selects, side="right") - 1)
        for txn in txns[t.txn_outcome[txns] != Outcome.ABORTED].tolist():
            self.transaction(txn)
        asg = added(self.asg, self.made)
        assert asg.entries is not None
        return replace(asg, entries=replace(asg.entries, joints=tuple(self.joints)))

    def transaction(self, txn: int) -> None:
        t = self.trace
        own: dict[int, int] = {}
        assert t.op_where is not None
        for row in range(int(t.txn_ops[txn]), int(t.txn_ops[txn + 1])):
            kind, flags = int(t.op_kind[row]), int(t.op_flags[row])
            if flags & Flag.ERROR:
                continue
            if kind == Kind.PUT:
                own[int(t.op_key[row])] = int(t.op_value[row])
            elif kind == Kind.DELETE and not flags & Flag.NOTHING:
                own[int(t.op_key[row])] = ABSENT
            elif kind == Kind.SELECT:
                try:
                    self.select(txn, row, own)
                except ConditionError as error:
                    raise refusal(t, row, str(error)) from None

    def select(self, txn: int, op: int, own: dict[int, int]) -> None:
        look()
        t = self.trace
        assert t.op_where is not None
        text, span = int(t.op_where[op]), int(t.op_range[op])
        if text not in self._asked:
            self._asked[text] = _Asked(self, self.found.conditions[text], text)
        asked = self._asked[text]
        items = range(int(t.range_items[span]), int(t.range_items[span + 1]))
        held = {int(t.item_key[i]): int(t.item_value[i]) for i in items}
        places = [self.found.of_key[key] for key in held]
        returned = {self._place[row.number] for row, column in places if column is None}
        mine = {
            self._place[row.number]
            for key in own
            for row, column in [self.found.of_key.get(key, (None, None))]
            if row is not None and row.table == asked.condition.table
        }
        for n in sorted(returned):
            row = asked.rows[n]
            items_of_row = tuple(held.get(row.columns.get(name, -1)) for name in asked.condition.columns)
            if n in mine or not self.again(txn, op, asked, (n, items_of_row)):
                with self.remembered(asked, (n, items_of_row), own=n in mine):
                    self.matched(txn, op, asked, n, own, held)
        for n in sorted((asked.may_match | mine) - returned):
            if n in mine or not self.again(txn, op, asked, n):
                with self.remembered(asked, n, own=n in mine):
                    self.whole(txn, op, asked, n, own, returned=False)

    @contextmanager
    def remembered(self, asked: _Asked, code: Any, *, own: bool) -> Iterator[None]:
        """What is found out about a row is the same for the next select that asks the same of it."""
        before = len(self.made.reads), len(self.joints), len(self.made.internal)
        yield
        if not own:
            asked.found[code] = (
                [(place, pattern) for _, place, pattern, _ in self.made.reads[before[0] :]],
                self.joints[before[1] :],
                self.made.internal[before[2] :],
            )

    def again(self, txn: int, op: int, asked: _Asked, code: Any) -> bool:
        """The same as it was found before; False if it was not."""
        known = asked.found.get(code)
        if known is None:
            return False
        reads, joints, internal = known
        self.made.reads += [(txn, place, pattern, op) for place, pattern in reads]
        self.joints += [
            Joint(op, txn, j.number, j.name, j.returned, j.keys, j.classes, j.bad, j.parts) for j in joints
        ]
        self.made.internal += [(txn, op, key, seen, there) for _, _, key, seen, there in internal]
        return True

    # --- one row

    def matched(
        self, txn: int, op: int, asked: _Asked, n: int, own: dict[int, int], held: dict[int, int]
    ) -> None:
        """A row that was returned: what single columns must have been, and what several must have been
        together."""
        row, condition = asked.rows[n], asked.condition
        if any(truth(p, {}, row.key) != TRUE for p in asked.parts if not _columns(p)):
            self.impossible(txn, op, asked, n, returned=True)
            return
        parts: set[int] = set()
        for name in condition.columns:
            key = row.columns.get(name, -1)
            mine = [p for p in asked.parts if _columns(p) == (name,)]
            if key in own or key < 0:
                value = own.get(key, ABSENT)
                if value == ABSENT or not self.true(mine, name, value, row):
                    alone = self.keys + key if key in own else None
                    self.impossible(txn, op, asked, n, returned=True, own=key in own, key=key, number=alone)
                    return
            elif key in held and self.true(mine, name, held[key], row):
                continue  # what was read as an item says as much
            else:
                parts.add(self.entry(asked, n, key, ("part", asked.text), self.keys + key, mine, name))
        if asked.several and not self.whole(txn, op, asked, n, own, returned=True, parts=parts):
            return  # it has all that the parts say
        self.made.reads += [(txn, place, PRESENT, op) for place in sorted(parts)]

    def true(self, parts: list[Tree], name: str, value: int, row: Row) -> bool:
        return all(truth(p, {name: self.trace.values[value]}, row.key) == TRUE for p in parts)

    def whole(
        self,
        txn: int,
        op: int,
        asked: _Asked,
        n: int,
        own: dict[int, int],
        *,
        returned: bool,
        parts: Collection[int] = (),
    ) -> bool:
        """What the whole condition says of a row. True: `parts`, entries of single columns, may stand for
        some of it."""
        row, condition = asked.rows[n], asked.condition
        if not condition.columns:
            matches = truth(condition.tree, {}, row.key) == TRUE
            if row.exists in own or row.exists < 0:
                if matches and row.exists >= 0 and own[row.exists] != ABSENT:
                    self.impossible(txn, op, asked, n, returned=False, own=True, key=row.exists)
            elif matches:
                place = self.entry(asked, n, row.exists, ("exists",), 2 * self.keys + row.number, None, None)
                self.made.reads.append((txn, place, ABSENT, op))
            return False
        keys = [row.columns.get(name, -1) for name in condition.columns]
        fixed = {
            name: own.get(key, ABSENT)
            for name, key in zip(condition.columns, keys, strict=True)
            if key in own or key < 0
        }
        open_ = [(name, key) for name, key in zip(condition.columns, keys, strict=True) if name not in fixed]
        if len(open_) == 1 and not fixed and asked.simple and not returned:
            name, key = open_[0]
            place = self.entry(
                asked, n, key, ("whole", asked.text), 2 * self.keys + row.number, [condition.tree], name
            )
            self.made.reads.append((txn, place, ABSENT, op))
            return False
        classes, bad, relevant = self.relation(asked, row, tuple(fixed.items()), tuple(open_), returned)
        if not bad:
            return False
        if not relevant:
            mine = [key for key in keys if key in own]
            self.impossible(txn, op, asked, n, returned=returned, own=not open_, key=(mine or [-1])[0])
        elif len(relevant) == 1:
            key = open_[relevant[0]][1]
            wrong = {c for (c,) in bad}
            self.single(txn, op, asked, n, key, classes[0], wrong, tuple(fixed.items()), returned)
        else:
            self.joints.append(
                Joint(
                    op,
                    txn,
                    2 * self.keys + row.number,
                    self.name(asked, n),
                    returned,
                    tuple(open_[i][1] for i in relevant),
                    tuple(classes),
                    frozenset(bad),
                    frozenset(self.keys + place for place in parts),
                )
            )
            return True
        return False

    def relation(
        self,
        asked: _Asked,
        row: Row,
        fixed: tuple[tuple[str, int], ...],
        open_: tuple[tuple[str, int], ...],
        returned: bool,
    ) -> tuple[list[dict[int, int]], set[tuple[int, ...]], list[int]]:
        """Of the columns that matter: classes of values, and which classes cannot have been there together;
        and which
        columns these are."""
        possible = [self.possible(row.table, name, key) for name, key in open_]
        pk = row.key if asked.condition.key_parts else ()
        memo = (asked.text, pk, fixed, tuple(name for name, _ in open_), returned, *map(tuple, possible))
        if memo not in self._relations:
            self._relations[memo] = self._relation(asked, row, dict(fixed), open_, possible, returned)
        found: tuple[list[dict[int, int]], set[tuple[int, ...]], list[int]] = self._relations[memo]
        return found

    def possible(self, table: str, name: str, key: int) -> list[int]:
        """What others may have left in the key. What it held initially may be unknown; then all that the
        column ever had."""
        low, high = int(self.asg.key_start[key]), int(self.asg.key_start[key + 1])
        live = self.asg.outcome[self.asg.write_txn[low:high]] != Outcome.ABORTED
        values = set(self.asg.write_value[low:high][live].tolist())
        if self.asg.initial[key] != UNKNOWN_INITIAL:
            values.add(int(self.asg.initial[key]))
        else:
            values |= {ABSENT, *self.values(table, name).ids.tolist()}
        return sorted(values)

    def _relation(
        self,
        asked: _Asked,
        row: Row,
        fixed: dict[str, int],
        open_: tuple[tuple[str, int], ...],
        possible: list[list[int]],
        returned: bool,
    ) -> tuple[list[dict[int, int]], set[tuple[int, ...]], list[int]]:
        condition = asked.condition
        known = {name: self.scalar(value) for name, value in fixed.items()}
        classes: list[dict[int, int]] = []
        some: list[list[int]] = []  # of each class, a value
        for (name, key), values in zip(open_, possible, strict=True):
            signature: dict[Any, int] = {}
            mine: dict[int, int] = {}
            first: list[int] = []
            alone = [t for t in tests(condition.tree) if set(t.columns) - known.keys() == {name}]
            together = any(name in t.columns and t not in alone for t in tests(condition.tree))
            for value in values:
                if value == ABSENT or Absent in known.values():
                    sign: Any = "absent" if value == ABSENT else "there"
                elif together:
                    sign = value
                else:
                    held = {**known, name: self.scalar(value)}
                    sign = tuple(t.truth(held, row.key) for t in alone)
                if sign not in signature:
                    signature[sign] = len(first)
                    first.append(value)
                mine[value] = signature[sign]
            if int(self.asg.initial[key]) == UNKNOWN_INITIAL:
                # One that is none of these: it can be anything, and so says nothing (and makes the column matter).
                mine[UNKNOWN_INITIAL] = len(first)
                first.append(UNKNOWN_INITIAL)
            classes.append(mine)
            some.append(first)
        count = 1
        for first in some:
            count *= len(first)
        if count > MOST_COMBINATIONS:
            raise ConditionError(
                f"a condition over several columns with {count:,} combinations of their values in one row, {row.name}",
                f"at most {MOST_COMBINATIONS:,}",
                "leave the read out, or compare columns with values and not with each other",
            )
        good: dict[tuple[int, ...], bool] = {}
        for choice in product(*(range(len(first)) for first in some)):
            values = [first[c] for first, c in zip(some, choice, strict=True)]
            if UNKNOWN_INITIAL in values:
                good[choice] = True
                continue
            held = {name: self.scalar(v) for (name, _), v in zip(open_, values, strict=True)}
            good[choice] = condition.matches({**known, **held}, row.key) == returned
        relevant = [i for i in range(len(open_)) if _matters(good, i, len(some[i]))]
        bad = {tuple(choice[i] for i in relevant) for choice, fine in good.items() if not fine}
        return [classes[i] for i in relevant], bad, relevant

    def scalar(self, value: int) -> Any:
        return Absent if value == ABSENT else self.trace.values[value]

    # --- entries

    def name(self, asked: _Asked, n: int) -> str:
        return f"{asked.rows[n].name} {in_words(asked.condition)}".rstrip()

    def entry(
        self,
        asked: _Asked,
        n: int,
        key: int,
        what: tuple[Any, ...],
        number: int,
        parts: list[Tree] | None,
        column: str | None,
    ) -> int:
        """The entry of a key for parts of a condition (None: that it is there at all)."""
        row = asked.rows[n]
        pk = row.key if parts is not None and any(_uses_key(p) for p in parts) else ()
        code = (key, number, *what, pk)
        if code not in self._entries:
            if parts is None:
                fits = _is_there
            elif pk:
                assert column is not None
                fits = self._fitting_here(parts, column, row)
            else:
                assert column is not None
                fits = self.fitting(row.table, column, Join("and", tuple(parts)))
            known = () if column is None else self.values(row.table, column).ids.tolist()
            self._entries[code] = self.settled(self.name(asked, n), key, number, fits, known)
        return self._entries[code]

    def _fitting_here(self, parts: list[Tree], name: str, row: Row) -> Any:
        good: dict[int, bool] = {}

        def fits(ids: NDArray[np.int32]) -> NDArray[np.bool_]:
            for v in set(ids.tolist()) - good.keys():
                good[v] = v >= 0 and self.true(parts, name, v, row)
            return np.array([good[v] for v in ids.tolist()], bool)

        return fits

    def settled(self, name: str, key: int, number: int, fits: Any, known: Sequence[int] = ()) -> int:
        """A new entry: present with every version of the key that fits."""
        asg = self.asg
        place = self.made.entry(name, key, number)
        low, high = int(asg.key_start[key]), int(asg.key_start[key + 1])
        values = asg.write_value[low:high]
        self.made.write_key.append(np.full(high - low, place, np.int64))
        self.made.write_row.append(np.arange(low, high))
        self.made.write_value.append(np.where(fits(values), values, ABSENT).astype(np.int32))
        inner = asg.intermediate
        a, b = np.searchsorted(inner[1], [key, key + 1])
        self.made.inner_key.append(np.full(b - a, place, np.int64))
        self.made.inner_row.append(np.arange(a, b))
        self.made.inner_value.append(np.where(fits(inner[2][a:b]), inner[2][a:b], ABSENT).astype(np.int32))
        start = asg.initial[key : key + 1]
        if int(start[0]) == UNKNOWN_INITIAL:
            self.made.fits[place] = lambda value: bool(fits(np.array([value], np.int32))[0])
            self.made.known[place] = known
            self.made.initial[place] = UNKNOWN_INITIAL
        else:
            self.made.initial[place] = int(start[0]) if fits(start)[0] else ABSENT
        return place

    def single(
        self,
        txn: int,
        op: int,
        asked: _Asked,
        n: int,
        key: int,
        classes: dict[int, int],
        wrong: set[int],
        fixed: tuple[tuple[str, int], ...],
        returned: bool,
    ) -> None:
        """A relation that came down to one column."""
        number = 2 * self.keys + asked.rows[n].number
        code = (key, number, "rest", asked.text, fixed, returned)
        if code not in self._entries:
            # What aborted is in no class; that it was seen is for others to find.
            good = [v for v, c in classes.items() if (c not in wrong) == returned and v >= 0]
            place = self.settled(self.name(asked, n), key, number, lambda ids: np.isin(ids, good))
            if self.made.fits[place] is not None:  # of a value in no class nobody has found out
                self.made.fits[place] = lambda v: v in good if v in classes else None
                self.made.known[place] = [v for v in classes if v >= ABSENT]
            self._entries[code] = place
        self.made.reads.append((txn, self._entries[code], PRESENT if returned else ABSENT, op))

    def impossible(
        self,
        txn: int,
        op: int,
        asked: _Asked,
        n: int,
        *,
        returned: bool,
        own: bool = False,
        key: int = -1,
        number: int | None = None,
    ) -> None:
        """Nothing that anybody wrote explains it."""
        if number is None:
            number = 2 * self.keys + asked.rows[n].number
        place = self.made.entry(self.name(asked, n), key, number)
        seen = PRESENT if returned else ABSENT
        if own:
            there = ABSENT if returned else PRESENT
            self.made.internal.append((txn, op, place, seen, there))
            return
        # A read of an entry that nobody wrote, and that was not what was read.
        if not returned:
            self.made.initial[place] = PRESENT
        self.made.reads.append((txn, place, seen, op))


def _is_there(ids: NDArray[np.int32]) -> NDArray[np.bool_]:
    return np.asarray(ids != ABSENT, bool)


def _with(choice: tuple[int, ...], i: int, other: int) -> tuple[int, ...]:
    return (*choice[:i], other, *choice[i + 1 :])


def _matters(good: dict[tuple[int, ...], bool], i: int, size: int) -> bool:
    """Does it make a difference what column i holds?"""
    return any(
        good[choice] != good[_with(choice, i, other)]
        for choice in good
        if choice[i] == 0
        for other in range(1, size)
    )
