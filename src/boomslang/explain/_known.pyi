from typing import Any

import numpy as np
from numpy.typing import NDArray

def known_violations(
    txns: int,
    points: int,
    nodes: int,
    state: NDArray[np.uint8],
    read_start: NDArray[np.int64],
    read_key: NDArray[np.int32],
    read_writer: NDArray[np.int32],
    read_step: NDArray[np.int32],
    read_predicate: NDArray[np.uint8],
    read_strong: NDArray[np.uint8],
    key_start: NDArray[np.int64],
    write_txn: NDArray[np.int32],
    edge_from: NDArray[np.int32],
    edge_to: NDArray[np.int32],
    edge_read: NDArray[np.int32],
    edge_kind: NDArray[np.uint8],
    edge_path: NDArray[np.uint8],
    hint: NDArray[np.int64],
    overlap: bool,
    once: tuple[bool, int, bool] | None,
    most: int,
    seconds: float,
    megabytes: float,
) -> dict[str, Any]: ...
