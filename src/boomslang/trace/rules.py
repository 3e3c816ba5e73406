"""The rules of a trace, over its columns: what the reader of JSON Lines enforces line by line, for traces that come
as columns from somebody else's hands.

Later phases are native code that believes the columns: an id beyond its table would be a crash there, and an
iterator that runs backwards a wrong answer. So everything they rely on is looked at here, in array code: lengths,
bounds, what each kind of operation must have, ranges and what they returned, iterators, lists, the initial state.
What the scalars of the tables look like is the business of whoever read them (see `formats/columnar.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from boomslang.distinct import distinct
from boomslang.trace.errors import TraceError
from boomslang.trace.model import NO_TIME, Flag, Initial, Kind, Outcome, Trace
from boomslang.trace.scalars import FAMILY, INT, NULL, STR

Mask = NDArray[np.bool_]

_FIX = "fix: write the file again from its source"
_NOTHING = np.zeros(0, bool)
BLOCK = 1 << 20
"""Items that are looked at together."""


def check_rules(trace: Trace, file: str, check: Callable[[], None] = lambda: None) -> None:
    """Raises a `TraceError` if these columns are no trace; `check` is called now and then."""
    rules = _Rules(trace, file)
    for rule in (
        rules.lengths,
        rules.ids,
        rules.transactions,
        rules.operations,
        rules.results,
        rules.ranges,
        rules.iterators,
        rules.lists,
        rules.initial,
    ):
        check()
        rule()


class _Rules:
    def __init__(self, trace: Trace, file: str) -> None:
        self.t = trace
        self.file = file
        self.rows = len(trace.op_kind)

    def refuse(self, found: str, expected: str) -> NoReturn:
        raise TraceError(f"found {found}; expected {expected}; {_FIX}", self.file)

    def none(self, wrong: Mask, found: str, expected: str, first: int = 0) -> None:
        """No row, from this one, may be wrong; the first one that is, is told."""
        if wrong.any():
            self.refuse(f"{found} (row {first + int(np.argmax(wrong)):,})", expected)

    def among(self, name: str, low: int, high: int) -> None:
        """All of a column within low .. high - 1."""
        column = getattr(self.t, name)
        if column is None or not len(column):
            return
        if int(column.min()) < low or int(column.max()) >= high:
            wrong = (column < low) | (column >= high)
            row = int(np.argmax(wrong))
            expected = f"a number from {low} to {high - 1}" if high > low else "none, as its table is empty"
            self.refuse(f"{int(column[row])} in the column {name}, row {row:,}", expected)

    # --- sizes and ids

    def lengths(self) -> None:
        t = self.t
        lengths = (
            (
                len(t),
                "txn_session txn_outcome txn_name txn_file txn_begin_line txn_end_line txn_begin txn_end",
            ),
            (len(t), "txn_clock txn_ctx"),
            (
                self.rows,
                "op_flags op_key op_value op_range op_line op_invoke op_return op_ctx op_error op_where",
            ),
            (len(t.range_lo), "range_hi"),
            (len(t.item_key), "item_value"),
            (len(t.initial_key), "initial_value"),
            (len(t.keys), "key_rank"),
        )
        for length, names in lengths:
            for name in names.split():
                column: Any = getattr(t, name)
                if column is not None and len(column) != length:
                    self.refuse(f"{len(column):,} rows in the column {name}", f"{length:,}, as in its table")
        if len(t) >= 2**31 or self.rows >= 2**32:
            self.refuse(f"{len(t):,} transactions and {self.rows:,} operations", "fewer")
        for name, count, total in (
            ("txn_ops", len(t), self.rows),
            ("range_items", len(t.range_lo), len(t.item_key)),
        ):
            starts = getattr(t, name)
            if len(starts) != count + 1 or starts[0] != 0 or starts[-1] != total:
                self.refuse(
                    f"a column {name} that does not cover its table",
                    f"{count + 1:,} rows from 0 to {total:,}",
                )
            self.none(
                np.diff(starts) < 0,
                f"a decreasing number in the column {name}",
                "numbers that do not decrease",
            )

    def ids(self) -> None:
        t = self.t
        for name, low, high in (
            ("txn_session", -1, len(t.sessions)),
            ("txn_outcome", 0, len(Outcome)),
            ("txn_name", 0, len(t.names)),
            ("txn_file", 0, len(t.files)),
            ("txn_clock", 0, len(t.clocks)),
            ("txn_ctx", -1, len(t.texts)),
            ("op_kind", 0, len(Kind)),
            ("op_flags", 0, 16),
            ("op_key", -1, len(t.keys)),
            ("op_value", -1, len(t.values)),
            ("op_range", -1, len(t.range_lo)),
            ("op_ctx", -1, len(t.texts)),
            ("op_error", -1, len(t.texts)),
            ("op_where", -1, len(t.texts)),
            ("range_lo", -1, len(t.keys)),
            ("range_hi", -1, len(t.keys)),
            ("item_key", -1, len(t.keys)),
            ("item_value", 0, len(t.values)),
            ("initial_key", 0, len(t.keys)),
            ("initial_value", 0, len(t.values)),
            ("key_rank", 0, len(t.keys)),
        ):
            self.among(name, low, high)

    # --- transactions

    def transactions(self) -> None:
        t = self.t
        if not np.isin(t.names.type, (NULL, INT, STR)).all():
            self.refuse(
                "a transaction's name that is neither an integer nor a string", "one of the two, or none"
            )
        self.none(
            (t.txn_begin != NO_TIME) & (t.txn_end != NO_TIME) & (t.txn_end < t.txn_begin),
            "a transaction that ends before it begins",
            "times that run forwards",
        )
        named = t.names.type[t.txn_name] != NULL
        self.none(
            ~named & (t.txn_session < 0), "a transaction with neither a session nor a name", "one of the two"
        )
        if not named.all():
            self._nameless(named)
        rows = np.flatnonzero(named)
        code = (t.txn_session[rows].astype(np.int64) << 32) | t.txn_name[rows]
        if not (np.diff(code) > 0).all():
            code.sort()
            if (np.diff(code) == 0).any():
                again = int(code[np.argmax(np.diff(code) == 0)] & 0xFFFFFFFF)
                self.refuse(
                    f"two transactions of a session with the name {t.names[again]!r}", "one of each name"
                )

    def _nameless(self, named: Mask) -> None:
        """Without a name the begin of a transaction shows only where the one before it in its session has ended."""
        t = self.t
        order = np.argsort(t.txn_session, kind="stable")
        before, after = order[:-1], order[1:]
        wrong = np.zeros(len(t), bool)
        wrong[after] = (
            (t.txn_session[before] == t.txn_session[after])
            & (t.txn_outcome[before] == Outcome.UNKNOWN)
            & ~named[after]
        )
        self.none(wrong, "a transaction without a name after one of unknown outcome", "a name")

    # --- operations

    def operations(self) -> None:
        """What each kind of operation must have, and must not. Few shapes occur: each is judged once."""
        t = self.t
        shape = t.op_kind.astype(np.uint16)
        shape <<= 4
        shape |= t.op_flags
        for held in (t.op_key, t.op_value, t.op_range, t.op_error):
            shape <<= 1
            if held is not None:
                shape |= held >= 0
        for code in np.flatnonzero(np.bincount(shape)).tolist():
            key, value, range_, error = (bool(code & bit) for bit in (8, 4, 2, 1))
            problem = _misshapen(Kind(code >> 8), Flag(code >> 4 & 15), key, value, range_, error)
            if problem:
                self.none(shape == code, *problem)
        self._begins_first(t.op_kind == Kind.BEGIN)

    def _begins_first(self, begins: Mask) -> None:
        """Begins stand before all else in their transaction."""
        rows = np.flatnonzero(begins)
        if len(rows):
            inner = ~np.isin(rows, self.t.txn_ops[:-1])
            before = np.zeros(len(rows), bool)
            before[inner] = ~begins[rows[inner] - 1]
            if before.any():
                self.refuse(
                    f"a begin after other operations (row {int(rows[np.argmax(before)]):,})", "it first"
                )

    # --- ranges and what they returned

    def results(self) -> None:
        """A range is opened by one operation; only scans and lists return items with it."""
        t = self.t
        if not len(t.range_lo):
            return
        opening = np.flatnonzero((t.op_range >= 0) & (t.op_kind != Kind.NEXT))
        opened = np.bincount(t.op_range[opening], minlength=len(t.range_lo))
        self.none(
            opened != 1,
            "a range that not one operation opened",
            "one scan, iterator, list or select for each",
        )
        opener = np.zeros(len(t.range_lo), np.int64)
        opener[t.op_range[opening]] = opening
        self.opener = opener
        self.kind = t.op_kind[opener]
        self.failed = (t.op_flags[opener] & Flag.ERROR) != 0
        counts = np.diff(t.range_items)
        self.none((counts > 0) & (self.kind == Kind.ITERATOR), "items of an iterator", "none")
        # Lists may be long, and most traces of lists have no scans: no array of all items that is not needed.
        scan = np.isin(self.kind, (Kind.SCAN, Kind.SELECT))
        key = np.where(scan, -1, t.op_key[opener]).astype(np.int32)
        if not (scan & (counts > 0)).any():
            self.scanned = self.scanned_by = np.zeros(0, np.int64)
        else:
            self.scanned = np.flatnonzero(np.repeat(scan, counts))
            self.scanned_by = np.repeat(np.arange(len(t.range_lo)), np.where(scan, counts, 0))
        blocks = np.searchsorted(t.range_items, np.arange(0, len(t.item_key), BLOCK)).tolist()
        for first, last in pairwise([*blocks, len(counts)]):
            items = t.item_key[t.range_items[first] : t.range_items[last]]
            wanted = np.repeat(key[first:last], counts[first:last])
            other = (items != wanted) & ~np.repeat(scan[first:last], counts[first:last])
            row = int(t.range_items[first])
            self.none(other, "an element of a list of another key", "its own", row)
        wrong = np.zeros(len(t.item_key), bool) if len(self.scanned) else _NOTHING
        wrong[self.scanned] = t.item_key[self.scanned] < 0
        self.none(wrong, "an item without a key", "a key")
        good = ~self.failed[self.scanned_by]
        self.scanned, self.scanned_by = self.scanned[good], self.scanned_by[good]

    def ranges(self) -> None:
        """Bounds of one type, the right way round; what was returned lies between them, each key once."""
        t = self.t
        if not len(t.range_lo):
            return
        lo, hi, kind_of, rank = t.range_lo, t.range_hi, t.keys.type, t.key_rank
        boundless = np.isin(self.kind, (Kind.LIST, Kind.SELECT))
        self.none(boundless & ((lo >= 0) | (hi >= 0)), "bounds of a list or a select", "none")
        for bound in (lo, hi):
            held = np.where(bound >= 0, bound, 0)
            null = (bound >= 0) & (kind_of[held] == NULL) if len(kind_of) else np.zeros(len(bound), bool)
            self.none(null, "null as a bound of a range", "no bound")
        both = np.flatnonzero((lo >= 0) & (hi >= 0) & ~self.failed)
        if (FAMILY[kind_of[lo[both]]] != FAMILY[kind_of[hi[both]]]).any():
            self.refuse("a range with bounds of two types", "bounds of one type, or two numbers")
        if (rank[lo[both]] > rank[hi[both]]).any():
            self.refuse("a range from a key down to a smaller one", "the smaller one first")
        key = t.item_key[self.scanned]
        self._inside(key, self.scanned_by)
        code = (self.scanned_by << 32) | key
        code.sort()
        if (np.diff(code) == 0).any():
            self.refuse("a key twice in one scan or select", "each key once")

    def _inside(self, key: NDArray[np.int32], of: NDArray[Any]) -> None:
        t = self.t
        lo, hi, rank = t.range_lo[of], t.range_hi[of], t.key_rank
        for bound, outside in ((lo, np.less), (hi, np.greater_equal)):
            at = np.flatnonzero(bound >= 0)
            wrong_type = FAMILY[t.keys.type[key[at]]] != FAMILY[t.keys.type[bound[at]]]
            if wrong_type.any() or outside(rank[key[at]], rank[bound[at]]).any():
                self.refuse("a key that was returned from outside its range", "keys inside the range")

    def iterators(self) -> None:
        """An iterator is used in its transaction, after it was opened and before its end. It goes forwards through
        the keys of each type; through the types it goes as the database likes."""
        t = self.t
        rows = np.flatnonzero((t.op_kind == Kind.NEXT) & (t.op_range >= 0))
        if not len(rows):
            return
        of = t.op_range[rows]
        if (self.kind[of] != Kind.ITERATOR).any():
            self.refuse("a next of something that is no iterator", "an iterator")
        opener = self.opener[of]
        txn = np.searchsorted(t.txn_ops, rows, side="right")
        if (
            self.failed[of] | (opener > rows) | (np.searchsorted(t.txn_ops, opener, side="right") != txn)
        ).any():
            self.refuse("a next of an iterator that its transaction has not opened", "the iterator first")
        order = np.argsort(of, kind="stable")
        rows, of = rows[order], of[order]
        again = of[1:] == of[:-1]
        end = (t.op_flags[rows] & (Flag.END | Flag.ERROR)) == Flag.END
        if (end[:-1] & again).any():
            self.refuse("a next of an iterator after its end", "no further next")
        good = (t.op_flags[rows] & (Flag.END | Flag.ERROR)) == 0
        rows, of = rows[good], of[good]
        self._inside(t.op_key[rows], of)
        family = FAMILY[t.keys.type[t.op_key[rows]]]
        by_family = np.lexsort((rows, family, of))
        of, family, rank = of[by_family], family[by_family], t.key_rank[t.op_key[rows[by_family]]]
        if ((of[1:] == of[:-1]) & (family[1:] == family[:-1]) & (rank[1:] <= rank[:-1])).any():
            self.refuse(
                "an iterator that returned its keys in another order than theirs", "keys that increase"
            )

    # --- lists and the initial state

    def lists(self) -> None:
        """A key holds a list or a register; lists start empty; an element is appended to a key once."""
        t = self.t
        ok = (t.op_flags & Flag.ERROR) == 0
        of_list = ok & ((t.op_kind == Kind.APPEND) | (t.op_kind == Kind.LIST))
        if not np.isin(t.op_kind, (Kind.APPEND, Kind.LIST)).any():
            return
        is_list = np.zeros(len(t.keys), bool)
        is_list[t.op_key[of_list]] = True
        touched = np.isin(t.op_kind, (Kind.PUT, Kind.DELETE, Kind.NEXT)) | (
            (t.op_kind == Kind.GET) & (t.op_value >= 0)
        )
        registers = t.op_key[ok & touched & (t.op_key >= 0)]
        items = t.item_key[self.scanned if len(t.range_lo) else _NOTHING]
        if is_list[registers].any() or is_list[items].any() or is_list[t.initial_key].any():
            self.refuse("a key that holds a list and a register", "keys of their own for both")
        if t.initial_mode == Initial.UNKNOWN:
            self.refuse("lists in a trace whose initial state is unknown", "lists that start empty")
        aborted = np.repeat(t.txn_outcome == Outcome.ABORTED, np.diff(t.txn_ops))
        rows = np.flatnonzero((t.op_kind == Kind.APPEND) & ok & ~aborted)
        code = (t.op_key[rows].astype(np.int64) << 32) | t.op_value[rows]
        code.sort()
        if (np.diff(code) == 0).any():
            self.refuse("an element that was appended to a key twice", "each element once")

    def initial(self) -> None:
        t = self.t
        if t.initial_mode != Initial.GIVEN and len(t.initial_key):
            self.refuse("initial values where the initial state is not given", "none")
        if len(distinct(t.initial_key)) != len(t.initial_key):
            self.refuse("a key twice in the initial state", "each key once")


def _misshapen(
    kind: Kind, flags: Flag, key: bool, value: bool, range_: bool, error: bool
) -> tuple[str, str] | None:
    """What is wrong with an operation that has these flags and columns, and what was expected."""
    what = kind.name.lower()
    failed, end = bool(flags & Flag.ERROR), bool(flags & Flag.END)
    told = flags & (Flag.FOUND | Flag.NOTHING)
    if failed != error:
        return f"a {what} that failed without an error, or the other way round", "both or none"
    if end and kind != Kind.NEXT:
        return f"the end of an iterator in a {what}", "it in a next"
    if told and (kind != Kind.DELETE or told == Flag.FOUND | Flag.NOTHING):
        return f"what a delete found, in a {what} or twice", "found or not, in a delete"
    takes_key = kind not in (Kind.SCAN, Kind.SELECT, Kind.ITERATOR, Kind.BEGIN, Kind.COMMIT, Kind.ABORT)
    takes_value = takes_key and kind not in (Kind.DELETE, Kind.LIST)
    takes_range = kind in (Kind.SCAN, Kind.ITERATOR, Kind.NEXT, Kind.LIST, Kind.SELECT)
    for has, takes, name in (
        (key, takes_key, "key"),
        (value, takes_value, "value"),
        (range_, takes_range, "range"),
    ):
        if has and not takes:
            return f"a {name} of a {what}", "none"
    if failed:
        return None
    if not (takes_key or takes_range):
        return f"a {what} that succeeded, as an operation", "only those that failed"
    if end and (key or value):
        return "the end of an iterator with a key or a value", "none"
    needs = (
        (key, takes_key and not end, "key"),
        (value, takes_value and kind != Kind.GET and not end, "value"),
        (range_, takes_range, "range"),
    )
    for has, needed, name in needs:
        if needed and not has:
            return f"a {what} without its {name}", f"a {name}"
    return None
