"""Session order as a hint: it may be wrong anywhere, and decides nothing.

The engine follows it where the level does not ask for it, gives up what failed of it, and keeps what it learned from
the rest. So the same questions are asked without hints: the verdicts agree, an order passes the replay, and what is
named as broken is broken by itself, without hints.
"""

from __future__ import annotations

import random

import pytest
from support.histories import Absent, Op, get, history, put, txn

from boomslang import Trace
from boomslang.asg import build_asg
from boomslang.certify.replay import replay
from boomslang.explain.core import complete
from boomslang.explain.parts import Parts
from boomslang.ir.lower import lower
from boomslang.ir.model import IR
from boomslang.levels import find_level
from boomslang.solve.native import solve_native
from boomslang.solve.solution import Limits, witness

LEVELS = ("ser", "si", "pl-2+", "prefix", "rr")


def misleading(rng: random.Random) -> Trace:
    """A serial run with a few stale reads, in sessions that are no order of it, or one only here and there."""
    keys, values, stale = rng.randint(2, 6), rng.randint(2, 6), rng.choice((0.1, 0.4))
    state: list[dict[int, int]] = [{}]
    ran: list[list[Op]] = []
    for _ in range(rng.randint(6, 30)):
        seen = rng.choice(state[-4:]) if rng.random() < stale else state[-1]
        reads = [get(k, seen.get(k, Absent)) for k in rng.sample(range(keys), rng.randint(0, 2))]
        new = {k: rng.randrange(values) for k in rng.sample(range(keys), rng.randint(0, 2))}
        ran.append([*reads, *(put(k, v) for k, v in new.items())])
        state.append(state[-1] | new)
    order = list(range(len(ran)))
    for _ in range(rng.randint(0, len(ran))):
        a, b = sorted(rng.sample(order, 2))
        order[a], order[b] = order[b], order[a]
    sessions = rng.randint(1, 4)
    return history(*(txn(f"s{rng.randrange(sessions)}", *ran[i]) for i in order if ran[i]))


def agree(seed: int) -> tuple[str, int]:
    rng = random.Random(seed)
    trace, level = misleading(rng), find_level(rng.choice(LEVELS))
    ir: IR = lower(build_asg(trace), level)
    if len(ir.asg.orphans):
        return "orphan", 0
    found, plainly = (solve_native(ir, Limits(seconds=20), hints=hints) for hints in (True, False))
    assert found.status == plainly.status != "unknown", (seed, level.name)
    if found.status == "valid":
        replay(trace, witness(ir, found))
    else:
        named = complete(ir.asg, Parts.used_by(ir.asg, found))
        part = lower(ir.asg.restrict(named.transactions, named.reads, named.internal), level)
        alone = len(part.asg.orphans) or solve_native(part, hints=False).status == "invalid"
        assert alone, (seed, level.name)
    return found.status, int(found.stats["hints_dropped"])


def test_hints_decide_nothing() -> None:
    answers = [agree(seed) for seed in range(1_000)]
    for status in ("valid", "invalid"):
        assert sum(said == status and dropped > 0 for said, dropped in answers) > 50


@pytest.mark.full
@pytest.mark.parametrize("part", range(10))
def test_hints_decide_nothing_in_many(part: int) -> None:
    for seed in range(10_000 + 3_000 * part, 13_000 + 3_000 * part):
        agree(seed)
