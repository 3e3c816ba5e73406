"""`check` for a trace that does not fit into memory: it is read, decided and forgotten window by window.

The answer is the same as that of the whole trace, but for what only the forgotten past could decide: that is unknown.
What can go by so is our own format at the levels that an order of begins and commits decides (`why_not`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from boomslang.cores import all_cores
from boomslang.free_memory import give_back, keep_what_is_freed
from boomslang.levels.level import Level
from boomslang.solve.solution import Limits
from boomslang.stream.counted import Counted
from boomslang.stream.forward import Forward
from boomslang.stream.no_answer import NotForward, Stuck
from boomslang.stream.past import Past
from boomslang.stream.read_ahead import read_ahead
from boomslang.stream.swaps import Mend
from boomslang.stream.taken import Taken
from boomslang.trace.blocks import Blocks, sources_of
from boomslang.trace.errors import LimitReached
from boomslang.trace.reader import Limits as ReadingLimits
from boomslang.trace.reader import resident_mb
from boomslang.verdict import INVALID, UNKNOWN, VALID, Verdict
from boomslang.windows.worth import fits_windows

KEPT = 8
"""Windows behind that are kept, to be joined again."""
TAIL_SHARE = 0.03
"""Of a window's transactions, those that are asked again in the next one. The more they are, the fewer keys were
written twice before them and not read since, of which a later read may say that the windows must be joined."""
BASE = 90
"""MB that the process takes in any case."""
IN_WORK, AT_REST = 24, 1.6
"""MB for each MB of lines: in the window that is being decided, and in one that is kept."""
SMALLEST, LARGEST = 1 << 20, 32 << 20
"""Bytes of a window's lines."""
PRESSED = 0.6
"""Of the memory: once so much of it is taken, older windows are given up."""


@dataclass(frozen=True)
class WentBy:
    """The answer about a trace that went by."""

    level: Level
    status: str
    reason: str
    verdict: Verdict | None
    """If it is invalid: of the part of the trace that shows it."""
    counted: Counted
    forgetting: bool = False
    """It is unknown because the trace was not kept: in memory it may be decided."""


def why_not(path: Path, level: Level) -> str:
    """Why this cannot be checked as it goes by; nothing if it can, as far as one can tell before."""
    from boomslang.trace.formats import jsonl, recognise

    if not fits_windows(level):
        return f"{level.title} is not decided by an order of begins and commits alone"
    if recognise(path) is not jsonl.FORMAT:
        return "only our own format (JSON Lines) is read piece by piece"
    return ""


def window_bytes(megabytes: float | None) -> int:
    """How many bytes of lines a window has, so that no more than so much memory is taken."""
    if megabytes is None:
        return LARGEST
    return int(min(LARGEST, max(SMALLEST, (megabytes - BASE) / (IN_WORK + KEPT * AT_REST) * 2**20)))


def check_as_it_goes_by(
    path: Path,
    level: Level,
    *,
    seconds: float | None = None,
    megabytes: float | None = None,
    jobs: int | None = None,
    take: Callable[[Taken], None] = lambda taken: None,
    mend: Mend = lambda first, source: None,
    progress: Callable[[Forward], None] = lambda forward: None,
) -> WentBy:
    """Decides a trace in bounded memory. `take` is given the order as it grows, and `mend` where some of it is
    another; `progress` is called now and then.

    Raises `TraceError` if it is no trace.
    """
    jobs = jobs or all_cores()
    limits = Limits(seconds, megabytes, jobs=jobs)
    keep_what_is_freed()  # `pressed_by` gives it back when it is needed
    reading = ReadingLimits(memory=None if megabytes is None else int(megabytes))
    with ExitStack() as stack:
        sources = sources_of(path, stack)
        if jobs == 1:
            blocks = Blocks(sources, check=reading.check)
        else:
            ahead = read_ahead(sources, stack)
            blocks = Blocks(
                ahead, jobs=jobs, check=reading.check, ahead=lambda f, text: ahead[f].parsed(text)
            )
        past = Past(lambda again: sources_of(path, again), Limits(seconds, megabytes))
        forward = Forward(
            blocks,
            level,
            limits,
            take=take,
            mend=mend,
            refuted=past,
            size=window_bytes(megabytes),
            tail_share=TAIL_SHARE,
            kept=KEPT,
            pressed=pressed_by(megabytes),
        )

        def answer(
            status: str, reason: str = "", verdict: Verdict | None = None, *, forgetting: bool = False
        ) -> WentBy:
            return WentBy(level, status, reason, verdict, forward.counted, forgetting)

        try:
            while True:
                if (found := forward.step()) is not None:
                    return answer(INVALID, verdict=found)
                progress(forward)
                if forward.done:
                    break
        except NotForward as why:
            reason = f"it cannot be checked as it goes by: {why}; give it more --memory"
            return answer(UNKNOWN, reason, forgetting=True)
        except Stuck as stuck:
            return answer(UNKNOWN, str(stuck), forgetting=True)
        except LimitReached as limit:
            return answer(UNKNOWN, REASONS.get(limit.reason, limit.reason))
        forward.finish()
        return answer(*answered(level, forward.counted))


def answered(level: Level, counted: Counted) -> tuple[str, str]:
    """Every window has an order: status and reason."""
    if not counted.committed:
        return UNKNOWN, "no transaction is known to have committed, so the trace says nothing"
    lacking = [
        word
        for word, needed, there in (
            ("times", level.needs_times, counted.has_times),
            ("sessions", level.needs_sessions, counted.has_sessions),
        )
        if needed and not there
    ]
    if lacking:
        return UNKNOWN, f"no {' and '.join(lacking)} in the trace: all else that it asks holds"
    return VALID, ""


def pressed_by(megabytes: float | None) -> Callable[[], bool]:
    """Is so much of the limit taken that older windows must be given up?"""
    return lambda: megabytes is not None and _pressed(PRESSED * megabytes)


def _pressed(megabytes: float) -> bool:
    """Does this process hold more than so much, even when what it does not use is given back?"""
    if resident_mb() <= megabytes:
        return False
    give_back()
    return resident_mb() > megabytes


REASONS = {"time": "the time limit was reached", "memory": "the memory limit was reached"}
