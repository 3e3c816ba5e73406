"""Replay a witness: does this order of the transactions explain every read of the trace?

A `valid` verdict need not be believed: it comes with an order of the transactions (under snapshot isolation
of their begins and commits), which settles each key's versions and what each read saw. This file shares no
code with the solver, trusts nothing in the witness, and knows only what levels mean (Adya, MIT thesis, 1999):

    serializable, strict   a read sees the last version before its transaction
    snapshot isolation     ... before its begin; of two writers of a key one commits before the other begins
    repeatable read        item reads as serializable; an unreturned key of a scan as read committed
    read committed         a read sees some version before its transaction

A version is the last write of a key by an ordered transaction. strong-session- keeps the order of sessions,
strict and strong- the order in time of transactions that do not overlap, -within-1s that of those that are more than
a second apart. Prefix is snapshot isolation whose
writers may overlap. What the levels between these say is in replay_paths.py, and of lists in replay_lists.py.
"""

from bisect import bisect_left
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from boomslang.certify.certificate import Witness
from boomslang.certify.replay_lists import listed_keys, replay_lists
from boomslang.certify.replay_paths import PATHS, replay_cursors, replay_paths, replay_uncommitted
from boomslang.certify.selects import replay_selects
from boomslang.certify.slack import slack_of
from boomslang.trace import ABSENT, NO_TIME, Flag, Initial, Kind, Outcome, Trace

Array = np.ndarray[Any, np.dtype[Any]]
NAMED = (
    "read-committed",
    "cursor-stability",
    *PATHS,
    "repeatable-read",
)  # the witness names whom each read took
TWO_POINTS = ("snapshot-isolation", "prefix")
LEVELS = ("read-uncommitted", *NAMED, *TWO_POINTS, "serializable", "strict-serializable")
FAMILIES = np.array([0, 1, 2, 2, 4, 5])  # of each type of key: integers (2) and floats (3) are numbers
PRESENT = -2  # what `delete -> found` saw: some value
CHUNK = 1 << 20  # operations, or reads, looked at together: bounds the memory


class ReplayError(Exception):
    """The witness does not show what it claims; the message says where it breaks."""


def replay(trace: Trace, witness: Witness) -> None:
    """Return if the witness shows that the trace satisfies its level; raise ReplayError if it does not."""
    try:
        _replay(trace, witness)
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise ReplayError(f"the witness is malformed: {error}") from error


def _replay(trace: Trace, witness: Witness) -> None:
    level, slack = slack_of(witness.level, trace)
    prefix = next(p for p in ("strong-session-", "strong-", "") if level.startswith(p))
    points = 2 if (base := level.removeprefix(prefix)) in TWO_POINTS else 1
    if base not in LEVELS or witness.points != points:
        raise ReplayError(f"there is no level {witness.level!r} with {witness.points} point(s) a transaction")
    place = np.full(points * len(trace), -1)
    order = _ints("order", witness.order, 0, len(place))
    place[order] = np.arange(len(order))
    begin, commit = place[::points], place[points - 1 :: points]  # where they stand in the order; -1: nowhere
    committed, aborted = trace.txn_outcome == Outcome.COMMITTED, trace.txn_outcome == Outcome.ABORTED
    _refuse(trace, order[place[order] != np.arange(len(order))] // points, "is in the order twice")
    _refuse(trace, np.flatnonzero((begin < 0) != (commit < 0)), "has only one of its points in the order")
    _refuse(trace, np.flatnonzero(committed & (begin < 0)), "committed, but is not in the order")
    _refuse(trace, np.flatnonzero(aborted & (begin >= 0)), "aborted, but is in the order")
    _refuse(trace, np.flatnonzero(begin > commit), "commits before it begins")
    if (
        prefix == "strong-session-" or base == "read-committed-be"
    ):  # each begins after all earlier committed ones of its session
        inside = np.flatnonzero((trace.txn_session >= 0) & (begin >= 0))
        inside = inside[np.argsort(trace.txn_session[inside], kind="stable")]
        apart = trace.txn_session[inside] * np.int64(len(place) + 1)  # keeps the sessions apart
        before = np.maximum.accumulate(apart + np.where(committed, commit + 1, 0)[inside])[:-1]
        late = inside[1:][before > (apart + begin[inside])[1:]]
        _refuse(trace, late, "is placed before an earlier one of its session")
    strict = prefix == "strong-" or base in ("strict-serializable", "forward-consistent-view")
    if strict or slack is not None:
        for clock in np.unique(trace.txn_clock):  # none commits after the begin of one that followed in time
            inside = np.flatnonzero((trace.txn_clock == clock) & (begin >= 0))
            by_begin = inside[np.argsort(begin[inside])]
            invoked = np.append(NO_TIME, np.maximum.accumulate(trace.txn_begin[by_begin]))
            latest = invoked[np.searchsorted(begin[by_begin], commit[inside])]
            over = committed[inside] & (trace.txn_end[inside] != NO_TIME) & (trace.txn_end[inside] < latest)
            apart = latest.view(np.uint64) - trace.txn_end[inside].view(np.uint64)  # fits, of what is over
            late = over & (apart > np.uint64(min(slack or 0, 2**64 - 1)))
            _refuse(trace, inside[late], "is placed after one that was invoked only when it had returned")
    refuse = partial(_refuse, trace, op=True)
    if base == "read-uncommitted":
        replay_uncommitted(trace, order, refuse)
        return
    reads = _Reads(trace, witness, base, begin, commit)
    for observed in (*_observations(trace, reads.counts), _returned(trace, reads.counts)):
        reads.explain(*observed)
    reads.used += reads.selects(refuse)
    told, last = (reads.told if reads.named else None), base == "repeatable-read"
    reads.used += replay_lists(trace, begin, commit, reads.counts, told, last, refuse)
    if reads.named and reads.used != len(reads.read) - 1:
        raise ReplayError("a writer is named twice, or for no read of an ordered transaction from others")
    if base in PATHS:
        extra = {"so"} if prefix == "strong-session-" else set()
        extra |= {"rt"} if base == "forward-consistent-view" or slack is not None else set()
        key, row = reads.named_reads()
        replay_paths(trace, base, extra, slack or 0, order, row, key, reads.source[1:], refuse)
    if base == "cursor-stability":
        key, row = reads.named_reads()
        replay_cursors(trace, order, row, key, reads.source[1:], reads.item[1:], refuse)


def _observations(t: Trace, counts: Array) -> Iterator[tuple[Array, ...]]:
    """What was seen: row, key, value, is it an item read, since when own writes may or may not show."""
    rank, by_rank = np.append(t.key_rank, 0), np.argsort(t.key_rank)
    lo, hi = np.append(t.range_lo, -1), np.append(t.range_hi, -1)
    # Keys order within their type, and all numbers among each other: within a family. So do ranges with a bound.
    families, bound = FAMILIES[t.keys.type[by_rank]], np.maximum(lo, hi)
    first, last = (np.searchsorted(families, np.arange(6), side=side) for side in ("left", "right"))
    of_key = np.append(FAMILIES[t.keys.type], 0)
    low = np.where(lo < 0, np.where(bound < 0, 0, first[of_key[bound]]), rank[lo])
    high = np.where(hi < 0, np.where(bound < 0, len(families), last[of_key[bound]]), rank[hi])
    listed = np.append(listed_keys(t), False)  # what is no item of a scan says nothing of a list
    opened = np.zeros(len(low), np.int64)
    opened[t.op_range[t.op_kind == Kind.ITERATOR]] = np.flatnonzero(t.op_kind == Kind.ITERATOR)
    looks = np.isin(t.op_kind, (Kind.GET, Kind.SCAN, Kind.NEXT))
    row = np.flatnonzero((looks | (t.op_flags & (Flag.FOUND | Flag.NOTHING) != 0)) & counts)
    # An iterator goes through the families as the database likes: at the end of one without bounds, it has seen the
    # rest of each, one after the other here.
    whole = (t.op_kind[row] == Kind.NEXT) & (t.op_flags[row] & Flag.END != 0) & (bound[t.op_range[row]] < 0)
    row, part = np.repeat(row, np.where(whole, 6, 1)), np.zeros(len(row) + 5 * int(whole.sum()), np.int64)
    ends_all = np.repeat(whole, np.where(whole, 6, 1))
    part[ends_all] = np.tile(np.arange(6), int(whole.sum()))
    scan, step, span = t.op_kind[row] == Kind.SCAN, t.op_kind[row] == Kind.NEXT, t.op_range[row]
    family = np.where(ends_all, part, of_key[np.where(bound[span] < 0, t.op_key[row], bound[span])])
    blind = scan | (t.op_flags[row] & Flag.END != 0)  # returned no key of its own
    value = np.where(t.op_flags[row] & Flag.FOUND != 0, PRESENT, t.op_value[row])
    start, since = rank[t.op_key[row]], np.where(step, opened[span], row)
    # Covered are start up to stop; by a next() all of the family since the last.
    stop = np.where(ends_all, last[family], np.where(blind, high[span], start + 1))
    code = span * np.int64(6) + family
    steps = np.flatnonzero(step)[np.argsort(code[step], kind="stable")]
    again = np.append(False, code[steps][1:] == code[steps][:-1])[: len(steps)]
    opens = np.where(bound[span] < 0, first[family], low[span])
    start[steps] = np.where(again, np.roll(stop[steps], 1), opens[steps])
    start[scan] = low[span[scan]]
    ends, j = np.append(0, np.cumsum(stop - start)), 0
    while (i := j) < len(row):
        j = max(i + 1, int(np.searchsorted(ends, ends[i] + CHUNK)) - 1)
        of, at = np.repeat(np.arange(i, j), np.diff(ends[i : j + 1])), np.arange(ends[i], ends[j])
        saw = np.where(blind[of] | (at + 1 < ends[1:][of]), ABSENT, value[of])
        scans = i + np.flatnonzero(scan[i:j])
        count, after = np.diff(t.range_items)[span[scans]], t.range_items[1:][span[scans]]
        item = np.repeat(after - np.cumsum(count), count) + np.arange(count.sum())
        place = np.repeat(ends[scans] - ends[i] - start[scans], count) + rank[t.item_key[item]]
        saw[place], key = t.item_value[item], by_rank[at - ends[:-1][of] + start[of]]
        ranged = (scan | step)[of]
        shown = ~(ranged & listed[key])
        yield tuple(a[shown] for a in (row[of], key, saw, ~ranged | (saw != ABSENT), since[of]))


def _returned(t: Trace, counts: Array) -> tuple[Array, ...]:
    """The same of what selects returned."""
    row = np.flatnonzero((t.op_kind == Kind.SELECT) & counts)
    span = t.op_range[row]
    count, after = np.diff(t.range_items)[span], t.range_items[1:][span]
    item = np.repeat(after - np.cumsum(count), count) + np.arange(count.sum())
    row = np.repeat(row, count)
    return row, t.item_key[item].astype(np.int64), t.item_value[item], np.ones(len(row), bool), row


class _Reads:
    def __init__(self, trace: Trace, witness: Witness, base: str, begin: Array, commit: Array) -> None:
        self.trace, self.base, self.begin, self.commit = trace, base, begin, commit
        self.rows, self.places = len(trace.op_kind) + 1, 2 * len(trace) + 1
        self.txn = np.repeat(np.arange(len(trace), dtype=np.int32), np.diff(trace.txn_ops))
        self.counts = (trace.op_flags & Flag.ERROR == 0) & (begin >= 0)[self.txn]
        self.initial = np.full(len(trace.key_rank), ABSENT)
        self.initial[trace.initial_key] = trace.initial_value
        keys = _ints("initial", [key for key, _ in witness.initial], 0, len(self.initial))
        if len(keys) and (trace.initial_mode != Initial.UNKNOWN or len(np.unique(keys)) < len(keys)):
            raise ReplayError("the witness chooses an initial value that is known, or chooses one twice")
        unnamed = len(trace.values)  # stands for some value that the trace does not name
        self.initial[keys] = _ints("initial", [value for _, value in witness.initial], ABSENT, unnamed + 1)
        # All writes by (key, row), then the versions by (key, position); each list opens with a sentinel.
        deletes = (trace.op_kind == Kind.DELETE) & (trace.op_flags & Flag.NOTHING == 0)
        row = np.flatnonzero((np.isin(trace.op_kind, (Kind.PUT, Kind.APPEND)) | deletes) & self.counts)
        self.write = np.append(-1, np.sort(trace.op_key[row] * np.int64(self.rows) + row))
        key, row = np.divmod(self.write[1:], self.rows)
        txn, wrote = self.txn[row], np.where(deletes[row], ABSENT, trace.op_value[row])
        last = np.flatnonzero(np.append((key[1:] != key[:-1]) | (txn[1:] != txn[:-1]), True)[: len(txn)])
        last = last[np.argsort(key[last] * self.places + commit[txn[last]])]
        key, txn = key[last], txn[last]
        self.wrote, self.left = np.append(ABSENT, wrote), np.append(ABSENT, wrote[last])
        self.version = np.append(-1, key * self.places + commit[txn])
        if base == "snapshot-isolation":
            overlap = (key[1:] == key[:-1]) & (commit[txn[:-1]] > begin[txn[1:]])
            _refuse(trace, txn[1:][overlap], "writes a key that another, overlapping one writes")
        self.used, self.named = (
            0,
            base in NAMED,
        )  # the witness names each read's writer, and the version orders
        if self.named:
            row = _ints("read_op", witness.read_op, 0, self.rows - 1)
            # Beyond the keys: the version of a key that a select saw when it looked for what matches.
            beyond = len(self.initial) if trace.op_where is None else 2 * len(self.initial)
            code = _ints("read_key", witness.read_key, 0, beyond) * self.rows + row
            source = _ints("read_writer", witness.read_writer, -1, len(trace))
            if not len(row) == len(code) == len(source) == len(witness.read_key):
                raise ReplayError("read_op, read_key and read_writer differ in length")
            by = np.argsort(code)
            self.read, self.source = np.append(-1, code[by]), np.append(-1, source[by])
            self.item = np.zeros(len(self.read), bool)  # which of them turned out to be item reads
            keys = _ints("version_order", sorted(witness.version_order), 0, len(self.initial))
            orders = [_ints("version_order", witness.version_order[k], 0, len(trace)) for k in keys.tolist()]
            told = np.repeat(keys, [*map(len, orders)]) * self.places + commit[np.hstack([keys[:0], *orders])]
            several = key[1:][key[1:] == key[:-1]] if base == "repeatable-read" else keys
            if not np.array_equal(told, self.version[1:][np.isin(key, np.append(keys, several))]):
                raise ReplayError("the version orders are not those of the keys' writers in the order")

    def told(self, row: Array, key: Array | None = None, item: Array | bool = True) -> Array:
        """Whom the witness names as the writer of each of these reads."""
        code = (self.trace.op_key[row] if key is None else key) * np.int64(self.rows) + row
        at = np.searchsorted(self.read, code, side="right") - 1
        _refuse(self.trace, row[self.read[at] != code], "has a read without a writer", op=True)
        self.item[at] = item
        source: Array = self.source[at]
        return source

    def named_reads(self) -> tuple[Array, Array]:
        """Keys and operations of all reads that the witness names."""
        key, row = np.divmod(self.read[1:], self.rows)
        return key % max(1, len(self.initial)), row

    def selects(self, refuse: Any) -> int:
        """What selects say of the rows of their tables."""
        if self.trace.op_where is None:
            return 0

        first = np.searchsorted(self.version, np.arange(len(self.initial) + 1) * self.places).tolist()
        places, left = (self.version % self.places).tolist(), self.left.tolist()
        initial, begin, commit = self.initial.tolist(), self.begin.tolist(), self.commit.tolist()
        txn = self.txn

        def value(key: int, row: int) -> int:
            at = bisect_left(places, begin[txn[row]], first[key], first[key + 1]) - 1
            return int(left[at] if at >= first[key] else initial[key])

        named = {} if not self.named else dict(zip(self.read.tolist(), self.source.tolist(), strict=True))

        def told(row: int, key: int) -> int | None:
            writer = named.get((key + len(initial)) * self.rows + row)
            if writer is None or writer < 0:
                return None if writer is None else int(initial[key])
            at = bisect_left(places, commit[writer], first[key], first[key + 1])
            before = 0 <= commit[writer] < begin[txn[row]] and at < first[key + 1]
            if not before or places[at] != commit[writer]:
                refuse(np.array([row]), "reads from one that left no version of the key before it")
            return int(left[at])

        def may(key: int) -> frozenset[int]:
            return frozenset([initial[key], *left[first[key] : first[key + 1]]])

        return replay_selects(self.trace, self.counts, None if self.named else value, told, may, refuse)

    def explain(self, row: Array, key: Array, value: Array, item: Array, since: Array) -> None:
        by = np.argsort(code := key * self.rows + row)  # neighbours in memory: searching is then quick
        row, key, value, item, since, code = row[by], key[by], value[by], item[by], since[by], code[by]
        # Own writes must show; those made while an iterator was open may.
        at = np.searchsorted(self.write, code) - 1
        look, own, must = np.ones(len(row), bool), np.zeros(len(row), bool), np.zeros(len(row), bool)
        while (look := look & (self.write[at] >= code - row + self.trace.txn_ops[self.txn[row]])).any():
            own |= look & np.where(value == PRESENT, self.wrote[at] != ABSENT, self.wrote[at] == value)
            must |= look & (self.write[at] < code - row + since)
            look, at = look & ~must, np.maximum(at - 1, 0)
        _refuse(self.trace, row[must & ~own], "does not see its own write", op=True)
        # All others are reads of a version: the last before the reader, or the one that the witness names.
        row, key, value, item, code = (a[~must & ~own] for a in (row, key, value, item, code))
        start, base = self.begin[self.txn[row]], key * self.places
        at = last = np.searchsorted(self.version, base + start) - 1
        last[self.version[last] < base] = 0  # the initial state
        if self.named:
            self.used, source = self.used + len(row), self.told(row, key, item)
            ended = np.where(source < 0, -1, self.commit[source])
            wanted = np.where(source < 0, -1, np.where(ended < 0, -2, base + ended))
            at = np.searchsorted(self.version, wanted, side="right") - 1
            bad = (self.version[at] != wanted) | (ended >= start)
            _refuse(self.trace, row[bad], "reads from one that left no version of the key before it", op=True)
            bad = item & (at != last) & (self.base == "repeatable-read")
            _refuse(self.trace, row[bad], "reads a version that is not the last before it", op=True)
        held = np.where(at == 0, self.initial[key], self.left[at])
        bad = np.where(value == PRESENT, held == ABSENT, held != value)
        _refuse(self.trace, row[bad], "sees what the version it reads does not hold", op=True)


def _ints(what: str, numbers: Any, low: int, high: int) -> Array:
    array = np.asarray(numbers)
    if array.size and (array.dtype.kind not in "iu" or array.min() < low or array.max() >= high):
        raise ReplayError(f"{what} is not a list of whole numbers from {low} to {high - 1}")
    return array.astype(np.int64).ravel()


def _refuse(trace: Trace, bad: Array, why: str, op: bool = False) -> None:
    for i in bad[:1].tolist():  # transactions, or operations
        t, where = (trace.owner(i), trace.operation(i).where) if op else (i, trace.where(i))
        raise ReplayError(f"transaction {trace.names[int(trace.txn_name[t])]!r} {why} ({where})")
