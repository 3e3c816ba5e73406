"""Parquet files: our own trace as columns, for keeping and for other people's tools.

Smaller than Arrow files, and still faster to load than JSON Lines. What the file holds is described in `columnar`: a
table in rows, which any tool that knows Parquet can read column by column. Earlier versions wrote it in lists, which is
still read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from boomslang.trace.errors import TraceError
from boomslang.trace.files import read_bytes, shown
from boomslang.trace.formats.columnar import (
    FIX,
    LENGTHS,
    NUMBERS,
    TABLES,
    arrow,
    damaged,
    from_columns,
    from_rows,
    lengths_of,
    to_rows,
)
from boomslang.trace.formats.format import Format, Loss, Sample
from boomslang.trace.model import Trace

MAGIC = b"PAR1"
ROWS = 1 << 18
"""Of a group: what is decoded of a column stays in the cache until it is copied to its place."""
FEW_DIFFERENT = frozenset(
    ("txn_session", "txn_file", "txn_clock", "txn_ctx", "op_range", "op_ctx", "op_error", "op_where")
)
"""Columns of numbers that are often the same, or all -1. Those of one byte are, too."""
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
        if LENGTHS in (schema.metadata or {}):
            groups = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]

            def part(group: int, names: list[str]) -> Any:
                return file.read_row_group(group, columns=names, use_threads=False)

            return from_rows(schema, part, groups, shown(path), check)

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
    held = sum(_entries_and_largest_group(data))
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
    return _entries_and_largest_group(data)[0]


def _entries_and_largest_group(data: bytes) -> tuple[int, int]:
    """And how many the largest group of rows has, nulls included: it is decoded as a whole."""
    size = int.from_bytes(data[-8:-4], "little")
    if data[-4:] != MAGIC or size > len(data) - 12:
        raise ValueError("no footer")
    footer = _Compact(data[-8 - size : -8]).struct()
    try:
        held = [sum(max(0, chunk[3][5]) for chunk in group[1]) for group in footer[4]]
        metadata = {pair[1]: pair[2] for pair in footer.get(5, ()) if 2 in pair}
        if LENGTHS in metadata:  # all others are nulls
            return sum(lengths_of(metadata).values()), max(held, default=0)
        return sum(held), 0
    except (KeyError, TypeError, IndexError):
        raise ValueError("the footer does not say how large the columns are") from None


class _Compact:
    """Structures in Thrift's compact protocol, as {number of the field: value}."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        at = self.at
        if at >= len(self.data):
            raise ValueError("the footer ends early")
        self.at = at + 1
        return self.data[at]

    def number(self) -> int:
        value = self.byte()
        if value < 128:
            return value
        value, shift = value & 127, 7
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
            if 4 <= kind <= 6:  # most are numbers
                fields[number] = self.signed()
            else:
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
            return self.data[self.at - size : self.at]
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
    # The bytes of numbers that count up, or are close to each other, are packed to two thirds when those of one place
    # stand together, and are read faster for it. Dictionaries only where they are short.
    table = to_rows(trace)
    few = {name for name, of in NUMBERS.items() if name in FEW_DIFFERENT or np.dtype(of).itemsize == 1}
    few |= {f"{name}_type" for name in TABLES}
    _parquet().write_table(
        table,
        str(path),
        compression="zstd",
        use_dictionary=[name for name in table.schema.names if name in few],
        column_encoding={
            name: "BYTE_STREAM_SPLIT" for name in table.schema.names if name in NUMBERS and name not in few
        },
        write_statistics=False,
        row_group_size=ROWS,
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
