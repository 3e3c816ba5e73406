"""Other checkers' test cases, and what their verdicts mean here.

The corpus beside the repository holds small histories from the test suites and documentation of Elle, AWDIT,
Plume, PolySI, IsoVista and VeriStrong, each with the verdicts that its source documents ("neutral-v1"; the
corpus describes it). This file turns such a case into a trace, and a source's word for a level into ours:

- `FAMILIES` finds the family of definitions that a case was judged by;
- `MEANINGS` says, for each family, what its words (`rc`, `si`, ...) mean here, and why;
- `Case.expected()` is what follows from that at each of our levels, with the word that it follows from.

Words whose level we do not have yet are in the table too: as soon as `boomslang.levels` knows the name, their
cases are tested. Until then they still say something, for a history that a weak level rejects is rejected by
every stronger one, and what a strong level accepts is accepted by every weaker one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boomslang.errors import UsageError
from boomslang.levels import LEVELS, find_level, implies
from boomslang.trace import Absent, Trace, TraceBuilder
from support.paths import CORPUS

SOURCES = {
    "awdit": "AWDIT",
    "elle_files": "Elle and elle-cli, example files",
    "elle_list_append": "Elle, list-append tests",
    "elle_predicate": "Elle, closed-predicate tests",
    "elle_rw_register": "Elle, rw-register tests",
    "isovista": "IsoVista",
    "plume_tap_reconstructed": "Plume (reconstructed from its names and tables)",
    "polysi": "PolySI",
    "veristrong": "VeriStrong",
}


# --- what their words mean here -------------------------------------------------------------------------------

Family = str
SESSIONS, PLAIN, REAL_TIME = "sessions", "plain", "real time"

FAMILIES: tuple[tuple[str, Family], ...] = (
    # Part of a case's `semantics`, and its family; the first that fits counts.
    ("no session or real-time order", PLAIN),
    ("no session order", PLAIN),
    ("own session", PLAIN),
    ("closed-predicate", PLAIN),
    ("strict", REAL_TIME),
    ("thin-air", REAL_TIME),  # elle-cli's rw-register example: run with its default, strict serializability
    ("session", SESSIONS),
)


@dataclass(frozen=True)
class Meaning:
    """What a word means: the level (of ours, or one to come), and the nearest of ours below and above it."""

    level: str
    why: str
    implies: tuple[str, ...] = ()
    implied_by: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        """Do we have that level?"""
        try:
            find_level(self.level)
        except UsageError:
            return False
        return True


_SO = "their levels all include session order, so they are our strong-session levels"
_BELOW_SO = ("strong-session-read-committed",)
_ABOVE_SO = ("strong-session-snapshot-isolation", "strong-session-serializable")
_ADYA = "Elle's names are Adya's, as ours are, and its plain levels know no session order"
_ABOVE = ("snapshot-isolation", "serializable")

MEANINGS: dict[Family, dict[str, Meaning]] = {
    # Biswas and Enea's axioms (AWDIT, Plume), and the dependency graphs of PolySI, IsoVista and VeriStrong.
    SESSIONS: {
        "rc": Meaning(
            "rc-be",
            "not Adya's PL-2: it is sensitive to program order (what a transaction reads later must not be older "
            "than what it read before) and includes session order. Adya's, with session order, is weaker",
            _BELOW_SO,
            _ABOVE_SO,
        ),
        "rr": Meaning(
            "rc-be with one writer for all reads of a key",
            "dbcop's repeatable read is neither Adya's PL-2.99 nor MySQL's: RC-BE, and a transaction reads each "
            "key from one writer. We have no such level",
            _BELOW_SO,
            _ABOVE_SO,
        ),
        "ra": Meaning("strong-session-read-atomic", _SO, _BELOW_SO, _ABOVE_SO),
        "causal": Meaning("strong-session-causal", _SO, _BELOW_SO, _ABOVE_SO),
        "prefix": Meaning("strong-session-prefix", _SO, _BELOW_SO, _ABOVE_SO),
        "si": Meaning("strong-session-snapshot-isolation", _SO),
        "ser": Meaning("strong-session-serializable", _SO),
        "strict_ser": Meaning("strict-serializable", "real-time order takes the place of session order"),
    },
    PLAIN: {
        "rc": Meaning("read-committed", _ADYA),
        "ra": Meaning("read-atomic", _ADYA, ("read-committed",), _ABOVE),
        "causal": Meaning("causal", _ADYA, ("read-committed",), _ABOVE),
        "prefix": Meaning("prefix", _ADYA, ("read-committed",), _ABOVE),
        "si": Meaning("snapshot-isolation", _ADYA),
        "ser": Meaning("serializable", _ADYA),
    },
    REAL_TIME: {
        "strict_ser": Meaning(
            "strict-serializable", "Elle's strict levels add the order in time, as ours do"
        ),
    },
}
# Elle's strong-session levels: like its plain ones, but with process order. Only its `rc` differs from the others'.
ELLE_SESSIONS = "sessions, by Elle"
MEANINGS[ELLE_SESSIONS] = {
    **MEANINGS[SESSIONS],
    "rc": Meaning(
        "strong-session-read-committed",
        "Elle's strong-session read committed is Adya's PL-2 with process order",
    ),
}

LENIENT = (
    "Elle does not look for reads of values that nobody wrote in registers (its own test calls that a bug). Here "
    "they are thin air, at every level from read committed up. Without those reads we agree"
)


def family_of(case: Mapping[str, Any]) -> Family:
    """By whose definitions the case was judged."""
    words = str(case["semantics"])
    for part, family in FAMILIES:
        if part in words:
            return ELLE_SESSIONS if family == SESSIONS and words.startswith("Elle") else family
    raise ValueError(f"{case['name']}: no family of definitions is known for {words!r}; add it to FAMILIES")


# --- cases ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Expected:
    """A verdict that is expected at one of our levels, and the word that it follows from."""

    valid: bool
    word: str
    direct: bool  # the word means this very level


@dataclass(frozen=True)
class Case:
    name: str
    sessions: list[list[dict[str, Any]]]
    family: Family
    documented: dict[str, bool]
    """The source's words, and whether the history satisfies them."""
    computed: dict[str, bool] = field(default_factory=dict)
    """The same, as an independent checker of Biswas and Enea's definitions sees it."""
    lenient: dict[str, bool] = field(default_factory=dict)
    """Words that the source accepts although values were read that nobody wrote."""
    source: str = ""
    why: str = ""

    def trace(self) -> Trace:
        return build(self.sessions)

    def without_thin_air(self) -> Trace:
        """The trace, but for reads of values that nobody wrote."""
        written = {(o[1], o[2]) for t in self._transactions() for o in t["ops"] if o[0] == "w"}

        def keeps(op: list[Any]) -> bool:
            return op[0] != "r" or op[2] is None or (op[1], op[2]) in written

        return build([[{**t, "ops": list(filter(keeps, t["ops"]))} for t in s] for s in self.sessions])

    def _transactions(self) -> Iterator[dict[str, Any]]:
        return (t for session in self.sessions for t in session)

    @property
    def size(self) -> int:
        return sum(1 for _ in self._transactions())

    def expected(self) -> dict[str, Expected]:
        """level -> what the documented verdicts say about it."""
        expected = follows(self.documented, self.family)
        if self.family == PLAIN and all(len(session) == 1 for session in self.sessions):
            # Where each transaction is alone in its session, session order adds nothing.
            for name, found in list(expected.items()):
                if any(level.name == f"strong-session-{name}" for level in LEVELS):
                    expected.setdefault(f"strong-session-{name}", Expected(found.valid, found.word, False))
        return expected

    def computed_too(self) -> dict[str, Expected]:
        """level -> what the independent checker says about it. It takes the sessions as they stand."""
        return follows(self.computed, SESSIONS)


def follows(words: Mapping[str, bool], family: Family) -> dict[str, Expected]:
    """What verdicts in a family's words say about each of our levels, as far as they say anything."""
    found: dict[str, Expected] = {}
    for word, valid in words.items():
        meaning = MEANINGS[family][word]
        near = (meaning.level,) if meaning.known else meaning.implies if valid else meaning.implied_by
        for ours in map(find_level, near):
            for level in LEVELS:
                if implies(ours, level) if valid else implies(level, ours):
                    direct = meaning.known and level is ours
                    earlier = found.get(level.name)
                    if earlier is not None and earlier.valid != valid:
                        raise ValueError(f"{word} and {earlier.word} contradict each other at {level.name}")
                    if earlier is None or direct:
                        found[level.name] = Expected(valid, word, direct)
    return found


def load(path: Path) -> list[Case]:
    return [
        Case(
            name=case["name"],
            sessions=case["sessions"],
            family=family_of(case),
            documented=case["expect"],
            computed=case.get("derived", {}),
            lenient=case.get("expect_lenient", {}),
            source=path.stem,
            why=case["why"],
        )
        for case in json.loads(path.read_text(encoding="utf-8"))
    ]


def load_all() -> list[Case]:
    """Every case of the corpus; none where there is no corpus."""
    return [case for path in sorted((CORPUS / "conformance").glob("*.json")) for case in load(path)]


# --- a case as a trace ----------------------------------------------------------------------------------------


def build(sessions: list[list[dict[str, Any]]]) -> Trace:
    """The trace of a neutral-v1 history."""
    first = [t for session in sessions for t in session if t.get("init")]
    initial = {key: value for t in first for _, key, value in t["ops"]}
    ordinary = [t for session in sessions for t in session if not t.get("init")]
    index = Index([op for t in (*first, *ordinary) for op in t["ops"]])
    builder = TraceBuilder([*initial.items(), *index.rows(initial)])
    for number, session in enumerate(sessions):
        for t in session:
            if t.get("init"):
                continue
            b = builder.transaction(
                str(number), outcome=OUTCOMES[t["status"]], begin=t.get("start"), end=t.get("end")
            )
            with b:
                own: dict[Any, Any] = {}
                for op in t["ops"]:
                    record(b, op, index, own)
    return builder.build()


OUTCOMES: dict[str, Any] = {"commit": "committed", "abort": "aborted", "unknown": "unknown"}


def record(b: Any, op: list[Any], index: Index, own: dict[Any, Any]) -> None:
    """One operation. `own`: what its transaction has written so far."""
    kind, key = op[0], op[1]
    if kind == "r":
        b.get(key, Absent if op[2] is None else op[2])
    elif kind == "append":
        b.append(key, op[2])
    elif kind == "rlist":
        b.list(key, op[2])
    elif kind == "rp":
        index.read(b, key, op[2], own)
    elif kind in ("w", "insert", "delete"):
        value = Absent if kind == "delete" else op[2]
        own[key] = value
        if value is Absent:
            b.delete(key)
        else:
            b.put(key, value)
        index.write(b, key, value)
    else:
        raise ValueError(f"unknown operation {kind!r}")


class Index:
    """Elle's predicate reads, in our terms: a predicate is an index, and reading it is a scan of the index.

    The index of a predicate has a row for each key that exists and matches. Who writes a key writes its row, or
    deletes it, at the same time. A key that a predicate read did not return is thereby read as "has no row":
    whether it did not exist or did not match cannot be told apart, which is just what the read said. Two keys with
    the same writers cannot be overwritten in different orders (that is a cycle of ww edges, which every level
    forbids), so the rows say no more and no less than the predicate.
    """

    def __init__(self, operations: list[list[Any]]) -> None:
        self.predicates = list({json.dumps(op[1]): op[1] for op in operations if op[0] == "rp"}.values())
        # A result is a JSON object, whose keys are text: these are the keys meant.
        self.keys = {str(op[1]): op[1] for op in operations if op[0] != "rp"}

    def rows(self, state: Mapping[Any, Any]) -> list[tuple[str, Any]]:
        return [
            (row_of(p, key), value)
            for p in self.predicates
            for key, value in state.items()
            if matches(p, value)
        ]

    def write(self, b: Any, key: Any, value: Any) -> None:
        for p in self.predicates:
            if value is not Absent and matches(p, value):
                b.put(row_of(p, key), value)
            else:
                b.delete(row_of(p, key))

    def read(self, b: Any, predicate: Any, result: Mapping[str, Any], own: Mapping[Any, Any]) -> None:
        """The results leave out the transaction's own writes, which a scan would show: they are put in here."""
        seen = {self.keys[text]: value for text, value in result.items() if self.keys[text] not in own}
        seen |= {k: v for k, v in own.items() if v is not Absent and matches(predicate, v)}
        items = sorted((row_of(predicate, key), value) for key, value in seen.items())
        b.scan(f"{json.dumps(predicate)} ", f"{json.dumps(predicate)}!", items)


def row_of(predicate: Any, key: Any) -> str:
    return f"{json.dumps(predicate)} {key}"


def matches(predicate: Any, value: int) -> bool:
    """`"true"`, `["=", v]` or `["mod", m, r]`."""
    if predicate == "true":
        return True
    if predicate[0] == "=":
        return bool(value == predicate[1])
    if predicate[0] == "mod":
        return bool(value % predicate[1] == predicate[2])
    raise ValueError(f"unknown predicate {predicate!r}")
