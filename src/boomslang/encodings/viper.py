"""Viper's encoding of snapshot isolation: a BC-polygraph.

Zhang, Ji, Mu and Tan, "Viper: a fast snapshot isolation checker", EuroSys 2023. A transaction has two points, begin
and commit. What it reads or overwrites was committed before it began (C -> B), what it did not see was not (B ->
C); the trace is snapshot isolated just when some choice among the constraints leaves no cycle. The constraints are
Cobra's, over these points: so the code is Cobra's, at a level whose edges join begins and commits.
"""

from __future__ import annotations

from boomslang.asg.graph import ASG
from boomslang.encodings.encoding import Encoding, of_base
from boomslang.encodings.polygraph import polygraph
from boomslang.levels.level import Level
from boomslang.passes.problem import Problem
from boomslang.solve.clock import Clock


def write(asg: ASG, level: Level, clock: Clock) -> Problem:
    return polygraph(asg, level, "Viper", clock, combine=True)


VIPER = Encoding(
    "viper",
    "Viper",
    of_base("snapshot-isolation"),
    "snapshot isolation",
    write,
    "Zhang et al., EuroSys 2023",
)
