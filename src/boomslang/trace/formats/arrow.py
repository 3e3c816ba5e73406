"""Arrow files (the IPC file format, `.arrow`): our own trace as columns, the fastest to load.

The file is mapped into memory, and the trace's columns are views of it: nothing is parsed, and next to nothing is
copied. What the file holds is described in `columnar`. A file must not be changed in place while it is in use;
`boomslang convert` never does that.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from boomslang.storage import is_address
from boomslang.trace.files import opened, read_bytes, shown
from boomslang.trace.formats.columnar import arrow, damaged, from_columns, to_table
from boomslang.trace.formats.format import Format, Loss, Sample
from boomslang.trace.model import Trace
from boomslang.trace.packed import START, packing_of

MAGIC = b"ARROW1"


def recognise(sample: Sample) -> bool:
    return sample.head.startswith(MAGIC)


def read(path: Path, check: Callable[[], None]) -> Trace:
    pa = arrow()
    with damaged(shown(path), "Arrow"):
        if not is_address(path) and path.is_file() and not _packed(path):
            source = pa.memory_map(str(path))
        else:
            source = pa.py_buffer(read_bytes(path, check))
        table = pa.ipc.open_file(source).read_all()
        return from_columns(table.schema, lambda name: table.column(name).chunks, shown(path), check)


def _packed(path: Path) -> bool:
    with opened(path) as file:
        return packing_of(file.read(START)) is not None


def losses(trace: Trace) -> list[Loss]:
    return []


def write(trace: Trace, path: Path) -> None:
    pa = arrow()
    table = to_table(trace)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


FORMAT = Format(
    name="arrow",
    title="our columns, as an Arrow file",
    recognise=recognise,
    read=read,
    losses=losses,
    write=write,
    sign="ARROW1 at its start",
)
