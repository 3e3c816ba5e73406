"""Parquet files: our own trace as columns, for keeping and for other people's tools.

Smaller than Arrow files, and still several times faster to load than JSON Lines. What the file holds is described in
`columnar`; here each row has a piece of every column, so that no page of the file grows beyond what Parquet likes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from boomslang.trace.errors import TraceError
from boomslang.trace.files import read_bytes, shown
from boomslang.trace.formats.columnar import FIX, arrow, damaged, from_columns, to_table
from boomslang.trace.formats.format import Format, Loss, Sample
from boomslang.trace.model import Trace

MAGIC = b"PAR1"
PIECE = 1 << 20
ENTRY = 8
"""Bytes of memory for each entry of a column, about."""
DEEPEST = 32


def recognise(sample: Sample) -> bool:
    return sample.head.startswith(MAGIC)


def read(path: Path, check: Callable[[], None]) -> Trace:
    pa, parquet = arrow(), _parquet()
    with damaged(shown(path), "Parquet"):
        data = read_bytes(path, check)
        _check_size(data, shown(path))
        file = parquet.ParquetFile(pa.py_buffer(data), pre_buffer=False)
        schema = file.schema_arrow

        def column(name: str) -> Iterator[Any]:
            # A name with a dot would select parts of a column; `from_columns` knows all names, and none has one.
            for batch in file.iter_batches(batch_size=1, columns=[name], use_threads=False):
                yield batch.column(0)

        return from_columns(schema, column, shown(path), check, _lengths(file.metadata))


def _parquet() -> Any:
    import pyarrow.parquet

    return pyarrow.parquet


def _lengths(metadata: Any) -> dict[str, int]:
    """Of each column, how many entries all its pieces have at most: a piece without any counts as one."""
    found: dict[str, int] = {}
    for group in range(metadata.num_row_groups):
        row = metadata.row_group(group)
        for number in range(row.num_columns):
            piece = row.column(number)
            name = piece.path_in_schema.partition(".")[0]
            found[name] = found.get(name, 0) + piece.num_values
    return found


def _check_size(data: bytes, name: str) -> None:
    """A few bytes may stand for billions of equal numbers: more than the machine can hold is not read at all."""
    held = entries(data)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if held * ENTRY > memory:
        raise TraceError(
            f"found columns with {held:,} entries in all; expected no more than fit into this machine's memory "
            f"({memory / 2**30:,.0f} GB); {FIX}, or use a larger machine",
            name,
        )


def entries(data: bytes) -> int:
    """How many entries the columns of a Parquet file have, by its footer. (The library would tell too, but ends the
    process if the footer is damaged.)"""
    size = int.from_bytes(data[-8:-4], "little")
    if data[-4:] != MAGIC or size > len(data) - 12:
        raise ValueError("no footer")
    footer = _Compact(data[-8 - size : -8]).struct()
    try:
        return sum(max(0, chunk[3][5]) for group in footer[4] for chunk in group[1])
    except (KeyError, TypeError, IndexError):
        raise ValueError("the footer does not say how large the columns are") from None


class _Compact:
    """Structures in Thrift's compact protocol, as {number of the field: value}."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        if self.at >= len(self.data):
            raise ValueError("the footer ends early")
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise ValueError("a number in the footer is too long")

    def signed(self) -> int:
        value = self.number()
        return value >> 1 ^ -(value & 1)

    def struct(self, depth: int = 0) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.signed()
            kind = head & 15
            fields[number] = kind == 1 if kind in (1, 2) else self.value(kind, depth)
        return fields

    def value(self, kind: int, depth: int) -> Any:
        if depth > DEEPEST:
            raise ValueError("the footer is nested too deeply")
        if kind in (1, 2, 3):
            return self.byte()
        if kind in (4, 5, 6):
            return self.signed()
        if kind in (7, 8):
            size = 8 if kind == 7 else self.number()
            self.at += size
            return None
        if kind in (9, 10):
            head = self.byte()
            count = self.number() if head >> 4 == 15 else head >> 4
            if count > len(self.data):
                raise ValueError("a list in the footer is too long")
            return [self.value(head & 15, depth + 1) for _ in range(count)]
        if kind == 12:
            return self.struct(depth + 1)
        raise ValueError(f"the footer has the unexpected type {kind}")


def losses(trace: Trace) -> list[Loss]:
    return []


def write(trace: Trace, path: Path) -> None:
    arrow()
    # Without dictionaries: columns of numbers that count up, or stay the same, are half as long without them, and are
    # read in half the time. A group for each row, so that no array grows, and is copied, while it is read.
    _parquet().write_table(
        to_table(trace, PIECE),
        str(path),
        compression="zstd",
        use_dictionary=False,
        write_statistics=False,
        row_group_size=1,
    )


FORMAT = Format(
    name="parquet",
    title="our columns, as a Parquet file",
    recognise=recognise,
    read=read,
    losses=losses,
    write=write,
    sign="PAR1 at its start",
)
