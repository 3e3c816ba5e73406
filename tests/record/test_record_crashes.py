"""Clients that are killed, starve on a full disk, or all work at once: the trace stays readable and true.

The database is a real one (SQLite, strictly serializable here) and so are the processes. What one client did not live
to record, the others have seen; a trace that has lost a write, or calls it aborted, would be found invalid.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import recording_clients
from support.recording_clients import Store, work

from boomslang import check
from boomslang.record import Recorded, Tracer
from boomslang.trace import Outcome, Trace, read_trace

CLIENTS = Path(recording_clients.__file__)


def start(*words: object) -> subprocess.Popen[str]:
    path = [str(Path(p).resolve()) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    return subprocess.Popen(
        [sys.executable, str(CLIENTS), *map(str, words)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
    )


def finish(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate(timeout=60)
    return out


def look(folder: Path, database: Path) -> None:
    """Another client, which lives: what is there now goes into the trace."""
    c = Recorded(Store(str(database)), Tracer.join(folder).session("witness"))
    c.begin("serializable")
    c.scan(None, None)
    c.commit()
    c.close()


def valid(folder: Path, *, torn: bool = False) -> Trace:
    trace = read_trace(folder)
    for warning in trace.warnings:
        assert torn and "torn" in warning, warning
    verdict = check(trace, level="strict serializable")
    assert verdict.valid, verdict.counterexample
    return trace


def outcome(trace: Trace, session: str) -> list[Outcome]:
    return [
        Outcome(o)
        for o, s in zip(trace.txn_outcome.tolist(), trace.txn_session.tolist(), strict=True)
        if trace.sessions[s] == session
    ]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A trace's folder and a database."""
    folder = tmp_path / "trace"
    Tracer(folder)
    yield folder, tmp_path / "db"


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_while_it_commits(place: tuple[Path, Path], when: str) -> None:
    folder, database = place
    process = start("killed", folder, database, when, "commit")
    finish(process)
    assert process.returncode == -signal.SIGKILL
    look(folder, database)
    trace = valid(folder)
    assert outcome(trace, "killed") == [Outcome.UNKNOWN]
    assert len(trace.item_key) == (when == "after")  # the write is there only if the commit was


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_while_it_writes_outside_of_a_transaction(place: tuple[Path, Path], when: str) -> None:
    folder, database = place
    process = start("killed", folder, database, when, "put")
    finish(process)
    assert process.returncode == -signal.SIGKILL
    look(folder, database)
    trace = valid(folder)
    assert sorted(trace.txn_outcome.tolist()) == [Outcome.COMMITTED, Outcome.UNKNOWN]
    assert len(trace.item_key) == (when == "after")


def kill_clients(folder: Path, database: Path, rounds: int) -> Trace:
    rng = random.Random(rounds)
    for n in range(rounds):
        processes = [start("client", folder, database, f"c{n}-{m}", 10**6) for m in range(2)]
        for process in processes:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0.05, 0.3))
        for process in processes:
            process.kill()
        for process in processes:
            finish(process)
    look(folder, database)
    trace = valid(folder, torn=True)
    assert (trace.txn_outcome == Outcome.COMMITTED).sum() > 10 * rounds
    return trace


def test_killed_at_any_moment(place: tuple[Path, Path]) -> None:
    kill_clients(*place, rounds=2)


@pytest.mark.full
def test_killed_at_many_moments(place: tuple[Path, Path]) -> None:
    trace = kill_clients(*place, rounds=25)
    assert (trace.txn_outcome == Outcome.UNKNOWN).sum() > 5


@pytest.mark.parametrize("op", ["begin", "put", "commit"])
def test_no_more_room_in_a_file(place: tuple[Path, Path], op: str) -> None:
    """What found no room is taken back. The write of a commit that is not on file is there, and others may see it."""
    folder, database = place
    Store(str(database)).close()  # made before there is a limit for it
    out = finish(start("starved", folder, database, op))
    assert "cannot record any further" in out and out.count("refused") == 3
    limit = int(out.split()[1])
    assert (folder / "starved.jsonl").stat().st_size == limit - 10 > 12000
    *before, end = outcome(valid(folder), "starved")  # valid: and no line is torn
    assert set(before) == {Outcome.COMMITTED, Outcome.ABORTED}
    assert end == Outcome.UNKNOWN if op != "begin" else end in before
    look(folder, database)
    valid(folder)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KB, nearly."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk(small_disk: Path, tmp_path: Path) -> None:
    folder, database = small_disk / "trace", tmp_path / "db"
    Tracer(folder)
    filler = small_disk / "filler"
    filler.write_bytes(bytes(20_000))
    out = finish(start("starved", folder, database))
    assert "No space left" in out and out.count("refused") == 3
    assert (folder / "starved.jsonl").read_bytes().endswith(b"}\n")
    filler.unlink()
    look(folder, database)
    trace = valid(folder)
    assert outcome(trace, "starved")[-1] == Outcome.UNKNOWN
    assert outcome(trace, "starved").count(Outcome.COMMITTED) > 20


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_in_parallel(place: tuple[Path, Path], method: str) -> None:
    folder, database = place
    process = start("parallel", folder, database, method)
    finish(process)
    assert process.returncode == 0
    look(folder, database)
    trace = valid(folder)
    assert len(trace) == 181 and not (trace.txn_outcome == Outcome.UNKNOWN).any()
    assert len(trace.sessions) == 4


def test_threads_in_parallel(place: tuple[Path, Path]) -> None:
    folder, database = place
    tracer = Tracer.join(folder)

    def run(n: int) -> None:
        work(Recorded(Store(str(database)), tracer.current()), f"t{n}", random.Random(n), 60)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    trace = valid(folder)
    assert len(trace) == 240 and len(trace.sessions) == 4


def test_no_operation_is_lost_at_full_speed(tmp_path: Path) -> None:
    """Eight threads, each as fast as it can: every operation is there, in its order."""
    tracer = Tracer(tmp_path / "trace")
    transactions, operations = 100, 25

    def run(n: int) -> None:
        with tracer.session(f"t{n}") as session:
            for t in range(transactions):
                session.log_input("begin")
                session.log_output()
                for o in range(operations):
                    session.log_input("put", (f"k{n}", t * operations + o))
                    session.log_output()
                session.log_input("commit")
                session.log_output()

    threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    trace = read_trace(tmp_path / "trace")
    assert not trace.warnings and len(trace) == 8 * transactions
    assert (trace.txn_outcome == Outcome.COMMITTED).all()
    for n in range(8):
        rows = trace.op_key == list(trace.keys).index(f"k{n}")
        assert [trace.values[v] for v in trace.op_value[rows]] == list(range(transactions * operations))


# --- asyncio: a store that lets other tasks run in the middle of everything


def yielding_store(tracer: Tracer) -> tuple[dict[str, int], Any, Any]:
    """A dict whose recorded get and put let other tasks run: the dict, and the two functions."""
    held: dict[str, int] = {}

    @tracer.traced("get")
    async def get(key: str) -> int | None:
        await asyncio.sleep(0)
        return held.get(key)

    @tracer.traced("put")
    async def put(key: str, value: int) -> None:
        await asyncio.sleep(0)
        held[key] = value

    return held, get, put


def test_tasks_in_parallel(tmp_path: Path) -> None:
    tracer = Tracer(tmp_path / "trace")
    held, get, put = yielding_store(tracer)
    lock = asyncio.Lock()

    async def client(n: int) -> None:
        for m in range(20):
            async with tracer.transaction(), lock:
                seen = await get("x")
                await put("x", (seen or 0) + 1)
            await put(f"own{n}", m)
            assert await get(f"own{n}") == m

    async def main() -> None:
        async with tracer.transaction():  # whose children are no part of it
            pass
        await asyncio.gather(*(client(n) for n in range(10)))

    asyncio.run(main())
    assert held["x"] == 200
    trace = read_trace(tmp_path / "trace")
    assert not trace.warnings and len(trace) == 1 + 10 * 20 * 3 and len(trace.sessions) == 11
    assert (trace.txn_outcome == Outcome.COMMITTED).all() and check(trace, level="sser").valid


def test_a_lost_update_of_tasks_is_found(tmp_path: Path) -> None:
    """The same without the lock: the recorder has to show what went wrong."""
    tracer = Tracer(tmp_path / "trace")
    _, get, put = yielding_store(tracer)

    async def client(n: int) -> None:
        async with tracer.transaction():
            await put("x", ((await get("x")) or 0) * 10 + n)

    async def main() -> None:
        await asyncio.gather(client(1), client(2))

    asyncio.run(main())
    trace = read_trace(tmp_path / "trace")
    assert check(trace, level="ser").status == "invalid" and check(trace, level="rc").valid
