"""Rows of tables, for modules: which keys are of one row, and selects that say nothing of some rows.

A trace recorded from SQL has a key for each column of a row and one for its existence (docs/trace-format.md, "Rows and
conditions"). A database that treats a row as one thing, as InnoDB does once a transaction has written to it, makes a
module ask which keys belong together, and take back what a select said of rows that it saw otherwise than the others.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG
from boomslang.trace.rows import parse_row_key


def rows_of_keys(asg: ASG) -> NDArray[np.int64]:
    """Of each key of the trace, a number of the row that it is of; -1 if it is of none."""
    numbers: dict[tuple[object, ...], int] = {}
    found = np.full(len(asg.trace.keys), -1, np.int64)
    for key, name in enumerate(asg.given.keys):
        parsed = parse_row_key(name) if isinstance(name, str) and "[" in name else None
        if parsed is not None:
            found[key] = numbers.setdefault((parsed[0], tuple(map(repr, parsed[1]))), len(numbers))
    return found


def without_rows(asg: ASG, silenced: dict[int, set[int]], row_of: NDArray[np.int64]) -> ASG:
    """The ASG in which these selects say nothing of these rows."""
    entries = asg.entries
    if entries is None or not silenced:
        return asg

    def out(op: int, key: int) -> bool:
        return op in silenced and int(row_of[asg.base_key(key)]) in silenced[op]

    pairs = zip(asg.read_op.tolist(), asg.read_key.tolist(), strict=True)
    kept = np.array([not out(op, key) for op, key in pairs], bool)
    joints = tuple(j for j in entries.joints if not any(out(j.op, key) for key in j.keys))
    fewer = asg if kept.all() else asg.only_reads(kept)
    return replace(fewer, entries=replace(entries, joints=joints))
