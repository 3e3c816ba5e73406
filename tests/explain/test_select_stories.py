"""Stories of selects: a write skew through a condition, a phantom, and conditions over several columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT

from boomslang import check
from boomslang.certify.certificate import Core, read_certificate, to_json
from boomslang.certify.refute import CoreError, refute
from boomslang.cli.main import main
from boomslang.trace import Trace, TraceBuilder, read_trace
from boomslang.verdict import Verdict

ON_CALL = ROOT / "examples" / "on-call.jsonl"
A, B = {"column": "a"}, {"column": "b"}


def told(verdict: Verdict) -> str:
    assert verdict.counterexample is not None and verdict.counterexample.argument is not None
    return "\n".join(verdict.counterexample.argument.lines())


def test_two_doctors_go_off_call() -> None:
    trace = read_trace(ON_CALL)
    verdict = check(trace, "serializable")
    assert verdict.invalid and verdict.counterexample is not None
    assert verdict.counterexample.anomaly is not None
    assert (verdict.counterexample.anomaly.code, verdict.counterexample.anomaly.name) == (
        "G2",
        "phantom write skew",
    )
    assert "-prw('doctors[1] where on_call = true')-> T0" in told(verdict)
    assert refute(trace, verdict.counterexample.core)
    for level in ("snapshot-isolation", "repeatable-read", "consistent-view", "read-committed"):
        assert check(trace, level).valid, level


def test_the_columns_that_were_returned_are_items() -> None:
    """If the select had returned the column, repeatable read would object, too."""
    b = TraceBuilder(initial={f"d[{n}]{c}": True for n in (1, 2) for c in ("", ".on_call")})
    for n in (1, 2):
        with b.transaction() as t:
            items = [(f"d[{m}]{c}", True) for m in (1, 2) for c in ("", ".on_call")]
            t.select("d", ["=", {"column": "on_call"}, True], items)
            t.put(f"d[{n}].on_call", False)
    assert check(b.build(), "repeatable-read").invalid


def several_columns(*, returned: bool) -> Trace:
    """x and y each change a column; z has seen both, and asks for both."""
    b = TraceBuilder(initial={"t[1]": True, "t[1].a": 0, "t[1].b": 0})
    with b.transaction("x") as t:
        t.put("t[1].a", 1)
    with b.transaction("y") as t:
        t.put("t[1].b", 1)
    with b.transaction("z") as t:
        t.get("t[1].a", 1)
        t.get("t[1].b", 1)
        t.select("t", ["and", ["=", A, 1], ["=", B, 1]], [("t[1]", True)] if returned else [])
    return b.build()


def test_a_condition_is_evaluated_on_the_columns_together() -> None:
    for level in ("serializable", "snapshot-isolation", "read-atomic", "causal"):
        assert check(several_columns(returned=True), level).valid
    verdict = check(several_columns(returned=False), "serializable")
    assert verdict.invalid and "with that, t[1] would have matched" in told(verdict)
    assert verdict.stats["joint reads"] == 1
    assert check(several_columns(returned=False), "read-committed").valid


def inserted(condition: Any, *, returned: bool, value: Any = 1) -> Trace:
    """One inserts a row; another has seen the insert, and asks."""
    b = TraceBuilder()
    with b.transaction("x") as t:
        t.put("t[1]", True)
        t.put("t[1].a", value)
        t.put("t[1].b", None)
        t.put("done", 1)
    with b.transaction("y") as t:
        t.get("done", 1)
        t.select("t", condition, [("t[1]", True)] if returned else [])
    return b.build()


@pytest.mark.parametrize(
    ("condition", "value", "matches"),
    [
        (True, 1, True),
        (["=", A, 1], 1, True),
        (["=", A, 1], 2, False),
        (["=", A, B], 1, False),
        (["is-null", B], 1, True),
        (["not", ["=", B, 1]], 1, False),
        (["or", ["=", B, 1], ["in", A, [1, 2]]], 2, True),
        (["=", {"key": 0}, 1], 1, True),
        (["and", ["<", {"key": 0}, 1], ["=", A, 1]], 1, False),
    ],
)
def test_what_matches_and_what_does_not(condition: Any, value: Any, matches: bool) -> None:
    assert check(inserted(condition, returned=matches, value=value), "read-atomic").valid
    wrong = check(inserted(condition, returned=not matches, value=value), "read-atomic")
    assert wrong.invalid and wrong.counterexample is not None and wrong.counterexample.anomaly is not None


def test_a_phantom_is_called_one() -> None:
    verdict = check(inserted(["=", A, 1], returned=False), "serializable")
    assert verdict.counterexample is not None and verdict.counterexample.anomaly is not None
    assert verdict.counterexample.anomaly.name in ("phantom", "fractured read")
    assert "t[1] where a = 1" in told(verdict) and "no match" in told(verdict)


def test_a_deleted_row_does_not_match_and_its_key_is_free() -> None:
    b = TraceBuilder(initial={"t[1]": True, "t[1].a": None})
    with b.transaction("x") as t:
        t.delete("t[1]", True)
        t.delete("t[1].a")
        t.select("t", ["is-null", A])  # its own delete
        t.select("t")
    with b.transaction("x") as t:
        t.select("t", ["is-null", A])
    trace = b.build()
    assert check(trace, "strong-session-serializable").valid
    b = TraceBuilder(initial={"t[1]": True, "t[1].a": None})
    with b.transaction() as t:
        t.delete("t[1]", True)
        t.delete("t[1].a")
        t.select("t", ["is-null", A], [("t[1]", True)])
    verdict = check(b.build(), "read-committed")
    assert verdict.invalid and "own" in told(verdict)


def test_commands_show_selects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cat", str(ON_CALL)]) == 0
    assert "select from doctors where on_call = true -> 'doctors[1]' = True" in capsys.readouterr().out
    assert main(["stats", str(ON_CALL), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["operations"]["by_kind"]["select"] == 2
    proof, report = tmp_path / "proof.json", tmp_path / "report.html"
    asked = [str(ON_CALL), "--level", "ser,si", "--certificate", str(proof), "--report", str(report), "--all"]
    assert main(["check", *asked]) == 1
    assert "select from doctors where on_call = true: doctors[2] -> matched" in capsys.readouterr().out
    assert "select" in report.read_text()
    for level in ("ser", "si"):
        assert main(["verify", str(ON_CALL), str(tmp_path / f"proof.{level}.json")]) == 0
        assert "right:" in capsys.readouterr().out
    assert main(["check", str(ON_CALL), "--level", "ser", "--module", "session-order"]) == 254
    assert "the module session-order does not know" in capsys.readouterr().err
    assert main(["check", str(ON_CALL), "--level", "ser", "--encoding", "cobra"]) == 254
    assert "ask without an encoding" in capsys.readouterr().err


def test_forged_cores_are_refused(tmp_path: Path) -> None:
    trace = read_trace(ON_CALL)
    keys = len(trace.keys)
    # Without one of the two selects nothing is refuted; and of what no select asked, a core cannot speak.
    assert not refute(trace, Core("serializable", (0, 1), ((0, 2 * keys),)))
    for read in (
        (0, 2 * keys + 7),
        (0, 3 * keys + 99),
        (1, 2 * keys),
        (0, keys + list(trace.keys).index("doctors[1].name")),
    ):
        with pytest.raises(CoreError, match="not in the trace"):
            refute(trace, Core("serializable", (0, 1), (read,)))
    path = tmp_path / "core.json"
    path.write_text(
        json.dumps(to_json(trace, Core("serializable", (0, 1), ((0, 2 * keys + 1), (2, 2 * keys)))))
    )
    assert isinstance(read_certificate(path, trace), Core)
