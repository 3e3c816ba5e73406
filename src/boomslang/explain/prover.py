"""Finding an argument: what a person would write down to see that a core breaks the level.

The engine's proof is sound but not made for reading. A minimal core is small, so the argument is found anew, the way a
person would find it: write down the edges that must hold, derive what follows, and stop at a contradiction.

    - r read x from w, and p wrote x too: p is before w, or after r. If one would close a cycle, the other holds.
    - A candidate that would close a cycle is none; a read with one candidate left took it; with none left, we are done.
    - A list shows who appended before whom, and who had not appended yet.
    - Where only cycles with one anti-dependency are forbidden: r read x from w and p reaches r, so p is before w.
    - A select over several columns saw versions that fit together: one that fits none of the others' is none.
    - With begin and commit points: of two writers of a key, one commits before the other begins.

If nothing follows any more, split into cases, choosing the split most of whose cases end at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np

from boomslang.asg.graph import ASG, IN, OUT
from boomslang.explain.argument import Argument, Contradiction, Step
from boomslang.explain.names import Names
from boomslang.explain.patience import now
from boomslang.ir.expression import START, Edge
from boomslang.ir.families import ReadFrom
from boomslang.ir.lower import lower
from boomslang.ir.model import IR
from boomslang.ir.relations import classes_of, joint_reads
from boomslang.levels.level import Dependency, Level, Point
from boomslang.levels.within import roughly, words
from boomslang.trace.model import NO_TIME, Outcome

if TYPE_CHECKING:
    from boomslang.asg.entries import Joint

PATIENCE = 4_000
"""How many times to look for consequences before giving up on a readable argument."""
SECONDS = 5.0
"""How long to look for one."""
LONG_CYCLE = 16
"""Edges of a cycle that is spelled out."""
LARGE = 300
"""Transactions of a core that nobody wants to be told about step by step."""


def argue(
    asg: ASG, level: Level, seconds: float | None = None, *, patience: int = PATIENCE
) -> Argument | None:
    """An argument that this small ASG breaks the level; None if none was found with reasonable patience."""
    if asg.transactions > LARGE:
        return None
    prover = _Prover(lower(asg, level), seconds, patience)
    try:
        return prover.refute(prover.start())
    except _OutOfPatience:
        return None


class _OutOfPatience(Exception):
    pass


class _Found(Exception):
    """A contradiction, thrown from wherever it is noticed."""

    def __init__(self, contradiction: Contradiction) -> None:
        self.contradiction = contradiction


@dataclass(eq=False)
class _State:
    """What holds so far."""

    out: dict[int, dict[int, Step]] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    taken: dict[int, tuple[int, Step]] = field(default_factory=dict)
    ruled_out: dict[tuple[int, int], Step] = field(default_factory=dict)
    committed: dict[int, Step] = field(default_factory=dict)
    """Transactions of unknown outcome that must have committed."""
    paths: dict[int, dict[int, Step]] = field(default_factory=dict)
    """Where only some cycles are forbidden: the steps of which they are made."""
    told: set[tuple[int, int]] = field(default_factory=set)
    """List reads and writers that have been put in order."""

    def copy(self) -> _State:
        return _State(
            {a: dict(b) for a, b in self.out.items()},
            list(self.steps),
            dict(self.taken),
            dict(self.ruled_out),
            dict(self.committed),
            {a: dict(b) for a, b in self.paths.items()},
            set(self.told),
        )


_Option = tuple[str, Edge | tuple[int, int]]
"""A case: its title, and the edge that holds in it or the (read, writer) that is taken."""


class _Prover:
    def __init__(self, ir: IR, seconds: float | None, patience: int) -> None:
        self.ir = ir
        self.asg = ir.asg
        self.stop = now() + min(SECONDS, SECONDS if seconds is None else seconds)
        self.names = Names(ir.asg)
        self.once = ir.level.once
        ends = ir.level.edges.get(Dependency.WW)
        self.apart = ir.graph.points == 2 and ends == (Point.COMMIT, Point.BEGIN)
        """Do writers of one key not overlap?"""
        self.reads = list(ir.read_froms())
        self.by_read = {r.read: r for r in self.reads}
        self.writers = {k: [w for w in ir.writers(k) if ir.asg.state[w] != OUT] for k in range(ir.asg.keys)}
        self.patience = patience
        self.number = 0
        # What is asked again and again: the operations of a writer of a key, and the words for what a read saw.
        self._writes: dict[tuple[int, int], tuple[int, ...]] = {}
        self._sights: dict[int, str] = {}
        self.joints = [
            (joint, [self.by_read[read] for read in reads])
            for joint, reads in joint_reads(ir.asg)
            if all(read in self.by_read for read in reads)
        ]
        self.classes = {
            family.read: classes_of(ir.asg, joint, i, family)
            for joint, families in self.joints
            for i, family in enumerate(families)
        }

    # --- the beginning

    def start(self) -> _State:
        state = _State()
        if self.ir.graph.points == 2:
            for t in range(self.asg.transactions):
                inside = Edge(2 * t, 2 * t + 1, Dependency.SO)
                state.out.setdefault(2 * t, {})[2 * t + 1] = Step("", (), inside)
        if self.ir.level.has(Dependency.SO):
            for a, b in zip(*(x.tolist() for x in self.asg.session_edges()), strict=True):
                self._order(
                    state,
                    a,
                    b,
                    Dependency.SO,
                    f"session {self.names.session(a)} ran {self.names.txn(a)} before {self.names.txn(b)}",
                )
        if self.ir.level.has(Dependency.RT):
            for a in range(self.asg.transactions):
                for b in range(self.asg.transactions):
                    if a != b and self._returned_before(a, b):
                        self._order(
                            state,
                            a,
                            b,
                            Dependency.RT,
                            self._in_time(a, b),
                        )
        self._told(state)
        for t in np.flatnonzero(self.asg.forced_by >= 0).tolist() if len(self.asg.forced_by) else ():
            shown = self.by_read[int(self.asg.forced_by[t])]
            rows = (*self._row(shown.read), *self._wrote(t, shown.key))
            text = f"{self._seen(shown)}, which only {self.names.txn(t)} wrote{self.names.at(rows[1:])}"
            state.committed[t] = self._step(self._must_have_committed(t, text), (), operations=rows)
        return state

    def _must_have_committed(self, t: int, why: str) -> str:
        """The words for it; none, if the trace says so anyway: outside the core outcomes count as unknown."""
        if self.asg.trace.txn_outcome[int(self.asg.txn_of[t])] != Outcome.UNKNOWN:
            return ""
        return f"{why}, so {self.names.txn(t)}, whose outcome is unknown, must have committed"

    @staticmethod
    def _sure(state: _State, *txns: int) -> tuple[Step, ...]:
        """Why these count, where the trace does not say that they committed."""
        steps = (state.committed.get(t) for t in txns)
        return tuple(step for step in steps if step is not None and step.text)

    def _told(self, state: _State) -> None:
        """Edges that modules know."""
        for told in self.ir.told:
            for sources, targets, kind in self.ir.graph.chunks[told.chunks : told.chunks_end]:
                for a, b in zip(sources.tolist(), targets.tolist(), strict=True):
                    x, y = self.ir.graph.transaction(a), self.ir.graph.transaction(b)
                    if x is None or y is None or b in state.out.get(a, {}):
                        continue
                    text = f"{told.module} says that {self.names.txn(x)} comes before {self.names.txn(y)}"
                    edge = Edge(a, b, kind, by=told.module)
                    step = self._step(text, (), edge)
                    state.out.setdefault(a, {})[b] = step
                    self._note(state, edge, step)

    def _returned_before(self, a: int, b: int) -> bool:
        trace, (x, y) = self.asg.trace, (int(self.asg.txn_of[a]), int(self.asg.txn_of[b]))
        return bool(
            self.asg.ordered[a]
            and self.asg.ordered[b]
            and self.asg.outcome[a] == Outcome.COMMITTED
            and self.asg.state[b] != OUT
            and trace.txn_clock[x] == trace.txn_clock[y]
            and trace.txn_end[x] != NO_TIME
            and trace.txn_begin[y] != NO_TIME
            and int(trace.txn_end[x]) + self.ir.level.slack < int(trace.txn_begin[y])
        )

    def _in_time(self, a: int, b: int) -> str:
        ended = int(self.asg.trace.txn_end[int(self.asg.txn_of[a])])
        began = int(self.asg.trace.txn_begin[int(self.asg.txn_of[b])])
        first, second, level = self.names.txn(a), self.names.txn(b), self.ir.level
        if not level.bound or not level.slack:
            return f"{first} had returned (at {ended}) before {second} was invoked (at {began})"
        bound, apart = (f(x, level.slack_unit) for f, x in ((words, level.slack), (roughly, began - ended)))
        if apart == bound:  # told apart only by all digits
            apart = words(began - ended, level.slack_unit)
        return f"{first} had returned (at {ended}) {apart} before {second} was invoked (at {began}), more than {bound}"

    def _order(self, state: _State, a: int, b: int, kind: Dependency, text: str) -> None:
        graph = self.ir.graph
        edge = Edge(graph.node(a, Point.COMMIT), graph.node(b, Point.BEGIN), kind)
        step = self._step(text, (), edge)
        state.out.setdefault(edge.source, {})[edge.target] = step
        self._note(state, edge, step)

    def _note(self, state: _State, edge: Edge, step: Step) -> None:
        """Keeps an edge that may be a step of a forbidden path."""
        if self.once is not None and edge.kind in self.once.kinds and edge.source != START:
            state.paths.setdefault(edge.source, {}).setdefault(edge.target, step)

    def _step(
        self,
        text: str,
        because: tuple[Step, ...],
        edge: Edge | None = None,
        cycle: tuple[Step, ...] = (),
        operations: tuple[int, ...] = (),
        supposed: bool = False,
    ) -> Step:
        self.number += 1
        return Step(text, because, edge, self.number, cycle, operations, supposed)

    def _contrary(self, edge: Edge) -> Step:
        """What would close a cycle."""
        return Step("", (), edge, supposed=True)

    def _so(self, edge: Edge) -> str:
        """What an edge says, to follow its reason: ", so T1 is before T2"; with two points, which of them."""
        a, b = (node // self.ir.graph.points for node in (edge.source, edge.target))
        if self.ir.graph.points == 1:
            return f", so {self.names.txn(a)} is before {self.names.txn(b)}"
        deeds = ("begins", "commits")
        one, two = deeds[edge.source % 2], deeds[edge.target % 2]
        return f", so {self.names.txn(a)} {one} before {self.names.txn(b)} {two}"

    def _row(self, read: int) -> tuple[int, ...]:
        """The operation of a read."""
        return (int(self.asg.read_op[read]),)

    def _wrote(self, w: int, key: int) -> tuple[int, ...]:
        """The operation with which a transaction wrote a key; none, if it is the initial state."""
        if (rows := self._writes.get((w, key))) is None:
            low, high = int(self.asg.key_start[key]), int(self.asg.key_start[key + 1])
            mine = np.flatnonzero(self.asg.write_txn[low:high] == w)
            rows = self._writes[w, key] = tuple(self.asg.write_op[low + mine].tolist())
        return rows

    # --- the graph

    def path(
        self, state: _State, a: int, b: int, out: dict[int, dict[int, Step]] | None = None
    ) -> tuple[Step, ...] | None:
        """A shortest path from a to b, as steps (of `out`, or any)."""
        if now() > self.stop:
            raise _OutOfPatience
        out = state.out if out is None else out
        if a == b:
            return ()
        parent: dict[int, tuple[int, Step]] = {}
        queue = deque([a])
        while queue:
            node = queue.popleft()
            for target, step in out.get(node, {}).items():
                if target in parent or target == a:
                    continue
                parent[target] = (node, step)
                if target == b:
                    steps = []
                    while b != a:
                        b, step = parent[b]
                        steps.append(step)
                    return tuple(reversed(steps))
                queue.append(target)
        return None

    def impossible(self, state: _State, edge: Edge) -> tuple[Step, ...] | None:
        """The path that this edge would close to a cycle, if there is one."""
        return None if edge.source == START else self.path(state, edge.target, edge.source)

    def add(self, state: _State, edge: Edge, step: Step) -> bool:
        """Adds an edge; a cycle is a contradiction. False if it was there."""
        self._note(state, edge, step)
        if edge.source == START or edge.target in state.out.get(edge.source, {}):
            return False
        if (closing := self.impossible(state, edge)) is not None:
            cycle = tuple(s for s in (step, *closing) if s.text)
            raise _Found(Contradiction(f"a cycle: {self._round(cycle)}", cycle, cycle))
        state.out.setdefault(edge.source, {})[edge.target] = step
        return True

    def _round(self, cycle: tuple[Step, ...]) -> str:
        """T1 -rw(x)-> T2 -wr(y)-> T1."""
        shown = []
        for step in cycle:
            assert step.edge is not None
            a, b = self.ir.graph.transaction(step.edge.source), self.ir.graph.transaction(step.edge.target)
            assert a is not None and b is not None
            key = f"({self.names.key(step.edge.key)})" if step.edge.key >= 0 else ""
            shown.append((a, f"-{step.edge.label}{key}->", b))
        links = [f" {arrow} {self.names.txn(b)}" for _, arrow, b in shown]
        if len(links) > LONG_CYCLE:
            links[LONG_CYCLE // 2 : -LONG_CYCLE // 2] = [f" ... {len(links) - LONG_CYCLE} more ..."]
        return self.names.txn(shown[0][0]) + "".join(links)

    # --- consequences

    def counts(self, state: _State, t: int) -> bool:
        return bool(self.asg.state[t] == IN or t in state.committed)

    def saturate(self, state: _State) -> None:
        """Derives what follows, or raises the contradiction."""
        self.patience -= 1
        if self.patience < 0 or now() > self.stop:
            raise _OutOfPatience
        changed = True
        while changed:
            changed = False
            for r in self.reads:
                if self.counts(state, r.txn):
                    changed |= self._listed(state, r)
                    changed |= self._candidates(state, r)
                    changed |= self._passed(state, r)
                    changed |= self._missed(state, r)
            for joint, families in self.joints:
                if self.counts(state, families[0].txn):
                    changed |= self._fitting(state, joint, families)
            if self.apart:
                changed |= self._overlaps(state)

    def _listed(self, state: _State, r: ReadFrom) -> bool:
        """What a list says about the order of appends."""
        row = self.asg.lists.blocks(r.read).tolist()
        if not row:
            return False
        seen, changed = self._seen(r), False
        for w in row:
            if not self.counts(state, w):
                text = self._must_have_committed(w, f"{seen}, with what {self.names.txn(w)} appended")
                rows = (*self._row(r.read), *self._wrote(w, r.key))
                state.committed[w] = self._step(text, (), operations=rows)
                changed = True

        def order(a: int, b: int, text: str) -> bool:
            edge = self.ir.ww(a, b, r.key)
            rows = (*self._row(r.read), *self._wrote(a, r.key), *self._wrote(b, r.key))
            return self.add(state, edge, self._step(f"{seen}, {text}", (), edge, operations=rows))

        if (r.read, -1) not in state.told:
            state.told.add((r.read, -1))
            # Those that the core is about directly, so that cycles are short; the others in between.
            about = [w for w in row if self.asg.ordered[w]]
            for a, b in (*pairwise(about), *pairwise(row)):
                changed |= order(
                    a, b, f"in which {self.names.txn(a)}'s append comes before {self.names.txn(b)}'s"
                )
        for f in self.writers[r.key]:
            if f not in row and self.counts(state, f) and (r.read, f) not in state.told:
                state.told.add((r.read, f))
                one, two = self.names.txn(row[-1]), self.names.txn(f)
                changed |= order(row[-1], f, f"without {two}'s append: {two} appended after {one}")
        return changed

    def _candidates(self, state: _State, r: ReadFrom) -> bool:
        if r.read in state.taken:
            return False
        seen = self._seen(r)
        if len(r.candidates) == 1:
            other = self._other_initial(state, r) if r.candidates[0] == START else None
            if other is not None:
                text = f"{seen}, the initial value, which was another: a key has one initial value"
                raise _Found(Contradiction(text, (), (other,), self._row(r.read)))
            self.take(state, r, r.candidates[0], (), seen, only="only")
            return True
        changed = False
        left = []
        for w in r.candidates:
            if (r.read, w) in state.ruled_out:
                continue
            why = self._no_candidate(state, r, w)
            if why is None:
                left.append(w)
            else:
                state.ruled_out[r.read, w] = why
                changed = True
        gone = tuple(state.ruled_out[r.read, w] for w in r.candidates if (r.read, w) in state.ruled_out)
        if not left:
            text = f"{seen}, and nobody is left who can have written it"
            raise _Found(Contradiction(text, (), gone, self._row(r.read)))
        if len(left) > 1:
            return changed
        self.take(state, r, left[0], gone, seen, only="left")
        return True

    def _fitting(self, state: _State, joint: Joint, families: list[ReadFrom]) -> bool:
        """Of a select over several columns: versions that fit none of those that are left of the others."""
        left: list[set[int]] = []
        because: list[list[Step]] = []
        for r in families:
            if r.read in state.taken:
                w, step = state.taken[r.read]
                left.append({w})
                because.append([step])
                continue
            gone = [w for w in r.candidates if (r.read, w) in state.ruled_out]
            left.append(set(r.candidates) - set(gone))
            because.append([state.ruled_out[r.read, w] for w in gone])
        changed = False
        row = joint.name.partition(" where ")[0]
        how = "have matched" if not joint.returned else "not have matched"
        for i, r in enumerate(families):
            others = [{self.classes[q.read][w] for w in left[j]} for j, q in enumerate(families) if j != i]
            reasons = tuple(step for j, steps in enumerate(because) if j != i for step in steps)
            for w in sorted(left[i]):
                mine = self.classes[r.read][w]
                if any(
                    None in (whole := (*rest[:i], mine, *rest[i:])) or whole not in joint.bad
                    for rest in product(*others)
                ):
                    continue
                who = "the initial" if w == START else f"{self.names.txn(w)}'s"
                rows = (*self._row(r.read), *self._wrote(w, r.key))
                if r.read in state.taken:
                    source = "the initial state" if w == START else self.names.txn(w)
                    text = f"{self._seen(r)} from {source}: with that, {row} would {how}"
                    raise _Found(Contradiction(text, (), (*reasons, *because[i]), rows))
                at = self.names.at(rows[1:])
                text = (
                    f"{self.names.txn(r.txn)} did not see {who} {self.names.key(r.key)}{at}: "
                    f"with that, {row} would {how}{self.names.at(rows[:1])}"
                )
                state.ruled_out[r.read, w] = self._step(text, reasons, operations=rows)
                changed = True
        return changed

    def _seen(self, r: ReadFrom) -> str:
        if (said := self._sights.get(r.read)) is None:
            what = f"{self.names.txn(r.txn)} read {self.names.key(r.key)} = {self.names.seen(r.read)}"
            if r.read in self.classes:
                what = f"{self.names.txn(r.txn)} saw {self.names.key(r.key)}"
            said = self._sights[r.read] = what + self.names.at(self._row(r.read))
        return said

    def _whose(self, w: int, key: int) -> str:
        """T1's 'x' (and where it wrote it)."""
        return f"{self.names.txn(w)}'s {self.names.key(key)}{self.names.at(self._wrote(w, key))}"

    def take(
        self, state: _State, r: ReadFrom, w: int, because: tuple[Step, ...], seen: str, only: str
    ) -> None:
        who = "the initial state" if w == START else self.names.txn(w)
        rows = (*self._row(r.read), *self._wrote(w, r.key))
        text = {
            "only": f"{seen}, which only {who} wrote{self.names.at(rows[1:])}",
            "left": f"{seen}, and only {who} is left as its writer",
            "case": f"suppose that {self.names.txn(r.txn)} read {self.names.key(r.key)} from {who}",
        }[only]
        if w == START and only == "only":
            text = f"{seen}, the initial value, which nobody else wrote"
        edge = self.ir.wr(w, r)
        if w != START:
            text += self._so(edge)
        because = (*self._sure(state, r.txn), *because)
        step = self._step(text, because, edge, operations=rows, supposed=only == "case")
        state.taken[r.read] = (w, step)
        if w != START and not self.counts(state, w):
            text = self._must_have_committed(w, f"{self.names.txn(r.txn)} read from {who}")
            state.committed[w] = self._step(text, (step,), operations=rows)
        self.add(state, edge, step)

    def _no_candidate(self, state: _State, r: ReadFrom, w: int) -> Step | None:
        """Why r cannot have read from w."""
        reader, key = self.names.txn(r.txn), self.names.key(r.key)
        if w != START and (path := self.impossible(state, self.ir.wr(w, r))) is not None:
            text = f"{reader} did not read {self._whose(w, r.key)}, which came after it"
            cycle = (self._contrary(self.ir.wr(w, r)), *path)
            return self._step(text, path, None, cycle, (*self._row(r.read), *self._wrote(w, r.key)))
        if w == START:
            other = self._other_initial(state, r)
            if other is not None:
                text = f"{reader} did not read the initial {key}, which was another value"
                return self._step(text, (other,), operations=self._row(r.read))
        if not self.ir.sees_last(r.read):
            return None
        for p in self.writers[r.key]:
            if p in (w, r.txn) or not self.counts(state, p):
                continue
            after = () if w == START else self.impossible(state, self.ir.ww(p, w, r.key))
            between = self.impossible(state, self.ir.rw(r, p)) if after is not None else None
            if after is not None and between is not None:
                what = f"the initial {key}" if w == START else self._whose(w, r.key)
                by = f"{self.names.txn(p)}{self.names.at(self._wrote(p, r.key))}"
                text = f"{reader} did not read {what}: {by} had overwritten it"
                cycle = (self._contrary(self.ir.rw(r, p)), *between)
                rows = (*self._row(r.read), *self._wrote(w, r.key), *self._wrote(p, r.key))
                return self._step(text, (*after, *between), None, cycle, rows)
        return None

    def _other_initial(self, state: _State, r: ReadFrom) -> Step | None:
        """A read that took another initial value of the key."""
        mine = int(self.asg.read_value[r.read])
        for other, (w, step) in state.taken.items():
            its = int(self.asg.read_value[other])
            if (
                w == START
                and int(self.asg.read_key[other]) == r.key
                and its != mine
                and not self._together(mine, its)
            ):
                return step
        return None

    @staticmethod
    def _together(a: int, b: int) -> bool:
        """Can both patterns have been one value? (-2 is "some value", -1 absent.)"""
        return a == b or (a == -2 and b >= 0) or (b == -2 and a >= 0)

    def _passed(self, state: _State, r: ReadFrom) -> bool:
        """Another writer of the key is before the one that was read from, or after the reader."""
        if r.read not in state.taken or not self.ir.sees_last(r.read):
            return False
        w, took = state.taken[r.read]
        changed = False
        key, reader = self.names.key(r.key), self.names.txn(r.txn)
        for p in self.writers[r.key]:
            if p in (w, r.txn) or not self.counts(state, p):
                continue
            after = self.ir.rw(r, p)
            name, by = self.names.txn(p), self.names.at(self._wrote(p, r.key))
            sure = self._sure(state, p)
            writes = (*self._wrote(w, r.key), *self._wrote(p, r.key))
            rows = (*self._row(r.read), *writes)
            if w == START:
                changed |= self.add(
                    state,
                    after,
                    self._step(
                        f"{reader} read the initial {key}, which {name} overwrote{by}{self._so(after)}",
                        (took, *sure),
                        after,
                        operations=rows,
                    ),
                )
                continue
            before = self.ir.ww(p, w, r.key)
            known = after.target in state.out.get(after.source, {})
            if not known and (path := self.impossible(state, before)) is not None:
                overwrites = self.ir.ww(w, p, r.key)
                contrary = (self._contrary(before), *path)
                text = f"{name} wrote {key} too{by}, and not before {self.names.txn(w)}: it overwrote that"
                how = self._step(text, path, overwrites, contrary, writes)
                changed |= self.add(state, overwrites, how)
                mine = f"{reader} read {self.names.txn(w)}'s {key}"
                text = f"{mine}, which {name} overwrote{self._so(after)}"
                changed |= self.add(
                    state, after, self._step(text, (took, *sure, how), after, operations=rows)
                )
                continue
            known = before.target in state.out.get(before.source, {})
            known = known or self.impossible(state, self.ir.ww(w, p, r.key)) is not None
            if not known and (path := self.impossible(state, after)) is not None:
                changed |= self._puts_before(state, r, p, path)
        return changed

    def _puts_before(self, state: _State, r: ReadFrom, p: int, way: tuple[Step, ...]) -> bool:
        """p reaches the reader, which did not see it: p is before the writer that was read from."""
        w, took = state.taken[r.read]
        key, reader, name = self.names.key(r.key), self.names.txn(r.txn), self.names.txn(p)
        mine = f"{reader} read {self.names.txn(w)}'s {key} and not {name}'s{self.names.at(self._wrote(p, r.key))}"
        edge, contrary = self.ir.ww(p, w, r.key), (self._contrary(self.ir.rw(r, p)), *way)
        text = f"{mine}, though {name} is before {reader}{self._so(edge)}"
        rows = (*self._row(r.read), *self._wrote(w, r.key), *self._wrote(p, r.key))
        return self.add(
            state, edge, self._step(text, (took, *self._sure(state, p), *way), edge, contrary, rows)
        )

    def _reaches(self, state: _State, p: int, r: ReadFrom) -> tuple[Step, ...] | None:
        """The path of the level's kind from p to the reader, if there is one."""
        assert self.once is not None
        if self.once.longest is None:
            return self.path(state, p, r.txn, state.paths)
        for q in self.reads:
            counts = not self.once.earlier or self.asg.read_op[q.read] < self.asg.read_op[r.read]
            if q.txn == r.txn and counts and q.read in state.taken and state.taken[q.read][0] == p:
                return (state.taken[q.read][1],)
        order = {
            a: {b: s for b, s in steps.items() if s.edge and s.edge.kind in (Dependency.SO, Dependency.RT)}
            for a, steps in state.paths.items()
        }
        return self.path(state, p, r.txn, order)

    def _missed(self, state: _State, r: ReadFrom) -> bool:
        """A writer that reaches the reader by the level's path is before the one that was read from."""
        if self.once is None or r.read not in state.taken:
            return False
        w, took = state.taken[r.read]
        changed = False
        for p in self.writers[r.key]:
            if p in (w, r.txn) or not self.counts(state, p):
                continue
            edge = None if w == START else self.ir.ww(p, w, r.key)
            known = edge is not None and edge.target in state.out.get(edge.source, {})
            if known and not self.ir.told:
                continue  # w does not come before p, then, or there had been a cycle (modules may have told of one)
            way = self._reaches(state, p, r)
            if way is None:
                continue
            key, reader, name = self.names.key(r.key), self.names.txn(r.txn), self.names.txn(p)
            overwrites = () if edge is None else self.impossible(state, edge)
            if overwrites is not None:
                whose = f"the initial {key}" if w == START else f"{self.names.txn(w)}'s {key}"
                by = self.names.at(self._wrote(p, r.key))
                anti = self._step(
                    f"{reader} read {whose}, which {name} overwrote{by}{self._so(self.ir.rw(r, p))}",
                    (took, *self._sure(state, p), *overwrites),
                    self.ir.rw(r, p),
                    operations=(*self._row(r.read), *self._wrote(p, r.key)),
                )
                cycle = tuple(s for s in (anti, *way) if s.text)
                raise _Found(Contradiction(f"a cycle: {self._round(cycle)}", cycle, cycle))
            if not known:
                changed |= self._puts_before(state, r, p, way)
        return changed

    def _overlaps(self, state: _State) -> bool:
        changed = False
        for key, writers in self.writers.items():
            sure = [w for w in writers if self.counts(state, w)]
            for i in sure:
                for j in sure:
                    edge = self.ir.ww(i, j, key)
                    if i == j or edge.target in state.out.get(edge.source, {}):
                        continue
                    contrary = self.ir.ww(j, i, key)
                    if (path := self.impossible(state, contrary)) is not None:
                        one, two = self.names.txn(i), self.names.txn(j)
                        text = (
                            f"{self._both(i, j, key)}, so they did not overlap; "
                            f"{two} was not first, so {one} commits before {two} begins"
                        )
                        cycle = (self._contrary(contrary), *path)
                        rows = (*self._wrote(i, key), *self._wrote(j, key))
                        because = (*self._sure(state, i, j), *path)
                        changed |= self.add(state, edge, self._step(text, because, edge, cycle, rows))
        return changed

    # --- cases

    def refute(self, state: _State) -> Argument | None:
        """The argument that this state is contradictory."""
        try:
            self.saturate(state)
        except _Found as found:
            return Argument.closing(found.contradiction)
        best: tuple[int, str, list[_Option]] | None = None
        for question, options in self._splits(state):
            ends = sum(self._ends_at_once(state, option) for option in options)
            if ends == len(options):
                best = (ends, question, options)
                break
            if best is None or ends * len(best[2]) > best[0] * len(options):
                best = (ends, question, options)
        if best is None:
            return None
        cases = []
        for option in best[2]:
            try:
                case = self.refute(self._assume(state, option))
            except _Found as found:
                case = Argument.closing(found.contradiction)
            if case is None:
                return None
            cases.append((option[0], case))
        return Argument((), None, best[1], tuple(cases))

    def _splits(self, state: _State) -> Iterator[tuple[str, list[_Option]]]:
        names = self.names
        for r in self.reads:
            if not self.counts(state, r.txn):
                continue
            seen = self._seen(r)
            if r.read not in state.taken:
                left = [w for w in r.candidates if (r.read, w) not in state.ruled_out]
                reader = names.txn(r.txn)
                yield (
                    f"{seen}. From whom?",
                    [
                        (
                            f"{reader} read {'the initial value' if w == START else self._whose(w, r.key)}",
                            (r.read, w),
                        )
                        for w in left
                    ],
                )
                continue
            if not self.ir.sees_last(r.read):
                continue
            w = state.taken[r.read][0]
            for p in self.writers[r.key]:
                if p in (w, r.txn) or w == START or not self.counts(state, p):
                    continue
                before, after = self.ir.ww(p, w, r.key), self.ir.rw(r, p)
                if any(e.target in state.out.get(e.source, {}) for e in (before, after)):
                    continue
                x, other = names.key(r.key), names.txn(p)
                wrote = f"{other} wrote {x} too{names.at(self._wrote(p, r.key))}"
                yield (
                    f"{names.txn(r.txn)} read {names.txn(w)}'s {x}. {wrote}, but not in between. When?",
                    [
                        (f"{other} wrote {x} before {names.txn(w)}", before),
                        (f"{other} wrote {x} after {names.txn(r.txn)} had read it", after),
                    ],
                )
        if self.apart or self.once is not None:
            for key, writers in self.writers.items():
                for n, i in enumerate(writers):
                    for j in writers[n + 1 :]:
                        one, two = self.ir.ww(i, j, key), self.ir.ww(j, i, key)
                        if not (self.counts(state, i) and self.counts(state, j)):
                            continue
                        if any(e.target in state.out.get(e.source, {}) for e in (one, two)):
                            continue
                        so = ", so they did not overlap" if self.apart else ""
                        what, first, second = names.key(key), names.txn(i), names.txn(j)
                        yield (
                            f"{self._both(i, j, key)}{so}. Who was first?",
                            [
                                (f"{first} wrote {what} before {second}", one),
                                (f"{second} wrote {what} before {first}", two),
                            ],
                        )

    def _both(self, i: int, j: int, key: int) -> str:
        one, two = (f"{self.names.txn(w)}{self.names.at(self._wrote(w, key))}" for w in (i, j))
        return f"{one} and {two} both wrote {self.names.key(key)}"

    def _assume(self, state: _State, option: _Option) -> _State:
        state = state.copy()
        title, what = option
        if isinstance(what, Edge):
            rows = self._row(what.read) if what.read >= 0 else ()
            for node in (what.source, what.target):
                rows += self._wrote(node // self.ir.graph.points, what.key)
            self.add(
                state, what, self._step(f"suppose that {title}", (), what, operations=rows, supposed=True)
            )
        else:
            r = self.by_read[what[0]]
            self.take(state, r, what[1], (), "", only="case")
        return state

    def _ends_at_once(self, state: _State, option: _Option) -> bool:
        try:
            self.saturate(self._assume(state, option))
        except _Found:
            return True
        return False
