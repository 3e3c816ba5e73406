"""Emme's encoding: a white box. The version order is told, so there is nothing to guess.

Clark, Donaldson, Wickerson and Rigger, "Validating database system isolation level implementations with version
certificate recovery", EuroSys 2024. The database (or its change log) says in which order versions of a key came to
be, and which version a read saw; then each level is one search for a cycle. Here that is told by hints:

    put or delete   "ctx": {"version": 7}               its place in the order of the key's versions
    begin           "ctx": {"commit": 7}                ... or, for all that a transaction wrote, when it committed
    get             "ctx": {"version": 7}               the version it saw (without it, the value must say)
    scan            "ctx": {"versions": {"x": 7}}       its *version set*: of each key, the version it saw

The initial version of a key is version 0. With versions named, values may repeat.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from boomslang.asg.graph import ASG
from boomslang.encodings.encoding import (
    Encoding,
    OutsideAssumptions,
    Sheet,
    plain,
    refuse_lists,
    refuse_unknown_outcomes,
)
from boomslang.ir.expression import START
from boomslang.ir.lower import lower
from boomslang.ir.model import IR, ReadFrom
from boomslang.levels.level import Level
from boomslang.passes.problem import Problem
from boomslang.solve.clock import Clock
from boomslang.trace.model import Kind

TITLE = "Emme"


def write(asg: ASG, level: Level, clock: Clock) -> Problem:
    refuse_unknown_outcomes(asg, TITLE)
    refuse_lists(asg, TITLE)
    ir = lower(asg, level)
    versions = _versions(ir)
    sheet = Sheet.of(ir, lambda read: _taken(ir, read, versions))
    for key in clock.over(range(asg.keys)):
        order = [START, *sorted(sheet.writers(key), key=lambda w: versions[key, w])]
        for writer, later in pairwise(order):
            sheet.know(sheet.overwrites(writer, later, key))
    return sheet.problem()


def _versions(ir: IR) -> dict[tuple[int, int], int]:
    """(key, writer) -> the place of its version."""
    asg, versions = ir.asg, {}
    seen: dict[tuple[int, int], int] = {}
    for i in range(len(asg.write_txn)):
        txn, key = int(asg.write_txn[i]), int(asg.write_key[i])
        if asg.state[txn] != 0:
            continue
        row, t = int(asg.write_op[i]), int(asg.txn_of[txn])
        place = _whole((asg.trace.operation(row).ctx or {}).get("version"))
        if place is None:
            place = _whole((asg.trace.transaction(t).ctx or {}).get("commit"))
        if place is None:
            raise OutsideAssumptions(
                f"{TITLE} is told the order of versions; T{t} ({asg.trace.where(t)}) does not say which version of "
                f'{ir.key_name(key)} it wrote: "ctx" with "version" at the write or "commit" at the begin, a whole '
                "number above 0"
            )
        other = seen.setdefault((key, place), txn)
        if other != txn:
            raise OutsideAssumptions(
                f"version {place} of {ir.key_name(key)} is there twice: T{asg.txn_of[other]} and T{t} wrote it"
            )
        versions[key, txn] = place
    return versions


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _taken(ir: IR, read: ReadFrom, versions: dict[tuple[int, int], int]) -> int:
    """The candidate that a read took."""
    operation = ir.asg.trace.operation(int(ir.asg.read_op[read.read]))
    hints = operation.ctx or {}
    told = hints.get("version") if operation.kind in (Kind.GET, Kind.NEXT) else None
    if isinstance(hints.get("versions"), dict):
        told = hints["versions"].get(str(ir.asg.trace.keys[ir.asg.trace_key(read.key)]))
    where = f"T{ir.asg.txn_of[read.txn]}'s read of {ir.key_name(read.key)} = {ir.read_name(read.read)}"
    if told is None:
        if len(read.candidates) == 1:
            return read.candidates[0]
        raise OutsideAssumptions(f"{where}: several wrote that; {TITLE} needs the version it saw")
    for w in read.candidates:
        if told == (0 if w == START else versions[read.key, w]):
            return w
    raise OutsideAssumptions(f"{where}: version {told!r} of that key does not hold that value")


EMME = Encoding(
    "emme",
    TITLE,
    plain,
    "levels that forbid all cycles of their edges (from read committed to strict serializable, and snapshot isolation)",
    write,
    "Clark et al., EuroSys 2024",
    knows_more=True,
)
