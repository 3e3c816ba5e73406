"""Commit timestamps: where the database tells when each transaction began (its snapshot) and committed.

In `ctx` of a transaction: `sts` and `cts`, or `start` and `commit`; numbers, or lists of numbers that compare from left
to right. With one point a transaction it is placed at its commit; with two, a snapshot holds what was committed up to
its timestamp. Equal commits stay unordered. (Li et al., "TimeKiller", 2024, check exactly this.)
"""

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, IN, MAYBE, OUT, Int64
from boomslang.ir.expression import Edge, Implies, Not, all_of
from boomslang.ir.model import IR
from boomslang.levels.level import Dependency, Point
from boomslang.modules.module import Hints, module
from boomslang.modules.version_hints import Place, moment


@module
def commit_timestamps(asg: ASG, ir: IR, hints: Hints) -> None:
    """Transactions are in the order of their timestamps in ctx: sts and cts, or start and commit."""
    # (timestamp, stage at that timestamp), node, transaction. Stages: commits, snapshots, commits of such snapshots.
    events: list[tuple[tuple[Place, int], int, int]] = []
    for t in np.flatnonzero(asg.ordered & (asg.state != OUT)).tolist():
        ctx = hints.transaction(t)
        times = [ctx.get(a, ctx.get(b)) for a, b in (("sts", "start"), ("cts", "commit"))]
        start, commit = (None if x is None else moment("timestamp", x) for x in times)
        if start is not None and commit is not None and start > commit and asg.state[t] == MAYBE:
            ir.require(Not(ir.committed(t)))
            continue
        if commit is not None:
            at_once = ir.graph.points == 2 and start == commit
            events.append(((commit, 2 * at_once), ir.graph.node(t, Point.COMMIT), t))
        if start is not None and ir.graph.points == 2:
            events.append(((start, 1), ir.graph.node(t, Point.BEGIN), t))
    if not events:
        ir.notes.append("no transaction has timestamps in ctx")
        return
    ranks = {when: i for i, when in enumerate(sorted({when for when, _, _ in events}))}
    rank = np.array([ranks[when] for when, _, _ in events])
    nodes = np.array([node for _, node, _ in events])
    certain = np.array([asg.state[t] == IN for _, _, t in events])
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
    _order_doubtful(ir, rank, certain, [(node, t) for _, node, t in events])


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
