"""The native trace reader; see reader.py for how it is driven."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

class Reader:
    """Our own format. What was read may be understood some calls later: so may a mistake in it be told."""

    def __init__(self, jobs: int = 1, block: int = 1 << 18, shapes: bool = True) -> None:
        """With so many threads, the caller's included. How large a block is, and whether the shapes of lines are
        predicted, changes nothing but the speed."""
    def begin_file(self, name: str, session: str | None, first_line: int = 1) -> None:
        """All that follows stands in this file; operations that name no session belong to `session`."""
    def read(self, descriptor: int) -> bool:
        """Read one block. False at the end of the file."""
    def read_on(self, descriptor: int) -> bool:
        """Read blocks until another thread says `stop`, or the file ends: False."""
    def stop(self) -> None: ...
    def feed(self, data: bytes) -> None:
        """Take these bytes."""
    def borrow(self, data: bytes) -> None:
        """The same, without a copy: the caller keeps them until `settle`."""
    def take(self, parsed: ParsedLines) -> None:
        """The same of a text that is parsed already; a second time it is parsed anew. The caller keeps it until
        `settle`."""
    def end_file(self) -> None:
        """There is no more in this file."""
    def settle(self) -> None:
        """Understand all that was read so far."""
    def files(self) -> list[tuple[bool, bool]]:
        """Of each file that has ended: was there a whole record in it, and part of one at its end? After `settle`."""
    def start_midway(self) -> None:
        """The lines start in the middle of a trace: what belongs to transactions that began before is put aside."""
    def strays(self) -> list[tuple[int, int]]:
        """What was put aside: number of the file, and line. After `settle`."""
    def loads(self) -> list[tuple[int, int, int]]:
        """Transactions that load the initial state: number of the file, lines of begin and end (0: it has none). After
        `settle`."""
    def initial_by(self) -> list[int]:
        """Of each initial value the number of the load that gave it; -1: a header. After `settle`."""
    def goes_on(self, load: int) -> None:
        """That this load has no end is no mistake: more of it will come, in other lines."""
    def finish_step(self) -> bool:
        """After the last file: call until it says False."""
    def columns(self) -> dict[str, Any]:
        """The columns of `Trace`. Tables are triples (type, offset, data). Only once."""

class ParsedLines:
    """The whole lines of a text, parsed."""

    @property
    def lines(self) -> int:
        """How many the text has; -1: the last one has no end, or there is a mistake, so they were not counted."""
    @property
    def text(self) -> bytes: ...

class Ahead:
    """Parses lines before it is known what stands before them."""

    def __init__(self, block: int = 1 << 18) -> None: ...
    def parse(self, text: bytes) -> ParsedLines: ...

class FormatReader:
    """Others' formats, into the same columns."""

    def __init__(self, format: str, option: str = "") -> None: ...
    def begin_file(self, name: str, session: str | None) -> None:
        """All that follows stands in this file; all of it belongs to `session`, if there is one."""
    def read(self, descriptor: int) -> bool:
        """Read one block. False at the end of the file."""
    def feed(self, data: bytes) -> None:
        """Take these bytes."""
    def step(self) -> bool:
        """After the last block of a file: understand about a megabyte. False when the file is done."""
    def finish_step(self) -> bool:
        """After the last file: call until it says False."""
    def columns(self) -> dict[str, Any]:
        """As `Reader.columns`."""

def count_lines(text: bytes) -> int:
    """How many lines; the last one may lack its newline."""

def picked_lines(parts: list[bytes], chosen: NDArray[np.int64]) -> bytes:
    """The lines with these numbers, which grow and count from 0; a line is in one part."""

def whole_lines(rest: bytes, more: bytes) -> tuple[bytes, bytes]:
    """`rest + more` up to its last newline, and what follows it."""

def not_surely_objects(
    offset: NDArray[np.int64], data: NDArray[np.uint8], ids: NDArray[np.int64]
) -> list[int]:
    """Those of the texts with these numbers that are not plainly JSON objects: for others to judge."""

def integers(offset: NDArray[np.int64], data: NDArray[np.uint8], digits: int) -> NDArray[np.int64] | None:
    """The numbers that these texts are, 0 for those longer than `digits`; None, if one is not an integer as one writes
    it."""

def alike(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places of the numbers that are there more than once, in their order."""
