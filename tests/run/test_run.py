"""Runs and hunts: what is recorded is what happened, whatever happened to the clients.

The store in memory has its clients in threads, SQLite in processes.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
import threading
import time
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.histories import Absent, get, history, put, txn
from support.memory_store import Memory, MemoryConnection

from boomslang import check, read_trace
from boomslang.certify.certificate import Core, read_certificate
from boomslang.databases import Database, find_database
from boomslang.errors import UsageError
from boomslang.explain.core import LARGE
from boomslang.run import Plan, Ran, client, hunt, parse_faults, run, runner, variations
from boomslang.run.fault_schedule import possible_schedules
from boomslang.run.faults import possible_faults, schedule, wire
from boomslang.run.hunt import _Checker, certificate_of
from boomslang.trace import Outcome, Trace, write_trace
from boomslang.workloads import WORKLOADS, find_workload

ALL = sorted(WORKLOADS)


def planned(
    database: Database, workload: str, *, level: str | None = None, txns: int = 100, retries: int = 0,
    faults: tuple[str, ...] = (), **settings: Any,
) -> Plan:  # fmt: skip
    made = find_workload(workload).with_settings(**{"sessions": 4, **settings})
    return Plan(database, made, database.level(level), txns, retries, parse_faults(faults))


def counted(trace: Trace) -> tuple[int, int, int]:
    return tuple(  # type: ignore[return-value]
        int((trace.txn_outcome == outcome).sum())
        for outcome in (Outcome.COMMITTED, Outcome.ABORTED, Outcome.UNKNOWN)
    )


def counts(ran: Ran) -> tuple[int, int, int]:
    return ran.committed, ran.aborted, ran.unknown


@pytest.fixture
def sqlite() -> Iterator[Database]:
    with find_database("sqlite") as database:
        yield database


# --- runs


@pytest.mark.parametrize("name", ALL)
def test_every_workload_runs_and_its_trace_is_valid(name: str, tmp_path: Path) -> None:
    ran = run(planned(Memory(), name, txns=81), tmp_path / "t")
    trace = read_trace(tmp_path / "t")
    assert counted(trace) == counts(ran) and len(trace) == 81
    assert ran.problems == [] and not trace.warnings
    assert len(trace.sessions) == 4
    assert check(trace, "strong-session-sser").valid


@pytest.mark.parametrize("name", ["randombench", "filesystem", "list-append"])
def test_sessions_of_a_database_of_many_processes_are_processes(
    name: str, tmp_path: Path, sqlite: Database
) -> None:
    assert not sqlite.one_process
    ran = run(planned(sqlite, name, txns=120, retries=2), tmp_path / "t")
    trace = read_trace(tmp_path / "t")
    assert counted(trace) == counts(ran) and ran.committed > 60 and ran.problems == []
    assert check(trace, ran.plan.level.promises).valid


def test_a_session_runs_its_stream(tmp_path: Path) -> None:
    """One session on a store without aborts: the trace is the stream, and the same each time."""

    def lines(seed: int, folder: str) -> list[dict[str, Any]]:
        run(planned(Memory(), "randombench", txns=30, sessions=1, seed=seed), tmp_path / folder)
        found = [json.loads(line) for line in (tmp_path / folder / "c1.jsonl").read_text().splitlines()[1:]]
        return [{k: v for k, v in record.items() if k not in ("invoke", "return")} for record in found]

    assert lines(5, "a") == lines(5, "b") != lines(6, "c")


def test_run_json_says_what_was_run(tmp_path: Path) -> None:
    run(planned(Memory(), "bank", txns=10, seed=3, keys=5), tmp_path / "t")
    told = json.loads((tmp_path / "t" / "run.json").read_text())
    assert told["database"] == "memory" and told["version"] == "memory 1" and told["level"] == "serializable"
    assert (told["workload"], told["txns"], told["seed"], told["keys"]) == ("bank", 10, 3, 5)
    assert told["committed"] == 10 and told["problems"] == []


def test_aborts_are_counted_and_tried_again_if_asked_for(tmp_path: Path) -> None:
    once = run(planned(Memory("abort=5"), "blindw", txns=100), tmp_path / "once")
    assert counts(once) == (80, 20, 0)
    again = run(planned(Memory("abort=5"), "list-append", txns=100, retries=50), tmp_path / "again")
    assert counts(again) == (100, 24, 0)  # each fifth of 124
    trace = read_trace(tmp_path / "again")
    assert counted(trace) == (100, 24, 0) and check(trace, "sser").valid


def test_a_connection_lost_in_a_commit_leaves_it_unknown_and_is_replaced(tmp_path: Path) -> None:
    """Every other lost commit took effect, and others read it; the verdict must not mind."""
    ran = run(planned(Memory("lose=7"), "list-append", txns=140), tmp_path / "t")
    assert counts(ran) == (120, 0, 20) and ran.problems == []
    trace = read_trace(tmp_path / "t")
    assert counted(trace) == (120, 0, 20) and check(trace, "strong-session-sser").valid


def test_a_run_ends_after_its_time(tmp_path: Path) -> None:
    ran = run(planned(Memory(), "bank", txns=1_000_000), tmp_path / "t", seconds=0.3)
    assert 0.3 <= ran.seconds < 5 and 0 < ran.committed < 1_000_000
    assert counted(read_trace(tmp_path / "t")) == counts(ran)


def test_some_clients_pause_and_others_pass_by(tmp_path: Path) -> None:
    began = time.monotonic()
    run(planned(Memory(), "blindw", level="broken", txns=80, ops=4, pause=10, seed=1), tmp_path / "t")
    assert time.monotonic() - began > 0.4, (
        "twenty transactions of each session, with five pauses of 10 ms on average"
    )
    trace = read_trace(tmp_path / "t")
    begin, end = trace.txn_begin, trace.txn_end
    slowest = int((end - begin).argmax())
    assert end[slowest] - begin[slowest] > 50e6
    passed = (begin > begin[slowest]) & (end < end[slowest])
    assert passed.sum() >= 3, "others begin and end while one pauses"


@pytest.mark.parametrize("patience", [60.0, 0.0])
def test_sessions_whose_keys_move_on_wait_for_each_other(
    patience: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lists in use move on with a session's own transactions: one that ran ahead would meet nobody there."""
    monkeypatch.setattr(client, "WAIT", patience)
    monkeypatch.setattr(client.Client, "_pause", lambda self: time.sleep(0.003 * (self.job.session == 0)))
    plan = planned(Memory(), "list-append", level="broken", txns=120, keys=4, appends=3, seed=1)
    assert plan.workload.meets_within() == pytest.approx(4 * 0.6)
    run(plan, tmp_path / "t")
    begun: dict[str, list[int]] = {}
    for each in read_trace(tmp_path / "t").transactions():
        assert each.begin is not None
        begun.setdefault(each.session, []).append(each.begin)
    behind = begun.pop("c1")
    ahead = max(
        number + 1 - bisect_left(behind, begin)
        for times in begun.values()
        for number, begin in enumerate(times)
    )
    assert ahead <= 3 if patience else ahead > 10


def test_progress_is_told(tmp_path: Path) -> None:
    told = []
    ran = run(planned(Memory(), "bank", txns=3000), tmp_path / "t", progress=told.append)
    assert told and told[-1].total == 3000 and "commits/s" in str(told[-1])
    assert all(a.begun <= b.begun <= 3000 for a, b in pairwise(told))
    assert ran.speed.committed == 3000


# --- faults


def test_killed_threads_leave_unknown_transactions_and_others_go_on(tmp_path: Path) -> None:
    ran = run(planned(Memory("slow=1"), "list-append", txns=400, faults=("kill-client=3",)), tmp_path / "t")
    trace = read_trace(tmp_path / "t")
    assert len(ran.faults) == 3 and ran.problems == []
    assert counts(ran) == (397, 0, 3) == counted(trace), "each kill costs one transaction"
    assert len(trace.sessions) == 7 and sum(name.endswith("+") for name in map(str, trace.sessions)) == 3
    assert check(trace, "strong-session-sser").valid


def test_killed_processes_leave_a_readable_trace(tmp_path: Path, sqlite: Database) -> None:
    ran = run(planned(sqlite, "list-append", txns=800, faults=("kill-client=3",)), tmp_path / "t")
    trace = read_trace(tmp_path / "t")
    assert len(ran.faults) == 3 and ran.problems == []
    assert len(trace.sessions) == 7
    committed, aborted, unknown = counted(trace)
    # A client may die between a commit and its note on the board, so counts may differ by a transaction a kill.
    assert abs(committed - ran.committed) <= 3 and abs(aborted - ran.aborted) <= 3 and unknown <= 3
    assert 797 <= committed + aborted + unknown <= 800
    assert check(trace, "strong-session-ser").valid


def test_connections_are_cut(tmp_path: Path) -> None:
    store = Memory("slow=1")
    ran = run(planned(store, "list-append", txns=600, faults=("cut=4",)), tmp_path / "t")
    assert len(ran.faults) == 4 and ran.problems == []
    assert 1 + 4 < store.connections <= 1 + 4 + 4, "the first is a try whether it can be cut"
    trace = read_trace(tmp_path / "t")
    assert counted(trace) == counts(ran) and ran.aborted + ran.unknown <= 4
    assert len(trace.sessions) == 4 and check(trace, "strong-session-sser").valid


def test_a_cut_shuts_the_drivers_socket_down() -> None:
    ours, theirs = socket.socketpair()
    driver = SimpleNamespace(fileno=ours.fileno)
    with ours, theirs:
        for connection in (
            SimpleNamespace(_driver=driver),
            SimpleNamespace(_driver=SimpleNamespace(_sock=driver)),
        ):
            cut = wire(connection)  # type: ignore[arg-type]
            assert cut is not None
            cut()
            assert theirs.recv(1) == b""
    cut()  # closed by now: no matter
    assert wire(SimpleNamespace(_driver=object())) is None  # type: ignore[arg-type]


def test_a_killed_server_comes_back(tmp_path: Path) -> None:
    store = Memory("server,slow=1")
    ran = run(planned(store, "list-append", txns=600, faults=("kill-server=2",)), tmp_path / "t")
    assert store.server is not None and store.server.kills == 2 and store.server.up
    assert ran.faults == ["kill-server"] * 2 and ran.problems == []
    trace = read_trace(tmp_path / "t")
    assert counted(trace) == counts(ran) and sum(counts(ran)) == 600 and ran.aborted + ran.unknown >= 1
    assert check(trace, "strong-session-sser").valid


def test_faults_are_spread_over_the_run() -> None:
    assert [fault.after for fault in schedule({"kill-client": 3}, 100)] == [25, 50, 75]
    both = schedule(parse_faults(["cut", "kill-client=2", "cut"]), 90)
    assert sorted((fault.kind, fault.after) for fault in both) == [
        ("cut", 30), ("cut", 60), ("kill-client", 30), ("kill-client", 60),
    ]  # fmt: skip


def test_faults_come_in_time_where_time_ends_the_run(tmp_path: Path) -> None:
    """A billion transactions would take days: the faults are not to wait for a third of them."""
    plan = planned(Memory("slow=1"), "list-append", txns=10**9, faults=("kill-client=2",))
    ran = run(plan, tmp_path / "t", seconds=1.5)
    assert [fault.split()[0] for fault in ran.faults] == ["kill-client"] * 2 and ran.problems == []
    assert counted(read_trace(tmp_path / "t")) == counts(ran)


def test_a_full_disk_ends_the_sessions_and_the_trace_is_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = 40_000
    written = os.write

    def write(fd: int, data: bytes) -> int:
        nonlocal left
        if len(data) > 3 and data[:1] == b"{":  # a record; the forked server's wires are none
            left -= len(data)
            if left < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
        return written(fd, data)

    monkeypatch.setattr(os, "write", write)
    store = Memory()
    ran = run(planned(store, "list-append", txns=2000), tmp_path / "t")
    monkeypatch.undo()
    assert len(ran.problems) == 4 and all("No space left" in problem for problem in ran.problems)
    trace = read_trace(tmp_path / "t")
    assert 0 < ran.committed < 2000 and check(trace, "strong-session-sser").valid
    # What the store holds is what the trace says was committed, or may have been.
    committed, _, unknown = counted(trace)
    assert committed <= store.commits <= committed + unknown


# --- wrong use


def test_what_a_database_cannot_do_is_said_before_anything_is_written(
    tmp_path: Path, sqlite: Database
) -> None:
    with pytest.raises(UsageError, match="read-then-locking-read needs locking, which SQLite does not offer"):
        planned(sqlite, "read-then-locking-read")
    for fault, said in (("kill-server", "no server that could be killed"), ("cut", "cannot be cut")):
        with pytest.raises(UsageError, match=said):
            run(planned(sqlite, "bank", faults=(fault,)), tmp_path / "t")
    assert not (tmp_path / "t").exists()
    with pytest.raises(UsageError, match="found txns = 0; expected 1 or more"):
        planned(sqlite, "bank", txns=0)


@pytest.mark.parametrize("word", ["kill", "kill-client=x", "cut=-1", "cut=", "=3", "cut=²"])
def test_unknown_faults_are_refused(word: str) -> None:
    with pytest.raises(UsageError, match="expected one of kill-client, kill-server, cut"):
        parse_faults([word])


def test_a_folder_with_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text("precious")
    store = Memory()
    store.committed = {"mine": "too"}
    with pytest.raises(UsageError, match="expected a new or empty one"):
        run(planned(store, "bank"), tmp_path)
    assert store.committed == {"mine": "too"}
    with pytest.raises(UsageError, match="expected a new or empty folder"):
        run(planned(store, "bank"), tmp_path / "mine.jsonl")
    with pytest.raises(UsageError, match="expected a new or empty one"):
        hunt(iter(()), tmp_path, "ser")
    assert (tmp_path / "mine.jsonl").read_text() == "precious"


def test_a_database_that_cannot_be_reached_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Memory("server")
    monkeypatch.setattr("boomslang.run.client.PATIENCE", 0.1)
    assert store.server is not None
    store.server.kill()
    ran = run(planned(store, "bank"), tmp_path / "t")
    assert ran.committed == 0 and len(ran.problems) == 4
    assert all("the database cannot be reached: connection refused" in problem for problem in ran.problems)


def test_who_waits_for_a_server_when_the_time_is_up_has_not_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is killed at once, and does not come back before the run's time is over."""
    store = Memory("server")
    assert store.server is not None
    monkeypatch.setattr(store.server, "restart", lambda: None)
    plan = planned(store, "bank", txns=100_000, faults=("kill-server=1",))
    ran = run(plan, tmp_path / "t", seconds=1.0)
    assert ran.to_json()["made_faults"] == ["kill-server"]
    assert not ran.gave_up
    assert not [problem for problem in ran.problems if "client" in problem]


def test_every_other_session_is_asked_for_another_level(tmp_path: Path) -> None:
    store = Memory()
    workload = find_workload("bank").with_settings(sessions=4, seed=1)
    both = Plan(store, workload, store.level("serializable"), 80, others_at=store.level("broken"))
    trace = read_trace(run(both, tmp_path / "t").folder)
    asked = {(t.session, (t.ctx or {}).get("level")) for t in trace.transactions()}
    assert asked == {("c1", None), ("c2", "broken"), ("c3", None), ("c4", "broken")}
    assert (
        json.loads(trace.notes or "{}")["others_at"] == "broken" and both.to_json()["others_at"] == "broken"
    )


def test_other_sessions_promise_no_less() -> None:
    with find_database("slatedb") as store:
        weak, strong = store.level("snapshot"), store.level("serializable snapshot")
        workload = find_workload("bank").with_settings()
        assert Plan(store, workload, weak, others_at=strong).others_at == strong
        with pytest.raises(UsageError, match="found other sessions at 'snapshot', which does not promise"):
            Plan(store, workload, strong, others_at=weak)


def test_a_hunt_tries_the_faults_that_a_database_can_have() -> None:
    assert possible_faults(Memory()) == ("kill-client=2", "cut=4"), "there is no server"
    assert possible_faults(Memory("server")) == ("kill-client=2", "cut=4", "kill-server=1")
    with find_database("sqlite") as sqlite:
        assert possible_faults(sqlite) == ("kill-client=2",), "there is no wire"
    assert possible_schedules(Memory("server")) == (), "it has no nodes"
    assert parse_faults(["none"]) == {}


# --- hunts


LONG = 60.0
"""More seconds than any of these hunts needs: they end with their plans."""


def plans(database: Database, workload: str, level: str, runs: int = 10) -> Iterator[Plan]:
    for made in islice(variations(find_workload(workload), {}, seed=1), runs):
        yield Plan(database, made, database.level(level), txns=200)


def test_a_planted_violation_is_found_and_kept(tmp_path: Path) -> None:
    found = hunt(plans(Memory(), "list-append", "broken"), tmp_path / "h", "ser", seconds=LONG)
    assert found.runs < 10, "it stops at the first"
    (quarry,) = found.of("invalid")
    assert quarry.reason and quarry.about["workload"] == "list-append"
    assert sorted(path.name for path in (tmp_path / "h").iterdir()) == [
        quarry.trace.name, f"{quarry.trace.name}.certificate.json",
    ]  # fmt: skip
    trace = read_trace(quarry.trace)
    assert check(trace, "ser").invalid
    assert quarry.certificate is not None
    assert isinstance(read_certificate(quarry.certificate, trace), Core)


def test_a_hunt_that_finds_nothing_says_how_much_it_tried(tmp_path: Path) -> None:
    found = hunt(plans(Memory(), "list-append", "serializable", 3), tmp_path / "h", "sser", seconds=LONG)
    assert found.found == [] and found.runs == found.valid == 3 and found.committed == 600
    assert list((tmp_path / "h").iterdir()) == [], "what is valid is thrown away"


def test_a_hunt_ends_after_its_time(tmp_path: Path) -> None:
    found = hunt(plans(Memory(), "bank", "serializable", 10**6), tmp_path / "h", "ser", seconds=0.5)
    assert found.runs == found.valid >= 1 and 0.5 <= found.seconds < 30


def test_a_hunt_ends_with_a_client_that_cannot_be_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that hangs in its commit may wake up during the next run, whose trace would know nothing of it."""
    first, wake = threading.Lock(), threading.Event()
    commit = MemoryConnection.commit

    def hang(self: MemoryConnection) -> None:
        if first.acquire(blocking=False):
            wake.wait(60)
        commit(self)

    monkeypatch.setattr(MemoryConnection, "commit", hang)
    monkeypatch.setattr(runner, "STALLED", 0.3)
    monkeypatch.setattr(runner, "GRACE", 0.3)
    try:
        found = hunt(plans(Memory(), "bank", "broken", 5), tmp_path / "h", "rc", seconds=LONG, collect=True)
    finally:
        wake.set()
    assert found.runs == 1 and any("hung" in problem for problem in found.problems)
    assert "the hunt ends here" in found.problems[-1]


def test_a_hunt_collects(tmp_path: Path) -> None:
    found = hunt(
        plans(Memory(), "list-append", "broken", 4), tmp_path / "h", "ser", seconds=LONG, collect=True
    )
    assert len(found.of("invalid")) >= 2 and found.runs == 4 == found.valid + len(found.found)
    kept = {quarry.trace for quarry in found.found}
    assert {path for path in (tmp_path / "h").iterdir() if path.is_dir()} == kept


def test_what_cannot_be_explained_in_time_is_found_all_the_same(tmp_path: Path) -> None:
    """A long cycle, of which every member is needed: within its time it is reported as it was found."""
    trace = tmp_path / "t.jsonl"
    for explaining, cut_short, many in ((0.0, True, LARGE + 1), (LONG, False, 60)):
        write_trace(
            history(*(txn(f"s{i}", get(f"k{i}", Absent), put(f"k{(i + 1) % many}", i)) for i in range(many))),
            trace,
        )
        checker = _Checker(print, "ser", (), None, None, explaining)
        try:
            checker.wire.send(str(trace))
            answer = checker._receive()
        finally:
            checker.close()
        assert answer.status == "invalid" and bool(answer.reason) == (not cut_short), "thousands have no name"
        assert any("boomslang check" in line for line in answer.story) == cut_short, (
            "it says how to learn more"
        )
        kept = certificate_of(trace)
        core = read_certificate(kept, read_trace(trace))
        assert isinstance(core, Core) and len(core.transactions) == many
        assert json.loads(kept.read_text())["explanation"]["minimal"] == (not cut_short)


DEADLY = """
import os, boomslang

@boomslang.module
def deadly(asg, ir, hints):
    "The end."
    os._exit(1)
"""


def test_a_check_that_dies_is_unknown_and_its_trace_is_kept(tmp_path: Path) -> None:
    """As when the system takes the checker for using too much memory: the hunt goes on with another."""
    (tmp_path / "deadly.py").write_text(DEADLY)
    asked = hunt(
        plans(Memory(), "bank", "serializable", 2), tmp_path / "h", "ser",
        modules=(str(tmp_path / "deadly.py"),), seconds=LONG,
    )  # fmt: skip
    assert len(asked.of("unknown")) == len(asked.found) == asked.runs == 2
    assert asked.found[0].reason == "the checker died" and asked.found[0].trace.is_dir()
    assert asked.valid == 0


def test_runs_of_a_hunt_differ_in_seed_and_contention_but_not_in_what_was_given() -> None:
    def settings(**given: Any) -> list[Any]:
        many = variations(find_workload("randombench"), given, seed=4)
        return [next(many).settings for _ in range(40)]

    free = settings()
    assert [s.seed for s in free] == list(range(4, 44))
    assert free[0].keys == 1000 and free[0].sessions == 8
    assert {s.keys for s in free} == {1000, 250, 62, 15, 3}
    assert {s.distribution for s in free} == {"uniform", "zipf", "hotspot"}
    assert {s.sessions for s in free} == {2, 4, 8, 16} and {s.pause for s in free} == {0, 1, 4}
    assert {s.ops for s in free} == {1, 2, 4, 8, 12}
    assert {s.values for s in free} == {0, 2, 5, 100} and {s.width for s in free} == {2, 10, 100}
    assert {(s.reads, s.appends) for s in free} == {(50, 32)}, "this workload has no use for them"
    assert free == settings(), "the same each time"
    fixed = settings(keys=7, sessions=3, distribution="zipf:1", ops=2)
    assert {(s.keys, s.sessions, s.distribution, s.ops) for s in fixed} == {(7, 3, "zipf:1", 2)}
    tpcc = variations(find_workload("tpcc"), {"keys": 1}, seed=0)
    assert {next(tpcc).settings.keys for _ in range(20)} == {1}


HUNT = """
import sys, time
from boomslang.run.hunt import _Checker

if __name__ == "__main__":
    checker = _Checker(print, "ser", (), None, None, 1.0)
    checker.wire.send(sys.argv[1])
    print(checker.process.pid, flush=True)
    time.sleep(600)
"""


def test_the_checker_of_a_hunt_that_is_killed_does_not_go_on(tmp_path: Path) -> None:
    """Whatever it is doing: here it waits for the lines of a pipe that nobody writes to."""
    script, pipe = tmp_path / "hunt.py", tmp_path / "t.jsonl"
    script.write_text(HUNT)
    os.mkfifo(pipe)
    with subprocess.Popen([sys.executable, script, pipe], stdout=subprocess.PIPE, text=True) as hunter:
        assert hunter.stdout is not None
        checker = int(hunter.stdout.readline())
        time.sleep(0.5)
        assert Path(f"/proc/{checker}").exists()
        hunter.kill()
    end = time.monotonic() + 30
    while Path(f"/proc/{checker}").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(f"/proc/{checker}").exists()
