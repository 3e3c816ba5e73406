"""An explanation as one document: all that a program, a page or a terminal needs to show why, and nothing else.

Transactions, edges and steps have ids ("T3", "e2", "s5") by which they speak of each other, and operations are the rows
of the trace; so a step can be opened (what it was derived from), drawn (its edge) and pointed at (its operations). All
texts are made for people: quoted, shortened with their length, and never to be trusted as markup, since keys and values
are somebody else's data. explanation.schema.json says it field by field.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from boomslang.explain.argument import Argument, Contradiction, Step
from boomslang.explain.counterexample import Counterexample
from boomslang.explain.names import short
from boomslang.explain.operation_words import deed
from boomslang.ir.expression import START, Edge
from boomslang.levels.level import Level
from boomslang.trace.model import Operation, Trace
from boomslang.trace.rows import what_was_read
from boomslang.trace.scalars import Absent

if TYPE_CHECKING:
    from boomslang.verdict import Verdict

FORMAT = 1
"""Grows when a field changes its meaning or goes."""
MOST_OPERATIONS = 200
"""Of a transaction that are listed, beside those that matter."""

Json = dict[str, Any]


def document(verdict: Verdict) -> Json:
    """The explanation of a verdict. One that is not invalid has no anomaly, and its lists are empty."""
    head = undecided(verdict.level, verdict.reason)
    head |= {
        "verdict": verdict.status,
        "modules": list(verdict.modules),
        "broken_by": list(verdict.broken_by),
        "notes": list(verdict.notes),
    }
    found = verdict.counterexample
    return head if found is None else head | _Writer(found, verdict.level).document()


def undecided(level: Level, reason: str) -> Json:
    """The document of a level for which there is no verdict, because a limit came first."""
    return {
        "format": FORMAT,
        "verdict": "unknown",
        "level": {
            "name": level.name,
            "short": level.short,
            "title": level.title,
            "forbids": level.forbids,
        },
        "reason": reason or None,
        "modules": [],
        "broken_by": [],
        "notes": [],
        "anomaly": None,
        "minimal": None,
        "transactions": [],
        "edges": [],
        "steps": [],
        "argument": None,
        "reads": [],
        "proof": None,
        "likely": None,
    }


class _Writer:
    """Gives ids to steps and edges while the argument is walked through."""

    def __init__(self, found: Counterexample, level: Level) -> None:
        self.found = found
        self.level = level
        self.trace: Trace = found.trace
        self.part = found.part
        self.keys = found.trace.keys if found.part is None else found.part.trace.keys
        self.points = 1 if found.part is None else level.points
        self.edges: list[Json] = []
        self.steps: list[Json] = []
        self._edge_of: dict[int, str | None] = {}
        self._supposed: dict[Edge, str | None] = {}
        self._step_of: dict[int, str] = {}
        self._depth: dict[int, int] = {}
        self.rows: set[int] = {row for row, _ in found.core.reads}
        """Operations that matter."""

    def document(self) -> Json:
        argument = None if self.found.argument is None else self._argument(self.found.argument)
        proof, likely = self._proof(), self._likely()
        anomaly = self.found.anomaly
        broken = [other.name for other in self.found.rules_out]
        return {
            "anomaly": None
            if anomaly is None
            else {
                "code": anomaly.code,
                "name": anomaly.name,
                "meaning": anomaly.meaning,
                "rules_out": broken,
            },
            "minimal": self.found.minimal,
            "transactions": [self._transaction(t, "core") for t in self.found.core.transactions]
            + [self._transaction(t, self._role(t)) for t in self.found.candidates],
            "edges": self.edges,
            "steps": self.steps,
            "argument": argument,
            "reads": [
                {
                    "operation": row,
                    "transaction": f"T{self.trace.owner(row)}",
                    "key": short(what_was_read(self.trace, key)),
                    "where": self.trace.operation(row).where,
                }
                for row, key in self.found.core.reads
            ],
            "proof": proof,
            "likely": likely,
        }

    # --- where values repeat

    def _proof(self) -> Json | None:
        proved = self.found.proved
        if proved is None:
            return None
        return {"text": proved.text, **proved.numbers, "examples": [f"T{t}" for t in proved.examples]}

    def _likely(self) -> Json | None:
        """What probably happened. Its edges join transactions of the trace, whatever those of the argument do."""
        likely = self.found.likely
        if likely is None:
            return None
        self.part, self.points = None, 1
        return {
            "how": likely.how,
            "when": likely.when or None,
            "anomaly": {
                "code": likely.anomaly.code,
                "name": likely.anomaly.name,
                "meaning": likely.anomaly.meaning,
            },
            "transactions": [f"T{t}" for t in likely.transactions],
            "argument": self._argument(likely.argument),
        }

    def _role(self, t: int) -> str:
        likely = self.found.likely
        return "likely" if likely is not None and t in likely.transactions else "candidate"

    # --- the argument

    def _argument(self, argument: Argument) -> Json:
        return {
            "steps": [self._step(step) for step in argument.steps if step.text],
            "contradiction": None
            if argument.contradiction is None
            else self._contradiction(argument.contradiction),
            "question": argument.question or None,
            "cases": [{"title": title, "argument": self._argument(inner)} for title, inner in argument.cases],
        }

    def _contradiction(self, end: Contradiction) -> Json:
        self.rows.update(end.operations)
        return {
            "text": end.text,
            "cycle": self._cycle(end.cycle),
            "because": self._because(end.because),
            "operations": list(end.operations),
        }

    def _cycle(self, steps: tuple[Step, ...]) -> list[str]:
        return [edge for step in steps if (edge := self._edge(step)) is not None]

    def _because(self, steps: tuple[Step, ...]) -> list[str]:
        return list(dict.fromkeys(self._step(step) for step in steps if step.text))

    def _step(self, step: Step) -> str:
        if id(step) in self._step_of:
            return self._step_of[id(step)]
        because = self._because(step.because)  # first, so that a step's number is above those it rests on
        name = f"s{len(self.steps) + 1}"
        self._step_of[id(step)] = name
        depth = 1 + max((self._depth[id(s)] for s in step.because if s.text), default=-1)
        self._depth[id(step)] = depth
        self.rows.update(step.operations)
        made: Json = {
            "id": name,
            "text": step.text,
            "supposed": step.supposed,
            "edge": None,
            "operations": list(dict.fromkeys(step.operations)),
            "because": because,
            "cycle": [],
            "depth": depth,
        }
        self.steps.append(made)
        made["edge"] = self._edge(step)
        made["cycle"] = self._cycle(step.cycle)
        return name

    def _edge(self, step: Step) -> str | None:
        """The id of a step's edge; None if it joins no two transactions."""
        edge = step.edge
        if edge is None or edge.source == START or self._ends(edge)[0] == self._ends(edge)[1]:
            return None
        if not step.text:  # the contrary of something: the same for all who speak of it
            if edge not in self._supposed:
                self._supposed[edge] = self._new_edge(edge, step)
            return self._supposed[edge]
        if id(step) not in self._edge_of:
            self._edge_of[id(step)] = self._new_edge(edge, step)
        return self._edge_of[id(step)]

    def _ends(self, edge: Edge) -> tuple[int, int]:
        """The trace's numbers of the transactions that an edge joins."""
        part = self.part
        a, b = edge.source // self.points, edge.target // self.points
        return (a, b) if part is None else (int(part.txn_of[a]), int(part.txn_of[b]))

    def _new_edge(self, edge: Edge, step: Step) -> str:
        part = self.part
        source, target = self._ends(edge)
        key = None
        if edge.key >= 0:
            number = edge.key if part is None else part.trace_key(edge.key)
            # What selects asked has names only with the part that the argument is about.
            key = short(self.keys[number]) if number < len(self.keys) else None
        points = (None, None) if self.points == 1 else (edge.source % 2, edge.target % 2)
        name = f"e{len(self.edges) + 1}"
        made: Json = {
            "id": name,
            "source": f"T{source}",
            "target": f"T{target}",
            "source_point": None if points[0] is None else ("begin", "commit")[points[0]],
            "target_point": None if points[1] is None else ("begin", "commit")[points[1]],
            "kind": edge.kind.value,
            "module": edge.by or None,
            "key": key,
            "text": step.text or f"suppose that T{source} came before T{target}",
            "supposed": step.supposed,
            "step": None,
        }
        self.edges.append(made)
        if step.text:
            made["step"] = self._step(step)
        return name

    # --- transactions

    def _transaction(self, t: int, role: str) -> Json:
        view = self.trace.transaction(t)
        matter = [o for o in view.operations if o.index in self.rows]
        others = [o for o in view.operations if o.index not in self.rows]
        shown = sorted([*matter, *others[:MOST_OPERATIONS]], key=lambda o: o.index)
        return {
            "id": f"T{t}",
            "index": t,
            "session": None if view.session is None else short(view.session),
            "name": None if view.name is None else short(view.name),
            "outcome": view.outcome.name.lower(),
            "where": view.where,
            "begin": view.begin,
            "end": view.end,
            "clock": short(view.clock) if view.clock else None,
            "role": role,
            "operations": [self._operation(o) for o in shown],
            "operations_left_out": len(view.operations) - len(shown),
        }

    def _operation(self, o: Operation) -> Json:
        return {
            "index": o.index,
            "kind": o.kind.name.lower(),
            "text": deed(o),
            "key": None if o.key is Absent else short(o.key),
            "value": None if o.value is Absent else short(o.value),
            "error": None if o.error is None else short(o.error),
            "invoke": o.invoke,
            "return": o.return_,
            "where": o.where,
            "matters": o.index in self.rows,
        }
