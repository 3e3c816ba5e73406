"""`--keep`: what is checked and old is deleted, and nothing is said that the whole trace would not bear out."""

from __future__ import annotations

import os
import random
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.effort import examples
from support.growing import Store
from support.watching import Watching, watch

import boomslang
from boomslang.checker import Checker
from boomslang.stream.follow import GrowingFile
from boomslang.stream.keep import Forgotten
from boomslang.trace.errors import TraceError
from boomslang.trace.files import DELETED
from boomslang.trace.model import Kind

KEEP, ROTATE = 0.3, 0.1
SHORT: dict[str, Any] = {"tail": 10, "kept": 2}
"""So that little is asked again, and much may be deleted."""


def run_on(store: Store, watching: Watching, seconds: float, *, deleted: int = 0, steps: int = 40) -> None:
    """Goes on for a while, and until so many bytes are deleted."""
    end = time.monotonic() + seconds
    while (
        time.monotonic() < end or watching.watcher.status.deleted < deleted
    ) and watching.thread.is_alive():
        assert time.monotonic() < end + 20, watching.watcher.status
        store.run(steps)
        time.sleep(0.01)


def one_by_one(store: Store, transactions: int) -> None:
    """So that they are serializable."""
    for _ in range(transactions):
        some = store.random.choice(store.clients)
        some.step()
        while some.seen is not None:
            some.step()


def on_disk(folder: Path) -> int:
    with os.scandir(folder) as files:
        found = 0
        for file in files:
            with suppress(FileNotFoundError):  # it was just deleted
                found += file.stat().st_size
        return found


def test_a_session_goes_on_in_another_file(tmp_path: Path) -> None:
    """The trace is the same: the sessions, their order, and every verdict."""
    folder = tmp_path / "t"
    store = Store(folder, clients=3, rotate=0.01)
    for _ in range(20):
        store.run(30)
        time.sleep(0.005)
    store.settle()
    names = {file.name for file in folder.iterdir()}
    assert {"c1.jsonl", "c1~2.jsonl", "c1~3.jsonl"} <= names and not any(
        name.endswith(".new") for name in names
    )
    trace = boomslang.read_trace(folder)
    assert [trace.sessions[i] for i in range(len(trace.sessions))] == ["c1", "c2", "c3"]
    for t in range(3):
        begins = trace.txn_begin[trace.txn_session == t]
        assert bool((np.diff(begins) > 0).all())
    assert boomslang.check(trace, "strong-session-si").valid and boomslang.check(trace, "strong-si").valid
    with watch(folder, "strong-session-si") as watching:
        found = watching.end()
    assert found.status == "valid" and found.last.committed == store.commits


def test_the_disk_stays_bounded(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    store = Store(folder, clients=3, rotate=ROTATE)
    most = []
    with watch(folder, "si", keep=KEEP, **SHORT) as watching:
        run_on(store, watching, 1.0, steps=400)
        for _ in range(4):
            run_on(store, watching, 0.5, steps=400)
            most.append(on_disk(folder))
        store.settle()
        found = watching.end()
    assert found.status == "valid" and found.last.committed == store.commits
    assert found.last.deleted > max(most) > 0, (found.last, most)
    assert max(most[2:]) < 2 * max(most[:2]), most
    assert found.last.restarts == 0
    with pytest.raises(TraceError, match=r"a part of this trace was deleted when it was checked"):
        boomslang.read_trace(folder)


def test_nothing_is_deleted_unless_it_is_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    store = Store(folder, clients=2, rotate=0.02)
    with watch(folder, "si") as watching:
        run_on(store, watching, 0.5)
        store.settle()
        found = watching.end()
    assert found.status == "valid" and found.last.deleted == 0 and not (folder / DELETED).exists()
    assert boomslang.check(boomslang.read_trace(folder), "si").valid


def test_a_file_that_its_recorder_has_not_left_is_never_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    store = Store(folder, clients=2)  # without rotation
    sleeper = store.tracer.session("sleeper")
    with watch(folder, "si", keep=0.05, idle=0.05, **SHORT) as watching:
        run_on(store, watching, 0.6)
        sleeper.log_input("begin")
        sleeper.log_output()
        sleeper.log_input("commit")
        sleeper.log_output()
        store.settle()
        found = watching.end()
    assert found.status == "valid" and found.last.deleted == 0
    assert found.last.committed == store.commits + 1


def test_a_violation_after_most_was_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    store = Store(folder, clients=3, keys=5, rotate=ROTATE)
    with watch(folder, "si", keep=KEEP, **SHORT) as watching:
        run_on(store, watching, 0.8, deleted=1)
        store.settle()
        writer = store.clients[0]
        writer.step()
        writer.put("k0")
        writer.left = 0
        writer.commit()
        store.lose_an_update()
        run_on(store, watching, 5.0)
        found = watching.over()
    assert found.status == "invalid" and found.reason == "lost update" and found.last.deleted > 0
    assert found.verdict is not None and found.verdict.counterexample is not None
    assert any("k0" in line for line in found.verdict.counterexample.lines())


def test_what_only_the_deleted_part_could_decide_is_unknown(tmp_path: Path) -> None:
    """Somebody reads what was overwritten long ago. The whole trace allows it, at this level."""
    folder = tmp_path / "t"
    store = Store(folder, clients=3, rotate=ROTATE)
    with watch(folder, "ser", keep=KEEP, **SHORT) as watching:
        client = store.clients[0]
        for _ in range(2):
            client.step()
            client.put("old")
            client.left = 0
            client.commit()
        for _ in range(300):
            time.sleep(0.005)
            one_by_one(store, 1)
        assert watching.watcher.status.deleted > 0
        reader = store.tracer.session("reader")
        reader.log_input("begin")
        reader.log_output()
        reader.log_input("get", ("old",))
        reader.log_output(1)
        reader.log_input("commit")
        reader.log_output()
        for _ in range(200):
            one_by_one(store, 1)
            time.sleep(0.005)
            if not watching.thread.is_alive():
                break
        found = watching.end()
    assert found.status == "unknown", found
    assert "reader.jsonl:2 found 1 in 'old', which nobody left there" in found.reason
    assert "what could tell was deleted (--keep)" in found.reason


@pytest.mark.parametrize("values", [0, 4])
@pytest.mark.parametrize("level", ["si", "ser", "sser", "strong-si"])
def test_nothing_is_said_that_the_whole_would_not_say(
    tmp_path: Path, level: str, values: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is deleted is put aside, and all of it is checked in the end."""
    aside = tmp_path / "aside"
    monkeypatch.setattr(GrowingFile, "delete", lambda file: _put_aside(file, aside))
    seen = set()
    for seed in range(examples(10)):
        folder = tmp_path / f"t{seed}"
        aside = tmp_path / f"aside{seed}"
        aside.mkdir()
        draw = random.Random(seed)
        careless = bool(seed % 2)
        store = Store(folder, clients=3, keys=6, seed=seed, values=values, rotate=0.01)
        with watch(folder, level, keep=0.04, **SHORT) as watching:
            for round in range(60):
                if not watching.thread.is_alive():
                    break
                if round < 35:
                    one_by_one(store, 3)
                else:
                    store.careless = careless and round > 45
                    store.run(draw.randint(5, 30))
                time.sleep(0.005)
            store.settle()
            found = watching.end()
        (folder / DELETED).unlink(missing_ok=True)
        for file in aside.iterdir():
            file.rename(folder / file.name)
        whole = boomslang.check(boomslang.read_trace(folder), level)
        assert found.status in (whole.status, "unknown"), (seed, found.reason, whole.status)
        seen.add((found.status, found.last.deleted > 0))
    assert any(deleted for _, deleted in seen), seen


def _put_aside(file: GrowingFile, folder: Path) -> int:
    file.path.rename(folder / file.path.name)
    file.deleted = True
    return file.size


def test_what_was_written_is_never_denied() -> None:
    """A doubt is allowed, a wrong "never written" is not."""
    draw = random.Random(5)

    def some_trace(first: int) -> boomslang.Trace:
        history = boomslang.TraceBuilder(initial={})
        for n in range(200):
            with history.transaction(session=f"s{n % 3}") as t:
                t.put(draw.choice(["a", "b", 1, 1.0, b"x"]), first + n)
                if n % 7 == 0:
                    t.delete("gone")
        return history.build()

    forgotten = Forgotten()
    old, new = some_trace(0), some_trace(1000)
    forgotten.add(old)
    for trace, written in ((old, True), (new, False)):
        reading = boomslang.TraceBuilder(initial={})
        rows = np.flatnonzero(trace.op_kind == Kind.PUT)
        puts = [(trace.keys[int(trace.op_key[row])], trace.values[int(trace.op_value[row])]) for row in rows]
        for key, value in puts:
            with reading.transaction(session="r") as t:
                t.get(key, value)
        asg = Checker(reading.build()).asg
        assert forgotten.perhaps_wrote(asg).tolist() == [written] * len(puts)
