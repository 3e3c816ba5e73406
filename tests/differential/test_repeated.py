"""Counting, states and departures against brute force: on small random traces whose values repeat, whatever one of
them refutes is refuted by enumeration, its proof is believed by the verifier, and what it is said to rest on is enough.

It is the other way round that they are incomplete, so the counts below see to it that they find something: each
at each level, and in each kind of trace.
"""

from __future__ import annotations

from collections import Counter

import pytest
from support.repeated import (
    JOINT,
    LAWFUL,
    MIXES,
    core_of,
    random_repeated,
    random_together,
    refutations,
    weakest,
)

from boomslang.certify.proved import fault_of_proof
from boomslang.solve.brute import brute, brute_core
from boomslang.trace import Trace


def examined(seed: int, *, every_level: bool = False) -> Counter[tuple[str, str]]:
    """What was found on the trace of a seed: (level or mix, kind of proof)."""
    return examined_trace(*random_repeated(seed), seed, every_level=every_level)


def examined_trace(
    mix: str, trace: Trace, seed: int, *, every_level: bool = False
) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    made = list(refutations(trace))
    for level, _, proof in made:
        kind = type(proof).__name__
        found.update([(level.name, kind), (mix, kind)])
        assert not (fault := fault_of_proof(trace, level.name, proof)), f"{seed} at {level.name}: {fault}"
    levels = list({level.name: level for level, _, _ in made}.values())
    asked = {level.name for level in (levels if every_level else weakest(levels))}
    for name in asked:
        assert not brute(trace, name), f"{seed}: {name} holds"
    for level, asg, proof in made:
        if level.name in asked:
            core = core_of(asg, level, proof)
            alone = brute_core(trace, level.name, core.transactions, core.reads)
            assert not alone, f"{seed} at {level.name}: what {proof} rests on does not suffice"
    return found


def test_what_they_refute_is_refuted() -> None:
    found: Counter[tuple[str, str]] = Counter()
    for seed in range(600):
        found += examined(seed)
    for kind in ("TooFewVersions", "UnreachableState"):
        assert all(found[level.name, kind] for level in LAWFUL)
        assert all(found[mix, kind] for mix in MIXES)


def test_states_that_were_left_too_often_refute() -> None:
    found: Counter[tuple[str, str]] = Counter()
    for seed in range(100):
        found += examined_trace("together", random_together(seed), seed)
    assert all(found[level.name, "TooFewArrivals"] for level in JOINT)


@pytest.mark.full
@pytest.mark.parametrize("part", range(20))
def test_what_they_refute_is_refuted_at_every_level(part: int) -> None:
    found: Counter[tuple[str, str]] = Counter()
    for seed in range(10_000 + 1_000 * part, 11_000 + 1_000 * part):
        found += examined(seed, every_level=True)
        found += examined_trace("together", random_together(seed), seed, every_level=True)
    assert found.total() > 1_000
