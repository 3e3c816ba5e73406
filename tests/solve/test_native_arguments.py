"""Functions of many parameters take them one by one, by place or by name; whoever errs is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boomslang.solve import _engine

NAMES = ("txns", "keys", "outcome", "read_start", "read_key", "read_counts", "key_start", "write_txn")


def given() -> list[Any]:
    """One transaction, which reads a key and overwrites what it read."""
    some = [np.array([0], dtype=kind) for kind in (np.uint8, np.int32, np.int32)]
    start = np.array([0, 1], dtype=np.int64)
    return [1, 1, some[0], start, some[1], np.array([1], dtype=np.uint8), start, some[2]]


def told(*places: Any, **names: Any) -> list[list[int]]:
    return [found.tolist() for found in _engine.overwriting(*places, **names)]


def test_by_place_and_by_name() -> None:
    values = given()
    expected = told(*values)
    assert expected == [[0], [0]]
    assert told(**dict(zip(NAMES, values, strict=True))) == expected
    assert told(*values[:3], **dict(zip(NAMES[3:], values[3:], strict=True))) == expected


def test_who_errs_is_told() -> None:
    values = given()
    with pytest.raises(TypeError, match="missing argument write_txn"):
        told(*values[:-1])
    with pytest.raises(TypeError, match="more arguments than 8"):
        told(*values, 1)
    with pytest.raises(TypeError, match=r"unknown, or given twice; all are txns, keys, .*, write_txn"):
        told(*values, txn=1)
    with pytest.raises(TypeError, match="unknown, or given twice"):
        told(*values, txns=1)
    with pytest.raises(TypeError, match="a wrong type of keys"):
        told(1, "one", *values[2:])
    with pytest.raises(TypeError, match="a wrong type of read_start"):
        told(*values[:3], values[3].reshape(1, 2), *values[4:])
    with pytest.raises(TypeError, match="a wrong type of outcome"):
        told(1, 1, None, *values[3:])
