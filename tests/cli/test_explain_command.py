"""`boomslang explain`: the story of the weakest broken levels, of a level asked for, and all violations."""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from support.commands import command
from support.histories import get, history, put, txn
from support.paths import ROOT

from boomslang.trace import Trace, write_trace

SCHEMA = json.loads((files("boomslang") / "explain" / "explanation.schema.json").read_text())
ANSWERS = json.loads((files("boomslang") / "cli" / "answer.schema.json").read_text())


@pytest.fixture(autouse=True)
def beside_the_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def lost_updates(*keys: str) -> Trace:
    pairs = [txn(f"{key}{n}", get(key, 0), put(key, n)) for key in keys for n in (1, 2)]
    return history(*pairs, initial=dict.fromkeys(keys, 0))


def written(tmp_path: Path, trace: Trace) -> Path:
    path = tmp_path / "trace.jsonl"
    write_trace(trace, path)
    return path


def test_without_a_level_the_weakest_broken_ones_are_explained() -> None:
    ran = command("explain", "examples/write-skew.jsonl")
    assert ran.code == 1 and not ran.err
    assert "Why it is not repeatable read:" in ran.out
    assert "G2-item (write skew)" in ran.out
    assert len(ran.out.splitlines()) < 40


def test_a_level_that_holds_has_nothing_to_explain() -> None:
    ran = command("explain", "examples/write-skew.jsonl", "--level", "si")
    assert ran.code == 0
    assert ran.out.splitlines()[-1] == "snapshot isolation: valid"
    ran = command("explain", "examples/valid.jsonl")
    assert ran.code == 0 and ran.out.splitlines()[-1] == "strong session strict serializable: valid"


def test_one_reason_for_several_levels_is_told_once(tmp_path: Path) -> None:
    path = written(tmp_path, lost_updates("x"))
    ran = command("explain", path, "--level", "ser,si")
    assert ran.out.count("Why it is not") == 1
    assert "The same transactions break snapshot isolation" in ran.out


def test_the_place_of_each_operation_is_in_the_story(tmp_path: Path) -> None:
    path = written(tmp_path, lost_updates("x"))
    lines = path.read_text().splitlines()
    ran = command("explain", path, "--level", "ser")
    for n, line in enumerate(lines, 1):
        if json.loads(line).get("op") in ("get", "put"):
            assert f"({path.name}:{n})" in ran.out


@pytest.mark.parametrize("words", ["explain", "check"])
def test_all_violations_are_listed(words: str, tmp_path: Path) -> None:
    path = written(tmp_path, lost_updates("x", "y", "z"))
    ran = command(words, path, "--level", "si", "--all")
    assert "Violations of snapshot isolation: 3 (all: with one read of each left out" in ran.out
    assert "3 x lost-update (lost update)" in ran.out
    listed = ran.out[ran.out.index("Violations of") :]
    assert listed.count("a cycle: ") == 3 and "more" not in listed
    ran = command(words, path, "--level", "si", "--all", "1")
    listed = ran.out[ran.out.index("Violations of") :]
    assert listed.count("a cycle: ") == 1 and "... and 2 more" in listed
    assert "Violations of" not in command(words, path, "--level", "si").out


def test_each_violation_is_a_result_for_programs(tmp_path: Path) -> None:
    path = written(tmp_path, lost_updates("x", "y", "z"))
    for words in ("explain", "check"):
        sarif = json.loads(command(words, path, "--level", "si", "--all", "1", "--output", "sarif").out)
        assert len(sarif["runs"][0]["results"]) == 3
        assert (
            command(words, path, "--level", "si", "--all", "1", "--output", "junit").out.count("<failure")
            == 3
        )
        assert (
            command(words, path, "--level", "si", "--all", "1", "--output", "dot").out.count("digraph") == 2
        )


def test_as_json(tmp_path: Path) -> None:
    path = written(tmp_path, lost_updates("x", "y"))
    ran = command("explain", path, "--level", "si,rc", "--all", "--output", "json")
    data = json.loads(ran.out)
    assert data["exit"] == ran.code == 1
    assert [one["verdict"] for one in data["explanations"]] == ["invalid", "valid"]
    assert [one["anomaly"]["name"] for one in data["further"]] == ["lost update"]
    for one in (*data["explanations"], *data["further"]):
        Draft202012Validator(SCHEMA).validate(one)
    (listed,) = data["violations"]
    assert listed["complete"] and listed["count"] == 2
    assert listed["groups"] == [{"code": "lost-update", "name": "lost update", "count": 2}]
    assert len({tuple(one["transactions"]) for one in listed["violations"]}) == 2
    answer = json.loads(command("check", path, "--level", "si,rc", "--all", "--json").out)
    Draft202012Validator(ANSWERS).validate(answer)
    assert answer["levels"][1]["violations"] is None
    assert answer["levels"][0]["violations"]["groups"] == listed["groups"]


def test_a_limit() -> None:
    ran = command("explain", "examples/write-skew.jsonl", "--timeout", "1e-9")
    assert ran.code == 2 and "limit" in ran.err + ran.out


@pytest.mark.parametrize(
    "words",
    [
        ("--all", "0"),
        ("--all", "many"),
        ("--level", "nonsense"),
        ("--level", "strongest,ser"),
        ("--module", "nonsense"),
        ("--output", "pdf"),
        ("--json", "--quiet"),
    ],
)
def test_wrong_use_is_answered_clearly(words: tuple[str, ...]) -> None:
    ran = command("explain", "examples/write-skew.jsonl", *words)
    assert ran.code == 254 and ran.err and "Traceback" not in ran.err
    assert not ran.out


def test_all_violations_with_a_module_and_of_appends(tmp_path: Path) -> None:
    ran = command(
        "explain", "examples/write-skew.jsonl", "--level", "ser", "--all", "--module", "unique-values"
    )
    assert ran.code == 1 and "Violations of serializable: 1 (all" in ran.out


def test_quiet_says_nothing() -> None:
    ran = command("explain", "examples/write-skew.jsonl", "--quiet")
    assert (ran.code, ran.out, ran.err) == (1, "", "")


# --- colours


def test_a_terminal_gets_colours_and_a_file_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = command("explain", "examples/write-skew.jsonl").out
    assert "\x1b" not in plain
    monkeypatch.setattr("boomslang.cli.screen.is_terminal", lambda stream: stream is sys.stdout)
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured = command("explain", "examples/write-skew.jsonl").out
    assert "\x1b[" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in command("explain", "examples/write-skew.jsonl").out
