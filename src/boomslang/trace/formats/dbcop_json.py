"""dbcop's histories in JSON: sessions of transactions of events.

    [[{"events": [{"Write": {"variable": 0, "version": 1}}, {"Read": {"variable": 1, "version": null}}],
       "committed": true}, ...], ...]

The array of sessions stands alone, or as "data" in an object that also says how the history was made: dbcop's own
command reads only that object, so it is what is written, with made-up times (dbcop looks at none of them). An event may
also be ["w", 0, 1] or ["r", 1, null]. A version is a number that is written to its variable once; null is the initial
version, and so is 0 where no transaction writes it. What did not commit is aborted. There are no times, and no names:
sessions and their transactions are counted from 1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from boomslang.trace.errors import TraceError
from boomslang.trace.formats.format import Format, Loss, Sample, read_native_file
from boomslang.trace.formats.initial import Mask, keys_of, rows_of
from boomslang.trace.formats.losses import (
    Survey,
    check_spelling,
    lose_hints,
    lose_names,
    lose_times,
    lose_zeros,
    number_of,
    survey,
)
from boomslang.trace.formats.spelling import texts
from boomslang.trace.formats.zeros import zero_is_initial
from boomslang.trace.model import Kind, Outcome, Trace
from boomslang.trace.scalars import INT

TITLE = "dbcop histories in JSON"
SESSIONS = re.compile(r"\s*\[\s*\[")
OBJECT = re.compile(r"\s*\{")
DATA = re.compile(r'"data"\s*:\s*\[')
EVENTS = re.compile(r'"events"\s*:\s*\[')


def recognise(sample: Sample) -> bool:
    text = sample.text
    shaped = SESSIONS.match(text) or (OBJECT.match(text) and DATA.search(text))
    return bool(shaped and EVENTS.search(text))


def read(path: Path, check: Callable[[], None]) -> Trace:
    trace = read_native_file("dbcop-json", path, check)
    refuse_repeated(trace)
    return zero_is_initial(trace)


def refuse_repeated(trace: Trace) -> None:
    """dbcop's histories write each version of a variable once."""
    for row in repeated(trace, rows_of(trace, Kind.PUT))[:1]:
        op = trace.operation(row)
        raise TraceError(
            f"found a second write of version {op.value!r} of variable {op.key!r}; expected each version to be written "
            "once; fix: let the workload count the versions of a variable",
            trace.files[0],
            int(trace.op_line[row]),
        )


def repeated(trace: Trace, rows: Mask) -> list[int]:
    """Of these operations, those whose key and value an earlier one has too."""
    where = np.flatnonzero(rows)
    pairs = trace.op_key[where].astype(np.int64) << 32 | trace.op_value[where]
    first = np.unique(pairs, return_index=True)[1]
    again: list[int] = np.delete(where, first).tolist()
    return again


@dataclass(frozen=True)
class _Plan:
    survey: Survey
    sessions: list[list[int]]


def _plan(trace: Trace) -> _Plan:
    s = survey(trace, (Kind.PUT, Kind.GET), (Outcome.COMMITTED, Outcome.ABORTED))
    check_spelling(s, TITLE, integers=True, nulls=False)
    for what, table, used in (
        ("key", s.trace.keys, keys_of(s.trace, s.rows)),
        ("value", s.trace.values, s.values()),
    ):
        wide = sum(_is_wide(table.content(i)) for i in np.flatnonzero(used & (table.type == INT)).tolist())
        s.lose(wide, f"{what} below 0 or beyond 64 bits, in {TITLE}", f"{what}s below 0 or beyond 64 bits, in {TITLE}",
               fatal=True)  # fmt: skip
    lose_zeros(s)
    again = repeated(s.trace, s.rows & (s.trace.op_kind == Kind.PUT))
    s.lose(len(again), "write of a value that its key has had before: versions differ",
           "writes of values that their key has had before: versions differ", fatal=True)  # fmt: skip
    lose_times(s)
    lose_hints(s)
    sessions = _sessions(s)
    lose_names(s, {t: place for txns in sessions for place, t in enumerate(txns, 1)})
    return _Plan(s, sessions)


def _is_wide(text: bytes) -> bool:
    """An integer that dbcop's command does not take."""
    return text.startswith(b"-") or len(text) > 20 or int(text) >= 2**64


def _sessions(s: Survey) -> list[list[int]]:
    """The transactions of each session in turn; those without one come last, each alone, which says nothing."""
    trace = s.trace
    numbers = [number_of(name) or 0 for name in trace.sessions]
    places = numbers
    if (
        min(numbers, default=1) < 1 or max(numbers, default=0) > 10 * len(numbers) + 100
    ):  # some gaps are no harm
        places = list(range(1, len(numbers) + 1))
        lost = sum(name != str(place) for name, place in zip(trace.sessions, places, strict=True))
        s.lose(lost, "session's name", "sessions' names")
    sessions: list[list[int]] = [[] for _ in range(max(places, default=0))]
    for t in np.flatnonzero(s.txns).tolist():
        session = int(trace.txn_session[t])
        if session >= 0:
            sessions[places[session] - 1].append(t)
        else:
            sessions.append([t])
    return sessions


def losses(trace: Trace) -> list[Loss]:
    return _plan(trace).survey.losses


def write(trace: Trace, path: Path) -> None:
    plan = _plan(trace)
    s, trace = plan.survey, plan.survey.trace
    keys, values = texts(trace.keys), texts(trace.values)
    kinds, op_key, op_value = trace.op_kind.tolist(), trace.op_key.tolist(), trace.op_value.tolist()
    rows, kept = trace.txn_ops.tolist(), s.rows.tolist()

    def transaction(t: int) -> str:
        events = []
        for row in range(rows[t], rows[t + 1]):
            if kept[row]:
                event = "Write" if kinds[row] == Kind.PUT else "Read"
                version = values[op_value[row]] if op_value[row] >= 0 else "null"
                events.append(f'{{"{event}":{{"variable":{keys[op_key[row]]},"version":{version}}}}}')
        committed = "true" if trace.txn_outcome[t] == Outcome.COMMITTED else "false"
        return f'{{"events":[{",".join(events)}],"committed":{committed}}}'

    params = {
        "id": 0,
        "n_node": len(plan.sessions),
        "n_variable": int(keys_of(trace, s.rows).sum()),
        "n_transaction": max(map(len, plan.sessions), default=0),
        "n_event": max((sum(kept[a:b]) for a, b in pairwise(rows)), default=0),
    }
    epoch = "1970-01-01T00:00:00Z"
    head = {"params": params, "info": "written by boomslang", "start": epoch, "end": epoch}
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(json.dumps(head)[:-1] + ', "data": [')
        before = ""
        for txns in plan.sessions:
            file.write(f"{before}[" + ",\n".join(map(transaction, txns)) + "]")
            before = ",\n"
        file.write("]}\n")


FORMAT = Format("dbcop-json", TITLE, recognise, read, losses, write, sign='JSON with "events"')
