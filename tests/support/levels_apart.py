"""Small histories that tell levels apart: for each pair of neighbours in the lattice one that the weaker level allows
and the stronger one does not.

They are written like those of anomalies.py, and `breaks` again names the weakest levels that reject one. Here each
transaction also has a session and times, so that every level can be decided on every history. Unless a history is
about time, all its transactions run at the same time.
"""

from __future__ import annotations

from collections.abc import Callable

from fuzz.traces import told

from boomslang.levels import LEVELS, Level, implies
from boomslang.trace import Trace
from support.anomalies import Case
from support.histories import Absent, Op, Txn, append, get, history, list_, put, scan
from support.histories import txn as timed

POOL: list[Case] = []
LATER = (10, 20)
"""Invoked at the tick at which the others return: that is not after them."""


def tells(name: str, why: str, breaks: str) -> Callable[[Callable[[], Trace]], Callable[[], Trace]]:
    """`why`: one sentence; `breaks`: the short names of the weakest levels that reject it."""

    def add(build: Callable[[], Trace]) -> Callable[[], Trace]:
        POOL.append(Case(name, why, build, tuple(breaks.split()), name))
        return build

    return add


def txn(session: str, *ops: Op, outcome: str = "committed", time: tuple[int, int] = (0, 10)) -> Txn:
    return timed(session, *ops, outcome=outcome, time=time)


def telling(stronger: Level, weaker: Level) -> Case | None:
    """The history that best shows that `weaker` does not imply `stronger`: the stronger level should be among the
    weakest that it breaks; then the shorter the better."""
    candidates = [case for case in POOL if case.verdicts[weaker.name] and not case.verdicts[stronger.name]]
    return min(candidates, key=lambda case: (stronger.short not in case.breaks, _size(case)), default=None)


def _size(case: Case) -> int:
    return len(case.build().op_kind)


def notation(trace: Trace) -> str:
    """The history in a line: `A: x=0? y:=1; B: ...`. A question mark is a read, `:=` a write, `-` absent."""

    def value(v: object) -> str:
        return "-" if v is Absent else str(v)

    def one(op: Op) -> str:
        if op.kind == "put":
            return f"{op.key}:={value(op.value)}"
        if op.kind == "append":
            return f"{op.key}+={value(op.value)}"
        if op.kind == "get":
            return f"{op.key}={value(op.value)}?"
        if op.kind == "list":
            return f"{op.key}={list(op.elements)}?"
        assert op.kind == "scan"
        return f"{op.low}..{op.high}={{{', '.join(f'{k}={value(v)}' for k, v in op.items)}}}?"

    txns = told(trace)
    in_time = len({(t.begin, t.end) for t in txns}) > 1
    parts = []
    for t in txns:
        when = f" [{t.begin}, {t.end}]" if in_time else ""
        gone = " (aborted)" if t.outcome == "aborted" else ""
        parts.append(f"{t.session}{when}: {' '.join(one(op) for op in t.ops)}{gone}")
    return "; ".join(parts)


# --- what was read ---


@tells("a dirty write of lists", "A came before B in list x and after it in list y.", "ru")
def _() -> Trace:
    return history(
        txn("A", append("x", 1), append("y", 1)),
        txn("B", append("x", 2), append("y", 2)),
        txn("C", list_("x", [1, 2])),
        txn("D", list_("y", [2, 1])),
    )


@tells("an aborted read", "B reads what A took back: only read uncommitted does not look at reads.", "rc")
def _() -> Trace:
    return history(txn("A", put("x", 1), outcome="aborted"), txn("B", get("x", 1)))


@tells(
    "a lost update",
    "A and B both overwrite the x that both had read, so one of them overwrote what it had not seen; each saw a whole "
    "state, which is all that prefix asks.",
    "cs",
)
def _() -> Trace:
    return history(txn("A", get("x", Absent), put("x", 1)), txn("B", get("x", Absent), put("x", 2)))


@tells("a fractured read", "B sees A's y and not A's x: half of a transaction.", "ra rr")
def _() -> Trace:
    return history(txn("A", put("x", 1), put("y", 1)), txn("B", get("x", Absent), get("y", 1)))


@tells(
    "a fractured read, the new first",
    "The same, but when B finds the old x it has already read from A: it goes back in time.",
    "rc-be ra rr",
)
def _() -> Trace:
    return history(txn("A", put("x", 1), put("y", 1)), txn("B", get("y", 1), get("x", Absent)))


@tells(
    "a fractured scan",
    "B sees A's y, and its scan misses A's x: a phantom, which item reads cannot show.",
    "ra",
)
def _() -> Trace:
    return history(txn("A", put("x", 1), put("y", 1)), txn("B", scan("x", "y", {}), get("y", 1)))


@tells(
    "a fractured scan, the new first", "The same, but B read from A before its scan missed A's x.", "rc-be ra"
)
def _() -> Trace:
    return history(txn("A", put("x", 1), put("y", 1)), txn("B", get("y", 1), scan("x", "y", {})))


@tells(
    "an answer without its question",
    "B answered A, and C sees the answer without what it answers; it read nothing from A, so no transaction was seen "
    "in part.",
    "causal rr",
)
def _() -> Trace:
    return history(
        txn("A", put("x", 1)), txn("B", get("x", 1), put("y", 1)), txn("C", get("y", 1), get("x", Absent))
    )


@tells(
    "an answer without its question, by scan",
    "The same, but C misses the question in a scan: repeatable read lets phantoms pass.",
    "causal",
)
def _() -> Trace:
    return history(
        txn("A", put("x", 1)), txn("B", get("x", 1), put("y", 1)), txn("C", get("y", 1), scan("x", "y", {}))
    )


@tells(
    "a long fork",
    "C saw A's write before B's and D saw B's before A's: no single order of commits has both states; nobody depends "
    "on what it did not see, so causality is kept.",
    "prefix rr",
)
def _() -> Trace:
    return history(
        txn("A", put("x", 1)),
        txn("B", put("y", 1)),
        txn("C", get("x", 1), get("y", Absent)),
        txn("D", get("x", Absent), get("y", 1)),
    )


@tells(
    "a long fork, by scan",
    "The same with scans: without predicate anti-dependencies nothing is wrong.",
    "prefix",
)
def _() -> Trace:
    return history(
        txn("A", put("x", 1)),
        txn("B", put("y", 1)),
        txn("C", get("x", 1), scan("y", "z", {})),
        txn("D", scan("x", "y", {}), get("y", 1)),
    )


@tells(
    "a write skew",
    "A and B each read what the other writes: from one snapshot both may, one after the other neither.",
    "rr",
)
def _() -> Trace:
    return history(txn("A", get("x", Absent), put("y", 1)), txn("B", get("y", Absent), put("x", 1)))


@tells(
    "a phantom write skew",
    "A and B each scan a range in which the other inserts: no item was read, so repeatable read allows it, and so does "
    "a snapshot.",
    "ser",
)
def _() -> Trace:
    return history(txn("A", scan("x", "y", {}), put("y", 1)), txn("B", scan("y", "z", {}), put("x", 1)))


# --- sessions and time ---


@tells(
    "a session that reads its future",
    "The session's first transaction reads what its second one will write.",
    "strong-session-rc",
)
def _() -> Trace:
    return history(txn("A", get("x", 1)), txn("A", put("x", 1), time=LATER))


@tells(
    "a session that forgets its past",
    "The session does not see its own earlier write, and its clock is too coarse to tell.",
    "strong-session-ra strong-session-rr",
)
def _() -> Trace:
    return history(txn("A", put("x", 1)), txn("A", get("x", Absent), time=LATER))


@tells(
    "a session that forgets its past, by scan",
    "The same with a scan, which misses what the session inserted.",
    "strong-session-ra",
)
def _() -> Trace:
    return history(txn("A", put("x", 1)), txn("A", scan("x", "y", {}), time=LATER))


@tells("a stale read", "B began after A had returned, and does not see what A wrote.", "pl-fcv")
def _() -> Trace:
    return history(txn("A", put("x", 1), time=(0, 10)), txn("B", get("x", Absent), time=(20, 30)))


def unseparated() -> list[tuple[str, str]]:
    """Pairs (a, b) of which the lattice says that a does not imply b, and no history of the pool shows it."""
    verdicts = [case.verdicts for case in POOL]
    return [
        (a.short, b.short)
        for a in LEVELS
        for b in LEVELS
        if not implies(a, b) and not any(v[a.name] and not v[b.name] for v in verdicts)
    ]
