"""Selects by conditions: the engine, Z3, clingo and brute force agree at every level, and what they say can be checked.

The traces are those of support/random_selects.py: conditions over one and several columns, NULLs, deletes, own writes,
unknown outcomes and initial states. Where the initial state is unknown, the engine may not find one that all conditions
agree with, and says so; it is never asked to guess.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from support.random_selects import random_selects
from support.unexplained import Unexplained

from boomslang import LEVELS, Checker, Level, Trace
from boomslang.certify.certificate import Witness
from boomslang.certify.refute import minimal, refute
from boomslang.certify.replay import ReplayError, replay
from boomslang.levels import implies
from boomslang.solve.brute import brute, brute_core
from boomslang.trace import Initial

ASKED = [level for level in LEVELS if level.observes]


def some_levels(seed: int, step: int) -> list[Level]:
    return ASKED[seed % step :: step]


def examine(seed: int, step: int, by: tuple[str, ...]) -> Counter[str]:
    """One trace, put to brute force and to these solvers."""
    trace = random_selects(seed, transactions=(2, 4))
    found: Counter[str] = Counter()
    for level in some_levels(seed, step):
        expected = "valid" if brute(trace, level.name) else "invalid"
        found[expected] += 1
        for solver in by:
            verdict = Unexplained(trace, solver=solver).check(level)
            if verdict.status == "unknown":
                unsettled = trace.initial_mode == Initial.UNKNOWN and "initial state" in verdict.reason
                assert unsettled or "trace" in verdict.reason, (seed, level.name, verdict.reason)
                found["unknown"] += unsettled
                continue
            assert verdict.status == expected, (seed, level.name, solver, verdict.status, expected)
    return found


def test_all_solvers_agree() -> None:
    found: Counter[str] = Counter()
    for seed in range(80):
        found += examine(seed, 6, ("native", "z3") if seed % 4 == 0 else ("native",))
    assert found["valid"] > 100 and found["invalid"] > 20, found
    assert found["unknown"] < found["valid"] / 8, found


def test_a_read_whose_edge_another_one_stands_for() -> None:
    """Two reads of a transaction that may have committed, each with one writer, the same: passes keep one edge."""
    assert examine(2159, 3, ("native", "z3", "clingo"))["valid"]


@pytest.mark.full
@pytest.mark.parametrize("part", range(8))
def test_all_solvers_agree_on_more(part: int) -> None:
    found: Counter[str] = Counter()
    for seed in range(1000 + 150 * part, 1150 + 150 * part):
        found += examine(seed, 3, ("native", "z3", "clingo"))
    assert found["valid"] > 500 and found["invalid"] > 100, found


def check_certificates(seed: int, step: int, *, z3: bool) -> Counter[str]:
    trace = random_selects(seed, transactions=(2, 5))
    found: Counter[str] = Counter()
    for level in some_levels(seed, step):
        verdict = Checker(trace).check(level)
        found[verdict.status] += 1
        if verdict.witness is not None:
            replay(trace, verdict.witness)
        if verdict.counterexample is None:
            continue
        core = verdict.counterexample.core
        assert not brute_core(trace, level.name, core.transactions, core.reads), (seed, level.name)
        assert verdict.counterexample.argument is not None and verdict.counterexample.to_json()["reads"]
        if z3:
            assert refute(trace, core), (seed, level.name, core)
            if verdict.counterexample.minimal:
                assert not minimal(trace, core), (seed, level.name, core)
    return found


def test_certificates_hold() -> None:
    found: Counter[str] = Counter()
    for seed in (
        90010,
        *range(200, 230),
    ):  # the first: refuted by what joint reads say, and by no cycle at all
        found += check_certificates(seed, 6, z3=seed % 3 == 0)
    assert found["valid"] > 50 and found["invalid"] > 8, found


@pytest.mark.full
@pytest.mark.parametrize("part", range(4))
def test_more_certificates_hold(part: int) -> None:
    for seed in range(5000 + 100 * part, 5100 + 100 * part):
        check_certificates(seed, 3, z3=True)


def test_what_holds_follows_the_lattice() -> None:
    for seed in range(300, 308):
        trace = random_selects(seed, transactions=(2, 4))
        told = {level.name: Unexplained(trace).check(level).status for level in ASKED}
        for a in ASKED:
            for b in ASKED:
                if told[a.name] == "valid" and implies(a, b):
                    assert told[b.name] != "invalid", (seed, a.name, b.name)


def forged(rng: Random, trace: Trace, witness: Witness) -> Witness:
    """Another order, or another writer of a read."""
    if witness.read_op.size and rng.random() < 0.5:
        at = rng.randrange(len(witness.read_op))
        writers = np.array(witness.read_writer)
        writers[at] = rng.choice([w for w in range(-1, len(trace)) if w != writers[at]])
        return replace(witness, read_writer=writers)
    order = np.array(witness.order)
    rng.shuffle(order)  # type: ignore[arg-type]
    return replace(witness, order=order)


def test_forged_witnesses_are_refused() -> None:
    """What replay accepts is right: an order that brute force knows to be wrong is never among it."""
    rng = Random(7)
    refused = 0
    for seed in range(400, 414):
        trace = random_selects(seed, transactions=(2, 4))
        for level in some_levels(seed, 4):
            verdict = Unexplained(trace).check(level)
            holds = brute(trace, level.name)
            if verdict.witness is None:
                continue
            for _ in range(3):
                other = forged(rng, trace, verdict.witness)
                try:
                    replay(trace, other)
                except ReplayError:
                    refused += 1
            # The witness of one level is none for a stronger one that is broken.
            for stronger in ASKED:
                if (
                    stronger.points == level.points
                    and implies(stronger, level)
                    and not brute(trace, stronger.name)
                ):
                    assert holds
                    with pytest.raises(ReplayError):
                        replay(trace, replace(verdict.witness, level=stronger.name))
                    refused += 1
                    break
    assert refused > 40, refused
