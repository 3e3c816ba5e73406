"""The formats that histories come in: our own, and those of others. Each is a module with one `FORMAT`.

`recognise` tells what a file or folder is from its content, and `find` knows formats by their names.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boomslang.errors import UsageError, did_you_mean
from boomslang.storage import located
from boomslang.trace.errors import TraceError
from boomslang.trace.files import refuse_strange, shown
from boomslang.trace.formats.format import SAMPLE, Format, Loss, Sample

if TYPE_CHECKING:
    FORMATS: tuple[Format, ...]

__all__ = [
    "FORMATS",
    "NAMES",
    "SAMPLE",
    "Format",
    "Loss",
    "Sample",
    "find",
    "recognise",
    "recognise_sample",
]

_HOMES = {
    "jsonl": "jsonl.FORMAT",
    "arrow": "arrow.FORMAT",
    "parquet": "parquet.FORMAT",
    "viper": "viper.FORMAT",
    "cobra": "cobra.FORMAT",
    "dbcop-bincode": "dbcop_bincode.FORMAT",
    "dbcop-bincode-committed": "dbcop_bincode.COMMITTED",
    "jepsen-edn": "jepsen_edn.FORMAT",
    "jepsen-json": "jepsen_json.FORMAT",
    "timekiller": "timekiller.FORMAT",
    "dbcop-json": "dbcop_json.FORMAT",
    "dbcop-hist": "dbcop_hist.FORMAT",
    "text": "text.FORMAT",
    "awdit": "awdit.FORMAT",
}
"""Format -> where it is, in the order in which they are tried. Each is loaded when it is."""
NAMES = tuple(_HOMES)


def _load(name: str) -> Format:
    module, constant = _HOMES[name].split(".")
    format: Format = getattr(import_module(f"{__name__}.{module}"), constant)
    return format


def __getattr__(name: str) -> Any:
    if name != "FORMATS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["FORMATS"] = found = tuple(map(_load, NAMES))
    return found


def find(name: str) -> Format:
    """The format of this name."""
    wanted = name.strip().lower()
    if wanted in _HOMES:
        return _load(wanted)
    raise UsageError(
        f"unknown format {name!r}{did_you_mean(wanted, NAMES)}; known formats: {', '.join(NAMES)}"
    )


def recognise(path: str | os.PathLike[str]) -> Format:
    """The format of a file or folder, by its content."""
    return recognise_sample(Sample.of(located(path)))


def recognise_sample(sample: Sample) -> Format:
    """The format of what starts so."""
    from boomslang.trace.formats.jsonl import is_called_so

    refuse_strange(sample.head, shown(sample.path))
    for format in map(_load, NAMES):
        if format.recognise(sample):
            return format
    if is_called_so(sample.path) or not (sample.is_folder or sample.head.strip()):
        return _load("jsonl")  # its errors say more than ours here
    raise _unrecognised(sample)


def _unrecognised(sample: Sample) -> TraceError:
    tried = [f for f in map(_load, NAMES) if f.sign and (f.folder == sample.is_folder or f.name == "jsonl")]
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
