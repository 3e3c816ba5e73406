"""A trace that goes by in windows of a few lines."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import numpy as np

from boomslang import Trace
from boomslang.certify.certificate import Witness
from boomslang.levels import Level
from boomslang.stream.forward import Forward, NotForward, Stuck, Taken
from boomslang.stream.past import Past
from boomslang.stream.window import place_of
from boomslang.trace.blocks import Blocks, Source, sources_of
from boomslang.verdict import Verdict


class SmallPieces:
    """A source of which a few bytes are read at a time."""

    idle = False

    def __init__(self, source: Source, text: bytes) -> None:
        self.name, self.session = source.name, source.session
        self.text, self.at = text, 0

    def read(self, size: int) -> bytes:
        got = self.text[self.at : self.at + size]
        self.at += len(got)
        return got

    @property
    def done(self) -> bool:
        return self.at >= len(self.text)


def small_pieces(path: Path, stack: ExitStack) -> list[Source]:
    return [SmallPieces(source, source.read(1 << 30)) for source in sources_of(path, stack)]


def goes_by(
    path: Path, level: Level, *, size: int, tail: int, kept: int = 10**6
) -> tuple[str, Verdict | None, Forward | None, list[Taken]]:
    """What becomes of it: valid, invalid, stuck or "no" (it cannot be checked so)."""
    taken: list[Taken] = []
    past = Past(lambda stack: small_pieces(path, stack))
    past.bytes = past.smallest = max(1000, size)
    with ExitStack() as stack:
        blocks = Blocks(small_pieces(path, stack), smallest=size)
        forward = None
        try:
            forward = Forward(blocks, level, take=taken.append, refuted=past, size=size, tail=tail, kept=kept)
            found = forward.run()
        except NotForward:
            return "no", None, forward, taken
        except Stuck:
            return "stuck", None, forward, taken
    return ("valid" if found is None else "invalid"), found, forward, taken


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
