"""Errors a user can do something about. Whatever else is raised is a bug of ours."""

from __future__ import annotations


class UsageError(ValueError):
    """What was asked makes no sense: an unknown level, a missing extra, a solver that cannot take the problem."""
