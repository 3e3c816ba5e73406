"""A trace that goes by in windows of a few lines."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from boomslang.levels import Level
from boomslang.stream.forward import Forward, NotForward, Stuck, Taken
from boomslang.stream.past import Past
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
