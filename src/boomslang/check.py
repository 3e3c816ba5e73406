"""The whole pipeline: trace -> ASG -> IR -> solver -> verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from boomslang.asg.graph import ASG, build_asg
from boomslang.certify.certificate import Witness
from boomslang.encodings import cycle, find_encoding
from boomslang.errors import UsageError
from boomslang.explain.core import Parts, first_broken, refuted
from boomslang.explain.counterexample import explain
from boomslang.ir.lower import lower
from boomslang.ir.model import IR
from boomslang.levels import LEVELS, Level, find_level, implies
from boomslang.levels.level import Dependency
from boomslang.modules.module import Function, Module, prepare
from boomslang.modules.registry import find_modules
from boomslang.passes import chosen, expand
from boomslang.solve.backends import NATIVE, SOLVERS, any_eager, solve_eagerly
from boomslang.solve.clock import Clock
from boomslang.solve.solution import Limits, Solution, witness
from boomslang.solve.strategy import solve as solve_with_engine
from boomslang.solve.uncommitted import check_appends
from boomslang.trace.errors import LimitReached
from boomslang.trace.model import Trace
from boomslang.verdict import INVALID, UNKNOWN, VALID, Verdict, vacuous

Asked = str | Module | Function
Progress = Callable[[int, int, int], object]
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
) -> Verdict:
    """Does the trace satisfy the isolation level?

    `timeout` is in seconds and `memory` in megabytes of the process; when either is reached the verdict is unknown.
    `solver` is the native engine if not said otherwise. `passes` (all, if not given) are for the other solvers, and
    `encoding` is an earlier checker's way to put the question to one of those. `modules` say what else is known or
    asked for: names (with parameters: "bounded-staleness:time=100"), files, or functions with @boomslang.module.
    """
    return Checker(
        trace,
        solver=solver,
        timeout=timeout,
        memory=memory,
        progress=progress,
        passes=passes,
        encoding=encoding,
        modules=modules,
    ).check(level)


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
    ) -> None:
        if solver is None:
            solver = NATIVE if encoding is None else any_eager()
        if solver not in SOLVERS:
            raise UsageError(f"unknown solver {solver!r}; known solvers: {', '.join(SOLVERS)}")
        if solver == NATIVE and encoding is not None:
            raise UsageError("the native engine takes no encoding but its own; use solver='z3' or 'clingo'")
        if solver == NATIVE and passes is not None:
            raise UsageError("passes are for eager solvers; use solver='z3' or 'clingo'")
        self.trace = trace
        self.solver = solver
        self.passes = chosen(passes)
        self.encoding = None if encoding is None else find_encoding(encoding)
        self.limits = Limits(timeout, memory, progress=progress)
        self.modules = find_modules(modules)
        if self.modules and encoding is not None:
            raise UsageError("an encoding is an earlier checker's whole way to ask; it takes no modules")
        self._asg: ASG | None = None
        self.analyse_seconds = 0.0

    @property
    def asg(self) -> ASG:
        """The Abstract Semantic Graph, built when it is first needed."""
        if self._asg is None:
            start = time.perf_counter()
            self._asg = prepare(self._built(), self.modules)
            self.analyse_seconds = time.perf_counter() - start
        return self._asg

    def _built(self) -> ASG:
        """The ASG as no module has changed it."""
        return build_asg(self.trace, seconds=self.limits.seconds, megabytes=self.limits.megabytes)

    def check(self, level: str | Level) -> Verdict:
        """The verdict at one level."""
        level = find_level(level)
        try:
            verdict = self._check(level)
            if verdict.valid and (reason := vacuous(self.trace)):
                verdict = replace(verdict, status=UNKNOWN, reason=reason, witness=None)
            return (
                replace(verdict, modules=tuple(m.spelled for m in self.modules)) if self.modules else verdict
            )
        except LimitReached as limit:
            return Verdict(self.trace, level, UNKNOWN, _REASONS.get(limit.reason, limit.reason))

    def _check(self, level: Level) -> Verdict:
        begin = time.monotonic()
        if not level.observes:
            if self.modules:
                raise UsageError(
                    f"{level.title} looks at nothing that a module could speak of; ask without modules"
                )
            return self._check_appends(level)
        asg = self.asg
        start = time.perf_counter()
        stats: dict[str, Any] = {"analyse": self.analyse_seconds}

        def lap(phase: str) -> None:
            nonlocal start
            now = time.perf_counter()
            stats[phase] = now - start
            start = now

        parts = first_broken(asg)
        if parts is None:
            ir = lower(asg, level)
            lap("lower")
            if self.solver == NATIVE:
                solution = solve_with_engine(ir, self._left(begin))
            else:
                clock = Clock(self._left(begin))
                encode = None if self.encoding is None else self.encoding.encode
                problem = expand(ir, clock) if encode is None else encode(asg, level, clock)
                lap("expand")
                solution = solve_eagerly(problem, self.solver, self._left(begin), self.passes)
            lap("solve")
            stats.update(solution.stats)
            if solution.decided_by:
                stats["decided by"] = solution.decided_by
            if solution.status == UNKNOWN:
                return Verdict(
                    self.trace, level, UNKNOWN, _REASONS.get(solution.reason, solution.reason), stats=stats
                )
            if solution.status == VALID:
                made = witness(ir, solution)
                lap("certify")
                notes = (*asg.notes, *ir.notes)
                verdict = Verdict(self.trace, level, VALID, witness=made, stats=stats, notes=notes)
                return self._honest(verdict)
            parts = self._parts(solution)
            hinted = self.encoding if self.encoding is not None and self.encoding.knows_more else None
            if hinted is not None and refuted(asg, level, parts, self._left(begin)) is None:
                told = cycle.counterexample(problem, hinted.name)
                reason = f"by the hints that {hinted.title} reads"
                return Verdict(self.trace, level, INVALID, reason, counterexample=told, stats=stats)
        else:
            lap("solve")
        if self.modules:
            return self._blame(level, stats, begin)
        # The answer is there. Explaining it may use what is left of the time, and a moment more.
        left = self._left(begin).seconds
        counterexample = explain(asg, level, parts, None if left is None else max(0.2, left))
        lap("explain")
        return Verdict(self.trace, level, INVALID, counterexample=counterexample, stats=stats)

    def _blame(self, level: Level, stats: dict[str, Any], begin: float) -> Verdict:
        """The trace is invalid with the modules. Without which of them would it be valid?

        Modules that have nothing to do with it are left out of the explanation, but for those that ask for less than
        the level does: without them something else might be explained, which they allow.
        """
        kept, blamed = self.modules, []
        weaker = lower(self.asg, level).weakened_by | {
            m.spelled for m in self.modules if m.prepare is not None
        }
        for m in self.modules:
            rest = tuple(x for x in kept if x is not m)
            if self._holds(rest, level, begin):
                blamed.append(m.spelled)
            elif m.spelled not in weaker:
                kept = rest
        asg = self.asg if kept == self.modules else prepare(self._built(), kept)
        ir = lower(asg, level)
        parts = first_broken(asg)
        if parts is None:
            parts = self._parts(self._solve(ir, self._left(begin)))
        start = time.perf_counter()
        left = self._left(begin).seconds
        counterexample = explain(asg, level, parts, None if left is None else max(0.2, left))
        stats["explain"] = time.perf_counter() - start
        reason = f"valid without the module{'s' * (len(blamed) > 1)} {' and '.join(blamed)}" if blamed else ""
        return Verdict(
            self.trace,
            level,
            INVALID,
            reason,
            counterexample=counterexample,
            stats=stats,
            broken_by=tuple(blamed),
            rests_on=tuple(m.spelled for m in kept),
            notes=(*self.asg.notes, *ir.notes),
        )

    def _solve(self, ir: IR, limits: Limits) -> Solution:
        if self.solver == NATIVE:
            return solve_with_engine(ir, limits)
        try:
            return solve_eagerly(expand(ir, Clock(limits)), self.solver, limits, self.passes)
        except LimitReached as limit:
            return Solution("unknown", reason=limit.reason)

    def _holds(self, modules: tuple[Module, ...], level: Level, begin: float) -> bool:
        """Is the trace valid with these modules?"""
        asg = prepare(self._built(), modules)
        return first_broken(asg) is None and self._solve(lower(asg, level), self._left(begin)).status == VALID

    def _check_appends(self, level: Level) -> Verdict:
        start = time.perf_counter()
        found = check_appends(self.trace, level)
        stats = {"solve": time.perf_counter() - start, "decided by": "the order of appends"}
        if isinstance(found, Witness):
            return Verdict(self.trace, level, VALID, witness=found, stats=stats)
        return Verdict(self.trace, level, INVALID, counterexample=found, stats=stats)

    def _left(self, begin: float) -> Limits:
        """The limits, less the time since `begin`."""
        if self.limits.seconds is None:
            return self.limits
        return replace(self.limits, seconds=max(1e-3, self.limits.seconds - (time.monotonic() - begin)))

    def _parts(self, solution: Solution) -> Parts:
        """What a refutation used; everything, if the solver does not say."""
        nothing = np.zeros(0, np.int64)
        if solution.core_transactions is None or solution.core_reads is None:
            return Parts(np.arange(self.asg.transactions), np.arange(len(self.asg.read_key)), nothing)
        return Parts(solution.core_transactions, solution.core_reads, nothing)

    def _honest(self, verdict: Verdict) -> Verdict:
        """A level that needs what the trace lacks is never reported to hold."""
        lacks = []
        if verdict.level.needs_times and not self.trace.has_times:
            lacks.append((Dependency.RT, "times"))
        if verdict.level.needs_sessions and not self.trace.has_sessions:
            lacks.append((Dependency.SO, "sessions"))
        if not lacks:
            return verdict
        missing = {d for d, _ in lacks}
        level = verdict.level
        edges = {d: ends for d, ends in level.edges.items() if d not in missing}
        once = level.once and replace(level.once, kinds=level.once.kinds - missing)
        rest = (edges, once, level.cursor)
        same = next((a for a in LEVELS if (dict(a.edges), a.once, a.cursor) == rest), None)
        holds = "all else that it asks holds" if same is None else f"same as {same.title}, which holds"
        words = " and ".join(word for _, word in lacks)
        return replace(
            verdict,
            status=UNKNOWN,
            reason=f"no {words} in the trace: {holds}",
            witness=None,
        )

    def strongest(self, among: Iterable[Level] = LEVELS) -> dict[str, Verdict]:
        """Verdicts at every level that the trace has the means to decide, by name.

        One that holds settles all that it implies, and one that is broken all that imply it; those are not asked. The
        strongest come first, for most traces keep what their database promised; once one of them is broken, the
        next question is the one that settles most whatever its answer is. All the strongest that hold and the weakest
        that do not have been asked, so they have their certificates.
        """
        levels = [
            level
            for level in among
            if (level.observes or not self.modules)
            and (self.trace.has_times or not level.needs_times)
            and (self.trace.has_sessions or not level.needs_sessions)
        ]
        verdicts: dict[str, Verdict] = {}
        if self.modules:  # what they ask for may differ from level to level
            return {level.name: self.check(level) for level in levels}
        while left := [level for level in levels if level.name not in verdicts]:
            verdict = self.check(_next_question(left, any(v.invalid for v in verdicts.values())))
            asked = verdict.level
            verdicts[asked.name] = verdict
            for level in left:
                if level is asked:
                    continue
                if verdict.valid and implies(asked, level):
                    reason = f"implied by {asked.name}"
                elif verdict.invalid and implies(level, asked):
                    reason = f"it implies {asked.name}, which is broken"
                else:
                    continue
                verdicts[level.name] = Verdict(self.trace, level, verdict.status, reason, stats={})
        return {level.name: verdicts[level.name] for level in levels}


def _next_question(left: list[Level], some_are_broken: bool) -> Level:
    """The level to ask next, of those that are not settled yet."""
    below = {level.name: sum(implies(level, other) for other in left) for level in left}
    above = {level.name: sum(implies(other, level) for other in left) for level in left}
    if not some_are_broken:
        return max(left, key=lambda level: below[level.name])
    return max(left, key=lambda level: (min(below[level.name], above[level.name]), below[level.name]))
