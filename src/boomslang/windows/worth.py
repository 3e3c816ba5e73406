"""Which questions are asked in windows."""

from __future__ import annotations

from boomslang.asg.graph import ASG, OUT
from boomslang.ir.model import IR
from boomslang.levels.level import Level
from boomslang.solve.solution import Limits

CLOCK, LOG, READS = "clock", "log", "reads"
FEWEST = 8_000
"""Shorter traces are asked in one piece."""


def fits_windows(level: Level) -> bool:
    """Levels at which an order of the points settles what every read sees, and every rule is about that order."""
    whole = level.items_see_last and level.predicates_see_last and level.once is None and not level.cursor
    return whole and not level.slack and level.observes


def worth_windows(ir: IR, limits: Limits) -> bool:
    """Is this question asked in windows?"""
    if limits.window == 0 or ir.asg.modules or ir.superpositions or ir.expressions:
        return False
    if not fits_windows(ir.level):
        return False
    if limits.window is not None:
        return True
    return ir.asg.transactions >= FEWEST


def ranked_by(asg: ASG) -> str:
    """What says in which order things happened: one clock, one log, or who read from whom."""
    trace = asg.trace
    if not trace.has_times:
        return LOG if trace.is_one_log else READS
    clock, counts = asg.of_trace(trace.txn_clock), asg.state != OUT
    if not counts.any():
        return READS
    return CLOCK if bool(((clock == clock[counts.argmax()]) | ~counts).all()) else READS
