"""What joint reads say: the versions that a select saw of a row's columns fit together.

A condition over several columns is observed by one read for each column that others wrote (asg/entries.py),
and a relation between what they took: for each combination of values that the select cannot have seen, one
of the columns was another. As an expression it is a disjunction of read edges, so every solver knows it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from boomslang.asg.entries import UNKNOWN_INITIAL, Joint, version_value
from boomslang.asg.graph import ASG
from boomslang.deadline import look
from boomslang.ir.expression import START, Expression, Implies, Or
from boomslang.ir.families import ReadFrom
from boomslang.ir.model import IR


def joint_reads(asg: ASG) -> Iterator[tuple[Joint, list[int]]]:
    """The joints of which all reads are there, with these: of a part of a trace, some may have been left
    out."""
    entries = asg.entries
    if entries is None or not entries.active:
        return
    keys = np.arange(asg.keys) if asg.key_of is None else np.asarray(asg.key_of)
    joint = np.full(asg.keys, -1, np.int64)
    own = keys >= entries.first
    joint[own] = entries.joint[keys[own] - entries.first]
    reads: dict[int, dict[int, int]] = {}
    for read in np.flatnonzero(joint[asg.read_key] >= 0).tolist():
        key = int(asg.read_key[read])
        column = int(entries.column[int(keys[key]) - entries.first])
        reads.setdefault(int(joint[key]), {})[column] = read
    for j, of_column in sorted(reads.items()):
        made = entries.joints[j]
        if len(of_column) == len(made.keys):
            yield made, [of_column[i] for i in range(len(made.keys))]


def classes_of(asg: ASG, joint: Joint, column: int, family: ReadFrom) -> dict[int, int | None]:
    """Of each candidate of a column's read, the class of what it wrote; None: it can have been anything."""
    low, high = int(asg.key_start[family.key]), int(asg.key_start[family.key + 1])
    values = dict(zip(asg.write_txn[low:high].tolist(), asg.write_value[low:high].tolist(), strict=True))
    values[START] = int(asg.initial[family.key])
    found: dict[int, int | None] = {}
    for w in family.candidates:
        unknown = values[w] in (UNKNOWN_INITIAL, -2)  # a read of any version has settled that there is one
        found[w] = None if unknown else joint.classes[column][version_value(asg, values[w])]
    return found


def relate(ir: IR) -> None:
    """Adds what the joint reads say."""
    for joint, reads in joint_reads(ir.asg):
        look()
        families = [
            ir.read_from(read, int(np.searchsorted(ir.asg.read_start, read, side="right")) - 1)
            for read in reads
        ]
        classes = [classes_of(ir.asg, joint, i, family) for i, family in enumerate(families)]
        for bad in sorted(joint.bad):
            other: list[Expression] = [
                ir.wr(w, family)
                for family, of, wrong in zip(families, classes, bad, strict=True)
                for w, c in of.items()
                if c != wrong
            ]
            ir.expressions.append(Implies(ir.committed(families[0].txn), Or(tuple(other))))
