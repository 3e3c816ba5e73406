"""`--keep 10m`: what is checked and old is deleted, so that a soak test runs for days on a bounded disk.

Whole files are deleted, never parts of one, and only a file that its recorder has left: its session has gone on in
another (record/session.py does so every few minutes if it is asked to). It must have been quiet for the stated time,
all of its transactions decided, and none of them in a window that may still be asked again.

What is gone can explain nothing any more, so nothing may be concluded from its absence. Of all that was deleted one
question stays answerable, in memory that does not grow: may somebody have written this value to this key (`Written`)?
A read of such a value is not held against the database (past.py). So *invalid* is as sure as ever, and what only the
deleted part could decide is *unknown*. A mark in the folder keeps everybody else from judging what is left of it.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, PRESENT
from boomslang.record.rules import ROTATED
from boomslang.stream import _live
from boomslang.stream.follow import GrowingFile, GrowingFiles
from boomslang.stream.live import tables
from boomslang.trace.blocks import NOTHING, Blocks, Files, Source
from boomslang.trace.files import DELETED
from boomslang.trace.model import ABSENT, Flag, Kind, Outcome, Trace

if TYPE_CHECKING:
    from boomslang.stream.forward import Forward

LOG_BITS = 29
"""64 MB: a hundred million deleted writes leave one in fifteen pairs that nobody wrote in doubt, and memory is taken as
bits are set."""
BYTES = 16 << 20


class Forgotten:
    """What is known of what was deleted."""

    def __init__(self) -> None:
        self.bytes = self.files = 0
        self._written = _live.Written(LOG_BITS)

    def __bool__(self) -> bool:
        return self.files > 0

    def add(self, trace: Trace) -> None:
        """These transactions are about to be deleted."""
        owner = np.repeat(np.arange(len(trace)), np.diff(trace.txn_ops))
        done = (trace.op_flags & Flag.ERROR == 0) & (trace.txn_outcome[owner] != Outcome.ABORTED)
        wrote = done & np.isin(trace.op_kind, (Kind.PUT, Kind.DELETE, Kind.APPEND))
        value = np.where(trace.op_kind == Kind.DELETE, np.int32(ABSENT), trace.op_value)
        self._written.add(*tables(trace), trace.op_key[wrote].astype(np.int32), value[wrote].astype(np.int32))

    def perhaps_wrote(self, asg: ASG) -> NDArray[np.bool_]:
        """Of each read: may what it saw have been written by one that is deleted?"""
        key = asg.read_key if asg.key_of is None else asg.key_of[asg.read_key]
        lists = asg.trace.op_kind[asg.read_op] == Kind.LIST  # of what all who appended had written
        value = np.where(lists, np.int32(PRESENT), asg.read_value).astype(np.int32)
        return self._written.perhaps(*tables(asg.trace), key.astype(np.int32), value).astype(bool)


class Keeper:
    """Deletes, now and then, what is no longer needed of the files of one watch."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder, self.seconds = folder, seconds
        self.forgotten = Forgotten()
        self._looked = time.monotonic()

    def tidy(self, files: GrowingFiles, forward: Forward) -> None:
        """Deletes what may be deleted now."""
        now = time.monotonic()
        if now - self._looked < min(1.0, self.seconds * ROTATED):
            return
        self._looked = now
        old = [f for f, source in enumerate(files.sources) if _is_left(source, now - self.seconds)]
        if not old:
            return
        needed = forward.needed_files()
        for f in old:
            if f not in needed:
                self._delete(files, f)

    def _delete(self, files: GrowingFiles, f: int) -> None:
        source = cast(GrowingFile, files.sources[f])
        self._remember(source)
        self.forgotten.files += 1
        self.forgotten.bytes += source.size
        _mark(self.folder, self.forgotten)  # before the first is gone
        source.delete()
        files.forget(f)

    def _remember(self, source: GrowingFile) -> None:
        again = GrowingFile(source.path, source.session, 0.0)
        again.ended = True
        blocks = Blocks([cast(Source, again)])
        held: Files = [NOTHING]
        while not blocks.done:
            new = blocks.more(BYTES, held)
            block = blocks.parsed([a + b for a, b in zip(held, new, strict=True)])
            blocks.forget_initial()
            self.forgotten.add(block.trace)
            held = block.going_on()


def _is_left(source: Source, before: float) -> bool:
    """Has its session gone on elsewhere, and is it read and quiet since then?"""
    return (
        isinstance(source, GrowingFile)
        and source.left
        and source.done
        and not source.deleted
        and source.grew <= before
    )


def _mark(folder: Path, forgotten: Forgotten) -> None:
    told = {"deleted by": "boomslang --keep", "files": forgotten.files, "bytes": forgotten.bytes}
    (folder / DELETED).write_text(json.dumps(told) + "\n")
