"""Workers in processes of this machine: results as they come, what is lost is tried again, and nothing stays behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.work import doubled, dying, failing, sleeping

from boomslang.workers import TRIES, Lost
from boomslang.workers.processes import Processes


def workers(count: int = 2) -> Processes:
    return Processes(count, preload="support.work")


def test_each_item_has_its_result() -> None:
    with workers(3) as some:
        assert dict(some.map(doubled, range(7))) == {n: 2 * n for n in range(7)}


def test_nothing_is_done_of_nothing() -> None:
    with workers() as some:
        assert list(some.map(doubled, [])) == []


def test_items_are_taken_as_there_is_room() -> None:
    taken = []

    def items() -> Iterator[int]:
        for n in range(6):
            taken.append(n)
            yield n

    with workers(2) as some:
        results = some.map(doubled, items())
        next(results)
        assert len(taken) <= 3
        assert len(list(results)) == 5


def test_what_was_lost_is_tried_again(tmp_path: Path) -> None:
    """The first worker of each item kills itself, as the system would."""
    with workers() as some:
        found = dict(some.map(dying, [(str(tmp_path / str(n)), 1) for n in range(3)]))
    assert found == {0: 2, 1: 2, 2: 2}  # the second one came to an end


def test_what_is_lost_again_and_again_is_given_up_and_takes_nothing_else_with_it(tmp_path: Path) -> None:
    with workers() as some:
        found = dict(some.map(dying, [(str(tmp_path / "bad"), TRIES), (str(tmp_path / "good"), 0)]))
    assert found[1] == 1
    assert (
        isinstance(found[0], Lost) and "3 processes died over it, the last one by SIGKILL" in found[0].reason
    )
    assert (tmp_path / "bad").read_text() == "x" * TRIES


def test_an_exception_is_the_function_s_own() -> None:
    with workers() as some, pytest.raises(ZeroDivisionError):
        list(some.map(failing, [1]))


def test_nothing_stays_behind(tmp_path: Path) -> None:
    with workers() as some:
        results = some.map(sleeping, [(str(tmp_path / "pid"), 60.0), (str(tmp_path / "quick"), 0.0)])
        assert next(results)[0] == 1
        while not (tmp_path / "pid").exists():
            time.sleep(0.01)
    assert gone(int((tmp_path / "pid").read_text()))


def gone(pid: int, seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    return False
