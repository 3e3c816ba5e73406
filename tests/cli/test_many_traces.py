"""Several traces in one command: an answer each, a table, one exit code; and what a bad one among good ones means."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from support.commands import PROGRAM, command, environment, write
from support.paths import ROOT

import boomslang.cli
from boomslang.cli import many_traces
from boomslang.cli.main import parse
from boomslang.cli.many_traces import checked, named, names_of
from boomslang.cli.options.workers import several
from boomslang.workers import Lost

VALID, SKEW = ROOT / "examples" / "valid.jsonl", ROOT / "examples" / "write-skew.jsonl"
SCHEMAS = Path(boomslang.cli.__file__).parent


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    return write(tmp_path / "bad.jsonl", {"txn": 1, "op": "begin"}, {"txn": 1, "op": "nonsense"}, {"op": "x"})


@pytest.fixture
def idle(tmp_path: Path) -> Path:
    """A trace that says nothing about any level."""
    return write(tmp_path / "idle.jsonl", {"txn": 1, "op": "begin"}, {"txn": 1, "op": "abort"})


def test_an_answer_each_and_a_table() -> None:
    code, out, err = command("check", VALID, SKEW, "--level", "ser,si")
    assert (code, err) == (1, "")
    alone = command("check", SKEW, "--level", "ser,si").out
    told = alone[: alone.index("read in")]
    assert told in out and out.index(f"{VALID}: 3 transactions") < out.index(told)
    table = [line.split() for line in out.splitlines()[-5:] if line]
    assert table == [
        ["ser", "si"],
        [str(VALID), "valid", "valid"],
        [str(SKEW), "INVALID", "valid"],
        ["2", "traces:", "1", "valid,", "1", "invalid"],
    ]


def test_one_trace_is_told_as_ever() -> None:
    code, out, _ = command("check", SKEW, "--level", "ser")
    assert code == 1 and "traces" not in out


@pytest.mark.parametrize(
    ("traces", "code"),
    [
        ("valid valid", 0),
        ("valid idle", 2),
        ("skew idle valid", 1),
        ("valid bad", 254),
        ("bad skew idle", 254),
    ],
)
def test_exit_codes(traces: str, code: int, bad: Path, idle: Path) -> None:
    paths = {"valid": VALID, "skew": SKEW, "bad": bad, "idle": idle}
    assert command("check", *(paths[name] for name in traces.split()), "--level", "ser", "-q").code == code


def test_a_bad_trace_keeps_no_other_from_its_answer(bad: Path) -> None:
    code, out, err = command("check", bad, VALID, "nowhere", SKEW, "--level", "ser")
    assert code == 254
    assert f"{bad}:2: found" in err and "nowhere: found no such file" in err and "Traceback" not in err
    rows = dict(line.rsplit("  ", 1) for line in out.splitlines()[-6:-2])
    assert {path.strip(): word.strip() for path, word in rows.items()} == {
        str(bad): "bad input",
        str(VALID): "valid",
        "nowhere": "bad input",
        str(SKEW): "INVALID",
    }
    assert out.endswith("4 traces: 1 valid, 1 invalid, 2 could not be read\n")


def test_strongest() -> None:
    code, out, _ = command("check", VALID, SKEW, "--level", "strongest")
    assert code == 0
    assert out.endswith("2 traces: 2 decided\n")
    assert f"{SKEW}  strong session snapshot isolation, strong snapshot isolation\n" in out


def test_a_folder_is_one_trace(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "a.jsonl").write_text(VALID.read_text())
    assert command("check", folder, VALID, "--level", "ser").out.endswith("2 traces: 2 valid\n")


def test_standard_input_is_alone() -> None:
    code, _, err = command("check", "-", VALID, "--level", "ser")
    assert code == 254 and "found - among several traces" in err


# --- for programs


def test_json(bad: Path) -> None:
    code, out, err = command("check", VALID, bad, SKEW, "--level", "ser", "--json")
    data = json.loads(out)
    assert code == data["exit"] == 254 and str(bad) in err
    jsonschema.validate(data, json.loads((SCHEMAS / "several_answers.schema.json").read_text()))
    one = json.loads((SCHEMAS / "answer.schema.json").read_text())
    valid, unread, skew = data["traces"]
    for answer in (valid, skew):
        jsonschema.validate(answer, one)
    assert [valid["exit"], unread["exit"], skew["exit"]] == [0, 254, 1]
    assert unread["path"] == str(bad) and "found" in unread["error"]
    alone = json.loads(command("check", SKEW, "--level", "ser", "--json").out)
    assert without_times(skew) == without_times(alone)


def without_times(answer: dict[str, Any]) -> dict[str, Any]:
    levels = [{**level, "stats": None} for level in answer["levels"]]
    return {**answer, "seconds": None, "levels": levels}


def test_junit(bad: Path) -> None:
    root = ElementTree.fromstring(
        command("check", VALID, bad, SKEW, "--level", "ser,si", "--output", "junit").out
    )
    assert root.attrib == {"name": "boomslang", "tests": "5", "failures": "1", "errors": "1"}
    assert [suite.attrib["tests"] for suite in root] == ["2", "1", "2"]
    assert root[1][0][0].tag == "error" and "found" in str(root[1][0][0].text)


def test_sarif(bad: Path) -> None:
    data = json.loads(command("check", SKEW, bad, VALID, "--level", "ser", "--output", "sarif").out)
    (run,) = data["runs"]
    assert [result["kind"] for result in run["results"]] == ["fail", "pass"]
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert not run["invocations"][0]["executionSuccessful"] and str(bad) in note["message"]["text"]


def test_dot(bad: Path) -> None:
    out = command("check", SKEW, bad, VALID, "--level", "ser", "--output", "dot").out
    assert out.count("digraph") == 2 and f"\n// {bad}:2: found" in out


# --- files


def test_certificates_and_reports_are_each_trace_s_own(tmp_path: Path) -> None:
    proof, page = tmp_path / "proof.json", tmp_path / "page.html"
    code, out, _ = command(
        "check", VALID, SKEW, "--level", "ser,si", "--certificate", proof, "--report", page
    )
    assert code == 1
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == [
        "page.valid.html",
        "page.write-skew.html",
        "proof.valid.ser.json",
        "proof.valid.si.json",
        "proof.write-skew.ser.json",
        "proof.write-skew.si.json",
    ]
    assert f"certificate of serializable: {tmp_path / 'proof.valid.ser.json'}\n" in out
    assert f"report: {tmp_path / 'page.valid.html'}\n" in out
    for trace in (VALID, SKEW):
        for level in ("ser", "si"):
            made = tmp_path / f"proof.{trace.stem}.{level}.json"
            assert command("verify", trace, made).code == 0
            command("check", trace, "--level", level, "--certificate", tmp_path / "alone.json")
            assert made.read_bytes() == (tmp_path / "alone.json").read_bytes()


def test_no_trace_is_written_over(tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "p.one.jsonl"
    for path in (one, two):
        path.write_text(VALID.read_text())
    code, _, err = command("check", one, two, "--level", "ser", "--certificate", tmp_path / "p.jsonl")
    assert code == 254 and "it is a trace" in err and two.read_text() == VALID.read_text()


@pytest.mark.parametrize(
    ("traces", "names"),
    [
        (["runs/a.jsonl", "runs/b.jsonl.gz", "c"], ["a", "b", "c"]),
        (["runs/1/trace.jsonl", "runs/2/trace.jsonl"], ["1-trace", "2-trace"]),
        (["runs/a.jsonl", "runs/a.arrow"], ["a.jsonl", "a.arrow"]),
        (["a.jsonl", "a.jsonl"], ["1-a", "2-a"]),
        (["/x/a.jsonl", "x/a.jsonl"], ["1-a", "2-a"]),
        (["s3://one/runs/a.jsonl", "s3://two/runs/a.jsonl"], ["one-runs-a", "two-runs-a"]),
    ],
)
def test_names(traces: list[str], names: list[str]) -> None:
    assert names_of(traces) == names


def test_the_name_goes_before_the_suffix() -> None:
    assert named("out/proof.json", "a") == "out/proof.a.json"
    assert named("s3://bucket/proof.json", "a") == "s3://bucket/proof.a.json"
    assert named("proof", "a.b") == "proof.a.b"
    assert named(None, "a") is None


@pytest.mark.parametrize(("words", "jobs"), [([VALID], 3), ([VALID, SKEW], 1), ([VALID, "--on", "ray"], 1)])
def test_a_core_is_given_to_one_trace_or_to_the_windows_of_one(words: list[Any], jobs: int) -> None:
    arguments = parse(["check", "--level", "ser", "--jobs", "3", *map(str, words)])
    if several(arguments):
        assert {task.jobs for task in many_traces._tasks(arguments)} == {jobs}
    assert arguments.jobs == 3


# --- what may go wrong


def test_a_trace_that_loses_its_workers_is_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Unlucky:
        megabytes = None
        obstacle = ""

        def __enter__(self) -> Unlucky:
            return self

        def __exit__(self, *_: object) -> None: ...

        def map(self, function: Any, items: list[argparse.Namespace]) -> Any:
            yield 1, function(items[1])
            yield 0, Lost("3 processes died over it")

    monkeypatch.setattr(many_traces, "find_workers", lambda *_, **__: Unlucky())
    proof = tmp_path / "proof.json"
    code, out, err = command("check", SKEW, VALID, "--level", "ser", "--certificate", proof)
    assert code == 2 and "serializable  unknown  3 processes died over it" in out
    assert "no certificate of serializable was written" in err
    assert out.index("write-skew.jsonl: not read") < out.index("valid.jsonl: 3 transactions")


def test_an_error_of_ours_is_told_and_the_others_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = parse(["check", "--level", "ser", "x"])
    arguments.trace = "x"
    monkeypatch.setattr(many_traces, "watched_answers", lambda *_: 1 / 0)
    told = checked(arguments)
    assert told.code == 255 and "internal error: ZeroDivisionError" in told.error


def test_ctrl_c_tells_what_there_is_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """A pipe that nobody writes to keeps its worker waiting."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [*PROGRAM, "check", str(SKEW), str(pipe), "--level", "ser", "--jobs", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(PYTHONUNBUFFERED="1"),
    )
    assert process.stdout is not None
    while "read in" not in process.stdout.readline():
        pass
    held = open_pipe(pipe)  # a worker has it open
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130 and "Traceback" not in err
    assert f"{pipe}: not read" in out and "interrupted" in out and "1 invalid, 1 interrupted" in out
    with pytest.raises(BrokenPipeError):
        for _ in range(100):  # it was killed before the command ended
            os.write(held, b"\n")
            time.sleep(0.02)
    os.close(held)


def open_pipe(path: Path) -> int:
    for _ in range(500):
        try:
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody reads it yet
            time.sleep(0.02)
    raise AssertionError("no worker opened the pipe")
