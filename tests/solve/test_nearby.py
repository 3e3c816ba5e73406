"""A few keys where real time is broken: what they refute is refuted, and the rest of the trace is not looked at."""

from __future__ import annotations

import random
from typing import Any

from support.histories import get, history, put, txn
from support.repeated import random_repeated, random_together

from boomslang import Trace
from boomslang.asg.graph import build_asg
from boomslang.explain.core import complete
from boomslang.explain.parts import Parts, first_broken
from boomslang.ir.lower import lower
from boomslang.levels import find_level
from boomslang.solve.brute import brute, brute_core
from boomslang.solve.nearby import Missed, _missed_each_other, refute_nearby
from boomslang.solve.solution import Limits, Solution

LEVELS = ("sser", "strong-si", "pl-fcv", "strong-session-sser")
BOUNDED = ("ser", "si", "pl-2+", "strong-session-ser")


def nearby(trace: Trace, level: str) -> Solution | None:
    asg = build_asg(trace)
    if first_broken(asg) is not None:
        return None
    found = refute_nearby(lower(asg, find_level(level)), None, Limits())
    assert found is None or found.status == "invalid"
    return found


def test_what_a_few_keys_refute_is_refuted() -> None:
    found = 0
    for seed in range(80):
        rng = random.Random(seed)
        trace = random_together(seed) if seed % 3 else random_repeated(seed)[1]
        for level in (rng.choice(LEVELS), f"{rng.choice(BOUNDED)}-within-{rng.randint(1, 5)}"):
            solution = nearby(trace, level)
            if solution is None:
                continue
            found += 1
            name = find_level(level).name
            assert not brute(trace, name), f"{seed} at {level}"
            asg = build_asg(trace)
            parts = complete(asg, Parts.used_by(asg, solution))
            reads = [(int(asg.read_op[r]), asg.trace_key(int(asg.read_key[r]))) for r in parts.reads]
            core = tuple(asg.txn_of[parts.transactions].tolist())
            assert not brute_core(trace, name, core, tuple(reads)), f"{seed} at {level}: too small"
    assert found > 10


def bank(rng: random.Random, n: int, *, skew: int) -> Trace:
    """Withdrawals from the two accounts of a customer, one after the other; at `skew` two at a time."""
    state = {f"{kind}{c}": 100 for c in range(3) for kind in "ab"}
    initial, made = dict(state), []
    for i in range(n):
        customer, begin = rng.randrange(3), 10 * i
        pair = [f"a{customer}", f"b{customer}"]
        seen = [get(key, state[key]) for key in pair]
        for key in pair if i == skew else [rng.choice(pair)]:
            left = state[key] - 10 if state[key] else 100
            made.append(txn(f"s{len(made) % 5}", *seen, put(key, left), time=(begin, begin + 8)))
            state[key] = left
    return history(*made, initial=initial)


def test_two_at_a_time_are_found_among_many() -> None:
    for seed in range(3):
        trace = bank(random.Random(seed), 400, skew=200)
        for level in ("sser", "ser-within-50"):
            solution = nearby(trace, level)
            assert solution is not None, level
            assert solution.core_reads is not None and len(solution.core_reads) < 40
        whole: Any = bank(random.Random(seed), 400, skew=-1)
        assert nearby(whole, "sser") is None and nearby(whole, "ser-within-50") is None


def test_without_times_it_says_nothing() -> None:
    rows = [txn("a", get("x", 1), get("y", 1), put("x", 0)), txn("b", get("x", 1), get("y", 1), put("y", 0))]
    trace = history(*rows, initial={"x": 1, "y": 1})
    assert nearby(trace, "ser") is None and nearby(trace, "sser") is None


def missed_one_by_one(trace: Trace) -> list[Missed]:
    """The same pairs, each looked at."""
    asg, pairs = build_asg(trace), []
    begin, end = trace.txn_begin[asg.txn_of].tolist(), trace.txn_end[asg.txn_of].tolist()
    rows = list(zip(asg.write_txn.tolist(), asg.write_key.tolist(), asg.write_value.tolist(), strict=True))
    wrote = {t for t, _, _ in rows if asg.outcome[t] == 0}
    by = sorted(wrote, key=lambda t: (begin[t], t))

    def missed(reader: int, writer: int) -> list[int]:
        seen = range(int(asg.read_start[reader]), int(asg.read_start[reader + 1]))
        saw = [(int(asg.read_key[r]), int(asg.read_value[r])) for r in seen]
        return sorted(
            {k for t, k, v in rows for key, value in saw if t == writer and k == key and v != value}
        )

    for n, a in enumerate(by):
        for b in by[n + 1 :]:
            one, other = missed(a, b), missed(b, a)
            if begin[b] <= end[a] and one and other:
                both = [key for key in one if key in other]
                keys = (both[0],) if both else tuple(sorted((one[0], other[0])))
                pairs.append(Missed(a, b, keys, end[a]))
    return pairs


def test_who_missed_each_other() -> None:
    met = 0
    for seed in range(60):
        trace = bank(random.Random(seed), 12, skew=seed % 12)
        expected = missed_one_by_one(trace)
        assert list(_missed_each_other(build_asg(trace))) == expected, seed
        met += bool(expected)
    assert met > 10


def test_nobody_missed_another() -> None:
    trace = history(txn("a", get("x", 0), put("x", 1), time=(0, 5)), initial={"x": 0})
    assert list(_missed_each_other(build_asg(trace))) == []
