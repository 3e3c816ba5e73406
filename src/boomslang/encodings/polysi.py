"""PolySI's encoding of snapshot isolation: a generalised polygraph.

Huang, Liu, Chen, Wei, Basin, Li and Pan, "Efficient black-box checking of snapshot isolation in databases", VLDB
2023. A trace is snapshot isolated just when, for some order of each key's writers, there is no cycle in which every two
anti-dependencies (rw) have a dependency (so, wr, ww) between them. So an rw edge orders nothing by itself; only a
dependency followed by it does:

    a -dep-> b and b -rw-> c   =>   a -> c       ("induced" edge)

and dependencies and induced edges must be acyclic. A *generalised constraint* is for two writers of a key: either
the one is first, and all who read it have an rw to the other, or the other way round.

The induced edges are as many as pairs of a dependency and an anti-dependency, so they are not written out. Each
transaction has a second node instead, to which dependencies lead and from which anti-dependencies leave; from it one
gets to the first, but not back. A path of two edges through a second node is an induced edge, and there are no other
paths between first nodes but dependencies: the cycles are the same. (Second nodes and first nodes are begins and
commits, so that this graph is Viper's; what is left of the difference is that Viper combines writers into rows.)
"""

from __future__ import annotations

from boomslang.asg.graph import ASG
from boomslang.encodings.encoding import Encoding
from boomslang.encodings.polygraph import polygraph
from boomslang.levels.level import Level
from boomslang.passes.problem import Problem
from boomslang.solve.clock import Clock

TITLE = "PolySI"


def write(asg: ASG, level: Level, clock: Clock) -> Problem:
    return polygraph(asg, level, TITLE, clock, combine=False)


POLYSI = Encoding(
    "polysi",
    TITLE,
    lambda level: level.name in ("snapshot-isolation", "strong-session-snapshot-isolation"),
    "snapshot isolation, with or without session order",
    write,
    "Huang et al., VLDB 2023",
)
