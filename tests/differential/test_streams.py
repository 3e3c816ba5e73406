"""A trace that goes by gets the answer of the whole: windows of a few lines that go forward, against the whole trace.

The whole is the yardstick (brute force and the other solvers have had their say on it: test_differential.py). Every order
that was taken is put together and replayed by the program that knows nothing of windows.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from fuzz.traces import MIXES, random_trace
from support.effort import examples
from support.streams import goes_by

from boomslang import Trace, check, read_trace
from boomslang.certify.certificate import Witness
from boomslang.certify.replay import replay
from boomslang.levels import LEVELS, Level
from boomslang.levels.needs import lacks
from boomslang.stream.forward import Taken
from boomslang.stream.live import code
from boomslang.stream.window import place_of
from boomslang.trace import write_trace
from boomslang.windows.worth import fits_windows

CUT = [level for level in LEVELS if fits_windows(level)]


def whole_witness(trace: Trace, level: Level, taken: list[Taken]) -> Witness:
    """The parts of the order as one."""
    number = {(int(trace.txn_file[t]), int(trace.txn_begin_line[t])): t for t in range(len(trace))}
    order, initial = [], []
    keys = {code(trace.keys, i): i for i in range(len(trace.keys))}
    values = {code(trace.values, i): i for i in range(len(trace.values))}
    for part in taken:
        for i, place in enumerate(part.place.tolist()):
            t = number[place_of(place)]
            order.append(t if part.commit is None else 2 * t + int(part.commit[i]))
        initial += [(keys[k], values[v]) for k, v in part.initial if v is not None]
    return Witness(level.name, level.points, np.array(order, np.int64), initial)


def compare(trace: Trace, folder: Path, levels: list[Level], draw: random.Random, seen: Counter[str]) -> None:
    path = folder / "trace.jsonl"
    path.unlink(missing_ok=True)
    if len(trace.clocks) > 1:
        return
    write_trace(trace, path)
    trace = read_trace(path)
    for level in levels:
        if lacks(level, trace):
            continue
        expected = check(trace, level, window=0).status
        size, tail = draw.choice((200, 400, 1000, 3000)), draw.choice((0, 1, 3, 8))
        kept = draw.choice((1, 4, 10**6))
        found, verdict, forward, taken = goes_by(path, level, size=size, tail=tail, kept=kept)
        about = level.name, size, tail, kept
        many = "several" if forward is not None and forward.counted.windows > 1 else "one"
        if found in ("no", "stuck"):
            seen[found] += 1
            assert found == "no" or kept < 10**6, about
            continue
        if expected == "unknown":  # nothing committed
            continue
        assert found == expected, about
        seen[f"{found} in {many}"] += 1
        if found == "valid":
            replay(trace, whole_witness(trace, level, taken))
        else:
            assert verdict is not None and verdict.counterexample is not None


@pytest.mark.parametrize("mix", MIXES)
def test_going_by_agrees_with_the_whole(mix: str, tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for seed in range(examples(40)):
        draw = random.Random(seed)
        compare(random_trace(seed, mix), tmp_path, draw.sample(CUT, 3), draw, seen)
    print(mix, dict(seen))
