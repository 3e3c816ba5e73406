"""Elle's inference from lists: what was read shows the order of appends.

Kingsbury and Alvaro, "Elle: inferring isolation anomalies from experimental observations", VLDB 2020. A list that
was read shows the order of all appends before it; so the longest list of a key is its version order, each list read
is a read of the version that its last element made, and its reader has an anti-dependency on whoever appended next.
Then every level is one search for a cycle; nothing is guessed. Appends that nobody read come after the longest
list, in an order left open. For one point a transaction any order will do; where writers of a key must not overlap,
two of them on one key leave the answer open too, and the verdict is unknown unless there is a cycle.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from boomslang.asg.graph import ASG
from boomslang.encodings.encoding import Encoding, OutsideAssumptions, Sheet, plain
from boomslang.ir.expression import START
from boomslang.ir.lower import lower
from boomslang.levels.level import Dependency, Level, Point
from boomslang.passes.problem import Problem
from boomslang.solve.clock import Clock
from boomslang.solve.solution import Solution
from boomslang.trace.model import Kind

TITLE = "Elle"


def write(asg: ASG, level: Level, clock: Clock) -> Problem:
    _refuse_registers(asg)
    ir = lower(asg, level)
    sheet = Sheet.of(ir)
    shown: dict[int, list[int]] = {}
    for (key, _), reads in sheet.readers.items():
        for read in reads:
            blocks = asg.lists.blocks(read.read).tolist()
            if len(blocks) > len(shown.get(key, ())):
                shown[key] = blocks
    unread = 0
    for key in clock.over(range(asg.keys)):
        order = [START, *shown.get(key, ())]
        rest = [w for w in sheet.writers(key) if w not in order]
        unread += len(rest) > 1
        for i, writer in enumerate(order):
            for later in order[i + 1 : i + 2] or rest:
                sheet.know(sheet.overwrites(writer, later, key))
    problem = sheet.problem()
    apart = level.edges[Dependency.WW][1] == Point.BEGIN  # must writers of a key not overlap?
    return replace(problem, finish=_open) if unread and apart else problem


def _refuse_registers(asg: ASG) -> None:
    trace = asg.trace
    kinds = (Kind.APPEND, Kind.LIST, Kind.BEGIN, Kind.COMMIT, Kind.ABORT)
    other = np.flatnonzero(~np.isin(trace.op_kind, kinds))
    # A read of absent is one of the empty list.
    other = other[(trace.op_kind[other] != Kind.GET) | (trace.op_value[other] >= 0)]
    if other.size:
        row = int(other[0])
        t = trace.owner(row)
        word = Kind(int(trace.op_kind[row])).name.lower()
        raise OutsideAssumptions(
            f"{TITLE} infers from lists; T{t} ({trace.where(t)}) has a {word}. Only append and list operations are "
            "taken. Check without --encoding"
        )


def _open(problem: Problem, found: Solution) -> Solution:
    return Solution(
        "unknown",
        reason="Elle's inference finds no cycle, but leaves the order of appends that nobody read open",
    )


ELLE = Encoding(
    "elle",
    TITLE,
    plain,
    "levels that forbid all cycles of their edges (from read committed to strict serializable, and snapshot isolation)",
    write,
    "Kingsbury and Alvaro, VLDB 2020",
)
