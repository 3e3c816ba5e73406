"""Every textbook anomaly is rejected by the levels that should, and by no others: so say reference and Z3."""

from __future__ import annotations

import pytest
from support.anomalies import CASES, LEVELS, Case
from support.effort import in_turn

from boomslang.certify.certificate import Core
from boomslang.certify.refute import refute
from boomslang.solve.brute import brute, reads_of


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_reference_agrees_with_the_textbook(case: Case) -> None:
    trace = case.build()
    assert {level: brute(trace, level) for level in LEVELS} == case.verdicts


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_z3_agrees_with_the_textbook(case: Case) -> None:
    trace = case.build()
    everyone = tuple(range(len(trace)))
    reads = tuple((r.row, r.key) for t in everyone for r in reads_of(trace, t))
    asked = [level for n, level in enumerate(LEVELS) if in_turn(n + CASES.index(case), 3)]
    found = {level: not refute(trace, Core(level, everyone, reads)) for level in asked}
    assert found == {level: case.verdicts[level] for level in asked}


def test_names_tell_cases_apart_and_anomalies_are_named() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    for case in CASES:
        assert (case.anomaly is None) == (not case.breaks), case.name
