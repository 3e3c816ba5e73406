"""The smallest core that can be found in reasonable time: fewest transactions first, then fewest reads.

A core from which nothing can be dropped is not yet the smallest: another reason may need less. So others are looked
for, and each is shrunk in its turn: short cycles of what is known (cycles.py), and what the engine refutes in the
neighbourhood when one of the core's transactions is left out. What is looked at is bounded by numbers, so that the
answer is the same each time; the clock is for emergencies only.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice

import numpy as np

from boomslang.asg.graph import ASG
from boomslang.explain.core import MinimalCore, neighbours, shrink_if_refuted
from boomslang.explain.cycles import Graph, Known, of_two
from boomslang.explain.parts import Parts
from boomslang.explain.patience import now
from boomslang.ir.model import ambiguous_reads
from boomslang.levels.level import Level

SMALL = 3
"""Transactions of a core, with those its reads saw, below which nobody wants less: two, and whom both read from."""
MOST_TRIES = 8
"""Suggestions of each kind that are put to the engine."""
TOLD_WHOLE = 10
"""Transactions of a core that is told as it is. A larger one is told in short anyway: the larger, the less is looking
for another one worth."""
TOLD_IN_STEPS = 100
"""Transactions of a core that is told step by step, though what probably happened is told as well: hundreds of lines
are read by nobody, and take longest to find."""
LARGE = 500
"""Transactions of a neighbourhood that is not put to the engine."""
HUGE = 1_000_000
"""Reads of a trace that is not searched for short cycles."""
SECONDS = 8.0
"""Of this process, for all of it: where the numbers above do not bound it."""


def size(made: MinimalCore) -> tuple[int, int, int]:
    """How much a core asks of its reader: transactions, those of them it cannot do without, and reads."""
    return made.asg.transactions, len(made.core.transactions), len(made.core.reads)


def smallest(asg: ASG, level: Level, made: MinimalCore, seconds: float | None = None) -> MinimalCore:
    """This core or a smaller one."""
    if not made.minimal or made.asg.transactions <= SMALL or asg.modules or len(asg.read_key) > HUGE:
        return made
    if len(made.core.transactions) > TOLD_IN_STEPS and ambiguous_reads(made.asg):
        return made
    stop = None if seconds is None else now() + seconds
    begin = time.process_time()  # what others do to the machine shall not change the answer
    best = made
    for suggest in (_short_cycles, _around_it):
        for parts in suggest(asg, level, best):
            if (stop is not None and now() > stop) or time.process_time() - begin > SECONDS:
                return best
            found = shrink_if_refuted(asg, level, parts, stop)
            if found is not None and found.minimal and size(found) < size(best):
                best = found
                if best.asg.transactions <= SMALL:
                    return best
    return best


def _short_cycles(asg: ASG, level: Level, made: MinimalCore) -> Iterator[Parts]:
    known = Known(asg)
    told: set[tuple[int, ...]] = set()
    for cycle in islice(of_two(known, level), MOST_TRIES):
        told.add(cycle)
        yield Parts.all_of(asg, np.array(cycle))
    graph = Graph(known, level)
    told_of = TOLD_WHOLE / max(TOLD_WHOLE, len(made.core.transactions))
    # Where values repeat, few of the reads that a cycle needs are known.
    graph.most_visits = int(graph.most_visits * told_of ** (2 if ambiguous_reads(made.asg) else 1))
    for t in np.searchsorted(asg.txn_of, made.asg.txn_of)[:MOST_TRIES].tolist():
        around = graph.shortest(t, made.asg.transactions - 1)
        if around is not None and around not in told:
            told.add(around)
            yield Parts.all_of(asg, np.array(around))


def _around_it(asg: ASG, level: Level, made: MinimalCore) -> Iterator[Parts]:
    """The neighbourhood without one of the core's transactions, for each of them."""
    core = np.searchsorted(asg.txn_of, np.array(made.core.transactions))
    around = neighbours(asg, Parts.all_of(asg, core)).transactions
    if len(around) > LARGE:
        return
    for t in core[:MOST_TRIES].tolist():
        yield Parts.all_of(asg, around[around != t])
