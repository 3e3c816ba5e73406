"""What is counted as a trace goes by: how far it has come, and what that took."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Counted:
    """How far it has come."""

    transactions: int = 0
    """Taken: committed, or of unknown outcome and read from."""
    committed: int = 0
    aborted: int = 0
    operations: int = 0
    windows: int = 0
    joins: int = 0
    swaps: int = 0
    """Last writers of a key whose order later reads told."""
    open: int = 0
    """Keys of windows that were given up, whose last writers overlapped, and that nobody has read since."""
    asked: int = 0
    """Cores that were asked as a part of all that was recorded."""
    ran_out: int = 0
    """Searches that took too long, after which a window was asked otherwise."""
    largest: int = 0
    conflicts: int = 0
    held: int = 0
    """Transactions that are asked again."""
    keys: int = 0
    lost: int = 0
    """Transactions of unknown outcome that nobody has read from."""
    has_times: bool = False
    has_sessions: bool = False
