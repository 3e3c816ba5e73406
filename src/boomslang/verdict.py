"""The verdict: valid, invalid or unknown, and always with what it rests on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from boomslang.certify.certificate import Witness, to_json
from boomslang.explain.counterexample import Counterexample
from boomslang.levels.level import Level
from boomslang.trace.model import Trace

VALID, INVALID, UNKNOWN = "valid", "invalid", "unknown"


@dataclass(frozen=True, eq=False)
class Verdict:
    """Does the trace satisfy the level?

    `status` is "valid" (then `witness` is an order that shows it), "invalid" (then `counterexample` is a minimal part
    of the trace that already breaks the level) or "unknown" (then `reason` says why: a limit, or something that the
    trace lacks).
    """

    trace: Trace
    level: Level
    status: str
    reason: str = ""
    witness: Witness | None = None
    counterexample: Counterexample | None = None
    stats: dict[str, Any] = field(default_factory=dict)
    """Seconds of each phase (`analyse`, `lower`, `solve`, `explain`) and the engine's counters."""

    @property
    def valid(self) -> bool:
        return self.status == VALID

    @property
    def invalid(self) -> bool:
        return self.status == INVALID

    def __repr__(self) -> str:
        return f"<{self.level.short}: {self.status}{f' ({self.reason})' if self.reason else ''}>"

    def certificate(self) -> dict[str, Any] | None:
        """The certificate to write to a file; None for unknown."""
        if self.witness is not None:
            return to_json(self.trace, self.witness)
        if self.counterexample is not None:
            return to_json(self.trace, self.counterexample.core, explanation=self.counterexample.to_json())
        return None

    def to_json(self) -> dict[str, Any]:
        """The stable form of `boomslang check --json` (docs/how-it-works.md)."""
        return {
            "level": self.level.name,
            "status": self.status,
            "reason": self.reason or None,
            "counterexample": None if self.counterexample is None else self.counterexample.to_json(),
            "stats": self.stats,
        }
