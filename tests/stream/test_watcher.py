"""A watch beside a recorder: the verdicts of `check`, as early as can be, whatever happens to clients and files."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from support.growing import Store
from support.watching import watch

import boomslang
from boomslang.levels import find_level
from boomslang.stream.watcher import RESTARTS, CannotWatch, Watcher
from boomslang.trace.errors import TraceError

LEVELS = ("ser", "si", "prefix", "sser", "strong-si", "strong-session-si")


def checked(folder: Path, level: str) -> str:
    return boomslang.check(boomslang.read_trace(folder), level).status


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("careless", [False, True])
def test_the_verdict_is_that_of_the_finished_trace(tmp_path: Path, level: str, careless: bool) -> None:
    folder = tmp_path / "t"
    with watch(folder, level) as watching:
        for seed in range(1):
            store = Store(folder, clients=5, keys=8, seed=seed, careless=careless)
            for _ in range(30):
                store.run(40)
                time.sleep(0.01)
                if not watching.thread.is_alive():
                    break
            store.settle()
        found = watching.end()
    assert found.status == checked(folder, level)
    if found.status == "invalid":
        assert found.verdict is not None and found.verdict.counterexample is not None
    else:
        assert found.last.transactions == found.last.committed and found.last.unread == 0


def test_a_violation_is_found_while_the_recorder_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    store = Store(folder, clients=4)
    with watch(folder, "si") as watching:
        store.run(2000)
        watching.until(300)
        store.lose_an_update()
        windows = watching.watcher.status.windows
        for _ in range(300):
            store.run(20)
            time.sleep(0.01)
            if not watching.thread.is_alive():
                break
        found = watching.over()
    assert found.status == "invalid" and found.reason == "lost update"
    assert found.last.windows <= windows + 2
    assert found.verdict is not None
    assert any("Judged is what was recorded up to then" in note for note in found.verdict.notes)


def test_files_are_not_read_at_one_moment_and_nobody_is_accused_of_that(tmp_path: Path) -> None:
    """While the window that has no order is looked into, the files go on."""
    folder = tmp_path / "t"
    store = Store(folder, clients=6, keys=3)
    with watch(folder, "ser") as watching:  # a snapshot isolation store, so that refutations are asked for
        stop = time.monotonic() + 1.5
        while time.monotonic() < stop and watching.thread.is_alive():
            store.run(50)
        store.settle()
        found = watching.end()
    assert found.status == checked(folder, "ser") == "invalid"
    assert found.reason != "read from nowhere"


def test_a_client_that_died_is_not_waited_for_forever(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    store = Store(folder, clients=4)
    with watch(folder, "si", idle=0.3) as watching:
        store.run(400)
        dead = store.clients.pop()
        if dead.seen is None:
            dead.step()
        dead.left = 1
        dead.put("k1")  # in the middle of a transaction, which others never see
        dead.session.close()
        end, before = time.monotonic() + 15, store.commits
        while watching.watcher.status.transactions < before + 50:
            assert time.monotonic() < end, watching.watcher.status
            store.run(60)
            time.sleep(0.01)
        assert watching.watcher.status.idle == ("c4",)
        store.settle()
        found = watching.end()
    assert found.status == "valid" and found.last.restarts == 0


@pytest.mark.parametrize("level", ["si", "sser"])
def test_a_client_that_slept_goes_on_in_the_middle_of_its_transaction(tmp_path: Path, level: str) -> None:
    folder = tmp_path / "t"
    store = Store(folder, clients=4, careless=True, keys=1000)
    with watch(folder, level, idle=0.2) as watching:
        store.run(200)
        store.settle()
        sleeper = store.clients[-1]
        sleeper.step()
        sleeper.put("its own")
        end, before = time.monotonic() + 15, store.commits
        while watching.watcher.status.transactions < before + 50:
            assert time.monotonic() < end
            store.run(60, store.clients[:-1])
            time.sleep(0.01)
        assert watching.watcher.status.idle == ("c4",)
        sleeper.get("its own")
        sleeper.commit()
        for _ in range(20):
            store.run(20)
            time.sleep(0.01)
        store.settle()
        found = watching.end()
    assert found.status == checked(folder, level)
    assert found.last.committed == store.commits


def test_somebody_read_from_a_client_that_slept(tmp_path: Path) -> None:
    """Its commit took effect, and its line comes late: everything is read again, with more patience."""
    folder = tmp_path / "t"
    store = Store(folder, clients=3, keys=5)
    with watch(folder, "si", idle=0.2) as watching:
        store.run(300)
        store.settle()
        sleeper = store.clients[-1]
        sleeper.step()
        sleeper.put("k1")
        sleeper.session.log_input("commit")
        store.commits += 1
        store.state.update(sleeper.writes)
        store.written["k1"] = before = store.commits
        reader = store.clients[0]
        reader.step()
        reader.get("k1")
        reader.commit()
        end = time.monotonic() + 15
        while watching.watcher.status.transactions < before + 50:
            assert time.monotonic() < end
            store.run(60, store.clients[:-1])
            time.sleep(0.01)
        sleeper.session.log_output()
        sleeper.seen = None
        for _ in range(20):
            store.run(20)
            time.sleep(0.01)
        store.settle()
        found = watching.end()
    assert found.status == "valid" and 1 <= found.last.restarts <= RESTARTS
    assert found.last.committed == store.commits


def test_sessions_that_come_later(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    store = Store(folder, clients=2)
    with watch(folder, "sser", idle=0.5) as watching:
        store.careless = True
        for n in range(6):
            store.settle()
            for _ in range(5):
                a = store.clients[n % len(store.clients)]
                a.step()
                while a.seen is not None:
                    a.step()
            store.clients.append(type(a)(store, store.tracer.session(f"late{n}")))
            time.sleep(0.02)
        found = watching.end()
    assert found.status == checked(folder, "sser") == "valid"
    assert found.last.sessions == 2 + 6 + 1


@pytest.mark.parametrize("what", ["truncated", "gone"])
def test_what_happens_to_a_file_is_told(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "t"
    store = Store(folder, clients=2)
    with watch(folder, "si") as watching:
        store.run(500)
        store.settle()
        watching.until(store.commits)
        if what == "gone":
            (folder / "c1.jsonl").unlink()
        else:
            os.truncate(folder / "c1.jsonl", 100)
        with pytest.raises(TraceError, match=r"c1\.jsonl: found"):
            watching.over()


def test_nothing_recorded_says_nothing(tmp_path: Path) -> None:
    with watch(tmp_path / "t", "ser") as watching:
        found = watching.end()
    assert found.status == "unknown" and "no transaction is known to have committed" in found.reason


def test_one_log(tmp_path: Path) -> None:
    """Sessions in one file, without times; a strict level says what is missing."""
    log = tmp_path / "log.jsonl"
    log.write_text("")

    def line(n: int, text: str) -> str:
        return f'{{"session":"s{n % 3}",{text}}}\n'

    with watch(log, "ser") as watching, log.open("a") as file:
        for n in range(300):
            before = f'"value":{n - 1}' if n else '"absent":true'
            file.write(line(n, f'"op":"begin","txn":{n}') + line(n, f'"op":"get","key":"x",{before}'))
            file.flush()
            file.write(line(n, f'"op":"put","key":"x","value":{n}') + line(n, '"op":"commit"'))
            file.flush()
        found = watching.end()
    assert found.status == "valid" and found.last.transactions == 300
    with watch(log, "sser") as watching:
        found = watching.end()
    assert found.status == "unknown" and found.reason.startswith("no times in the trace")


def test_lists_cannot_be_watched(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    lines = ("begin", 'append","key":"x","value":"1', "commit")
    log.write_text("".join(f'{{"session":"s","op":"{line}"}}\n' for line in lines))
    with watch(log, "ser") as watching, pytest.raises(CannotWatch, match="it has lists"):
        watching.end()


def test_levels_that_no_order_decides(tmp_path: Path) -> None:
    with pytest.raises(CannotWatch, match="found the level read committed; expected one that an order"):
        Watcher(tmp_path, find_level("rc"))
