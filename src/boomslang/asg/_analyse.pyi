from typing import Any

import numpy as np
from numpy.typing import NDArray

def extract(
    keys: int,
    txn_ops: NDArray[np.int64],
    txn_outcome: NDArray[np.uint8],
    op_kind: NDArray[np.uint8],
    op_flags: NDArray[np.uint8],
    op_key: NDArray[np.int32],
    op_value: NDArray[np.int32],
    op_range: NDArray[np.int32],
    range_lo: NDArray[np.int32],
    range_hi: NDArray[np.int32],
    range_items: NDArray[np.int64],
    item_key: NDArray[np.int32],
    item_value: NDArray[np.int32],
    key_rank: NDArray[np.int64],
    key_type: NDArray[np.uint8],
    init: NDArray[np.int32],
    own_writes: int,
    seconds: float,
    megabytes: float,
    jobs: int = 1,
) -> dict[str, Any]: ...
def link(
    outcome: NDArray[np.uint8],
    read_start: NDArray[np.int64],
    read_key: NDArray[np.int32],
    read_value: NDArray[np.int32],
    key_start: NDArray[np.int64],
    write_txn: NDArray[np.int32],
    write_value: NDArray[np.int32],
    init: NDArray[np.int32],
    list_of: NDArray[np.int32],
    list_length: NDArray[np.int32],
    list_key: NDArray[np.int32],
    list_start: NDArray[np.int64],
    list_txn: NDArray[np.int32],
    seconds: float,
    megabytes: float,
    jobs: int = 1,
) -> dict[str, Any]: ...
