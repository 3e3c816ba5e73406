from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

def solve(
    txns: int,
    points: int,
    helpers: int,
    keys: int,
    state: NDArray[np.uint8],
    read_start: NDArray[np.int64],
    read_key: NDArray[np.int32],
    read_value: NDArray[np.int32],
    read_writer: NDArray[np.int32],
    read_strong: NDArray[np.uint8],
    key_start: NDArray[np.int64],
    write_txn: NDArray[np.int32],
    write_value: NDArray[np.int32],
    init: NDArray[np.int32],
    edge_from: NDArray[np.int32],
    edge_to: NDArray[np.int32],
    edge_path: NDArray[np.uint8],
    hint_next: NDArray[np.int32],
    priority: NDArray[np.int64],
    read_step: NDArray[np.int32],
    clause_start: NDArray[np.int64],
    clause_lits: NDArray[np.int32],
    overlap: bool,
    path: tuple[bool, int, bool] | None,
    seconds: float,
    megabytes: float,
    hint_conflicts: int,
    max_conflicts: int,
    saturate: bool,
    progress: Callable[[int, int, int], object] | None,
) -> dict[str, Any]: ...
def forced(
    txns: int,
    keys: int,
    state: NDArray[np.uint8],
    read_start: NDArray[np.int64],
    read_key: NDArray[np.int32],
    read_writer: NDArray[np.int32],
    read_step: NDArray[np.int32],
    key_start: NDArray[np.int64],
    write_txn: NDArray[np.int32],
    edge_from: NDArray[np.int32],
    edge_to: NDArray[np.int32],
    edge_path: NDArray[np.uint8],
    hint_next: NDArray[np.int32],
    path: tuple[int, bool] | None,
    way: int,
    seconds: float,
    megabytes: float,
) -> dict[str, Any]: ...
def resident_megabytes() -> float: ...
