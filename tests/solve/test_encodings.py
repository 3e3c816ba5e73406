"""Earlier checkers as encodings: inside their assumptions they agree with the engine, outside they refuse."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from fuzz.traces import random_trace
from support.histories import Absent, append, delete, get, history, list_, put, scan, txn
from support.paths import ROOT
from support.strategies import DEFAULT, generate
from support.unexplained import Unexplained

from boomslang import Checker, Trace, check
from boomslang.asg import build_asg
from boomslang.asg.graph import ASG, MAYBE
from boomslang.certify.replay import replay
from boomslang.encodings import ENCODINGS, OutsideAssumptions, find_encoding
from boomslang.errors import UsageError
from boomslang.explain.parts import first_broken
from boomslang.ir import lower
from boomslang.levels import LEVELS, find_level
from boomslang.modules import find_modules
from boomslang.passes import print_problem
from boomslang.solve.backends import solve_eagerly
from boomslang.solve.native import solve_native
from boomslang.solve.solution import Limits, witness
from boomslang.solve.z3_solver import solve_z3
from boomslang.trace import TraceBuilder, write_trace

pytest.importorskip("clingo")

SOURCE = ROOT / "src" / "boomslang" / "encodings"
REGISTERS = replace(
    DEFAULT, ranges=False, deletes=False, errors=False, unknown=False, values=("unique",),
    initial=("empty", "given"), operations=(1, 4), transactions=(3, 8),
)  # fmt: skip
LISTS = replace(
    DEFAULT,
    lists=1.0,
    ranges=False,
    deletes=False,
    initial=("empty",),
    operations=(1, 4),
    transactions=(3, 8),
)


def sound(mix: Any, seeds: range) -> Iterator[tuple[Trace, ASG]]:
    """Traces without reads that nobody can have written: those are refused before anybody encodes them. Outcomes may
    be unknown only where Elle looks on."""
    lists = mix.lists > 0
    for seed in seeds:
        trace = generate(random.Random(seed), mix)
        if first_broken(asg := build_asg(trace)) is None and (lists or not (asg.state == MAYBE).any()):
            yield trace, asg


@pytest.mark.parametrize(
    ("name", "mix", "seeds"),
    [("cobra", REGISTERS, 60), ("viper", REGISTERS, 60), ("polysi", REGISTERS, 80), ("elle", LISTS, 25)],
)
def test_agrees_with_the_engine(name: str, mix: Any, seeds: int) -> None:
    encoding, verdicts = find_encoding(name), {"valid": 0, "invalid": 0, "unknown": 0}
    for trace, asg in sound(mix, range(seeds)):
        for level in filter(encoding.levels, LEVELS):
            ir = lower(asg, level)
            expected = solve_native(ir).status
            for passes in (None, ()):
                found = solve_eagerly(encoding.encode(asg, level), "clingo", Limits(), passes)
                verdicts[found.status] += 1
                if found.status == "unknown":
                    assert "order of appends that nobody read" in found.reason
                    continue
                assert found.status == expected, (level.name, passes)
                if found.status == "valid":
                    replay(trace, witness(ir, found))
    assert (
        verdicts["valid"] > 20 and verdicts["invalid"] > 20 and (verdicts["unknown"] > 0) == (name == "elle")
    )


def test_what_cobra_writes() -> None:
    """T1 read T0's version and overwrote it: one row. T2 is a row of its own; so there is one choice."""
    trace = history(
        txn("A", put("x", 1)),
        txn("B", get("x", 1), put("x", 2)),
        txn("C", put("x", 3)),
        txn("D", get("x", 2)),
    )
    problem = find_encoding("cobra").encode(build_asg(trace), find_level("ser"))
    assert list(print_problem(problem)) == [
        "edge T0 -wr('x')-> T1",
        "edge T1 -wr('x')-> T3",
        "edge T0 -ww('x')-> T1",
        "superposition <T1 -ww('x')-> T2 and T3 -rw('x')-> T2, T2 -ww('x')-> T0> "
        "# writers of 'x': T0 T1 and T2",
    ]


def test_what_polysi_writes() -> None:
    """No induced edge: an anti-dependency leaves the second node (B) of a transaction, to which dependencies lead."""
    trace = history(txn("A", put("x", 1)), txn("B", put("x", 2)), txn("C", get("x", 1)))
    problem = find_encoding("polysi").encode(build_asg(trace), find_level("si"))
    assert list(print_problem(problem)) == [
        "edge C0 -wr('x')-> B2",
        "superposition <C0 -ww('x')-> B1 and B2 -rw('x')-> C1, C1 -ww('x')-> B0> # T0 and T1 both wrote 'x'",
    ]


TWICE = history(txn("A", put("x", 1)), txn("B", put("x", 1)))
DOUBTFUL = history(txn("A", put("x", 1), outcome="unknown"))
RANGE = history(txn("A", put("x", 1), put("y", 1)), txn("B", scan("x", "z", {"x": 1})))
LIST = history(txn("A", append("x", 1)), txn("B", list_("x", [1])))
DELETED = history(txn("A", put("x", 1)), txn("B", delete("x")), txn("C", get("x", Absent)))


@pytest.mark.parametrize("name", ["cobra", "viper", "polysi"])
@pytest.mark.parametrize(
    ("trace", "word"),
    [
        (TWICE, "assumes unique values; T0 and T1 wrote the same value to 'x'"),
        (DOUBTFUL, "T0 .* has an unknown outcome"),
        (RANGE, "T1 .* read 'y' as absent in a scan or iterator"),
        (LIST, "T1 .* read a list in 'x'"),
        (DELETED, "which several may have written"),
    ],
)
def test_refuses(name: str, trace: Trace, word: str) -> None:
    level = "ser" if name == "cobra" else "si"
    with pytest.raises(OutsideAssumptions, match=word):
        check(trace, level, encoding=name)


def test_refuses_levels_and_solvers() -> None:
    with pytest.raises(OutsideAssumptions, match="Cobra checks serializability, not snapshot isolation"):
        check(history(), "si", encoding="cobra")
    with pytest.raises(OutsideAssumptions, match=r"Elle infers from lists; T0 .* has a put"):
        check(TWICE, "ser", encoding="elle")
    with pytest.raises(UsageError, match="the native engine takes no encoding"):
        Checker(history(), solver="native", encoding="cobra")
    with pytest.raises(UsageError, match="unknown encoding 'plume'; known encodings: cobra, viper"):
        Checker(history(), encoding="plume")


@pytest.mark.parametrize("solver", ["z3", "clingo"])
def test_through_the_front_door(solver: str) -> None:
    lost = history(
        txn("A", put("x", 1)), txn("B", get("x", 1), put("x", 2)), txn("C", get("x", 1), put("x", 3))
    )
    for name, level in (("cobra", "ser"), ("viper", "si"), ("polysi", "si")):
        verdict = check(lost, level, solver=solver, encoding=name)
        assert verdict.invalid and verdict.counterexample is not None
        assert check(history(*_serial(6)), level, solver=solver, encoding=name).valid


def _serial(n: int) -> Iterator[Any]:
    yield txn("A", put("x", 0))
    for i in range(n):
        yield txn("A", get("x", i), put("x", i + 1))


# --- Emme: told the version order


def told(trace: Trace, places: dict[int, int]) -> Trace:
    """The registers of a trace, with the commit of each transaction numbered."""
    builder = TraceBuilder(dict(trace.initial()) or None)
    for t in trace.transactions():
        ctx = {"commit": places[t.index]} if t.index in places else None
        outcome: Any = t.outcome.name.lower()
        with builder.transaction(t.session, outcome=outcome, begin=t.begin, end=t.end, ctx=ctx) as b:
            for o in t.operations:
                b.put(o.key, o.value) if o.kind.name == "PUT" else b.get(o.key, o.value)
    return builder.build()


def test_emme_agrees_with_z3_told_the_same() -> None:
    """Whatever order the versions are said to have; Z3 hears of it as expressions on the plain IR."""
    emme, verdicts = find_encoding("emme"), {"valid": 0, "invalid": 0}
    rng = random.Random(5)
    for plain, _ in sound(REGISTERS, range(30)):
        places = list(range(1, len(plain) + 1))
        if rng.random() < 0.5:
            rng.shuffle(places)
        trace = told(plain, dict(enumerate(places)))
        asg = build_asg(trace)
        for level in map(find_level, ("rc", "rr", "ser", "si", "strong-session-ser", "prefix")):
            ir = lower(asg, level)
            for order in ir.write_orders():
                versions = sorted(order.writers, key=places.__getitem__)
                ir.expressions += [ir.ww(a, b, order.key) for a, b in pairwise(versions)]
            expected = solve_z3(ir).status
            found = solve_eagerly(emme.encode(asg, level), "clingo")
            assert found.status == expected, level.name
            verdicts[found.status] += 1
            if found.status == "valid":
                replay(trace, witness(ir, found))
    assert min(verdicts.values()) > 10


def versioned(*txns: tuple[str, list[tuple[str, str, Any, dict[str, Any] | None]]]) -> Trace:
    builder = TraceBuilder({"x": 0})
    for session, ops in txns:
        with builder.transaction(session) as b:
            for kind, key, value, ctx in ops:
                getattr(b, kind)(key, value, ctx=ctx)
    return builder.build()


def test_emme_knows_which_of_two_equal_values_was_read() -> None:
    def trace(seen: int) -> Trace:
        return versioned(
            ("A", [("put", "x", 1, {"version": 1}), ("put", "y", 1, {"version": 1})]),
            ("B", [("put", "x", 1, {"version": 2}), ("put", "y", 2, {"version": 2})]),
            ("C", [("get", "x", 1, {"version": seen}), ("get", "y", 2, None)]),
        )

    assert check(trace(2), "ser", encoding="emme").valid
    verdict = check(trace(1), "ser", encoding="emme")
    assert verdict.invalid and verdict.reason == "by the hints that Emme reads"
    assert check(trace(1), "ser").valid, "without the hint nobody can tell"
    assert verdict.counterexample is not None
    assert any("a cycle: " in line for line in verdict.counterexample.lines())


def places_told(rng: random.Random, scale: str) -> Trace:
    """Equal values, so that only hints tell what was read; all of them in one of the ways there are."""
    builder = TraceBuilder({"x": 0, "y": 0})
    order = rng.sample(range(1, 5), 4)
    for t, place in enumerate(order):
        where = [1, place] if scale == "cdc" else place
        ctx = {scale: where} if scale in ("cdc", "commit", "cts") else None
        with builder.transaction(rng.choice("AB"), name=f"t{t}", ctx=ctx) as b:
            for key in rng.sample("xy", 2):
                b.put(key, 1, ctx={"version": where} if scale == "version" else None)
    for _ in range(2):
        with builder.transaction(rng.choice("AB")) as b:
            for key in "xy":
                writer = rng.randrange(4)
                place = [1, order[writer]] if scale == "cdc" else order[writer]
                ways = ({"version": place}, {"versions": {key: place}}, {"versions": [[key, f"t{writer}"]]})
                b.get(key, 1, ctx=rng.choice(ways))
    with builder.transaction("C") as b:
        b.get("x", 0, ctx=rng.choice(({"version": 0}, {"versions": [["x", None]]}, {"versions": {"x": 0}})))
    return builder.build()


@pytest.mark.parametrize("scale", ["version", "cdc", "commit", "cts"])
def test_emme_and_the_modules_read_the_same_hints(scale: str) -> None:
    found: Counter[str] = Counter()
    modules = find_modules(["version-order", "version-sets"])
    for seed in range(12):
        trace = places_told(random.Random(seed), scale)
        by_emme, by_modules = Unexplained(trace, encoding="emme"), Unexplained(trace, modules=modules)
        for level in ("ser", "strong-session-ser", "rc", "si"):
            verdict = by_emme.check(level)
            assert verdict.status == by_modules.check(level).status, (seed, level)
            found[verdict.status] += 1
    assert found["valid"] > 5 and found["invalid"] > 5, found


def test_emme_refuses() -> None:
    with pytest.raises(OutsideAssumptions, match=r"T0 .* does not say which version of 'x' it wrote"):
        check(TWICE, "ser", encoding="emme")
    twice = versioned(("A", [("put", "x", 1, {"version": 1})]), ("B", [("put", "x", 2, {"version": 1})]))
    with pytest.raises(OutsideAssumptions, match="version 1 of 'x' is there twice: T0 and T1"):
        check(twice, "ser", encoding="emme")
    wrong = versioned(("A", [("put", "x", 1, {"version": 1})]), ("B", [("get", "x", 1, {"version": 7})]))
    with pytest.raises(OutsideAssumptions, match="version 7 of that key does not hold that value"):
        check(wrong, "ser", encoding="emme")
    builder = TraceBuilder()
    for ctx in ({"cdc": 1}, {"commit": 2}):
        with builder.transaction(ctx=ctx) as t:
            t.put("x", 1)
    with pytest.raises(OutsideAssumptions, match=r"tell their places in different ways, T0 .* by cdc"):
        check(builder.build(), "ser", encoding="emme")
    for places, message in (
        ("new", "found 'new' as 'version' in ctx"),
        ([[1]], "expected a number or a list"),
    ):
        odd = versioned(("A", [("put", "x", 1, {"version": places})]))
        with pytest.raises(UsageError, match=message):
            check(odd, "ser", encoding="emme")
    named = versioned(
        ("A", [("put", "x", 1, {"version": 1})]), ("B", [("get", "x", 1, {"versions": [["x", "nobody"]]})])
    )
    with pytest.raises(OutsideAssumptions, match="'nobody' did not write that"):
        check(named, "ser", encoding="emme")


# --- all of them


def test_each_is_small() -> None:
    for name in ENCODINGS:
        assert len((SOURCE / f"{name}.py").read_text().splitlines()) < 400


def test_command_line(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    write_trace(TWICE, path)
    command = [sys.executable, "-m", "boomslang", "check", str(path), "--level", "ser", "--encoding", "cobra"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 254 and "Cobra assumes unique values" in done.stderr


def test_random_traces_are_refused_or_answered_alike() -> None:
    """Anything at all: an encoding says no to the trace, or what the engine says."""
    answered = 0
    for seed in range(150):
        trace = random_trace(seed, "registers")
        if first_broken(asg := build_asg(trace)) is not None:
            continue
        for encoding in (e for e in ENCODINGS.values() if not e.knows_more):
            for level in filter(encoding.levels, map(find_level, ("ser", "si"))):
                try:
                    problem = encoding.encode(asg, level)
                except OutsideAssumptions:
                    continue
                answered += 1
                assert solve_eagerly(problem, "clingo").status == solve_native(lower(asg, level)).status
    assert answered
