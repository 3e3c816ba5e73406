"""The command line: what it answers, what it exits with, what it says when something is wrong, and what it must
never print.

Most tests call `main` in this process; those about terminals, pipes and signals start the real program.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
import pty
import random
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from support.commands import EVIL, PROGRAM, Ran, environment, evil_trace, printable, program, write
from support.paths import ROOT

import boomslang
from boomslang.certify.certificate import Witness, to_json
from boomslang.cli import exit_codes
from boomslang.cli.main import main
from boomslang.cli.screen import escape
from boomslang.levels import LEVELS
from boomslang.trace import read_trace

VALID = str(ROOT / "examples" / "valid.jsonl")
SKEW = str(ROOT / "examples" / "write-skew.jsonl")
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((Path(boomslang.__file__).parent / "cli" / "answer.schema.json").read_text())
)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Iterator[Any]:
    digits = sys.get_int_max_str_digits() if hasattr(sys, "get_int_max_str_digits") else None

    def run(*words: object) -> Ran:
        code = main([str(word) for word in words])
        return Ran(code, *capsys.readouterr())

    yield run
    if digits is not None:
        sys.set_int_max_str_digits(digits)


def hard(path: Path, transactions: int) -> Path:
    """A history that was serial, with two values and in a random order: nothing suggests which."""
    dice = random.Random(1)
    state = dict.fromkeys(range(30), 0)
    history = []
    for t in range(transactions):
        own: dict[int, int] = {}
        operations = []
        for _ in range(6):
            key = dice.randrange(30)
            if dice.random() < 0.5:
                own[key] = dice.randrange(2)
                operations.append({"txn": t, "op": "put", "key": key, "value": own[key]})
            else:
                value = own.get(key, state[key])
                operations.append({"txn": t, "op": "get", "key": key, "value": value})
        state |= own
        history.append([{"txn": t, "op": "begin"}, *operations, {"txn": t, "op": "commit"}])
    dice.shuffle(history)
    initial = {"boomslang": 1, "initial": {"items": [[key, 0] for key in range(30)]}}
    return write(path, initial, *(operation for txn in history for operation in txn))


@pytest.fixture
def timeless(tmp_path: Path) -> Path:
    """A valid trace with neither times nor sessions."""
    return write(
        tmp_path / "timeless.jsonl",
        {"txn": 1, "op": "begin"},
        {"txn": 1, "op": "put", "key": "x", "value": 1},
        {"txn": 1, "op": "commit"},
    )


# --- verdicts and exit codes


@pytest.mark.parametrize(
    ("trace", "level", "code"),
    [
        (VALID, "serializable", 0),
        (VALID, "ser,si,rc", 0),
        (SKEW, "ser", 1),
        (SKEW, "si", 0),
        (SKEW, "PL-3", 1),
        (SKEW, "Snapshot Isolation", 0),
        (SKEW, "si,ser", 1),
        (SKEW, "strongest", 0),
        (VALID, "STRONGEST", 0),
    ],
)
def test_verdicts(cli: Any, trace: str, level: str, code: int) -> None:
    ran = cli("check", trace, "--level", level)
    assert ran.code == code and ran.err == ""


def test_several_levels_by_repeating_the_option(cli: Any) -> None:
    ran = cli("check", SKEW, "--level", "si", "--level", "ser,rc", "--level", "SI", "--json")
    assert [level["level"] for level in json.loads(ran.out)["levels"]] == [
        "snapshot-isolation",
        "serializable",
        "read-committed",
    ]


def test_a_level_that_needs_times_is_unknown_without_them(cli: Any, timeless: Path) -> None:
    ran = cli("check", timeless, "--level", "sser")
    assert ran.code == exit_codes.UNKNOWN and "no times in the trace" in ran.out
    assert cli("check", timeless, "--level", "ser,sser").code == exit_codes.UNKNOWN
    ran = cli("check", timeless, "--level", "strongest")
    assert ran.code == exit_codes.VALID
    assert "strongest that hold   serializable\n" in ran.out
    assert "strong snapshot isolation: the trace has no times\n" in ran.out
    assert "strong session strict serializable: the trace has no times and no sessions\n" in ran.out


def test_invalid_wins_over_unknown(cli: Any, tmp_path: Path) -> None:
    trace = write(
        tmp_path / "t.jsonl",
        {"txn": 1, "op": "begin"},
        {"txn": 1, "op": "get", "key": "x", "value": 1},
        {"txn": 1, "op": "get", "key": "x", "absent": True},
        {"txn": 1, "op": "commit"},
        {"txn": 2, "op": "begin"},
        {"txn": 2, "op": "put", "key": "x", "value": 1},
        {"txn": 2, "op": "commit"},
    )
    ran = cli("check", trace, "--level", "strong-session-rc,ser")
    assert ran.code == exit_codes.INVALID
    assert "unknown" in ran.out and "INVALID" in ran.out


def test_the_answer_of_an_invalid_trace(cli: Any) -> None:
    ran = cli("check", SKEW, "--level", "ser,si")
    lines = ran.out.splitlines()
    assert lines[0] == f"{SKEW}: 3 transactions, 6 operations, 3 sessions, 2 keys"
    assert any(line.startswith("  serializable        INVALID") for line in lines)
    assert "  snapshot isolation  valid" in lines
    assert "Why it is not serializable:" in lines
    assert any(f"({SKEW}:2)" in line for line in lines) and any(f"({SKEW}:3)" in line for line in lines)
    assert any(line.startswith("  =>") for line in lines)
    assert re.fullmatch(r"read in \d+\.\d\d s, checked in \d+\.\d\d s", lines[-1])


def test_one_reason_for_several_levels_is_told_once(cli: Any) -> None:
    out = cli("check", SKEW, "--level", "ser,rr,sser").out
    assert out.count("Why it is not") == 1
    assert "Why it is not serializable and not repeatable read and not strict serializable:" in out


def test_strongest(cli: Any) -> None:
    data = json.loads(cli("check", SKEW, "--level", "strongest", "--json").out)
    SCHEMA.validate(data)
    assert data["strongest"] == {
        "hold": ["strong-session-snapshot-isolation", "strong-snapshot-isolation"],
        "broken": ["repeatable-read"],
        "unknown": [],
        "undecidable": [],
    }
    assert {level["level"] for level in data["levels"]} == {level.name for level in LEVELS}


def test_outcomes_are_counted(cli: Any, tmp_path: Path) -> None:
    trace = write(
        tmp_path / "t.jsonl",
        {"txn": 1, "op": "begin"},
        {"txn": 1, "op": "abort"},
        {"txn": 2, "op": "begin"},
        {"txn": 3, "op": "begin"},
        {"txn": 3, "op": "commit"},
    )
    out = cli("check", trace, "--level", "ser").out
    assert "3 transactions (1 aborted, 1 of unknown outcome), no operations, no sessions, no keys" in out


def test_quiet(cli: Any) -> None:
    assert cli("check", SKEW, "--level", "ser", "--quiet") == (1, "", "")


def test_stats(cli: Any) -> None:
    out = cli("check", VALID, "--level", "ser", "--stats").out
    assert re.search(r"^  solve +\d+\.\d{3} s$", out, re.MULTILINE)
    assert re.search(r"^  conflicts +\d+$", out, re.MULTILINE)


def test_the_second_solver(cli: Any) -> None:
    assert cli("check", SKEW, "--level", "ser", "--solver", "z3").code == exit_codes.INVALID
    assert cli("check", SKEW, "--level", "si", "--solver", "z3").code == exit_codes.VALID


def test_warnings_go_to_standard_error(cli: Any, tmp_path: Path) -> None:
    torn = tmp_path / "torn.jsonl"
    torn.write_text(Path(VALID).read_text() + '{"session": "alice", "op": "beg')
    ran = cli("check", torn, "--level", "ser")
    assert ran.code == exit_codes.VALID
    assert ran.err.startswith(f"warning: {torn}:12: ") and "torn and" not in ran.out


# --- limits


def test_a_time_limit_covers_reading(cli: Any) -> None:
    ran = cli("check", VALID, "--level", "ser,si", "--timeout", "1e-9")
    assert ran.code == exit_codes.UNKNOWN
    assert "not read" in ran.out and ran.out.count("time limit reached while reading the trace") == 2
    data = json.loads(cli("check", VALID, "--level", "strongest", "--timeout", "1e-9", "--json").out)
    SCHEMA.validate(data)
    assert data["trace"] is None and data["exit"] == exit_codes.UNKNOWN and len(data["levels"]) == len(LEVELS)


def test_a_memory_limit_covers_reading(cli: Any) -> None:
    ran = cli("check", VALID, "--level", "ser", "--memory", "1")
    assert ran.code == exit_codes.UNKNOWN and "memory limit of 1 MB reached while reading" in ran.out


def test_a_trace_that_is_too_large_is_told_before_it_is_read(cli: Any, tmp_path: Path) -> None:
    begin, put = (
        '{"session": "s", "txn": %d, "op": "begin"}\n',
        '{"txn": %d, "op": "put", "key": %d, "value": 1}\n',
    )
    lines = ("".join((begin % n, put.replace("{", '{"session": "s", ') % (n, n))) for n in range(200_000))
    path = tmp_path / "large.jsonl.gz"
    path.write_bytes(gzip.compress("".join(lines).encode(), 1))
    ran = cli("check", path, "--level", "strongest", "--memory", "17")  # which cannot be streamed
    assert ran.code == exit_codes.UNKNOWN and "not read" in ran.out
    assert "reading the trace will take about" in ran.out and "allow more (--memory " in ran.out


def test_a_time_limit_covers_all_levels_together(tmp_path: Path) -> None:
    trace = hard(tmp_path / "hard.jsonl", 5_000)
    start = time.monotonic()
    ran = program(
        "check", trace, "--level", "ser,si,rr", "--timeout", "2", "--certificate", tmp_path / "c.json"
    )
    assert time.monotonic() - start < 6
    if ran.code == exit_codes.UNKNOWN:  # else the engine has become very good at this
        assert "the time limit was reached" in ran.out
        assert "no certificate of" in ran.err and not list(tmp_path.glob("*.json"))


def test_no_memory_left_is_unknown(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("boomslang.cli.commands.check.load", full)
    ran = cli("check", VALID, "--level", "ser")
    assert ran.code == exit_codes.UNKNOWN and "the memory of the machine ran out" in ran.out


# --- wrong use and bad input


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "which command?"),
        (["chekc"], "unknown command 'chekc' (did you mean check?)"),
        (["check"], "the following arguments are required: TRACE, --level"),
        (["check", VALID], "the following arguments are required: --level"),
        (["check", VALID, "--level"], "argument --level: expected one argument"),
        (["check", VALID, "--level", ""], "which level?"),
        (["check", VALID, "--level", "ser,nonsense"], "unknown level 'nonsense'; known levels: read-uncommitted (ru)"),
        (["check", VALID, "--level", "serialisble"], "did you mean ser?"),
        (["check", VALID, "--level", "ser,strongest"], "give no other beside it"),
        (["check", VALID, "--level", "ser", "--timeout", "soon"], "found 'soon'; expected a number above 0"),
        (["check", VALID, "--level", "ser", "--timeout", "0"], "found '0'; expected a number above 0"),
        (["check", VALID, "--level", "ser", "--timeout", "nan"], "expected a number above 0"),
        (["check", VALID, "--level", "ser", "--memory", "-5"], "expected a number above 0"),
        (["check", VALID, "--level", "ser", "--solver", "magic"], "found 'magic'; expected one of native, z3"),
        (["check", VALID, "--level", "ser", "--json", "--quiet"], "not allowed with argument"),
        (["check", VALID, "--level", "ser", "--time", "5"], "unrecognized arguments: --time"),
        (["ir", VALID, SKEW, "--level", "ser"], "unrecognized arguments"),
        (["check", VALID, "--levle", "ser"], "unrecognized arguments: --levle (did you mean --level?)"),
        (["check", VALID, "--level=ser", "--tiemout=5"], "--tiemout (did you mean --timeout?)"),
        (["check", "no-such-file", "--level", "ser"], "no-such-file: found no such file or folder"),
        (["verify", VALID], "the following arguments are required: CERTIFICATE"),
        (["verify", VALID, "no-such-file"], "no-such-file: cannot read the certificate"),
        (["verify", "no-such-file", VALID], "no-such-file: found no such file or folder"),
        (["verify", VALID, VALID], "expected what `boomslang check --certificate` wrote"),
        (["ir", VALID], "the following arguments are required: --level"),
        (["ir", VALID, "--level", "ser,si"], "found several levels in 'ser,si'; expected one"),
        (["check", "", "--level", "ser"], "found an empty path; expected a trace"),
        (["stats", VALID, "--level", "ser"], "usage: boomslang stats"),
        (["explain", "--all", VALID], "expected a number above 0, or nothing (then TRACE comes before it)"),
        (["check", VALID, "--level", "ser", "--module", "bounded-staleness:time=soon"], "a whole number from 0"),
        (["check", VALID, "--level", "ser", "--certificate", "a", "--report", "./a"], "name the same file"),
        (["check", VALID, "--level", "ser,si", "--certificate", "a", "--report", "a.si"], "name the same file"),
        (["ir", "no-such-file", "--level", "ser"], "no-such-file: found no such file or folder"),
    ],
)  # fmt: skip
def test_wrong_use(cli: Any, words: list[str], message: str) -> None:
    ran = cli(*words)
    assert ran.code == exit_codes.USAGE and ran.out == ""
    assert ran.err.startswith("boomslang: ") and message in ran.err
    assert "Traceback" not in ran.err


def test_bad_input_names_file_and_line(cli: Any, tmp_path: Path) -> None:
    trace = write(tmp_path / "t.jsonl", {"txn": 1, "op": "begin"}, {"txn": 1, "op": "comit"})
    ran = cli("check", trace, "--level", "ser")
    assert ran.code == exit_codes.USAGE
    assert ran.err.startswith(f'boomslang: {trace}:2: found the unknown op "comit"; expected one of ')


def test_a_folder_without_traces(cli: Any, tmp_path: Path) -> None:
    ran = cli("check", tmp_path, "--level", "ser")
    assert ran.code == exit_codes.USAGE and f"{tmp_path}: found a folder without traces" in ran.err


def test_a_folder_of_sessions(cli: Any, tmp_path: Path) -> None:
    for name in ("alice", "bob"):
        write(
            tmp_path / f"{name}.jsonl",
            {"op": "begin"},
            {"op": "get", "key": 1, "absent": True},
            {"op": "commit"},
        )
    ran = cli("check", tmp_path, "--level", "strong-session-ser")
    assert ran.code == exit_codes.VALID and "2 sessions" in ran.out


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read(cli: Any, tmp_path: Path) -> None:
    folder = tmp_path / "secret"
    folder.mkdir(mode=0)
    ran = cli("check", folder, "--level", "ser")
    assert ran.code == exit_codes.USAGE and f"{folder}: Permission denied" in ran.err


def test_an_impossible_path(cli: Any) -> None:
    ran = cli("check", "x" * 5_000, "--level", "ser")
    assert ran.code == exit_codes.USAGE and "name too long" in ran.err


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--help"], ["check", "--help"], ["verify", "-h"], ["ir", "-h"], ["levels", "-h"]):
        with pytest.raises(SystemExit) as done:
            main(words)
        assert done.value.code == 0
        assert "usage: boomslang" in capsys.readouterr().out
    with pytest.raises(SystemExit) as done:
        main(["--version"])
    assert done.value.code == 0
    assert capsys.readouterr().out == f"boomslang {boomslang.__version__}\n"


# --- errors of ours


def test_an_internal_error(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the sky \x1b[31m fell")

    monkeypatch.setattr("boomslang.cli.commands.check.load", broken)
    monkeypatch.delenv("BOOMSLANG_DEBUG", raising=False)
    ran = cli("check", VALID, "--level", "ser")
    assert ran.code == exit_codes.INTERNAL and ran.out == ""
    assert ran.err.startswith("boomslang: internal error: RuntimeError: the sky \\x1b[31m fell\n")
    assert "Please report it" in ran.err and "Traceback" not in ran.err
    monkeypatch.setenv("BOOMSLANG_DEBUG", "1")
    ran = cli("check", VALID, "--level", "ser")
    assert ran.code == exit_codes.INTERNAL and "Traceback" in ran.err and "in broken" in ran.err


# --- JSON


@pytest.mark.parametrize("level", [level.short for level in LEVELS])
@pytest.mark.parametrize("trace", [VALID, SKEW])
def test_json_follows_its_schema(cli: Any, trace: str, level: str) -> None:
    ran = cli("check", trace, "--level", level, "--json")
    data = json.loads(ran.out)
    SCHEMA.validate(data)
    assert data["exit"] == ran.code and ran.out.isascii()
    assert data["boomslang"] == boomslang.__version__ and data["path"] == trace
    assert set(data["trace"]) == set(SCHEMA.schema["$defs"]["trace"]["required"])
    assert set(data) == set(SCHEMA.schema["required"])
    assert set(data["levels"][0]) == set(SCHEMA.schema["$defs"]["verdict"]["required"])


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA.schema)


def test_json_of_every_textbook_anomaly(cli: Any, tmp_path: Path) -> None:
    from support.anomalies import CASES

    from boomslang.trace import write_trace

    for case in CASES:
        path = tmp_path / "t.jsonl"
        trace = case.build()
        if len(trace.clocks) > 1:
            continue  # one file has one clock
        write_trace(trace, path)
        for level in ("ser", "strong-session-si", "rc"):
            data = json.loads(cli("check", path, "--level", level, "--json").out)
            SCHEMA.validate(data)


# --- certificates


@pytest.mark.parametrize("level", [level.short for level in LEVELS])
@pytest.mark.parametrize("trace", [VALID, SKEW])
def test_certificates_verify(cli: Any, tmp_path: Path, trace: str, level: str) -> None:
    proof = tmp_path / "proof.json"
    ran = cli("check", trace, "--level", level, "--certificate", proof)
    assert f": {proof}\n" in ran.out
    verdict = ["valid", "invalid"][ran.code]
    assert json.loads(proof.read_text())["verdict"] == verdict
    ran = cli("verify", trace, proof)
    assert ran.code == 0 and ran.err == ""
    assert ran.out.startswith(f"right: {proof} shows that {trace} is {verdict} at ")
    assert cli("verify", trace, proof, "--quiet") == (0, "", "")
    assert list(tmp_path.iterdir()) == [proof]


def test_several_certificates(cli: Any, tmp_path: Path) -> None:
    data = json.loads(
        cli("check", SKEW, "--level", "ser,si", "--json", "--certificate", tmp_path / "my.proof.json").out
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["my.proof.ser.json", "my.proof.si.json"]
    assert [level["certificate"] for level in data["levels"]] == [
        str(tmp_path / "my.proof.ser.json"),
        str(tmp_path / "my.proof.si.json"),
    ]
    for path in tmp_path.iterdir():
        assert cli("verify", SKEW, path).code == 0


def test_certificates_of_the_strongest(cli: Any, tmp_path: Path) -> None:
    cli("check", SKEW, "--level", "strongest", "--certificate", tmp_path / "proof")
    names = {path.name for path in tmp_path.iterdir()}
    assert {"proof.rr", "proof.strong-si", "proof.strong-session-si"} <= names
    for path in tmp_path.iterdir():
        assert cli("verify", SKEW, path).code == 0


def tampered(cli: Any, tmp_path: Path, trace: str, level: str, change: Any) -> Ran:
    proof = tmp_path / "proof.json"
    cli("check", trace, "--level", level, "--certificate", proof)
    data = json.loads(proof.read_text())
    change(data)
    proof.write_text(json.dumps(data))
    ran: Ran = cli("verify", trace, proof)
    return ran


def test_a_witness_in_the_wrong_order(cli: Any, tmp_path: Path) -> None:
    ran = tampered(cli, tmp_path, VALID, "ser", lambda data: data["order"].reverse())
    assert ran.code == 1 and ran.err == ""
    assert ran.out.startswith("WRONG: ") and "does not show that" in ran.out


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["order"].pop(),
        lambda data: data["order"].append(0),
        lambda data: data["order"].append(99),
        lambda data: data.update(points=2),
        lambda data: data.update(level="snapshot-isolation"),
    ],
)
def test_a_witness_that_was_tampered_with(cli: Any, tmp_path: Path, change: Any) -> None:
    assert tampered(cli, tmp_path, VALID, "ser", change).code == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data["core"]["transactions"].pop(), "do not break the level"),
        (lambda data: data["core"]["reads"].pop(), "do not break the level"),
        (lambda data: data["core"]["transactions"].append(2), "not minimal: T2"),
        (lambda data: data["core"]["transactions"].append(99), "not in the trace"),
        (lambda data: data["core"]["reads"].append([0, 99]), "not in the trace"),
        (lambda data: data.update(level="snapshot-isolation"), "do not break the level"),
    ],
)
def test_a_core_that_was_tampered_with(cli: Any, tmp_path: Path, change: Any, message: str) -> None:
    ran = tampered(cli, tmp_path, SKEW, "ser", change)
    assert ran.code == 1 and message in ran.out


def test_a_core_that_never_claimed_to_be_minimal(cli: Any, tmp_path: Path) -> None:
    def grow(data: Any) -> None:
        data["core"]["transactions"].append(2)
        data["explanation"]["minimal"] = False

    assert tampered(cli, tmp_path, SKEW, "ser", grow).code == 0


def test_a_core_whose_parts_are_too_many_to_be_tried(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from boomslang.cli.commands import verify

    monkeypatch.setattr(verify, "MINIMAL_SECONDS", -1.0)
    ran = tampered(cli, tmp_path, SKEW, "ser", lambda data: None)
    assert ran.code == 0 and "believed: that 4 of its 4 parts are needed" in ran.out, ran
    ran = tampered(cli, tmp_path, SKEW, "ser", lambda data: data["core"]["reads"].pop())
    assert ran.code == 1 and "do not break the level" in ran.out


def test_a_core_that_is_not_refuted_in_time_is_neither_right_nor_wrong(cli: Any, tmp_path: Path) -> None:
    proof = tmp_path / "proof.json"
    cli("check", SKEW, "--level", "ser", "--certificate", proof)
    in_no_time = cli("verify", SKEW, proof, "--timeout", "1e-9")
    assert in_no_time.code == exit_codes.UNKNOWN
    assert "Z3 came to no end of its 2 transactions and 2 reads in 1e-09 s (--timeout)" in in_no_time.out
    assert "checked: the trace is the one that it was made for, and has its transactions" in in_no_time.out
    assert "not checked: that no order explains these" in in_no_time.out
    assert cli("verify", SKEW, proof, "--timeout", "60").code == exit_codes.VALID
    # What is wrong on its face is wrong however little time there is.
    data = json.loads(proof.read_text())
    data["core"]["reads"].append([0, 99])
    proof.write_text(json.dumps(data))
    ran = cli("verify", SKEW, proof, "--timeout", "1e-9")
    assert ran.code == exit_codes.INVALID and "not in the trace" in ran.out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.update({"boomslang-certificate": 3}), "not a certificate of version 1"),
        (lambda data: data["trace"].update(operations=5), "made for another trace"),
        (lambda data: data.update(level="sanity"), "found the unknown level 'sanity'; known levels: read-uncommitted"),
        (lambda data: data.pop("order"), "a damaged certificate"),
        (lambda data: data.update(order="first"), "a damaged certificate"),
    ],
)  # fmt: skip
def test_a_certificate_that_cannot_be_read(cli: Any, tmp_path: Path, change: Any, message: str) -> None:
    ran = tampered(cli, tmp_path, VALID, "ser", change)
    assert ran.code == exit_codes.USAGE and ran.out == "" and message in ran.err


def test_a_certificate_for_another_trace(cli: Any, tmp_path: Path) -> None:
    proof = tmp_path / "proof.json"
    cli("check", VALID, "--level", "ser", "--certificate", proof)
    ran = cli("verify", SKEW, proof)
    assert ran.code == exit_codes.USAGE and "made for another trace" in ran.err


def test_places_where_no_certificate_can_be_written(cli: Any, tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    trace = shutil.copy(VALID, folder / "all.jsonl")
    for path, checked, message in (
        (tmp_path / "nowhere" / "proof.json", VALID, f"there is no folder {tmp_path / 'nowhere'}"),
        (tmp_path, VALID, "it is a folder"),
        (trace, trace, "it is the trace"),
        (folder / "proof.json", folder, "the folder of the trace holds its sessions"),
    ):
        ran = cli("check", checked, "--level", "ser", "--certificate", path)
        assert ran.code == exit_codes.USAGE and ran.out == ""
        assert (
            ran.err == f"boomslang: {path}: cannot write the certificate: {message}\n" or message in ran.err
        )
    assert Path(trace).read_text() == Path(VALID).read_text()


def test_the_answer_is_shown_even_if_its_certificate_cannot_be_written(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("boomslang.cli.output_files.os.fsync", full)
    ran = cli("check", SKEW, "--level", "ser", "--certificate", tmp_path / "proof.json")
    assert ran.code == exit_codes.USAGE and "INVALID" in ran.out and "No space left" in ran.err
    assert list(tmp_path.iterdir()) == []


BEGUN = '{"txn": 1, "op": "begin"}\n{"txn": 1, "op": "put", "key": 1, "value": 1}\n'


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("", "there is no transaction in the trace"),
        (BEGUN, "the only transaction is not known to have committed"),  # killed before its first commit
        (BEGUN + '{"txn": 1, "op": "abort"}\n', "the only transaction is not known to have committed"),
        (
            BEGUN + BEGUN.replace('"txn": 1', '"txn": 2'),
            "none of the 2 transactions is known to have committed",
        ),
    ],
)
def test_where_nothing_committed_nothing_is_known(cli: Any, tmp_path: Path, lines: str, reason: str) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text('{"boomslang": 1}\n' + lines)
    proof = tmp_path / "proof.json"
    for command in (("check", "--level", "ser,ru"), ("check", "--level", "strongest"), ("explain",)):
        ran = cli(command[0], trace, *command[1:])
        assert ran.code == exit_codes.UNKNOWN and reason in ran.out and "valid" not in ran.out, ran
    ran = cli("check", trace, "--level", "ser", "--json", "--certificate", proof)
    assert ran.code == exit_codes.UNKNOWN and not proof.exists()
    assert json.loads(ran.out)["levels"][0]["status"] == "unknown"
    if not lines:
        assert cli("cat", trace) == (exit_codes.VALID, "the trace has no transactions\n", "")


def test_a_witness_of_nothing_shows_nothing(cli: Any, tmp_path: Path) -> None:
    """A certificate that `check` would not write, verify does not believe."""
    trace = tmp_path / "trace.jsonl"
    trace.write_text(BEGUN)
    empty = Witness("serializable", 1, np.zeros(0, np.int64))
    proof = tmp_path / "proof.json"
    proof.write_text(json.dumps(to_json(read_trace(trace), empty)))
    ran = cli("verify", trace, proof)
    assert ran.code == exit_codes.INVALID and "not known to have committed" in ran.out


@pytest.mark.parametrize(
    ("level", "lacks"),
    [
        ("strict-serializable", "times"),
        ("strong-snapshot-isolation", "times"),
        ("strong-session-serializable", "sessions"),
    ],
)
def test_a_witness_of_a_level_that_cannot_be_decided(
    cli: Any, tmp_path: Path, level: str, lacks: str
) -> None:
    trace, proof = tmp_path / "trace.jsonl", tmp_path / "proof.json"
    trace.write_text(BEGUN + '{"txn": 1, "op": "commit"}\n')
    base = "si" if "snapshot" in level else "ser"
    assert cli("check", trace, "--level", base, "--certificate", proof).code == exit_codes.VALID
    data = json.loads(proof.read_text())
    proof.write_text(json.dumps({**data, "level": level}))
    ran = cli("verify", trace, proof)
    assert (
        ran.code == exit_codes.INVALID and f"the level speaks of {lacks}, and the trace has none" in ran.out
    )
    assert cli("check", trace, "--level", level).code == exit_codes.UNKNOWN
    proof.write_text(json.dumps({**data, "verdict": "maybe"}))
    ran = cli("verify", trace, proof)
    assert ran.code == exit_codes.USAGE and "found the verdict 'maybe'" in ran.err


@pytest.mark.parametrize(
    "content", [b"hello", b"[" * 2**20, b"", b'{"boomslang": 1', b"\n\n", b"\xef\xbb\xbf"]
)
@pytest.mark.parametrize("name", ["trace.jsonl", "trace", "folder/a.jsonl"])
def test_no_whole_record_is_no_trace(cli: Any, tmp_path: Path, content: bytes, name: str) -> None:
    (tmp_path / "folder").mkdir()
    file = tmp_path / name
    file.write_bytes(content)
    trace = file.parent if "folder" in name else file
    for command in (("check", "--level", "ser"), ("explain",), ("stats",), ("cat",)):
        ran = cli(command[0], trace, *command[1:])
        assert ran.code == exit_codes.USAGE and "expected" in ran.err and "fix:" in ran.err, ran


def test_a_session_that_did_nothing_is_no_harm(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(BEGUN + '{"txn": 1, "op": "commit"}\n')
    (tmp_path / "b.jsonl").write_text("")
    (tmp_path / "c.jsonl").write_text('{"txn": 1, "op"')
    ran = cli("check", tmp_path, "--level", "ser")
    assert (
        ran.code == exit_codes.VALID
        and "b.jsonl: the file is empty" in ran.err
        and "c.jsonl:1: the last" in ran.err
    )


def test_closed_streams_are_no_error_of_ours() -> None:
    closed = f"{shlex.quote(sys.executable)} -m boomslang check {shlex.quote(str(SKEW))} --level ser >&- 2>&-"
    assert subprocess.run(["sh", "-c", closed], check=False).returncode == 1


def test_a_certificate_into_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    ran = program("check", VALID, "--level", "ser", "--certificate", pipe)
    reader.join(10)
    assert ran.code == 0 and json.loads(read[0])["verdict"] == "valid"


@pytest.fixture
def without_z3(tmp_path: Path) -> dict[str, str]:
    """An environment in which Z3 cannot be imported."""
    folder = tmp_path / "no-z3"
    folder.mkdir()
    (folder / "z3.py").write_text("raise ImportError('not here')\n")
    return {"PYTHONPATH": os.pathsep.join([str(folder), environment()["PYTHONPATH"]])}


def test_without_z3(cli: Any, tmp_path: Path, without_z3: dict[str, str]) -> None:
    proof = tmp_path / "proof.json"
    cli("check", SKEW, "--level", "ser,si", "--certificate", proof)
    ran = program("verify", SKEW, tmp_path / "proof.ser.json", **without_z3)
    assert ran.code == exit_codes.USAGE and ran.out == "" and "pip install 'boomslang-checker[z3]'" in ran.err
    assert program("verify", SKEW, tmp_path / "proof.si.json", **without_z3).code == 0
    ran = program("check", SKEW, "--level", "ser", "--solver", "z3", **without_z3)
    assert ran.code == exit_codes.USAGE and "pip install 'boomslang-checker[z3]'" in ran.err
    assert program("check", SKEW, "--level", "ser", **without_z3).code == exit_codes.INVALID


# --- ir and levels


def test_ir(cli: Any, tmp_path: Path) -> None:
    trace = write(
        tmp_path / "t.jsonl",
        *({"txn": t, "op": "begin"} for t in (1, 2, 3)),
        {"txn": 1, "op": "put", "key": "x", "value": 1},
        {"txn": 2, "op": "put", "key": "x", "value": 1},
        {"txn": 3, "op": "get", "key": "x", "value": 1},
        *({"txn": t, "op": "commit"} for t in (1, 2, 3)),
    )
    ran = cli("ir", trace, "--level", "ser")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == "level serializable"
    assert "write-order 'x': T0 T1" in ran.out and "read-from T2 'x' = 1: T0 | T1" in ran.out
    assert "superposition" not in ran.out
    assert (
        "superposition <T0 -ww('x')-> T1, T1 -ww('x')-> T0>"
        in cli("ir", trace, "--level", "ser", "--expand").out
    )


def test_levels(cli: Any) -> None:
    ran = cli("levels")
    assert ran.code == 0
    for level in LEVELS:
        assert f"{level.name} ({level.short})\n" in ran.out
        assert level.citation in ran.out and level.forbids in ran.out
        assert ", ".join(level.aliases) in ran.out
    assert cli("levels", "PL-2+").out.count("forbids") == 1
    assert "known, but not supported" in cli("levels", "PL-2L").err


def test_levels_as_json(cli: Any) -> None:
    data = json.loads(cli("levels", "--json").out)
    assert [level["name"] for level in data["levels"]] == [level.name for level in LEVELS]
    by_name = {level["name"]: level for level in data["levels"]}
    assert by_name["serializable"]["implies"] == ["repeatable-read", "snapshot-isolation"]
    assert by_name["strict-serializable"]["needs"] == ["times"]
    for level in data["levels"]:
        assert all(level["name"] in by_name[above]["implies"] for above in level["implied_by"])
    assert "monotonic-view" in {known["name"] for known in data["not_supported"]}


# --- the program itself


def test_python_dash_m() -> None:
    assert program("--version") == (0, f"boomslang {boomslang.__version__}\n", "")
    assert program("check", SKEW, "--level", "ser", "-q") == (1, "", "")
    assert program("check", SKEW, "--level", "sre").code == exit_codes.USAGE
    assert program("--nonsense").code == exit_codes.USAGE


@pytest.mark.skipif(not Path(sys.executable).with_name("boomslang").exists(), reason="not installed")
def test_the_installed_command() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("boomslang"), "check", SKEW, "--level", "ser", "-q"], check=False
    )
    assert done.returncode == exit_codes.INVALID


def test_piped_output_is_plain_and_does_not_know_the_width(tmp_path: Path) -> None:
    narrow = program("check", SKEW, "--level", "ser,si", COLUMNS="20")
    wide = program("check", SKEW, "--level", "ser,si", COLUMNS="300", FORCE_COLOR="1")
    assert re.sub(r"\d\.\d\d s", "", narrow.out) == re.sub(r"\d\.\d\d s", "", wide.out)
    assert printable(narrow.out) and narrow.err == ""
    slow = program("check", hard(tmp_path / "t.jsonl", 3_000), "--level", "ser", "--timeout", "1.5")
    assert slow.err == "" and printable(slow.out), "no progress bar into a pipe"


def test_output_that_nobody_reads() -> None:
    child = subprocess.Popen(
        [*PROGRAM, "levels"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(PYTHONUNBUFFERED="1"),
    )
    assert child.stdout is not None and child.stderr is not None
    child.stdout.close()
    assert child.stderr.read() == b"" and child.wait(20) == 0
    child.stderr.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*PROGRAM, "levels"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
            check=False,
        )
    assert done.returncode == exit_codes.USAGE
    assert done.stderr == "boomslang: cannot write the output: No space left on device\n"


def test_output_in_ascii() -> None:
    """A terminal or pipe that cannot show a letter gets its escape, not an error."""
    ran = program("check", "größe", "--level", "ser", PYTHONIOENCODING="ascii")
    assert ran.code == exit_codes.USAGE and ran.err.startswith("boomslang: gr\\xf6\\xdfe: ")


# --- what must never reach a terminal


def test_escape() -> None:
    assert escape("plain 'text' é 漢") == "plain 'text' é 漢"
    assert escape("\x1b[31m\n\u202e") == "\\x1b[31m\\n\\u202e"


def test_hostile_values_are_spelled_out(cli: Any, tmp_path: Path) -> None:
    trace = evil_trace(tmp_path / "evil.jsonl")
    ran = cli("check", trace, "--level", "ser,si", "--certificate", tmp_path / "proof.json")
    assert ran.code == exit_codes.INVALID and printable(ran.out) and "\\x1b[2J" in ran.out
    for words in (
        ["ir", trace, "--level", "ser", "--expand"],
        ["verify", trace, tmp_path / "proof.ser.json"],
        ["check", trace, "--level", "strongest", "--stats"],
    ):
        ran = cli(*words)
        assert ran.code == 0 and printable(ran.out) and printable(ran.err)
    ran = cli("check", trace, "--level", "ser", "--json")
    assert ran.out.isascii() and printable(ran.out)
    assert json.loads(ran.out)["levels"][0]["counterexample"]["transactions"][0]["session"] == EVIL


def test_hostile_errors_are_spelled_out(cli: Any, tmp_path: Path) -> None:
    for line in ({"op": EVIL}, {"op": "begin", "txn": 1, EVIL: 1}, "\x1b[31m", f'{{"op": "{EVIL}"}}'):
        trace = tmp_path / "bad.jsonl"
        write(trace, line, {"op": "begin", "txn": 2})
        ran = cli("check", trace, "--level", "ser")
        assert ran.code == exit_codes.USAGE and printable(ran.err), ran.err
    for words in (["check", f"x{EVIL[:4]}", "--level", "ser"], ["check", VALID, "--level", EVIL], [EVIL]):
        ran = cli(*(word.replace("\0", "") for word in words))
        assert ran.code == exit_codes.USAGE and printable(ran.err), ran.err


def test_hostile_file_names(cli: Any, tmp_path: Path) -> None:
    trace = tmp_path / "\x1b[31mred\n.jsonl"
    shutil.copy(SKEW, trace)
    ran = cli("check", trace, "--level", "ser")
    assert ran.code == exit_codes.INVALID and printable(ran.out) and "\\x1b[31mred\\n.jsonl:2" in ran.out


def test_very_long_values(cli: Any, tmp_path: Path) -> None:
    trace = write(
        tmp_path / "long.jsonl",
        '{"txn": 1, "op": "begin"}',
        f'{{"txn": 1, "op": "get", "key": {"7" * 5_000}, "value": "{"v" * 1_000_000}"}}',
        '{"txn": 1, "op": "commit"}',
    )
    ran = cli("check", trace, "--level", "ser")
    assert ran.code == exit_codes.INVALID and len(ran.out) < 2_000 and "characters)" in ran.out
    data = json.loads(cli("check", trace, "--level", "ser", "--json").out)
    assert data["levels"][0]["counterexample"]["reads"][0]["key"] == int("7" * 5_000)


# --- terminals and Ctrl-C


class Terminal:
    """The program on a terminal of its own (a pseudo-terminal, so Ctrl-C is a key and not a signal we send)."""

    def __init__(self, *words: object, columns: int = 80, **more: str) -> None:
        self.output = b""
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            command = [*PROGRAM, *map(str, words)]
            os.execvpe(command[0], command, environment(COLUMNS=str(columns), LINES="40", **more))

    def read_until(self, text: bytes, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while text not in self.output:
            assert time.monotonic() < end, f"{text!r} did not come: {self.output!r}"
            assert self._read(0.1), f"it ended without {text!r}: {self.output!r}"

    def press(self, key: bytes) -> None:
        os.write(self.master, key)

    def wait(self) -> int:
        """Reads to the end, which must come; the exit code."""
        end = time.monotonic() + 120
        while self._read(1):
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                raise AssertionError(f"it does not end: {self.output[-2000:]!r}")
        status = os.waitpid(self.pid, 0)[1]
        os.close(self.master)
        return os.waitstatus_to_exitcode(status)

    def _read(self, seconds: float) -> bool:
        """False: it has ended."""
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            piece = os.read(self.master, 65536)
        except OSError:
            return False
        self.output += piece
        return bool(piece)

    @property
    def text(self) -> str:
        """What it printed, without what sets colours."""
        return re.sub(r"\x1b\[[0-9;]*m", "", self.output.decode()).replace("\r\n", "\n")


def test_colours_on_a_terminal() -> None:
    terminal = Terminal("check", SKEW, "--level", "ser,si")
    assert terminal.wait() == exit_codes.INVALID
    assert b"\x1b[1;31mINVALID\x1b[0m" in terminal.output and b"\x1b[1;32mvalid\x1b[0m" in terminal.output
    assert printable(terminal.text)


@pytest.mark.parametrize("more", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colours_if_they_are_not_wanted(more: dict[str, str]) -> None:
    terminal = Terminal("check", SKEW, "--level", "ser,si", **more)
    assert terminal.wait() == exit_codes.INVALID
    assert b"\x1b" not in terminal.output and b"INVALID" in terminal.output


def test_long_lines_are_wrapped_on_a_terminal() -> None:
    terminal = Terminal("check", SKEW, "--level", "ser,si", columns=50)
    assert terminal.wait() == exit_codes.INVALID
    lines = terminal.text.split("\n")
    assert max(map(len, lines)) <= 50
    plain = program("check", SKEW, "--level", "ser,si").out
    timeless = re.compile(r"\d+\.\d\d")
    assert timeless.sub("", "".join(terminal.text.split())) == timeless.sub("", "".join(plain.split()))


def test_hostile_values_on_a_terminal(tmp_path: Path) -> None:
    terminal = Terminal("check", evil_trace(tmp_path / "evil.jsonl"), "--level", "ser,si")
    assert terminal.wait() == exit_codes.INVALID
    assert printable(terminal.text)
    terminal = Terminal("check", tmp_path, "--level", EVIL.replace("\0", ""))
    assert terminal.wait() == exit_codes.USAGE
    assert printable(terminal.text)


def interrupted(terminal: Terminal) -> None:
    """Presses Ctrl-C, and looks for one line, code 130, and half a second."""
    start = time.monotonic()
    terminal.press(b"\x03")
    code = terminal.wait()
    seconds = time.monotonic() - start
    assert code == exit_codes.INTERRUPTED
    assert terminal.text.rstrip("\n").endswith("boomslang: interrupted")
    assert "Traceback" not in terminal.text
    assert b"\x1b[?25h" in terminal.output, "the cursor is back"
    busy = os.getloadavg()[0] > (os.cpu_count() or 1)
    assert seconds < (2 if busy else 0.5), f"took {seconds:.2f} s"


def test_ctrl_c_while_reading(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    terminal = Terminal("check", pipe, "--level", "ser")
    with pipe.open("w") as writer:
        writer.write('{"txn": 1, "op": "begin"}\n')
        writer.flush()
        terminal.read_until(b"reading the trace")
        interrupted(terminal)


@pytest.mark.parametrize("solver", ["native", "z3"])
def test_ctrl_c_while_solving(tmp_path: Path, solver: str) -> None:
    trace = hard(tmp_path / "hard.jsonl", 20_000 if solver == "native" else 400)
    terminal = Terminal("check", trace, "--level", "ser", "--solver", solver)
    terminal.read_until(b"checking serializable")
    time.sleep(1)
    interrupted(terminal)


def test_ctrl_c_without_a_terminal(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    child = subprocess.Popen(
        [*PROGRAM, "check", str(pipe), "--level", "ser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    with pipe.open("w"):
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=10)
    assert child.returncode == exit_codes.INTERRUPTED and out == b"" and err == b"boomslang: interrupted\n"


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("check", SKEW, "--level", "serializbale"), "ser"),
        (("check", SKEW, "--level", "ser", "--output", "jsno"), "json"),
        (("check", SKEW, "--level", "ser", "--solver", "clngo"), "clingo"),
        (("check", SKEW, "--level", "ser", "--encoding", "polisy"), "polysi"),
        (("check", SKEW, "--level", "ser", "--solver", "z3", "--passes", "purne"), "prune"),
        (("check", SKEW, "--level", "ser", "--format", "jespen-edn"), "jepsen-edn"),
        (("check", SKEW, "--level", "ser", "--module", "real-time-oder"), "real-time-order"),
        (("check", SKEW, "--level", "ser", "--module", "bounded-staleness:tmie=3"), "time"),
        (("export", SKEW, "--level", "ser", "--to", "smtlb"), "smtlib"),
        (("run", "--workload", "bnak", "--out", "x"), "bank"),
        (("run", "--workload", "bank", "--out", "x", "--db", "postgers"), "postgres"),
        (("run", "--workload", "bank", "--out", "x", "--db-level", "immediat"), "immediate"),
        (("run", "--workload", "bank", "--out", "x", "--fault", "kill-clinet"), "kill-client"),
        (("db", "start", "postgras"), "postgres"),
    ],
    ids=lambda x: x if isinstance(x, str) else None,
)
def test_a_wrong_name_gets_the_one_that_was_meant(words: Any, meant: str, tmp_path: Path) -> None:
    from support.commands import command

    ran = command(*(tmp_path / "x" if word == "x" else word for word in words))
    assert ran.code == exit_codes.USAGE and f"(did you mean {meant}?)" in ran.err, ran.err


LOOPS = """
import pathlib, boomslang
HERE = pathlib.Path(__file__)
@boomslang.module
def loops(asg, ir, hints):
    'Comes to an end at read committed only.'
    while ir.level.name != 'read-committed':
        HERE.with_suffix('.begun').touch()
"""


def test_ctrl_c_keeps_the_levels_that_were_decided(tmp_path: Path) -> None:
    """Also while a module works: it is Python code, which the main thread need not wait for."""
    (tmp_path / "loops.py").write_text(LOOPS)
    terminal = Terminal("check", SKEW, "--level", "rc,ser", "--module", tmp_path / "loops.py")
    terminal.read_until(b"checking serializable")
    interrupted(terminal)
    assert "  read committed  valid\n  serializable    unknown  interrupted\n" in terminal.text


def test_ctrl_c_as_json(tmp_path: Path) -> None:
    (tmp_path / "loops.py").write_text(LOOPS)
    words = ["--level", "rc,ser", "--module", tmp_path / "loops.py", "--certificate", tmp_path / "proof.json"]
    child = subprocess.Popen(
        [*PROGRAM, "check", str(SKEW), *map(str, words), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    while not (tmp_path / "loops.begun").exists():
        assert child.poll() is None
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=10)
    answer = json.loads(out)
    SCHEMA.validate(answer)
    assert child.returncode == answer["exit"] == exit_codes.INTERRUPTED and err == b"boomslang: interrupted\n"
    told = [(level["status"], level["reason"]) for level in answer["levels"]]
    assert told == [("valid", None), ("unknown", "interrupted")]
    assert (tmp_path / "proof.rc.json").exists() and not (tmp_path / "proof.ser.json").exists()


def test_the_main_thread_waits_no_longer_than_a_little_over_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Should a solver not look at the clock: what was decided is told, and the exit code is unknown."""
    from support.commands import command

    from boomslang.cli import progress
    from boomslang.cli.watched_checker import WatchedChecker

    right = WatchedChecker.check

    def deaf(self: Any, level: Any) -> Any:
        if level.name == "serializable":
            time.sleep(20)
        return right(self, level)

    monkeypatch.setattr(WatchedChecker, "check", deaf)
    monkeypatch.setattr(progress, "GRACE", 0.3)
    monkeypatch.setattr(progress, "abandoned", [])
    start = time.monotonic()
    ran = command("check", SKEW, "--level", "rc,ser", "--timeout", 1)
    assert time.monotonic() - start < 10 and len(progress.abandoned) == 1
    assert ran.code == exit_codes.UNKNOWN
    assert "  read committed  valid\n" in ran.out and "unknown  the time limit was reached, and " in ran.out


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_the_progress_bar_as_a_person_sees_it(tmp_path: Path) -> None:
    """The bar is there while it works, and gone without a trace when it is done."""
    short = tempfile.mkdtemp()  # a path so short that no line is wrapped
    pipe = Path(short, "pipe.jsonl")
    os.mkfifo(pipe)
    socket = ["tmux", "-S", str(tmp_path / "s"), "-f", "/dev/null"]

    def tmux(*words: str) -> str:
        done = subprocess.run(
            [*socket, *words], capture_output=True, text=True, env=environment(), check=True
        )
        return done.stdout

    def seen(text: str, seconds: float = 20) -> str:
        end = time.monotonic() + seconds
        while text not in (screen := tmux("capture-pane", "-p")):
            assert time.monotonic() < end, screen
            time.sleep(0.05)
        return screen

    command = f"{' '.join(PROGRAM)} check {pipe} --level ser; echo code $?; exec sleep 1000"
    tmux("new-session", "-d", "-x", "200", "-y", "30", command)
    try:
        with pipe.open("w") as writer:
            writer.write(Path(VALID).read_text())
            writer.flush()
            screen = seen("reading the trace")
            assert re.search(r"reading the trace .* \d+ s", screen) and "serializable" not in screen
        screen = seen("code 0")
        lines = [line.rstrip() for line in screen.splitlines() if line.strip()]
        assert lines[0] == f"{pipe}: 3 transactions, 4 operations, 2 sessions, 2 keys"
        assert "reading the trace" not in screen and lines[1] == "  serializable  valid"
    finally:
        tmux("kill-server")
        shutil.rmtree(short)


def test_the_words_of_the_progress_bar() -> None:
    from boomslang.cli.progress import Watch

    watch = Watch()
    watch.begin("reading the trace")
    assert watch.percent == ""
    watch.bytes_read(1, 3)
    assert watch.percent == "33 %"
    watch.bytes_read(4, 3)  # a file that grows
    assert watch.percent == "100 %"
    watch.solving(12_345, 1, 17)
    assert watch.note == "17 places in the order still wrong; 12,345 guesses, 1 dead end"
