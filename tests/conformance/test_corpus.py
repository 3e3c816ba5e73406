"""Public histories that nobody here wrote, with their documented verdicts.

They are read in place, from the folder that BOOMSLANG_CORPUS names or that lies beside the repository; where there
is none, these tests are skipped. `benchmarks/corpus.py` knows what there is and what is documented, and wrote
docs/corpus.md; here it is held to that. Verdicts are not taken on trust: each witness is replayed, each core
refuted by Z3. The small histories are looked at in every run of the tests, the others in `make test-full`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import replace

import corpus
import numpy as np
import pytest
from corpus import COMMITTED, CORPUS, PAGE, History, Result
from support import public_cases as conformance
from support.unexplained import Unexplained

from boomslang import LEVELS, Checker, Trace, read_trace
from boomslang.certify.refute import minimal, refute
from boomslang.levels import implies
from boomslang.trace import ABSENT, Kind

READINGS = corpus.histories()
SMALL = 100_000  # bytes: what every run of the tests looks at
SMALL_OF_MANY = 34_000  # the same where many are alike
pytestmark = pytest.mark.skipif(not READINGS, reason=f"no histories in {CORPUS}: set BOOMSLANG_CORPUS")


def each(readings: Iterable[History]) -> pytest.MarkDecorator:
    """A test for each; those that take longer, and two of three small ones, are left to `make test-full`."""
    marked = [
        pytest.param(
            history,
            marks=[]
            if number % 3 == 0 and size(history) < (SMALL_OF_MANY if "table2" in history.path else SMALL)
            else [pytest.mark.full],
            id=f"{history.path}{' as committed' if history.group.format else ''}",
        )
        for number, history in enumerate(readings)
    ]
    return pytest.mark.parametrize("history", marked)


def size(history: History) -> int:
    path = CORPUS / "histories" / history.path
    return sum(file.stat().st_size for file in (path.iterdir() if path.is_dir() else [path]))


def load(history: History) -> Trace:
    return read_trace(CORPUS / "histories" / history.path, format=history.group.format)


@each(READINGS)
def test_every_level_is_decided_and_as_documented(history: History) -> None:
    result = Result(history, corpus.decide(history))
    assert list(result.complaints()) == []
    for a in LEVELS:
        for b in LEVELS:
            if implies(a, b):
                assert (result.status(a.name), result.status(b.name)) != ("valid", "invalid"), (
                    a.name,
                    b.name,
                )
    shown = on_page(history)
    for level, verdict in result.found["levels"].items():
        column = level.replace(corpus.STRONG_SESSION, "s-")
        assert shown[column] == corpus.word(verdict), f"{level}: run `python benchmarks/corpus.py`"
    assert shown["what is wrong"] == corpus.wrong(result.found["levels"])


def on_page(history: History) -> dict[str, str]:
    """The history's line in docs/corpus.md: column -> cell."""
    section = PAGE.read_text().split(f"\n## {history.group.title}\n")[1].split("\n## ")[0]
    header, _, *rows = (
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in section.splitlines()
        if line.startswith("|")
    )
    return next(dict(zip(header, row, strict=True)) for row in rows if row[0] == history.name)


@pytest.mark.parametrize(
    ("path", "codes"),
    [
        ("cobra/ser-violation/cock-blog", {"thin-air", "G1a"}),  # reads of writes that never committed
        ("cobra/ser-violation/cock-G2", {"G2-item"}),
        ("cobra/ser-violation/yuga-G2-b", {"G2-item"}),
        ("polysi/violations/galera/galera.txt", {"lost-update"}),
    ],
)
def test_known_violations_are_named_and_small(path: str, codes: set[str]) -> None:
    history = next((h for h in READINGS if h.path == path), None)
    if history is None:
        pytest.skip(f"no {path} in {CORPUS}")
    found = Checker(load(history)).check("strong-session-serializable").counterexample
    assert found is not None and found.anomaly is not None
    assert found.anomaly.code in codes
    assert len(found.core.transactions) <= 2 and len(found.core.reads) <= 2


PARAMETERS = re.compile(
    r"/(\d+)_(\d+)_(\d+)_\d+"
)  # sessions, transactions a session, operations a transaction


@each(h for h in READINGS if PARAMETERS.search(h.path))
def test_nothing_is_lost_in_reading(history: History) -> None:
    """dbcop's folders are named after the parameters of the run."""
    found = PARAMETERS.search(history.path)
    assert found is not None
    sessions, transactions, operations = map(int, found.groups())
    trace = load(history)
    assert np.bincount(trace.txn_session).tolist() == [transactions] * sessions
    assert (np.diff(trace.txn_ops) == operations).all()


# --- one run in two formats, one file in two readings ----------------------------------------------------------

TWINS = [(h, next(t for t in READINGS if t.path == h.twin)) for h in READINGS if h.twin is not None]


@pytest.mark.parametrize(("json", "log"), TWINS, ids=[json.path for json, _ in TWINS])
def test_twins_are_the_same_history(json: History, log: History) -> None:
    """Viper's JSON and Cobra's log of one run: the same shape, and the same verdict at every level."""
    traces = [load(json), load(log)]
    shapes = [
        (len(t), len(t.sessions), len(t.keys), np.bincount(t.op_kind).tolist(), np.diff(t.txn_ops).tolist())
        for t in traces
    ]
    assert shapes[0] == shapes[1]
    statuses = [
        {level.name: asked.check(level).status for level in LEVELS} for asked in map(Unexplained, traces)
    ]
    assert statuses[0] == statuses[1]


TWO_READINGS = [h for h in READINGS if h.group.format is None and "table2" in h.path]


@each(TWO_READINGS)
def test_a_partial_transaction_may_not_have_happened(history: History) -> None:
    """Unknown says less than committed, so it can only break fewer levels; of CockroachDB's violations none stands."""
    doubted = Unexplained(load(history))
    committed = Unexplained(read_trace(CORPUS / "histories" / history.path, format=COMMITTED))
    for level in LEVELS:
        found = doubted.check(level)
        assert not (found.invalid and not committed.check(level).invalid), level.name
        if "roachdb" in history.path:
            assert not found.invalid, level.name


# --- files whose content is also a conformance case -------------------------------------------------------------

AWDIT = {case.name.removeprefix("awdit:"): case for case in conformance.load_all() if case.source == "awdit"}
AWDIT_FILES = [h for h in READINGS if h.path.startswith("awdit/")]


@each(AWDIT_FILES)
def test_awdit_s_files_are_its_cases(history: History) -> None:
    case = AWDIT[history.path.removeprefix("awdit/").removesuffix(".txt")]
    read, built = Unexplained(load(history)), Unexplained(case.trace())
    found = {level.name: read.check(level) for level in LEVELS}
    for name, verdict in found.items():
        assert verdict.status == built.check(name).status, name
    for name, expected in case.expected().items():
        assert found[name].invalid != expected.valid, name


# --- mistakes that were put in ----------------------------------------------------------------------------------


@each(h for h in READINGS if h.path.startswith(("cobra/", "polysi/", "veristrong/fig")))
def test_a_planted_read_is_found_and_its_core_stays_small(history: History) -> None:
    """One read sees another value of its key: nearly always wrong, and then for a reason that fits on a page."""
    trace = planted(load(history), random.Random(history.path))
    verdict = Checker(trace).check("strong-session-serializable")
    assert verdict.status in ("valid", "invalid") and not corpus.certificate_error(verdict)
    if verdict.counterexample is not None:
        core = verdict.counterexample.core
        assert refute(trace, core) and minimal(trace, core) == []
        assert len(core.transactions) <= 40
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
