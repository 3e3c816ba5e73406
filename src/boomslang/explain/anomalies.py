"""Names for what went wrong.

The codes are Adya's (thesis 1999, chapters 3 and 4) and Elle's extensions of them: a cycle is named by the edges it
needs, with -process or -realtime when session or time order was among them. Beside the code, the name people know:
lost update, write skew, long fork, ... (Berenson et al., SIGMOD 1995; Cerone et al., CONCUR 2015).
"""

from __future__ import annotations

from dataclasses import dataclass

from boomslang.asg.graph import ASG, OUT
from boomslang.explain.argument import Argument, Contradiction
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
G1B = Anomaly("G1b", "intermediate read", "a transaction read a value that its writer overwrote before it committed")
THIN_AIR = Anomaly("thin-air", "read from nowhere", "a transaction read what nobody wrote")
FUTURE = Anomaly("future-read", "read of one's own later write", "a transaction read the value that only it itself wrote, later")
INTERNAL = Anomaly("internal", "own write not seen", "a transaction did not see its own write")

_MEANING = {
    "G0": "a cycle of overwrites",
    "G1c": "a cycle of reads from one another and overwrites",
    "G-single": "a cycle with exactly one anti-dependency: somebody saw a state that never was",
    "G2-item": "a cycle with several anti-dependencies",
    "G2": "a cycle with an anti-dependency on a range",
}


def name_anomaly(asg: ASG, level: Level, argument: Argument | None) -> Anomaly | None:
    """The anomaly of a cyclic core, if it has a name."""
    special = _lost_update(asg)
    if argument is None:
        return special
    named = {name_cycle(asg, level, c) for c in argument.cycles() if c.cycle}
    if special is not None and all(a is not None and a.code.startswith(("G2-item", "G-single")) for a in named):
        return special
    if len(named) == 1:
        return named.pop()
    # A case split whose cases end in different cycles: only the weakest class covers them all.
    return None


def name_cycle(asg: ASG, level: Level, found: Contradiction) -> Anomaly | None:
    """The name of one cycle."""
    edges = [s.edge for s in found.cycle if s.edge is not None]
    kinds = [e.kind for e in edges]
    anti = sum(k in _ANTI for k in kinds)
    if anti == 0:
        code = "G0" if all(k in (Dependency.WW, Dependency.SO, Dependency.RT) for k in kinds) else "G1c"
    elif anti == 1:
        code = "G-single"
    else:
        code = "G2" if Dependency.PRW in kinds else "G2-item"
    meaning = _MEANING[code]
    name = _familiar(asg, level, found)
    if Dependency.SO in kinds:
        code += "-process"
        meaning += ", session order included"
    if Dependency.RT in kinds:
        code += "-realtime"
        meaning += ", real-time order included"
    return Anomaly(code, name, meaning)


def _familiar(asg: ASG, level: Level, found: Contradiction) -> str:
    points = level.points
    edges = [s.edge for s in found.cycle if s.edge is not None]
    kinds = [e.kind for e in edges]
    # Ends of edges as transactions; with two points, a transaction may be passed from its begin to its commit.
    txns = {e.source // points for e in edges} | {e.target // points for e in edges}
    if Dependency.RT in kinds:
        return "stale read" if any(k in _ANTI for k in kinds) else "read from the future"
    if Dependency.SO in kinds:
        return "session order broken"
    anti = [k in _ANTI for k in kinds]
    if not any(anti):
        return "circular information flow" if any(k in (Dependency.WR, Dependency.PWR) for k in kinds) else "dirty write"
    if any(k in _PREDICATE for k in kinds) and sum(anti) > 1:
        return "phantom write skew" if len(txns) == 2 else "phantom"
    if sum(anti) == 1:
        if len(txns) == 2 and len(edges) == 2:
            one, two = edges
            if one.key == two.key:
                return "non-repeatable read"
            return "phantom" if any(k in _PREDICATE for k in kinds) else "read skew"
        return "read skew"
    if len(txns) == 2 and all(anti):
        return "write skew"
    if len(edges) == 4 and anti in ([True, False, True, False], [False, True, False, True]) and len(txns) == 4:
        return "long fork"
    return "serialization cycle"


def _lost_update(asg: ASG) -> Anomaly | None:
    """Two transactions that read the same version of a key and both wrote it."""
    kept = [t for t in range(asg.transactions) if asg.read_start[t] < asg.read_start[t + 1]]
    if len(kept) != 2 or any(asg.state[t] == OUT for t in kept):
        return None
    both = []
    for t in kept:
        reads = range(int(asg.read_start[t]), int(asg.read_start[t + 1]))
        writes = set(asg.write_key[asg.write_txn == t].tolist())
        both.append({(int(asg.read_key[r]), int(asg.read_value[r])) for r in reads if int(asg.read_key[r]) in writes})
    if not (both[0] & both[1]):
        return None
    return Anomaly(
        "lost-update", "lost update", "two transactions read the same version of a key and both overwrote it"
    )
