"""A history in the plainest words that say the same, for checkers that know registers and numbers alone.

Keys become numbers, and every write gets a number of its own as its value, so that each read names the one write that
it saw. Rows of the initial state are not there yet: a read of one is a read of nothing. Aborted transactions go, as
nobody read from them, and so do reads of what the same transaction wrote last: they tell nothing of others, and Cobra
ends in an error on them, while dbcop takes them for reads of an intermediate value if one more write follows. Levels
look at which write a read saw and at nothing else of a value, so every verdict stays.
What cannot be said in this way without a guess is refused: whatever is no put or get, an outcome that is not known, a
read whose write is not clear or is none.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from boomslang.trace.formats.format import Loss
from boomslang.trace.formats.initial import Mask
from boomslang.trace.formats.spelling import counted
from boomslang.trace.model import ABSENT, Flag, Initial, Int32, Int64, Kind, Outcome, Trace
from boomslang.trace.scalars import Scalars


def plain(trace: Trace) -> tuple[Trace, list[Loss]]:
    """The same history in numbers, and what that changed. With a fatal loss the trace is as it was."""
    kept: Mask = trace.txn_outcome == Outcome.COMMITTED
    rows = np.repeat(kept, np.diff(trace.txn_ops))
    put, get = rows & (trace.op_kind == Kind.PUT), rows & (trace.op_kind == Kind.GET)
    absent = get & (trace.op_value == ABSENT)
    pair = _pairs(trace, trace.op_key, trace.op_value)
    initial = _pairs(trace, trace.initial_key, trace.initial_value)
    written, writes = np.unique(np.concatenate([pair[put], initial]), return_counts=True)
    read = get & ~absent
    place = np.searchsorted(written, pair[read])
    found = np.zeros(len(place), np.int64)
    inside = place < len(written)
    inside[inside] = written[place[inside]] == pair[read][inside]
    found[inside] = writes[place[inside]]

    lost: list[Loss] = []

    def refuse(number: int, one: str, many: str = "") -> None:
        if number:
            lost.append(Loss(counted(number, one, many), fatal=True))

    unknown = int((trace.txn_outcome == Outcome.UNKNOWN).sum())
    refuse(unknown, "transaction with an unknown outcome", "transactions with an unknown outcome")
    refuse(
        int((rows & ~put & ~get).sum()),
        "operation other than a put or a get",
        "operations other than puts and gets",
    )
    refuse(
        int((rows & (trace.op_flags & Flag.ERROR != 0)).sum()),
        "operation that failed",
        "operations that failed",
    )
    if trace.initial_mode == Initial.UNKNOWN:
        lost.append(Loss("that the initial state is unknown", fatal=True))
    missing = int(np.isin(trace.op_key[absent], trace.initial_key).sum())
    refuse(
        missing, "read that misses a row of the initial state", "reads that miss a row of the initial state"
    )
    refuse(
        int((found == 0).sum()),
        "read of a value that nobody committed",
        "reads of values that nobody committed",
    )
    refuse(
        int((found > 1).sum()),
        "read of a value that was written more than once",
        "reads of values that were written more than once",
    )
    if lost:
        return trace, lost
    if number := int((~kept).sum()):
        lost.append(Loss(f"{counted(number, 'transaction')} that aborted"))
    own = _own_reads(trace, put, read, pair)
    if number := int(own.sum()):
        what = "read of what its transaction wrote last", "reads of what their transaction wrote last"
        lost.append(Loss(counted(number, *what)))
    lost.append(Loss("the names of keys and values: they are numbers", minor=True))
    return _numbered(trace, kept, rows & ~own, put, read, pair, initial), lost


def _pairs(trace: Trace, key: Int32, value: Int32) -> Int64:
    """A number for each (key, value)."""
    joined: Int64 = key.astype(np.int64) * (len(trace.values) + 1) + value + 1
    return joined


def _own_reads(trace: Trace, put: Mask, read: Mask, pair: Int64) -> Mask:
    """The reads of a key that their transaction wrote before, and as it wrote it last."""
    txn = np.repeat(np.arange(len(trace.txn_ops) - 1), np.diff(trace.txn_ops))
    used = np.flatnonzero(put | read)
    used = used[np.lexsort((used, trace.op_key[used], txn[used]))]
    place = np.arange(len(used))
    first = np.ones(len(used), np.bool_)
    first[1:] = (txn[used[1:]] != txn[used[:-1]]) | (trace.op_key[used[1:]] != trace.op_key[used[:-1]])
    start = np.maximum.accumulate(np.where(first, place, 0))
    last_put = np.maximum.accumulate(np.where(put[used], place, -1))
    inside = read[used] & (last_put >= start)
    own: Mask = np.zeros(len(pair), np.bool_)
    own[used[inside]] = pair[used[inside]] == pair[used[last_put[inside]]]
    return own


def _numbered(
    trace: Trace, kept: Mask, rows: Mask, put: Mask, read: Mask, pair: Int64, initial: Int64
) -> Trace:
    """Keys by their order, from 1 on, and values after them: 0 is "nothing is there" in some formats, and Cobra's have
    keys and writes in one space of numbers."""
    numbers = int(put.sum())
    value = np.full(len(trace.op_value), ABSENT, np.int32)
    value[put] = np.arange(numbers)
    order = np.argsort(pair[put], kind="stable")
    sorted_pairs = pair[put][order]
    place = np.searchsorted(sorted_pairs, pair[read])
    seen = np.full(len(place), ABSENT, np.int32)
    from_write = ~np.isin(pair[read], initial)
    seen[from_write] = order[place[from_write]]
    value[read] = seen

    ends = np.concatenate([[0], np.cumsum(rows)])[trace.txn_ops]
    sizes = np.diff(ends)[kept]
    none = np.empty(0, np.int32)

    def of_rows(column: Int32 | None) -> Int32 | None:
        return None if column is None else column[rows]

    rank = np.empty(len(trace.keys), np.int64)
    rank[np.argsort(trace.key_rank, kind="stable")] = np.arange(len(trace.keys))
    return replace(
        trace,
        keys=Scalars.integers(np.arange(1, len(trace.keys) + 1)),
        values=Scalars.integers(np.arange(1, numbers + 1) + len(trace.keys)),
        key_rank=np.arange(len(trace.keys), dtype=np.int64),
        txn_session=trace.txn_session[kept],
        txn_outcome=trace.txn_outcome[kept],
        txn_name=trace.txn_name[kept],
        txn_file=trace.txn_file[kept],
        txn_begin_line=trace.txn_begin_line[kept],
        txn_end_line=trace.txn_end_line[kept],
        txn_begin=trace.txn_begin[kept],
        txn_end=trace.txn_end[kept],
        txn_clock=trace.txn_clock[kept],
        txn_ops=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        txn_ctx=None if trace.txn_ctx is None else trace.txn_ctx[kept],
        op_kind=trace.op_kind[rows],
        op_flags=trace.op_flags[rows],
        op_key=rank[trace.op_key[rows]].astype(np.int32),
        op_value=value[rows],
        op_range=trace.op_range[rows],
        op_line=trace.op_line[rows],
        op_invoke=None if trace.op_invoke is None else np.asarray(trace.op_invoke)[rows],
        op_return=None if trace.op_return is None else np.asarray(trace.op_return)[rows],
        op_ctx=of_rows(trace.op_ctx),
        op_error=of_rows(trace.op_error),
        op_where=of_rows(trace.op_where),
        initial_mode=Initial.EMPTY,
        initial_key=none,
        initial_value=none.copy(),
    )
