"""A task of a check in stretches never needs more memory than it says: what its process held at most is measured."""

from __future__ import annotations

from pathlib import Path

import pytest
from simulate import History, generate
from support.work import Measured

from boomslang.levels import find_level
from boomslang.stretches.check import check_in_stretches
from boomslang.workers.processes import Processes
from boomslang.workers.ray_cluster import MARGIN

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="only Linux tells the peak of a process by itself"
)
LONG = History(transactions=60_000, sessions=16, keys=5000, operations=8, times=True, level="ser")


@pytest.mark.full
def test_tasks_keep_to_their_memory(tmp_path: Path) -> None:
    """A trace of 50 MB, of which one task would need 500 MB. What Ray is asked for is `MARGIN` times what is said."""
    path = tmp_path / "trace.jsonl"
    generate(LONG, path)
    for megabytes in (150, 300):
        with Processes(2, preload="boomslang.stretches.check") as processes:
            processes.megabytes = megabytes
            workers = Measured(processes)
            found, cost = check_in_stretches(path, find_level("ser"), workers)
        assert found.status == "valid" and cost.seams >= 1, (found.reason, cost)
        assert set(workers.peak) >= {"survey", "seam", "stretch"}
        assert max(workers.peak.values()) <= megabytes * MARGIN, (megabytes, workers.peak)


@pytest.mark.full
def test_a_task_gives_up_rather_than_take_more(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    generate(LONG, path)
    with Processes(2, preload="boomslang.stretches.check") as processes:
        processes.megabytes = 60  # the program alone takes more
        workers = Measured(processes)
        found, _ = check_in_stretches(path, find_level("ser"), workers)
    assert found.status == "unknown" and "memory limit" in found.reason
