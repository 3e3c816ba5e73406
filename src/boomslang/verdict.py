"""The verdict: valid, invalid or unknown, and always with what it rests on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from boomslang.certify.certificate import Witness, to_json
from boomslang.levels.level import Level
from boomslang.trace.model import Outcome, Trace

if TYPE_CHECKING:
    from boomslang.bounded import Bounded
    from boomslang.explain.counterexample import Counterexample

VALID, INVALID, UNKNOWN = "valid", "invalid", "unknown"


def vacuous(trace: Trace) -> str:
    """Why no level may be said to hold, if it would hold only because nothing happened; else nothing.

    A trace without a committed transaction satisfies every level in logic. But whoever asks wants to hear about a
    database, and such a trace is what is left when the recorder was not called, or the run died at its start.
    """
    return vacuous_count(len(trace), int(np.count_nonzero(trace.txn_outcome == Outcome.COMMITTED)))


def vacuous_count(transactions: int, committed: int) -> str:
    """The same of a trace that has so many transactions."""
    if committed:
        return ""
    if not transactions:
        return "there is no transaction in the trace, so it says nothing about any level"
    one = transactions == 1
    who = "the only transaction is not" if one else f"none of the {transactions:,} transactions is"
    return f"{who} known to have committed, so the trace says nothing about any level"


@dataclass(frozen=True, eq=False)
class Verdict:
    """Does the trace satisfy the level?

    `status` is "valid" (then `witness` is an order that shows it), "invalid" (then `counterexample` is a minimal part
    of the trace that already breaks the level) or "unknown" (then `reason` says why: a limit, or something that the
    trace lacks, such as times or a committed transaction).
    """

    trace: Trace
    level: Level
    status: str
    reason: str = ""
    witness: Witness | None = None
    counterexample: Counterexample | None = None
    stats: dict[str, Any] = field(default_factory=dict)
    """Seconds of each phase (`analyse`, `lower`, `solve`, `explain`) and the engine's counters."""

    modules: tuple[str, ...] = ()
    """The modules that had a say."""
    broken_by: tuple[str, ...] = ()
    """Of an invalid trace: the modules without which it would be valid. None: the level itself is broken."""
    perhaps_by: tuple[str, ...] = ()
    """Of an invalid trace: the modules of which there was no time to find out whether it is valid without them."""
    rests_on: tuple[str, ...] = ()
    """Of an invalid trace: the modules that its counterexample cannot do without."""
    notes: tuple[str, ...] = ()
    """What modules have to say about the answer."""
    bounded: Bounded | None = None
    """Of an unknown level: the longest bound of real time within which it is known to be broken."""

    def __post_init__(self) -> None:
        """What a trace does not tell, a verdict on it does not know."""
        if self.trace.coverage is not None and self.trace.coverage.sentence() not in self.notes:
            object.__setattr__(self, "notes", (*self.notes, self.trace.coverage.sentence()))

    @property
    def valid(self) -> bool:
        return self.status == VALID

    @property
    def invalid(self) -> bool:
        return self.status == INVALID

    @property
    def title(self) -> str:
        """The level, and the modules that were (or may have been) broken rather than the level."""
        modules = (*self.broken_by, *self.perhaps_by)
        return f"{self.level.title} with {' and '.join(modules)}" if modules else self.level.title

    def __repr__(self) -> str:
        return f"<{self.level.short}: {self.status}{f' ({self.reason})' if self.reason else ''}>"

    def _repr_html_(self) -> str:
        """In a notebook: the answer, and of a violation a graph, a timeline and the story."""
        from boomslang.report.notebook import verdict_html

        return verdict_html(self)

    def certificate(self) -> dict[str, Any] | None:
        """The certificate to write to a file; None for unknown."""
        if self.witness is not None:
            return to_json(self.trace, self.witness)
        if self.counterexample is not None:
            explanation = self.counterexample.to_json()
            return to_json(self.trace, self.counterexample.core, explanation=explanation)
        return None

    def to_json(self) -> dict[str, Any]:
        """The stable form of `boomslang check --json` (docs/how-it-works.md)."""
        return {
            "level": self.level.name,
            "status": self.status,
            "reason": self.reason or None,
            "counterexample": None if self.counterexample is None else self.counterexample.to_json(),
            "modules": list(self.modules),
            "broken_by": list(self.broken_by),
            "notes": list(self.notes),
            "bounded": None if self.bounded is None else self.bounded.to_json(),
            "stats": self.stats,
        }
