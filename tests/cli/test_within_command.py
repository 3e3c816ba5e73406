"""`--within` on the command line: what is asked, what is said, and certificates that keep the bound."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.commands import command, write

import boomslang
from boomslang import assert_isolation, checker, read_trace
from boomslang.certify.refute import CoreError, refute
from boomslang.cli import exit_codes
from boomslang.solve.solution import Solution
from boomslang.solve.strategy import solve

SCHEMA = jsonschema.Draft202012Validator(
    json.loads((Path(boomslang.__file__).parent / "cli" / "answer.schema.json").read_text())
)


def stale(path: Path, **header: str) -> Path:
    """b reads what was overwritten 1490 before."""
    return write(
        path,
        {"boomslang": 1, **header, "initial": {"items": [["x", 0]]}},
        {"session": "a", "op": "begin", "invoke": 0},
        {"session": "a", "op": "put", "key": "x", "value": 1},
        {"session": "a", "op": "commit", "return": 10},
        {"session": "b", "op": "begin", "invoke": 1500},
        {"session": "b", "op": "get", "key": "x", "value": 0},
        {"session": "b", "op": "commit", "return": 1510},
    )


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return stale(Path("t.jsonl"), unit="ms").relative_to(".")


def test_a_level_within_a_bound(trace: Path) -> None:
    ran = command("check", trace, "--level", "ser,pl-2+", "--within", "1s")
    assert ran.code == exit_codes.INVALID
    assert ran.out.rpartition("\n\n")[0] == (
        """\
t.jsonl: 2 transactions, 2 operations, 2 sessions, 1 key

  serializable within 1 s     INVALID  stale read
  consistent view within 1 s  INVALID  stale read

Why it is not serializable within 1 s and not consistent view within 1 s:
  G-single-realtime (stale read): a cycle with exactly one anti-dependency: somebody saw a state that never was, real-time order included
  rules out forward consistent view, and all that imply it
    T0: session 'a' (t.jsonl:2): put 'x' = 1
    T1: session 'b' (t.jsonl:5): get 'x' -> 0
  1. T0 had returned (at 10) 1.49 s before T1 was invoked (at 1500), more than 1 s
  2. T1 read 'x' = 0 (t.jsonl:6), the initial value, which nobody else wrote
  3. T1 read the initial 'x', which T0 overwrote (t.jsonl:3), so T1 is before T0 [from 2]
  => a cycle: T1 -rw('x')-> T0 -rt-> T1"""  # noqa: E501
    )
    assert command("check", trace, "--level", "ser", "--within", "2s").code == exit_codes.VALID
    assert command("check", trace, "--level", "ser-within-1s,ser").out.count("INVALID") == 1
    assert "serializable within 1 s" in command("check", trace, "--level", "ser", "--within", "1000").out
    assert (
        "Why it is not snapshot isolation within 1 s"
        in command("explain", trace, "--level", "si", "--within", "1s").out
    )


def test_json_and_certificates_keep_the_bound(trace: Path, tmp_path: Path) -> None:
    ran = command("check", trace, "--level", "ser,si", "--within", "1s", "--json", "--certificate", "c.json")
    data = json.loads(ran.out)
    SCHEMA.validate(data)
    assert [told["level"] for told in data["levels"]] == [
        "serializable-within-1s", "snapshot-isolation-within-1s",
    ]  # fmt: skip
    assert data["trace"]["unit"] == "ms" and data["levels"][0]["bounded"] is None
    assert [told["certificate"] for told in data["levels"]] == ["c.ser-within-1s.json", "c.si-within-1s.json"]
    ran = command("verify", trace, "c.ser-within-1s.json")
    assert ran.code == 0 and "is invalid at serializable within 1 s: Z3 refutes" in ran.out
    made = json.loads(Path("c.ser-within-1s.json").read_text())
    assert made["level"] == "serializable-within-1s"

    def verify(level: str, on: Path = trace) -> tuple[int, str]:
        Path("forged.json").write_text(json.dumps({**made, "level": level}))
        ran = command("verify", on, "forged.json")
        return ran.code, ran.out + ran.err

    assert verify("serializable-within-1489ms")[0] == 0
    assert verify("serializable-within-1000")[0] == 0
    for level in ("serializable-within-1490ms", "serializable-within-2s", "serializable-within-1490"):
        code, said = verify(level)
        assert code == exit_codes.INVALID and "WRONG" in said, level
    for level in (
        "ser-within-1s",
        "serializable-within-1000ms",
        "read-committed-within-1s",
        "serializable-within-1us",
    ):
        code, said = verify(level)
        assert code == exit_codes.USAGE and f"level '{level}'" in said
    other = stale(tmp_path / "other.jsonl")
    assert "does not say the unit" in verify("serializable-within-1s", other)[1]
    core = boomslang.check(read_trace(trace), "ser", within="1s").counterexample
    assert core is not None and refute(read_trace(trace), core.core)
    with pytest.raises(CoreError, match="the times are in no unit"):
        refute(read_trace(other), core.core)


def test_a_valid_certificate_keeps_the_bound(trace: Path) -> None:
    command("check", trace, "--level", "ser", "--within", "2s", "--certificate", "v.json")
    assert "valid at serializable within 2 s" in command("verify", trace, "v.json").out
    made = json.loads(Path("v.json").read_text())
    Path("v.json").write_text(json.dumps({**made, "level": "serializable-within-1s"}))
    ran = command("verify", trace, "v.json")
    assert ran.code == exit_codes.INVALID and "invoked only when it had returned" in ran.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ("check", "--level", "rc,ser", "--within", "1s"),
            "(within 1s) on read committed, which has no form",
        ),
        (("check", "--level", "sser", "--within", "1s"), "which already asks for real-time order"),
        (("check", "--level", "strongest", "--within", "1s"), "name those you mean"),
        (
            ("check", "--level", "ser", "--within", "soon"),
            "found 'soon' as a bound; expected a time such as 1s",
        ),
        (("check", "--level", "ser", "--within", "-1s"), "expected one argument"),
        (("check", "--level", "ser", "--within", "1us"), "whole numbers of ms"),
        (("explain", "--within", "1s"), "name those you mean with --level"),
        (
            ("check", "--level", "ser", "--within", "1s", "--solver", "z3", "--encoding", "cobra"),
            "not serializable within 1 s",
        ),
    ],
)
def test_wrong_bounds(trace: Path, words: tuple[str, ...], says: str) -> None:
    ran = command(words[0], trace, *words[1:])
    assert ran.code == exit_codes.USAGE and says in ran.err, ran.err


def test_a_trace_without_a_unit(tmp_path: Path) -> None:
    trace = stale(tmp_path / "t.jsonl")
    ran = command("check", trace, "--level", "ser", "--within", "1s")
    assert ran.code == exit_codes.USAGE
    assert "does not say the unit of its times" in ran.err and "--within 1000" in ran.err
    ran = command("check", trace, "--level", "ser", "--within", "1000")
    assert ran.code == exit_codes.INVALID and "serializable within 1000" in ran.out


def test_run_and_hunt_ask_within_a_bound(tmp_path: Path) -> None:
    load = ("--db", "sqlite", "--workload", "blindw", "--txns", "20", "--sessions", "2")
    ran = command("run", *load, "--out", tmp_path / "a", "--check", "ser,si", "--within", "1s")
    assert (
        ran.code == 0 and "serializable within 1 s" in ran.out and "snapshot isolation within 1 s" in ran.out
    )
    for words in (
        ("run", *load, "--out", tmp_path / "b"),
        ("run", *load, "--out", tmp_path / "b", "--check", "rc"),
    ):
        assert command(*words, "--within", "1s").code == exit_codes.USAGE
    assert not (tmp_path / "b").exists()
    words = ("hunt", *load, "--out", tmp_path / "c", "--for", "1s", "--level")
    assert "no violation of serializable within 1 s found" in command(*words, "ser", "--within", "1s").out
    assert "which has no form" in command(*words, "rc", "--within", "1s").err


def test_an_assertion_within_a_bound(trace: Path) -> None:
    assert assert_isolation(trace, "ser", within="2s").valid
    with pytest.raises(AssertionError, match="this is not serializable within 1 s"):
        assert_isolation(trace, "ser", within="1s", report="r.html")
    assert "serializable within 1 s" in Path("r.html").read_text()


def test_an_unknown_level_says_how_far_it_is_broken(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gives_up(ir: Any, limits: Any) -> Solution:
        known = ir.level.needs_times and ir.level.slack <= 300
        return solve(ir, limits) if known else Solution("unknown", reason="time")

    monkeypatch.setattr(checker, "solve_with_engine", gives_up)
    ran = command("check", trace, "--level", "ser")
    assert ran.code == exit_codes.UNKNOWN
    assert (
        "serializable  unknown  the time limit was reached; but it is not serializable within 200 ms of real time "
        "(boomslang check --level ser --within 200ms shows why)"
    ) in ran.out
    data = json.loads(command("check", trace, "--level", "ser", "--json").out)
    SCHEMA.validate(data)
    assert data["levels"][0]["bounded"] == {"refuted_within": 200, "unit": "ms"}


def test_statistics_speak_in_the_unit(trace: Path) -> None:
    out = command("stats", trace).out
    assert "0 to 1,510: 1.51 s, 2 transactions" in out and "10 ms (t.jsonl:" in out
