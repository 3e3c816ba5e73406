"""Levels that have different names are different: a small history tells each pair of neighbours apart.

The table of docs/levels.md is made from `rows`.
"""

from __future__ import annotations

import pytest
from fuzz.traces import a_third
from support import effort
from support.anomalies import Case
from support.levels_apart import POOL, telling, unseparated
from support.unexplained import Unexplained

from boomslang import Checker
from boomslang.certify.replay import replay
from boomslang.levels import LEVELS, Level, implies, neighbours
from boomslang.solve.brute import brute

PAIRS = neighbours()
every_pair = pytest.mark.parametrize(
    ("stronger", "weaker"), PAIRS, ids=[f"{a.short}-{b.short}" for a, b in PAIRS]
)
every_history = pytest.mark.parametrize("case", POOL, ids=[case.name for case in POOL])


@every_pair
def test_neighbours_are_told_apart(stronger: Level, weaker: Level) -> None:
    """Also those that will be added: whoever adds a level adds the histories that show it to be a new one."""
    assert telling(stronger, weaker) is not None, "write a history for tests/support/levels_apart.py"


@every_history
def test_brute_force_agrees(case: Case) -> None:
    trace = case.build()
    assert {level.name: brute(trace, level.name) for level in LEVELS} == case.verdicts


@every_history
@pytest.mark.parametrize("solver", ["native", "z3"])
def test_solvers_agree(case: Case, solver: str) -> None:
    """And no level lacks what it needs: a verdict is never unknown."""
    trace = case.build()
    # What the native engine says is explained too; Z3 is asked a third of it, but for the full run.
    checker = Checker(trace) if solver == "native" else Unexplained(trace, solver=solver)
    for level in LEVELS if solver == "native" or effort.full else a_third(POOL.index(case)):
        verdict = checker.check(level)
        assert verdict.status == ("valid" if case.verdicts[level.name] else "invalid"), level.name
        if verdict.witness is not None:
            replay(trace, verdict.witness)


def test_what_the_lattice_calls_incomparable_is() -> None:
    """Wherever it says that a does not imply b, some history satisfies a and not b."""
    assert unseparated() == []


def test_no_two_levels_are_equal() -> None:
    assert [
        (a.name, b.name) for a in LEVELS for b in LEVELS if a is not b and implies(a, b) and implies(b, a)
    ] == []


@every_history
def test_histories_are_small_and_explained(case: Case) -> None:
    trace = case.build()
    assert len(trace) <= 4 and len(trace.op_kind) <= 8
    assert case.shows.endswith(".") and "\n" not in case.shows
    assert case.breaks
