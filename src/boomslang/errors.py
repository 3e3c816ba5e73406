"""Errors a user can do something about. Whatever else is raised is a bug of ours."""

from __future__ import annotations

from collections.abc import Iterable


class UsageError(ValueError):
    """What was asked makes no sense: an unknown level, a missing extra, a solver that cannot take the problem."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """What somebody who mistyped a name may have meant, to stand behind it; nothing if no name is near."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" (did you mean {near[0]}?)" if near else ""
