"""Where values repeat: the proof in a sentence, what probably happened, and all that carries both.

tests/explain/repeated holds the stories word for word. When the words change on purpose, `make docs` (this file, run as
a program) writes them anew.
"""

from __future__ import annotations

import json
import random
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from fuzz.traces import random_trace
from simulate import History, generate
from support.explanations import examine
from support.histories import get, history, put, txn
from support.repeated_values import DOCTORS, inventory, late_snapshots, on_call, two_go_off

import boomslang
from boomslang import Checker, Trace, TraceBuilder
from boomslang.asg.graph import build_asg
from boomslang.checker import explaining_seconds
from boomslang.explain import by_proof, counterexample, likely
from boomslang.explain.count_words import count_in_words
from boomslang.explain.counterexample import MANY_TRANSACTIONS, Counterexample
from boomslang.explain.document import document
from boomslang.explain.known import clashes, suggested_moments
from boomslang.explain.likely_part import likely_part, shown, without_likely
from boomslang.explain.outputs import OUTPUTS, write
from boomslang.explain.overlap import duration, overlap
from boomslang.explain.state_words import state_in_words
from boomslang.levels import find_level
from boomslang.solve.counting import too_few_versions
from boomslang.solve.likely import likely_writers
from boomslang.solve.solution import Limits
from boomslang.solve.states import unreachable_state
from boomslang.verdict import Verdict

STORIES = Path(__file__).parent / "repeated"
LONGEST = 15
"""Lines of a story: fewer than these."""
ASKED: dict[str, tuple[Callable[[], Trace], str]] = {
    "on-call": (on_call, "ser"),
    "on-call-strict": (on_call, "sser"),
    "on-call-without-times": (lambda: on_call(times=False), "ser"),
    "two-go-off": (two_go_off, "ser"),
    "two-go-off-without-times": (lambda: two_go_off(times=False), "rr"),
    "inventory-lost": (inventory, "ser"),
    "inventory-lost-snapshots": (inventory, "si"),
    "inventory-lost-without-times": (lambda: inventory(times=False), "ser"),
    "inventory-even": (lambda: inventory(40, lost=23, even=True), "sser"),
    "late-snapshots": (late_snapshots, "strong-session-ser"),
}

every_story = pytest.mark.parametrize("name", ASKED)


@cache
def verdict_of(name: str) -> Verdict:
    made, level = ASKED[name]
    # Of a large core the argument is looked for as long as there is time: whether it is found is not asked here.
    with patch.object(counterexample, "argue", lambda *_, **__: None):
        return Checker(made()).check(level)


def found_in(name: str) -> Counterexample:
    found = verdict_of(name).counterexample
    assert found is not None
    return found


def story(name: str) -> str:
    return "\n".join(found_in(name).lines()) + "\n"


@every_story
def test_the_story_is_the_one_that_was_read(name: str) -> None:
    assert story(name) == (STORIES / f"{name}.txt").read_text()


@every_story
def test_a_story_is_short_and_has_a_name(name: str) -> None:
    lines = list(found_in(name).lines())
    assert len(lines) < LONGEST
    anomaly = found_in(name).anomaly
    assert anomaly is not None and anomaly.name in ("write skew", "lost update")


def test_what_is_kept_is_what_is_asked() -> None:
    assert {file.stem for file in STORIES.iterdir()} == set(ASKED)
    assert found_in("late-snapshots").proved is None
    assert len(found_in("late-snapshots").core.transactions) > MANY_TRANSACTIONS


def test_even_counts_hold_where_time_does_not_matter() -> None:
    checker = Checker(inventory(40, lost=23, even=True))
    assert checker.check("ser").valid and checker.check("si").valid


# --- for programs


@every_story
def test_the_document_says_both(name: str) -> None:
    data = examine(verdict_of(name))
    told = data["likely"]
    part = likely_part(data)
    assert part is not None and {t["id"] for t in part["transactions"]} == set(told["transactions"])
    assert [e["id"] for e in part["edges"]] == told["argument"]["contradiction"]["cycle"]
    assert all(e["supposed"] for e in part["edges"]) and all(s["supposed"] for s in part["steps"])
    ends = {end for e in part["edges"] for end in (e["source"], e["target"])}
    assert ends == set(told["transactions"])
    rest = without_likely(data)
    assert not {s["id"] for s in part["steps"]} & {s["id"] for s in rest["steps"]}
    if data["proof"] is not None:
        assert data["minimal"] is False
        assert set(data["proof"]["examples"]) == {t["id"] for t in rest["transactions"]}


def test_the_numbers_of_a_count() -> None:
    proof = document(verdict_of("inventory-lost"))["proof"]
    assert (proof["kind"], proof["key"], proof["later"]) == ("counting", "'stock'", 0)
    (one,) = proof["values"]
    writes = [o for t in trace_of("inventory-lost") for o in t if o == ("put", 3)]
    assert one["value"] == "3" and one["initial"] and one["versions"] == len(writes) + 1
    assert one["readers"] == one["versions"] + 1
    later = document(verdict_of("inventory-even"))["proof"]
    assert later["later"] > 0


def test_the_numbers_of_states() -> None:
    proof = document(verdict_of("on-call"))["proof"]
    went_off = sum(("put", False) in t for t in trace_of("on-call"))
    assert (proof["kind"], proof["states"], proof["seen_by"]) == ("states", 7, 1)
    assert proof["made_by"] == went_off
    assert f"{went_off}" in proof["text"] or "seven" in proof["text"]


def test_the_numbers_of_departures() -> None:
    proof = document(verdict_of("two-go-off"))["proof"]
    assert proof["kind"] == "departures" and proof["departures"] == proof["arrivals"] + 1
    saw = [one["value"] == "True" for one in proof["saw"]]
    gets = [[value for kind, value in t if kind == "get"] for t in trace_of("two-go-off")]
    assert [one["key"] for one in proof["saw"]] == [f"'{who}'" for who in DOCTORS]
    assert proof["departures"] == gets.count(saw) and not proof["initial"] and proof["later"] == 0


def trace_of(name: str) -> list[list[tuple[str, Any]]]:
    trace = verdict_of(name).trace
    views = (trace.transaction(t) for t in range(len(trace)))
    return [[(o.kind.name.lower(), o.value) for o in view.operations] for view in views]


@every_story
@pytest.mark.parametrize("output", sorted(OUTPUTS))
def test_every_output_shows_the_likely_transactions_and_not_the_whole_core(name: str, output: str) -> None:
    data = document(verdict_of(name))
    text = write(output, "t.jsonl", [data])
    assert all(t in text for t in data["likely"]["transactions"])
    assert "What probably happened" in text
    drawn = {t["id"] for t in shown(data)["transactions"]}
    assert drawn == set(data["likely"]["transactions"])
    if output == "junit":
        lines = ElementTree.fromstring(text.partition("\n")[2]).findtext(".//failure")
        assert lines is not None and len(lines.splitlines()) < LONGEST
    if output == "sarif":
        (run,) = json.loads(text)["runs"]
        assert len(run["results"][0]["message"]["text"].splitlines()) < LONGEST
    if output == "dot":
        cycle = data["likely"]["argument"]["contradiction"]["cycle"]
        assert len(re.findall(r'^  "T\d+" -> "T\d+" \[', text, re.MULTILINE)) == len(cycle)


# --- without what is likely


@pytest.mark.parametrize("name", [n for n in ASKED if n != "late-snapshots"])
def test_a_proof_alone_is_told_with_a_few_examples(name: str) -> None:
    made, level = ASKED[name]
    with patch.object(by_proof, "what_probably_happened", lambda *_, **__: None):
        verdict = Checker(made()).check(level)
    data = examine(verdict)
    assert data["likely"] is None and data["proof"] is not None
    assert verdict.counterexample is not None
    lines = list(verdict.counterexample.lines())
    assert len(lines) < LONGEST
    assert sum(line.startswith("  T") for line in lines) == len(data["proof"]["examples"])
    codes = {"counting": "lost-update", "states": "unreachable-state", "departures": "changed-twice"}
    assert data["anomaly"]["code"] == codes[data["proof"]["kind"]]
    for output in OUTPUTS:
        assert data["proof"]["text"][:30] in write(output, "t.jsonl", [data])


@pytest.mark.parametrize("mix", ["few-values", "crowd-of-twins", "crowd-in-doubt", "ranges", "unknown"])
def test_whatever_is_proved_can_be_told(mix: str) -> None:
    """By its sentence, even where few transactions would do: random traces with deletes, scans and unknown values."""
    told = 0
    with (
        patch("boomslang.checker.FEW", -1),
        patch.object(by_proof, "what_probably_happened", lambda *_, **__: None),
    ):
        for seed in range(30):
            checker = Checker(random_trace(seed, mix), timeout=1)
            for level in ("ser", "pl-2+"):
                found = (verdict := checker.check(level)).counterexample
                if found is not None and found.proved is not None:
                    told += 1
                    examine(verdict)
                    assert len(list(found.lines())) < LONGEST
    assert told


@pytest.mark.parametrize(
    ("initial", "deeds", "said"),
    [
        (
            {"x": 0},
            [[get("x", 0), put("x", 1)], [get("x", 0), put("x", 2)]],
            "'x' was 0 only at first, and two transactions took it from 0: two of them overwrote the same version",
        ),
        (
            {"x": 0},
            [[get("x", 5), put("x", 5)], [get("x", 5), put("x", 5)]],
            "each of the two transactions that made 'x' 5 had already seen it 5, and it was not 5 at first",
        ),
        (
            {"x": 0},
            [[put("x", 1)], [get("x", 0), get("x", 1)]],
            "T1 saw 'x' = 0 and then 1, and no order lets it change under a transaction",
        ),
        (
            {"x": 0, "y": 0},
            [[get("y", 0), put("x", 1)], [get("x", 0), put("y", 1)], [get("x", 1), get("y", 1)]],
            "T2 saw 'x' and 'y' both 1, which no serial order can reach: it was not so at first, and each of the two "
            "transactions that made one of them 1 had seen the other 0",
        ),
        (
            {"x": 0},
            [[get("x", 2), put("x", 3)], [get("x", 3), put("x", 2)], [get("x", 3)]],
            "T0 saw 'x' = 2, which no serial order can reach: from what it held at first, the two "
            "transactions that wrote it, each where it finds what it saw, lead to 0 and no further",
        ),
    ],
)
def test_sentences(initial: dict[str, int], deeds: list[list[Any]], said: str) -> None:
    trace = history(*(txn(f"s{n}", *deed) for n, deed in enumerate(deeds)), initial=initial)
    asg, level = Checker(trace).asg, find_level("ser")
    count, (state, _) = too_few_versions(asg, level), unreachable_state(asg, level, Limits())
    if count is not None:
        proved = count_in_words(asg, count)
    else:
        assert state is not None
        proved = state_in_words(asg, level, state)
    assert said in proved.text


# --- the time that explaining may take


def test_how_many_held_a_value() -> None:
    """Too many states for all values: four ran, and whoever started one had seen two that did."""
    names = [f"job{n}" for n in range(10)]
    b = TraceBuilder(initial=dict.fromkeys(names, "waiting"))
    for first in range(10):
        for second in range(first + 1, 10):
            for third in range(10):
                before = {first: "running", second: "running"}
                with b.transaction() as t:
                    for n, name in enumerate(names):
                        t.get(name, before.get(n, "waiting" if n == third else "done"))
                    t.put(names[third], "running")
    for name in names:
        for seen, then in (("waiting", "done"), ("done", "waiting"), ("running", "done")):
            with b.transaction() as t:
                t.get(name, seen)
                t.put(name, then)
        with b.transaction() as t:
            for other in names:
                t.get(other, "waiting")
            t.put(name, "running")
    with b.transaction() as t:
        for n, name in enumerate(names):
            t.get(name, "running" if n < 4 else "done")
    asg, level = build_asg(b.build()), find_level("ser")
    proof, _ = unreachable_state(asg, level, Limits())
    assert proof is not None and [asg.trace.values[v] for v in proof.apart] == ["running"]
    told = state_in_words(asg, level, proof)
    assert "saw 'running' in four of ten keys ('job0', 'job1', 'job2' and others)" in told.text
    assert "that made one of them 'running' had seen at most two of them 'running'" in told.text


def test_explaining_is_bounded_by_what_solving_took() -> None:
    assert explaining_seconds({}) == 2.0
    assert explaining_seconds({"solve": 0.3}) == 2.0
    assert explaining_seconds({"solve": 3.0}) == 15.0


@pytest.mark.parametrize(("name", "level"), [("on-call", "ser"), ("inventory-lost", "si")])
def test_the_bound_is_handed_to_what_looks_for_the_likely(name: str, level: str) -> None:
    asked: list[float] = []

    def nothing(*arguments: Any, **_: Any) -> None:
        asked.append(arguments[3])

    with (
        patch("boomslang.checker.explaining_seconds", lambda _: 7.25),
        patch.object(by_proof, "what_probably_happened", nothing),
        patch("boomslang.checker.FEW", 0),
    ):
        Checker(ASKED[name][0]()).check(level)
    assert asked == [7.25]


def test_the_bound_is_handed_to_explain() -> None:
    asked: list[float | None] = []
    explain = counterexample.explain

    def noting(asg: Any, level: Any, parts: Any, seconds: float | None = None, **more: Any) -> Counterexample:
        asked.append(seconds)
        return explain(asg, level, parts, seconds, **more)

    with (
        patch("boomslang.checker.explaining_seconds", lambda _: 7.25),
        patch.object(counterexample, "explain", noting),
        patch.object(counterexample, "argue", lambda *_, **__: None),
    ):
        Checker(late_snapshots()).check("strong-session-ser")
    assert asked == [7.25]


def test_nothing_likely_is_looked_for_without_time() -> None:
    checker = Checker(on_call())
    found = likely.what_probably_happened(checker.asg, boomslang.LEVELS[0], (), -1.0)
    assert found is None


# --- how they lie in time


def spans(*pairs: tuple[int, int]) -> Trace:
    b = TraceBuilder()
    for n, (begin, end) in enumerate(pairs):
        with b.transaction(session=f"s{n}", begin=begin) as t:
            t.put("x", n)
            t.commit(invoke=end - 1, return_=end)
    return b.build()


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        (((0, 10), (4, 20)), "T0 and T1 overlapped for 6"),
        (((4, 20), (0, 10)), "T0 and T1 overlapped for 6"),
        (((0, 10), (4, 20), (7, 30)), "T0, T1 and T2 overlapped for 3"),
        (((0, 10), (4, 20), (15, 30)), "T0 and T1 overlapped for 6 and T1 and T2 overlapped for 5"),
        (((0, 1_000), (3_500, 4_000)), "T0 had returned 2,500 before T1 began"),
    ],
)
def test_overlaps_in_words(pairs: tuple[tuple[int, int], ...], said: str) -> None:
    assert overlap(spans(*pairs), tuple(range(len(pairs)))) == said


def test_without_times_nothing_is_said_of_them() -> None:
    assert overlap(on_call(times=False), (0, 1)) == ""
    assert duration(on_call(), 12_345) == "12,345"


def stale_look(writers: int) -> Trace:
    """The stock was 4 many times, each time taken to 3 at once; then somebody looks and sees 4."""
    b = TraceBuilder(initial={"stock": 3})
    at = 0
    for n in range(2 * writers + 3):
        with b.transaction(session=f"s{n % 3}", begin=at) as t:
            if n == writers + 1:
                t.get("stock", 4)
            else:
                t.put("stock", 4 if n % 2 else 3)
            t.commit(invoke=at + 5, return_=at + 6)
        at += 10
    return b.build()


def test_steps_are_told_together_and_none_is_left_out() -> None:
    found = Checker(stale_look(4)).check("sser").counterexample
    assert found is not None and found.argument is not None and found.likely is None
    steps = [step.text for step in found.argument.steps]
    lines = list(found.lines())
    assert len(lines) < LONGEST <= len(found.core.transactions) + len(steps) + 3
    assert all(any(step in line for line in lines) for step in steps)
    # What a step rests on is told in it, or by its number, which comes before.
    numbers = [int(line.split(".")[0]) for line in lines if line[:1].isdigit()]
    assert numbers == list(range(1, len(numbers) + 1))
    for line in lines:
        if "[from " in line:
            rests_on = line.rpartition("[from ")[2].rstrip("]").split(", ")
            assert all(int(number) < int(line.split(".")[0]) for number in rests_on)


def blind(rng: random.Random) -> Trace:
    """Blind writes and reads of many keys, two of which saw and overwrote each other's the wrong way round."""
    b = TraceBuilder(initial={f"k{n}": 0 for n in range(12)})
    state = {f"k{n}": 0 for n in range(12)}
    for i in range(60):
        keys = rng.sample(sorted(state), 2)
        with b.transaction(session=f"s{i % 4}", begin=10 * i) as t:
            t.get(keys[0], state[keys[0]])
            state[keys[1]] = rng.randint(0, 3)
            t.put(keys[1], state[keys[1]])
            t.commit(invoke=10 * i + 5, return_=10 * i + 6)
    return b.build()


def test_versions_as_their_writers_returned() -> None:
    asg = build_asg(blind(random.Random(1)))
    assert likely._mostly_blind(asg) and not likely._mostly_blind(build_asg(inventory()))
    level = find_level("si")
    writers = next(likely_writers(asg, Limits()))
    supposed = replace(asg, read_writer=writers)
    assert clashes(supposed, level, Limits(), overwriting=suggested_moments(asg)).found == []  # it was serial
    late = replace(supposed, read_writer=np.where(np.arange(len(writers)) == len(writers) - 1, -1, writers))
    found = clashes(late, level, Limits(), overwriting=suggested_moments(asg)).found
    assert all(edge.key >= 0 for clash in found for edge in clash.edges if edge.kind.value in ("ww", "rw"))


@pytest.mark.parametrize("times", [False, True])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_of_values_written_once_the_order_says_who_overwrote_whom(
    seed: int, times: bool, tmp_path: Path
) -> None:
    """A database that keeps snapshot isolation has write skew, and nothing else, whatever serializability makes of
    it; what follows from serializability is no guess of what happened where it is broken."""
    generate(
        History(level="si", transactions=2_000, sessions=30, keys=1_000, folder=True, times=times, seed=seed),
        tmp_path / "trace",
    )
    asg = build_asg(boomslang.read_trace(tmp_path / "trace"))
    found = likely.what_probably_happened(asg, find_level("ser"), (), 60.0)
    assert found is not None and found.anomaly.code == "G2-item" and len(found.transactions) == 2
    assert "snapshot isolation" in found.how


def main() -> int:
    STORIES.mkdir(exist_ok=True)
    for file in STORIES.iterdir():
        file.unlink()
    for name in ASKED:
        (STORIES / f"{name}.txt").write_text(story(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
