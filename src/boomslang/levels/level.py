"""What a level is: data, not code.

A level says how many *points* a transaction has, which dependencies become edges between which points, and that
the graph must be acyclic for some choice of the unknowns. A few levels say one thing more: that certain cycles with
exactly one anti-dependency are forbidden too (`once`), or that a transaction that reads a key and writes it overwrites
what it read (`cursor`). All else follows from that:

- whether a read must see the *last* writer before it or just some writer before it: the former if the level has
  the anti-dependency of that kind of read (`rw` for items, `prw` for predicates), for only the anti-dependency
  forbids another writer in between;
- which level implies which (see lattice.py).

Dependencies: `wr` w writes what r reads, `ww` j overwrites i, `rw` r read a version that p overwrites; `pwr` and
`prw` are the predicate forms; `so` session order, `rt` real-time order. Adya, "Weak Consistency: A Generalized
Theory and Optimistic Implementations for Distributed Transactions", MIT 1999, chapters 3 and 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum


class Point(Enum):
    """Where on a transaction an edge starts or ends."""

    ONLY = "T"
    BEGIN = "B"
    COMMIT = "C"


class Dependency(str, Enum):
    """The kinds of edges."""

    WW = "ww"
    WR = "wr"
    PWR = "pwr"
    RW = "rw"
    PRW = "prw"
    SO = "so"
    RT = "rt"


Ends = tuple[Point, Point]


@dataclass(frozen=True)
class Once:
    """Forbidden: a cycle of exactly one anti-dependency (rw or prw) and otherwise these."""

    kinds: frozenset[Dependency]
    longest: int | None = None
    """Of them at most so many (None: any number). Session and real-time order are transitive: a row of so or of rt
    counts as one."""
    earlier: bool = False
    """A wr counts only if its read comes earlier in the transaction than the read that missed a write."""


@dataclass(frozen=True)
class Level:
    """An isolation level. `edges` maps each dependency the level knows to the points it joins."""

    name: str
    short: str
    title: str
    edges: Mapping[Dependency, Ends]
    citation: str
    forbids: str
    """In words: what must not happen."""
    aliases: tuple[str, ...] = ()
    once: Once | None = None
    cursor: bool = False
    """Who reads a key (as an item) and writes it is the immediate successor of whom it read from."""
    observes: bool = True
    """False: what was read does not matter, but for what lists show of the order of appends."""
    slack: int = 0
    """Real time orders two only if the first had returned more than this before the second was invoked (within.py)."""
    slack_unit: str = ""
    """The unit of the slack; empty: the trace's."""
    bound: str = ""
    """The slack as it is in the name, of a level within a bound."""
    owner: str = field(default="", compare=False)
    """Where it comes from, if not from Boomslang (registry.py)."""

    @property
    def points(self) -> int:
        """Points a transaction: 1, or 2 (begin and commit)."""
        return 2 if any(Point.BEGIN in ends for ends in self.edges.values()) else 1

    def has(self, dependency: Dependency) -> bool:
        return dependency in self.edges

    @property
    def items_see_last(self) -> bool:
        return self.has(Dependency.RW)

    @property
    def predicates_see_last(self) -> bool:
        return self.has(Dependency.PRW)

    @property
    def needs_sessions(self) -> bool:
        return self.has(Dependency.SO)

    @property
    def needs_times(self) -> bool:
        return self.has(Dependency.RT)

    def _forward(self) -> Ends:
        """The ends of "a is over before b starts": what so and rt mean, counted like wr."""
        return self.edges[Dependency.WR]

    def strong_session(self) -> Level:
        """This level, with session order: Daudjee and Salem, "Lazy database replication with ordering guarantees",
        ICDE 2004 (serializability), and "Lazy database replication with snapshot isolation", VLDB 2006."""
        return replace(
            self,
            name=f"strong-session-{self.name}",
            short=f"strong-session-{self.short}",
            title=f"strong session {self.title}",
            edges={**self.edges, Dependency.SO: self._forward()},
            citation=f"{self.citation}; with session order: Daudjee and Salem, ICDE 2004 and VLDB 2006",
            forbids=f"{self.forbids}, session order included",
            aliases=tuple(f"strong-session-{a}" for a in self.aliases),
            once=self._once_with(Dependency.SO),
        )

    def _once_with(self, more: Dependency) -> Once | None:
        """so and rt are counted with wr."""
        return self.once and replace(self.once, kinds=self.once.kinds | {more})

    def strong(self, name: str, short: str, title: str, citation: str, aliases: tuple[str, ...]) -> Level:
        """This level, with real-time order."""
        return replace(
            self,
            name=name,
            short=short,
            title=title,
            edges={**self.edges, Dependency.RT: self._forward()},
            citation=citation,
            forbids=f"{self.forbids}, real-time order included",
            aliases=aliases,
            once=self._once_with(Dependency.RT),
        )

    def within(self, slack: int, unit: str, bound: str, words: str) -> Level:
        """This level, with the real-time order of what is more than `slack` apart; `bound` and `words` are how that is
        written in its name and in its title."""
        return replace(
            self,
            name=f"{self.name}-within-{bound}",
            short=f"{self.short}-within-{bound}",
            title=f"{self.title} within {words}",
            edges={**self.edges, Dependency.RT: self._forward()},
            forbids=f"{self.forbids}, the real-time order of what is more than {words} apart included",
            aliases=(),
            once=self._once_with(Dependency.RT),
            slack=slack,
            slack_unit=unit,
            bound=bound,
        )
