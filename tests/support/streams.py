"""Traces of every kind that can go by, and one that goes by in windows of a few lines."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from fuzz.traces import random_trace
from simulate import History, generate

from boomslang import Trace, read_trace
from boomslang.certify.certificate import Witness
from boomslang.certify.lines.files_read import FilesRead
from boomslang.certify.lines.reader import Lines
from boomslang.certify.lines.replay_order import replay_lines
from boomslang.certify.lines.small_trace import small_trace
from boomslang.certify.lines.writer import Writer, refutation
from boomslang.certify.proved import fault_of_proof
from boomslang.certify.refute import refute
from boomslang.levels import LEVELS, Level
from boomslang.levels.needs import lacks
from boomslang.stream.forward import Forward
from boomslang.stream.no_answer import NotForward, Stuck
from boomslang.stream.past import Past
from boomslang.stream.taken import Taken
from boomslang.stream.window import place_of
from boomslang.trace import write_trace
from boomslang.trace.blocks import Blocks, Source, files_of, sources_of
from boomslang.verdict import Verdict
from boomslang.windows.worth import fits_windows

CUT = [level for level in LEVELS if fits_windows(level)]
"""Levels that windows serve."""
RECORDED = ("one log", "one log with times", "a file a session")
KINDS: dict[str, dict[str, Any]] = {
    "registers": {},
    "values repeat": {"values": 6, "rmw": 0.2, "writes": 0.3},
    "scans and deletes": {"scans": 0.1, "iterators": 0.1, "deletes": 0.1, "writes": 0.3, "span": 5},
    "answers lost": {"unknown": 0.1},
}
"""What simulated clients do and see, besides what is the same for all of them."""


def random_traces(
    mix: str, seeds: Iterable[int], folder: Path
) -> Iterator[tuple[Path, Trace, random.Random]]:
    """Small random traces of a mix, each as a file; those of several clocks, which do not go by, are left out."""
    path = folder / "trace.jsonl"
    for seed in seeds:
        trace = random_trace(seed, mix)
        if len(trace.clocks) > 1:
            continue
        path.unlink(missing_ok=True)
        write_trace(trace, path)
        yield path, read_trace(path), random.Random(seed)


def simulated_traces(
    like: History, promised: str, kind: str, recorded: str, seeds: Iterable[int], folder: Path
) -> Iterator[tuple[Path, Trace, random.Random]]:
    """Lines of several sessions between each other, as clients of a database of that level write them."""
    for seed in seeds:
        history = replace(like, level=promised, times=recorded != "one log", seed=seed + 1, **KINDS[kind])
        history = replace(history, folder=recorded == "a file a session")
        path = folder / (f"trace{seed}" if history.folder else f"trace{seed}.jsonl")
        generate(history, path)
        yield path, read_trace(path), random.Random(seed)


def some_levels(trace: Trace, draw: random.Random, most: int) -> list[Level]:
    """So many of the levels that windows serve and of which the trace tells enough."""
    levels = [level for level in CUT if not lacks(level, trace)]
    return draw.sample(levels, min(most, len(levels)))


def bytes_of(path: Path) -> int:
    """Of a file, or of all files of a folder."""
    return sum(file.stat().st_size for file in ([path] if path.is_file() else path.iterdir()))


class SmallPieces:
    """A source of which a few bytes are read at a time, at first a line."""

    idle = False

    def __init__(self, source: Source, text: bytes) -> None:
        self.name, self.session = source.name, source.session
        self.text, self.at = text, 0

    def read(self, size: int) -> bytes:
        first_line = 0 if self.at else self.text.find(b"\n") + 1
        got = self.text[self.at : self.at + max(size, first_line)]
        self.at += len(got)
        return got

    @property
    def done(self) -> bool:
        return self.at >= len(self.text)


def small_pieces(path: Path, stack: ExitStack) -> list[Source]:
    return [SmallPieces(source, source.read(1 << 30)) for source in sources_of(path, stack)]


class Order(list[Taken]):
    """Parts of an order as they stand in the end, and how that came."""

    def __init__(self) -> None:
        self.said: list[Taken | tuple[int, Any]] = []

    def take(self, part: Taken) -> None:
        self.append(part)
        self.said.append(part)

    def mend(self, first: int, source: Any) -> None:
        self.said.append((first, source))
        for i, part in enumerate(self):
            if first < len(part.place):
                where, came = slice(first, first + len(source)), first + source
                place, commit = part.place.copy(), None if part.commit is None else part.commit.copy()
                place[where] = place[came]
                if commit is not None:
                    commit[where] = commit[came]
                self[i] = replace(part, place=place, commit=commit)
                return
            first -= len(part.place)

    def write_to(self, writer: Writer) -> None:
        for said in self.said:
            if isinstance(said, Taken):
                said.write_to(writer)
            else:
                writer.rearrange(*said)


def goes_by(
    path: Path, level: Level, *, size: int, tail: int, kept: int = 10**6
) -> tuple[str, Verdict | None, Forward | None, Order]:
    """What becomes of it: valid, invalid, stuck or "no" (it cannot be checked so)."""
    taken = Order()
    past = Past(lambda stack: small_pieces(path, stack))
    past.bytes = past.smallest = max(1000, size)
    with ExitStack() as stack:
        blocks = Blocks(small_pieces(path, stack), smallest=size)
        forward = None
        try:
            forward = Forward(
                blocks,
                level,
                take=taken.take,
                mend=taken.mend,
                refuted=past,
                size=size,
                tail=tail,
                kept=kept,
                sweep=0,
            )
            found = forward.run()
        except NotForward:
            return "no", None, forward, taken
        except Stuck:
            return "stuck", None, forward, taken
    return ("valid" if found is None else "invalid"), found, forward, taken


def verify_in_lines(
    path: Path, level: Level, taken: list[Taken], operations: int, *, size: int = 1000
) -> None:
    """What was taken as a certificate, which is replayed. Raises what is wrong with it."""
    certificate = path.with_name("proof.jsonl")
    names = [file.name for file in files_of(path)]
    with Writer(certificate, level.name, level.points, names.__getitem__) as writer:
        if isinstance(taken, Order):
            taken.write_to(writer)
        else:
            for part in taken:
                part.write_to(writer)
        writer.finish(operations)
    verify_lines(path, certificate, size=size)


def verify_lines(path: Path, certificate: Path, *, size: int = 1000) -> None:
    """Raises what is wrong with a certificate in lines."""
    with certificate.open("rb") as file, FilesRead(path, size=size) as files:
        replay_lines(path, Lines(certificate, file), files)


def whole_witness(trace: Trace, level: Level, taken: list[Taken]) -> Witness:
    """The parts of the order as one."""
    number = {(int(trace.txn_file[t]), int(trace.txn_begin_line[t])): t for t in range(len(trace))}
    order, initial = [], []
    keys = {trace.keys.code(i): i for i in range(len(trace.keys))}
    values = {trace.values.code(i): i for i in range(len(trace.values))}
    for part in taken:
        for i, place in enumerate(part.place.tolist()):
            t = number[place_of(place)]
            order.append(t if part.commit is None else 2 * t + int(part.commit[i]))
        initial += [(keys[k], values[v]) for k, v in part.initial if v is not None]
    return Witness(level.name, level.points, np.array(order, np.int64), initial)


def verify_refutation(path: Path, verdict: Verdict, *, size: int = 1000) -> None:
    """The core of what is invalid as a certificate in lines: Z3 must refute it, or its proof must hold."""
    told = verdict.counterexample
    assert told is not None
    certificate = path.with_name("proof.jsonl")
    certificate.write_text("".join(refutation(verdict.trace, told.core)))
    with certificate.open("rb") as file:
        small = small_trace(path, Lines(certificate, file), size=size)
    if small.core.proof is not None:
        assert fault_of_proof(small.trace, told.core.level, small.core.proof) == ""
    else:
        assert refute(small.trace, small.core)
