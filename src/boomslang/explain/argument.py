"""The argument: why a core breaks the level, as data.

Steps that must hold, each with what it was derived from, so that an edge can be opened; then a contradiction, or a
question whose cases all end in one. prover.py finds it; here it is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from boomslang.ir.expression import Edge


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

    def lines(self, indent: str = "") -> Iterator[str]:
        """The argument as text."""
        for step in self.steps:
            yield f"{indent}- {step.text}"
        if self.contradiction is not None:
            yield f"{indent}=> {self.contradiction.text}"
        if self.cases:
            yield f"{indent}{self.question}"
        for title, case in self.cases:
            yield f"{indent}* {title}:"
            yield from case.lines(indent + "    ")

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
