"""Lists at every level: cases of our own, where the definitions say more than other tools' test suites do.

A list tells the order of its versions, so it shows what registers hide. By the definition (docs/levels.md): a
read of `[e1 ... en]` is a read of en's version and holds all appends up to en and no others; appends that are in
no list read come after the longest one; all elements come from committed transactions; a read after appends of
one's own reads the part before them. The verdicts below were worked out by hand from that and from the levels'
graphs; `why` is the working. They are in the same form as the cases of others (conformance.py), so that the same
tests run over both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from boomslang.trace import Trace
from support.anomalies import NOTHING, holding
from support.public_cases import build

Txn = dict[str, Any]


@dataclass(frozen=True)
class ListCase:
    name: str
    why: str
    sessions: list[list[Txn]]
    breaks: tuple[str, ...]
    """The weakest levels that reject it, as in anomalies.py."""
    anomaly: str | None
    """A code of ours, or -process or -realtime for what only session order or time shows; several, where it has
    another name at some levels."""

    def trace(self) -> Trace:
        return build(self.sessions)

    @property
    def verdicts(self) -> dict[str, bool]:
        """level -> valid?"""
        return holding(self.breaks)


CASES: list[ListCase] = []


def case(
    name: str,
    *sessions: Txn | list[Txn],
    breaks: str,
    anomaly: str | None = None,
    why: str,
) -> None:
    """A transaction that is not in a list has a session of its own."""
    CASES.append(
        ListCase(
            name, why, [s if isinstance(s, list) else [s] for s in sessions], tuple(breaks.split()), anomaly
        )
    )


def txn(*ops: list[Any], outcome: str = "commit", time: tuple[int, int] | None = None) -> Txn:
    times = {} if time is None else {"start": time[0], "end": time[1]}
    return {"status": outcome, "ops": list(ops), **times}


def append(key: str, element: int) -> list[Any]:
    return ["append", key, element]


def read(key: str, *elements: int) -> list[Any]:
    return ["rlist", key, list(elements)]


def put(key: str, value: int) -> list[Any]:
    return ["w", key, value]


def get(key: str, value: int | None) -> list[Any]:
    return ["r", key, value]


# --- the order of versions is seen ----------------------------------------------------------------------------

case(
    "nobody looks",
    txn(append("x", 1), append("y", 1)),
    txn(append("x", 2), append("y", 2)),
    breaks=NOTHING,
    why="Without a read no order is known, and one of the two serial orders will do.",
)
case(
    "dirty write",
    txn(append("x", 1), append("y", 1)),
    txn(append("x", 2), append("y", 2)),
    txn(read("x", 1, 2), read("y", 2, 1)),
    breaks="ru",
    anomaly="G0",
    why="x says that A is before B, y that B is before A: a cycle of ww, which even read committed forbids.",
)
case(
    "dirty write, seen by two",
    txn(append("x", 1), append("y", 1)),
    txn(append("x", 2), append("y", 2)),
    txn(read("x", 1, 2)),
    txn(read("y", 2, 1)),
    breaks="ru",
    anomaly="G0",
    why="The order of versions is the same for everybody, whoever saw which part of it.",
)
case(
    "one transaction's appends with another's in between",
    txn(append("x", 1), append("x", 2)),
    txn(append("x", 3)),
    txn(read("x", 1, 3, 2)),
    breaks="ru",
    anomaly="G0",
    why="3 comes after 1 and before 2, which are of one transaction: A -ww-> B -ww-> A.",
)
case(
    "one transaction's appends together",
    txn(append("x", 1), append("x", 2)),
    txn(append("x", 3)),
    txn(read("x", 3, 1, 2)),
    breaks=NOTHING,
    why="B, A, reader.",
)
case(
    "incompatible orders",
    txn(append("x", 1)),
    txn(append("x", 2)),
    txn(read("x", 1, 2)),
    txn(read("x", 2, 1)),
    breaks="ru",
    anomaly="G0",
    why="1 was appended before 2, and 2 before 1: no order of x's versions has both.",
)
case(
    "incompatible ends",
    txn(append("x", 1)),
    txn(append("x", 2)),
    txn(append("x", 3)),
    txn(read("x", 1, 2)),
    txn(read("x", 1, 3)),
    breaks="rc",
    anomaly="G0",
    why="Each read holds all appends up to its last: 2 comes right after 1, and so does 3.",
)
case(
    "an append is lost",
    txn(append("x", 1)),
    txn(read("x", 1), append("x", 2)),
    txn(read("x", 2)),
    breaks="rc",
    anomaly="G0",
    why="One read says that 1 is the first element, another that 2 is.",
)
case(
    "an append that nobody saw is not lost",
    txn(append("x", 1)),
    txn(append("x", 2)),
    txn(read("x", 2)),
    breaks=NOTHING,
    why="1 is in no read, so it comes after the longest: B, reader, A.",
)
case(
    "an append that nobody saw, in a session",
    [txn(append("x", 1)), txn(append("x", 2))],
    txn(read("x", 2)),
    breaks="strong-session-rc",
    anomaly="-process",
    why="1 comes after 2, but its session appended it first: a cycle of ww and so, at every strong-session level.",
)
case(
    "an append that nobody saw, in time",
    txn(append("x", 1), time=(0, 1)),
    txn(append("x", 2), time=(2, 3)),
    txn(read("x", 2), time=(4, 5)),
    breaks="pl-fcv",
    anomaly="-realtime",
    why="1 comes after 2, but A had returned before B was invoked: a cycle of ww and rt.",
)
case(
    "an append after the longest read",
    txn(append("x", 1)),
    txn(append("x", 2), append("y", 1)),
    txn(read("y", 1), read("x", 1)),
    breaks="ra rr rc-be",
    anomaly="G-single",
    why="2 is in no read, so it comes after 1, and the reader, who saw B's y, did not see B's x.",
)
case(
    "the same with registers",
    txn(put("x", 1)),
    txn(put("x", 2), put("y", 1)),
    txn(get("y", 1), get("x", 1)),
    breaks=NOTHING,
    why="Nothing says that B overwrote A: B, A, reader.",
)
case(
    "an empty read says that all appends come later",
    txn(append("x", 1), append("y", 1)),
    txn(get("x", None), read("y", 1)),
    breaks="ra rr",
    anomaly="G-single",
    why="A get that finds nothing is a read of the empty list, and A's y was seen.",
)

# --- elements that cannot be there ----------------------------------------------------------------------------

case(
    "aborted read",
    txn(append("x", 1), outcome="abort"),
    txn(read("x", 1)),
    breaks="rc",
    anomaly="G1a",
    why="The only append of 1 was taken back.",
)
case(
    "dirty update",
    txn(append("x", 1), outcome="abort"),
    txn(append("x", 2)),
    txn(read("x", 1, 2)),
    breaks="rc",
    anomaly="G1a",
    why="The version that was read is committed, but it was built on one that was not.",
)
case(
    "dirty update that was not read",
    txn(append("x", 1), outcome="abort"),
    txn(append("x", 2)),
    txn(read("x", 1, 2), outcome="abort"),
    txn(read("x", 2)),
    breaks=NOTHING,
    why="What aborted transactions read does not count.",
)
case(
    "intermediate read",
    txn(append("x", 1), append("x", 2)),
    txn(read("x", 1)),
    breaks="rc",
    anomaly="G1b",
    why="A's version ends with 2; the list that ends with 1 was never committed.",
)
case(
    "intermediate read of one's own",
    txn(append("x", 1), read("x", 1), append("x", 2)),
    txn(read("x", 1, 2)),
    breaks=NOTHING,
    why="One sees one's own appends as they are made.",
)
case(
    "an element twice",
    txn(append("x", 1)),
    txn(append("x", 2)),
    txn(read("x", 1, 2, 1)),
    breaks="ru",
    anomaly="duplicate-elements G0",
    why="1 was appended once.",
)
case(
    "an element from nowhere",
    txn(append("x", 1)),
    txn(append("x", 2)),
    txn(read("x", 1, 7, 2)),
    breaks="rc",
    anomaly="thin-air",
    why="Nobody appended 7.",
)
case(
    "an element of another list",
    txn(append("x", 1)),
    txn(append("y", 2)),
    txn(read("y", 1, 2)),
    breaks="rc",
    anomaly="thin-air",
    why="1 was appended, but to x.",
)

# --- information flow -----------------------------------------------------------------------------------------

case(
    "circular information flow",
    txn(append("x", 1), read("y", 1)),
    txn(append("y", 1), read("x", 1)),
    breaks="rc",
    anomaly="G1c",
    why="Each read the other's append: wr, wr.",
)
case(
    "circular information flow through an overwrite",
    txn(append("x", 1), read("y", 1)),
    txn(append("x", 2), append("y", 1)),
    txn(read("x", 1, 2)),
    breaks="rc",
    anomaly="G1c",
    why="A -ww-> B on x, B -wr-> A on y.",
)
case(
    "circular information flow through a session",
    txn(read("x", 1), append("y", 1)),
    [txn(read("y", 1)), txn(append("x", 1))],
    breaks="strong-session-rc",
    anomaly="-process",
    why="Without the session: C, A, B. With it B -so-> C -wr-> A -wr-> B.",
)
case(
    "read skew",
    txn(append("x", 1), append("y", 1)),
    txn(read("x", 1), read("y")),
    breaks="ra rr rc-be",
    anomaly="G-single",
    why="A -wr-> B on x, B -rw-> A on y.",
)
case(
    "read skew through an overwrite",
    txn(append("x", 1), append("y", 1)),
    txn(append("x", 2), read("y")),
    txn(read("x", 1, 2)),
    breaks="pl-2+ rr",
    anomaly="G-single",
    why="A -ww-> B on x, B -rw-> A on y. Under snapshot isolation B began after A's commit, and before it.",
)
case(
    "non-repeatable read",
    txn(read("x"), read("x", 1)),
    txn(append("x", 1)),
    breaks="ra rr",
    anomaly="G-single",
    why="B -wr-> A, A -rw-> B.",
)
case(
    "a list that shrinks",
    txn(append("x", 1)),
    txn(append("x", 2)),
    txn(read("x", 1, 2), read("x", 1)),
    breaks="ra rr rc-be",
    anomaly="G-single",
    why="C saw B's append, and then the version that B overwrote.",
)
case(
    "lost update",
    txn(append("x", 0)),
    txn(read("x", 0), append("x", 1)),
    txn(read("x", 0), append("x", 2)),
    breaks="cs",
    anomaly="lost-update",
    why="Both saw [0]; whichever was second did not see the first.",
)
case(
    "long fork",
    txn(append("x", 1)),
    txn(append("y", 1)),
    txn(read("x", 1), read("y")),
    txn(read("x"), read("y", 1)),
    breaks="rr prefix",
    anomaly="G-nonadjacent",
    why="C has A before B, D has B before A; two rw edges, and they are not adjacent, so no snapshot helps.",
)
case(
    "write skew",
    txn(read("x"), append("y", 1)),
    txn(read("y"), append("x", 1)),
    breaks="rr",
    anomaly="G2-item",
    why="Two adjacent rw edges: snapshot isolation accepts. Reads of lists are item reads: repeatable read does not.",
)
case(
    "three in a circle",
    txn(read("x"), append("y", 1)),
    txn(read("y"), append("z", 1)),
    txn(read("z"), append("x", 1)),
    breaks="rr",
    anomaly="G2-item",
    why="Three rw edges: each may have begun before any of them committed.",
)

# --- one's own appends ----------------------------------------------------------------------------------------

case(
    "own append on top of another's",
    txn(append("x", 1)),
    txn(append("x", 2), read("x", 1, 2)),
    breaks=NOTHING,
    why="The part before one's own append is a read of A's version.",
)
case(
    "own append on top of another's, and circular",
    txn(append("x", 1), read("y", 1)),
    txn(append("x", 2), read("x", 1, 2), append("y", 1)),
    breaks="rc",
    anomaly="G1c",
    why="The part before B's own append is a read of A's version, and A read B's y.",
)
case(
    "own append on top of a change",
    txn(append("x", 1)),
    txn(read("x"), append("x", 2), read("x", 1, 2)),
    breaks="cs ra",
    anomaly="lost-update G-single",
    why="B saw the empty list, and yet its own append comes after A's: A -ww-> B, B -rw-> A.",
)
case(
    "own append not seen",
    txn(append("x", 1), read("x")),
    breaks="rc",
    anomaly="internal",
    why="One sees what one has appended.",
)
case(
    "own append not last",
    txn(append("x", 1), read("x", 1, 2)),
    txn(append("x", 2)),
    breaks="rc",
    anomaly="internal",
    why="Nobody can append after an append that is not committed yet.",
)
case(
    "own later append read",
    txn(read("x", 1), append("x", 1)),
    breaks="rc",
    anomaly="future-read",
    why="The only append of 1 had not been made.",
)

# --- sessions and time ----------------------------------------------------------------------------------------

case(
    "a session's list shrinks",
    txn(append("x", 1)),
    txn(append("x", 2)),
    [txn(read("x", 1, 2)), txn(read("x", 1))],
    breaks="strong-session-causal strong-session-rr",
    anomaly="-process",
    why="D is before B (rw), B before C (wr), C before D (so). Read committed knows no rw.",
)
case(
    "a stale list",
    txn(append("x", 1), time=(0, 1)),
    txn(append("x", 2), time=(2, 3)),
    txn(read("x", 1), time=(4, 5)),
    txn(read("x", 1, 2), time=(6, 7)),
    breaks="pl-fcv",
    anomaly="-realtime",
    why="C was invoked after B had returned, and does not see its append.",
)

# --- unknown outcomes -----------------------------------------------------------------------------------------

case(
    "an unknown append that was read",
    txn(append("x", 1), outcome="unknown"),
    txn(append("x", 2)),
    txn(read("x", 1, 2)),
    breaks=NOTHING,
    why="1 is in the list, so A committed.",
)
case(
    "an unknown append that was not read",
    txn(append("x", 1), append("y", 1), outcome="unknown"),
    txn(append("x", 2)),
    txn(read("x", 2), read("y")),
    breaks=NOTHING,
    why="Perhaps A did not happen.",
)
case(
    "an unknown append, read by half",
    txn(append("x", 1), append("y", 1), outcome="unknown"),
    txn(read("x", 1), read("y")),
    breaks="ra rr rc-be",
    anomaly="G-single",
    why="B saw 1 in x, so A committed, and its y is missing.",
)
case(
    "a dirty update through an unknown one",
    txn(append("x", 1), outcome="abort"),
    txn(append("x", 2), outcome="unknown"),
    txn(append("x", 3)),
    txn(read("x", 1, 2, 3)),
    breaks="rc",
    anomaly="G1a",
    why="B committed, for its 2 is in a committed list, and so is A's 1.",
)
case(
    "an unknown append whose own read contradicts",
    txn(append("x", 0)),
    txn(read("x", 0), append("x", 1), outcome="unknown"),
    txn(read("x", 0), append("x", 2)),
    txn(read("x", 0, 1)),
    breaks="cs",
    anomaly="lost-update",
    why="D's read makes B committed, so its read counts: B and C both read [0] and both appended.",
)
