"""Where files that a command writes may go, and that they are never half there.

A place is looked at before the work begins, for nobody wants to learn after an hour that the folder does not exist,
or that the trace was written over. A file is written under another name and moved to its place when it is whole; an
object of a cloud's storage (see boomslang.storage) appears when it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from boomslang.storage import is_address


def obstacle(path: Path, trace: Path | None) -> str:
    """Why a file cannot be written there, beside that trace; nothing if it can."""
    if is_address(path):
        return "it is the trace" if path == trace else str(cast(Any, path).obstacle())
    if trace is not None and is_address(trace):
        trace = None
    folder = path.parent
    if path.is_dir():
        return "it is a folder"
    if not folder.is_dir():
        return f"there is no folder {folder}"
    if trace is not None and path.exists() and trace.exists() and path.samefile(trace):
        return "it is the trace"
    if trace is not None and trace.is_dir() and folder.samefile(trace):
        return "the folder of the trace holds its sessions and nothing else"
    if not os.access(path if path.exists() else folder, os.W_OK):
        return "no permission"
    return ""


def write_whole(path: Path, pieces: Iterable[str]) -> None:
    """All or nothing: a file that is there is a whole one."""
    if is_address(path):
        cast(Any, path).write_pieces(pieces)
        return
    if path.exists() and not path.is_file():  # a pipe or a device: nothing to move over
        with path.open("w", encoding="utf-8") as file:
            file.writelines(pieces)
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
