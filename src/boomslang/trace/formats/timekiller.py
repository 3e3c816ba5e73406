"""TimeKiller's histories (the checkers Chronos and Aion): a JSON array of transactions with the database's timestamps.

    [{"tid": 1, "sid": 4, "sts": {"p": 10, "l": 0}, "cts": {"p": 12, "l": 0},
      "ops": [{"t": "w", "k": 3, "v": 7}, {"t": "r", "k": 5, "v": null}]}, ...]

`t` is r, w or a (append); a read value may be a list. All transactions are committed. `sts` and `cts` are when the
database says that the transaction started and committed: pairs of a physical and a logical part. They become begin
and end (the places of the pairs in their order where a logical part is not 0), of the clock "database timestamps",
and both are kept as hints. A broken database may hand them out in any order, so here time may run backwards in a
session. A read of null, of [] or of nothing is one of the initial state, and so is one of 0 where no transaction
writes 0 to the key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from boomslang.trace.formats.format import Format, Loss, Sample, read_native_file
from boomslang.trace.formats.initial import empty_lists
from boomslang.trace.formats.losses import (
    Survey,
    check_spelling,
    lose_names,
    lose_zeros,
    number_of,
    survey,
    unit_lost,
)
from boomslang.trace.formats.spelling import texts
from boomslang.trace.formats.zeros import zero_is_initial
from boomslang.trace.model import NO_TIME, Kind, Outcome, Trace

TITLE = "TimeKiller histories in JSON"
CLOCK = "database timestamps"
BEGINS = re.compile(r"\s*\[\s*\{")
OPERATIONS = re.compile(r'"ops"\s*:\s*\[')
TIMESTAMP = re.compile(r'"(?:sts|cts)"\s*:\s*\{')
LETTERS = {Kind.PUT: "w", Kind.GET: "r", Kind.APPEND: "a", Kind.LIST: "r"}

Pairs = list[tuple[tuple[int, int], tuple[int, int]]]


def recognise(sample: Sample) -> bool:
    text = sample.text
    return bool(BEGINS.match(text) and OPERATIONS.search(text) and TIMESTAMP.search(text))


def read(path: Path, check: Callable[[], None]) -> Trace:
    trace = read_native_file("timekiller", path, check)
    return empty_lists(zero_is_initial(trace))


@dataclass(frozen=True)
class _Plan:
    survey: Survey
    txns: list[int]
    tids: dict[int, int]
    sids: dict[int, int]
    times: Pairs


def _plan(trace: Trace) -> _Plan:
    s = survey(trace, tuple(LETTERS), (Outcome.COMMITTED,))
    check_spelling(s, TITLE, integers=True, nulls=False)
    lose_zeros(s)
    txns = np.flatnonzero(s.txns).tolist()
    names = [trace.names[n] for n in trace.txn_name[txns].tolist()]
    numbers = {name for name in names if type(name) is int}
    tids = dict(zip(txns, names if len(numbers) == len(names) else range(1, len(names) + 1), strict=True))
    lose_names(s, tids)
    return _Plan(s, txns, tids, _sids(s, txns), _timestamps(s, txns))


def _sids(s: Survey, txns: list[int]) -> dict[int, int]:
    """Sessions as numbers. A transaction without one has a session of its own, which says nothing."""
    sessions = s.trace.sessions
    numbers = [number_of(name) for name in sessions]
    s.lose(sum(n is None for n in numbers), "session's name", "sessions' names")
    if None in numbers:
        numbers = list(range(1, len(sessions) + 1))
    fresh = max((n for n in numbers if n is not None), default=0)
    sids: dict[int, int] = {}
    for t in txns:
        session = int(s.trace.txn_session[t])
        if session < 0:
            fresh += 1
        number = numbers[session] if session >= 0 else fresh
        assert number is not None
        sids[t] = number
    return sids


def _timestamps(s: Survey, txns: list[int]) -> Pairs:
    trace = s.trace
    begin, end = trace.txn_begin[txns], trace.txn_end[txns]
    s.lose(
        int(((begin == NO_TIME) | (end == NO_TIME)).sum()),
        "transaction without a begin or an end time, which this format must have",
        "transactions without a begin or an end time, which this format must have",
        fatal=True,
    )
    s.losses.extend(unit_lost(trace))
    clocks = {trace.clocks[c] for c in trace.txn_clock[txns].tolist()}
    if len(clocks) > 1:
        s.losses.append(Loss(f"times of {len(clocks)} clocks", fatal=True))
    elif clocks != {CLOCK}:
        s.losses.append(
            Loss("that the times are the clients': in this format they are the database's own timestamps")
        )
    pairs = _hinted(trace, txns)
    if pairs is not None and (_read_as(pairs) == np.stack([begin, end], axis=1)).all():
        return pairs
    if trace.txn_ctx is not None:
        hints = int((trace.txn_ctx[txns] >= 0).sum())
        s.lose(hints, "transaction's hints", "transactions' hints")
    return [((b, 0), (e, 0)) for b, e in zip(begin.tolist(), end.tolist(), strict=True)]


def _hinted(trace: Trace, txns: list[int]) -> Pairs | None:
    """The timestamps as a reading left them in the hints of all transactions."""
    if trace.txn_ctx is None:
        return None
    pairs: Pairs = []
    for hint in trace.txn_ctx[txns].tolist():
        hints: dict[str, Any] = json.loads(trace.texts.text(hint)) if hint >= 0 else {}
        if set(hints) != {"sts", "cts"}:
            return None
        for stamp in hints.values():
            if not (isinstance(stamp, list) and len(stamp) == 2 and all(type(x) is int for x in stamp)):
                return None
            if not all(NO_TIME < x < -NO_TIME for x in stamp):
                return None
        pairs.append((tuple(hints["sts"]), tuple(hints["cts"])))
    return pairs


def _read_as(pairs: Pairs) -> Any:
    """The times that the reader makes of these timestamps."""
    if not any(stamp[1] for pair in pairs for stamp in pair):
        return np.array([[stamp[0] for stamp in pair] for pair in pairs]).reshape(-1, 2)
    order = {stamp: place for place, stamp in enumerate(sorted({s for pair in pairs for s in pair}))}
    return np.array([[order[stamp] for stamp in pair] for pair in pairs])


def losses(trace: Trace) -> list[Loss]:
    return _plan(trace).survey.losses


def write(trace: Trace, path: Path) -> None:
    plan = _plan(trace)
    s, trace = plan.survey, plan.survey.trace
    keys, values = texts(trace.keys), texts(trace.values)
    kinds, op_key, op_value = trace.op_kind.tolist(), trace.op_key.tolist(), trace.op_value.tolist()
    op_range, held, item = trace.op_range.tolist(), trace.range_items.tolist(), trace.item_value.tolist()
    rows, kept = trace.txn_ops.tolist(), s.rows.tolist()
    letters = {int(kind): letter for kind, letter in LETTERS.items()}

    def operation(row: int) -> str:
        if kinds[row] == Kind.LIST:
            elements = item[held[op_range[row]] : held[op_range[row] + 1]]
            value = "[" + ",".join([values[v] for v in elements]) + "]"
        else:
            value = values[op_value[row]] if op_value[row] >= 0 else "null"
        return f'{{"t":"{letters[kinds[row]]}","k":{keys[op_key[row]]},"v":{value}}}'

    with path.open("w", encoding="utf-8", newline="\n") as file:
        before = "["
        for t, (sts, cts) in zip(plan.txns, plan.times, strict=True):
            ops = ",".join([operation(row) for row in range(rows[t], rows[t + 1]) if kept[row]])
            file.write(
                f'{before}{{"tid":{plan.tids[t]},"sid":{plan.sids[t]},"sts":{{"p":{sts[0]},"l":{sts[1]}}},'
                f'"cts":{{"p":{cts[0]},"l":{cts[1]}}},"ops":[{ops}]}}'
            )
            before = ",\n"
        file.write("]\n" if before != "[" else "[]\n")


FORMAT = Format(
    "timekiller", TITLE, recognise, read, losses, write, sign='JSON objects with "ops", "sts" and "cts"'
)
