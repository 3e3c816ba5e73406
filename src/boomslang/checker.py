"""The whole pipeline: trace -> ASG -> IR -> solver -> verdict.

`Checker._decide` is that line in code. What is asked about the answer afterwards has its own places: whose fault it is
where modules had a say (modules/blame.py), what a level needs that the trace lacks (levels/needs.py), what can be said
of one that is unknown (bounded.py), and the reason of a refutation (explain/). They are loaded when they are needed, as
are solvers other than the native engine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from boomslang.asg.graph import ASG, build_asg
from boomslang.bounded import attempt, kept_back
from boomslang.cores import all_cores
from boomslang.deadline import left, until
from boomslang.errors import UsageError, did_you_mean
from boomslang.explain.parts import Parts, first_broken
from boomslang.ir.lower import lower
from boomslang.ir.model import IR
from boomslang.levels import LEVELS, Level, bounded, find_level, fitted, implies
from boomslang.levels.needs import lacks, without_what_is_lacking
from boomslang.solve.names import NATIVE, SOLVERS
from boomslang.solve.solution import Limits, Solution, witness
from boomslang.solve.strategy import solve as solve_with_engine
from boomslang.trace.errors import LimitReached
from boomslang.trace.model import Trace
from boomslang.verdict import INVALID, UNKNOWN, VALID, Verdict, vacuous

if TYPE_CHECKING:
    from boomslang.certify.proof import Proof
    from boomslang.explain.counterexample import Counterexample
    from boomslang.modules.module import Function, Module

    Asked = str | Module | Function
Progress = Callable[[int, int, int], object]
A_MOMENT = 0.2
"""Seconds in which an answer that came just in time is explained."""
FEW = 6
"""Transactions of a refutation by counting or states that is made a minimal core, and argued step by step. With
more, the one sentence that it is says more."""
SHORT = 12
"""Lines of such an argument."""
_REASONS = {
    "time": "the time limit was reached",
    "memory": "the memory limit was reached",
    "solver": "the solver gave up",
}


def check(
    trace: Trace,
    level: str | Level = "serializable",
    *,
    solver: str | None = None,
    timeout: float | None = None,
    memory: float | None = None,
    progress: Progress | None = None,
    passes: Sequence[str] | None = None,
    encoding: str | None = None,
    modules: Iterable[Asked] = (),
    within: str | int | None = None,
    jobs: int | None = None,
    window: int | None = None,
    explaining: float | None = None,
) -> Verdict:
    """Does the trace satisfy the isolation level?

    `timeout` is in seconds and `memory` in megabytes of the process; when either is reached the verdict is unknown.
    `solver` is the native engine if not said otherwise. `passes` (all, if not given) are for the other solvers, and
    `encoding` is an earlier checker's way to put the question to one of those. `modules` say what else is known or
    asked for: names (with parameters: "bounded-staleness:time=100"), files, or functions with @boomslang.module.
    `within` asks for the level within a bound of real time: "1s", or a number in the unit of the trace. `jobs` are the
    threads that may work at a time, and `window` the transactions of one window of a long trace (0: no windows);
    neither changes an answer. A violation is explained for as long as five times what it took to find it, or for
    `explaining` seconds; what that does not make minimal is told as far as it came.
    """
    if isinstance(level, str) and "-" in level:
        from boomslang.levels.vendors import vendors_level

        if (meant := vendors_level(level)) is not None:
            asked = list(modules)
            own = [m for m in meant.modules if not any(str(a).partition(":")[0] == m for a in asked)]
            level, modules = meant.level, [*asked, *own]
    level = find_level(level)
    return Checker(
        trace,
        solver=solver,
        timeout=timeout,
        memory=memory,
        progress=progress,
        passes=passes,
        encoding=encoding,
        modules=modules,
        jobs=jobs,
        window=window,
        explaining=explaining,
    ).check(level if within is None else bounded(level, within))


class Checker:
    """Checks one trace at several levels; what does not depend on the level is done once."""

    def __init__(
        self,
        trace: Trace,
        *,
        solver: str | None = None,
        timeout: float | None = None,
        memory: float | None = None,
        progress: Progress | None = None,
        passes: Sequence[str] | None = None,
        encoding: str | None = None,
        modules: Iterable[Asked] = (),
        jobs: int | None = None,
        window: int | None = None,
        explaining: float | None = None,
    ) -> None:
        if solver is None:
            solver = NATIVE if encoding is None else _any_eager()
        if solver not in SOLVERS:
            raise UsageError(
                f"unknown solver {solver!r}{did_you_mean(solver, SOLVERS)}; known solvers: {', '.join(SOLVERS)}"
            )
        if solver == NATIVE and encoding is not None:
            raise UsageError("the native engine takes no encoding but its own; use solver='z3' or 'clingo'")
        if solver == NATIVE and passes is not None:
            raise UsageError("passes are for eager solvers; use solver='z3' or 'clingo'")
        if encoding is not None and trace.op_where is not None:
            raise UsageError("the trace has selects, which no earlier checker knows; ask without an encoding")
        self.trace = trace
        self.solver = solver
        self.passes = passes if solver == NATIVE else _chosen(passes)
        self.encoding = None if encoding is None else _encoding(encoding)
        self.limits = Limits(timeout, memory, progress=progress, jobs=jobs, window=window)
        self.explaining = explaining
        self.modules = _modules(modules)
        if self.modules and encoding is not None:
            raise UsageError("an encoding is an earlier checker's whole way to ask; it takes no modules")
        self._asg: ASG | None = None
        self.analyse_seconds = 0.0

    @property
    def asg(self) -> ASG:
        """The Abstract Semantic Graph, built when it is first needed."""
        if self._asg is None:
            start = time.perf_counter()
            self._asg = self.analysed(self.modules)
            self.analyse_seconds = time.perf_counter() - start
        return self._asg

    def analysed(self, modules: tuple[Module, ...]) -> ASG:
        """The ASG as these modules have it."""
        seconds = self.limits.seconds if (now := left()) is None else max(1e-3, now)
        asg = build_asg(
            self.trace, seconds=seconds, megabytes=self.limits.megabytes, jobs=self.limits.jobs or all_cores()
        )
        if not modules:
            return asg
        from boomslang.modules.module import prepare

        return prepare(asg, modules)

    def check(self, level: str | Level) -> Verdict:
        """The verdict at one level."""
        level = fitted(find_level(level), self.trace)
        begin = time.monotonic()
        seconds = self.limits.seconds
        try:
            with until(None if seconds is None else begin + seconds):
                verdict = self._decide(level, begin) if level.observes else self._check_appends(level)
        except LimitReached as limit:
            return Verdict(self.trace, level, UNKNOWN, _REASONS.get(limit.reason, limit.reason))
        if verdict.valid and (reason := vacuous(self.trace)):
            verdict = replace(verdict, status=UNKNOWN, reason=reason, witness=None)
        return replace(verdict, modules=tuple(m.spelled for m in self.modules)) if self.modules else verdict

    def _decide(self, level: Level, begin: float) -> Verdict:
        """The pipeline."""
        asg = self.asg
        stats: dict[str, Any] = {"analyse": self.analyse_seconds}
        parts, ir = first_broken(asg), None
        if parts is None:
            with _timed(stats, "lower"):
                ir = lower(asg, level)
            ir, solution = self._solved(ir, level, kept_back(self, level, self.left(begin)), stats)
            asg = ir.asg if asg.entries is not None else asg
            if solution.status == UNKNOWN:
                tried = attempt(self, level, begin)
                if tried.holds is None:
                    reason = "; ".join(
                        filter(None, (_REASONS.get(solution.reason, solution.reason), tried.reason))
                    )
                    return Verdict(self.trace, level, UNKNOWN, reason, stats=stats, bounded=tried.refuted)
                solution = tried.holds
                stats["decided by"] = solution.decided_by
            if solution.status == VALID:
                with _timed(stats, "certify"):
                    made = witness(ir, solution)
                verdict = Verdict(
                    self.trace, level, VALID, witness=made, stats=stats, notes=(*asg.notes, *ir.notes)
                )
                return without_what_is_lacking(verdict)
            if solution.hinted is not None:
                return Verdict(
                    self.trace, level, INVALID, solution.reason, counterexample=solution.hinted, stats=stats
                )
            parts = Parts.used_by(asg, solution)
            if solution.proof is not None:
                with _timed(stats, "explain"):
                    told = self.explained_by_proof(asg, level, solution.proof, parts, begin, stats)
                return Verdict(self.trace, level, INVALID, counterexample=told, stats=stats)
        if self.modules:
            from boomslang.modules.blame import blame

            return blame(self, level, ir, parts, stats, begin)
        with _timed(stats, "explain"):
            counterexample = self.explained(asg, level, parts, begin, explaining_seconds(stats))
        return Verdict(self.trace, level, INVALID, counterexample=counterexample, stats=stats)

    def _solved(self, ir: IR, level: Level, limits: Limits, stats: dict[str, Any]) -> tuple[IR, Solution]:
        """The solution, and the problem that it solves: selects over several columns are added as they are needed."""
        if ir.asg.entries is None:
            return ir, self.solve(ir, limits, stats)
        from boomslang.solve.joint_reads import solve_selects

        start = time.monotonic()
        found = solve_selects(
            ir, level, lambda more: self.solve(more, limits.since(start), stats), lazily=self.solver == NATIVE
        )
        stats |= found[1].stats
        return found

    def solve(self, ir: IR, limits: Limits, stats: dict[str, Any] | None = None) -> Solution:
        """Asks the solver that was chosen."""
        stats = {} if stats is None else stats
        with _timed(stats, "solve"):
            if self.solver == NATIVE:
                solution = solve_with_engine(ir, limits)
            else:
                from boomslang.solve.eagerly import solve_expanded

                solution = solve_expanded(ir, self.solver, limits, self.passes, self.encoding)
        stats |= solution.stats
        if solution.decided_by:
            stats["decided by"] = solution.decided_by
        return solution

    def explained(
        self,
        asg: ASG,
        level: Level,
        parts: Parts,
        begin: float,
        most: float | None = None,
        *,
        briefly: bool = False,
    ) -> Counterexample:
        """Why these parts are refuted. The answer is there: this may use the time that is left, and a moment more.
        `briefly`: see explain/counterexample.py."""
        from boomslang.explain.counterexample import explain
        from boomslang.explain.patience import of_this_process

        seconds = self.left_to_explain(begin)
        if seconds is None and most is None:
            return explain(asg, level, parts, smaller=not briefly, briefly=briefly)
        if seconds is None:
            with of_this_process():
                return explain(asg, level, parts, most, smaller=not briefly, briefly=briefly)
        seconds = max(A_MOMENT, seconds if most is None else min(seconds, most))
        with until(time.monotonic() + seconds):
            return explain(asg, level, parts, seconds, smaller=not briefly, briefly=briefly)

    def explained_by_proof(
        self, asg: ASG, level: Level, proof: Proof, parts: Parts, begin: float, stats: dict[str, Any]
    ) -> Counterexample:
        """The same of a refutation that needs no solver: told in a sentence, with what probably happened; or step by
        step, if it has few transactions and can be."""
        from boomslang.explain.by_proof import explain_by_proof

        seconds, rest = explaining_seconds(stats), self.left_to_explain(begin)
        if rest is not None:
            seconds = max(A_MOMENT, min(seconds, rest))
        if len(parts.transactions) <= FEW:
            told = self.explained(asg, level, parts, begin, seconds / 2, briefly=True)
            if told.minimal and told.argument is not None and told.argument.length <= SHORT:
                return told
        return explain_by_proof(asg, level, proof, parts, seconds)

    def _check_appends(self, level: Level) -> Verdict:
        """Read uncommitted: only lists can break it."""
        from boomslang.certify.certificate import Witness
        from boomslang.solve.uncommitted import check_appends

        if self.modules:
            raise UsageError(
                f"{level.title} looks at nothing that a module could speak of; ask without modules"
            )
        stats: dict[str, Any] = {"decided by": "the order of appends"}
        with _timed(stats, "solve"):
            found = check_appends(self.trace, level)
        if isinstance(found, Witness):
            return Verdict(self.trace, level, VALID, witness=found, stats=stats)
        return Verdict(self.trace, level, INVALID, counterexample=found, stats=stats)

    def left(self, begin: float) -> Limits:
        """The limits, less the time since `begin`."""
        return self.limits.since(begin)

    def left_to_explain(self, begin: float) -> float | None:
        """Seconds of the day in which an answer must be explained; None: there is no such limit."""
        limits = [each for each in (self.left(begin).seconds, self.explaining) if each is not None]
        return min(limits, default=None)

    def strongest(
        self, among: Iterable[Level] = LEVELS, settled: dict[str, Verdict] | None = None
    ) -> dict[str, Verdict]:
        """Verdicts at every level that the trace has the means to decide, by name.

        One that holds settles all that it implies, and one that is broken all that imply it; those are not asked. The
        strongest come first, for most traces keep what their database promised; once one of them is broken, the
        next question is the one that settles most whatever its answer is. All the strongest that hold and the weakest
        that do not have been asked, so they have their certificates. `settled`, if given, holds what is known so far
        while this goes on.
        """
        levels = [
            level for level in among if (level.observes or not self.modules) and not lacks(level, self.trace)
        ]
        verdicts: dict[str, Verdict] = {} if settled is None else settled
        if self.modules:  # what they ask for may differ from level to level
            for level in levels:
                verdicts[level.name] = self.check(level)
        while left := [level for level in levels if level.name not in verdicts]:
            verdict = self.check(_next_question(left, any(v.invalid for v in verdicts.values())))
            asked = verdict.level
            verdicts[asked.name] = verdict
            for level in left:
                if level.name == asked.name:
                    continue
                if verdict.valid and implies(asked, level):
                    reason = f"implied by {asked.name}"
                elif verdict.invalid and implies(level, asked):
                    reason = f"it implies {asked.name}, which is broken"
                else:
                    continue
                verdicts[level.name] = Verdict(self.trace, level, verdict.status, reason, stats={})
        return {level.name: verdicts[level.name] for level in levels}


def explaining_seconds(stats: dict[str, Any]) -> float:
    """How long an answer may be explained: five times as long as it took to find, or two seconds."""
    return max(2.0, 5 * float(stats.get("solve", 0.0)))


def _next_question(left: list[Level], some_are_broken: bool) -> Level:
    """The level to ask next, of those that are not settled yet."""
    below = {level.name: sum(implies(level, other) for other in left) for level in left}
    above = {level.name: sum(implies(other, level) for other in left) for level in left}
    if not some_are_broken:
        return max(left, key=lambda level: below[level.name])
    return max(left, key=lambda level: (min(below[level.name], above[level.name]), below[level.name]))


@contextmanager
def _timed(stats: dict[str, Any], phase: str) -> Iterator[None]:
    """Adds the seconds of a phase to the statistics."""
    start = time.perf_counter()
    yield
    stats[phase] = time.perf_counter() - start


# --- what only those pay for who ask for it


def _any_eager() -> str:
    from boomslang.solve.backends import any_eager

    return any_eager()


def _chosen(passes: Sequence[str] | None) -> Sequence[str]:
    from boomslang.passes import chosen

    return chosen(passes)


def _encoding(name: str) -> Any:
    from boomslang.encodings import find_encoding

    return find_encoding(name)


def _modules(asked: Iterable[Asked]) -> tuple[Module, ...]:
    if not (asked := tuple(asked)):
        return ()
    from boomslang.modules.registry import find_modules

    return find_modules(asked)
