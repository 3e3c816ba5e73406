"""Cobra's encoding of serializability: a polygraph with coalesced constraints.

Tan, Zhao, Mu and Walfish, "Cobra: making transactional key-value stores verifiably serializable", OSDI 2020,
section 3. Every value is written once, so every read has one writer; what is open is the order of the writers of a
key. Cobra

- *combines writes*: a transaction that reads a version and writes the key is the next writer; rows of such writers are
  ordered as a whole;
- *coalesces constraints*: for two rows, one constraint with two sets of edges. Either the last of the one and all who
  read it come before the first of the other, or the other way round;
- prunes constraints by reachability (the pass `prune`).
"""

from __future__ import annotations

from boomslang.asg.graph import ASG
from boomslang.encodings.encoding import Encoding, of_base
from boomslang.encodings.polygraph import polygraph
from boomslang.levels.level import Level
from boomslang.passes.problem import Problem
from boomslang.solve.clock import Clock


def write(asg: ASG, level: Level, clock: Clock) -> Problem:
    return polygraph(asg, level, "Cobra", clock, combine=True)


COBRA = Encoding(
    "cobra",
    "Cobra",
    of_base("serializable"),
    "serializability",
    write,
    "Tan et al., OSDI 2020",
)
