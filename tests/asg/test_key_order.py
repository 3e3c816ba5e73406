"""Keys of several types: their order, and what ranges and iterators over them say.

A little database with keys of every type runs transactions one after the other, with scans and iterators, and goes
through the types in an order of its own. Whatever it does is serializable, so nobody may call it anything else; and if
one answer is changed, all opinions must agree on what it then is (fuzz/traces.py).
"""

from __future__ import annotations

import random
from functools import cmp_to_key
from pathlib import Path
from typing import Any

import pytest
from fuzz.traces import Wrong, a_third, examine
from hypothesis import given, settings
from hypothesis import strategies as st
from support.effort import examples

from boomslang import Trace, check, read_trace
from boomslang.levels import find_level
from boomslang.trace import Absent, TraceBuilder, TraceError, Unbounded, write_trace

FAMILIES = (type(None), bool, (int, float), str, bytes)
LEVELS = [find_level(name) for name in ("rc", "ra", "rr", "si", "ser", "strong-session-ser")]
KEYS: tuple[Any, ...] = (
    None, False, True, "", "1", "a", b"", b"\0", b"a", -1, 0, 0.0, 1, 1.0, 1.5, 2, 2.5, -1.5, 2**53, 2.0**53,
    2**53 + 1, 10**18, 1e18, 10**18 - 1, -(10**18), -1e18, 10**22, 1e22, 10**23, 1e23, 10**400, 1.7e308, 5e-324,
)  # fmt: skip


def family(key: Any) -> int:
    if isinstance(key, bool):
        return 1
    return next(i for i, types in enumerate(FAMILIES) if isinstance(key, types))


def before(a: Any, b: Any) -> int:
    """The order within a family, as a person would compare."""
    if family(a) != family(b):
        return family(a) - family(b)
    if a is None:
        return 0
    a, b = (x.encode() if isinstance(x, str) else x for x in (a, b))
    return -1 if a < b else 1 if a > b else isinstance(a, float) - isinstance(b, float)


in_order = cmp_to_key(before)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
close = st.builds(
    lambda a, b: a + b, st.integers(-3, 3), st.sampled_from([2**53, -(2**53), 10**18, 2**70, 0])
)
halves = st.builds(lambda a: a / 2, st.integers(-6, 6)) | close.map(float)
keys = st.sampled_from(KEYS) | numbers | close | halves | st.text(max_size=3) | st.binary(max_size=3)


def distinct(scalars: list[Any]) -> list[Any]:
    return list(
        {
            (type(k).__name__, k if k != 0 else abs(k) if isinstance(k, float) else k): k for k in scalars
        }.values()
    )


@given(st.lists(keys, max_size=12).map(distinct))
def test_the_order_of_keys_is_exact(mixed: list[Any]) -> None:
    b = TraceBuilder()
    with b.transaction() as t:
        for key in mixed:
            t.put(key, 0)
    trace = b.build()
    by_rank = sorted(range(len(trace.keys)), key=trace.key_rank.tolist().__getitem__)
    assert [repr(trace.keys[i]) for i in by_rank] == [repr(k or abs(k) if isinstance(k, float) else k)
                                                      for k in sorted(mixed, key=in_order)]  # fmt: skip


def test_keys_of_two_types_do_not_accuse_an_iterator() -> None:
    b = TraceBuilder()
    with b.transaction() as t:
        t.put(1.5, 0)
        t.put(2, 0)
    with b.transaction() as t:
        it = t.iterator()
        it.next(1.5, 0)
        it.next(2, 0)
        it.end()
    assert check(b.build(), "serializable").valid


def test_a_range_of_numbers_holds_integers_and_floats() -> None:
    b = TraceBuilder()
    with b.transaction() as t:
        for key in (0.5, 1, 1.5, 2, 2.5, "2"):
            t.put(key, 0)
    with b.transaction() as t:
        t.scan(1, 2.5, [(1, 0), (1.5, 0), (2, 0)])
    assert check(b.build(), "serializable").valid
    with b.transaction() as t:
        t.scan(1, 2.5, [(1, 0), (2, 0)])  # where is 1.5?
    assert check(b.build(), "serializable").invalid


def test_an_iterator_goes_through_the_types_in_any_order_and_forwards_in_each() -> None:
    def iterated(*returned: Any, end: bool = True) -> Trace:
        b = TraceBuilder()
        with b.transaction() as t:
            for key in (1, 2, "a", "b", b"a"):
                t.put(key, 0)
        with b.transaction() as t:
            it = t.iterator()
            for key in returned:
                it.next(key, 0)
            if end:
                it.end()
        return b.build()

    assert check(iterated("a", "b", 1, 2, b"a"), "serializable").valid
    assert check(iterated(b"a", 1, 2, "a", "b"), "serializable").valid
    assert check(iterated("a", "b", end=False), "serializable").valid
    assert check(iterated("b", end=False), "serializable").invalid  # it passed over "a"
    assert check(iterated("a", "b", 1, 2), "serializable").invalid  # and never came to the bytes
    with pytest.raises(TraceError, match="increasing"):
        iterated(2, "a", 1)


def test_a_scan_says_nothing_of_lists() -> None:
    b = TraceBuilder()
    with b.transaction() as t:
        t.put("x", 0)
        t.append("list", 1)
    with b.transaction() as t:
        t.list("list", [1])
        t.scan(Unbounded, Unbounded, [("x", 0)])
        t.scan("a", "z", [("x", 0)])
        it = t.iterator()
        it.next("x", 0)
        it.end()
    trace = b.build()
    assert set(examine(trace, levels=LEVELS).values()) == {"valid"}
    with b.transaction() as t:
        t.get("x", 0)
        t.scan("a", "z", [])  # but it does say something of "x"
    assert examine(b.build(), levels=LEVELS)["serializable"] == "invalid"


# --- a database with keys of every type -------------------------------------------------------------------


class World:
    """Transactions one after the other, on a few keys. `families` is the order in which it goes through the types."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.keys = rng.sample(KEYS, rng.randint(2, 7))
        self.lists = {repr(key) for key in self.keys if rng.random() < 0.15}
        self.families = rng.sample(range(5), 5)
        self.state: dict[str, int] = {}
        self.appended: dict[str, list[int]] = {}
        self.next_value = 0

    def value(self) -> int:
        self.next_value += 1
        return self.rng.choice((self.next_value, self.rng.randint(1, 3) + 1000))

    def inside(self, lo: Any, hi: Any) -> list[tuple[Any, int]]:
        found = [
            key
            for key in self.keys
            if repr(key) in self.state
            and (lo is Unbounded or (family(lo) == family(key) and before(lo, key) <= 0))
            and (hi is Unbounded or (family(hi) == family(key) and before(key, hi) < 0))
        ]
        found.sort(key=in_order)
        found.sort(key=lambda key: self.families.index(family(key)))
        return [(key, self.state[repr(key)]) for key in found]

    def range(self) -> tuple[Any, Any]:
        bounds = [key for key in (*self.keys, *KEYS) if key is not None]
        lo = self.rng.choice((Unbounded, Unbounded, self.rng.choice(bounds)))
        hi = self.rng.choice((Unbounded, Unbounded, self.rng.choice(bounds)))
        if lo is not Unbounded and hi is not Unbounded:
            if family(lo) != family(hi):
                return Unbounded, hi
            lo, hi = sorted((lo, hi), key=in_order)
        return lo, hi

    def transaction(self, b: TraceBuilder, lie: bool) -> None:
        """If it lies, one thing that a range returned is another, or missing."""
        rng = self.rng
        with b.transaction(session=rng.choice("AB")) as t:
            for _ in range(rng.randint(1, 4)):
                key = rng.choice(self.keys)
                kind = rng.choice(("put", "put", "delete", "get", "scan", "scan", "iterator", "iterator"))
                if repr(key) in self.lists and kind in ("put", "delete", "get"):
                    held = self.appended.setdefault(repr(key), [])
                    if kind == "put":
                        self.next_value += 1
                        t.append(key, self.next_value)
                        held.append(self.next_value)
                    else:
                        t.list(key, held)
                elif kind == "put":
                    self.state[repr(key)] = self.value()
                    t.put(key, self.state[repr(key)])
                elif kind == "delete":
                    t.delete(key, rng.choice((None, repr(key) in self.state)))
                    self.state.pop(repr(key), None)
                elif kind == "get":
                    t.get(key, self.state.get(repr(key), Absent))
                else:
                    lo, hi = self.range()
                    items = self.inside(lo, hi)
                    if lie and items and rng.random() < 0.7:
                        at = rng.randrange(len(items))
                        items[at : at + 1] = [] if rng.random() < 0.6 else [(items[at][0], 1001)]
                    if kind == "scan":
                        t.scan(lo, hi, rng.sample(items, len(items)))
                        continue
                    it = t.iterator(lo, hi)
                    steps = rng.randint(0, len(items) + 1)
                    for item in items[:steps]:
                        it.next(*item)
                    if steps > len(items):
                        it.end()


def run(seed: int, lies: int = 0) -> Trace:
    rng = random.Random(seed)
    world, b = World(rng), TraceBuilder()
    number = rng.randint(2, 6)
    lying = set(rng.sample(range(number), min(lies, number)))
    for i in range(number):
        world.transaction(b, i in lying)
    return b.build()


@pytest.mark.parametrize("seeds", [range(20), pytest.param(range(20, 200), marks=pytest.mark.full)])
def test_a_right_database_is_never_accused(seeds: range) -> None:
    for seed in seeds:
        try:
            verdicts = examine(run(seed), by_z3=seed % 10 == 0, refuted_by_z3=False, levels=LEVELS)
        except Wrong as wrong:
            pytest.fail(f"run({seed}): {wrong}")
        assert set(verdicts.values()) == {"valid"}, (seed, verdicts)


@pytest.mark.parametrize("seeds", [range(20), pytest.param(range(20, 200), marks=pytest.mark.full)])
def test_all_opinions_agree_on_a_database_that_lies(seeds: range) -> None:
    invalid = 0
    for seed in seeds:
        try:
            levels = a_third(seed)
            verdicts = examine(
                run(seed, lies=2), by_z3=seed % 10 == 0, refuted_by_z3=seed % 5 == 0, levels=levels
            )
        except Wrong as wrong:
            pytest.fail(f"run({seed}, lies=2): {wrong}")
        invalid += "invalid" in verdicts.values()
    assert invalid > len(seeds) / 5


@settings(max_examples=examples(40))
@given(st.integers(0, 2**32), st.integers(0, 2))
def test_columns_keep_the_order(tmp_path_factory: pytest.TempPathFactory, seed: int, lies: int) -> None:
    """What the reader accepts of lines, the rules accept of columns, and the answer is the same."""
    pytest.importorskip("pyarrow")
    trace = run(seed, lies)
    file: Path = tmp_path_factory.mktemp("columns") / "t.arrow"
    from boomslang.trace.formats import find

    write = find("arrow").write
    assert write is not None
    write(trace, file)
    again = read_trace(file)
    assert again.key_rank.tolist() == trace.key_rank.tolist()
    lines = file.with_name("t.jsonl")
    write_trace(trace, lines)
    assert sorted(map(repr, read_trace(lines).keys)) == sorted(map(repr, again.keys))
    assert check(again, "serializable").status == check(trace, "serializable").status
