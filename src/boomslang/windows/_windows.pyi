from typing import Any

import numpy as np
from numpy.typing import NDArray

class Windows:
    def __init__(
        self,
        txns: int,
        points: int,
        keys: int,
        values: int,
        overlap: bool,
        state: NDArray[np.uint8],
        read_start: NDArray[np.int64],
        read_key: NDArray[np.int32],
        read_value: NDArray[np.int32],
        read_writer: NDArray[np.int32],
        key_start: NDArray[np.int64],
        write_txn: NDArray[np.int32],
        write_value: NDArray[np.int32],
        init: NDArray[np.int32],
        edge_from: NDArray[np.int32],
        edge_to: NDArray[np.int32],
        begin: NDArray[np.int64],
        end: NDArray[np.int64],
        clock: NDArray[np.int32],
        returned: NDArray[np.uint8],
        real_time: bool,
        in_time: bool,
        sequence: NDArray[np.int32],
        after: NDArray[np.int32],
        uncertain: NDArray[np.uint8],
        jobs: int,
    ) -> None: ...
    def hint(self, next: NDArray[np.int32]) -> None: ...
    def cut(
        self, size: int, margin: int, stop: int, jobs: int, conflicts: int, seconds: float, megabytes: float
    ) -> dict[str, Any]: ...
    def solve(
        self, stop: int, jobs: int, conflicts: int, seconds: float, megabytes: float
    ) -> dict[str, Any]: ...
    def walk(
        self,
        margin: int,
        shortest: int,
        jobs: int,
        conflicts: int,
        seconds: float,
        megabytes: float,
    ) -> dict[str, Any]: ...
    def explains(self, order: list[int], initial: list[tuple[int, int]], jobs: int) -> bool: ...
    def join(self, failed: list[int]) -> bool: ...
    def stats(self) -> dict[str, int]: ...

def in_turn(
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    state: NDArray[np.uint8],
    points: int,
    jobs: int = 1,
    least: int = 100_000,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]: ...
