"""Times that are kept as 32 bits after their block's read like the 64-bit ones that they stand for."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boomslang.trace import read_trace, write_trace
from boomslang.trace._reader import Reader
from boomslang.trace.close_times import BLOCK, CloseTimes
from boomslang.trace.model import NO_TIME
from boomslang.trace.reader import Limits, finish


def lines(times: list[tuple[int | None, int | None]]) -> str:
    """A transaction for every two operations, which have these times."""
    out = []
    for n, (invoke, returned) in enumerate(times):
        line: dict[str, Any] = {"session": "s", "txn": n // 2, "op": "put", "key": 1, "value": n}
        line |= {} if invoke is None else {"invoke": invoke}
        line |= {} if returned is None else {"return": returned}
        out += [{"session": "s", "txn": n // 2, "op": "begin"}] if n % 2 == 0 else []
        out += [line]
        out += [{"session": "s", "txn": n // 2, "op": "commit"}] if n % 2 == 1 else []
    return "".join(json.dumps(line) + "\n" for line in out)


def column(times: list[int | None]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array([NO_TIME if t is None else t for t in times], np.int64)


def recorded(count: int, step: int, rng: random.Random) -> list[tuple[int | None, int | None]]:
    now, times = rng.choice((0, -(10**15), 10**18)), []
    for _ in range(count):
        invoke = now = now + rng.randint(0, step)
        returned = now = now + rng.randint(0, step)
        times.append((rng.choice((invoke, invoke, None)), rng.choice((returned, returned, None))))
    return times


@pytest.mark.parametrize("count", (2, BLOCK, BLOCK + 2, 5 * BLOCK - 2))
@pytest.mark.parametrize(("step", "close"), ((1_000_000, True), (10**10, False)))
def test_what_is_read_is_what_was_recorded(count: int, step: int, close: bool, tmp_path: Path) -> None:
    rng = random.Random(count + step)
    times = recorded(count, step, rng)
    path = tmp_path / "t.jsonl"
    path.write_text(lines(times))
    trace = read_trace(path)
    for held, wanted in zip((trace.op_invoke, trace.op_return), zip(*times, strict=True), strict=True):
        if count > 2:
            assert isinstance(held, CloseTimes) == close
        if held is None:
            assert set(wanted) == {None}
            continue
        assert np.asarray(held).dtype == np.int64
        assert np.array_equal(np.asarray(held), column(list(wanted)))
    again = tmp_path / "again.jsonl"
    write_trace(trace, again)
    assert [o.invoke for t in read_trace(again).transactions() for o in t.operations] == [a for a, _ in times]


@pytest.mark.parametrize(("step", "close"), ((1_000, True), (10**10, False)))
def test_of_sessions_in_turn_by_several_threads(step: int, close: bool) -> None:
    """Rows move to their transactions, and several threads have rows of one block."""
    rng, each, sessions, rounds = random.Random(step), 100, 3, 500
    now, out = 0, []
    wanted: dict[tuple[int, int], list[int]] = {}
    for n in range(rounds * each * sessions):
        session, txn = n % sessions, n // (each * sessions)
        name = f'"session":"s{session}","txn":{txn}'
        if n % (each * sessions) < sessions:
            out.append(f'{{{name},"op":"begin"}}')
        now += rng.randint(0, step)
        wanted.setdefault((txn, session), []).append(now)
        out.append(f'{{{name},"op":"put","key":1,"value":{n},"invoke":{now}}}')
        if n % (each * sessions) >= (each - 1) * sessions:
            out.append(f'{{{name},"op":"commit"}}')
    text = ("\n".join(out) + "\n").encode()
    for jobs in (1, 2, 3):
        reader = Reader(jobs)
        reader.begin_file("", None)
        reader.feed(text)
        reader.end_file()
        held = finish(reader, Limits()).op_invoke
        assert isinstance(held, CloseTimes) == close
        assert np.array_equal(np.asarray(held), np.concatenate([wanted[name] for name in sorted(wanted)]))


def test_it_reads_like_an_array() -> None:
    rng = np.random.default_rng(7)
    plain = 10**17 + np.sort(rng.integers(0, 2**31, 3 * BLOCK + 17))
    plain[rng.random(len(plain)) < 0.2] = NO_TIME
    base = np.array([b[b != NO_TIME].min() for b in np.split(plain, range(BLOCK, len(plain), BLOCK))])
    after = plain - np.repeat(base, BLOCK)[: len(plain)]
    times = CloseTimes(base, np.where(plain == NO_TIME, 2**32 - 1, after).astype(np.uint32))
    mask, some = rng.random(len(plain)) < 0.5, rng.integers(-len(plain), len(plain), 100)
    for rows in (slice(None), slice(5, 900, 7), slice(-3, None), mask, some, some.tolist(), [], mask & False):
        assert np.array_equal(times[rows], plain[rows]) and times[rows].dtype == np.int64
    for row in (0, 5, BLOCK, -1, np.int64(len(plain) - 1)):
        assert times[row] == plain[row] and isinstance(times[row], np.int64)
    for row in (len(plain), -len(plain) - 1):
        with pytest.raises(IndexError):
            times[row]
    assert len(times) == len(plain) and times.nbytes < 0.6 * plain.nbytes
    assert np.array_equal(times != NO_TIME, plain != NO_TIME) and times.max() == plain.max()
    assert (times - 5).tolist() == (plain - 5).tolist() and np.array_equal(np.unique(times), np.unique(plain))
    assert np.array_equal(np.concatenate([times, times]), np.concatenate([plain, plain]))
    assert np.array_equal(np.asarray(pickle.loads(pickle.dumps(times))), plain)
    with pytest.raises(TypeError):
        times[0] = 1  # type: ignore[index]
