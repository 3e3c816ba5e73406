"""Every pair of formats: what both can carry goes through one, then through the other, and is the same history.

A new format is covered as soon as it is registered. Histories come in flavours, from plain puts and gets, which
every format can carry, to all that ours can say. A format names what it would lose; names, hints and times apart,
which are no part of what was read and written, a pair that loses something is left out.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import strategies
from support.effort import examples

from boomslang.trace import Absent, Trace, TraceBuilder, read_trace, typed
from boomslang.trace.formats import FORMATS, Format, recognise

WRITABLE = [format for format in FORMATS if format.write is not None]
APART = re.compile(r"\b(names?|hints?|clocks?|times?)\b(?!\))")
"""In what is lost: what `history` does not look at. ("(3 times)" is how often something else is lost.)"""
FLAVOURS = ("written", "plain", "duplicates", "outcomes", "times", "lists", "strings", "initial", "rich")


# --- histories


@st.composite
def histories(draw: st.DrawFn, flavour: str) -> Trace:
    if flavour == "rich":
        return draw(strategies.traces(strategies.Mix(transactions=(1, 4), times=("none",))).filter(len))
    keys: list[Any] = ["x", "y_1"] if flavour == "strings" else [1, 2]
    initial = {key: 100 + key for key in keys} if flavour == "initial" else None
    b = TraceBuilder(initial)
    had: dict[Any, list[Any]] = {key: [100 + key] if initial else [] for key in keys}
    free = dict.fromkeys("123", 0)  # when each session may go on
    fresh = iter(range(1, 1000))
    absent = flavour != "written" and draw(st.booleans())  # are there reads of keys that are not there?
    for _ in range(draw(st.integers(1, 6))):
        session = draw(st.sampled_from(sorted(free)))
        begin = free[session] + draw(st.integers(0, 3))
        end = free[session] = begin + draw(st.integers(0, 9))
        times = {"begin": begin, "end": end} if flavour == "times" else {}
        odd = ("committed", "aborted", "unknown") if flavour == "outcomes" else ("committed",)
        with b.transaction(session, outcome=draw(st.sampled_from(odd)), **times) as t:
            for _ in range(draw(st.integers(1, 4))):
                key, writes = draw(st.sampled_from(keys)), draw(st.booleans())
                writes |= flavour != "lists" and not absent and not had[key]
                if flavour == "duplicates":
                    value: Any = draw(st.integers(0, 2))
                else:
                    value = f"v{next(fresh)}" if flavour == "strings" else next(fresh)
                if writes:
                    had[key].append(value)
                    (t.append if flavour == "lists" else t.put)(key, value)
                elif flavour == "lists":
                    t.list(key, had[key][: draw(st.integers(0, len(had[key])))])
                else:
                    t.get(key, draw(st.sampled_from(had[key] + [Absent] * absent)))
    return b.build()


# --- what is the same


def history(trace: Trace) -> Any:
    """What a trace says about reads and writes: each session's transactions in order, and the initial state. Sessions
    have no order among them, and some formats name them anew."""

    def plain(x: Any) -> Any:
        return tuple(plain(y) for y in x) if isinstance(x, list | tuple) else typed(x)

    sessions: dict[Any, list[Any]] = {}
    for t in trace.transactions():
        ranges: dict[int, int] = {}
        told = []
        for o in t.operations:
            place = ranges.setdefault(o.iterator, len(ranges))
            said = (o.key, o.value, o.found, o.lo, o.hi, sorted(map(plain, o.items)), o.elements, o.end)
            told.append((o.kind.name, place, o.error is not None, plain(said)))
        sessions.setdefault(t.session if t.session is not None else (None, t.index), []).append(
            (t.outcome.name, told)
        )
    return sorted(sessions.values()), trace.initial_mode.name, sorted(plain(trace.initial()))


def same_precedence(a: Trace, b: Trace) -> bool:
    """Had the same transactions returned before others began? Told by session and place in it; not at all, if the
    sessions have new names."""
    return set(a.sessions) != set(b.sessions) or _precedence(a) == _precedence(b)


def _precedence(trace: Trace) -> set[tuple[Any, Any]]:
    seen: Counter[str | None] = Counter()
    timed = []
    for t in trace.transactions():
        timed.append(((t.session, seen[t.session]), t.begin, t.end))
        seen[t.session] += 1
    return {
        (a, b)
        for a, _, end in timed
        for b, begin, _ in timed
        if end is not None and begin is not None and end < begin
    }


# --- through the formats


def carries(format: Format, trace: Trace) -> bool:
    return all(loss.minor or (APART.search(loss.what) and not loss.fatal) for loss in format.losses(trace))


def keeps_times(format: Format, trace: Trace) -> bool:
    return not any("time" in loss.what for loss in format.losses(trace))


def through(format: Format, trace: Trace, folder: Path) -> Trace:
    path = folder / f"{len(list(folder.iterdir()))}.{format.name}"
    assert format.write is not None
    format.write(trace, path)
    assert recognise(path).name == format.name
    return read_trace(path, format=format.name)


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("first", WRITABLE, ids=lambda format: format.name)
def test_a_history_survives_every_second_format(first: Format, flavour: str) -> None:
    @settings(max_examples=examples(8))
    @given(histories(flavour))
    def run(trace: Trace) -> None:
        if not carries(first, trace):
            return
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            once = through(first, trace, folder)
            assert history(once) == history(trace), first.name
            timed = trace.has_times and keeps_times(first, trace)
            if timed:
                assert same_precedence(once, trace), first.name
            for second in WRITABLE:
                if not carries(second, once):
                    continue
                twice = through(second, once, folder)
                assert history(twice) == history(trace), f"{first.name}, then {second.name}"
                if timed and keeps_times(second, once):
                    assert same_precedence(twice, trace), f"{first.name}, then {second.name}"

    run()


@pytest.mark.parametrize("format", WRITABLE, ids=lambda format: format.name)
def test_no_format_is_left_out(format: Format) -> None:
    """Each can carry one of the simplest histories, or the tests above would say nothing about it."""
    carried = 0
    for key in (1, "x"):
        for times in ({}, {"begin": 1, "end": 2}):
            b = TraceBuilder()
            with b.transaction("1", **times) as t:
                t.put(key, 7)
                t.get(key, 7)
            carried += carries(format, b.build())
    assert carried
