"""Jepsen's and Elle's histories: what is common to their two spellings, EDN and JSON.

A history is a sequence of operations. A process invokes a transaction, and its next operation says how that ended:

    {:index 0, :type :invoke, :process 3, :time 10, :f :txn, :value [[:append 1 5] [:r 1 nil]]}
    {:index 1, :type :ok,     :process 3, :time 25, :f :txn, :value [[:append 1 5] [:r 1 [4 5]]]}

`ok` is committed, `fail` aborted, `info` unknown; so is what never completes. The recorder sees one operation after
the other, so the index (the position, if there is none) is the time of begin and end; `:time`, which may tie,
is kept as a hint. The process is the session. In an `ok` a read of nil is one of the initial state; elsewhere it
says that nothing was learnt. An `ok` alone, without its invocation, is a transaction whose begin is not known; a
history without any invocation has no times at all.

Written back, a history with times becomes invocations and completions in the order of the times, and one without
becomes completions only, so that no real time order is made up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from boomslang.distinct import distinct
from boomslang.trace.formats.format import Loss, read_native_file
from boomslang.trace.formats.initial import empty_lists
from boomslang.trace.formats.losses import Survey, check_spelling, lose_names, number_of, survey, unit_lost
from boomslang.trace.formats.spelling import counted
from boomslang.trace.model import ABSENT, NO_TIME, Kind, Outcome, Trace
from boomslang.trace.scalars import INT, STR, Scalars

CLOCK = "jepsen index"
KINDS = (Kind.PUT, Kind.GET, Kind.APPEND, Kind.LIST)
NAMES = {Kind.PUT: "w", Kind.GET: "r", Kind.APPEND: "append", Kind.LIST: "r"}
TYPES = {Outcome.COMMITTED: "ok", Outcome.ABORTED: "fail", Outcome.UNKNOWN: "info"}
LARGEST = 2**63 - 1
KEYWORD = re.compile(r":[^\x00-\x20\x7f\"\\()\[\]{};,@^`~]+")


def read(name: str, path: Path, check: Callable[[], None]) -> Trace:
    trace = empty_lists(read_native_file(name, path, check))
    if (trace.txn_begin == NO_TIME).all():
        nothing = np.full(len(trace), NO_TIME, np.int64)
        trace = replace(trace, txn_end=nothing, clocks=[""])
    return trace


# --- writing: the order of the operations ---


class _Event(NamedTuple):
    """An invocation or a completion, on its way to a line."""

    txn: int
    invokes: bool
    number: int
    """Its index."""


@dataclass(frozen=True)
class Plan:
    """A trace's operations in the order of the file, and what is lost."""

    survey: Survey
    events: list[_Event]
    processes: list[str | None]
    """By transaction."""
    times: list[tuple[int | None, int | None]]
    """By transaction: the `:time` of its invocation and its completion."""

    @property
    def losses(self) -> list[Loss]:
        return self.survey.losses


def plan(trace: Trace, where: str) -> Plan:
    """How to write the trace down, in `where`: the format's title."""
    s = survey(trace, KINDS, (Outcome.COMMITTED, Outcome.ABORTED, Outcome.UNKNOWN))
    check_spelling(s, where, integers=False, nulls=False)
    _lose_reads(s)
    timed = _is_timed(s)
    invoked = (trace.txn_begin != NO_TIME) & timed
    events, exact = _order(s, timed)
    read_as: dict[int, int] = {}
    for event in events:
        read_as.setdefault(event.txn, event.number)
    lose_names(s, read_as)
    times = _times(s, timed and not exact, invoked)
    if None in map(number_of, trace.sessions):
        s.losses.append(Loss("the names of sessions: they are numbered", minor=True))
    return Plan(s, events, _processes(trace, events), times)


def _lose_reads(s: Survey) -> None:
    trace = s.trace
    ended = np.repeat(trace.txn_outcome == Outcome.COMMITTED, np.diff(trace.txn_ops))
    nothing = s.rows & (trace.op_kind == Kind.GET) & (trace.op_value == ABSENT) & ~ended
    s.lose(
        int(nothing.sum()),
        "read of nothing in a transaction that did not commit",
        "reads of nothing in transactions that did not commit",
    )
    if nothing.any():
        s.rows[nothing] = False


def _is_timed(s: Survey) -> bool:
    """Are there times that can be written? If not, they are lost."""
    trace = s.trace
    has_time = (trace.txn_begin != NO_TIME) | (trace.txn_end != NO_TIME)
    if not has_time.any():
        return False
    what = f"the times of {counted(int(has_time.sum()), 'transaction')}"
    if not trace.has_times:
        s.losses.append(Loss(f"{what}: there are only begins, or only ends"))
        return False
    if len(distinct(trace.txn_clock[has_time])) > 1:
        s.losses.append(Loss(f"{what}: they come from several clocks"))
        return False
    last: dict[int, int] = {}
    for session, begin, end in zip(
        trace.txn_session.tolist(), trace.txn_begin.tolist(), trace.txn_end.tolist(), strict=True
    ):
        for time in (begin, end):
            if session >= 0 and time != NO_TIME:
                if time < last.get(session, time):
                    s.losses.append(Loss(f"{what}: they run backwards in a session"))
                    return False
                last[session] = time
    endless = (trace.txn_end == NO_TIME) & (trace.txn_outcome != Outcome.UNKNOWN)
    s.lose(
        int(endless.sum()),
        "transaction's lack of an end time: it would be given one",
        "transactions' lack of an end time: they would be given one",
    )
    s.losses.extend(unit_lost(trace))
    return True


def _order(s: Survey, timed: bool) -> tuple[list[_Event], bool]:
    """The events in the order of the file, and whether their indices are the trace's own times.

    At one time all invocations come before all completions: what meets there is concurrent. Only where a session
    ends one transaction and begins the next at the same time must that be a later round. An event without a time
    of its own comes as late as its session allows.
    """
    trace = s.trace
    if not timed:
        numbers = _increasing_names(trace) or list(range(len(trace)))
        return [_Event(t, False, number) for t, number in enumerate(numbers)], False
    places = _places(s)
    exact = [trace.clocks[c] for c in distinct(trace.txn_clock)] == [CLOCK]
    indices = _own_indices(places) if exact else None
    numbers = indices or list(range(len(places)))
    events = [_Event(p.txn, p.invokes, i) for p, i in zip(places, numbers, strict=True)]
    return sorted(events, key=lambda e: e.number), indices is not None


Moment = tuple[int, int, int]
"""A time, the round at that time, and 0 for invocations or 1 for completions."""
LAST: Moment = (1 << 64, 0, 0)


class _Place(NamedTuple):
    """Where an event belongs; `after` and `before` bound the index of one that has no time of its own."""

    moment: Moment
    txn: int
    invokes: bool
    has_time: bool
    after: int = -1
    before: int = LAST[0]


def _places(s: Survey) -> list[_Place]:
    trace = s.trace
    by_session: dict[object, list[int]] = {}
    for t, session in enumerate(trace.txn_session.tolist()):
        by_session.setdefault(session if session >= 0 else ("alone", t), []).append(t)
    begin, end = trace.txn_begin.tolist(), trace.txn_end.tolist()
    places: list[_Place] = []
    squeezed = 0
    for txns in by_session.values():
        own: list[tuple[Moment | None, Moment | None, int]] = []
        time, turn, ended = NO_TIME, 0, False
        for t in txns:
            first: Moment | None = None
            final: Moment | None = None
            if begin[t] != NO_TIME:
                later = ended and begin[t] == time
                squeezed += later
                turn = turn + later if begin[t] == time else 0
                time, ended = begin[t], False
                first = (time, turn, 0)
            if end[t] != NO_TIME:
                turn = turn if end[t] == time else 0
                time, ended = end[t], True
                final = (time, turn, 1)
            elif first is not None:
                ended = True
            own.append((first, final, -1 if time == NO_TIME else time))
        following = LAST
        for t, (first, final, since) in zip(reversed(txns), reversed(own), strict=True):
            if final is not None:
                places.append(_Place(final, t, False, True))
            else:
                places.append(_Place(following, t, False, False, since, following[0]))
            if first is not None:
                places.append(_Place(first, t, True, True))
            following = first or final or following
    s.lose(
        squeezed,
        "transaction that begins at the time at which another of its session ends: it would be later",
        "transactions that begin at the time at which another of their session ends: they would be later",
    )
    # At one moment a session's transactions keep their order, and each its invocation before its completion.
    return sorted(places, key=lambda p: (p.moment, p.txn, not p.invokes))


def _own_indices(places: list[_Place]) -> list[int] | None:
    """The times as indices, if no two are the same and events without a time find a free one between their bounds."""
    timed = [p.moment[0] for p in places if p.has_time]
    skip = {index: index + 1 for index in timed}  # a way past the taken ones
    if len(skip) < len(timed):
        return None
    top = max(timed)

    def free(index: int) -> int:
        passed = []
        while index in skip:
            passed.append(index)
            index = skip[index]
        for taken in passed:
            skip[taken] = index
        return index

    indices: list[int] = []
    for p in places:
        if p.has_time:
            index = p.moment[0]
        elif p.before == LAST[0]:
            index = top = top + 1
        else:
            index = free(p.after + 1)
            skip[index] = index + 1
        if index >= p.before or index > LARGEST:
            return None
        indices.append(index)
    return indices


def _increasing_names(trace: Trace) -> list[int] | None:
    """The names, if they can stand as indices."""
    if (trace.names.type[trace.txn_name] != INT).any():
        return None
    names = [int(trace.names[n]) for n in trace.txn_name.tolist()]  # type: ignore[arg-type]
    if any(a >= b for a, b in pairwise(names)):
        return None
    return names if not names or (names[0] > NO_TIME and names[-1] <= LARGEST) else None


def _times(s: Survey, own: bool, invoked: Any) -> list[tuple[int | None, int | None]]:
    """`:time` of each invocation and completion: from the hint that a reading left, or else the trace's own."""
    trace = s.trace
    times: list[tuple[int | None, int | None]] = []
    lost = 0
    begin, end = trace.txn_begin.tolist(), trace.txn_end.tolist()
    ctx = trace.txn_ctx.tolist() if trace.txn_ctx is not None else [-1] * len(trace)
    for t, hint in enumerate(ctx):
        pair: tuple[int | None, int | None] = (None, None)
        if own:
            pair = tuple(None if x == NO_TIME else x for x in (begin[t], end[t]))  # type: ignore[assignment]
        if hint >= 0:
            found = _time_hint(json.loads(trace.texts.text(hint)), bool(invoked[t]))
            if found is None:
                lost += 1
            else:
                pair = found
        times.append(pair)
    s.lose(lost, "transaction's hints", "transactions' hints")
    return times


def _time_hint(hints: dict[str, Any], invoked: bool) -> tuple[int | None, int | None] | None:
    """Of {"time": [invocation, completion]}, as the reader writes it; None for anything else."""
    pair = hints.get("time")
    if len(hints) != 1 or not isinstance(pair, list) or not 1 <= len(pair) <= 2:
        return None
    if not all(x is None or (type(x) is int and NO_TIME < x <= LARGEST) for x in pair) or pair[-1] is None:
        return None
    if pair[0] is not None and not invoked:
        return None
    return pair[0], pair[1] if len(pair) == 2 else None


def _processes(trace: Trace, events: list[_Event]) -> list[str | None]:
    """Sessions as numbers, which they are or are given: to Jepsen and Elle a process that is no number is no client,
    and its transactions are none. Transactions without a session need processes of their own if they overlap."""
    found = [number_of(name) for name in trace.sessions]
    numbers = [n for n in found if n is not None]
    if len(numbers) < len(found):
        numbers = list(range(len(found)))
    spelt = [str(number) for number in numbers]
    fresh = max(numbers, default=-1)
    overlap, running, sessions = False, -1, trace.txn_session.tolist()
    for event in events:
        if sessions[event.txn] < 0:
            overlap |= running >= 0 and running != event.txn
            running = event.txn if event.invokes else -1
    processes: list[str | None] = []
    for session in sessions:
        if session >= 0:
            processes.append(spelt[session])
        elif overlap:
            fresh += 1
            processes.append(str(fresh))
        else:
            processes.append(None)
    return processes


# --- writing: the lines ---


def spell(table: Scalars, keyword: Callable[[str], bool]) -> list[str]:
    """Each scalar as EDN or JSON; a text that looks like a keyword as one, where there are keywords."""
    texts = []
    for i, kind in enumerate(table.type.tolist()):
        if kind == INT or (kind == STR and keyword(table.text(i))):
            texts.append(table.text(i))
        else:
            value = table[i]
            texts.append("" if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False))
    return texts


@dataclass(frozen=True)
class Spelling:
    """The marks of EDN or JSON."""

    names: dict[Kind, str]
    separator: str
    nothing: str
    keyword: Callable[[str], bool]

    def scalars(self, table: Scalars) -> list[str]:
        return [self.nothing if text == "null" else text for text in spell(table, self.keyword)]


def lines(p: Plan, spelling: Spelling, line: Callable[..., str]) -> Iterator[str]:
    """`line(index, type, process, time, value)` for each operation."""
    trace = p.survey.trace
    keys, values = spelling.scalars(trace.keys), spelling.scalars(trace.values)
    kinds, op_key, op_value = trace.op_kind.tolist(), trace.op_key.tolist(), trace.op_value.tolist()
    op_range, held, item = trace.op_range.tolist(), trace.range_items.tolist(), trace.item_value.tolist()
    rows, kept = trace.txn_ops.tolist(), p.survey.rows.tolist()
    outcomes = trace.txn_outcome.tolist()
    between, nothing = spelling.separator, spelling.nothing
    put, get, append = int(Kind.PUT), int(Kind.GET), int(Kind.APPEND)
    heads = {int(kind): f"[{name}{between}" for kind, name in spelling.names.items()}

    def value(t: int, invokes: bool) -> str:
        mops = []
        for row in range(rows[t], rows[t + 1]):
            if not kept[row]:
                continue
            kind = kinds[row]
            if kind in (put, append):
                what = values[op_value[row]]
            elif invokes:
                what = nothing
            elif kind == get:
                what = values[op_value[row]] if op_value[row] >= 0 else nothing
            else:
                r = op_range[row]
                what = "[" + between.join([values[v] for v in item[held[r] : held[r + 1]]]) + "]"
            mops.append(f"{heads[kind]}{keys[op_key[row]]}{between}{what}]")
        return "[" + between.join(mops) + "]"

    for event in p.events:
        t = event.txn
        kind = "invoke" if event.invokes else TYPES[Outcome(outcomes[t])]
        time = p.times[t][0 if event.invokes else 1]
        yield line(event.number, kind, p.processes[t], time, value(t, event.invokes))
