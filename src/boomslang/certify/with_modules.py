"""Certificates that rest on modules: the modules are asked again, and the answer is held against what they say.

What a module says only the module knows, so its code is run a second time and believed: the trace is analysed, and its
words are added to the level's, as they were when the certificate was made. From there on nothing of the engine is
used. A *witness* is one world: who committed, in which order, and whom each read took. In one world every formula is
plainly true or false, so looking is enough; where no module took anything back, the witness must in addition pass the
replay that knows nothing of modules (replay.py). A *core* goes to Z3 with what the modules say of its transactions.

Where a level forbids cycles with one anti-dependency: r took w's version, p overwrote it, and no path may lead from p
to r. Such a path follows the order, so only writers between w and r can be at its start.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

import numpy as np

from boomslang.asg.entries import everything
from boomslang.asg.graph import ASG, OUT, PRESENT, UNKNOWN_INITIAL, build_asg
from boomslang.certify.certificate import Core, Witness
from boomslang.certify.refute import CoreError, MissingSolver, Part, needless_parts
from boomslang.certify.replay import ReplayError, replay
from boomslang.deadline import left as seconds_left
from boomslang.errors import UsageError
from boomslang.extras import how_to_install
from boomslang.ir.expression import (
    START,
    And,
    Committed,
    Edge,
    Expression,
    Implies,
    InitialIs,
    Not,
    Or,
    Superposition,
    atoms,
)
from boomslang.ir.families import ReadFrom
from boomslang.ir.lower import lower
from boomslang.ir.model import IR
from boomslang.ir.printer import format_item
from boomslang.ir.relations import classes_of, joint_reads
from boomslang.levels import find_level, is_shipped
from boomslang.levels.level import Dependency, Level, Point
from boomslang.modules.module import Module, prepare
from boomslang.modules.registry import find_recorded
from boomslang.passes.problem import expand
from boomslang.solve.backends import EAGER
from boomslang.solve.clock import Clock
from boomslang.solve.solution import Limits
from boomslang.trace.errors import LimitReached
from boomslang.trace.model import ABSENT, Initial, Outcome, Trace


def replay_with_modules(trace: Trace, witness: Witness, given: Iterable[Module] = ()) -> bool:
    """Return if the witness shows that the trace satisfies its level and its modules; raise ReplayError if not.

    True: it passed the replay that knows nothing of modules, too. False: the modules change what is asked, so that one
    has no say.
    """
    level = find_level(witness.level)
    if not level.observes:
        raise ReplayError(_says_nothing(level))
    asg = everything(prepare(build_asg(trace), find_recorded(witness.modules, given)))
    if asg.entries is not None and trace.initial_mode == Initial.UNKNOWN:
        raise UsageError(
            "the trace has selects and an unknown initial state, which a certificate with modules does not tell; this "
            "certificate cannot be verified"
        )
    ir = lower(asg, level)
    as_ever = not changed(ir)
    if as_ever and is_shipped(level):  # the replay knows levels by their names
        replay(trace, witness)
    try:
        _World(ir, witness).examine()
    except UsageError:  # it cannot be decided; nothing is wrong with the witness
        raise
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise ReplayError(f"the witness is malformed: {error}") from error
    return as_ever


def _says_nothing(level: Level) -> str:
    return f"{level.title} looks at nothing that a module could speak of; no such question is answered"


def changed(ir: IR) -> bool:
    """Do the modules of an IR ask for less than its level, or of another trace than the one that was read?"""
    plain = lower(ir.asg, find_level(ir.level.name), ())
    return (
        any(m.prepare is not None for m in ir.asg.modules)
        or bool(ir.weakened_by)
        or bool((plain.strong & ~ir.strong).any())
    )


class _World:
    """What a witness says happened, in numbers of the IR."""

    def __init__(self, ir: IR, witness: Witness) -> None:
        self.ir, self.asg, graph = ir, ir.asg, ir.graph
        points, nodes = graph.points, graph.points * graph.transactions
        order = np.asarray(witness.order, np.int64)
        if witness.points != points or (len(order) and not 0 <= order.min() <= order.max() < nodes):
            raise ReplayError("the order has points that the trace does not have")
        self.order: list[int] = order.tolist()
        self.place: dict[int, int] = dict(zip(self.order, range(len(order)), strict=True))
        if len(self.place) < len(order):
            raise ReplayError("a point is in the order twice")
        self.named = {
            (int(op), int(key)): int(writer)
            for op, key, writer in zip(witness.read_op, witness.read_key, witness.read_writer, strict=True)
        }
        self.initial = {int(key): int(value) for key, value in witness.initial}
        self.taken: dict[int, int] = {}

    def inside(self, txn: int) -> bool:
        return self.begin(txn) is not None

    def begin(self, txn: int) -> int | None:
        return self.place.get(int(self.ir.graph.node(txn, Point.BEGIN)))

    def commit(self, txn: int) -> int:
        return self.place[int(self.ir.graph.node(txn, Point.COMMIT))]

    def name(self, txn: int) -> str:
        t = int(self.asg.txn_of[txn])
        return f"T{t} ({self.asg.trace.where(t)})"

    @cached_property
    def versions(self) -> list[list[int]]:
        """Of each key, its writers in order."""
        found = []
        for key in range(self.asg.keys):
            writers = self.asg.write_txn[self.asg.key_start[key] : self.asg.key_start[key + 1]].tolist()
            found.append(sorted((w for w in writers if self.inside(w)), key=self.commit))
        return found

    @cached_property
    def places(self) -> list[list[int]]:
        """Of each key, where its writers commit."""
        return [[self.commit(w) for w in writers] for writers in self.versions]

    def examine(self) -> None:
        """Raises ReplayError if anything that is asked does not hold."""
        self._who_is_in()
        self._own_writes()
        self._known_edges()
        self._writers_apart()
        for read in self.ir.read_froms():
            if self.inside(read.txn):
                self._read(read)
        self._joint_reads()
        for txn in self.asg.doubtful.tolist():
            if self.inside(txn):
                self._lists(txn)
        if self.ir.level.once is not None:
            self._paths()
        self._words()

    def _who_is_in(self) -> None:
        asg, graph = self.asg, self.ir.graph
        for t in range(asg.transactions):
            begin = self.begin(t)
            both = graph.node(t, Point.COMMIT) in self.place
            if (begin is not None) != both:
                raise ReplayError(f"{self.name(t)} has only one of its points in the order")
            if begin is None and asg.outcome[t] == Outcome.COMMITTED:
                raise ReplayError(f"{self.name(t)} committed, but is not in the order")
            if begin is not None and asg.state[t] == OUT:
                raise ReplayError(f"{self.name(t)} aborted, but is in the order")
            if begin is not None and begin > self.commit(t):
                raise ReplayError(f"{self.name(t)} commits before it begins")

    def _own_writes(self) -> None:
        """Nobody who is in contradicts itself; no order has anything to say about that."""
        for txn, _, key, *_ in zip(*(column.tolist() for column in self.asg.internal), strict=True):
            if self.inside(txn):
                raise ReplayError(f"{self.name(txn)} does not read its own write of {self.ir.key_name(key)}")

    def _known_edges(self) -> None:
        """The order, and all known edges beside it, close no cycle. (Helpers and who is not in have no place.)"""
        ir = self.ir
        before: dict[int, list[int]] = {b: [a] for a, b in pairwise(self.order)}
        for a, b in zip(*(column.tolist() for column in ir.order_edges()), strict=True):
            before.setdefault(b, []).append(a)
        if ir.graph.points == 2:
            for t in range(ir.graph.transactions):
                before.setdefault(2 * t + 1, []).append(2 * t)
        try:
            TopologicalSorter(before).prepare()
        except CycleError as error:
            around = " -> ".join(ir.graph.name(n) for n in error.args[1])
            raise ReplayError(f"the order contradicts what is known or told: {around}") from None

    def _writers_apart(self) -> None:
        source, target = self.ir.level.edges[Dependency.WW]
        node = self.ir.graph.node
        for writers in self.versions:
            for a, b in pairwise(writers):
                if self.place[node(a, source)] > self.place[node(b, target)]:
                    raise ReplayError(f"{self.name(b)} writes a key that another, overlapping one writes")

    def _read(self, read: ReadFrom) -> None:
        ir, begin = self.ir, self.begin(read.txn)
        assert begin is not None
        what = f"{self.name(read.txn)}: its read of {ir.key_name(read.key)} = {ir.read_name(read.read)}"
        before = bisect_left(self.places[read.key], begin)
        last = self.versions[read.key][before - 1] if before else START
        taken = last
        if self.named:
            name = int(self.asg.read_op[read.read]), self._witness_key(read.key)
            if name not in self.named:
                raise ReplayError(f"{what} has no writer")
            taken = self.named[name]
        if taken not in read.candidates:
            raise ReplayError(f"{what} is from one that did not write that")
        if taken == START:
            self._initially(read, what)
        elif not self.inside(taken) or self.commit(taken) > begin:
            raise ReplayError(f"{what} is from one that is not before it in the order")
        if ir.sees_last(read.read) and taken != last:
            raise ReplayError(f"{what} does not see the last version before it")
        self.taken[read.read] = taken

    def _witness_key(self, key: int) -> int:
        return int(self.asg.witness_key(np.array([self.asg.trace_key(key)], np.int32))[0])

    def _joint_reads(self) -> None:
        """What a select saw of a row's columns together."""
        for joint, reads in joint_reads(self.asg):
            txn = int(self.asg.read_txn[reads[0]])
            if not self.inside(txn):
                continue
            seen: list[int] = []
            for column, read in enumerate(reads):
                family = self.ir.read_from(read, txn)
                made = classes_of(self.asg, joint, column, family)[self.taken[read]]
                if made is not None:
                    seen.append(made)
            if len(seen) == len(reads) and tuple(seen) in joint.bad:
                raise ReplayError(
                    f"{self.name(txn)}: its select of {joint.name} did not see these versions together"
                )

    def _initially(self, read: ReadFrom, what: str) -> None:
        by_read = bool(len(self.asg.initial_by)) and self.asg.initial_by[read.key] >= 0
        if self.asg.initial[read.key] != UNKNOWN_INITIAL and not by_read:
            return
        held, seen = self._held(read.key), int(self.asg.read_value[read.read])
        if (held == ABSENT) if seen == PRESENT else (held != seen):
            raise ReplayError(f"{what} is not what the witness has the key hold initially")

    def _held(self, key: int) -> int:
        return self.initial.get(self.asg.trace_key(key), ABSENT)

    def _lists(self, txn: int) -> None:
        """What the list reads of a transaction of unknown outcome show; of the others it is among the known edges."""
        asg = self.asg
        for read in range(int(asg.read_start[txn]), int(asg.read_start[txn + 1])):
            blocks, key = asg.lists.blocks(read).tolist(), int(asg.read_key[read])
            if blocks and blocks != self.versions[key][: len(blocks)]:
                raise ReplayError(
                    f"{self.name(txn)}: the list it read in {self.ir.key_name(key)} is in another order"
                )

    def _paths(self) -> None:
        ir, once = self.ir, self.ir.level.once
        assert once is not None
        sources, targets = ir.order_edges()
        counts = ir.path_edges()
        known: dict[int, list[int]] = {}
        for a, b in zip(sources[counts].tolist(), targets[counts].tolist(), strict=True):
            known.setdefault(b, []).append(a)
        steps = {b: list(before) for b, before in known.items()}
        of, row = self.asg.read_txn.tolist(), self.asg.read_op.tolist()
        read_by: dict[int, list[tuple[int, int]]] = {}
        for read, w in self.taken.items():
            if w != START:
                steps.setdefault(of[read], []).append(w)
                read_by.setdefault(of[read], []).append((row[read], w))
        if Dependency.WW in once.kinds:
            for writers in self.versions:
                for a, b in pairwise(writers):
                    steps.setdefault(b, []).append(a)
        for read, w in self.taken.items():
            reader, key = of[read], int(self.asg.read_key[read])
            first = 0 if w == START else bisect_left(self.places[key], self.commit(w)) + 1
            newer = set(self.versions[key][first : bisect_left(self.places[key], self.commit(reader))])
            if not newer:
                continue
            if once.longest is None:
                missed = newer & _ancestors(steps, reader)
            else:
                seen = read_by.get(reader, ())
                direct = {p for at, p in seen if at < row[read] or not once.earlier}
                missed = newer & (direct | _ancestors(known, reader))
            if missed:
                raise ReplayError(
                    f"{self.name(reader)} misses the write of {self.name(min(missed))}, of which it should know"
                )

    def _words(self) -> None:
        """What modules said beside known edges."""
        for told in self.ir.told:
            items: list[Superposition | Expression] = [
                *self.ir.superpositions[told.superpositions : told.superpositions_end],
                *self.ir.expressions[told.expressions : told.expressions_end],
            ]
            for item in items:
                if self._is_true(item):
                    continue
                text = format_item(self.ir, item).removeprefix("expression ")
                if any(map(self._may_be_absent, _atoms(item))):
                    raise UsageError(
                        f"{told.module} says that an edge is not there, which no order can show ({text}); "
                        "this certificate cannot be verified"
                    )
                raise ReplayError(f"it does not keep what {told.module} says: {text}")

    def _is_true(self, item: Superposition | Expression) -> bool:
        if isinstance(item, Superposition):
            return not self._is_true(item.when) or sum(map(self._is_true, item.options)) == 1
        if isinstance(item, Not):
            return not self._is_true(item.inner)
        if isinstance(item, And | Or):
            return (all if isinstance(item, And) else any)(map(self._is_true, item.parts))
        if isinstance(item, Implies):
            return not self._is_true(item.premise) or self._is_true(item.conclusion)
        if isinstance(item, Committed):
            return self.inside(item.txn)
        if isinstance(item, InitialIs):
            held = self._held(item.key)
            return held != ABSENT if item.value == PRESENT else held == item.value
        if not isinstance(item, Edge):
            raise UsageError(
                "a module speaks of paths, which no order shows; this certificate cannot be verified"
            )
        if _is_read(item):
            reader = self.ir.graph.transaction(item.target)
            return item.read in self.taken and reader is not None and self._took(item)
        if item.source == START:
            return item.target in self.place
        return (
            item.source in self.place
            and item.target in self.place
            and self.place[item.source] < self.place[item.target]
        )

    def _took(self, edge: Edge) -> bool:
        writer = START if edge.source == START else self.ir.graph.transaction(edge.source)
        return self.taken[edge.read] == writer

    def _may_be_absent(self, atom: Expression) -> bool:
        """Is it an edge that need not be there though the order would allow it?"""
        if not isinstance(atom, Edge) or _is_read(atom) or not self._is_true(atom):
            return False
        ends = {self.ir.graph.transaction(atom.source), self.ir.graph.transaction(atom.target)}
        return atom.kind != Dependency.WW or atom.key < 0 or not ends <= set(self.versions[atom.key])


def _is_read(edge: Edge) -> bool:
    return edge.read >= 0 and edge.kind in (Dependency.WR, Dependency.PWR)


def _atoms(item: Superposition | Expression) -> Iterator[Expression]:
    for part in (*item.options, item.when) if isinstance(item, Superposition) else (item,):
        yield from atoms(part)


def _ancestors(steps: dict[int, list[int]], node: int) -> set[int]:
    """All from whom a row of steps leads here."""
    found: set[int] = set()
    todo = [node]
    while todo:
        for before in steps.get(todo.pop(), ()):
            if before not in found:
                found.add(before)
                todo.append(before)
    return found


# --- cores


def refute_with_modules(trace: Trace, core: Core, given: Iterable[Module] = ()) -> bool:
    """True if Z3 proves that the core cannot satisfy its level and its modules."""
    return _refuted(_prepared(trace, core, given), core)


def minimal_with_modules(trace: Trace, core: Core, given: Iterable[Module] = ()) -> list[Part]:
    """The parts that could be dropped, each by itself, with the refutation still standing."""
    return needless_parts_with_modules(trace, core, given)[0]


def needless_parts_with_modules(
    trace: Trace, core: Core, given: Iterable[Module] = (), seconds: float | None = None
) -> tuple[list[Part], int]:
    """The same as far as it came in so many seconds, and how many parts were not tried to the end."""
    asg = _prepared(trace, core, given)
    return needless_parts(core, lambda fewer: _refuted(asg, fewer), seconds)


def _prepared(trace: Trace, core: Core, given: Iterable[Module]) -> ASG:
    level = find_level(core.level)
    if not level.observes:  # what it reads does not break it
        raise CoreError(_says_nothing(level))
    return everything(prepare(build_asg(trace), find_recorded(core.modules, given)))


def _refuted(asg: ASG, core: Core) -> bool:
    """Do these parts break the level? One that a module cannot make sense of is not refuted."""
    if not EAGER["z3"].installed:
        raise MissingSolver(f"refuting a core needs Z3: {how_to_install('z3')}")
    part = _part(asg, core)
    if len(part.broken) or len(part.orphans):
        return True
    try:
        ir = lower(part, find_level(core.level))
    except UsageError:
        return False
    clock = Clock(Limits(seconds_left()))
    found = EAGER["z3"].solve(expand(ir, clock), clock.left())
    if found.status == "unknown":
        raise LimitReached(found.reason or "")
    return found.status == "invalid"


def _part(asg: ASG, core: Core) -> ASG:
    """The weakened problem that a core stands for."""
    if any(not 0 <= t < asg.transactions for t in core.transactions):
        raise CoreError("the core has a transaction that is not in the trace")
    reads: dict[tuple[int, int], list[int]] = {}  # of a select over several columns there are several
    for r in range(len(asg.read_key)):
        reads.setdefault(asg.pair(r), []).append(r)
    inner = {
        (int(o), asg.pair_key(int(k))): i for i, (o, k) in enumerate(zip(*asg.internal[1:3], strict=True))
    }
    for row, key in core.reads:
        if (row, key) not in reads and (row, key) not in inner:
            raise CoreError(f"the core has a read (operation {row}, key {key}) that the trace does not have")
    kept = set(core.reads)
    return asg.restrict(
        np.array(sorted(set(core.transactions)), np.int64),
        np.array(sorted(r for read in kept for r in reads.get(read, ())), np.int64),
        np.array(sorted(inner[read] for read in kept if read in inner), np.int64),
    )
