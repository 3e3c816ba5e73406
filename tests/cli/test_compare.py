"""`boomslang compare`: two traces, two hunts, what is new; and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from support.commands import command, printable
from support.histories import get, history, put, txn
from support.paths import ROOT
from support.report_samples import JOKES, jokes, transfers

import boomslang
from boomslang.databases import ADAPTERS
from boomslang.trace import write_trace

VALID, SKEW = ROOT / "examples" / "valid.jsonl", ROOT / "examples" / "write-skew.jsonl"
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((Path(boomslang.__file__).parent / "cli" / "compare.schema.json").read_text())
)


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store of the tests, by the name `memory`."""
    monkeypatch.setitem(ADAPTERS, "memory", "support.memory_store:Memory")  # type: ignore[arg-type]


def compared(*words: object) -> tuple[int, dict]:
    ran = command("compare", *words, "--json")
    data = json.loads(ran.out)
    SCHEMA.validate(data)
    assert data["exit"] == ran.code
    return ran.code, data


def test_a_level_that_only_the_second_breaks() -> None:
    code, data = compared(VALID, SKEW)
    assert code == 1 and data["newly_broken"] == ["serializable"]
    assert data["new"] == ["serializable is broken: write skew", "anomaly: write skew"] and data["gone"] == []
    code, data = compared(SKEW, VALID)
    assert code == 0 and data["newly_broken"] == [] and "anomaly: write skew" in data["gone"]
    code, data = compared(SKEW, SKEW)
    assert code == 0 and data["new"] == data["gone"] == data["settings"] == []
    assert all(figure["ratio"] in (1, None) for figure in data["figures"])


def test_figures_are_those_of_stats(tmp_path: Path) -> None:
    write_trace(transfers(), tmp_path / "t.jsonl")
    _, data = compared(SKEW, tmp_path / "t.jsonl", "--level", "rc")
    stats = json.loads(command("stats", tmp_path / "t.jsonl", "--json").out)
    found = data["second"]["figures"]
    assert found["transactions"] == stats["transactions"]["total"] and found["keys"] == stats["keys"]
    assert found["operations"] == stats["operations"]["total"]
    assert list(data["first"]["answers"]) == ["read committed"]


def test_unknown_where_the_first_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody may take an answer that is not there for one that is good."""
    from boomslang.checker import Checker
    from boomslang.verdict import UNKNOWN, Verdict

    right = Checker.check

    def tired(self: Checker, level: object) -> Verdict:
        verdict = right(self, level)  # type: ignore[arg-type]
        return (
            Verdict(self.trace, verdict.level, UNKNOWN, "tired") if len(self.trace.sessions) == 3 else verdict
        )

    monkeypatch.setattr(Checker, "check", tired)
    code, data = compared(VALID, SKEW)
    assert (
        code == 2
        and data["newly_broken"] == []
        and data["second"]["answers"]["serializable"]["reason"] == "tired"
    )


def test_the_text() -> None:
    ran = command("compare", VALID, SKEW)
    assert ran.code == 1
    for line in (
        "serializable              valid         invalid       second: write skew",
        "new in the second",
    ):
        assert line in ran.out
    assert "answers" not in command("compare", VALID, SKEW, "--no-check").out


def test_settings_that_differ(tmp_path: Path) -> None:
    for seed in (1, 2):
        words = ("run", "--db", "sqlite", "--workload", "bank", "--txns", 40, "--seed", seed, "--quiet")
        assert command(*words, "--out", tmp_path / str(seed)).code == 0
    _, data = compared(tmp_path / "1", tmp_path / "2", "--no-check")
    assert data["settings"] == [{"name": "seed", "first": "1", "second": "2"}]
    assert (
        data["first"]["settings"]["workload"] == "bank" and data["first"]["figures"]["commits a second"] > 0
    )


def hunted(folder: Path, *words: object) -> int:
    return command(
        "hunt", "--workload", "list-append", "--txns", 60, "--for", "20s", "--out", folder, *words
    ).code


def test_two_hunts(tmp_path: Path, memory: None) -> None:
    assert hunted(tmp_path / "a", "--db", "memory", "--for", "0.3s") == 0
    assert hunted(tmp_path / "b", "--db", "memory", "--db-level", "broken", "--level", "ser") == 1
    code, data = compared(tmp_path / "a", tmp_path / "b", "--report", tmp_path / "c.html")
    assert code == 1 and data["kind"] == "hunt" and data["newly_broken"] == ["serializable"]
    assert {s["name"] for s in data["settings"]} == {"level"}
    first = json.loads((tmp_path / "a" / "hunt.json").read_text())
    assert data["first"]["figures"]["runs"] == first["runs"]
    assert "Two hunts" in (tmp_path / "c.html").read_text()
    (tmp_path / "printed.json").write_text(json.dumps({**first, "tried": []}))
    assert (
        "commits a second" not in compared(tmp_path / "printed.json", tmp_path / "a")[1]["first"]["figures"]
    )
    assert compared(tmp_path / "printed.json", tmp_path / "a" / "hunt.json")[0] == 0


def test_a_document_of_something_else(tmp_path: Path, memory: None) -> None:
    assert hunted(tmp_path / "a", "--db", "memory", "--for", "0.3s") == 0
    told = json.loads((tmp_path / "a" / "hunt.json").read_text())
    expected = "expected what `boomslang hunt --json` prints"
    for spoilt, error in (
        ({name: value for name, value in told.items() if name != "tried"}, f"found no 'tried'; {expected}"),
        ({**told, "seconds": "soon"}, f"found something else; {expected}"),
        ({**told, "asked": "whatever"}, "whatever"),
        ({**told, "tried": [1]}, f"found something else; {expected}"),
    ):
        (tmp_path / "b.json").write_text(json.dumps(spoilt))
        ran = command("compare", tmp_path / "a", tmp_path / "b.json")
        assert ran.code == 254 and error in ran.err, (error, ran)


def test_wrong_use(tmp_path: Path) -> None:
    (tmp_path / "hunt.json").write_text("{}")
    for words, error in (
        ((VALID, tmp_path), "found a hunt"),
        ((VALID, SKEW, "--level", "strongest"), "expected levels to compare"),
        ((VALID, SKEW, "--level", "ser", "--no-check"), "expected one of them"),
        ((VALID, tmp_path / "nothing"), "nothing"),
        ((VALID, SKEW, "--report", tmp_path), "it is a folder"),
    ):
        ran = command("compare", *words)
        assert ran.code == 254 and error in ran.err, (words, ran)


def test_nothing_of_a_trace_is_obeyed(tmp_path: Path) -> None:
    write_trace(jokes(), tmp_path / "j.jsonl")
    ran = command("compare", VALID, tmp_path / "j.jsonl", "--report", tmp_path / "c.html")
    assert ran.code == 1 and printable(ran.out)
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert "<script" not in page and "<img" not in page and JOKES[0] not in page


def test_the_same_history_twice(tmp_path: Path) -> None:
    trace = history(txn("a", put("x", 1)), txn("b", get("x", 1)))
    write_trace(trace, tmp_path / "t.jsonl")
    assert compared(tmp_path / "t.jsonl", tmp_path / "t.jsonl")[0] == 0
