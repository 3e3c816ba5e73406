"""Clusters that are started on the spot: etcd, Galera, PostgreSQL with a replica; what they keep, and faults."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support import effort
from support.interleavings import SCRIPTS, play
from support.server_levels import ETCD, GALERA
from support.servers import matches

from boomslang import check, read_trace
from boomslang.databases import Aborted, Database, DriverMissing, Failed, find_database
from boomslang.databases.servers import ServerMissing
from boomslang.databases.servers.moved_clock import find_library
from boomslang.databases.servers.watcher import below
from boomslang.errors import UsageError
from boomslang.run import Plan, run
from boomslang.run.fault_schedule import parse_schedule
from boomslang.workloads import find_workload


def opened(spec: str) -> Iterator[Database]:
    try:
        database = find_database(spec)
    except (ServerMissing, DriverMissing) as problem:
        pytest.skip(str(problem))
    with database:
        yield database


@pytest.fixture(scope="module")
def etcd() -> Iterator[Any]:
    yield from opened("etcd")


@pytest.fixture(scope="module")
def galera() -> Iterator[Any]:
    yield from opened("galera")


def loaded(database: Database, folder: Path, workload: str, level: str | None = None, **more: Any) -> Any:
    schedule = parse_schedule(more.pop("faults", ""))
    seconds, txns = more.pop("seconds", 20), more.pop("txns", 400)
    made = find_workload(workload).with_settings(**{"sessions": 6, "keys": 30, **more})
    return run(Plan(database, made, database.level(level), txns, schedule=schedule), folder, seconds=seconds)


def test_etcd_keeps_what_it_promises_with_a_member_cut_off(etcd: Any, tmp_path: Path) -> None:
    ran = loaded(
        etcd, tmp_path / "t", "blindw", values=0, txns=100_000, seconds=4, faults="at 1s cut node1 for 1500ms"
    )
    assert ran.committed and [what.partition(": ")[2] for what in ran.faults] == [
        "cut node1", "join node1", "whole again",
    ]  # fmt: skip
    trace = read_trace(tmp_path / "t")
    told = {(t.session, (t.ctx or {}).get("node")) for t in trace.transactions()}
    assert {("c1", "node1"), ("c2", "node2"), ("c3", "node3"), ("c4", "node1")} <= told
    assert ("last-node3", "node3") in told
    assert check(trace, "sser").valid


def test_etcd_transactions(etcd: Any) -> None:
    etcd.prepare({"a": "1", "b": "2", "d": "é"})
    one, two = etcd.connect_to(0), etcd.connect_to(1)
    one.begin("linearizable reads")
    two.begin("linearizable reads")
    assert one.get("a") == "1" and one.scan("b", None) == [("b", "2"), ("d", "é")] and one.get("x") is None
    one.put("c", "3")
    one.delete("b")
    assert one.scan("b", None) == [("c", "3"), ("d", "é")] and one.get("b") is None
    two.put("a", "9")
    two.commit()
    with pytest.raises(Aborted):  # it read what the other changed
        one.commit()
    for change in (
        ("put", "cc", "new"),
        ("delete", "d"),
    ):  # a key that comes into a range, and one that leaves it
        one.begin("linearizable reads")
        two.begin("linearizable reads")
        one.scan("b", "e")
        one.put("seen", "yes")
        getattr(two, change[0])(*change[1:])
        two.commit()
        with pytest.raises(Aborted):
            one.commit()
    one.close()
    two.close()


@pytest.mark.full
def test_what_etcd_confirmed_survives_the_end_of_all_its_processes() -> None:
    """It does not wait for the disk, so what it confirmed must at least be in the system's hands."""
    for database in opened("etcd"):
        database.prepare({})
        connection = database.connect_to(0)
        for n in range(20):
            connection.begin("linearizable reads")
            connection.put(f"k{n:02d}", "here")
            connection.commit()
        connection.close()
        cluster: Any = database.server  # type: ignore[attr-defined]
        for node in range(3):
            cluster.kill(node)
        with ThreadPoolExecutor(3) as pool:  # one alone is never ready
            list(pool.map(cluster.restart, range(3)))
        connection = database.connect_to(1)
        connection.begin("linearizable reads")
        assert len(connection.scan(None, None)) == 20
        connection.commit()
        connection.close()


@pytest.mark.full
def test_etcds_local_reads_are_serializable_and_may_be_old(etcd: Any, tmp_path: Path) -> None:
    loaded(etcd, tmp_path / "t", "blindw-rw", "local reads", txns=4000, keys=20)
    assert check(read_trace(tmp_path / "t"), "ser").valid


@pytest.mark.full
def test_five_minutes_of_faults_on_etcd(etcd: Any, tmp_path: Path) -> None:
    """Many sessions of short transactions on many keys: a read that asks the other members takes long, and a range in
    which anything has changed is an abort, so fewer and longer ones commit little."""
    kinds = ("pause", "cut", "kill", "slow")
    faults = "; ".join(f"at {8 + 12 * n}s {kinds[n % 4]} node{1 + n % 3} for 6s" for n in range(24))
    load = {"values": 0, "keys": 2000, "sessions": 24, "ops": 4, "txns": 10**6, "seconds": 300}
    ran = loaded(etcd, tmp_path / "t", "randombench", faults=faults, **load)
    print(
        f"{ran.committed:,} committed, {ran.aborted:,} aborted, {ran.unknown:,} unknown; {ran.faults}; {ran.problems}"
    )
    assert ran.committed > 3000 and not ran.gave_up, ran.problems
    verdict = check(read_trace(tmp_path / "t"), "sser", timeout=300)
    assert verdict.valid, verdict.counterexample and list(verdict.counterexample.lines())


@pytest.mark.full
def test_galera_lets_writes_skew_between_nodes(galera: Any, tmp_path: Path) -> None:
    for n in range(5):
        loaded(galera, tmp_path / str(n), "blindw", "serializable", values=0, keys=60, txns=3000)
        trace = read_trace(tmp_path / str(n))
        assert check(trace, "si").valid
        verdict = check(trace, "ser")
        if not verdict.valid:
            break
    assert verdict.status == "invalid"
    lines = list(verdict.counterexample.lines())
    assert any(" at 'node" in line for line in lines), lines


@pytest.mark.full
def test_five_minutes_of_faults_on_galera(galera: Any, tmp_path: Path) -> None:
    kinds = ("pause", "slow", "kill", "cut")
    faults = "; ".join(f"at {10 + 25 * n}s {kinds[n % 4]} node{1 + (n + 1) % 3} for 7s" for n in range(11))
    try:
        find_library()
        faults += "; at 50s clock node3 by -1h for 30s; at 200s clock node2 by +1d for 30s"
    except ServerMissing as problem:
        print(f"no clock is moved: {problem}")
    ran = loaded(
        galera,
        tmp_path / "t",
        "blindw",
        "repeatable read",
        values=0,
        keys=200,
        txns=10**6,
        seconds=300,
        faults=faults,
    )
    print(
        f"{ran.committed:,} committed, {ran.aborted:,} aborted, {ran.unknown:,} unknown; {ran.faults}; {ran.problems}"
    )
    assert ran.committed > 3000 and not ran.gave_up, ran.problems
    offered = galera.level("repeatable read")
    assert check(read_trace(tmp_path / "t"), offered.promises, modules=offered.modules, timeout=120).valid


def happens_as_told(database: Database, expected: dict[str, dict[str, str]], folder: Path) -> None:
    """Every script at every level leads to what the page says; slow steps are no waits, so some are played again."""
    for level, scripts in expected.items():
        for name, told in scripts.items():
            seen = []
            for patience in (1.0, 2.0, 4.0):
                played = play(
                    database, SCRIPTS[name], level, folder / f"{len(seen)} {level} {name}", patience=patience
                )
                seen.append(str(played))
                assert not played.happened or "happens" in told, f"{name} at {level}:\n{played}"
                if any(matches(played, word) for word in told.split(" or ")):
                    break
            else:
                raise AssertionError(f"{name} at {level}: expected {told}; found\n" + "\n\n".join(seen))


def test_what_etcd_allows_between_members(etcd: Any, tmp_path: Path) -> None:
    some = {"write skew", "lost update", "phantom write skew", "long fork"}
    quick = {level: {name: scripts[name] for name in some} for level, scripts in ETCD.items()}
    happens_as_told(etcd, ETCD if effort.full else quick, tmp_path)


@pytest.mark.full
def test_what_galera_allows_between_nodes(tmp_path: Path) -> None:
    for database in opened("galera:?sync=7"):
        happens_as_told(database, GALERA, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("synchronous", ["no", "yes"])
def test_a_replica_is_read_from(synchronous: str, tmp_path: Path) -> None:
    for database in opened(f"postgres-replica:?synchronous={synchronous}"):
        ran = loaded(database, tmp_path / "t", "blindw-rw", "repeatable read", txns=3000, keys=20, ops=4)
        trace = read_trace(tmp_path / "t")
        reads = [
            t
            for t in trace.transactions()
            if (t.ctx or {}).get("node") == "node2" and t.outcome.name == "COMMITTED"
        ]
        assert ran.committed and reads
        replica = database.connect_to(1)
        replica.begin("serializable")
        with pytest.raises(Failed, match="25006"):
            replica.put("a", "1")
        replica.abort()
        replica.close()


@pytest.mark.full
def test_a_replica_that_is_cut_off_shows_what_was_and_catches_up(tmp_path: Path) -> None:
    for database in opened("postgres-replica"):
        cluster: Any = database.server  # type: ignore[attr-defined]
        database.prepare({"x": "0"})

        def seen(node: int, database: Database = database) -> Any:
            connection = database.connect_to(node)
            try:
                connection.begin("repeatable read")
                found = connection.get("x")
                connection.commit()
                return found
            finally:
                connection.close()

        def caught_up(value: str) -> bool:
            end = time.monotonic() + 60
            while seen(1) != value and time.monotonic() < end:
                time.sleep(0.05)
            return bool(seen(1) == value)

        assert seen(1) == "0" and cluster.healthy()
        cluster.cut(1)
        primary = database.connect_to(0)
        primary.begin("repeatable read")
        primary.put("x", "1")
        primary.commit()
        primary.close()
        time.sleep(1)
        assert (seen(0), seen(1)) == ("1", "0")
        cluster.join(1)
        assert caught_up("1")
        cluster.wait_until_whole()

        faults = "at 500ms cut node2 for 1500ms"
        ran = loaded(
            database,
            tmp_path / "t",
            "blindw-rw",
            "repeatable read",
            values=0,
            txns=10**6,
            seconds=4,
            faults=faults,
        )
        assert [what.partition(": ")[2] for what in ran.faults] == ["cut node2", "join node2", "whole again"]
        trace = read_trace(tmp_path / "t")
        assert json.loads(trace.notes)["faults"] == "at 0.5s cut node2 for 1.5s"
        assert check(trace, "si").valid
        assert check(trace, "strong-si").invalid  # what the replica showed was old


SCRIPT = """
import sys
from boomslang.databases.servers import start_server
cluster = start_server(sys.argv[1])
cluster.pause(1)
print(*(f"{node.pid} {node.folder}" for node in cluster.nodes), flush=True)
input()
"""


@pytest.mark.parametrize("kind", ["etcd", pytest.param("galera", marks=pytest.mark.full)])
def test_nothing_is_left_of_a_cluster_whose_starter_is_killed(kind: str) -> None:
    """Also of a node that is stopped at that moment."""
    for database in opened(kind):
        del database
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        words = starter.stdout.readline().split()
        starter.send_signal(signal.SIGKILL)
    pids, folders = words[::2], words[1::2]
    end = time.monotonic() + 30
    left = [*(Path("/proc") / pid for pid in pids), *map(Path, folders)]
    while any(path.exists() for path in left) and time.monotonic() < end:
        time.sleep(0.05)
    assert [path for path in left if path.exists()] == []


@pytest.mark.full
@pytest.mark.parametrize(
    ("kind", "asked"),
    [("postgres-replica", "SELECT extract(epoch FROM now())"), ("galera", "SELECT UNIX_TIMESTAMP()")],
)
def test_a_nodes_clock_is_moved_and_nobody_elses(kind: str, asked: str) -> None:
    try:
        find_library()
    except ServerMissing as problem:
        pytest.skip(str(problem))
    for database in opened(kind):
        cluster: Any = database.server  # type: ignore[attr-defined]
        cluster.give_clocks([1])

        def off(node: int, database: Database = database) -> float:
            connection: Any = database.connect_to(node)
            try:
                return float(connection.run(asked).fetchone()[0]) - time.time()
            finally:
                connection.close()

        assert abs(off(0)) < 30 and abs(off(1)) < 30
        cluster.move_clock(1, -3600.0)
        assert abs(off(0)) < 30 and abs(off(1) + 3600) < 30
        cluster.kill(1)
        cluster.restart(1)
        assert abs(off(1) + 3600) < 30  # its clock is a part of it
        cluster.move_clock(1, 0.0)
        assert abs(off(1)) < 30


def test_a_schedule_with_a_moved_clock() -> None:
    (fault,) = parse_schedule("at 5s clock node2 by -1h for 500ms")
    assert (fault.kind, fault.node, fault.at, fault.lasts, fault.by) == ("clock", 1, 5.0, 0.5, -3600.0)
    assert parse_schedule(str(fault)) == (fault,)
    for wrong in (
        "at 5s clock node2 for 1s",
        "at 5s pause node2 by +1s for 1s",
        "at 5s clock node2 by 1h for 1s",
    ):
        with pytest.raises(UsageError, match="clock node2 by -1h for 5s"):
            parse_schedule(wrong)


@pytest.mark.full
def test_nothing_is_left_of_a_run_that_is_killed_in_the_middle_of_its_faults(tmp_path: Path) -> None:
    for database in opened("etcd"):
        del database
    words = [
        "run",
        "--db",
        "etcd",
        "--workload",
        "blindw",
        "--txns",
        "10000000",
        "--out",
        str(tmp_path / "t"),
    ]
    faults = "at 1s slow node2 for 60s; at 1s cut node3 for 60s; at 2s pause node1 for 60s"
    with subprocess.Popen(
        [sys.executable, "-m", "boomslang", *words, "--faults", faults],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as runner:
        end = time.monotonic() + 90
        while not (tmp_path / "t" / "c1.jsonl").exists() and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(6)  # all three faults are going on
        processes = [Path("/proc") / str(pid) for pid in below(runner.pid)]
        said = b" ".join((process / "cmdline").read_bytes() for process in processes)
        folders = {Path(name.decode()) for name in re.findall(rb"/[^\s\"]*?/boomslang-server-\w+", said)}
        assert len(processes) > 6 and len(folders) >= 3 and runner.poll() is None
        runner.send_signal(signal.SIGKILL)
    left = [*processes, *folders]
    end = time.monotonic() + 60
    while any(path.exists() for path in left) and time.monotonic() < end:
        time.sleep(0.1)
    assert [path for path in left if path.exists()] == []
