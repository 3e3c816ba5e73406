"""PolySI's encoding of snapshot isolation: a generalised polygraph.

Huang, Liu, Chen, Wei, Basin, Li and Pan, "Efficient black-box checking of snapshot isolation in databases", VLDB
2023. One point a transaction. A trace is snapshot isolated just when, for some order of each key's writers, there
is no cycle in which every two anti-dependencies (rw) have a dependency (so, wr, ww) between them. So an rw edge
orders nothing by itself; only a dependency followed by it does:

    a -dep-> b and b -rw-> c   =>   a -> c       ("induced" edge)

and dependencies and induced edges must be acyclic. A *generalised constraint* is for two writers of a key: either
the one is first, and all who read it have an rw to the other, or the other way round. The rw "edges" are `Path`
atoms here, which stand for no order; written out, the induced edges are what this encoding pays for its single
point.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np

from boomslang.asg.graph import ASG
from boomslang.encodings.encoding import (
    Encoding,
    Sheet,
    refuse_ambiguity,
    refuse_duplicates,
    refuse_lists,
    refuse_ranges,
    refuse_unknown_outcomes,
)
from boomslang.ir.expression import FALSE, START, TRUE, Edge, Expression, Implies, Path, Superposition, all_of
from boomslang.ir.lower import lower
from boomslang.levels.level import Dependency, Level, Point
from boomslang.passes.problem import Problem
from boomslang.solve.clock import Clock
from boomslang.solve.solution import Solution

TITLE = "PolySI"


def write(asg: ASG, level: Level, clock: Clock) -> Problem:
    for refuse in (refuse_unknown_outcomes, refuse_ranges, refuse_lists, refuse_duplicates):
        refuse(asg, TITLE)
    one_point = dict.fromkeys(level.edges, (Point.ONLY, Point.ONLY))
    ir = lower(asg, replace(level, edges=one_point))
    refuse_ambiguity(ir, TITLE)
    sheet = Sheet.of(ir)
    # Who depends on whom: known, or if an edge holds.
    into: dict[int, list[tuple[int, Expression]]] = {}
    for edge in sheet.known:
        into.setdefault(edge.target, []).append((edge.source, TRUE))
    missed: dict[Path, None] = {}
    for key in clock.over(range(asg.keys)):
        writers = sheet.writers(key)
        for w in writers:  # the initial version is the first
            known = _missed(sheet, START, w, key)
            missed.update(dict.fromkeys(known))
            sheet.fixed.update(dict.fromkeys(known, True))
        for i, j in clock.over(combinations(writers, 2)):
            options = []
            for first, second in ((i, j), (j, i)):
                edge = ir.ww(first, second, key)
                into.setdefault(second, []).append((first, edge))
                paths = _missed(sheet, first, second, key)
                missed.update(dict.fromkeys(paths))
                options.append(all_of(edge, *paths))
            why = f"T{i} and T{j} both wrote {ir.key_name(key)}"
            sheet.superpositions.append(Superposition(tuple(options), why))
    for path in missed:
        for source, holds in clock.over(dict.fromkeys(into.get(path.source, ()))):
            induced = FALSE if source == path.target else Edge(source, path.target, Dependency.RW)
            sheet.expressions.append(Implies(all_of(*([] if holds == TRUE else [holds]), path), induced))
    return replace(sheet.problem(), finish=_with_begins)


def _missed(sheet: Sheet, writer: int, later: int, key: int) -> list[Path]:
    """The anti-dependencies of those who read a version on one who overwrites it."""
    readers = sheet.readers.get((key, writer), ())
    return list(dict.fromkeys(Path(read.txn, later) for read in readers if read.txn != later))


def _with_begins(problem: Problem, found: Solution) -> Solution:
    """The order found is one of commits. A transaction may begin as soon as all that it depends on has committed."""
    assert found.order is not None
    asg = problem.ir.asg
    commit = {int(t): place for place, t in enumerate(found.order.tolist())}
    begin = dict.fromkeys(commit, -1)
    for edge in problem.known:  # wr, so, and whatever a pass found out
        if (
            edge.kind not in (Dependency.RW, Dependency.PRW)
            and edge.source in commit
            and edge.target in commit
        ):
            begin[edge.target] = max(begin[edge.target], commit[edge.source])
    for key in range(asg.keys):
        writers = sorted((w for w in problem.ir.writers(key) if w in commit), key=commit.__getitem__)
        for first, second in pairwise(writers):
            begin[second] = max(begin[second], commit[first])
    points = [(commit[t], 0, 2 * t + 1) for t in commit] + [(begin[t], 1, 2 * t) for t in commit]
    return replace(found, order=np.array([node for _, _, node in sorted(points)], np.int64))


POLYSI = Encoding(
    "polysi",
    TITLE,
    lambda level: level.name in ("snapshot-isolation", "strong-session-snapshot-isolation"),
    "snapshot isolation, with or without session order",
    write,
    "Huang et al., VLDB 2023",
)
