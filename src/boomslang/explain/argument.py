"""The argument: why a core breaks the level, as data.

Steps that must hold, each with what it was derived from, so that an edge can be opened; then a contradiction, or a
question whose cases all end in one. prover.py finds it; here it is shown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from boomslang.ir.expression import Edge
from boomslang.levels.level import Dependency

_TRANSACTION = re.compile(r"\bT\d+\b")
_WHERE = re.compile(r" \((?:operation |[^()]*:)\d+\)")


@dataclass(frozen=True, eq=False)
class Step:
    """Something that must hold, and why. `edge` if it orders two points."""

    text: str
    because: tuple[Step, ...] = ()
    edge: Edge | None = None
    number: int = 0
    cycle: tuple[Step, ...] = ()
    """Of what was derived because the contrary is impossible: the cycle that there would be."""
    operations: tuple[int, ...] = ()
    """The operations that it speaks of, as rows of the trace."""
    supposed: bool = False
    """It does not have to hold: a case, or the contrary of what was derived."""


@dataclass(frozen=True, eq=False)
class Contradiction:
    """The end of a line of thought: a cycle, or a read that nobody can explain."""

    text: str
    cycle: tuple[Step, ...] = ()
    because: tuple[Step, ...] = ()
    operations: tuple[int, ...] = ()
    """The operations that its text speaks of, as rows of the trace."""

    def cycles(self) -> Iterator[tuple[Step, ...]]:
        """The cycle; or, where nobody is left who can have written a value, the cycle for each candidate."""
        if self.cycle:
            yield self.cycle
        else:
            yield from (step.cycle for step in self.because if step.cycle)


@dataclass(frozen=True, eq=False)
class Argument:
    """Steps, then a contradiction; or steps, then cases that all end in one."""

    steps: tuple[Step, ...]
    contradiction: Contradiction | None = None
    question: str = ""
    cases: tuple[tuple[str, Argument], ...] = ()

    @staticmethod
    def closing(contradiction: Contradiction) -> Argument:
        """The steps a contradiction rests on, in the order they were found, and then itself."""
        found: dict[int, Step] = {}
        todo = [*contradiction.because, *contradiction.cycle]
        while todo:
            step = todo.pop()
            if id(step) not in found:
                found[id(step)] = step
                todo.extend(step.because)
        steps = sorted((s for s in found.values() if s.text), key=lambda s: s.number)
        return Argument(tuple(steps), contradiction)

    def cycles(self) -> Iterator[tuple[Step, ...]]:
        """All cycles, case by case, with those of the cases that were ruled out on the way."""
        if self.contradiction is not None:
            yield from self.contradiction.cycles()
            yield from (
                step.cycle for step in self.steps if step.cycle and step not in self.contradiction.because
            )
        for _, case in self.cases:
            yield from case.cycles()

    def operations(self) -> Iterator[int]:
        """All operations that it speaks of, as rows of the trace."""
        for part in (*self.steps, *(() if self.contradiction is None else (self.contradiction,))):
            yield from part.operations
        for _, case in self.cases:
            yield from case.operations()

    @property
    def length(self) -> int:
        """Lines that it takes."""
        return sum(1 for _ in self.lines())

    def lines(self) -> Iterator[str]:
        """The argument as text: steps are numbered, and say from which others they follow."""
        yield from self._lines("", {})

    def folded(self, most: int) -> list[str]:
        """The argument in at most so many lines, if that can be: a step that only one other rests on is told with that
        one, those about time first. Nothing is left out. (An argument by cases stays as it is.)"""
        used: Counter[int] = Counter()
        user: dict[int, int] = {}
        end = self.contradiction
        rows: list[tuple[int, tuple[Step, ...]]] = [(id(step), step.because) for step in self.steps]
        if end is not None:
            rows.append((id(end), (*end.because, *end.cycle)))
        for one, because in rows:
            for other in dict.fromkeys(because):
                used[id(other)] += 1
                user[id(other)] = one
        on_cycle = {id(step) for step in end.cycle} if end is not None else set()
        candidates = [step for step in self.steps if used[id(step)] == 1 and id(step) not in on_cycle]

        def readily(step: Step) -> tuple[bool, bool, int]:
            timed = step.edge is not None and step.edge.kind is Dependency.RT
            return not timed, end is not None and user[id(step)] == id(end), len(step.text)

        candidates.sort(key=readily)
        over = len(self.steps) + 1 - most
        if self.cases or over <= 0:
            return list(self.lines())
        inside: dict[int, list[Step]] = {}
        for step in candidates[:over]:
            inside.setdefault(user[id(step)], []).append(step)
        gone = {id(step) for step in candidates[:over]}

        def told(of: int) -> str:
            """The steps that were put into this one, and into those in turn."""
            parts = [f"{step.text}{told(id(step))}" for step in inside.get(of, [])]
            return f", as {', and as '.join(parts)}" if parts else ""

        def rests_on(because: tuple[Step, ...]) -> set[int]:
            found = set()
            for step in because:
                found |= rests_on(step.because) if id(step) in gone else {id(step)}
            return found

        numbers: dict[int, int] = {}
        lines = []
        for step in self.steps:
            if id(step) in gone:
                continue
            numbers[id(step)] = len(numbers) + 1
            known = sorted({numbers[n] for n in rests_on(step.because) if n in numbers})
            lines.append(f"{numbers[id(step)]}. {step.text}{told(id(step))}{_from(known)}")
        if end is not None:
            lines.append(f"=> {end.text}{told(id(end))}")
        return lines

    def _lines(self, indent: str, numbers: dict[int, int]) -> Iterator[str]:
        for step in self.steps:
            number = numbers.setdefault(id(step), len(numbers) + 1)
            rests_on = sorted({numbers[id(s)] for s in step.because if id(s) in numbers})
            yield f"{indent}{number}. {step.text}{_from(rests_on)}"
        if self.contradiction is not None:
            yield f"{indent}=> {self.contradiction.text}"
        if not self.cases:
            return
        yield f"{indent}{self.question}"
        told: set[str] = set()
        for n, (title, case) in enumerate(self.cases):
            head = f"{indent}* {'or' if n else 'either'} {title}"
            form = case._form(title)
            if form in told:
                end = f": {case.contradiction.text}" if case.contradiction is not None else ""
                yield f"{head}; then, in the same way{end}"
                continue
            told.add(form)
            yield f"{head}; then"
            yield from case._lines(indent + "    ", numbers)
        how_many = "both" if len(self.cases) == 2 else f"all {len(self.cases)}"
        where = "a cycle" if all(case._ends_in_cycles() for _, case in self.cases) else "a contradiction"
        yield f"{indent}=> {how_many} end in {where}"

    def _form(self, title: str) -> str:
        """What the argument of a case says, whoever it speaks of: two of the same form differ in names only."""
        text = _WHERE.sub("", f"{title}\n{self._alone}")
        names: dict[str, str] = {}
        return _TRANSACTION.sub(lambda match: names.setdefault(match[0], f"#{len(names)}"), text)

    @cached_property
    def _alone(self) -> str:
        return "\n".join(self._lines("", {}))

    def _ends_in_cycles(self) -> bool:
        ends = self.contradiction is None or bool(self.contradiction.cycle)
        return ends and all(case._ends_in_cycles() for _, case in self.cases)

    def hoisted(self) -> Argument:
        """The same, but what several cases rest on is said once, before them."""
        if not self.cases:
            return self
        steps_of = [{id(step): step for step in case._all_steps()} for _, case in self.cases]
        shared = [step for steps in steps_of for step in steps.values()]
        counted = Counter(id(step) for step in shared)
        several = {id(step): step for step in shared if counted[id(step)] > 1}
        first = sorted((*self.steps, *several.values()), key=lambda step: step.number)
        cases = tuple((title, case._without(set(several)).hoisted()) for title, case in self.cases)
        return Argument(tuple(first), None, self.question, cases)

    def _all_steps(self) -> Iterator[Step]:
        yield from self.steps
        for _, case in self.cases:
            yield from case._all_steps()

    def _without(self, gone: set[int]) -> Argument:
        steps = tuple(step for step in self.steps if id(step) not in gone)
        cases = tuple((title, case._without(gone)) for title, case in self.cases)
        return Argument(steps, self.contradiction, self.question, cases)

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"steps": [_step_json(s) for s in self.steps]}
        if self.contradiction is not None:
            data["contradiction"] = self.contradiction.text
            data["cycle"] = [_step_json(s) for s in self.contradiction.cycle]
        if self.cases:
            data["question"] = self.question
            data["cases"] = [{"case": title, **case.to_json()} for title, case in self.cases]
        return data


def _step_json(step: Step) -> dict[str, Any]:
    data: dict[str, Any] = {"text": step.text, "operations": list(step.operations)}
    if step.edge is not None:
        data["kind"] = step.edge.kind.value
    return data


def _from(numbers: list[int]) -> str:
    return f" [from {', '.join(map(str, numbers))}]" if numbers else ""
