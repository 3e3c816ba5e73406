"""Distinct values, against NumPy's own way of finding them; and that a check does not load what NumPy's would."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from boomslang.distinct import among, distinct, union

EXAMPLE = Path(__file__).parents[2] / "examples" / "on-call.jsonl"
COLUMNS = [
    np.array(values, kind)
    for kind in (np.int32, np.int64, np.uint8)
    for values in ([], [3], [3, 3], [2, 1, 2], [5, 4, 3, 3, 0], [[1, 2], [2, 0]])
]


@pytest.mark.parametrize("column", COLUMNS, ids=str)
def test_as_numpy_finds_them(column: np.ndarray) -> None:
    found = distinct(column)
    assert found.dtype == column.dtype and found.tolist() == np.unique(column).tolist()
    for other in COLUMNS:
        flat, rest = column.ravel(), other.ravel()
        assert union(flat, rest).tolist() == np.union1d(flat, rest).tolist()
        assert among(flat, rest).tolist() == np.isin(flat, rest).tolist()


def test_a_check_of_repeated_values_does_not_load_masked_arrays() -> None:
    script = (
        "import sys; from boomslang import check, read_trace; "
        f"found = check(read_trace({str(EXAMPLE)!r}), 'ser'); "
        "print(found.status, found.counterexample is not None, 'numpy.ma' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["invalid", "True", "False"], done.stderr
