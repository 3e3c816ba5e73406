"""The comparison with other checkers (benchmarks/peers.py): its plumbing, without any of them."""

from __future__ import annotations

import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import peers
import phases
import pytest
from simulate import BLINDW

from boomslang.levels import find_level
from boomslang.trace import read_trace
from boomslang.trace.formats import find

ROW = peers.Row(
    "10,000, 24",
    "rc-be",
    "AWDIT",
    "valid",
    peers.Cost(3.0, 90.0),
    peers.Cost(1.0, 40.0),
    "valid",
    peers.Cost(2.0, 70.0),
    peers.Cost(1.0, 60.0),
)


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(peers, "DATA", tmp_path / "data")
    monkeypatch.setattr(phases, "DOCS", tmp_path)
    return tmp_path


def fake(folder: Path, answer: str) -> str:
    """A tool that always says the same."""
    path = folder / "fake tool"
    path.write_text(f"#!/bin/sh\necho '{answer}'\n")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return str(path)


def test_arguments(tmp_path: Path) -> None:
    run, sizes, levels, write = peers.given_arguments(
        ["quick", "--awdit", fake(tmp_path, ""), "--plume", "P.jar"]
    )
    assert run.tools == {"AWDIT": [str(tmp_path / "fake tool")], "Plume": ["java", "-jar", "P.jar"]}
    assert sizes == [(10_000, 24)] and not levels and not write
    run, sizes, levels, write = peers.given_arguments(
        ["all", "--dbcop", "nice -n 5 dbcop", "--levels", "si,ser", "--write", "--limit", "9"]
    )
    assert run.tools == {"dbcop": ["nice", "-n", "5", "dbcop"]} and run.limit == 9
    assert (1_000_000, 50) in sizes and {s for n, s in sizes if n == 100_000} == {24, 50, 1_000, 4_000}
    assert levels == {"si", "ser"} and write
    with pytest.raises(SystemExit):
        peers.given_arguments(["--cobra", "x"])


def test_tools_speak_of_formats_and_levels_that_there_are() -> None:
    for tool in peers.TOOLS:
        assert find(tool.format).write is not None
        for level in tool.levels:
            find_level(level)


def test_missing_columns_are_told() -> None:
    assert peers.columns({}) == [
        "Measured: none of the others.",
        "Missing, as no path to an executable was given: AWDIT, Plume, dbcop, VeriStrong, PolySI, TimeKiller.",
    ]
    assert peers.columns({tool.name: [] for tool in peers.TOOLS}) == [
        "Measured: AWDIT, Plume, dbcop, VeriStrong, PolySI, TimeKiller."
    ]


def test_figures() -> None:
    cells = ROW.cells()
    assert len(cells) == len(peers.NAMES) == len(peers.WIDTHS)
    assert cells[4:8] == ["3.00", "2.00", "90", "50"] and cells[9:] == ["2.00", "1.00", "70", "10", "2.00"]
    stopped = replace(ROW, verdict="over 9 s", cost=replace(ROW.cost, over=True))
    assert stopped.cells()[4:8] == ["", "", "", ""] and stopped.cells()[-1] == ""


def test_disagreement_is_shown() -> None:
    assert peers.disagreements([ROW]) == []
    (line,) = peers.disagreements([replace(ROW, verdict="invalid")])
    assert line == "AWDIT says invalid, Boomslang valid: 10,000, 24 sessions, rc-be."
    (line,) = peers.disagreements([replace(ROW, verdict="exit code 3")])
    assert line.startswith("No verdict to compare: AWDIT exit code 3, Boomslang valid")
    text = "\n".join(
        peers.paragraphs(peers.Comparison({}, 1, 9), [replace(ROW, verdict="invalid")], ["1", "1", "1"])
    )
    assert "AWDIT says invalid" in text and "All verdicts agree" not in text


@pytest.mark.parametrize(
    ("name", "output", "verdict"),
    [
        ("AWDIT", "Done parsing: 0ms\n\nConsistent.\n", "valid"),
        ("AWDIT", "\nInconsistent.\n", "invalid"),
        ("Plume", "ACCEPT\n", "valid"),
        ("Plume", "REJECT\n[NonMonoReadCO]\n", "invalid"),
        ("dbcop", "history.json: PASS\n", "valid"),
        ("dbcop", "history.json: FAIL (Invalid(Prefix))\n", "invalid"),
        ("VeriStrong", "accept: true\n", "valid"),
        ("VeriStrong", "accept: false\n", "invalid"),
        ("PolySI", "[[[[ ACCEPT ]]]]\n", "valid"),
        ("PolySI", "[[[[ REJECT ]]]]\n", "invalid"),
        ("TimeKiller", "Satisfy SESSION\nSatisfy SI\n", "valid"),
        ("TimeKiller", "Satisfy SESSION\nDo NOT satisfy SI\n", "invalid"),
        ("TimeKiller", "Exception in thread main", "exit code 7"),
    ],
)
def test_verdicts(name: str, output: str, verdict: str) -> None:
    tool = next(tool for tool in peers.TOOLS if tool.name == name)
    assert peers.verdict_of(tool, peers.Cost(1, 1, 7, output), 9) == verdict


def test_histories(data: Path) -> None:
    small = replace(BLINDW, transactions=60, sessions=3, keys=6)
    plain = read_trace(peers.committed(small))
    assert len(plain) == 60 and not plain.has_times
    timed = read_trace(peers.committed(replace(small, level="si", times=True)))
    assert len(timed) == 60 and timed.has_times and (timed.txn_begin < timed.txn_end).all()
    for tool in (peers.TOOLS[0], peers.TOOLS[2], peers.TOOLS[-1]):  # of three formats, the last timed
        source = peers.committed(replace(small, level="si", times=True) if tool.timed else small)
        assert len(read_trace(peers.converted(source, tool.format, tool.file))) == 60
    assert tool.timed and len(read_trace(peers.two_transactions(True))) == 2


def test_a_command_is_stopped_at_the_limit() -> None:
    cost = peers.once([sys.executable, "-c", "while True: pass"], 1)
    assert cost.over and peers.verdict_of(None, cost, 1) == "over 1 s"
    cost = peers.once([sys.executable, "-c", "print('here'); raise SystemExit(3)"], 10)
    assert not cost.over and cost.code == 3 and cost.output == "here\n" and 1 < cost.megabytes < 30
    with pytest.raises(SystemExit, match="no executable nowhere"):
        peers.once(["nowhere"], 10)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is looked at in /proc")
def test_a_command_is_stopped_when_its_memory_is_full() -> None:
    grows = "import time; held = b'x' * 200_000_000; time.sleep(60)"
    cost = peers.once([sys.executable, "-c", grows], 30, 100)
    assert cost.full and not cost.over and cost.megabytes > 100
    cost = peers.once([sys.executable, "-c", "print('here')"], 30, 100)
    assert not cost.full and cost.code == 0 and "here" in cost.output


def test_a_command_ends_with_whoever_asked_for_it(tmp_path: Path) -> None:
    """Even if that is killed: a checker that goes on alone would slow down all that is measured next."""
    told = tmp_path / "pid"
    busy = f"import os, pathlib\npathlib.Path({str(told)!r}).write_text(str(os.getpid()))\nwhile True: pass"
    asked = f"import sys, peers\npeers.once([sys.executable, '-c', {busy!r}], 60)"
    folder = Path(peers.__file__).parent
    with subprocess.Popen([sys.executable, "-c", asked], cwd=folder) as process:
        while not told.exists() or not told.read_text():
            assert process.poll() is None
            time.sleep(0.05)
        process.kill()
    pid, until = int(told.read_text()), time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]:
        assert time.monotonic() < until, "it goes on alone"
        time.sleep(0.05)


def test_a_page_is_written(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(peers.SIZES, "quick", [(40, 2)])
    monkeypatch.setattr(peers, "startup", lambda _: (["0.30", "0.20", "1.50"], "start-up"))
    monkeypatch.setattr(peers, "counting", lambda *_: [["40, 2", "1.00", "2.00", "0.50"]])
    monkeypatch.setattr(peers, "reading", lambda *_: [["40, 2", "text", "1.00", "9", "2.00", "9", "2.00"]])
    words = ["quick", "--awdit", fake(data, "Inconsistent."), "--levels", "rc-be", "--repeat", "1", "--write"]
    assert peers.main(words) == 0
    text = (data / "benchmarks-peers.md").read_text()
    assert "AWDIT says invalid, Boomslang valid: 40, 2 sessions, rc-be." in text
    assert "Missing, as no path to an executable was given: Plume" in text
    assert "| 40, 2 | rc-be | AWDIT | invalid |" in text
    assert (
        "| 40, 2 | 1.00 | 2.00 | 0.50 |" in text and "| 40, 2 | text | 1.00 | 9 | 2.00 | 9 | 2.00 |" in text
    )
    assert "benchmarks/peers.py quick" in text and str(data) not in text
    assert "AWDIT says invalid" in capsys.readouterr().out
