"""What an encoding is, and what those of earlier checkers share.

An encoding writes a trace at a level down as a problem (known edges, superpositions, expressions) in the way of an
earlier checker, under that checker's assumptions: unique values, no ranges, known outcomes. A trace outside of them
is refused with a word that says which; it is never answered wrongly. The point is a fair comparison: all encodings
go through the same passes and to the same solvers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from boomslang.asg.graph import ASG, IN, INITIAL, MAYBE, OUT, PREDICATE
from boomslang.errors import UsageError
from boomslang.ir.expression import FALSE, START, Atom, Edge, Expression, Superposition
from boomslang.ir.families import ReadFrom
from boomslang.ir.model import IR
from boomslang.levels.level import Level
from boomslang.passes.problem import Problem
from boomslang.solve.clock import Clock


class OutsideAssumptions(UsageError):
    """The trace, or the level, is none that the checker was made for."""


@dataclass(frozen=True)
class Encoding:
    name: str
    title: str
    levels: Callable[[Level], bool]
    """Which levels it can put."""
    what: str
    """... in words."""
    write: Callable[[ASG, Level, Clock], Problem]
    citation: str
    knows_more: bool = False
    """Does it use hints, so that its "no" need not be one without them?"""

    def encode(self, asg: ASG, level: Level, clock: Clock | None = None) -> Problem:
        """The trace at that level, in this encoding."""
        if not self.levels(level):
            raise OutsideAssumptions(f"{self.title} checks {self.what}, not {level.title}")
        return self.write(asg, level, clock or Clock())


def of_base(*names: str) -> Callable[[Level], bool]:
    """These levels, with session order, and with real-time order."""
    strong = {"serializable": "strict-serializable"}
    known = {x for n in names for x in (n, f"strong-session-{n}", strong.get(n, f"strong-{n}"))}
    known |= {f"strong-session-{x}" for x in list(known)}
    return lambda level: level.name in known


def plain(level: Level) -> bool:
    """All cycles of the level's edges are forbidden, and nothing else is."""
    return level.observes and level.once is None and not level.cursor


# --- assumptions


def refuse_unknown_outcomes(asg: ASG, title: str) -> None:
    if (maybe := np.flatnonzero(asg.state == MAYBE)).size:
        _refuse(asg, title, int(maybe[0]), "has an unknown outcome", "transactions that committed or aborted")


def refuse_ranges(asg: ASG, title: str) -> None:
    reads = np.flatnonzero((asg.read_kind == PREDICATE) & (asg.state[asg.read_txn] != OUT))
    if reads.size:
        where = f"{_key(asg, int(reads[0]))} as absent in a scan or iterator"
        _refuse(asg, title, int(asg.read_txn[reads[0]]), f"read {where}", "reads of single keys")


def refuse_lists(asg: ASG, title: str) -> None:
    if len(asg.lists.of) and (asg.lists.of >= 0).any():
        read = int(np.flatnonzero(asg.lists.of >= 0)[0])
        _refuse(asg, title, int(asg.read_txn[read]), f"read a list in {_key(asg, read)}", "registers")


def refuse_duplicates(asg: ASG, title: str) -> None:
    """Every value is written to its key once, and not there from the start."""
    writes = np.flatnonzero(asg.state[asg.write_txn] != OUT)
    key, value, txn = asg.write_key[writes], asg.write_value[writes], asg.write_txn[writes]
    twice = np.flatnonzero((key[1:] == key[:-1]) & (value[1:] == value[:-1]))  # sorted by key and value
    if twice.size:
        i = int(twice[0])
        name = repr(asg.trace.keys[asg.trace_key(int(key[i]))])
        both = f"T{asg.txn_of[txn[i]]} and T{asg.txn_of[txn[i + 1]]}"
        raise OutsideAssumptions(
            f"{title} assumes unique values; {both} wrote the same value to {name}. Check without --encoding"
        )


def refuse_ambiguity(ir: IR, title: str) -> None:
    asg = ir.asg
    unclear = np.flatnonzero((asg.read_writer < INITIAL) & (asg.state[asg.read_txn] != OUT))
    for read in (ir.read_from(r, int(asg.read_txn[r])) for r in unclear.tolist()):
        if len(read.candidates) != 1:
            what = f"read {ir.key_name(read.key)} = {ir.read_name(read.read)}, which several may have written"
            _refuse(ir.asg, title, read.txn, what, "reads with one possible writer")


def _refuse(asg: ASG, title: str, txn: int, found: str, expected: str) -> None:
    t = int(asg.txn_of[txn])
    raise OutsideAssumptions(
        f"{title} takes only {expected}; T{t} ({asg.trace.where(t)}) {found}. Check without --encoding"
    )


def _key(asg: ASG, read: int) -> str:
    return repr(asg.trace.keys[asg.trace_key(int(asg.read_key[read]))])


# --- what all of them build on


@dataclass
class Sheet:
    """A problem being written: the known graph of the IR, and what an encoding adds."""

    ir: IR
    known: dict[Edge, None] = field(default_factory=dict)
    fixed: dict[Atom, bool] = field(default_factory=dict)
    superpositions: list[Superposition] = field(default_factory=list)
    expressions: list[Expression] = field(default_factory=list)
    readers: dict[tuple[int, int], list[ReadFrom]] = field(default_factory=dict)
    """(key, writer or START) -> the reads of that version, of transactions that are in."""

    @classmethod
    def of(cls, ir: IR, taken: Callable[[ReadFrom], int] | None = None) -> Sheet:
        """The graph of an IR and its reads; `taken` says which candidate a read took, if not its only one."""
        sheet = cls(ir)
        sheet.know(ir.known_edges())
        for read in ir.read_froms():
            if ir.asg.state[read.txn] == IN:
                writer = read.candidates[0] if taken is None else taken(read)
                edge = ir.wr(writer, read)
                if writer == START:
                    sheet.fixed[edge] = True
                else:
                    sheet.know([edge])
                sheet.readers.setdefault((read.key, writer), []).append(read)
        return sheet

    def know(self, edges: Iterable[Edge]) -> None:
        for edge in edges:
            self.known[edge] = None
            self.fixed[edge] = True

    def writers(self, key: int) -> list[int]:
        return [w for w in self.ir.writers(key) if self.ir.asg.state[w] == IN]

    def overwrites(self, writer: int, later: int, key: int) -> list[Edge]:
        """If `later` overwrites `writer`'s version: ww, and rw from those who read that version."""
        ir = self.ir
        edges = [] if writer == START else [ir.ww(writer, later, key)]
        for read in self.readers.get((key, writer), ()):
            if read.txn != later and ir.sees_last(read.read):
                edges.append(ir.rw(read, later))
        return edges

    def contradiction(self) -> None:
        self.expressions.append(FALSE)

    def problem(self) -> Problem:
        return Problem(
            self.ir, tuple(self.known), tuple(self.superpositions), tuple(self.expressions), self.fixed
        )
