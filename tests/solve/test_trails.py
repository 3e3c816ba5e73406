"""Orders found by walking from value to value: complete for one key a transaction, never wrong, and no search."""

from __future__ import annotations

import random

import pytest
from support.histories import get, history, put, txn
from support.strategies import Mix, generate
from support.walks import Walks, even_inventory, walk

from boomslang.asg.graph import build_asg
from boomslang.certify.replay import replay
from boomslang.ir.lower import lower
from boomslang.levels.catalog import find_level
from boomslang.solve.brute import brute
from boomslang.solve.solution import Limits, Solution, witness
from boomslang.solve.strategy import solve
from boomslang.solve.trails import solve_trails
from boomslang.trace import Trace

LEVELS = (
    "serializable",
    "snapshot-isolation",
    "prefix",
    "repeatable-read",
    "consistent-view",
    "cursor-stability",
    "causal",
    "read-atomic",
    "read-committed",
    "strong-session-serializable",
    "strong-session-snapshot-isolation",
    "strict-serializable",
)


def by_trails(trace: Trace, level: str) -> Solution | None:
    """What trails find, replayed by somebody who knows nothing of them."""
    asg = build_asg(trace)
    if len(asg.orphans) or len(asg.broken):
        return None
    ir = lower(asg, find_level(level))
    found = solve_trails(ir, Limits())
    if found is not None:
        assert found.status == "valid"
        replay(trace, witness(ir, found))
    return found


@pytest.mark.parametrize("level", ["ser", "si", "prefix", "rr", "pl-2+", "cs"])
def test_counts_that_come_out_even_need_no_search(level: str) -> None:
    for seed in range(3):
        trace = even_inventory(random.Random(seed), 150)
        ir = lower(build_asg(trace), find_level(level))
        found = solve(ir, Limits(seconds=60))
        assert (found.status, found.decided_by, found.stats["conflicts"]) == ("valid", "trails of values", 0)
        replay(trace, witness(ir, found))


def test_in_real_time_the_same_is_a_lost_update() -> None:
    trace = even_inventory(random.Random(0), 150)
    assert by_trails(trace, "strict-serializable") is None
    assert solve(lower(build_asg(trace), find_level("strict-serializable"))).status == "invalid"


FAMILIES = {
    "a stock": Walks(cyclic=True),
    "one flag": Walks(values=2, keys=1),
    "any time": Walks(displaced=1),
    "any time, no clock": Walks(displaced=1, times=False),
    "blind writes": Walks(blind=0.3, displaced=0.5),
    "readers": Walks(reads=0.5, displaced=0.5),
    "all": Walks(blind=0.2, reads=0.3, displaced=0.5),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_one_key_a_transaction_is_always_solved(family: str) -> None:
    for seed in range(8):
        found = by_trails(walk(random.Random(seed), FAMILIES[family]), "serializable")
        assert found is not None, f"seed {seed}"
        assert found.stats["decisions"] == 0, f"seed {seed} was repaired"


def test_unknown_outcomes_are_taken_where_a_value_is_missing() -> None:
    trace = history(
        txn("A", get("x", 0), put("x", 1), outcome="unknown"),
        txn("B", get("x", 1), put("x", 0)),
        txn("C", get("x", 0), put("x", 2), outcome="unknown"),
        txn("D", get("x", 1), put("x", 0), outcome="unknown"),
        initial={"x": 0},
    )
    found = by_trails(trace, "serializable")
    assert found is not None and found.order is not None
    assert found.order.tolist()[:2] == [0, 1]


def test_sessions_are_kept_where_the_level_asks() -> None:
    """The second of A can only go first, by the values: the first of A has to wait for it."""
    trace = history(
        txn("A", get("x", 1), put("x", 2)),
        txn("A", get("x", 0), put("x", 1)),
        txn("B", get("x", 2), put("x", 0)),
        initial={"x": 0},
    )
    assert by_trails(trace, "serializable") is not None
    assert by_trails(trace, "strong-session-serializable") is None


def random_roads(rng: random.Random) -> Trace:
    """Each transaction reads or writes (or both) one of a few values of one key, or of one of two."""
    values, keys = rng.randint(2, 3), rng.randint(1, 2)
    txns = []
    for _ in range(rng.randint(3, 6)):
        key, session = f"k{rng.randrange(keys)}", f"s{rng.randrange(2)}"
        read, write = get(key, rng.randrange(values)), put(key, rng.randrange(values))
        txns.append(
            txn(session, *rng.choice(((read, write), (read, write), (read, write), (write,), (read,))))
        )
    return history(*txns, initial={f"k{i}": 0 for i in range(keys)})


def agree_on_roads(seeds: range) -> None:
    both = [0, 0]
    for seed in seeds:
        trace = random_roads(random.Random(seed))
        holds, found = brute(trace, "serializable"), by_trails(trace, "serializable")
        assert (found is not None) == holds, f"seed {seed}"
        assert found is None or found.stats["decisions"] == 0, f"seed {seed} was repaired"
        both[holds] += 1
    assert min(both) > len(seeds) // 10, "hardly any valid, or hardly any invalid ones"


def test_with_one_key_a_transaction_a_walk_exists_if_there_is_an_order() -> None:
    agree_on_roads(range(200))


@pytest.mark.full
def test_with_one_key_a_transaction_a_walk_exists_if_there_is_an_order_at_length() -> None:
    agree_on_roads(range(200, 5_000))


SMALL = Mix(values=("two", "three"), transactions=(2, 5), operations=(1, 4), keys=(1, 3))


def never_wrong(seeds: range) -> None:
    """Whatever is in the trace: what trails find is an order at that level, and brute force finds one, too."""
    found = 0
    for seed in seeds:
        rng = random.Random(seed)
        mix = Walks(
            transactions=rng.randint(2, 6), keys=rng.randint(1, 3), keys_each=rng.randint(1, 2),
            values=rng.randint(2, 3), displaced=0.5, blind=rng.choice((0, 0.3)), reads=rng.choice((0, 0.3)),
            deletes=rng.choice((0, 0.2)), unknown=rng.choice((0, 0.3)), initial=rng.random() < 0.7,
            times=rng.random() < 0.5, sessions=2,
        )  # fmt: skip
        trace = walk(rng, mix) if rng.random() < 0.5 else generate(rng, SMALL)
        level = LEVELS[seed % len(LEVELS)]
        if by_trails(trace, level) is not None:
            assert brute(trace, level), f"seed {seed} at {level}"
            found += 1
    assert found > len(seeds) // 3


def test_an_order_by_trails_is_an_order() -> None:
    never_wrong(range(240))


@pytest.mark.full
def test_an_order_by_trails_is_an_order_at_length() -> None:
    never_wrong(range(240, 5_000))
