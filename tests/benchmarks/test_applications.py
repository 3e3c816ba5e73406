"""The benchmark of applications: its traces are what they claim to be, and its figures are those of a check.

That a database kept its level is shown without the checker first: its commits, in their order, are replayed on plain
dictionaries. Then the checker has to agree.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import applications
import pytest
from application_families import FAMILIES, with_settings
from applications import AT, DATABASES, Answer, Run, expected
from simulated_database import LEVELS, ORDERS, PLANTS, CannotPlant, Recording, concurrent, planted

from boomslang import Checker, read_trace

SIZE = 40
State = dict[str, Any]


def transactions(recording: Recording) -> dict[tuple[int, int], list[dict[str, Any]]]:
    found: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for line in sorted(recording.lines):
        found.setdefault((line.session, line.txn), []).append(json.loads(f"{{{line.text}}}"))
    return found


def changed(lines: list[dict[str, Any]], state: State) -> State:
    """The transaction alone on this state: it must see what was recorded. What it leaves."""
    here = dict(state)
    for line in lines:
        if line["op"] == "put":
            here[line["key"]] = line["value"]
        elif line["op"] == "get":
            assert here.get(line["key"]) == (None if "absent" in line else line["value"])
        elif line["op"] == "delete":
            assert (here.pop(line["key"], None) is not None) == line["found"]
        elif line["op"] == "scan":
            inside = {key: value for key, value in here.items() if line["from"] <= key < line["to"]}
            assert inside == dict(line["items"])
    return here


def written(lines: list[dict[str, Any]]) -> set[str]:
    return {line["key"] for line in lines if line["op"] in ("put", "delete")}


@pytest.mark.parametrize("lost", [0.0, 0.1])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_serializable_database_commits_in_a_serial_order(family: str, lost: float) -> None:
    recording = concurrent(FAMILIES[family], "ser", 200, lost=lost)
    told, state = transactions(recording), dict(recording.initial)
    for what, *txn in recording.witness:
        if what == "commit":
            state = changed(told[txn[0], txn[1]], state)
    assert recording.committed + recording.unknown == 200 and bool(recording.unknown) == bool(lost)


@pytest.mark.parametrize("family", FAMILIES)
def test_snapshots_and_the_first_committer(family: str) -> None:
    recording = concurrent(FAMILIES[family], "si", 200)
    told, state = transactions(recording), dict(recording.initial)
    snapshots: dict[tuple[int, int], State] = {}
    since: dict[tuple[int, int], set[str]] = {}
    for what, *numbers in recording.witness:
        txn = numbers[0], numbers[1]
        if what == "begin":
            snapshots[txn], since[txn] = state, set()
            continue
        after, keys = changed(told[txn], snapshots[txn]), written(told[txn])
        assert not keys & since.pop(txn), "two that overlap wrote a key"
        state = {key: value for key, value in state.items() if key not in keys} | {
            key: after[key] for key in keys if key in after
        }
        for others in since.values():
            others |= keys


TELLING = {
    "rc": ("rc",),
    "si": ("strong-si",),
    "ser": ("sser",),
    "lost-update": ("causal", "strong-si", "sser"),
    "write-skew": ("strong-si", "sser"),
    "stale-read": ("strong-session-ser", "strong-si", "sser"),
}
"""The strongest levels that are promised to hold, and some that are promised not to."""


def agree(run: Run, folder: Path) -> None:
    run.record().write(folder / "trace", "times")
    checker = Checker(read_trace(folder / "trace"), timeout=30)
    for level in TELLING[run.at]:
        assert expected(run.at, level) is not None
        assert checker.check(level).status == expected(run.at, level), level


@pytest.mark.parametrize("at", AT)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_checker_agrees_with_what_is_promised(family: str, at: str, tmp_path: Path) -> None:
    run = Run(family, at, SIZE)
    if at in PLANTS and at not in FAMILIES[family].plants:
        with pytest.raises(CannotPlant):
            run.record()
    else:
        agree(run, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2, 7))
@pytest.mark.parametrize(
    ("family", "at"), [(name, at) for name in FAMILIES for at in (*DATABASES, *FAMILIES[name].plants)]
)
def test_the_checker_agrees_with_any_seed(family: str, at: str, seed: int, tmp_path: Path) -> None:
    if at in DATABASES:
        agree(Run(family, at, 150, seed, lost=0.05), tmp_path)
    else:
        agree(Run(family, at, 80, seed, place=seed / 8), tmp_path)


@pytest.mark.parametrize(
    ("family", "at", "weakest"),
    [
        ("seats", "rc", "strong-si"),
        ("carts", "rc", "strong-si"),
        ("seats", "si", "sser"),
        ("bank", "si", "sser"),
    ],
)
def test_weak_databases_let_something_happen(family: str, at: str, weakest: str, tmp_path: Path) -> None:
    """Else the benchmark would measure nothing but valid traces."""
    Run(family, at, 200).record().write(tmp_path / "t", "times")
    assert Checker(read_trace(tmp_path / "t"), timeout=30).check(weakest).status == "invalid"


def test_what_is_planted_is_where_it_was_asked_for_and_overlaps() -> None:
    for place in (0.0, 0.5, 1.0):
        recording = planted(FAMILIES["on-call"], "lost-update", 100, place=place)
        assert abs(recording.planted[0] - 98 * place) <= 5 and recording.committed == 100
    begins = sorted(line.invoked for line in recording.lines if '"begin"' in line.text)
    ends = sorted(line.returned for line in recording.lines if '"commit"' in line.text)
    overlapping = [n for n in range(99) if begins[n + 1] < ends[n]]
    assert overlapping == [recording.planted[0]]


def test_orders_differ_in_what_they_tell(tmp_path: Path) -> None:
    recording = Run("carts", "si", SIZE).record()
    seen = {}
    for order in ORDERS:
        recording.write(tmp_path / order, order)
        seen[order] = trace = read_trace(tmp_path / order)
        assert (len(trace), len(trace.sessions)) == (SIZE + recording.aborted, 8)
        assert trace.has_times == (order == "times")
        assert len(trace.files) == (1 if order == "log" else 8)
    again = Run("carts", "si", SIZE).record()
    again.write(tmp_path / "again", "log")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "log").read_bytes()


def test_settings() -> None:
    assert len(with_settings("on-call", ["doctors=7"]).initial()) == 7
    with pytest.raises(ValueError, match="on-call has no 'nurses'; there are doctors, looks"):
        with_settings("on-call", ["nurses=1"])
    with pytest.raises(ValueError, match="expected doctors= and a number"):
        with_settings("on-call", ["doctors=many"])


def test_generate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["generate", "bank", "--at", "SI", "--size", "30", "--order", "log", str(tmp_path / "t.jsonl")]
    assert applications.main(words) == 0
    assert json.loads(capsys.readouterr().out)["committed"] == 30
    assert len(read_trace(tmp_path / "t.jsonl")) >= 30
    for more, complaint in (
        ([], "is there already"),
        (["--place", "2", "--at", "lost-update", str(tmp_path / "u")], "expected two transactions"),
        (["--at", "write-skew", "--lost", "0.1", str(tmp_path / "u")], "answers get lost in a database"),
    ):
        with pytest.raises(SystemExit):
            applications.main([*(words[:-1] if more else words), *more])
        assert complaint in capsys.readouterr().err


def test_a_question_is_measured(tmp_path: Path) -> None:
    Run("seats", "write-skew", SIZE).record().write(tmp_path / "t", "times")
    found, within = applications.ask(tmp_path / "t", [("sser", None), ("ser", "1s")], 30, 4000)
    assert found["status"] == "invalid" and found["core"] >= 2 and found["lines"] > 3
    assert found["cpu"] > 0 and found["megabytes"] > 10 and found["name"] and found["decided_by"]
    assert found["solving"] > 0 and found["explaining"] > 0 and within["status"] in ("valid", "invalid")
    (missing,) = applications.ask(tmp_path / "nowhere", [("sser", None)], 30, 4000)
    assert missing["status"] == "error" and "no such file" in missing["reason"]


def example(status: str, expect: str | None, level: str = "ser") -> Answer:
    return Answer("bank", "ser", 100, "times", level, status, expect, 0.5, 40.0, 0, "direct", "", 0, "")


def test_wrong_is_what_contradicts() -> None:
    assert example("invalid", "valid").wrong and example("error", None).wrong
    assert not example("unknown", "valid").wrong and not example("invalid", None).wrong


def test_the_tables() -> None:
    text = applications.report([example("valid", "valid"), example("unknown", None, "si")], [])
    assert "| family | size | si | ser |" in text and "| bank | 100 | 0/1 | 1/1 |" in text
    assert "| bank | ser | 100 | times | si |" in text


def test_unknown_beside_its_bounded_answer() -> None:
    asked = [
        example("unknown", None),
        example("invalid", None, "ser within 1s"),
        example("unknown", None, "si"),
    ]
    told = "Of 2 plain questions with times, 2 stayed unknown; {} of these have an answer within a bound of real time:"
    asked.append(example("unknown", None, "si within 1s"))
    assert any(line.startswith(told.format(1)) for line in applications.report(asked, []))
    asked[2] = replace(asked[2], refuted_within="500ms")
    assert any(line.startswith(told.format(2)) for line in applications.report(asked, []))


def test_what_was_asked_is_met_or_not() -> None:
    slow = replace(example("valid", None, "sser"), cpu=10.1)
    elsewhere = replace(example("invalid", None, "si"), size=0, family="mariadb-10000-2", core=20, lines=14)
    told = replace(elsewhere, name="lost update")
    unnamed, late = replace(elsewhere, name="no name"), replace(told, cpu=1.1)

    def asked(answers: list[Answer], shared: list[Answer]) -> list[str]:
        return [line for line in applications.asked_for(answers, shared) if line.startswith("| ")][2:]

    def met(lines: list[str], what: str) -> str:
        return next(line for line in lines if line.startswith(f"| {what}")).split(" | ")[-1]

    good = asked([example("valid", None, "sser"), example("valid", None, "ser within 1s")], [told])
    assert all(line.endswith(("| yes |", "| told |")) for line in good)
    bad = asked([slow, example("unknown", None, "ser within 1s"), example("unknown", None)], [unnamed, late])
    broken = [line for line in bad if line.endswith("| **no** |")]
    assert [line.split(",")[0].split(" at ")[0] for line in broken] == [
        "| strict levels",
        "| levels within 1s",
        "| plain levels unknown that take a bound",
        "| mariadb-10000-2",
        "| mariadb-10000-2",
    ]
    assert met(asked([example("unknown", None, "sser")], []), "strict levels") == "**no** |"


def test_runs_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applications, "RESULTS", tmp_path / "runs")
    applications.Results(["--sizes", "100"]).keep(example("unknown", None))
    second = applications.Results(["--sizes", "100", "--levels", "ser", "--write"])
    second.keep(example("valid", "valid"))
    second.keep(replace(example("valid", "valid"), size=0, family="elsewhere"))
    second.end()
    os.utime(second.path, (2**32, 2**32))
    families, elsewhere, runs = applications.Results.of_all_runs()
    assert [a.status for a in (*families, *elsewhere)] == ["valid", "valid"] and not elsewhere[0].size
    told = applications.what_was_run(runs)
    first = "`python benchmarks/applications.py --sizes 100` (stopped after 1 questions)"
    assert f"{first}, then `python benchmarks/applications.py --sizes 100 --levels ser`." in told


def test_a_run_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applications, "RESULTS", tmp_path / "runs")
    first = applications.Results(["--sizes", "100"])
    for family in ("on-call", "bank"):
        first.keep(replace(example("valid", "valid"), family=family))
    stopped = applications.Results(["--sizes", "100", "--write"])
    assert [a.family for a in stopped.answers] == ["on-call"], "the last trace may lack questions"
    first.end()
    assert [a.family for a in applications.Results(["--sizes", "100"]).answers] == ["on-call", "bank"]
    assert not applications.Results(["--sizes", "100"], forget=True).answers


def test_what_is_answered_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applications, "RESULTS", tmp_path / "runs")
    words = ["--families", "on-call", "--at", "ser", "--orders", "times", "--levels", "ser", "--no-shared"]
    assert applications.main(words) == 0
    monkeypatch.setattr(applications, "answers_about", None)  # asking would fail
    assert applications.main(words) == 0
    assert [a.status for a in applications.Results(words).answers] == ["valid", "valid"]


def test_the_plan_is_understood() -> None:
    for part in (*applications.PLAN, " ".join(applications.MARIADB_PART)):
        assert applications.parse(part.split()).levels


def test_what_was_asked_for_line_by_line() -> None:
    asked = [
        example("valid", "valid", "sser"),
        replace(example("valid", "valid", "sser"), cpu=11.0),
        example("unknown", None, "si within 1s"),
        example("unknown", None, "si"),
        replace(example("unknown", None, "si"), size=100_000, refuted_within="20ms"),
    ]
    lost = replace(
        example("invalid", "invalid"), family="inventory-200-lost", size=0, core=11, name="lost update"
    )
    text = applications.asked_for(asked, [replace(lost, lines=10)])
    assert (
        "| strict levels, with times, up to 10,000 | all, in 10 s | 1 of 2, 11.0 s at most | **no** |" in text
    )
    assert (
        "| levels within 1s, with times, up to 10,000 | all, in 10 s | 0 of 1, 0.0 s at most | **no** |"
        in text
    )
    assert "| plain levels unknown that take a bound, with no answer within one | none | 1 | **no** |" in text
    mark = "in 1 s; a name and fewer than 15 lines if broken"
    assert f"| inventory-200-lost at ser | {mark} | invalid in 0.50 s, lost update, 10 lines | yes |" in text


@pytest.mark.parametrize(
    ("name", "ser", "sser"), [("even", "valid", "invalid"), ("lost", "invalid", "invalid")]
)
def test_what_is_known_of_traces_recorded_elsewhere(name: str, ser: str, sser: str) -> None:
    found = [applications.expected_elsewhere(f"inventory-200-{name}", level) for level in ("ser", "sser")]
    assert found == [ser, sser] and applications.expected_elsewhere("else", "ser") is None


def test_every_level_of_a_database_is_asked_about() -> None:
    assert all(expected(at, level) in ("valid", "invalid", None) for at in AT for level in applications.ASKED)
    assert {at for at in AT if expected(at, "sser") == "valid"} == {"ser"} and set(LEVELS) < set(AT)
