"""Certificates that rest on modules or hints: what `verify` takes, what it refuses, and what it says it believed.

The random tests let every shipped module whose meaning can be enumerated (meanings.py) answer, write the certificate
down, read it again and verify it; then spoil it.
"""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz.traces import random_trace
from support.constraints import random_module
from support.histories import Absent, append, get, history, list_, put, txn
from support.meanings import CASES, PREPARED
from support.worlds import build, random_txns

from boomslang import TraceBuilder, UsageError, Verdict, check, module
from boomslang.asg.graph import build_asg
from boomslang.certify.certificate import Core, Witness, read_certificate
from boomslang.certify.refute import CoreError
from boomslang.certify.replay import ReplayError
from boomslang.certify.with_hints import refute_with_hints
from boomslang.certify.with_modules import (
    minimal_with_modules,
    needless_parts_with_modules,
    refute_with_modules,
    replay_with_modules,
)
from boomslang.cli.main import main
from boomslang.ir.expression import Edge, Not
from boomslang.levels.level import Dependency
from boomslang.modules.module import Module, prepare
from boomslang.modules.registry import find_recorded
from boomslang.trace import Trace, write_trace

LEVELS = ("ser", "rr", "rc", "si", "causal", "pl-2+", "ra", "cs", "prefix")


def stale() -> Trace:
    """A session that does not see its own write."""
    return history(txn("A", put("x", 1)), txn("A", get("x", Absent)))


def reread(trace: Trace, verdict: Verdict, folder: Path) -> Witness | Core:
    path = folder / "proof.json"
    path.write_text(json.dumps(verdict.certificate(), allow_nan=False))
    return read_certificate(path, trace)


def spoiled(witness: Witness, rng: random.Random) -> Witness:
    """The same claim, with two transactions in each other's place."""
    order = witness.order.copy()
    a, b = rng.sample(range(len(order) // witness.points), 2)
    names = np.unique(order // witness.points)
    swap = {int(names[a]): int(names[b]), int(names[b]): int(names[a])}
    moved = [swap.get(int(n) // witness.points, int(n) // witness.points) for n in order]
    return replace(witness, order=np.array(moved, np.int64) * witness.points + order % witness.points)


@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(8, 160), marks=pytest.mark.full)])
@pytest.mark.parametrize("name", [*CASES, *PREPARED])
def test_what_is_written_is_verified(name: str, seeds: range, tmp_path: Path) -> None:
    change = CASES[name][1] if name in CASES else PREPARED[name][0]
    found: Counter[str] = Counter()
    for seed in seeds:
        rng = random.Random(seed)
        txns = random_txns(rng)
        change(rng, txns)
        trace, level = build(txns), LEVELS[seed % (3 if name == "mixed-isolation" else len(LEVELS))]
        verdict = check(trace, level, modules=[name])
        if verdict.certificate() is None:  # nothing committed
            continue
        proof = reread(trace, verdict, tmp_path)
        if isinstance(proof, Witness):
            as_ever = replay_with_modules(trace, proof)
            assert as_ever == (name in CASES), (seed, level)
            if len(np.unique(proof.order // proof.points)) > 1:
                try:
                    replay_with_modules(trace, spoiled(proof, rng))
                    found["harmless"] += 1
                except ReplayError:
                    found["spoiled"] += 1
        elif proof.modules:
            assert refute_with_modules(trace, proof), (seed, level, proof)
            assert not minimal_with_modules(trace, proof), (seed, level, proof)
            found["refuted"] += 1
    assert sum(found.values()) > len(seeds) // 3, found
    if len(seeds) > 100:
        assert found["spoiled"] > 5 and (found["refuted"] or name == "read-modify-writes"), found


@pytest.mark.parametrize("rounds", [12, pytest.param(150, marks=pytest.mark.full)])
@pytest.mark.parametrize("mix", ["default", "few-values", "unknown", "lists", "ranges", "lists-in-doubt"])
def test_random_words_of_modules(mix: str, rounds: int, tmp_path: Path) -> None:
    """Any level, known edges, expressions and superpositions."""
    found: Counter[str] = Counter()
    for seed in range(rounds):
        trace, told = random_trace(seed, mix), random_module(seed)
        for level in random.Random(seed).sample(LEVELS, 2):
            verdict = check(trace, level, modules=[told])
            if verdict.certificate() is None:  # nothing committed
                continue
            proof = reread(trace, verdict, tmp_path)
            if isinstance(proof, Witness):
                assert replay_with_modules(trace, proof, [told])
            found[verdict.status] += 1  # what a random module says of a part need not follow from the whole
    assert found["valid"] > rounds // 3, found


# --- what is wrong with a certificate


def valid_with(name: str, trace: Trace, level: str = "ser") -> Witness:
    verdict = check(trace, level, modules=[name])
    assert verdict.witness is not None
    return verdict.witness


def test_an_order_that_a_module_forbids() -> None:
    trace = history(txn("A", put("x", 1)), txn("A", put("y", 1)))
    witness = valid_with("session-order", trace)
    assert replay_with_modules(trace, witness)
    with pytest.raises(ReplayError, match="contradicts what is known or told: T0 -> T1 -> T0"):
        replay_with_modules(trace, replace(witness, order=witness.order[::-1]))


def test_a_core_with_modules_is_not_waited_for_beyond_its_time(tmp_path: Path, capsys: Any) -> None:
    trace, proof = tmp_path / "trace.jsonl", tmp_path / "proof.json"
    write_trace(stale(), trace)
    words = ["check", str(trace), "--level", "ser", "--module", "session-order"]
    assert main([*words, "--certificate", str(proof)]) == 1
    assert main(["verify", str(trace), str(proof)]) == 0
    capsys.readouterr()
    assert main(["verify", str(trace), str(proof), "--timeout", "1e-9"]) == 2
    assert "not checked: that no order explains these" in capsys.readouterr().out


def test_parts_with_modules_are_tried_as_far_as_the_time_goes(tmp_path: Path) -> None:
    verdict = check(stale(), "ser", modules=["session-order"])
    core = reread(stale(), verdict, tmp_path)
    assert isinstance(core, Core) and core.modules
    assert needless_parts_with_modules(stale(), core) == ([], 0)
    parts = len(core.transactions) + len(core.reads)
    assert needless_parts_with_modules(stale(), core, seconds=0.0) == ([], parts)


def test_an_expression_that_does_not_hold() -> None:
    trace = history(
        txn("W", put("x", 1)), txn("A", get("x", 1)), txn("A", get("x", 1)), txn("B", put("x", 2))
    )
    witness = valid_with("monotonic-reads", trace, "rc")
    assert replay_with_modules(trace, witness)
    back = history(txn("W", put("x", 1)), txn("A", get("x", 1)), txn("A", get("x", Absent)))
    plain = check(back, "rc").witness
    assert plain is not None
    with pytest.raises(ReplayError, match=r"does not keep what monotonic-reads says: not \(T0 -wr"):
        replay_with_modules(back, replace(plain, modules=("monotonic-reads",)))


def test_a_witness_of_something_else() -> None:
    trace = history(txn("A", put("x", "tombstone 1")), txn("B", get("x", Absent)), txn("C", put("x", 1)))
    witness = valid_with("tombstones", trace)
    assert not replay_with_modules(trace, witness)
    for wrong, message in (
        (replace(witness, order=witness.order[:-1]), "committed, but is not in the order"),
        (replace(witness, order=np.append(witness.order, 0)), "in the order twice"),
        (replace(witness, order=np.append(witness.order, 9)), "points that the trace does not have"),
        (replace(witness, points=2), "points that the trace does not have"),
        (replace(witness, order=np.array([2, 1, 0])), "is from one that did not write that"),
    ):
        with pytest.raises(ReplayError, match=message):
            replay_with_modules(trace, wrong)


def test_overlapping_writers_and_halves() -> None:
    trace = history(txn("A", put("x", "tombstone 1")), txn("B", put("x", 2)))
    witness = valid_with("tombstones", trace, "si")
    assert sorted(witness.order.tolist()) == [0, 1, 2, 3]
    for order, message in (
        ([0, 2, 1, 3], "overlapping"),
        ([0, 1, 2], "only one of its points"),
        ([1, 0, 2, 3], "commits before it begins"),
    ):
        with pytest.raises(ReplayError, match=message):
            replay_with_modules(trace, replace(witness, order=np.array(order)))


def test_initial_values_and_weak_reads() -> None:
    """Mixed isolation relaxes reads, so whom they took is in the witness, and what keys held initially is checked."""
    builder = TraceBuilder("unknown")
    with builder.transaction("A", ctx={"level": "read committed"}) as t:
        t.get("x", 7)
    with builder.transaction("B") as t:
        t.put("x", 8)
    trace = builder.build()
    witness = valid_with("mixed-isolation", trace)
    assert len(witness.read_op) == 1 and witness.initial
    assert not replay_with_modules(trace, witness)
    with pytest.raises(ReplayError, match="hold initially"):
        replay_with_modules(trace, replace(witness, initial=[]))
    with pytest.raises(ReplayError, match="did not write that"):
        replay_with_modules(trace, replace(witness, read_writer=np.array([1])))
    with pytest.raises(ReplayError, match="has no writer"):
        replay_with_modules(trace, replace(witness, read_op=np.array([99])))


def test_paths_that_modules_add() -> None:
    """Causal with session order: who saw a later transaction of a session has seen its earlier ones."""
    trace = history(txn("A", put("x", 1)), txn("A", put("y", 1)), txn("B", get("y", 1), get("x", Absent)))
    plain = check(trace, "causal").witness
    assert plain is not None and check(trace, "causal", modules=["session-order"]).invalid
    with pytest.raises(ReplayError, match=r"T2 .* misses the write of T0"):
        replay_with_modules(trace, replace(plain, order=np.array([0, 1, 2]), modules=("session-order",)))


def test_lists_of_unknown_outcomes() -> None:
    trace = history(
        txn("A", append("l", 1)), txn("B", append("l", 2)),
        txn("C", list_("l", [2, 1]), put("x", 1), outcome="unknown"), txn("D", get("x", 1)),
    )  # fmt: skip
    witness = valid_with("session-order", trace)
    assert replay_with_modules(trace, witness)


def test_an_absent_edge_is_no_order() -> None:
    @module
    def odd(asg, ir, hints):  # type: ignore[no-untyped-def]
        """An edge is not there."""
        ir.require(Not(Edge(0, 1, Dependency.SO)))

    trace = history(txn("A", put("x", 1)), txn("B", get("x", 1)))
    verdict = check(trace, "ser", modules=[odd], solver="z3")
    assert verdict.witness is not None
    with pytest.raises(UsageError, match="says that an edge is not there, which no order can show"):
        replay_with_modules(trace, verdict.witness, [odd])


def test_cores_of_nothing() -> None:
    trace = stale()
    verdict = check(trace, "ser", modules=["session-order"])
    assert verdict.counterexample is not None
    core = verdict.counterexample.core
    assert core.modules == ("session-order",) and refute_with_modules(trace, core)
    assert not refute_with_modules(trace, replace(core, transactions=core.transactions[:1]))
    assert minimal_with_modules(
        history(txn("A", put("x", 1)), txn("A", get("x", Absent)), txn("B", put("z", 1))),
        replace(core, transactions=(0, 1, 2)),
    ) == [2]
    for wrong in (replace(core, transactions=(0, 7)), replace(core, reads=((0, 0),))):
        with pytest.raises(CoreError):
            refute_with_modules(trace, wrong)


# --- the command line


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(words)
    out, err = capsys.readouterr()
    return code, " ".join(out.split()), " ".join(err.split())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_trace(stale(), tmp_path / "stale.jsonl")
    return tmp_path / "stale.jsonl"


def certify(path: Path, *words: str) -> Path:
    proof = path.with_name("proof.json")
    main(["check", str(path), "--quiet", "--certificate", str(proof), *words])
    return proof


def test_verify_takes_shipped_modules(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof = certify(path, "--level", "ser", "--module", "session-order")
    code, out, _ = run(capsys, "verify", str(path), str(proof))
    assert code == 0 and "is invalid at serializable with session-order: Z3 refutes its 2 transactions" in out
    assert "believed: what the modules say of this trace" in out
    proof = certify(path, "--level", "ser", "--module", "monotonic-reads")
    code, out, _ = run(capsys, "verify", str(path), str(proof))
    assert code == 0 and "explains all 2 operations, and keeps what the modules say" in out
    proof = certify(path, "--level", "ser", "--module", "tombstones")
    code, out, _ = run(capsys, "verify", str(path), str(proof))
    assert code == 0 and "with tombstones:prefix=tombstone: its order keeps all that is asked" in out
    assert "not done: the replay that shares no code with the checker" in out
    data = json.loads(proof.read_text()) | {"modules": ["session-order"]}
    proof.write_text(json.dumps(data))
    code, out, _ = run(capsys, "verify", str(path), str(proof))
    assert code == 1 and "WRONG" in out and "with session-order" in out


def test_verify_is_given_the_users_modules(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(
        "import boomslang\n"
        "@boomslang.module\n"
        "def forwards(asg, ir, hints, *, times=1):\n"
        "    '''As the trace has it.'''\n"
        "    inside = [t for t in range(asg.transactions) if asg.ordered[t]]\n"
        "    for a, b in zip(inside, inside[1:]):\n"
        "        ir.know(a, b)\n"
    )
    proof = certify(path, "--level", "ser", "--module", f"{mine}:times=3")
    assert json.loads(proof.read_text())["modules"] == ["forwards:times=3"]
    code, out, err = run(capsys, "verify", str(path), str(proof))
    assert code == 254 and "made with the module 'forwards', which is not known here" in err
    code, out, _ = run(capsys, "verify", str(path), str(proof), "--module", str(mine))
    assert code == 0 and "with forwards:times=3: Z3 refutes" in out
    # A certificate is only data: it cannot have a file run.
    proof.write_text(json.dumps(json.loads(proof.read_text()) | {"modules": [str(mine)]}))
    code, _, err = run(capsys, "verify", str(path), str(proof))
    assert code == 254 and "not known here" in err
    proof.write_text(json.dumps(json.loads(proof.read_text()) | {"modules": [7]}))
    code, _, err = run(capsys, "verify", str(path), str(proof))
    assert code == 254 and "damaged certificate" in err
    plain = certify(path, "--level", "ser")
    code, _, err = run(capsys, "verify", str(path), str(plain), "--module", "session-order")
    assert code == 254 and "was not made with the module session-order" in err


# --- hints


def emme(seen: int) -> Trace:
    """C read the x of A or of B, which are equal; only the hint tells whose."""
    builder = TraceBuilder()
    for number, name in ((1, "A"), (2, "B")):
        with builder.transaction(name) as t:
            t.put("x", 1, ctx={"version": number})
            t.put("y", number, ctx={"version": number})
    with builder.transaction("C") as t:
        t.get("x", 1, ctx={"version": seen})
        t.get("y", 2)
    return builder.build()


def test_what_rests_on_hints_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "told.jsonl"
    write_trace(emme(1), path)
    code, out, _ = run(capsys, "check", str(path), "--level", "ser", "--encoding", "emme")
    assert code == 1 and "by the hints that Emme reads" in out
    proof = certify(path, "--level", "ser", "--encoding", "emme")
    assert json.loads(proof.read_text())["encoding"] == "emme"
    code, out, _ = run(capsys, "verify", str(path), str(proof))
    assert code == 0 and "what Emme reads in the hints of its 2 transactions closes a cycle" in out
    assert "believed: the hints; without them the trace may be valid" in out
    core = read_certificate(proof, emme(1))
    assert isinstance(core, Core) and refute_with_hints(emme(1), core)
    assert not refute_with_hints(emme(1), replace(core, transactions=(0, 2)))
    with pytest.raises(CoreError, match="not in the trace"):
        refute_with_hints(emme(1), replace(core, transactions=(0, 9)))
    with pytest.raises(CoreError, match="Cobra reads no hints"):
        refute_with_hints(emme(1), replace(core, encoding="cobra"))
    data = json.loads(proof.read_text())
    data["core"]["transactions"] = [0]
    proof.write_text(json.dumps(data))
    code, out, _ = run(capsys, "verify", str(path), str(proof))
    assert code == 1 and "closes no cycle" in out


def test_parameters_survive() -> None:
    @module
    def careful(asg, ir, hints, *, word="1", several="a,b:c=d", numbers=(1, 2)):  # type: ignore[no-untyped-def]
        """Has parameters that could be misread."""
        seen.append((word, several, list(numbers)))

    seen: list[Any] = []
    assert isinstance(careful, Module)
    trace = stale()
    verdict = check(trace, "ser", modules=[careful])
    assert verdict.witness is not None and replay_with_modules(trace, verdict.witness, [careful])
    assert seen and all(x == ("1", "a,b:c=d", [1, 2]) for x in seen)


@pytest.mark.parametrize("name", ["mariadb-repeatable-read", "tombstones"])
def test_no_order_vouches_for_one_that_does_not_see_its_own_write(name: str) -> None:
    """These modules change the trace, so the replay that knows nothing of modules does not look at it."""
    trace = history(txn("A", put("x", 1), get("x", 2)), txn("B", put("x", 2)))
    assert check(trace, "si", modules=[name]).status == "invalid"
    count = prepare(build_asg(trace), find_recorded((name,), ())).transactions
    for order in itertools.permutations(range(count)):
        points = np.array([point for t in order for point in (2 * t, 2 * t + 1)])
        with pytest.raises(ReplayError):
            replay_with_modules(trace, Witness("si", 2, points, modules=(name,)))


@pytest.mark.parametrize("name", ["session-order", "tombstones"])
def test_read_uncommitted_is_not_refuted_by_what_was_read(name: str) -> None:
    trace = history(txn("A", put("x", 1)), txn("B", get("x", 2)))
    core = Core("ru", (1,), ((1, 0),), modules=(name,))
    for refutes in (refute_with_modules, minimal_with_modules):
        with pytest.raises(CoreError, match="looks at nothing"):
            refutes(trace, core)
    with pytest.raises(ReplayError, match="looks at nothing"):
        replay_with_modules(trace, Witness("ru", 1, np.arange(2), modules=(name,)))
