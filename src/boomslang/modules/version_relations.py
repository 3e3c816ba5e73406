"""Words that modules about versions share: older, newer, and which a read must not miss."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise, product

import numpy as np

from boomslang.asg.graph import ASG, IN, Int64
from boomslang.ir.expression import START, TRUE, Expression, Implies, Not, all_of
from boomslang.ir.families import ReadFrom
from boomslang.ir.model import IR
from boomslang.modules.version_hints import Place
from boomslang.trace.model import NO_TIME, Outcome


def not_older(ir: IR, one: ReadFrom, two: ReadFrom) -> Iterator[Expression]:
    """The second read of a key does not see an older version than the first."""
    for a in one.candidates:
        for b in two.candidates:
            if a in (b, START):
                continue
            both = all_of(ir.wr(a, one), ir.wr(b, two))
            yield Not(both) if b == START else Implies(both, ir.ww(a, b, one.key))


def not_before(ir: IR, read: ReadFrom, writer: int) -> Iterator[Expression]:
    """The read sees the version of this writer, or a newer one."""
    for w in read.candidates:
        if w == writer:
            continue
        takes = ir.wr(w, read)
        yield Not(takes) if w == START else Implies(takes, ir.ww(writer, w, read.key))


def returned_writers(asg: ASG, ir: IR, read: ReadFrom, moment: int) -> list[int]:
    """Who wrote the read's key, committed, and had returned before this moment of the reader's clock."""
    trace = asg.trace
    writers = np.array([w for w in ir.writers(read.key) if w != read.txn], np.int64)
    ids = asg.txn_of[writers]
    known = (
        asg.ordered[writers] & (asg.outcome[writers] == Outcome.COMMITTED) & (trace.txn_end[ids] != NO_TIME)
    )
    here = trace.txn_clock[ids] == trace.txn_clock[int(asg.txn_of[read.txn])]
    found: list[int] = writers[known & here & (trace.txn_end[ids] < moment)].tolist()
    return found


def own_begin(asg: ASG, txn: int) -> int | None:
    """When the transaction was invoked, if that was recorded and counts."""
    begin = int(asg.trace.txn_begin[int(asg.txn_of[txn])])
    return begin if begin != NO_TIME and asg.ordered[txn] else None


def session_of(asg: ASG) -> Int64:
    """Of each transaction, its session; -1 where it has none or is not kept."""
    return np.where(asg.ordered, asg.trace.txn_session[asg.txn_of], -1).astype(np.int64)


def in_order(ir: IR, key: int, ranked: Iterable[tuple[Place, int]]) -> None:
    """Writers of a key with places become known edges, from each to those at the next place.

    One of unknown outcome has its place only if it committed, so what is known must not lead through it.
    """
    certain: dict[Place, list[int]] = {}
    doubtful: list[tuple[Place, int]] = []
    for place, t in sorted(ranked):
        if ir.asg.state[t] == IN:
            certain.setdefault(place, []).append(t)
        else:
            doubtful.append((place, t))
    edges = [edge for one, two in pairwise(certain.values()) for edge in product(one, two)]
    if edges:
        ir.know(*np.array(edges, np.int64).T)
    taken = list(certain)
    for place, t in doubtful:
        older = certain[taken[at - 1]] if (at := bisect_left(taken, place)) else []
        newer = certain[taken[at]] if (at := bisect_right(taken, place)) < len(taken) else []
        pairs = [(w, t) for w in older] + [(t, w) for w in newer]
        pairs += [(t, w) for other, w in doubtful if other > place]
        for a, b in pairs:
            put_before(ir, key, a, b)


def put_before(ir: IR, key: int, older: int, newer: int) -> None:
    """Of two writers of a key the one is before the other, if both committed."""
    both = all_of(ir.committed(older), ir.committed(newer))
    if both == TRUE:
        ir.know(older, newer)
    else:
        ir.require(Implies(both, ir.ww(older, newer, key)))
