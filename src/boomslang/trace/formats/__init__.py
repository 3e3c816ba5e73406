"""The formats that histories come in: our own, and those of others. Each is a module with one `FORMAT`.

`recognise` tells what a file or folder is from its content, and `find` knows formats by their names.
"""

from __future__ import annotations

import os
from pathlib import Path

from boomslang.errors import UsageError
from boomslang.trace.errors import TraceError
from boomslang.trace.files import refuse_strange, shown
from boomslang.trace.formats import (
    arrow,
    awdit,
    cobra,
    dbcop_bincode,
    dbcop_hist,
    dbcop_json,
    jepsen_edn,
    jepsen_json,
    jsonl,
    parquet,
    text,
    timekiller,
    viper,
)
from boomslang.trace.formats.format import SAMPLE, Format, Loss, Sample

__all__ = ["FORMATS", "SAMPLE", "Format", "Loss", "Sample", "find", "recognise", "recognise_sample"]

# In the order in which they are tried.
FORMATS: tuple[Format, ...] = (
    jsonl.FORMAT,
    arrow.FORMAT,
    parquet.FORMAT,
    viper.FORMAT,
    cobra.FORMAT,
    dbcop_bincode.FORMAT,
    dbcop_bincode.COMMITTED,
    jepsen_edn.FORMAT,
    jepsen_json.FORMAT,
    timekiller.FORMAT,
    dbcop_json.FORMAT,
    dbcop_hist.FORMAT,
    text.FORMAT,
    awdit.FORMAT,
)


def find(name: str) -> Format:
    """The format of this name."""
    wanted = name.strip().lower()
    for format in FORMATS:
        if format.name == wanted:
            return format
    known = ", ".join(format.name for format in FORMATS)
    raise UsageError(f"unknown format {name!r}; known formats: {known}")


def recognise(path: str | os.PathLike[str]) -> Format:
    """The format of a file or folder, by its content."""
    return recognise_sample(Sample.of(Path(path)))


def recognise_sample(sample: Sample) -> Format:
    """The format of what starts so."""
    refuse_strange(sample.head, shown(sample.path))
    for format in FORMATS:
        if format.recognise(sample):
            return format
    if jsonl.is_called_so(sample.path) or not (sample.is_folder or sample.head.strip()):
        return jsonl.FORMAT  # its errors say more than ours here
    raise _unrecognised(sample)


def _unrecognised(sample: Sample) -> TraceError:
    tried = [f for f in FORMATS if f.sign and (f.folder == sample.is_folder or f is jsonl.FORMAT)]
    signs = "; ".join(f"{format.name} ({format.sign})" for format in tried)
    if sample.is_folder:
        return TraceError(
            f"found a folder without traces ({_content(sample)}); expected one of {signs}; "
            "fix: give the folder that holds the files, or one of the files",
            shown(sample.path),
        )
    return TraceError(
        f"found a file of no known format, which starts with {_start(sample)}; expected one of {signs}; "
        "fix: check the path; name the format with --format to see what is wrong with it (see docs/formats.md)",
        shown(sample.path),
    )


def _start(sample: Sample) -> str:
    if b"\0" in sample.head[:64]:
        return f"the bytes {sample.head[:16].hex(' ')}"
    line = sample.first_line
    return repr(line if len(line) <= 40 else line[:40] + "...")


def _content(sample: Sample) -> str:
    names = [Path(shown(file)).name for file in sample.files]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "") or "it is empty"
