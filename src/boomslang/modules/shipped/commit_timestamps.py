"""Commit timestamps: where the database tells when each transaction began (its snapshot) and committed.

In `ctx` of a transaction: `sts` and `cts`, or `start` and `commit`; numbers, or lists of numbers that compare from left
to right. With one point a transaction it is placed at its commit; with two, a snapshot holds what was committed up to
its timestamp. Equal commits stay unordered. (Li et al., "TimeKiller", 2024, check exactly this.)
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, IN, MAYBE, OUT, Int64
from boomslang.ir.expression import Edge, Implies, Not, all_of
from boomslang.ir.model import IR
from boomslang.levels.level import Dependency, Point
from boomslang.modules.module import Hints, module
from boomslang.modules.version_hints import ranks


@module
def commit_timestamps(asg: ASG, ir: IR, hints: Hints) -> None:
    """Transactions are in the order of their timestamps in ctx: sts and cts, or start and commit."""
    txns = np.flatnonzero(asg.ordered & (asg.state != OUT))
    start, commit = _places(hints.told(txns))
    impossible = (start >= 0) & (commit >= 0) & (start > commit) & (asg.state[txns] == MAYBE)
    for t in txns[impossible].tolist():
        ir.require(Not(ir.committed(t)))
    begins = (start >= 0) & ~impossible & (ir.graph.points == 2)
    commits = (commit >= 0) & ~impossible
    # At one timestamp there are three stages: commits, snapshots, commits of such snapshots.
    at_once = (start == commit) & (ir.graph.points == 2)
    when = np.concatenate([3 * commit[commits] + 2 * at_once[commits], 3 * start[begins] + 1])
    who = np.concatenate([txns[commits], txns[begins]])
    nodes = np.concatenate(
        [ir.graph.nodes_of(txns[commits], Point.COMMIT), ir.graph.nodes_of(txns[begins], Point.BEGIN)]
    )
    if not len(when):
        ir.notes.append("no transaction has timestamps in ctx")
        return
    ranks, rank = np.unique(when, return_inverse=True)
    certain = asg.state[who] == IN
    # Helper nodes between the ranks keep this linear.
    helper = ir.graph.nodes + np.arange(len(ranks) - 1)
    ir.graph.helpers += len(helper)
    late, early = rank > 0, certain & (rank < len(helper))
    for a, b in (
        (helper[:-1], helper[1:]),
        (helper[rank[late] - 1], nodes[late]),
        (nodes[early], helper[rank[early]]),
    ):
        ir.graph.chunks.append((a.astype(np.int64), b.astype(np.int64), Dependency.RT))
    _order_doubtful(ir, rank, certain, list(zip(nodes.tolist(), who.tolist(), strict=True)))


def _places(told: list[dict[str, Any]]) -> tuple[Int64, Int64]:
    """The places of starts and of commits among all timestamps; -1 where there is none."""
    raw = [ctx.get("sts", ctx.get("start")) for ctx in told] + [
        ctx.get("cts", ctx.get("commit")) for ctx in told
    ]
    known = [x for x in raw if x is not None]
    place = np.full(len(raw), -1, np.int64)
    place[[x is not None for x in raw]] = ranks("timestamp", known)
    return place[: len(told)], place[len(told) :]


def _order_doubtful(ir: IR, rank: Int64, certain: NDArray[np.bool_], events: list[tuple[int, int]]) -> None:
    """Who may not have happened comes before what is later only if it did: no known edge leaves it."""
    for i in np.flatnonzero(~certain).tolist():
        later = np.flatnonzero(certain & (rank > rank[i]))
        following = later[rank[later] == rank[later].min(initial=rank.max() + 1)]
        node, t = events[i]
        for j in (*following.tolist(), *np.flatnonzero(~certain & (rank > rank[i])).tolist()):
            after, other = events[j]
            if other != t:
                both = all_of(ir.committed(t), ir.committed(other))
                ir.require(Implies(both, Edge(node, after, Dependency.RT)))
