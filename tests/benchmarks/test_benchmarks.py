"""Is the simulated database what it says? Its histories are replayed here by a few lines of Python.

The benchmarks take the simulator's word for the verdict of each history. So the word is checked, on
small and contended histories: the order in which the database says it committed is replayed
against plain dictionaries, with no part of the checker involved. Then the checker has to agree.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cases
import loading
import numpy as np
import pytest
import reach
import run
import simulate
import windows
from simulate import RANDOMBENCH, History

from boomslang import check
from boomslang.certify.certificate import Witness
from boomslang.certify.replay import ReplayError, replay
from boomslang.trace import read_trace

Line = dict[str, Any]
State = dict[int, int]

# Few keys, many sessions: every kind of conflict happens within a few hundred transactions.
SMALL = History(transactions=400, sessions=8, keys=25, operations=5)
MIXED = replace(RANDOMBENCH, transactions=400, sessions=6, keys=30, values=4, span=8, take=4)


class Recorded:
    """A history read back: its lines, the lines of each transaction, how each ended, the witness."""

    def __init__(self, history: History, folder: Path) -> None:
        self.path = out = folder / ("trace" if history.folder else "trace.jsonl")
        witness = folder / "witness"
        self.counts = simulate.generate(history, out, witness)
        files = sorted(out.iterdir()) if history.folder else [out]
        every = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        self.headers = [line for line in every if "boomslang" in line]
        self.lines: list[Line] = [line for line in every if "boomslang" not in line]
        self.transactions: dict[int, list[Line]] = {}
        for line in self.lines:
            self.transactions.setdefault(line["txn"], []).append(line)
        words = [line.split() for line in witness.read_text().splitlines()]
        self.witness = [(what, int(txn)) for what, txn in words]

    def outcome(self, txn: int) -> str:
        end = self.transactions[txn][-1]
        return "unknown" if "error" in end else str(end["op"])

    def named(self, outcome: str) -> set[int]:
        return {txn for txn in self.transactions if self.outcome(txn) == outcome}


@pytest.fixture
def record(tmp_path: Path) -> Any:
    def make(history: History) -> Recorded:
        folder = tmp_path / history.short_name()
        folder.mkdir(exist_ok=True)
        return Recorded(history, folder)

    return make


def effects(lines: Iterable[Line], state: State) -> dict[int, int | None]:
    """Run one transaction alone on `state`: its reads must be as recorded. What it changes."""
    own: dict[int, int | None] = {}
    iterators: dict[int, tuple[int, int]] = {}

    def see(key: int) -> int | None:
        return own[key] if key in own else state.get(key)

    def items(lo: int, hi: int) -> list[list[int]]:
        return [[key, value] for key in range(lo, hi) if (value := see(key)) is not None]

    for line in lines:
        op = line["op"]
        if op == "put":
            own[line["key"]] = line["value"]
        elif op == "get":
            assert see(line["key"]) == (None if "absent" in line else line["value"])
        elif op == "delete":
            assert line["found"] == (see(line["key"]) is not None)
            if line["found"]:
                own[line["key"]] = None
        elif op == "scan":
            assert line["items"] == items(line["from"], line["to"])
        elif op == "iterator":
            iterators[line["id"]] = (line["from"], line["to"])
        elif op == "next":
            lo, hi = iterators[line["id"]]
            rest = items(lo, hi)
            assert rest[:1] == ([] if "end" in line else [[line["key"], line["value"]]])
            iterators[line["id"]] = (hi if "end" in line else line["key"] + 1, hi)
    return own


def apply(state: State, changes: dict[int, int | None]) -> State:
    after = {key: value for key, value in state.items() if key not in changes}
    return after | {key: value for key, value in changes.items() if value is not None}


def replay_serially(recorded: Recorded) -> None:
    state: State = {}
    for what, txn in recorded.witness:
        if what == "commit":
            for key, value in effects(recorded.transactions[txn], state).items():
                state.pop(key, None)
                if value is not None:
                    state[key] = value


def replay_snapshots(recorded: Recorded) -> None:
    """Snapshot isolation as defined: read the state at begin; no two overlapping writers of a key."""
    state: State = {}
    snapshots: dict[int, State] = {}
    since: dict[int, set[int]] = {}  # keys that others changed since the transaction began
    for what, txn in recorded.witness:
        if what == "begin":
            snapshots[txn], since[txn] = state, set()
        else:
            changes = effects(recorded.transactions[txn], snapshots.pop(txn))
            assert not since.pop(txn) & set(changes), "the first committer did not win"
            for changed in since.values():
                changed |= set(changes)
            state = apply(state, changes)


def check_committed(recorded: Recorded) -> None:
    """The witness holds exactly what committed, and perhaps what may have."""
    placed = Counter(txn for what, txn in recorded.witness if what == "commit")
    assert set(placed.values()) <= {1}
    assert recorded.named("commit") <= set(placed)
    assert not recorded.named("abort") & set(placed)


@pytest.mark.parametrize("history", [SMALL, MIXED, replace(SMALL, theta=0.99), replace(SMALL, unknown=0.1)])
def test_a_serializable_database_commits_in_a_serial_order(record: Any, history: History) -> None:
    recorded = record(replace(history, level="ser"))
    replay_serially(recorded)
    check_committed(recorded)
    assert recorded.counts["aborted"] > 20, "no contention: nothing was tested"


@pytest.mark.parametrize("history", [SMALL, MIXED, replace(SMALL, theta=0.99), replace(SMALL, unknown=0.1)])
def test_a_snapshot_database_keeps_snapshots_and_lets_the_first_committer_win(
    record: Any, history: History
) -> None:
    recorded = record(replace(history, level="si"))
    replay_snapshots(recorded)
    check_committed(recorded)
    with pytest.raises(AssertionError):  # it is not serial in commit order: snapshots do overlap
        replay_serially(recorded)


@pytest.mark.parametrize("level", ["rr", "rc"])
def test_weaker_databases_read_committed_values_only(record: Any, level: str) -> None:
    recorded = record(replace(MIXED, values=0, level=level))
    check_committed(recorded)
    committed = [line for txn in recorded.named("commit") for line in recorded.transactions[txn]]
    written = {line["value"] for line in committed if line["op"] == "put"}
    assert {line["value"] for line in committed if line["op"] == "get" and "value" in line} <= written
    with pytest.raises(AssertionError):
        replay_serially(recorded)


def test_the_order_agrees_with_the_times(record: Any) -> None:
    recorded = record(replace(SMALL, times=True))
    assert recorded.headers == [{"boomslang": 1, "clock": "sim"}]
    returns = [line["return"] for line in recorded.lines]
    assert returns == sorted(returns)
    assert all(line["invoke"] < line["return"] for line in recorded.lines)
    latest_begin = 0
    for what, txn in recorded.witness:
        lines = recorded.transactions[txn]
        if what == "commit":
            assert latest_begin < lines[-1]["return"], "a commit placed after one that began later"
            latest_begin = max(latest_begin, lines[0]["invoke"])


def witness_of(recorded: Recorded, level: str) -> Witness:
    """The database's own order as a certificate of the checker."""
    trace = read_trace(recorded.path)
    number = {trace.names[name]: index for index, name in enumerate(trace.txn_name.tolist())}
    ordered = {txn for what, txn in recorded.witness if what == "commit"}
    points = 2 if level.endswith("snapshot-isolation") else 1
    order = [
        points * number[txn] + (points == 2 and what == "commit")
        for what, txn in recorded.witness
        if txn in ordered and (points == 2 or what == "commit")
    ]
    return Witness(level=level, points=points, order=np.array(order, np.int64), initial=[])


@pytest.mark.parametrize("history", [SMALL, MIXED, replace(MIXED, folder=True, values=0)])
@pytest.mark.parametrize(
    ("database", "levels"),
    [
        ("ser", ("serializable", "strong-session-serializable", "strict-serializable")),
        ("si", ("snapshot-isolation", "strong-session-snapshot-isolation", "strong-snapshot-isolation")),
    ],
)
def test_the_checkers_verifier_accepts_the_databases_order(
    record: Any, history: History, database: str, levels: tuple[str, ...]
) -> None:
    recorded = record(replace(history, level=database, times=True, unknown=0.05))
    for level in levels:
        replay(read_trace(recorded.path), witness_of(recorded, level))
    if database == "si":
        with pytest.raises(ReplayError):
            replay(read_trace(recorded.path), witness_of(recorded, "serializable"))


@pytest.mark.parametrize(
    ("history", "verdicts"),
    [
        (SMALL, {"ser": "valid", "si": "valid", "strong-session-ser": "valid"}),
        (replace(SMALL, level="si"), {"ser": "invalid", "si": "valid"}),
        (replace(MIXED, transactions=150), {"ser": "valid", "rr": "valid"}),
        (replace(MIXED, transactions=150, level="rr"), {"rr": "valid", "rc": "valid"}),
        (replace(SMALL, level="rc"), {"rc": "valid", "si": "invalid"}),
        (replace(SMALL, plant="lost-update"), {"ser": "invalid", "si": "invalid"}),
        (replace(SMALL, plant="long-fork"), {"ser": "invalid", "si": "invalid"}),
        (replace(SMALL, plant="read-skew"), {"ser": "invalid", "si": "invalid"}),
        (replace(SMALL, plant="aborted-read"), {"rc": "invalid"}),
        (replace(SMALL, plant="intermediate-read"), {"rc": "invalid"}),
        (replace(SMALL, plant="thin-air"), {"rc": "invalid"}),
        (replace(SMALL, plant="stale-read"), {"strong-session-ser": "invalid", "rc": "valid"}),
        (replace(SMALL, plant="write-skew", level="si"), {"ser": "invalid", "si": "valid"}),
    ],
)
def test_the_checker_finds_what_the_database_did(
    record: Any, history: History, verdicts: dict[str, str]
) -> None:
    trace = read_trace(record(history).path)
    assert {level: check(trace, level, timeout=20).status for level in verdicts} == verdicts


def test_sessions_run_one_transaction_at_a_time_and_overlap(record: Any) -> None:
    recorded = record(SMALL)
    running: dict[str, int] = {}
    most = 0
    for line in recorded.lines:
        if line["op"] == "begin":
            assert line["session"] not in running
            running[line["session"]] = line["txn"]
        assert running[line["session"]] == line["txn"]
        most = max(most, len(running))
        if line["op"] in ("commit", "abort"):
            del running[line["session"]]
    assert not running
    assert most == SMALL.sessions


def test_equal_seeds_give_equal_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        simulate.generate(replace(MIXED, seed=seed), tmp_path / name)
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b
    assert a != c


def test_as_many_commit_as_asked_for(record: Any) -> None:
    recorded = record(replace(SMALL, unknown=0.2))
    assert len(recorded.named("commit")) == recorded.counts["committed"] == SMALL.transactions
    assert len(recorded.named("abort")) == recorded.counts["aborted"]
    assert len(recorded.named("unknown")) == recorded.counts["unknown"] > 50
    assert len(recorded.lines) == recorded.counts["lines"]


def test_a_folder_holds_the_same_lines_by_session(record: Any) -> None:
    whole, parts = record(SMALL), record(replace(SMALL, folder=True))
    assert len(parts.headers) == SMALL.sessions
    assert parts.transactions == whole.transactions


def test_shares_of_operations_are_as_given(record: Any) -> None:
    roomy = replace(RANDOMBENCH, transactions=1_000, keys=100_000)
    kinds = Counter(line["op"] for line in record(roomy).lines)
    operations = roomy.transactions * roomy.operations
    for op, share in {"put": 0.5, "get": 0.5, "delete": 0.05, "scan": 0.1, "iterator": 0.1}.items():
        assert kinds[op] == pytest.approx(share * operations, rel=0.15), op


def test_keys_and_values_follow_their_distributions(record: Any) -> None:
    def puts(history: History) -> list[Line]:
        return [line for line in record(history).lines if line["op"] == "put"]

    even = Counter(line["key"] for line in puts(SMALL))
    skew = Counter(line["key"] for line in puts(replace(SMALL, theta=0.99)))
    assert skew[0] > 2 * even[0] and skew[0] > 3 * skew[10]
    unique = [line["value"] for line in puts(SMALL)]
    assert len(set(unique)) == len(unique)
    assert {line["value"] for line in puts(replace(SMALL, values=3))} == {1, 2, 3}


@pytest.mark.parametrize("plant", simulate.PLANTS[1:])
@pytest.mark.parametrize("level", ["ser", "si"])
def test_a_violation_is_planted_once_on_keys_of_its_own(record: Any, plant: str, level: str) -> None:
    recorded = record(replace(MIXED, plant=plant, level=level, plant_at=0.3))
    own = {MIXED.keys, MIXED.keys + 1}
    actors = {line["txn"] for line in recorded.lines if line.get("key") in own}
    final = [txn for txn in actors if recorded.outcome(txn) == "commit"]
    roles = {"thin-air": 2, "long-fork": 5, "aborted-read": 2}
    assert len(final) == roles.get(plant, 3)
    assert min(actors) > 0.3 * MIXED.transactions
    for txn in actors:  # without the planted lines the history keeps its promise
        recorded.transactions[txn] = [
            line for line in recorded.transactions[txn] if line.get("key") not in own
        ]
    (replay_serially if level == "ser" else replay_snapshots)(recorded)


@pytest.mark.parametrize("seed", range(1, 6))
def test_planted_write_skew_is_all_that_is_wrong(record: Any, seed: int) -> None:
    recorded = record(replace(MIXED, level="si", plant="write-skew", seed=seed))
    replay_snapshots(recorded)


@pytest.mark.parametrize("plant", ["lost-update", "read-skew", "long-fork"])
def test_planted_violations_break_snapshots(record: Any, plant: str) -> None:
    with pytest.raises(AssertionError):
        replay_snapshots(record(replace(MIXED, level="si", plant=plant)))


def test_wrong_options_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    changes: list[dict[str, Any]] = [
        {"level": "acid"},
        {"plant": "tree"},
        {"keys": 0},
        {"writes": 0.9, "scans": 0.2},
    ]
    for change in changes:
        with pytest.raises(ValueError):
            replace(SMALL, **change)
    with pytest.raises(SystemExit):
        simulate.main(["trace", "--level", "acid"])
    assert "known are ser, rr, si, rc" in capsys.readouterr().err


def test_the_command_line_starts_from_a_workload(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history, _ = simulate.parse(["t", "--workload", "randombench", "--times", "--plant-at", "0.25"])
    assert history == replace(RANDOMBENCH, times=True, plant_at=0.25)
    assert simulate.main([str(tmp_path / "t"), "--transactions", "10"]) == 0
    assert json.loads(capsys.readouterr().out)["committed"] == 10


def test_the_slope_is_the_exponent_of_growth() -> None:
    assert run.slope([(10, 3), (100, 30), (1_000, 300)]) == pytest.approx(1)
    assert run.slope([(10, 2), (100, 200)]) == pytest.approx(2)


def test_the_report_tells_right_from_wrong() -> None:
    seconds = ("read", "load", "analyse", "solve", "explain", "total", "cpu", "megabytes")
    figures: dict[str, Any] = dict.fromkeys(seconds, 0.5)
    figures |= {"status": "valid", "conflicts": 1, "decisions": 2, "transactions": 1_000}
    case = cases.Case("one", SMALL, "ser", "valid", seconds=1, ladder="l")
    good = run.Result("g", case, figures)
    larger = run.Result("g", case, figures | {"transactions": 10_000, "total": 5})
    wrong = run.Result("g", replace(case, expect="invalid"), figures)
    broken = run.Result("g", case, {}, error="MemoryError")
    gave_up = run.Result("g", replace(case, may_give_up=True), figures | {"status": "unknown"})
    assert [r.as_expected for r in (good, larger, wrong, broken, gave_up)] == [True, True, False, False, True]
    assert [r.reached for r in (good, larger, broken)] == [True, False, None]
    page = run.report([good, larger, wrong, broken], "a machine", "a command")
    assert "WRONG: expected invalid" in page and "MemoryError" in page and "missed" in page
    assert "| l | 1.00 |" in page


def test_every_case_is_named_once() -> None:
    for group in cases.GROUPS.values():
        names = Counter((case.name, case.level) for case in group())
        assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize(("only", "histories"), [("text", 1), ("jepsen-edn", 2), ("dbcop-hist", 1)])
def test_every_format_is_loaded(
    only: str, histories: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "TIMES", 1)
    monkeypatch.setattr(loading, "SAMPLE", 100)
    found = list(loading.loads(0.02, only, tmp_path))
    assert [load.format for load in found] == [only] * histories
    assert all(5_000 < load.figures["bytes"] < 80_000 and load.figures["operations"] for load in found)
    assert not list(tmp_path.iterdir())


def test_our_own_formats_are_loaded_with_one_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "TIMES", 1)
    monkeypatch.setattr(loading, "SAMPLE", 100)
    found = list(loading.loads_of_one_history(0.05, tmp_path))
    assert [(load.history, load.format) for load in found] == [
        (history, format) for history in loading.HISTORIES for format in loading.OURS
    ]
    for history in loading.HISTORIES:
        same = {
            (load.figures["transactions"], load.figures["operations"])
            for load in found
            if load.history == history
        }
        assert len(same) == 1
    assert not list(tmp_path.iterdir())


def test_loading_is_compared_with_json_lines() -> None:
    figures = {"bytes": 30_000_000, "transactions": 1_000, "operations": 8_000, "read": 0.01, "cpu": 0.5}
    found = [loading.Load("jsonl", "registers", figures | {"load": 1.0, "cpu": 1.0, "two": 0.625})]
    found += [loading.Load("text", "registers", figures | {"load": 0.5, "two": math.nan})]
    page = loading.report(found, found[:1], "a machine")
    assert "| 1.000 | 1.000 | 100.0 | 30 | 30 | 1.60 | 8,000 | 1.00 |" in page
    assert "| 0.500 | 0.500 | 50.0 | 60 | 60 |  | 16,000 | 2.00 |" in page
    assert page.count("| jsonl | registers |") == 2 and page.count("| text | registers |") == 1


def _reached(name: str, size: int, level: str, **figures: str) -> list[str]:
    row = dict.fromkeys(reach.NAMES, "1.00") | {"trace": name, "transactions": f"{size:,}", "level": level}
    return [
        (row | {key.replace("_", " "): value for key, value in figures.items()})[key] for key in reach.NAMES
    ]


def test_marks_are_answered_by_their_worst_row() -> None:
    million, log = reach.MILLION, "one log, times"
    rows = [
        _reached(log, 100_000, "ser", CPU_s="1.0"),
        _reached(log, million, "ser", all_jobs="4.9", times_as_fast="1.8"),
        _reached(log, million, "si", all_jobs="5.1", times_as_fast="1.6"),
        _reached(log, 10 * million, "ser", CPU_s="110", MB="1900"),
    ]
    told = {(line[0], line[1]): line[2:] for line in reach.answers(rows)}
    assert told["load and check 1M", "at most 5 s"] == ["ser 4.90, si 5.10", "**no**"]
    assert told["two cores, times as fast as one", "at least 1.7"] == ["ser 1.80, si 1.60", "**no**"]
    assert told["the same, memory", "at most 2000 MB"] == [
        "not measured",
        "",
    ]  # of the streamed one, which is last
    assert told["load and check 10M", "at most 50 s"] == ["ser 1.00", "yes"]
    assert told["growth from 100K to 10M, slope of CPU, ser", "at most 1.03"] == ["1.021", "yes"]
    names = {(kind.name, size, level) for kind in reach.KINDS for size in kind.sizes for level in kind.levels}
    for mark in reach.MARKS:  # each has rows to be answered by
        assert any((mark.name, mark.size, level) in names for level in mark.levels)


def test_rows_of_another_version_are_measured_anew(tmp_path: Path) -> None:
    kept = tmp_path / "rows.json"
    assert windows.kept_rows(kept, "this") == {}
    kept.write_text(json.dumps({"program": "this", "windows": [["a"]], "reach": []}))
    assert windows.kept_rows(kept, "this") == {"windows": [["a"]], "reach": []}
    assert windows.kept_rows(kept, "that") == {}
    assert windows.fingerprint() == windows.fingerprint()
