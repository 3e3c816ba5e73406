"""Where values repeat, what breaks a level is shown by a count or by the states that can be reached: of all that was
recorded, however long ago the windows of most of it were given up."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.effort import examples
from support.streams import goes_by, small_pieces, verify_refutation

from boomslang import check, read_trace
from boomslang.levels import find_level
from boomslang.solve.solution import Solution
from boomslang.stream import past as past_module
from boomslang.stream.forward import Forward
from boomslang.stream.past import Core, Past
from boomslang.trace.blocks import Blocks
from boomslang.trace.scalars import Scalars

Step = dict[str, object]
Store = dict[str, object]


def written(
    path: Path,
    draw: random.Random,
    many: int,
    initial: Store,
    client: Callable[..., list[Step]],
    aborted: int = -1,
) -> None:
    """Transactions of six sessions, each of them at once, at times that a clock tells. `client` says what one does.
    `aborted`: before that one there is another that writes what was there at first, and aborts."""
    held = dict(initial)
    lines: list[Step] = [{"boomslang": 1, "initial": {"items": [[k, v] for k, v in initial.items()]}}]
    now = 0
    for n in range(many):
        did = [(n, [*client(n, draw, held), {"op": "commit"}])]
        if n == aborted:
            did.insert(0, (many, [*(put(k, v) for k, v in initial.items()), {"op": "abort"}]))
        for number, steps in did:
            said: dict[str, object] = {"session": f"s{draw.randrange(6)}", "txn": number}
            for step in ({"op": "begin"}, *steps):
                lines.append({**said, "invoke": now, "return": now + 1, **step})
                now += 2
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def get(key: str, value: object) -> Step:
    return {"op": "get", "key": key, "value": value}


def put(key: str, value: object) -> Step:
    return {"op": "put", "key": key, "value": value}


def order(lost: frozenset[int], n: int, draw: random.Random, stock: Store) -> list[Step]:
    """One takes an item from the stock, which is filled up again when it is empty. `lost`: these overwrite what
    another has overwritten already."""
    item = draw.choice(sorted(stock))
    left = stock[item]
    assert isinstance(left, int)
    now = 5 if left == 0 else left - 1
    if n in lost:
        stale = 0 if left == 5 else left + 1
        return [get(item, stale), put(item, left)]
    stock[item] = now
    return [get(item, left), put(item, now)]


def on_call(skewed: frozenset[int], n: int, draw: random.Random, duty: Store) -> list[Step]:
    """Somebody leaves if another is on call, or comes. `skewed`: one of these saw nobody on call."""
    doctor = draw.choice(sorted(duty))
    if duty[doctor] == "unset":
        duty[doctor] = True
        return [put(doctor, True)]
    seen = {name: there for name, there in duty.items() if there != "unset"}
    others = [name for name, there in seen.items() if there and name != doctor]
    if n in skewed and len(seen) == len(duty):
        return [get(name, False) for name in sorted(seen)]
    duty[doctor] = bool(not duty[doctor] or not others)
    return [*(get(name, there) for name, there in seen.items()), put(doctor, duty[doctor])]


LEVELS = ("ser", "sser", "si", "strong-si", "strong-session-ser")


@pytest.mark.parametrize("level", LEVELS)
def test_a_lost_update_long_after_the_value_was_new(level: str, tmp_path: Path) -> None:
    """Windows of some dozens of transactions, of which two are kept: what takes all of the trace to count is told as if
    it were in memory, and what the whole allows is never called broken."""
    asked, path = find_level(level), tmp_path / "trace.jsonl"
    seen = Counter[tuple[str, str]]()
    for seed in range(examples(20)):
        draw = random.Random(seed)
        lost = frozenset({draw.randrange(500, 900)} if seed % 4 else ())
        stock: Store = {f"item{i}": 5 for i in range(draw.choice((3, 30)))}
        written(path, draw, 1000, stock, partial(order, lost))
        whole = check(read_trace(path), asked, window=0, timeout=5)
        if whole.status == "unknown":  # one of sessions alone may take hours
            continue
        found, verdict, forward, _ = goes_by(path, asked, size=10_000, tail=20, kept=2)
        assert found in (whole.status, "stuck") and forward is not None
        seen[found, whole.stats["decided by"] if whole.invalid else whole.status] += 1
        if found == "invalid":
            assert verdict is not None and forward.counted.windows > 5
            verify_refutation(path, verdict)
    assert seen["invalid", "counting"] and not seen["stuck", "counting"], seen
    assert seen["valid", "valid"]


@pytest.mark.parametrize("aborted", [-1, 10])
def test_a_state_that_was_never_reached(aborted: int, tmp_path: Path) -> None:
    """Nor by who aborted."""
    path, seen = tmp_path / "trace.jsonl", Counter[str]()
    for seed in range(examples(15)):
        draw = random.Random(seed)
        skewed = frozenset({draw.randrange(350, 390)} if seed % 4 else ())
        initial: Store = {f"d{i}": "unset" if seed % 2 else i < 2 for i in range(3)}
        written(path, draw, 400, initial, partial(on_call, skewed), aborted)
        for level in map(find_level, ("ser", "strong-session-ser", "sser")):
            expected = check(read_trace(path), level, window=0).status
            found, verdict, *_ = goes_by(path, level, size=6_000, tail=10, kept=2)
            assert found in (expected, "stuck")
            seen[f"{found} for {expected}"] += 1
            if found == "invalid":
                assert verdict is not None
                verify_refutation(path, verdict)
    assert seen["invalid for invalid"] > 3 * seen["stuck for invalid"] and seen["valid for valid"], seen


def test_what_a_count_refutes_is_not_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A count may take thousands of readers. As the part of a search they took 20 GB and more than a minute."""
    path = tmp_path / "trace.jsonl"
    written(path, random.Random(3), 1500, {"item": 5}, partial(order, frozenset({1400})))
    searched = list[Solution]()

    def plausible(self: Past, asked: object, found: Solution) -> bool:
        searched.append(found)
        return False

    monkeypatch.setattr(Past, "_plausible", plausible)
    monkeypatch.setattr(past_module, "FEW", 10)
    found, verdict, *_ = goes_by(path, find_level("si"), size=10_000, tail=20, kept=2)
    assert found == "invalid" and verdict is not None and not searched


def test_of_files_that_grow_only_what_was_read_counts_as_read(tmp_path: Path) -> None:
    """Who is on file by now, and was not when the window was asked, may have read what is not there yet."""
    path = tmp_path / "trace.jsonl"
    written(path, random.Random(5), 60, {"item": 5}, partial(order, frozenset()))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    # One of the last who put something is missing, so that two read what stood there before.
    path.write_text("".join(json.dumps(line) + "\n" for line in lines if line.get("txn") != 55))
    whole = Past(lambda stack: small_pieces(path, stack))
    with ExitStack() as stack:
        forward = Forward(
            Blocks(small_pieces(path, stack), smallest=1000), find_level("si"), size=1000, tail=5
        )
        forward.step()
    assert forward.initial is not None
    key = Scalars.of(["item"]).code(0)
    nothing = frozenset[Any]()
    core = Core(nothing, nothing, nothing, np.zeros(0, np.int64), nothing, nothing, nothing, frozenset({key}))
    for read, expected in ((None, True), ((4 * 59,), True), ((4 * 54,), False)):
        asked = replace(core, counted=True, lines=read)
        block = whole._gone_through(asked)
        assert block is not None and len(block.trace) == 59
        verdict = whole.verdict(forward.initial, find_level("si"), block, asked, 0.0)
        assert (verdict is not None) == expected, read
