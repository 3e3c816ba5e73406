"""Refutations that need no solver, as data; in numbers of the trace, as all certificates are.

They come from the two laws of levels/laws.py, and too_few_versions.py, unreachable_state.py, too_few_arrivals.py and
stuck_sessions.py beside this page check them against the trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

UNNAMED = -5
"""In a state: a value that the trace does not name (of a key whose initial value is unknown)."""
OTHER = -6
"""In a state: any value that the proof does not tell apart from the rest."""


@dataclass(frozen=True)
class TooFewVersions:
    """More transactions read and overwrote what a key held than there were versions to overwrite."""

    key: int
    readers: tuple[tuple[int, int], ...]
    """(transaction, the operation that read)."""
    later: tuple[int, ...] = ()
    """Writers whose versions none of them can have read, as all had returned before these began."""

    def to_json(self) -> dict[str, Any]:
        readers = [list(reader) for reader in self.readers]
        return {"kind": "counting", "key": self.key, "readers": readers, "later": list(self.later)}


@dataclass(frozen=True)
class UnreachableState:
    """A transaction saw what some keys can never have held together."""

    keys: tuple[int, ...]
    states: tuple[tuple[int, ...], ...]
    """What they can have held: closed under all that happened, and it holds every possible initial state."""
    transaction: int
    apart: tuple[int, ...] = ()
    """The values that are told apart, where not all are; whatever else was read or written is OTHER."""

    def to_json(self) -> dict[str, Any]:
        states = [list(state) for state in self.states]
        told = {"kind": "states", "keys": list(self.keys), "states": states, "transaction": self.transaction}
        return {**told, "apart": list(self.apart)} if self.apart else told


@dataclass(frozen=True)
class TooFewArrivals:
    """More transactions saw some keys in a state and changed it than can have brought it about."""

    keys: tuple[int, ...]
    state: tuple[int, ...]
    """What each of the keys held."""
    departures: tuple[int, ...]
    """Those who saw all of it and changed some."""
    later: tuple[int, ...] = ()
    """Arrivals that do not count, as all who left had returned before these began."""

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "departures",
            "keys": list(self.keys),
            "state": list(self.state),
            "departures": list(self.departures),
            "later": list(self.later),
        }


@dataclass(frozen=True)
class StuckSessions:
    """Whatever session goes on next, at some point none can: not all transactions find a place in a serial order."""

    frontiers: int
    """How many there are: how far each session has come, with what the keys hold, once all have gone who only look."""
    most: int
    """The most transactions that have a place at one of them."""
    waiting: tuple[int, ...]
    """At one of those: the next transaction of each session that has not ended."""

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "sessions",
            "frontiers": self.frontiers,
            "most": self.most,
            "waiting": list(self.waiting),
        }


Proof = TooFewVersions | UnreachableState | TooFewArrivals | StuckSessions


def proof_of(data: Any) -> Proof:
    """From its form in a file. Raises KeyError, TypeError or ValueError if it has another."""
    kind = data["kind"]
    if kind == "counting":
        return TooFewVersions(
            _number(data["key"]),
            tuple((_number(t), _number(operation)) for t, operation in data["readers"]),
            _numbers(data["later"]),
        )
    if kind == "states":
        return UnreachableState(
            _numbers(data["keys"]),
            tuple(_numbers(state) for state in data["states"]),
            _number(data["transaction"]),
            _numbers(data.get("apart", [])),
        )
    if kind == "departures":
        return TooFewArrivals(
            _numbers(data["keys"]),
            _numbers(data["state"]),
            _numbers(data["departures"]),
            _numbers(data["later"]),
        )
    if kind == "sessions":
        return StuckSessions(_number(data["frontiers"]), _number(data["most"]), _numbers(data["waiting"]))
    raise ValueError(f"found the proof {kind!r}; expected 'counting', 'states', 'departures' or 'sessions'")


def _number(data: Any) -> int:
    if isinstance(data, bool) or not isinstance(data, int):
        raise ValueError(f"found {data!r} in the proof; expected a whole number")
    return data


def _numbers(data: Any) -> tuple[int, ...]:
    if not isinstance(data, list):
        raise ValueError(f"found {data!r} in the proof; expected a list of whole numbers")
    return tuple(_number(one) for one in data)
