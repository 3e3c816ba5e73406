"""Public histories that nobody here wrote, with their documented verdicts.

They are read in place, from the folder that BOOMSLANG_CORPUS names or that lies beside the repository; where
there is none, these tests are skipped. Its table's `ser` and `si` include session order: they are
strong-session-serializable and strong-session-snapshot-isolation here. Verdicts are not taken on trust: each
witness is replayed, each core refuted by Z3.
"""

from __future__ import annotations

import csv
import os
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from boomslang import LEVELS, Checker, Trace, Verdict, read_trace
from boomslang.certify.refute import minimal, refute
from boomslang.certify.replay import replay
from boomslang.levels import implies
from boomslang.trace import ABSENT, Kind

BESIDE = Path(__file__).resolve().parent.parent.parent / "shared" / "corpus"
CORPUS = Path(os.environ.get("BOOMSLANG_CORPUS", BESIDE))
LEVEL = {"ser": "strong-session-serializable", "si": "strong-session-snapshot-isolation"}
STATUS = {"ok": "valid", "VIOL": "invalid"}


def histories() -> dict[str, dict[str, str]]:
    """path -> {column: status}, of the histories in Cobra's format."""
    table = CORPUS / "histories.tsv"
    if not table.exists():
        return {}
    with table.open(encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines, delimiter="\t") if row["format"] == "cobra"]
    return {row["path"]: {c: STATUS[row[c]] for c in LEVEL if row[c] in STATUS} for row in rows}


HISTORIES = histories()
pytestmark = pytest.mark.skipif(not HISTORIES, reason=f"no histories in {CORPUS}: set BOOMSLANG_CORPUS")
each_history = pytest.mark.parametrize("path", HISTORIES)


def checked(verdict: Verdict) -> str:
    """The status, after a look at what it rests on."""
    if verdict.witness is not None:
        replay(verdict.trace, verdict.witness)
    if verdict.counterexample is not None:
        assert refute(verdict.trace, verdict.counterexample.core)
        assert minimal(verdict.trace, verdict.counterexample.core) == []
    return verdict.status


@each_history
def test_documented_verdicts(path: str) -> None:
    expected = HISTORIES[path]
    checker = Checker(read_trace(CORPUS / "histories" / path))
    assert {column: checked(checker.check(LEVEL[column])) for column in expected} == expected


@each_history
def test_every_level_has_a_verdict_that_fits_the_others(path: str) -> None:
    checker = Checker(read_trace(CORPUS / "histories" / path))
    status = {level.name: checked(checker.check(level)) for level in LEVELS}
    for a in LEVELS:
        if a.needs_times:  # these logs have none
            assert status[a.name] in ("unknown", "invalid")
        for b in LEVELS:
            if implies(a, b):
                assert (status[a.name], status[b.name]) != ("valid", "invalid"), (a.name, b.name)


@pytest.mark.parametrize(
    ("path", "codes"),
    [
        ("cobra/ser-violation/cock-blog", {"thin-air", "G1a"}),  # reads of writes that never committed
        ("cobra/ser-violation/cock-G2", {"G2-item"}),
        ("cobra/ser-violation/yuga-G2-b", {"G2-item"}),
    ],
)
def test_known_violations_are_named_and_small(path: str, codes: set[str]) -> None:
    if path not in HISTORIES:
        pytest.skip(f"no {path} in {CORPUS}")
    found = (
        Checker(read_trace(CORPUS / "histories" / path)).check("strong-session-serializable").counterexample
    )
    assert found is not None and found.anomaly is not None
    assert found.anomaly.code in codes
    assert len(found.core.transactions) <= 2 and len(found.core.reads) <= 2


@each_history
def test_a_planted_read_is_found_and_its_core_stays_small(path: str) -> None:
    """One read sees another value of its key: nearly always wrong, and then for a reason that fits on a page."""
    trace = read_trace(CORPUS / "histories" / path)
    checker = Checker(planted(trace, random.Random(path)))
    verdict = checker.check("strong-session-serializable")
    assert checked(verdict) in ("valid", "invalid")
    if verdict.counterexample is not None:
        assert len(verdict.counterexample.core.transactions) <= 40
        assert len("\n".join(verdict.counterexample.lines())) < 10_000


def planted(trace: Trace, rng: random.Random) -> Trace:
    reads = np.flatnonzero((trace.op_kind == Kind.GET) & (trace.op_value != ABSENT)).tolist()
    for row in rng.sample(reads, len(reads)):
        writes = np.flatnonzero((trace.op_kind == Kind.PUT) & (trace.op_key == trace.op_key[row]))
        others = [w for w in writes.tolist() if trace.op_value[w] != trace.op_value[row]]
        if others:
            values = trace.op_value.copy()
            values[row] = values[rng.choice(others)]
            return replace(trace, op_value=values)
    pytest.skip("no key has two values")
