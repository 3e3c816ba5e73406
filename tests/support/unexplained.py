"""A verdict without its explanation, for tests that ask only what holds: to say why takes several times as long."""

from __future__ import annotations

from typing import Any

from boomslang import Checker


class Unexplained(Checker):
    """Its invalid verdicts have no counterexample; all else is the checker's."""

    def explained(self, *_: Any) -> Any:
        return None

    explained_by_proof = explained
