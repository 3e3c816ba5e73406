"""Windows that take long: they are asked otherwise, and in the end told as unknown; and what makes them easy."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from support.growing import Store
from support.watching import watch

import boomslang
from boomslang.ir.model import IR
from boomslang.levels import find_level
from boomslang.solve.solution import Limits, Solution
from boomslang.stream import forward as forward_module
from boomslang.stream import patience as patience_module
from boomslang.stream.check import check_as_it_goes_by
from boomslang.stream.follow import GrowingFiles
from boomslang.stream.forward import Forward
from boomslang.stream.patience import Patience
from boomslang.stream.window import Question
from boomslang.trace.errors import LimitReached
from boomslang.trace.model import Outcome

LATE_S = 0.2
"""Seconds that a watch has for a window which nobody can decide."""


def test_nobody_who_says_that_it_was_aborted_is_taken_to_have_committed(tmp_path: Path) -> None:
    """A session that says nothing (its client was killed) holds up what is decided. Those that were aborted meanwhile
    would have broken the level: a window that takes them to have committed is hard, and has no order."""
    folder = tmp_path / "t"
    store = Store(folder, clients=6, keys=4, seed=3)
    store.run(60)
    quiet = store.clients.pop()
    store.run(4000)
    level = find_level("si")
    late = wrong = 0

    class Looking(Forward):
        def _solved(self, asked: Question, patience: Patience, *, hopeful: bool = False) -> Solution:
            nonlocal late, wrong
            aborted = asked.block.trace.txn_outcome == Outcome.ABORTED
            late += int((aborted & asked.undecided).sum())
            wrong += int((aborted & (asked.asg.outcome != Outcome.ABORTED)).sum())
            return super()._solved(asked, patience, hopeful=hopeful)

    files = GrowingFiles(folder, idle=60.0)
    forward = Looking(files, level, size=30_000, tail=20)
    for _ in range(4):
        assert forward.step() is None
    store.clients.append(quiet)
    store.settle()
    files.end()
    assert forward.run() is None
    assert late > 20 and wrong == 0
    assert forward.counted.joins == 0
    assert forward.counted.committed == sum(boomslang.read_trace(folder).txn_outcome == Outcome.COMMITTED)


def test_hope_gets_less_time_than_what_is_asked_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That everything under way has committed is a guess. Balances that repeat can make it hard to find that it is
    wrong, where what is certain is decided at once: ten seconds of each window were waited for nothing."""
    solve, asked = forward_module.solve, list[tuple[bool, float]]()

    class Looking(Forward):
        def _solved(self, asked_: Question, patience: Patience, *, hopeful: bool = False) -> Solution:
            def hard_to_hope_for(ir: IR, limits: Limits) -> Solution:
                assert limits.seconds is not None
                asked.append((hopeful, limits.seconds))
                return Solution("unknown", "time") if hopeful else solve(ir, limits)

            monkeypatch.setattr(forward_module, "solve", hard_to_hope_for)
            return super()._solved(asked_, patience, hopeful=hopeful)

    store = Store(tmp_path / "t", clients=4, keys=10, seed=5)
    store.run(2000)
    files = GrowingFiles(tmp_path / "t", idle=60.0)
    forward = Looking(files, find_level("si"), size=20_000, tail=20)
    for _ in range(4):
        assert forward.step() is None
    store.settle()
    files.end()
    assert forward.run() is None
    assert forward.counted.ran_out == 0
    assert all(seconds < patience_module.SECONDS / 4 for hopeful, seconds in asked if hopeful)
    assert sum(hopeful for hopeful, _ in asked) >= 3
    assert all(seconds == patience_module.SECONDS for hopeful, seconds in asked if not hopeful)


def _lazy(monkeypatch: pytest.MonkeyPatch, often: int) -> list[tuple[int, float]]:
    """The engine finds nothing so often; what it was asked."""
    solve, asked = forward_module.solve, list[tuple[int, float]]()

    def lazy(ir: IR, limits: Limits) -> Solution:
        assert limits.seconds is not None
        asked.append((ir.asg.transactions, limits.seconds))
        if len(asked) <= often:
            time.sleep(min(0.05, limits.seconds))
            return Solution("unknown", "time")
        return solve(ir, limits)

    monkeypatch.setattr(forward_module, "solve", lazy)
    return asked


def _recorded(folder: Path) -> Path:
    store = Store(folder, clients=4, keys=30, seed=1)
    store.run(3000)
    store.settle()
    return folder


def test_a_window_that_takes_long_is_asked_again_with_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _recorded(tmp_path / "t")
    asked = _lazy(monkeypatch, 3)
    files = GrowingFiles(folder)
    files.end()
    files.smallest = 1000
    forward = Forward(files, find_level("si"), size=4_000, tail=20)
    assert forward.run() is None and forward.done
    assert forward.counted.ran_out >= 1
    sizes, seconds = zip(*asked[:4], strict=True)
    assert sizes[3] > sizes[0] and seconds[3] >= 2 * seconds[0]


def test_where_more_lines_do_not_help_a_window_is_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Searches that take twice as long each, with more and more lines up to the end of all files, took ten minutes
    where the window before would have told it at once."""
    folder = _recorded(tmp_path / "t")
    solve, found = forward_module.solve, list[str]()
    files = GrowingFiles(folder)
    files.end()
    files.smallest = 1000
    forward = Forward(files, find_level("si"), size=4_000, tail=20)

    def hard(ir: IR, limits: Limits) -> Solution:
        joined = forward.counted.joins > 0 or len(found) < 5
        found.append("solved" if joined else "ran out")
        return solve(ir, limits) if joined else Solution("unknown", "time")

    monkeypatch.setattr(forward_module, "solve", hard)
    assert forward.run() is None and forward.done
    assert forward.counted.joins == 1 and len(found) > 20
    assert forward.counted.ran_out == 2 and found.count("ran out") == 4  # with hope, and without


def test_a_limit_of_time_holds_for_windows_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _recorded(tmp_path / "t")
    _lazy(monkeypatch, 10**9)
    start = time.monotonic()
    found = check_as_it_goes_by(folder, find_level("si"), seconds=0.5)
    assert (found.status, found.reason) == ("unknown", "the time limit was reached")
    assert time.monotonic() - start < 10


def test_a_watch_ends_when_a_window_cannot_be_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _recorded(tmp_path / "t")
    monkeypatch.setattr(patience_module, "TELLING", 0.0)
    _lazy(monkeypatch, 10**9)
    phases = set()
    with watch(folder, "si", search=LATE_S) as watching:
        while watching.thread.is_alive():
            phases.add(watching.watcher.status.phase.split(" transactions")[0].rstrip("0123456789,. "))
            time.sleep(0.005)
        found = watching.over()
    assert found.status == "unknown" and "was searched" in found.reason and "neither" in found.reason
    assert "searching a window of" in phases


def test_other_limits_are_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def full(ir: IR, limits: Limits) -> Solution:
        asked.append(ir.asg.transactions)
        return Solution("unknown", "memory")

    monkeypatch.setattr(forward_module, "solve", full)
    files = GrowingFiles(_recorded(tmp_path / "t"))
    files.end()
    with pytest.raises(LimitReached, match="memory"):
        Forward(files, find_level("si"), size=4_000, tail=20).run()
    assert len(asked) == 1


def test_each_search_gets_twice_the_time_as_long_as_there_is_some() -> None:
    patience = Patience(1.0)
    patience.search(10, Limits())
    with pytest.raises(LimitReached, match="time"):
        patience.ran_out(Limits(seconds=1e-3))
    patience.ran_out(Limits(seconds=5.0))
    assert patience.search(10, Limits(seconds=5.0)).seconds == 2.0
