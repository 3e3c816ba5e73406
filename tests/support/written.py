"""A trace as a file of a format of ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from boomslang.trace import Trace, write_trace
from boomslang.trace.formats import find


def written(trace: Trace, folder: Path, format: str) -> Path:
    """As `jsonl`, `arrow` or `parquet`; the last two need pyarrow."""
    target = folder / f"t.{format}"
    if format == "jsonl":
        write_trace(trace, target)
    else:
        pytest.importorskip("pyarrow")
        writer = find(format).write
        assert writer is not None
        writer(trace, target)
    return target
