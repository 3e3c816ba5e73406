"""All that was recorded so far, as one trace: a consistent cut through files that grow while they are read.

Files are read one after the other, so of two sessions the one that is read later tells of later things: it may have
read what the other wrote after its file was closed, and that would look like a value from nowhere. But a recorder
puts a write into its file before the commit is sent, so whoever reads a value finds its writer's line on the disk.
Hence two looks: what had been read *before* counts in full, and of what the files hold *now*, which is more, the
writes count as possible, and the rest does not: those transactions are of unknown outcome.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from boomslang.trace.blocks import Blocks
from boomslang.trace.model import Outcome, Trace
from boomslang.trace.reader import read_trace


def recorded_so_far(path: Path, blocks: Blocks, *, memory: float | None = None) -> Trace:
    """The trace of what `blocks` have read, as the files at `path` tell it now."""
    before = {source.name: blocks.lines_read(f) for f, source in enumerate(blocks.sources)}
    trace = read_trace(path, memory=None if memory is None else int(memory))
    upto = np.array([before.get(name, 0) for name in trace.files], np.int64)
    later = trace.txn_end_line > upto[trace.txn_file]
    return replace(trace, txn_outcome=np.where(later, np.uint8(Outcome.UNKNOWN), trace.txn_outcome))
