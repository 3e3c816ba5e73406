"""What the tests of the document formats (Jepsen, TimeKiller, dbcop JSON) share.

Histories of registers and lists for writing and reading back, a telling of a trace that does not depend on how its
transactions are numbered, and damage.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from boomslang.trace import Absent, Kind, Outcome, Trace, TraceBuilder, TraceError, typed
from boomslang.trace.formats.format import Format, Sample
from support.paths import CORPUS

MARK = 424242
"""A key to which each transaction writes its number, to be known again by."""


def corpus(name: str) -> Path:
    path = CORPUS / "histories" / name
    if not path.exists():
        pytest.skip("the corpus of public histories is not here")
    return path


def parse(format: Format, text: str | bytes, folder: Path) -> Trace:
    path = folder / "history"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return format.read(path, lambda: None)


def sample(text: str | bytes) -> Sample:
    return Sample(Path("history"), text.encode() if isinstance(text, str) else text)


def seen(trace: Trace) -> list[Any]:
    """Each transaction in short: its operations, as (kind, key, what was written or read)."""
    return [
        (
            t.session,
            t.outcome.name.lower(),
            [
                (o.kind.name.lower(), o.key, list(o.elements) if o.kind == Kind.LIST else o.value)
                for o in t.operations
            ],
        )
        for t in trace.transactions()
    ]


def told(trace: Trace, *, initial: bool = True) -> dict[Any, Any]:
    """By mark: the session, the outcome and the operations. A read of nothing is one, of lists or of registers.

    Without `initial`, reads of nothing count only in what committed.
    """
    found = {}
    for t in trace.transactions():
        mark, ops = None, []
        for o in t.operations:
            if o.kind == Kind.PUT and o.key == MARK:
                mark = o.value
            elif o.kind == Kind.LIST and o.elements:
                ops.append((o.kind, typed(o.key), [typed(e) for e in o.elements]))
            elif o.kind == Kind.LIST or (o.kind == Kind.GET and o.value is Absent):
                if o.kind == Kind.LIST or initial or t.outcome == Outcome.COMMITTED:
                    ops.append(("nothing", typed(o.key), None))
            else:
                ops.append((o.kind, typed(o.key), typed(o.value)))
        found[mark] = (t.session, t.outcome, ops)
    return found


def order(trace: Trace) -> tuple[set[Any], set[Any]]:
    """Which transaction comes before which in its session, and which in real time."""
    marks = [
        next((o.value for o in t.operations if o.kind == Kind.PUT and o.key == MARK), None)
        for t in trace.transactions()
    ]
    txns = list(zip(marks, trace.transactions(), strict=True))
    session = {
        (a, b)
        for i, (a, t) in enumerate(txns)
        for b, u in txns[i + 1 :]
        if t.session is not None and t.session == u.session
    }
    real = {
        (a, b)
        for a, t in txns
        for b, u in txns
        if t.end is not None and u.begin is not None and t.end < u.begin and t.clock == u.clock
    }
    return session, real


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
floats = st.floats(allow_nan=False, allow_infinity=False)
anything = st.one_of(
    st.booleans(),
    st.integers(),
    floats,
    text,
    st.sampled_from([":x", ":a/b", ":é", ": ", ":", "[1 2]", "nil"]),
)


@st.composite
def histories(
    draw: st.DrawFn,
    keys: Any = anything,
    values: Any = anything,
    sessions: tuple[str | None, ...] = (None, "0", "7", "alice", "-3", "007", ":p"),
    outcomes: tuple[str, ...] = ("committed", "committed", "aborted", "unknown"),
    lists: bool = True,
    times: tuple[str, ...] = ("none", "all", "some"),
) -> Trace:
    """A few transactions on registers and lists: whatever they say, it must survive."""
    b = TraceBuilder()
    registers = draw(st.lists(keys, min_size=1, max_size=2, unique_by=typed))
    held: list[Any] = draw(st.lists(keys, max_size=2, unique_by=typed)) if lists else []
    held = [k for k in held if typed(k) not in {typed(r) for r in registers}]
    appended: dict[Any, list[Any]] = {typed(k): [] for k in held}
    timing = draw(st.sampled_from(times))
    clock: dict[str | None, int] = {}

    def tick(session: str | None) -> int | None:
        now = clock.get(session, 0) if session is not None else draw(st.integers(0, 8))
        now += draw(st.integers(0, 3))
        if timing == "none" or (timing == "some" and draw(st.integers(0, 4)) == 0):
            return None
        if session is not None:
            clock[session] = now
        return now

    for number in range(draw(st.integers(1, 6))):
        session = draw(st.sampled_from(sessions))
        begin = tick(session)
        outcome = draw(st.sampled_from(outcomes))
        end = tick(session) if outcome != "unknown" else None
        if begin is not None and end is not None:
            end = max(begin, end)
        t = b.transaction(session, name=number, begin=begin)
        t.put(MARK, number)
        for _ in range(draw(st.integers(0, 3))):
            if held and draw(st.booleans()):
                key = draw(st.sampled_from(held))
                elements = appended[typed(key)]
                if draw(st.booleans()):
                    fresh = draw(values)
                    if typed(fresh) in {typed(e) for e in elements}:
                        continue
                    elements.append(fresh)
                    t.append(key, fresh)
                else:
                    t.list(key, draw(st.lists(st.sampled_from(elements), max_size=3)) if elements else [])
            else:
                key = draw(st.sampled_from(registers))
                match draw(st.integers(0, 2)):
                    case 0:
                        t.put(key, draw(values))
                    case 1:
                        t.get(key, draw(values))
                    case _:
                        t.get(key, Absent)
        if outcome == "committed":
            t.commit(return_=end)
        elif outcome == "aborted":
            t.abort(return_=end)
    return b.build()


def check_damage(
    format: Format, data: bytes, folder: Path, seeds: int, also: Callable[[Trace], None]
) -> None:
    """Cut at every byte, flipped in every bit and shuffled: a history or an error that says where, nothing else."""
    path = folder / "damaged"

    def attempt(damaged: bytes) -> bool:
        path.write_bytes(damaged)
        try:
            also(format.read(path, lambda: None))
        except TraceError as error:
            assert str(path) in str(error) and "expected" in str(error) and "fix: " in str(error), error
            return False
        return True

    for cut in range(len(data)):
        attempt(data[:cut])
    flipped = bytearray(data)
    for at in range(len(data)):
        for bit in range(8):
            flipped[at] ^= 1 << bit
            attempt(bytes(flipped))
            flipped[at] ^= 1 << bit
    rng = random.Random(1)
    for _ in range(seeds):
        out = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(out))
            match rng.randrange(4):
                case 0:
                    del out[at : at + rng.randint(1, 20)]
                case 1:
                    out[at:at] = out[rng.randrange(len(out)) :][: rng.randint(1, 30)]
                case 2:
                    out[at] = rng.choice(b'{}[]()",:\\\n-0123456789eE.tfn#_;N/M\xff\xc3\x00')
                case _:
                    out[at:at] = rng.choice([b"[", b"{", b"#_", b"#x ", b"\\u12", b'"', b"nil", b"null"]) * 3
            if not out:
                break
        attempt(bytes(out))
    assert attempt(data)


def well_formed(trace: Trace) -> None:
    assert trace.txn_ops[0] == 0 and trace.txn_ops[len(trace)] == len(trace.op_kind)
    assert (trace.op_key < len(trace.keys)).all() and (trace.op_value < len(trace.values)).all()
    assert len(list(trace.transactions())) == len(trace)
