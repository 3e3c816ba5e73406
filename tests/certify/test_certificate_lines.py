"""Certificates in lines: what windows that go forward find is accepted; what was tampered with is not; and on small random
traces they say the same as the replay that has the whole trace in memory."""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz.traces import MIXES, random_trace
from support.commands import command, program
from support.effort import examples
from support.histories import Absent, delete, end, failed, get, history, iterator, put, scan, step, txn
from support.paths import ROOT
from support.small_blocks import small_blocks

from boomslang import Trace, check, read_trace
from boomslang.certify.certificate import Core, Witness, read_certificate
from boomslang.certify.lines.files_read import FilesRead
from boomslang.certify.lines.numbered import Numbered, sort_key
from boomslang.certify.lines.reader import Lines
from boomslang.certify.lines.replay_order import replay_lines
from boomslang.certify.lines.small_trace import small_trace
from boomslang.certify.lines.writer import SOME_VALUE, Writer, refutation
from boomslang.certify.refute import refute
from boomslang.certify.replay import ReplayError, replay
from boomslang.errors import UsageError
from boomslang.levels import LEVELS, Level, find_level
from boomslang.levels.needs import lacks
from boomslang.stream.forward import Forward, Taken
from boomslang.stream.window import MANY_FILES
from boomslang.trace import ABSENT, Initial, Kind, Outcome, write_trace
from boomslang.trace.blocks import Blocks, sources_of
from boomslang.windows.worth import fits_windows

sys.path.insert(0, str(ROOT / "benchmarks"))
from simulate import History, generate

SERVED = [level for level in LEVELS if fits_windows(level)]


# --- making them


def checked(trace: Path, level: Level, certificate: Path, *, size: int, tail: int) -> int:
    """What windows that go forward write down; how many there were."""
    with ExitStack() as stack:
        blocks = Blocks(sources_of(trace, stack))
        writer = stack.enter_context(
            Writer(certificate, level.name, level.points, lambda f: blocks.sources[f].name)
        )

        def take(part: Taken) -> None:
            writer.take(part.place % MANY_FILES, part.place // MANY_FILES, part.commit, part.initial)

        forward = Forward(blocks, level, take=take, size=size, tail=tail)
        assert forward.run() is None
        writer.finish(forward.counted.operations)
        return forward.counted.windows


def verified(trace: Path, certificate: Path, size: int = 8 << 20) -> None:
    """Raises what is wrong with it."""
    with certificate.open("rb") as file, FilesRead(trace, size=size) as files:
        replay_lines(trace, Lines(certificate, file), files)


def fault(trace: Path, certificate: Path, size: int = 8 << 20) -> str:
    try:
        verified(trace, certificate, size)
    except ReplayError as error:
        return str(error)
    return ""


def in_lines(trace: Trace, witness: Witness, path: Path) -> None:
    """A witness of version 1 as one of version 2. The trace has the lines of its files."""
    order, points = witness.order, witness.points
    txn = order // points
    keys, values = trace.keys.codes(), trace.values.codes()
    initial = [
        (keys[k], None if v == ABSENT else values[v] if v < len(values) else SOME_VALUE)
        for k, v in witness.initial
    ]
    inside = np.unique(txn)
    with Writer(path, witness.level, points, lambda f: trace.files[f]) as writer:
        writer.take(
            trace.txn_file[txn].astype(np.int64),
            trace.txn_begin_line[txn].astype(np.int64),
            order % 2 == 1 if points == 2 else None,
            initial,
        )
        writer.finish(int(np.diff(trace.txn_ops)[inside].sum()))


def edited(path: Path, *change: Callable[[list[Any]], Iterable[Any]]) -> Path:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for one in change:
        lines = list(one(lines))
    target = path.with_name("edited.jsonl")
    target.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return target


# --- what windows that go forward find


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    made: dict[History, Path] = {}

    def make(**options: Any) -> Path:
        told = History(**{"transactions": 250, "sessions": 5, "keys": 40, "times": True, **options})
        if told not in made:
            made[told] = tmp_path_factory.mktemp("simulated") / ("trace" if told.folder else "trace.jsonl")
            generate(told, made[told])
        return made[told]

    return make


@pytest.mark.parametrize("level", [level.name for level in SERVED])
@pytest.mark.parametrize("folder", [False, True])
def test_orders_of_windows_are_accepted(
    simulated: Callable[..., Path], tmp_path: Path, level: str, folder: bool
) -> None:
    wanted = find_level(level)
    trace = simulated(level="si" if wanted.points == 2 else "ser", folder=folder, unknown=0.02)
    certificate = tmp_path / "proof.jsonl"
    with small_blocks(4_000):
        assert checked(trace, wanted, certificate, size=100_000, tail=30) > 2
        verified(trace, certificate, size=30_000)
    ran = command("verify", trace, certificate)
    assert ran.code == 0, ran
    assert ran.out.startswith("right: ") and "its order explains all" in ran.out


def test_ranges_and_deletes_are_accepted(simulated: Callable[..., Path], tmp_path: Path) -> None:
    trace = simulated(
        level="si", keys=30, values=20, deletes=0.15, scans=0.1, iterators=0.1, span=12
    )
    certificate = tmp_path / "proof.jsonl"
    with small_blocks(4_000):
        checked(trace, find_level("si"), certificate, size=100_000, tail=30)
        verified(trace, certificate, size=30_000)
    assert fault(trace, certificate) == ""


# --- beside the replay that has the whole trace in memory


def on_disk(trace: Trace, folder: Path, draw: random.Random) -> Path | None:
    """The trace as files; None: it has what lines do not speak of."""
    if bool(np.isin(trace.op_kind, (Kind.APPEND, Kind.LIST)).any()):
        return None
    several = len(set(trace.txn_clock.tolist())) > 1 or draw.random() < 0.5
    path = folder / ("trace" if several else "trace.jsonl")
    write_trace(trace, path)
    return path


def orders(trace: Trace, level: Level, draw: random.Random) -> list[Witness]:
    """One that holds, if there is one, and some that were tampered with."""
    found = check(trace, level).witness
    points = level.points
    placed = np.flatnonzero(trace.txn_outcome == Outcome.COMMITTED)
    if found is None:
        order = np.repeat(placed, points) * points
        order[points - 1 :: points] += points - 1
        found = Witness(level.name, points, order)
    claims = [replace(found, level=level.name, read_op=np.zeros(0, np.int64))]
    for _ in range(4):
        order, initial = found.order.copy(), list(found.initial)
        kind = draw.choice(("swap", "near", "near", "drop", "again", "aborted", "initial", "unknown"))
        if kind in ("swap", "near") and len(order) > 1:
            i = draw.randrange(len(order) - 1)
            j = i + 1 if kind == "near" else draw.randrange(len(order))
            order[[i, j]] = order[[j, i]]
        elif kind == "drop" and len(order):
            order = np.delete(order, draw.randrange(len(order)))
        elif kind == "again" and len(order):
            order = np.insert(order, draw.randrange(len(order)), draw.choice(order.tolist()))
        elif kind in ("aborted", "unknown") and len(trace):
            t = draw.randrange(len(trace))
            at = sorted(draw.randrange(len(order) + 1) for _ in range(points))
            order = np.insert(order, at, [t * points + i for i in range(points)])
        elif kind == "initial" and len(trace.keys) and len(trace.values):
            k, v = draw.randrange(len(trace.keys)), draw.randrange(len(trace.values))
            initial = [(key, value) for key, value in initial if key != k] + [(k, v)]
        claims.append(replace(claims[0], order=order, initial=initial))
    return claims


@pytest.mark.parametrize("mix", [name for name in MIXES if not name.startswith("crowd")])
def test_both_replays_agree(tmp_path: Path, mix: str) -> None:
    seen: Counter[str] = Counter()
    for seed in range(examples(30)):
        draw = random.Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        path = on_disk(random_trace(seed, mix), folder, draw)
        if path is None:
            continue
        trace = read_trace(path)
        for level in draw.sample(SERVED, 3):
            if lacks(level, trace):
                continue
            for claim in orders(trace, level, draw):
                try:
                    replay(trace, claim)
                    expected = ""
                except ReplayError as error:
                    expected = str(error)
                certificate = folder / "proof.jsonl"
                in_lines(trace, claim, certificate)
                with small_blocks(draw.choice((60, 300, 5000))):
                    found = fault(path, certificate, size=draw.choice((1, 1000)))
                assert bool(found) == bool(expected), (seed, level.name, found, expected)
                seen["refused" if found else "accepted"] += 1
    assert seen["refused"] > 3 and seen["accepted"] > 3 or "list" in mix, seen
