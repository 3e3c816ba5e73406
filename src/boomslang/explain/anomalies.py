"""Names for what went wrong.

The codes are Adya's (thesis 1999, chapters 3 and 4) and Elle's extensions of them: a cycle is named by the edges it
needs, with -process or -realtime when session or time order was among them. Beside the code, the name people know:
lost update, write skew, long fork, ... (Berenson et al., SIGMOD 1995; Cerone et al., CONCUR 2015).
"""

from __future__ import annotations

from dataclasses import dataclass

from boomslang.explain.argument import Argument, Step
from boomslang.ir.expression import Edge
from boomslang.levels.level import Dependency, Level

_ANTI = {Dependency.RW, Dependency.PRW}
_PREDICATE = {Dependency.PWR, Dependency.PRW}


@dataclass(frozen=True)
class Anomaly:
    """A code of the field, the name people know, and what it means."""

    code: str
    name: str
    meaning: str


G1A = Anomaly("G1a", "aborted read", "a transaction read a value that an aborted transaction wrote")
G1B = Anomaly(
    "G1b", "intermediate read", "a transaction read a value that its writer overwrote before it committed"
)
THIN_AIR = Anomaly("thin-air", "read from nowhere", "a transaction read what nobody wrote")
FUTURE = Anomaly(
    "future-read",
    "read of one's own later write",
    "a transaction read the value that only it itself wrote, later",
)
INTERNAL = Anomaly("internal", "own write not seen", "a transaction did not see its own write")

INTERLEAVED = Anomaly("G0", "dirty write", "appends of two transactions to one list are interleaved")
G0_IN_LISTS = Anomaly("G0", "dirty write", "a cycle of overwrites: writes of transactions are interleaved")
OUT_OF_ORDER = Anomaly(
    "incompatible-order",
    "appends out of order",
    "a list has a transaction's appends in another order than it made",
)
TWICE = Anomaly("duplicate-elements", "element twice", "a list holds an element twice that was appended once")

_MEANING = {
    "G0": "a cycle of overwrites",
    "G1c": "a cycle of reads from one another and overwrites",
    "G-single": "a cycle with exactly one anti-dependency: somebody saw a state that never was",
    "lost-update": "two transactions read the same version of a key and both overwrote it",
    "G-nonadjacent": "a cycle with several anti-dependencies, no two of them in a row",
    "G2-item": "a cycle with several anti-dependencies",
    "G2": "a cycle with an anti-dependency on a range",
}


_RANK = ("G0", "G1c", "G-single", "lost-update", "G-nonadjacent", "G2-item", "G2")
"""From what the weakest levels forbid to what only the strongest do."""


def name_anomaly(level: Level, argument: Argument | None) -> Anomaly | None:
    """The anomaly of a cyclic core, if it has a name.

    Where there are several cycles, one for each case or candidate, there is one of them whichever case was real; the
    name is that of the mildest, as a level that allows that one can allow the trace.
    """
    named = [] if argument is None else [name_cycle(level, cycle) for cycle in argument.cycles()]
    if not named:
        return None
    code = max(
        (a.code for a in named), key=lambda c: (_RANK.index(_base(c)), c.endswith(("process", "realtime")))
    )
    names = {a.name for a in named if a.code == code}
    first = next(a for a in named if a.code == code)
    return first if len(names) == 1 else Anomaly(code, "serialization cycle", first.meaning)


def _base(code: str) -> str:
    return code.replace("-process", "").replace("-realtime", "")


def name_cycle(level: Level, cycle: tuple[Step, ...]) -> Anomaly:
    """The name of one cycle."""
    # With two points, steps inside a transaction (begin to commit) are no dependency.
    edges = [s.edge for s in cycle if s.edge is not None and not _inside(level, s.edge)]
    kinds = [e.kind for e in edges]
    anti = sum(k in _ANTI for k in kinds)
    if anti == 0 and (missed := _missed(level, cycle)):
        # Who overwrote whom follows from what somebody missed: the other way round, that is one anti-dependency.
        code, kinds = "G-single", [*kinds, *missed]
    elif anti == 0:
        code = "G0" if all(k in (Dependency.WW, Dependency.SO, Dependency.RT) for k in kinds) else "G1c"
    elif _lost_update(level, edges):
        code = "lost-update"
    elif anti == 1:
        code = "G-single"
    elif not any(a in _ANTI and b in _ANTI for a, b in zip(kinds, [*kinds[1:], kinds[0]], strict=True)):
        code = "G-nonadjacent"
    else:
        code = "G2" if Dependency.PRW in kinds else "G2-item"
    meaning = _MEANING[code]
    name = _familiar(level, edges) if set(kinds) <= {e.kind for e in edges} else _missing(level, kinds)
    if Dependency.SO in kinds:
        code += "-process"
        meaning += ", session order included"
    if Dependency.RT in kinds:
        code += "-realtime"
        meaning += ", real-time order included"
    if modules := sorted({e.label for e in edges if e.by}):
        meaning += f", what {' and '.join(modules)} said included"
    return Anomaly(code, name, meaning)


def _missed(level: Level, cycle: tuple[Step, ...]) -> list[Dependency]:
    """Where a level forbids cycles with one anti-dependency, and the cycle has overwrites that were derived from a read
    that missed them: RW, and the kinds of edges that they were derived from. Else nothing."""
    derived = [s for s in cycle if s.edge is not None and s.edge.kind == Dependency.WW and s.because]
    if level.once is None or not derived:
        return []
    kinds, todo = [Dependency.RW], list(derived)
    while todo:
        step = todo.pop()
        todo += step.because
        kinds += [b.edge.kind for b in step.because if b.edge is not None]
    return kinds


def _missing(level: Level, kinds: list[Dependency]) -> str:
    """The name of what is told as overwrites that a read missed."""
    assert level.once is not None
    if Dependency.RT in kinds:
        return "stale read"
    if level.once.earlier:
        return "non-monotonic read"
    if Dependency.SO in kinds and level.once.longest == 1:
        return "session order broken"
    if level.once.longest == 1:
        return "fractured read"
    return "causality violation" if Dependency.WW not in level.once.kinds else "read skew"


def _lost_update(level: Level, edges: list[Edge]) -> bool:
    """Two writers of one key, of which neither read the other's version."""
    txns = {e.source // level.points for e in edges} | {e.target // level.points for e in edges}
    kinds = {e.kind for e in edges}
    both = {Dependency.RW, Dependency.WW}
    return len(txns) == 2 and len({e.key for e in edges}) == 1 and kinds <= both and Dependency.RW in kinds


def _inside(level: Level, edge: Edge) -> bool:
    return level.points == 2 and edge.source // 2 == edge.target // 2


def _familiar(level: Level, edges: list[Edge]) -> str:
    kinds = [e.kind for e in edges]
    txns = {e.source // level.points for e in edges} | {e.target // level.points for e in edges}
    if Dependency.RT in kinds:
        return "stale read" if any(k in _ANTI for k in kinds) else "read from the future"
    if Dependency.SO in kinds:
        # Causality is sessions and what was read, together.
        causal = level.once is not None and level.once.longest is None and not level.once.earlier
        reads = Dependency.WR in kinds or Dependency.PWR in kinds
        return "causality violation" if causal and reads else "session order broken"
    if _lost_update(level, edges):
        return "lost update"
    anti = [k in _ANTI for k in kinds]
    if not any(anti):
        reads = any(k in (Dependency.WR, Dependency.PWR) for k in kinds)
        return "circular information flow" if reads else "dirty write"
    if any(k in _PREDICATE for k in kinds) and sum(anti) > 1:
        return "phantom write skew" if len(txns) == 2 else "phantom"
    if sum(anti) == 1 and len(edges) == 2 and edges[0].key == edges[1].key:
        return "phantom" if any(k in _PREDICATE for k in kinds) else "non-repeatable read"
    if level.once is not None and sum(anti) == 1:
        if level.once.earlier:
            return "non-monotonic read"
        if level.once.longest == 1:
            return "fractured read"
        if Dependency.WW not in level.once.kinds:
            return "causality violation" if len(edges) > 2 else "fractured read"
    if sum(anti) == 1:
        return "phantom" if any(k in _PREDICATE for k in kinds) else "read skew"
    if len(txns) == 2 and all(anti):
        return "write skew"
    if len(txns) == len(edges) == 4 and anti in ([True, False, True, False], [False, True, False, True]):
        return "long fork"
    return "serialization cycle"
