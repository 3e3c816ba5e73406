"""The reference: isolation levels by enumeration, for traces of up to about six transactions.

A trace satisfies a level if *some* choice of (a) which unknown transactions committed, (b) the initial
value of each key where it is unknown, (c) a writer for each read of a committed transaction and (d) a
total order of each key's committed writers leaves the level's graph without a cycle. This file tries the
choices. It is slow and knows nothing but the definitions, so that the fast solvers have something to be
compared with; please keep it that way.

The graphs are those of Adya's thesis (Weak Consistency: A Generalized Theory and Optimistic
Implementations for Distributed Transactions, MIT, 1999, chapters 3 and 4): PL-2 forbids cycles of ww, wr
and pwr (G1c) beside G1a and G1b, PL-2.99 adds the item anti-dependencies rw (G2-item), PL-3 the predicate
anti-dependencies prw too (G2). PL-SI's start-ordered graph is written with two points a transaction, begin
B and commit C: what one reads or overwrites was committed before one began (C -> B); what one did not see
was not yet committed when one began (B -> C). Session order and real time are the "strong session" and
"strong" forms of Daudjee and Salem (VLDB 2006) and of Herlihy and Wing's linearizability.

A `get` is an item read whatever it returns; a scan or iterator is an item read of each key it returned and
a predicate read of absent of every other key it covered. A version of a list is all that its writer and
those before it in the key's order appended; a list read is an item read of the version that is just that. A
select is an item read of what it returned and, for each row of its table, a predicate read of one version
of each column that its condition names (of the row's existence, if it names none), with which the condition
comes out as observed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import chain, combinations, pairwise, permutations
from typing import Any, NamedTuple

from boomslang.trace import ABSENT, NO_TIME, Absent, Flag, Initial, Kind, Outcome, Trace
from boomslang.trace.conditions import TRUE, Condition, ConditionError, Tree, conjuncts, tests, truth
from boomslang.trace.rows import Row, tables

# level: (points a transaction, its edges)
GRAPHS = {
    "read-uncommitted": (1, {"ww"}),
    "read-committed": (1, {"ww", "wr", "pwr"}),
    "read-committed-be": (1, {"ww", "wr", "pwr", "so"}),
    "cursor-stability": (1, {"ww", "wr", "pwr"}),
    "read-atomic": (1, {"ww", "wr", "pwr"}),
    "causal": (1, {"ww", "wr", "pwr"}),
    "consistent-view": (1, {"ww", "wr", "pwr"}),
    "forward-consistent-view": (1, {"ww", "wr", "pwr", "rt"}),
    "prefix": (2, {"ww", "wr", "pwr", "rw", "prw"}),
    "repeatable-read": (1, {"ww", "wr", "pwr", "rw"}),
    "snapshot-isolation": (2, {"ww", "wr", "pwr", "rw", "prw"}),
    "serializable": (1, {"ww", "wr", "pwr", "rw", "prw"}),
    "strict-serializable": (1, {"ww", "wr", "pwr", "rw", "prw", "rt"}),
}

# Some levels forbid, beside cycles in their graph, those of one rw or prw and otherwise these edges; the number is how
# many of them at most. In all of them so and rt count like wr.
ONCE = {
    "read-committed-be": ({"wr", "pwr"}, 1),
    "read-atomic": ({"wr", "pwr"}, 1),
    "causal": ({"wr", "pwr"}, None),
    "consistent-view": ({"ww", "wr", "pwr"}, None),
    "forward-consistent-view": ({"ww", "wr", "pwr", "rt"}, None),
}

# Plain numbers: a member of an enumeration takes longer to look up than most that is done with it here.
PUT, GET, DELETE, SCAN, ITERATOR, NEXT, APPEND, LIST, SELECT = map(
    int,
    (
        Kind.PUT, Kind.GET, Kind.DELETE, Kind.SCAN, Kind.ITERATOR, Kind.NEXT, Kind.APPEND, Kind.LIST,
        Kind.SELECT,
    ),
)  # fmt: skip
ERROR, FOUND, NOTHING, END = map(int, (Flag.ERROR, Flag.FOUND, Flag.NOTHING, Flag.END))
COMMITTED, ABORTED, UNKNOWN = map(int, (Outcome.COMMITTED, Outcome.ABORTED, Outcome.UNKNOWN))

PRESENT = -2  # what `delete -> found` saw: some value, whichever it was
INITIAL = -1  # the transaction that wrote the initial state: before all others, never overwrites


class Read(NamedTuple):
    """Transaction `txn` saw `value` in `key` at operation `row`; `internal`: against its own write."""

    txn: int
    row: int
    key: int
    value: int
    item: bool
    internal: bool
    elements: tuple[int, ...] | None = None
    """Of a list read: what it saw of others."""


class Asked(NamedTuple):
    """Transaction `txn` saw versions of these keys at operation `row` for which `fits` holds: what a select
    said of a row."""

    txn: int
    row: int
    number: int
    """keys + k: of the key k alone; 2 * keys + n: of the n-th row."""
    keys: tuple[int, ...]
    fits: Callable[[tuple[int, ...]], bool]


def brute(trace: Trace, level: str) -> bool:
    """Does the trace satisfy the level (a canonical name)?"""
    everyone = range(len(trace.txn_outcome))
    reads = [read for t in everyone for read in reads_of(trace, t)]
    rows = 2 * len(trace.keys)
    return _satisfiable(trace, level, everyone, reads, [a for a in asked_of(trace) if a.number >= rows])


def brute_core(
    trace: Trace, level: str, transactions: Collection[int], reads: Collection[tuple[int, int]]
) -> bool:
    """Does the level still hold if we forget all but these transactions and these (operation, key) reads?

    A forgotten transaction may have committed or not (even if it aborted), read nothing, and is in no
    session and at no time; it still wrote what it wrote. A kept transaction keeps its outcome, its so and rt
    edges to other kept ones, and those of its reads that are listed.
    """
    kept = [r for t in transactions for r in reads_of(trace, t) if (r.row, r.key) in reads]
    asked = [a for a in asked_of(trace) if a.txn in transactions and (a.row, a.number) in reads]
    return _satisfiable(trace, level, transactions, kept, asked)


# --- what a transaction saw and left behind -----------------------------------------------------------


def reads_of(trace: Trace, t: int) -> list[Read]:
    """The reads of t that say anything: those of others' values, and violated reads of its own writes."""
    rank = trace.key_rank.tolist()
    by_rank = sorted(range(len(rank)), key=rank.__getitem__)
    reads: list[Read] = []
    own: dict[int, list[tuple[int, int]]] = {}  # key -> [(row, value written)], in program order
    opened: dict[int, int] = {}  # iterator -> the row that opened it
    ahead: dict[int, list[int]] = {}  # iterator -> the keys that it has neither returned nor passed over
    lists = _lists(trace)  # a scan shows registers only

    def see(row: int, key: int, value: int, item: bool, since: int | None = None) -> None:
        # An iterator may or may not show its own transaction's writes made since it was opened.
        before = [v for at, v in own.get(key, ()) if since is None or at < since]
        while_open = [v for at, v in own.get(key, ()) if since is not None and at > since]
        if not any(_matches(value, v) for v in before[-1:] + while_open):
            reads.append(Read(t, row, key, value, item, internal=bool(before)))

    def ordered(a: int, b: int) -> bool:
        """Do these two keys have an order? Those of one type do, and all numbers; else it is the
        database's."""
        numbers = (2, 3)
        types = trace.keys.type[[a, b]].tolist()
        return types[0] == types[1] or (types[0] in numbers and types[1] in numbers)

    def inside(r: int) -> list[int]:
        lo, hi = int(trace.range_lo[r]), int(trace.range_hi[r])
        return [
            k
            for k in by_rank
            if k not in lists
            and (lo < 0 or (ordered(lo, k) and rank[lo] <= rank[k]))
            and (hi < 0 or (ordered(hi, k) and rank[k] < rank[hi]))
        ]

    for row in range(int(trace.txn_ops[t]), int(trace.txn_ops[t + 1])):
        kind, flags = int(trace.op_kind[row]), int(trace.op_flags[row])
        key, value, r = int(trace.op_key[row]), int(trace.op_value[row]), int(trace.op_range[row])
        if flags & ERROR:
            continue
        if kind in (PUT, APPEND):
            own.setdefault(key, []).append((row, value))
        elif kind == LIST:
            elements = tuple(trace.item_value[trace.range_items[r] : trace.range_items[r + 1]].tolist())
            mine = tuple(v for _, v in own.get(key, ()))
            others = elements[: max(0, len(elements) - len(mine))]
            reads.append(Read(t, row, key, value, True, others + mine != elements, others))
        elif kind == GET:
            see(row, key, value, item=True)
        elif kind == DELETE:
            if flags & FOUND:
                see(row, key, PRESENT, item=True)
            if flags & NOTHING:
                see(row, key, ABSENT, item=True)
            else:
                own.setdefault(key, []).append((row, ABSENT))
        elif kind == SCAN:
            items = range(int(trace.range_items[r]), int(trace.range_items[r + 1]))
            returned = {int(trace.item_key[i]): int(trace.item_value[i]) for i in items}
            for k in inside(r):
                see(row, k, returned.get(k, ABSENT), item=k in returned)
        elif kind == SELECT:
            for i in range(int(trace.range_items[r]), int(trace.range_items[r + 1])):
                see(row, int(trace.item_key[i]), int(trace.item_value[i]), item=True)
        elif kind == ITERATOR:
            opened[r], ahead[r] = row, inside(r)
        elif kind == NEXT:
            end = bool(flags & END)
            passed = [k for k in ahead[r] if end or (ordered(k, key) and rank[k] < rank[key])]
            for k in passed:
                see(row, k, ABSENT, item=False, since=opened[r])
            if not end:
                see(row, key, value, item=True, since=opened[r])
            ahead[r] = [k for k in ahead[r] if k not in passed and k != key]
    return reads


def asked_of(trace: Trace) -> list[Asked]:
    """What selects said of the rows of their tables."""
    found = tables(trace)
    asked: list[Asked] = []
    for t in range(len(trace.txn_outcome)) if found is not None else ():
        own: dict[int, int] = {}
        for row in range(int(trace.txn_ops[t]), int(trace.txn_ops[t + 1])):
            kind, flags = int(trace.op_kind[row]), int(trace.op_flags[row])
            key, r = int(trace.op_key[row]), int(trace.op_range[row])
            if flags & ERROR:
                continue
            if kind == PUT:
                own[key] = int(trace.op_value[row])
            if kind == DELETE and not flags & NOTHING:
                own[key] = ABSENT
            if kind == SELECT and found is not None and trace.op_where is not None:
                condition = found.conditions[int(trace.op_where[row])]
                items = set(trace.item_key[trace.range_items[r] : trace.range_items[r + 1]].tolist())
                for place in found.of_table[condition.table]:
                    returned = place.exists in items
                    names = condition.columns
                    keys = [place.columns.get(n, -1) for n in names] if names else [place.exists]
                    asked += _asked_of_row(trace, t, row, condition, place, keys, returned, own)
    return asked


def _asked_of_row(
    trace: Trace,
    t: int,
    row: int,
    condition: Condition,
    place: Row,
    keys: list[int],
    returned: bool,
    own: dict[int, int],
) -> Iterator[Asked]:
    held = {k: own[k] for k in keys if k in own} | ({-1: ABSENT} if -1 in keys else {})
    others = tuple(k for k in keys if k not in held)

    def values(seen: tuple[int, ...]) -> list[Any]:
        all_of_them = held | dict(zip(others, seen, strict=True))
        return [Absent if all_of_them[k] == ABSENT else trace.values[all_of_them[k]] for k in keys]

    def whole(seen: tuple[int, ...]) -> bool:
        if PRESENT in seen:
            return False
        row_values = values(seen)
        there = Absent not in row_values
        named = dict(zip(condition.columns, row_values, strict=False))
        try:
            return bool((there and truth(condition.tree, named, place.key) == TRUE) == returned)
        except ConditionError:  # an initial value of another type, which it was not
            return False

    yield Asked(t, row, 2 * len(trace.keys) + place.number, others, whole)
    for name, k in zip(condition.columns, keys, strict=False) if returned else ():
        parts = [c for c in conjuncts(condition.tree) if {n for x in tests(c) for n in x.columns} == {name}]

        def alone(seen: tuple[int, ...], k: int = k, name: str = name, parts: list[Tree] = parts) -> bool:
            (value,) = seen or (held[k],)
            if value in (ABSENT, PRESENT):
                return False
            try:
                return all(truth(c, {name: trace.values[value]}, place.key) == TRUE for c in parts)
            except ConditionError:
                return False

        if k >= 0:
            yield Asked(t, row, len(trace.keys) + k, () if k in held else (k,), alone)


def _lists(trace: Trace) -> set[int]:
    """The keys that hold lists."""
    rows = zip(trace.op_kind.tolist(), trace.op_flags.tolist(), trace.op_key.tolist(), strict=True)
    return {key for kind, flags, key in rows if kind in (APPEND, LIST) and not flags & ERROR}


def finals_of(trace: Trace, t: int) -> dict[int, int]:
    """What t left behind: the last value it wrote to each key (ABSENT: it deleted the key)."""
    finals: dict[int, int] = {}
    for row in range(int(trace.txn_ops[t]), int(trace.txn_ops[t + 1])):
        kind, flags = int(trace.op_kind[row]), int(trace.op_flags[row])
        if flags & ERROR:
            continue
        if kind in (PUT, APPEND):
            finals[int(trace.op_key[row])] = int(trace.op_value[row])
        if kind == DELETE and not flags & NOTHING:
            finals[int(trace.op_key[row])] = ABSENT
    return finals


def appends_of(trace: Trace, t: int) -> dict[int, tuple[int, ...]]:
    """What t appended to each list."""
    appends: dict[int, tuple[int, ...]] = {}
    for row in range(int(trace.txn_ops[t]), int(trace.txn_ops[t + 1])):
        if int(trace.op_kind[row]) == APPEND and not int(trace.op_flags[row]) & ERROR:
            key = int(trace.op_key[row])
            appends[key] = (*appends.get(key, ()), int(trace.op_value[row]))
    return appends


def _matches(seen: int, written: int) -> bool:
    return written != ABSENT if seen == PRESENT else seen == written


# --- the choices ----------------------------------------------------------------------------------------


class _Given(NamedTuple):
    """What no choice changes: looked up once."""

    trace: Trace
    graph: _Graph
    finals: list[dict[int, int]]
    appends: list[dict[int, tuple[int, ...]]]
    order: list[tuple[str, int, int]]
    cursor: set[int]
    asked: list[Asked]


def _satisfiable(
    trace: Trace, level: str, kept: Collection[int], reads: list[Read], asked: list[Asked]
) -> bool:
    n = len(trace.txn_outcome)
    graph = _Graph(n, level)
    given = _Given(
        trace,
        graph,
        [finals_of(trace, t) for t in range(n)],
        [appends_of(trace, t) for t in range(n)],
        _order(trace, graph.kinds, graph.slack, kept),
        _cursor_reads(trace) if graph.base == "cursor-stability" else set(),
        asked,
    )
    certain = [t for t in kept if trace.txn_outcome[t] == COMMITTED]
    doubtful = [t for t in range(n) if t not in kept or trace.txn_outcome[t] == UNKNOWN]
    lucky = chain.from_iterable(combinations(doubtful, k) for k in range(len(doubtful) + 1))
    return any(_acyclic(given, {*certain, *chosen}, reads) for chosen in lucky)


def _acyclic(given: _Given, committed: set[int], reads: list[Read]) -> bool:
    """With exactly these transactions committed, can the rest be chosen without a cycle?"""
    graph, finals = given.graph, given.finals
    binding = [read for read in reads if read.txn in committed]
    if graph.base == "read-uncommitted":  # but what lists show of the order of appends counts
        binding = [read for read in binding if read.elements is not None]
    elif any(read.internal for read in binding):
        return False
    asked = [] if graph.base == "read-uncommitted" else [a for a in given.asked if a.txn in committed]
    if not all(a.keys or a.fits(()) for a in asked):
        return False
    start: _State | None = graph.empty
    for kind, a, b in given.order:
        if a in committed and b in committed:
            start = graph.add(start, kind, a, b)
    if start is None:
        return False
    keys = sorted(
        {r.key for r in binding}
        | {k for t in committed for k in finals[t]}
        | {k for a in asked for k in a.keys}
    )
    dead: set[tuple[int, _State, _Noted]] = (
        set()
    )  # only what is reached counts, not the choices that led to it

    def search(i: int, state: _State, noted: _Noted) -> bool:
        if i == len(keys):
            return True
        if (i, state, noted) in dead:
            return False
        here = [(n, a) for n, a in enumerate(asked) if keys[i] in a.keys]
        writers = [t for t in sorted(committed) if keys[i] in finals[t]]
        mine = [r for r in binding if r.key == keys[i]]
        values = {INITIAL: ABSENT} | {t: finals[t][keys[i]] for t in writers}
        for start in _initial_values(given.trace, keys[i], mine, bool(here)):
            values[INITIAL] = start
            for after in _choices(given, state, writers, values, mine):
                for last, told in _versions_asked(given, after, writers, values, keys[i], here, noted):
                    if search(i + 1, last, told):
                        return True
        dead.add((i, state, noted))
        return False

    return search(0, start, frozenset())


_Noted = frozenset[tuple[int, int, int]]
"""What selects saw so far: which of them, in which key, which value."""


def _versions_asked(
    given: _Given,
    start: tuple[_State, tuple[int, ...]],
    writers: list[int],
    values: dict[int, int],
    key: int,
    asked: list[tuple[int, Asked]],
    noted: _Noted,
) -> set[tuple[_State, _Noted]]:
    """Give each select a version of this key; where it is the last of its keys, one with which all fit."""
    state, versions = start
    found = {(state, noted)}
    for n, a in asked:
        r = Read(a.txn, a.row, key, ABSENT, item=False, internal=False)
        more = set()
        for before, told in found:
            for i, writer in enumerate(versions):
                after = (
                    None
                    if writer == a.txn
                    else _read(given.graph, before, r, writer, list(versions[i + 1 :]))
                )
                if after is None:
                    continue
                seen = {k: v for m, k, v in told if m == n} | {key: values[writer]}
                if len(seen) < len(a.keys):
                    more.add((after, told | {(n, key, values[writer])}))
                elif a.fits(tuple(seen[k] for k in a.keys)):
                    more.add((after, frozenset(x for x in told if x[0] != n)))
        found = more
    return found


def _initial_values(trace: Trace, key: int, reads: list[Read], asked: bool) -> set[int]:
    """Those worth trying: if it is unknown, what was seen of the key, and absent. (A present value that
    only a `delete -> found` saw stays PRESENT: nothing else can tell which it was.)"""
    if trace.initial_mode == Initial.UNKNOWN:
        return {ABSENT} | {read.value for read in reads} | (set(range(len(trace.values))) if asked else set())
    return {dict(zip(trace.initial_key.tolist(), trace.initial_value.tolist(), strict=True)).get(key, ABSENT)}


def _choices(
    given: _Given, state: _State, writers: list[int], values: dict[int, int], reads: list[Read]
) -> Iterator[tuple[_State, tuple[int, ...]]]:
    """Order one key's writers and give each of its reads a writer, in every way without a cycle; with the
    versions."""
    graph = given.graph
    for order in permutations(writers):
        versions = [INITIAL, *order]
        ordered: _State | None = state
        for earlier, later in pairwise(order):
            ordered = graph.add(ordered, "ww", earlier, later)
        if ordered is None:
            continue
        if graph.base == "read-uncommitted":
            if all(_in_order(given, r, order) for r in reads):
                yield ordered, tuple(versions)
            continue
        found = {ordered}
        held: list[tuple[int, ...]] = [()]
        for w in order if any(r.elements is not None for r in reads) else ():
            held.append(held[-1] + given.appends[w].get(reads[0].key, ()))
        for r in reads:
            found = {
                after
                for before in found
                for i, writer in enumerate(versions)
                if writer != r.txn
                if (_matches(r.value, values[writer]) if r.elements is None else r.elements == held[i])
                if not (graph.base == "cursor-stability" and _cursor_moved(given, r, i, versions))
                for after in [_read(graph, before, r, writer, versions[i + 1 :])]
                if after is not None
            }
        yield from ((after, tuple(versions)) for after in found)


def _read(graph: _Graph, state: _State, r: Read, writer: int, later: list[int]) -> _State | None:
    """r reads the writer's version, and not the later ones."""
    after = graph.add(state, "wr" if r.item else "pwr", writer, r.txn, r.row)
    for overwriter in later:
        if overwriter != r.txn:
            after = graph.add(after, "rw" if r.item else "prw", r.txn, overwriter, r.row)
    return after


def _cursor_moved(given: _Given, r: Read, i: int, versions: list[int]) -> bool:
    """Did somebody overwrite what r read through a cursor before r's own transaction did?"""
    if not r.item or r.txn not in versions or versions[i + 1 : i + 2] == [r.txn]:
        return False
    return r.row in given.cursor


def _cursor_reads(trace: Trace) -> set[int]:
    """All item reads count as reads through a cursor, unless some operations are marked as such; then those
    do."""
    rows = range(len(trace.op_kind))
    return {row for row in rows if (trace.operation(row).ctx or {}).get("cursor") is True} or set(rows)


def _in_order(given: _Given, r: Read, order: tuple[int, ...]) -> bool:
    """Do the elements of a list come in this order of their writers? (Some may come from others, who
    aborted.)"""
    trace = given.trace
    writer = {e: t for t in order for e in given.appends[t].get(r.key, ())}
    span = int(trace.op_range[r.row])
    elements = trace.item_value[trace.range_items[span] : trace.range_items[span + 1]].tolist()
    places = [order.index(writer[e]) for e in elements if e in writer]
    return places == sorted(places)


# --- the graph ------------------------------------------------------------------------------------------

_Labelled = tuple[str, int, int, int]  # kind, from, to, and the operation of a read


class _State(NamedTuple):
    reach: tuple[int, ...]
    """For each node, the set (as bits) of the nodes it reaches."""
    edges: frozenset[_Labelled] = frozenset()
    """Where some cycles are forbidden that are none in the graph: all edges that may lie on one."""


class _Graph:
    """A level: strong-session- adds so, strong- adds rt; -within-5 adds the rt of what is more than 5
    apart."""

    def __init__(self, n: int, level: str) -> None:
        self.base, _, bound = level.partition("-within-")
        self.slack, extra = int(bound or 0), {"rt"} if bound else set()
        if level.startswith("strong-session-"):
            self.base, extra = self.base.removeprefix("strong-session-"), {"so", *extra}
        elif level.startswith("strong-"):
            self.base, extra = level.removeprefix("strong-"), {"rt"}
        self.once: set[str] | None = None
        if self.base in GRAPHS:
            self.points, kinds = GRAPHS[self.base]
            self.kinds = kinds | extra
            if self.base in ONCE:
                steps, self.longest = ONCE[self.base]
                self.once = steps | extra
        else:
            self._from_elsewhere(level)
        reach: tuple[int, ...] = (0,) * n
        if self.points == 2:  # B -> C
            reach = tuple(0 if p % 2 else 1 << p + 1 for p in range(2 * n))
        self.empty = _State(reach)

    def _from_elsewhere(self, name: str) -> None:
        """A level that somebody registered: all that is known of it is its data."""
        from boomslang.levels.registry import outside_levels

        level = next((known for known in outside_levels() if known.name == name), None)
        if level is None or (level.once is not None and level.once.earlier):
            raise ValueError(f"unknown level {name!r}; known are {', '.join(GRAPHS)} and their strong forms")
        ends = {kind.value: (a.value, b.value) for kind, (a, b) in level.edges.items()}
        self.points, self.kinds, self.slack = level.points, set(ends), 0
        if level.once is not None:
            self.once, self.longest = {kind.value for kind in level.once.kinds}, level.once.longest
        overlapping = ends["ww"] == ("C", "C")
        self.base = "cursor-stability" if level.cursor else "prefix" if overlapping else "serializable"

    def add(self, state: _State | None, kind: str, a: int, b: int, row: int = -1) -> _State | None:
        """The graph with the edge a -kind-> b; None if that closes a cycle (or there was one before)."""
        if state is None or a == INITIAL:
            return state
        edges = state.edges
        edge = (kind, a, b, row)
        if self.once is not None and edge not in edges and (kind in self.once or kind in ("rw", "prw")):
            edges = edges | {edge}
            if self._forbidden(edges):
                return None
        if kind not in self.kinds:
            return state._replace(edges=edges)
        reach = state.reach
        if self.points == 2:  # B is 2t, C is 2t + 1
            starts_at_begin, ends_at_commit = kind in ("rw", "prw"), kind in ("rw", "prw")
            if self.base == "prefix" and kind == "ww":
                ends_at_commit = True
            a, b = 2 * a + (not starts_at_begin), 2 * b + ends_at_commit
        if a == b or reach[b] >> a & 1:
            return None
        if reach[a] >> b & 1:
            return _State(reach, edges)  # nothing new
        gain = reach[b] | 1 << b
        return _State(tuple(r | gain if p == a or r >> a & 1 else r for p, r in enumerate(reach)), edges)

    def _forbidden(self, edges: frozenset[_Labelled]) -> bool:
        """Is there a cycle of one anti-dependency and otherwise `once`?"""
        steps = [edge for edge in edges if edge[0] not in ("rw", "prw")]
        return any(self._path(steps, p, r, row) for kind, r, p, row in edges if kind in ("rw", "prw"))

    def _path(self, steps: list[_Labelled], p: int, r: int, row: int) -> bool:
        if self.base == "read-committed-be":  # only what was read earlier counts
            steps = [edge for edge in steps if edge[2] == r and edge[3] < row]
        if self.longest == 1:
            return any((a, b) == (p, r) for _, a, b, _ in steps)
        reached, new = {p}, {p}
        while new:
            new = {b for _, a, b, _ in steps if a in new} - reached
            reached |= new
        return r in reached


def _order(trace: Trace, kinds: set[str], slack: int, kept: Collection[int]) -> list[tuple[str, int, int]]:
    """The so and rt edges: they leave committed transactions only, and may enter unknown ones."""
    edges: list[tuple[str, int, int]] = []
    if not kinds & {"so", "rt"}:
        return edges
    for a, b in permutations(sorted(kept), 2):
        if trace.txn_outcome[a] != COMMITTED or trace.txn_outcome[b] == ABORTED:
            continue
        if "so" in kinds and a < b and trace.txn_session[a] == trace.txn_session[b] != -1:
            edges.append(("so", a, b))
        ended, began = int(trace.txn_end[a]), int(trace.txn_begin[b])
        timed = NO_TIME not in (ended, began) and trace.txn_clock[a] == trace.txn_clock[b]
        if "rt" in kinds and timed and ended + slack < began:
            edges.append(("rt", a, b))
    return edges
