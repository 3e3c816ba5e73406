"""Emme's encoding: a white box. The version order is told, so there is nothing to guess.

Clark, Donaldson, Wickerson and Rigger, "Validating database system isolation level implementations with version
certificate recovery", EuroSys 2024. The database (or its change log) says in which order versions of a key came to
be, and which version a read saw; then each level is one search for a cycle. Here that is told by hints, the same that
the modules `version-order` and `version-sets` read (modules/version_hints.py):

    put or delete   "ctx": {"version": 7}               its place in the order of the key's versions
    begin           "ctx": {"commit": 7}                ... or, for all that a transaction wrote, when it committed
                    "ctx": {"cdc": 7}                   ... or where in the change log it is
    get             "ctx": {"version": 7}               the version it saw (without it, the value must say)
    scan            "ctx": {"versions": {"x": 7}}       its *version set*: of each key, the version it saw
                    "ctx": {"versions": [["x", "t1"]]}  ... or whose version that is

The initial version of a key is version 0. All writers of a key tell their place in the same way. With versions named,
values may repeat.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NoReturn

from boomslang.asg.graph import ASG, IN
from boomslang.encodings.encoding import (
    Encoding,
    OutsideAssumptions,
    Sheet,
    plain,
    refuse_lists,
    refuse_unknown_outcomes,
)
from boomslang.ir.expression import START
from boomslang.ir.families import ReadFrom
from boomslang.ir.lower import lower
from boomslang.ir.model import IR
from boomslang.levels.level import Level
from boomslang.modules.module import Hints
from boomslang.modules.version_hints import FIRST, SCALES, Place, places, seen
from boomslang.passes.problem import Problem
from boomslang.solve.clock import Clock

TITLE = "Emme"


def write(asg: ASG, level: Level, clock: Clock) -> Problem:
    refuse_unknown_outcomes(asg, TITLE)
    refuse_lists(asg, TITLE)
    ir = lower(asg, level)
    hints = Hints(asg, {})
    versions = _versions(ir, hints)
    sheet = Sheet.of(ir, lambda read: _taken(ir, hints, read, versions))
    for key in clock.over(range(asg.keys)):
        order = [START, *sorted(sheet.writers(key), key=lambda w: versions[key, w])]
        for writer, later in pairwise(order):
            sheet.know(sheet.overwrites(writer, later, key))
    return sheet.problem()


def _versions(ir: IR, hints: Hints) -> dict[tuple[int, int], Place]:
    """(key, writer) -> the place of its version."""
    versions: dict[tuple[int, int], Place] = {}
    for key in range(ir.asg.keys):
        told = {
            int(ir.asg.write_txn[i]): places(
                hints.operation(int(ir.asg.write_op[i])), hints.transaction(int(ir.asg.write_txn[i]))
            )
            for i in range(int(ir.asg.key_start[key]), int(ir.asg.key_start[key + 1]))
            if ir.asg.state[ir.asg.write_txn[i]] == IN
        }
        scale = next((scale for scale in SCALES if all(scale in known for known in told.values())), None)
        seen_at: dict[Place, int] = {}
        for txn, known in told.items():
            t = int(ir.asg.txn_of[txn])
            if scale is None or known[scale] <= FIRST:
                _refuse_untold(ir, key, t, known)
            place = known[scale or ""]
            other = seen_at.setdefault(place, txn)
            if other != txn:
                raise OutsideAssumptions(
                    f"version {_spelled(place)} of {ir.key_name(key)} is there twice: "
                    f"T{ir.asg.txn_of[other]} and T{t} wrote it"
                )
            versions[key, txn] = place
    return versions


def _refuse_untold(ir: IR, key: int, t: int, known: dict[str, Place]) -> NoReturn:
    if known and all(place > FIRST for place in known.values()):
        raise OutsideAssumptions(
            f"the writers of {ir.key_name(key)} tell their places in different ways, T{t} ({ir.asg.trace.where(t)}) by "
            f"{' and '.join(known)}; {TITLE} needs one way for all of them"
        )
    raise OutsideAssumptions(
        f"{TITLE} is told the order of versions; T{t} ({ir.asg.trace.where(t)}) does not say which version of "
        f'{ir.key_name(key)} it wrote: "ctx" with "version" at the write, or "commit" or "cdc" at the begin, a number '
        "above 0"
    )


def _spelled(place: Place) -> str:
    return repr(place[0] if len(place) == 1 else list(place))


def _taken(ir: IR, hints: Hints, read: ReadFrom, versions: dict[tuple[int, int], Place]) -> int:
    """The candidate that a read took."""
    row = int(ir.asg.read_op[read.read])
    key = ir.asg.trace.keys[ir.asg.trace_key(read.key)]
    told = seen(int(ir.asg.trace.op_kind[row]), hints.operation(row), key)
    where = f"T{ir.asg.txn_of[read.txn]}'s read of {ir.key_name(read.key)} = {ir.read_name(read.read)}"
    if told is None:
        if len(read.candidates) == 1:
            return read.candidates[0]
        raise OutsideAssumptions(f"{where}: several wrote that; {TITLE} needs the version it saw")
    if told.place is None:
        writer = START if told.writer is None else hints.named(told.writer)
        if writer in read.candidates:
            return writer
        raise OutsideAssumptions(f"{where}: {told.writer!r} did not write that")
    for w in read.candidates:
        if told.place == (FIRST if w == START else versions[read.key, w]):
            return w
    raise OutsideAssumptions(f"{where}: version {_spelled(told.place)} of that key does not hold that value")


EMME = Encoding(
    "emme",
    TITLE,
    plain,
    "levels that forbid all cycles of their edges (from read committed to strict serializable, and snapshot isolation)",
    write,
    "Clark et al., EuroSys 2024",
    knows_more=True,
)
