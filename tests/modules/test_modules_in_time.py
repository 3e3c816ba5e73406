"""The time limit holds while modules work: ours, and a user's that never comes to an end."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from support.commands import program
from support.histories import get, history, put, txn

from boomslang import Checker, check, module
from boomslang.trace import write_trace

SECONDS = 0.3
PATIENCE = 5.0
"""For a machine on which much else happens: a module that is waited for takes far longer."""


@module
def loops(asg, ir, hints):  # type: ignore[no-untyped-def]
    """Never comes to an end."""
    while True:
        pass


@module
def sleeps(asg, ir, hints):  # type: ignore[no-untyped-def]
    """Is deep in native code, where no exception reaches it."""
    time.sleep(20)


@module
def stubborn(asg, ir, hints):  # type: ignore[no-untyped-def]
    """Takes every exception for a reason to go on, for a while."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            time.sleep(0.01)
        except BaseException:
            continue


def forever(asg: Any, hints: Any) -> Any:
    while True:
        pass


@module(prepare=forever)
def prepares(asg, ir, hints):  # type: ignore[no-untyped-def]
    """Never gets to an ASG."""


def trace() -> Any:
    return history(txn("A", put("x", 1)), txn("B", get("x", 1)))


@pytest.mark.parametrize("which", [loops, sleeps, stubborn, prepares], ids=lambda m: m.name)
def test_a_module_that_does_not_end_leaves_the_answer_unknown(which: Any) -> None:
    start = time.monotonic()
    verdict = check(trace(), "ser", modules=[which], timeout=SECONDS)
    assert time.monotonic() - start < PATIENCE
    assert verdict.status == "unknown"
    assert verdict.reason == f"the time limit was reached before the module {which.name} came to an end"


def test_a_module_that_loops_is_stopped() -> None:
    check(trace(), "ser", modules=[loops], timeout=SECONDS)
    end = time.monotonic() + PATIENCE
    while any(thread.name == "module loops" for thread in threading.enumerate()):
        assert time.monotonic() < end, "it would go on for ever"
        time.sleep(0.01)


def test_what_a_module_says_in_time_counts() -> None:
    @module
    def backwards(asg, ir, hints):  # type: ignore[no-untyped-def]
        """The second comes first."""
        ir.know(1, 0)

    checker = Checker(trace(), modules=[backwards], timeout=60)
    verdict = checker.check("ser")
    assert verdict.invalid and verdict.broken_by == ("backwards",)
    assert not [t for t in threading.enumerate() if t.name == "module backwards"]


def test_an_invalid_answer_outlives_a_module_that_is_too_slow_to_explain_it() -> None:
    """What is refuted stays refuted, whoever is to blame."""
    asked = []

    @module
    def tires(asg, ir, hints):  # type: ignore[no-untyped-def]
        """The second comes first; but it says so only twice."""
        asked.append(asg.transactions)
        while len(asked) > 2:
            pass
        ir.know(1, 0)

    start = time.monotonic()
    verdict = check(trace(), "ser", modules=[tires], timeout=2.0)
    assert time.monotonic() - start < PATIENCE + 2
    assert verdict.invalid and verdict.rests_on == ("tires",)
    assert verdict.counterexample is not None and not verdict.counterexample.minimal


def test_no_module_is_left_out_of_a_proof_because_time_ran_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the trace is valid without it is open, so the answer rests on it."""
    from boomslang.solve.solution import Solution

    @module
    def backwards(asg, ir, hints):  # type: ignore[no-untyped-def]
        """The second comes first."""
        ir.know(1, 0)

    right = Checker.solve

    def slow(self: Checker, ir: Any, limits: Any, stats: Any = None) -> Solution:
        return right(self, ir, limits, stats) if ir.told else Solution("unknown", reason="time")

    monkeypatch.setattr(Checker, "solve", slow)
    verdict = check(trace(), "ser", modules=[backwards], timeout=60)
    assert verdict.invalid and verdict.broken_by == () and verdict.rests_on == ("backwards",)
    assert verdict.perhaps_by == ("backwards",) and verdict.title == "serializable with backwards"
    assert verdict.reason == "perhaps valid without backwards, which takes long to find out"


def test_a_looping_module_on_the_command_line(tmp_path: Path) -> None:
    write_trace(trace(), tmp_path / "trace.jsonl")
    (tmp_path / "loops.py").write_text(
        "import boomslang\n@boomslang.module\ndef loops(asg, ir, hints):\n    '''Loops.'''\n    while True: pass\n"
    )
    start = time.monotonic()
    words = ("--module", tmp_path / "loops.py", "--timeout", "1")
    ran = program("check", tmp_path / "trace.jsonl", "--level", "ser", *words)
    assert time.monotonic() - start < 2 * PATIENCE
    assert ran.code == 2 and ran.err == ""
    assert "unknown  the time limit was reached before the module loops came to an end" in ran.out
