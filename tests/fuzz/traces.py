"""Every opinion on every trace, for as long as you like:

    PYTHONPATH=tests python -m fuzz.traces --minutes 5 [--seed 17] [--mix few-values] [--out failures]

`examine` is the whole of it: one trace is put to the native engine, to Z3, to clingo (behind all passes) and to brute
force at every level, and what comes with each answer is checked by those who did not give it. Programs written from
the same definitions rarely err alike (McKeeman, "Differential testing for software", Digital Technical Journal, 1998).
`examine_modules` does the same with modules: where worlds.py can enumerate what they mean, it has the last word.

A failure prints the seed that made the trace and writes the trace as JSON Lines. What this finds becomes a
test in test_regressions.py.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from support.histories import Absent, Op, Txn, history
from support.meanings import CASES, PREPARED, accepted, unchanged
from support.strategies import DEFAULT, Mix, generate
from support.worlds import Txn as Small
from support.worlds import build, random_txns

from boomslang import Checker, Trace, Verdict
from boomslang.certify.certificate import Core, Witness, read_certificate
from boomslang.certify.proved import fault_of_proof
from boomslang.certify.refute import minimal, refute
from boomslang.certify.replay import replay
from boomslang.certify.with_modules import minimal_with_modules, refute_with_modules, replay_with_modules
from boomslang.explain.core import refuted
from boomslang.explain.parts import Parts, first_broken
from boomslang.ir import lower, verify_ir
from boomslang.levels import LEVELS, Level, bounded, find_level, implies
from boomslang.levels.within import takes_bound
from boomslang.passes import expand
from boomslang.solve.backends import solve_eagerly
from boomslang.solve.brute import brute, brute_core
from boomslang.solve.native import solve_native
from boomslang.solve.solution import Limits, Solution, witness
from boomslang.solve.z3_solver import solve_z3
from boomslang.trace import Initial, Kind, TraceError, write_trace
from boomslang.verdict import vacuous
from boomslang.windows.solve import solve_in_windows, walk_through
from boomslang.windows.worth import fits_windows

ONE_CLOCK, TWO_CLOCKS = ("one clock",), ("two clocks",)

MIXES: dict[str, Mix] = {
    "default": DEFAULT,
    "few-values": replace(DEFAULT, values=("two", "alike"), keys=(1, 2), transactions=(4, 6)),
    "ranges": replace(
        DEFAULT, operations=(1, 3), keys=(2, 4), stores=("phantom", "snapshot", "loose", "wild")
    ),
    "unknown": replace(DEFAULT, initial=("unknown",), values=("two", "three", "unique")),
    "registers": replace(DEFAULT, ranges=False, deletes=False, errors=False, operations=(1, 4)),
    "sessions": replace(DEFAULT, sessions=(3, 6), transactions=(5, 6), times=ONE_CLOCK, operations=(1, 3)),
    "clocks": replace(DEFAULT, sessions=(2, 4), times=TWO_CLOCKS, stores=("stale", "snapshot", "loose")),
    "snapshots": replace(
        DEFAULT, stores=("snapshot", "stale"), values=("unique", "three"), transactions=(3, 6)
    ),
    "one-session": replace(DEFAULT, sessions=(1, 1)),
    "long-sessions": replace(
        DEFAULT,
        sessions=(1, 2),
        transactions=(5, 6),
        operations=(1, 3),
        keys=(2, 3),
        ranges=False,
        stores=("stale", "loose", "committed"),
    ),
    "crowd": replace(
        DEFAULT,
        stores=("reordered", "phantom", "snapshot", "stale", "committed", "loose"),
        transactions=(8, 16),
        sessions=(2, 6),
        operations=(1, 4),
        planted=(0, 0, 1),
    ),
    "crowd-of-twins": replace(
        DEFAULT,
        stores=("reordered", "snapshot", "stale", "loose"),
        values=("two", "three", "alike"),
        keys=(1, 3),
        transactions=(12, 30),
        sessions=(2, 8),
        operations=(1, 3),
        planted=(0, 0, 1),
    ),
    "crowd-in-doubt": replace(
        DEFAULT,
        stores=("reordered", "snapshot", "stale", "loose"),
        values=("two", "three"),
        initial=("unknown",),
        transactions=(10, 20),
        sessions=(2, 8),
        operations=(1, 3),
        planted=(0, 0, 1),
    ),
    "lists": replace(DEFAULT, lists=1.0, ranges=False, operations=(1, 4)),
    "lists-and-registers": replace(DEFAULT, lists=0.5, ranges=False, keys=(2, 4), values=("two", "unique")),
    "lists-in-doubt": replace(
        DEFAULT,
        lists=0.5,
        ranges=False,
        keys=(2, 3),
        values=("two",),
        initial=("unknown",),
        operations=(1, 4),
    ),
    "crowd-with-lists": replace(
        DEFAULT,
        lists=0.8,
        ranges=False,
        stores=("reordered", "snapshot", "stale", "loose"),
        values=("two", "three"),
        transactions=(8, 16),
        sessions=(2, 6),
        operations=(1, 3),
        planted=(0, 0, 1),
    ),
    "tiny": replace(DEFAULT, transactions=(1, 3), keys=(1, 2), operations=(1, 3), planted=(0, 1, 2, 3)),
}
"""Where to look: each mix makes much of one thing."""

WITHIN = tuple(bounded(level, 2) for level in LEVELS if takes_bound(level))
"""Levels within a bound, which is about as long as a transaction of these traces."""
SMALL = 7
"""Transactions that brute force can take."""


class Wrong(AssertionError):
    """Two opinions differ, or an answer does not hold what it promises."""


def random_trace(seed: int, mix: str = "default") -> Trace:
    """The trace of a seed: what a failure's report names. Some lose half of their outcomes."""
    rng = random.Random(seed)
    trace = generate(rng, MIXES[mix])
    doubtful = 0.5 if "unknown" in MIXES[mix].initial[:1] else 0.1
    return lose_outcomes(trace, rng) if rng.random() < doubtful else trace


def lose_outcomes(trace: Trace, rng: random.Random) -> Trace:
    """The trace, with half of its outcomes unknown."""
    lost = np.array([rng.random() < 0.5 for _ in range(len(trace))], bool)
    return replace(trace, txn_outcome=np.where(lost, 2, trace.txn_outcome).astype(np.uint8))


KINDS = {kind: kind.name.lower() for kind in Kind}


def told(trace: Trace) -> list[Txn]:
    """The transactions of a trace, to be changed and made a trace again."""
    return [
        Txn(
            t.session,
            tuple(
                Op(
                    KINDS[o.kind], None if o.key is Absent else o.key, o.value, o.found, o.lo, o.hi, o.items,
                    o.iterator, o.end, o.error is not None, o.elements,
                )
                for o in t.operations
            ),
            t.outcome.name.lower(), t.begin, t.end, t.clock,
        )
        for t in trace.transactions()
    ]  # fmt: skip


def again(trace: Trace, txns: Iterable[Txn], initial: dict[Any, Any] | None = None) -> Trace:
    """These transactions, on the initial state of the trace (or another)."""
    state: Any = dict(trace.initial()) if initial is None else initial
    if trace.initial_mode != Initial.GIVEN:
        state = "unknown" if trace.initial_mode == Initial.UNKNOWN else None
    return history(*txns, initial=state)


def reduced(trace: Trace, wrong: Callable[[Trace], bool], seconds: float = 60.0) -> Trace:
    """A smaller trace that is still wrong: as many transactions and operations dropped as time allows."""
    stop = time.monotonic() + seconds
    txns = told(trace)

    def still(candidate: list[Txn]) -> bool:
        try:
            return time.monotonic() < stop and wrong(again(trace, candidate))
        except TraceError:
            return False  # a next() without its iterator

    smaller = True
    while smaller:
        smaller = False
        for i in reversed(range(len(txns))):
            if still(without := [*txns[:i], *txns[i + 1 :]]):
                txns, smaller = without, True
        for i in range(len(txns)):
            for j in reversed(range(len(txns[i].ops))):
                ops = (*txns[i].ops[:j], *txns[i].ops[j + 1 :])
                if still(without := [*txns[:i], replace(txns[i], ops=ops), *txns[i + 1 :]]):
                    txns, smaller = without, True
    return again(trace, txns)


def a_third(n: int) -> tuple[Level, ...]:
    """A third of the levels, another one for each n: with many traces every level still has its share, of valid and of
    invalid ones. Read uncommitted is cheap and rarely broken: it is asked each time."""
    return tuple(level for i, level in enumerate(LEVELS) if i % 3 == n % 3 or not level.observes)


def examine(
    trace: Trace,
    by_brute_force: bool = True,
    *,
    by_z3: bool = True,
    by_clingo: bool = False,
    refuted_by_z3: bool = True,
    levels: Sequence[Level] = LEVELS,
    z3_at: Sequence[Level] | None = None,
) -> dict[str, str]:
    """Puts the trace to everybody at every level; to Z3, if `z3_at` is given, only at these. The verdicts, by level;
    raises `Wrong`."""
    checker = Checker(trace)
    verdicts: dict[str, str] = {}
    for level in levels:
        try:
            z3 = z3_at is None or level in z3_at
            verdicts[level.name] = _examine(
                checker, level, by_brute_force, by_z3 and z3, by_clingo, refuted_by_z3 and z3
            )
        except Exception as error:
            raise Wrong(f"at {level.name}: {type(error).__name__}: {error}") from error
    for a in levels:
        for b in levels:
            if implies(a, b) and (verdicts[a.name], verdicts[b.name]) == ("valid", "invalid"):
                raise Wrong(f"{a.name} holds and {b.name} does not")
    return verdicts


def _examine(
    checker: Checker, level: Level, by_brute_force: bool, by_z3: bool, by_clingo: bool, refuted_by_z3: bool
) -> str:
    trace, asg = checker.trace, checker.asg
    if level.observes and (problems := verify_ir(lower(asg, level))):
        raise Wrong(f"the IR is not well formed: {problems}")
    verdict = checker.check(level)
    # A level that needs times or sessions which the trace lacks is never said to hold; but it is solved.
    missing = (level.needs_times and not trace.has_times) or (level.needs_sessions and not trace.has_sessions)
    missing = missing or bool(vacuous(trace))
    if (verdict.status == "unknown") != (missing and not verdict.invalid):
        raise Wrong(f"the verdict is {verdict}")
    holds = not verdict.invalid
    if by_brute_force and brute(trace, level.name) != holds:
        raise Wrong(f"native says {verdict.status}, brute force {'invalid' if holds else 'valid'}")
    if level.observes and first_broken(asg) is None:
        ir = lower(asg, level)
        ways = {"native": solve_native(ir), "native without hints": solve_native(ir, hints=False)}
        if by_z3:
            ways["z3"] = solve_z3(ir)
        if by_clingo:
            ways["clingo"] = solve_eagerly(expand(ir), "clingo")
        if fits_windows(level):
            pieced, did = solve_in_windows(ir, Limits(window=2 + len(trace) % 4, jobs=1))
            if did.get("windows: misfits"):
                raise Wrong("windows that hold each on its own do not hold together")
            if pieced is not None:
                ways["windows"] = pieced
            threads = 1 + len(trace.op_kind) % 3
            walked, _ = walk_through(ir, Limits(jobs=threads), in_time=len(trace) % 2 == 0, stretch=5)
            if walked is not None:
                ways["a walk"] = walked
        for name, solution in ways.items():
            if (solution.status == "valid") != holds or solution.status == "unknown":
                raise Wrong(f"check says {verdict.status}, {name} says {solution.status}")
            if holds:
                replay(trace, witness(ir, solution))
        _same(ways["native"], solve_native(ir))
    _certificate(trace, verdict)
    if verdict.witness is not None:
        replay(trace, verdict.witness)
    if verdict.invalid:
        _counterexample(trace, verdict, by_brute_force, refuted_by_z3)
    return "valid" if holds else "invalid"


def _same(one: Solution, two: Solution) -> None:
    """Equal input, equal answer, equal effort."""
    same = np.array_equal(one.order, two.order) if one.order is not None and two.order is not None else True
    if one.status != two.status or one.stats != two.stats or not same:
        raise Wrong(f"not deterministic: {one.stats}, then {two.stats}")


def _certificate(trace: Trace, verdict: Verdict) -> None:
    """What is written to a file can be read again."""
    json.dumps(verdict.to_json(), allow_nan=False)
    data = verdict.certificate()
    if data is None:
        assert verdict.status == "unknown", "a verdict without a certificate"
        return
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(json.dumps(data, allow_nan=False))
        file.flush()
        again = read_certificate(Path(file.name), trace)
    if verdict.witness is None:
        assert verdict.counterexample is not None
        assert again == verdict.counterexample.core, "another core was read than written"
        return
    assert isinstance(again, Witness)
    for name in ("order", "read_op", "read_key", "read_writer"):
        assert np.array_equal(getattr(again, name), getattr(verdict.witness, name)), (
            f"another {name} was read"
        )
    assert (again.level, again.points) == (verdict.witness.level, verdict.witness.points)
    assert again.initial == verdict.witness.initial, "other initial values were read"
    versions = {key: order.tolist() for key, order in verdict.witness.version_order.items()}
    assert {key: order.tolist() for key, order in again.version_order.items()} == versions


def _counterexample(trace: Trace, verdict: Verdict, by_brute_force: bool, by_z3: bool) -> None:
    found = verdict.counterexample
    assert found is not None, "an invalid verdict without a counterexample"
    core = found.core
    assert core.level == verdict.level.name
    assert all(list(found.lines())), "an empty line in the explanation"
    if core.proof is not None:
        fault = fault_of_proof(trace, core.level, core.proof)
        assert not fault, f"the proof is refused: {fault}"
    else:
        assert found.minimal
    if by_z3:
        assert refute(trace, core), f"Z3 does not refute {core}"
        if core.proof is None:
            assert not (spare := minimal(trace, core)), f"Z3 refutes {core} without {spare}"
    if by_brute_force and core.proof is None:
        for part in (None, *core.transactions, *core.reads):
            left = tuple(t for t in core.transactions if t != part)
            reads = tuple(read for read in core.reads if read != part)
            if brute_core(trace, core.level, left, reads) != (part is not None):
                still = "is not refuted" if part is None else f"is still refuted without {part}"
                raise Wrong(f"brute force: {core} {still}")


def examine_part(
    trace: Trace,
    rng: random.Random,
    by_brute_force: bool = True,
    *,
    by_z3: bool = False,
    levels: Sequence[Level] = LEVELS,
) -> None:
    """Asks the engine about a random part of the trace, as shrinking a core does: much of it is in doubt then."""
    checker = Checker(trace)
    asg = checker.asg
    kept = [t for t in range(len(trace)) if rng.random() < 0.7]
    reads = [r for r in range(len(asg.read_key)) if rng.random() < 0.8]
    internal = [r for r in range(len(asg.internal[0])) if rng.random() < 0.8]
    named = [(int(asg.read_op[r]), int(asg.read_key[r])) for r in reads]
    named += [(int(asg.internal[1][r]), int(asg.internal[2][r])) for r in internal]
    for level in (level for level in levels if level.observes):
        used = refuted(asg, level, Parts.of(kept, reads, internal))
        core = Core(level.name, tuple(kept), tuple(named))
        if by_brute_force and brute_core(trace, level.name, kept, named) != (used is None):
            raise Wrong(f"native and brute force differ about {core}: native refutes it: {used is not None}")
        if by_z3 and refute(trace, core) != (used is not None):
            raise Wrong(f"native and Z3 differ about {core}: native refutes it: {used is not None}")
        if used is not None and refuted(asg, level, used) is None:
            raise Wrong(f"what the refutation of {core} used is not refuted on its own: {used}")


# --- modules ----------------------------------------------------------------------------------------------

WITHOUT_HINTS = (
    *(name for name, (_, change) in CASES.items() if change is unchanged), "read-latest", "read-modify-writes",
)  # fmt: skip


def modules_of(seed: int) -> tuple[list[str], list[Small], str]:
    """Modules, transactions with hints for them, and a level."""
    rng = random.Random(seed)
    names = (
        [rng.choice(list(PREPARED))] if rng.random() < 0.4 else rng.sample(list(CASES), rng.choice((1, 1, 2)))
    )
    txns = random_txns(rng, 3 if names[0].startswith("mariadb") else 4)
    for name in names:
        (PREPARED[name][0] if name in PREPARED else CASES[name][1])(rng, txns)
    return names, txns, rng.choice(("ser", "rr", "rc"))


def examine_modules(seed: int, *, eagerly: bool = True) -> tuple[str, str]:
    """Modules, with hints, on a small trace: what all worlds say. The modules and the verdict; raises `Wrong`."""
    names, txns, level = modules_of(seed)
    trace = build(txns)
    means = PREPARED[names[0]][1] if names[0] in PREPARED else partial(accepted, names)
    expected = means(txns, level)
    what = f"{' and '.join(names)} at {level}"
    try:
        verdict = _with_modules(trace, names, find_level(level), eagerly)
    except Exception as error:
        raise Wrong(f"{what}: {type(error).__name__}: {error}") from error
    # Where nobody is known to have committed, what holds is not said to.
    holds = "unknown" if vacuous(trace) else "valid"
    if expected is not None and verdict.status != (holds if expected else "invalid"):
        raise Wrong(
            f"{what}: check says {verdict.status}, all worlds say {'valid' if expected else 'invalid'}"
        )
    return names[0], verdict.status


def examine_with_module(trace: Trace, seed: int, *, eagerly: bool = True) -> None:
    """A module that needs no hints, on any trace at any level: all solvers agree, and certificates are verified."""
    rng = random.Random(seed)
    name, level = rng.choice(WITHOUT_HINTS), rng.choice([level for level in LEVELS if level.observes])
    try:
        _with_modules(trace, [name], level, eagerly)
    except Exception as error:
        raise Wrong(f"{name} at {level.name}: {type(error).__name__}: {error}") from error


def _with_modules(trace: Trace, names: list[str], level: Level, eagerly: bool) -> Verdict:
    verdict = Checker(trace, modules=names).check(level)
    if eagerly:
        for solver in ("z3", "clingo"):
            other = Checker(trace, modules=names, solver=solver).check(level)
            if other.status != verdict.status:
                raise Wrong(f"native says {verdict.status}, {solver} says {other.status}")
            if other.witness is not None:
                replay_with_modules(trace, other.witness)
    if verdict.witness is not None:
        replay_with_modules(trace, verdict.witness)
    if verdict.invalid:
        assert verdict.counterexample is not None and list(verdict.counterexample.lines())
        core = verdict.counterexample.core
        refutes, spare_in = (refute_with_modules, minimal_with_modules) if core.modules else (refute, minimal)
        assert refutes(trace, core), f"Z3 does not refute {core}"
        assert not (spare := spare_in(trace, core)), f"Z3 refutes {core} without {spare}"
    return verdict


# --- the endless run --------------------------------------------------------------------------------------


def seeds(start: int | None) -> Iterator[int]:
    if start is not None:
        yield from iter(range(start, sys.maxsize))
    while True:
        yield random.SystemRandom().randrange(2**40)


def is_wrong(trace: Trace) -> bool:
    try:
        small, levels = len(trace) <= SMALL, (*LEVELS, *WITHIN)
        examine(trace, small, levels=levels)
        for seed in range(5):
            examine_part(trace, random.Random(seed), small, by_z3=True, levels=levels)
    except Wrong:
        return True
    return False


def keep(trace: Trace, folder: Path, name: str) -> Path:
    """Writes a trace down; as a folder if it has several clocks."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (name if len(set(trace.txn_clock.tolist())) > 1 else f"{name}.jsonl")
    if path.is_dir():
        shutil.rmtree(path)
    write_trace(trace, path)
    return path


def fuzz_modules(seed: int, mix: str, trace: Trace, out: Path, found: Counter[tuple[str, str]]) -> bool:
    """One seed of modules: a small trace with hints, and one of the mixes without. True: all agree."""
    fine = True
    try:
        found[examine_modules(seed)] += 1
    except Wrong as wrong:
        fine = False
        path = keep(build(modules_of(seed)[1]), out, f"modules-{seed}")
        print(f"seed {seed}, modules: {wrong}\n  the trace is in {path}", flush=True)
    if len(trace) > SMALL:
        return fine
    try:
        examine_with_module(trace, seed)
    except Wrong as wrong:
        fine = False

        def still(candidate: Trace) -> bool:
            try:
                examine_with_module(candidate, seed)
            except Wrong:
                return True
            return False

        path = keep(reduced(trace, still), out, f"module-{mix}-{seed}-reduced")
        print(f"seed {seed}, mix {mix}: {wrong}\n  the trace is in {path}", flush=True)
    return fine


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="fuzz.py", description="Compare all solvers on random traces.")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, help="count up from this seed; without it seeds are random")
    parser.add_argument("--count", type=int, default=sys.maxsize, help="stop after so many traces")
    parser.add_argument("--mix", choices=MIXES, action="append", help="only these kinds of traces")
    parser.add_argument("--z3", type=float, default=0.1, help="share of traces that Z3 sees as well")
    parser.add_argument("--clingo", type=float, default=0.1, help="share of traces that clingo sees as well")
    parser.add_argument("--modules", type=float, default=0.25, help="share of time for modules")
    parser.add_argument("--out", type=Path, default=Path("fuzz-failures"), help="folder for failing traces")
    given = parser.parse_args(arguments)
    stop = time.monotonic() + 60 * given.minutes
    balance: Counter[tuple[str, str]] = Counter()
    by_module: Counter[tuple[str, str]] = Counter()
    traces = failures = 0
    for seed in seeds(given.seed):
        if time.monotonic() > stop or traces >= given.count:
            break
        mixes = given.mix or list(MIXES)
        mix = mixes[seed % len(mixes)]
        trace = random_trace(seed, mix)
        luck = random.Random(seed ^ 0x5EED)
        sampled, clingo = luck.random() < given.z3, luck.random() < given.clingo
        traces += 1
        if luck.random() < given.modules:
            failures += not fuzz_modules(seed, mix, trace, given.out, by_module)
            continue
        try:
            small = len(trace) <= SMALL
            more = {"by_z3": sampled, "by_clingo": clingo, "refuted_by_z3": sampled or not small}
            levels = (*LEVELS, *WITHIN)
            balance.update(examine(trace, small, **more, levels=levels).items())
            for part in range(3):
                rng = random.Random(seed + part)
                examine_part(trace, rng, small, by_z3=sampled or not small, levels=levels)
        except Wrong as wrong:
            failures += 1
            keep(trace, given.out, f"{mix}-{seed}")
            small_one = reduced(trace, is_wrong)
            path = keep(small_one, given.out, f"{mix}-{seed}-reduced")
            print(f"seed {seed}, mix {mix}: {wrong}\n  the trace is in {path}", flush=True)
            for line in traceback.format_exception(wrong)[-6:]:
                print(f"    {line.rstrip()}")
    print(f"{traces} traces, {failures} failures")
    for level in (*LEVELS, *WITHIN):
        valid, invalid = balance[level.name, "valid"], balance[level.name, "invalid"]
        print(f"  {level.name:40} {valid:7} valid {invalid:7} invalid")
    for name in sorted({name for name, _ in by_module}):
        print(f"  {name:40} {by_module[name, 'valid']:7} valid {by_module[name, 'invalid']:7} invalid")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
