"""While one session is waited for, window after window takes nothing: none of that costs what was kept before it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from boomslang import check, read_trace
from boomslang.levels import find_level
from boomslang.stream.follow import GrowingFiles
from boomslang.stream.forward import Forward
from boomslang.stream.how_far import LEAST
from boomslang.stream.taken import Taken

KEYS = 12
TAIL = 40
IDLE = 0.05
KEPT = LEAST + 2


class Recorder:
    """Sessions a, b and c, each with its file, at one clock."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.now = self.values = 0

    def tell(self, session: str, op: str, **more: Any) -> None:
        self.now += 10
        with (self.folder / f"{session}.jsonl").open("a") as file:
            print(json.dumps({"op": op, "invoke": self.now, "return": self.now + 5, **more}), file=file)

    def transaction(self, session: str, *operations: tuple[str, str, int]) -> None:
        self.tell(session, "begin")
        for op, key, value in operations:
            self.tell(session, op, key=key, value=value)
        self.tell(session, "commit")

    def fill(self, many: int) -> None:
        """Transactions of a and b that nobody cares for."""
        for n in range(many):
            self.values += 1
            self.transaction("ab"[n % 2], ("put", f"other {self.values % 7}", self.values))


@pytest.mark.parametrize("level", ["si", "ser", "prefix"])
def test_what_was_left_before_the_wait_can_still_be_decided_otherwise(tmp_path: Path, level: str) -> None:
    """Of each key two who overlap are the last writers. Then c begins, and says no more. Window after window is asked
    meanwhile. Only when nobody waits for c any more it counts that others have read what the one wrote, or the other:
    in half of the cases another than the order said that was taken."""
    folder = tmp_path / "t"
    recorder = Recorder(folder)
    taken: list[Taken] = []
    for key in range(KEYS):
        for op in ("begin", "put", "commit"):
            for session, value in (("a", 1000 + key), ("b", 2000 + key)):
                recorder.tell(session, op, **({"key": f"k{key}", "value": value} if op == "put" else {}))
    recorder.fill(3 * TAIL)
    recorder.transaction("c")
    files = GrowingFiles(folder, idle=1000.0)  # nobody is idle yet, however slow the machine
    forward = Forward(files, find_level(level), take=taken.append, tail=TAIL, kept=KEPT)
    assert forward.step() is None
    assert forward.counted.transactions > 2 * KEYS

    recorder.tell("c", "begin")
    for key in range(KEYS):
        recorder.transaction("a", ("get", f"k{key}", (1000, 2000)[key % 2] + key))
    for _ in range(3 * KEPT):
        recorder.fill(2)
        assert forward.step() is None
    held = forward.counted.held
    assert held > 2 * KEPT, "c is waited for"

    files.patience = IDLE
    time.sleep(2 * IDLE)
    recorder.fill(4 * TAIL)
    files.look()
    assert forward.step() is None
    assert files.idle == ["c"] and forward.counted.swaps + forward.counted.joins > 0
    files.end()
    while not forward.done:
        assert forward.step() is None
    forward.finish()
    assert check(read_trace(folder), level).status == "valid"
    assert sum(len(part.place) for part in taken) == find_level(level).points * forward.counted.transactions
    # Only what is there at the end may be less than is worth a window.
    assert all(len(part.place) >= find_level(level).points * TAIL // LEAST for part in taken[:-1])
