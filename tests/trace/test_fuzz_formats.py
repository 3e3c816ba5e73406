"""Some damaged files of each format; `make fuzz` takes a minute each (fuzz/damaged_files.py)."""

from __future__ import annotations

import random
import signal
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fuzz import damaged_files
from fuzz.damaged_files import (
    HAND_MADE,
    LEAST,
    NAMES,
    TOKENS,
    Input,
    Wrong,
    damaged_input,
    examine,
    fuzz,
    good_file,
    put_down,
)

from boomslang.trace import Trace, TraceBuilder, TraceError
from boomslang.trace.formats import FORMATS, Format, find
from boomslang.trace.rules import check_rules
from boomslang.trace.scalars import Scalars


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("seconds", "least"), [(0.1, 60), pytest.param(5, LEAST, marks=pytest.mark.full)])
def test_damaged_files_are_read_right_or_refused(
    name: str, seconds: float, least: int, tmp_path: Path
) -> None:
    run = fuzz(find(name), seconds, 20_000, tmp_path, most=1, least=least)
    assert not run.failures, run.failures[0]
    assert run.traces and run.refused


@pytest.mark.parametrize("name", NAMES)
def test_good_files_are_good(name: str, tmp_path: Path) -> None:
    made: list[Input] = [m if isinstance(m, dict) else {"history": m} for m in HAND_MADE.get(name, [])]
    made += [good_file(find(name), random.Random(seed), tmp_path) for seed in range(5)]
    for number, input in enumerate(made):
        put_down(input, path := tmp_path / f"good-{number}")
        assert examine(find(name), path)


def test_damage_is_damage_and_can_be_done_again() -> None:
    good = {"a.log": b"abc\ndef\nghi\n" * 9, "b.log": b"123\n" * 9}
    made = [damaged_input(good, [b"TOKEN"], random.Random(seed)) for seed in range(300)]
    assert made == [damaged_input(good, [b"TOKEN"], random.Random(seed)) for seed in range(300)]
    assert sum(input != good for input in made) > 250
    assert any(b"TOKEN" in data for input in made for data in input.values())
    assert {len(input) for input in made} == {1, 2}
    assert good["b.log"] == b"123\n" * 9


def test_every_format_has_its_words() -> None:
    assert set(TOKENS) == {format.name for format in FORMATS}


# --- does it find anything?


def reading(found: object) -> Format:
    """A format whose reader does this."""

    def read(path: Path, check: object) -> Trace:
        if isinstance(found, Exception):
            raise found
        assert isinstance(found, Trace)
        return found

    return Format("x", "x", lambda sample: False, read, lambda trace: [])


def test_what_is_wrong_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.touch()
    assert not examine(reading(TraceError("found a; expected b; fix: c", str(path), 7)), path)
    with pytest.raises(Wrong, match="does not say where"):
        examine(reading(TraceError("found a; expected b; fix: c")), path)
    with pytest.raises(Wrong, match="does not say what to do"):
        examine(reading(TraceError("bad", str(path), 7)), path)
    b = TraceBuilder()
    with b.transaction("1") as t:
        t.put(1, 1)
    trace = b.build()
    assert examine(reading(trace), path)
    trace.op_key[0] = 7
    with pytest.raises(Wrong, match="breaks the rules"):
        examine(reading(trace), path)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("import os; os.kill(os.getpid(), 11)", f"a crash: {signal.SIGSEGV.name}"),
        ("import time; time.sleep(60)", "no answer within"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_crashes_and_endless_loops_leave_their_input(
    body: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child runs a copy of the program with a reader that fails."""
    program = tmp_path / "damaged_files.py"
    text = Path(damaged_files.__file__).read_text().replace("SECONDS = 10.0", "SECONDS = 0.5")
    broken = text.replace("        trace = format.read(path, lambda: None)\n", f"        {body}\n", 1)
    assert broken != text
    program.write_text(broken)
    monkeypatch.setattr(damaged_files, "__file__", str(program))
    run = fuzz(find("text"), 30, 5, tmp_path / "out", most=1)
    assert len(run.failures) == 1 and told in run.failures[0]
    assert (tmp_path / "out" / "text-6").exists()
    assert str(tmp_path) not in sys.path


# --- what it found


def test_a_number_of_a_transaction_comes_once_in_a_cobra_log(tmp_path: Path) -> None:
    number = (7).to_bytes(8, "big")
    (tmp_path / "T1.log").write_bytes((b"S" + number + b"C" + number) * 2)
    with pytest.raises(
        TraceError, match=r"T1.log:3: found a second transaction 7; expected each number once"
    ):
        find("cobra").read(tmp_path, lambda: None)


def test_without_a_name_the_transaction_before_has_ended() -> None:
    b = TraceBuilder()
    for name, outcome in ((1, "unknown"), (2, "committed")):
        with b.transaction("1", name=name, outcome=outcome) as t:  # type: ignore[arg-type]
            t.put(1, name)
    trace = b.build()
    check_rules(trace, "f")
    with pytest.raises(
        TraceError, match=r"a transaction without a name after one of unknown outcome \(row 1\)"
    ):
        check_rules(replace(trace, names=Scalars.of([1, None]), txn_name=np.arange(2, dtype=np.int32)), "f")


@pytest.mark.parametrize("name", ["text", "awdit", "dbcop-hist"])
def test_no_file_without_transactions_is_written(name: str) -> None:
    b = TraceBuilder()
    with b.transaction("1") as t:
        t.append("x", 1)
    assert "everything: no transaction is left" in [
        loss.what for loss in find(name).losses(b.build()) if loss.fatal
    ]
