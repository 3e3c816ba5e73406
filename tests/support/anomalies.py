"""Textbook anomalies as data: what each one shows, a history that has it, and which levels reject it.

The names are Adya's where he has one (G0, G1a, G1b, G1c, G-single, G2-item, G2; MIT thesis, 1999, chapters 3 and
4), else the literature's. `breaks` names the weakest levels that reject the history: those reject it, and so do
all that imply one of them, and no others. `anomaly` is the name of what is wrong, None where nothing is.

Where a history has no times, the strict and strong levels add nothing to it; where each transaction has a
session of its own, neither do the strong-session levels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from boomslang.levels import LEVELS as ALL_LEVELS
from boomslang.levels import find_level, implies
from boomslang.trace import Trace
from support.histories import (
    Absent,
    append,
    delete,
    end,
    failed,
    get,
    history,
    iterator,
    list_,
    put,
    scan,
    step,
    txn,
)

LEVELS = tuple(level.name for level in ALL_LEVELS)
NOTHING = ""


def holding(breaks: tuple[str, ...]) -> dict[str, bool]:
    """level -> does it hold, if these are the weakest levels that do not?"""
    weakest = [find_level(name) for name in breaks]
    return {level.name: not any(implies(level, broken) for broken in weakest) for level in ALL_LEVELS}


@dataclass(frozen=True)
class Case:
    name: str
    shows: str
    build: Callable[[], Trace]
    breaks: tuple[str, ...]
    anomaly: str | None

    @property
    def verdicts(self) -> dict[str, bool]:
        """level -> valid?"""
        return holding(self.breaks)


CASES: list[Case] = []


def case(
    name: str, shows: str, breaks: str, anomaly: str | None = None
) -> Callable[[Callable[[], Trace]], Callable[[], Trace]]:
    """`breaks`: the short names of levels, with spaces between."""

    def add(build: Callable[[], Trace]) -> Callable[[], Trace]:
        CASES.append(Case(name, shows, build, tuple(breaks.split()), anomaly))
        return build

    return add


# --- G0 and G1: what read committed forbids ---


@case(
    "dirty write",
    "Two writers of x and y, and nobody looked: no black-box trace of registers shows G0.",
    NOTHING,
)
def _() -> Trace:
    return history(txn("A", put("x", 1), put("y", 1)), txn("B", put("x", 2), put("y", 2)))


@case(
    "dirty write, seen",
    "x keeps A's value and y keeps B's. Read committed cannot tell, for its version order is free; above it "
    "a reader of both sees no state that ever was.",
    "ra rr",
    "G-single",
)
def _() -> Trace:
    return history(
        txn("A", put("x", 1), put("y", 1)),
        txn("B", put("x", 2), put("y", 2)),
        txn("C", get("x", 1), get("y", 2)),
    )


@case(
    "dirty write of lists",
    "Lists keep the order of their appends: A came before B in x, and after it in y.",
    "ru",
    "G0",
)
def _() -> Trace:
    return history(
        txn("A", append("x", 1), append("y", 1)),
        txn("B", append("x", 2), append("y", 2)),
        txn("C", list_("x", [1, 2])),
        txn("D", list_("y", [2, 1])),
    )


@case("aborted read", "B reads what A wrote and took back.", "rc", "G1a")
def _() -> Trace:
    return history(txn("A", put("x", 1), outcome="aborted"), txn("B", get("x", 1)))


@case("intermediate read", "B reads a value that A overwrote before it committed.", "rc", "G1b")
def _() -> Trace:
    return history(txn("A", put("x", 1), put("x", 2)), txn("B", get("x", 1)))


@case("circular information flow", "A reads what B wrote, and B what A wrote.", "rc", "G1c")
def _() -> Trace:
    return history(txn("A", put("x", 1), get("y", 1)), txn("B", put("y", 1), get("x", 1)))


@case("circular information flow through a delete", "B saw A's delete, and A read B's write.", "rc", "G1c")
def _() -> Trace:
    return history(
        txn("A", delete("x", True), get("y", 1)), txn("B", get("x", Absent), put("y", 1)), initial={"x": 0}
    )


@case("thin air", "A value that nobody ever wrote.", "rc", "thin-air")
def _() -> Trace:
    return history(txn("A", put("x", 1)), txn("B", get("x", 7)))


@case("an aborted deletion that was seen", "A deletes x and aborts; B finds x gone.", "rc", "G1a")
def _() -> Trace:
    return history(
        txn("A", delete("x", True), outcome="aborted"), txn("B", get("x", Absent)), initial={"x": 0}
    )


# --- a transaction against itself ---


@case("own update not seen", "A writes x and then reads its old value.", "rc", "internal")
def _() -> Trace:
    return history(txn("A", put("x", 1), get("x", 0)), initial={"x": 0})


@case("own update not seen by a scan", "A writes x and then scans past it.", "rc", "internal")
def _() -> Trace:
    return history(txn("A", put("x", 1), scan("a", "z", {})))


@case("own delete not seen", "A deletes x, and deletes it once more with success.", "rc", "internal")
def _() -> Trace:
    return history(txn("A", delete("x", True), delete("x", True)), initial={"x": 0})


@case("own later write read", "A reads the value that only A itself will write.", "rc", "future-read")
def _() -> Trace:
    return history(txn("A", get("x", 1), put("x", 1)))


@case(
    "own write while an iterator is open",
    "An iterator may or may not show what came after its open.",
    NOTHING,
)
def _() -> Trace:
    return history(
        txn("A", iterator(1), put("b", 1), step(1, "a", 0), step(1, "b", 1), end(1)),
        txn("B", iterator(1), put("b", 1), step(1, "a", 0), end(1), outcome="aborted"),
        initial={"a": 0},
    )


# --- what levels between read committed and serializable forbid ---


@case("lost update", "Both read 0 and both write: one increment is lost.", "cs", "lost-update")
def _() -> Trace:
    return history(txn("A", get("x", 0), put("x", 1)), txn("B", get("x", 0), put("x", 2)), initial={"x": 0})


@case(
    "lost update with equal values",
    "The same when both write 1: duplicates hide nothing here.",
    "cs",
    "lost-update",
)
def _() -> Trace:
    return history(txn("A", get("x", 0), put("x", 1)), txn("B", get("x", 0), put("x", 1)), initial={"x": 0})


@case("two deletes of one key", "Both found it, but it was there only once.", "cs", "lost-update")
def _() -> Trace:
    return history(txn("A", delete("x", True)), txn("B", delete("x", True)), initial={"x": 0})


@case("read skew", "A reads x before B's transfer and y after it.", "ra rr", "G-single")
def _() -> Trace:
    return history(
        txn("A", get("x", 0), get("y", 1)), txn("B", put("x", 1), put("y", 1)), initial={"x": 0, "y": 0}
    )


@case(
    "read skew, the new first",
    "The same, but A sees the new y and then still the old x: read committed after Biswas and Enea objects to this "
    "order only.",
    "rc-be ra rr",
    "G-single",
)
def _() -> Trace:
    return history(
        txn("A", get("y", 1), get("x", 0)), txn("B", put("x", 1), put("y", 1)), initial={"x": 0, "y": 0}
    )


@case(
    "an answer without its question",
    "B read A's write and answered it; C sees the answer and not what it answers.",
    "causal rr",
    "G-single",
)
def _() -> Trace:
    return history(
        txn("A", put("x", 1)), txn("B", get("x", 1), put("y", 1)), txn("C", get("y", 1), get("x", Absent))
    )


@case("non-repeatable read", "A reads x twice and gets two values.", "ra rr", "G-single")
def _() -> Trace:
    return history(txn("A", get("x", 0), get("x", 1)), txn("B", put("x", 1)), initial={"x": 0})


@case("long fork", "C and D see the writes of A and B in opposite orders.", "rr prefix", "long-fork")
def _() -> Trace:
    return history(
        txn("A", put("x", 1)),
        txn("B", put("y", 1)),
        txn("C", get("x", 1), get("y", Absent)),
        txn("D", get("x", Absent), get("y", 1)),
    )


@case(
    "write skew",
    "Each reads what the other writes: item reads, so repeatable read objects. Snapshot isolation does not.",
    "rr",
    "G2-item",
)
def _() -> Trace:
    return history(
        txn("A", get("x", 0), put("y", 1)), txn("B", get("y", 0), put("x", 1)), initial={"x": 0, "y": 0}
    )


@case("write skew on absent keys", "A get is an item read even if it finds nothing.", "rr", "G2-item")
def _() -> Trace:
    return history(txn("A", get("x", Absent), put("y", 1)), txn("B", get("y", Absent), put("x", 1)))


@case(
    "a deleted key that reappears",
    "C saw that x is gone; D, who saw C's write, reads x.",
    "causal rr",
    "G-single",
)
def _() -> Trace:
    return history(
        txn("B", delete("x", True)),
        txn("C", get("x", Absent), put("y", 1)),
        txn("D", get("y", 1), get("x", 1)),
        initial={"x": 1},
    )


# --- predicates ---


@case(
    "phantom write skew through a scan",
    "Each scans a range in which the other inserts. Only prw edges close the cycle: repeatable read, which "
    "leaves them out, accepts it, and so does snapshot isolation.",
    "ser",
    "G2",
)
def _() -> Trace:
    return history(
        txn("A", scan("a", "m", {}), put("n1", 1)),
        txn("B", scan("n", "z", {}), put("a1", 1)),
    )


@case("phantom", "Two scans of one transaction: the second has one more key.", "ra", "G-single")
def _() -> Trace:
    return history(
        txn("A", scan("a", "z", {"x": 0}), scan("a", "z", {"w": 1, "x": 0})),
        txn("B", put("w", 1)),
        initial={"x": 0},
    )


@case(
    "a key that vanishes from a second scan", "What a scan returned it read as an item.", "ra rr", "G-single"
)
def _() -> Trace:
    return history(
        txn("A", scan("a", "z", {"x": 0}), scan("a", "z", {})), txn("B", delete("x", True)), initial={"x": 0}
    )


@case(
    "an iterator that skips a new key",
    "B inserted b and c; A's iterator shows c and passes over b.",
    "ra",
    "G-single",
)
def _() -> Trace:
    return history(
        txn("A", iterator(1), step(1, "a", 0), step(1, "c", 1)),
        txn("B", put("b", 1), put("c", 1)),
        initial={"a": 0},
    )


@case("an iterator that skips a key", "b was always there, and nobody deleted it.", "rc", "thin-air")
def _() -> Trace:
    return history(txn("A", iterator(1), step(1, "a", 0), step(1, "c", 0)), initial={"a": 0, "b": 0, "c": 0})


@case(
    "an iterator that stops early",
    "Beyond the last key returned nothing was seen, so nothing is wrong.",
    NOTHING,
)
def _() -> Trace:
    return history(txn("A", iterator(1), step(1, "a", 0)), initial={"a": 0, "b": 0, "c": 0})


# --- sessions and time ---


@case(
    "timestamp inversion",
    "A ended before B began, yet C saw B's write and not A's: serializable as B, C, A; no strict order.",
    "pl-fcv",
    "realtime",
)
def _() -> Trace:
    return history(
        txn("A", put("x", 1), time=(0, 10)),
        txn("C", get("x", Absent), get("y", 1), time=(5, 40)),
        txn("B", put("y", 1), time=(20, 30)),
    )


@case("stale snapshot", "B began after A had returned, and does not see its write.", "pl-fcv", "realtime")
def _() -> Trace:
    return history(txn("A", put("x", 1), time=(0, 10)), txn("B", get("x", Absent), time=(20, 30)))


@case("stale, by another clock", "Times of two clocks cannot be compared.", NOTHING)
def _() -> Trace:
    return history(
        txn("A", put("x", 1), time=(0, 10), clock="one"),
        txn("B", get("x", Absent), time=(20, 30), clock="two"),
    )


@case(
    "stale, but overlapping", "B was invoked at the tick at which A returned: that is not after it.", NOTHING
)
def _() -> Trace:
    return history(txn("A", put("x", 1), time=(0, 10)), txn("B", get("x", Absent), time=(10, 30)))


@case(
    "one's own past forgotten",
    "A session does not see its own earlier write.",
    "strong-session-ra strong-session-rr",
    "session",
)
def _() -> Trace:
    return history(txn("A", put("x", 1)), txn("A", get("x", Absent)))


@case(
    "one's own future read",
    "A session's first transaction reads what its second will write: a cycle of so and wr.",
    "strong-session-rc",
    "session",
)
def _() -> Trace:
    return history(txn("A", get("x", 1)), txn("A", put("x", 1)))


@case("one's own phantom", "A session's scan misses its own earlier insert.", "strong-session-ra", "session")
def _() -> Trace:
    return history(txn("A", put("x", 1)), txn("A", scan("a", "z", {})))


# --- unknown outcomes and states ---


@case("an unknown commit that was read", "B read A's write, so A committed.", NOTHING)
def _() -> Trace:
    return history(txn("A", put("x", 1), outcome="unknown"), txn("B", get("x", 1)))


@case("an unknown commit that was not read", "Perhaps it did not happen.", NOTHING)
def _() -> Trace:
    return history(
        txn("A", put("x", 1), failed(put("y", 1)), outcome="unknown", time=(0, 10)),
        txn("A", get("x", Absent), time=(20, 30)),
    )


@case(
    "an unknown commit that was read and then not",
    "C does not see what B saw, who had returned.",
    "pl-fcv",
    "realtime",
)
def _() -> Trace:
    return history(
        txn("A", put("x", 1), outcome="unknown", time=(0, 10)),
        txn("B", get("x", 1), time=(20, 30)),
        txn("C", get("x", Absent), time=(40, 50)),
    )


@case(
    "an unknown commit whose own read contradicts",
    "C's read makes A committed, and so the lost update real.",
    "cs",
    "lost-update",
)
def _() -> Trace:
    return history(
        txn("A", get("x", 0), put("x", 1), outcome="unknown"),
        txn("B", get("x", 0), put("x", 2)),
        txn("C", get("x", 1)),
        initial={"x": 0},
    )


@case("an unknown commit that read thin air", "Nobody can have read from it.", "rc", "thin-air")
def _() -> Trace:
    return history(txn("A", get("y", 7), put("x", 1), outcome="unknown"), txn("B", get("x", 1)))


@case("an unknown transaction with nonsense in it", "If nobody read from it, it did not commit.", NOTHING)
def _() -> Trace:
    return history(
        txn("A", get("y", 7), put("x", 1), get("x", 2), outcome="unknown"), txn("B", get("x", Absent))
    )


@case("one unwritten value of an unknown initial state", "It was there before.", NOTHING)
def _() -> Trace:
    return history(txn("A", get("x", 1)), txn("B", delete("x", True)), initial="unknown")


@case("two unwritten values of an unknown initial state", "It cannot have been both.", "rc", "thin-air")
def _() -> Trace:
    return history(txn("A", get("x", 1)), txn("B", get("x", 2)), initial="unknown")


@case("an unwritten value and its absence", "Nor can it have been there and not.", "rc", "thin-air")
def _() -> Trace:
    return history(txn("A", get("x", 1)), txn("B", scan("a", "z", {})), initial="unknown")
