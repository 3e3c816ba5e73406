"""What a trace holds that a format cannot say: the part of it that is alike for all formats.

A format names the kinds of operations and the outcomes it has; `survey` then tells what is left of a trace, as
masks, and what is lost, in words. The rest (times, names, hints) is each format's own business.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from boomslang.trace.formats.format import Loss
from boomslang.trace.formats.initial import Mask, keys_of, rows_of
from boomslang.trace.formats.spelling import counted
from boomslang.trace.formats.zeros import zero_is_initial
from boomslang.trace.model import ABSENT, NO_TIME, Flag, Initial, Kind, Outcome, Trace
from boomslang.trace.scalars import BYTES, INT, NULL, Scalars

WORDS = {
    Kind.PUT: "write",
    Kind.GET: "read",
    Kind.DELETE: "delete",
    Kind.SCAN: "scan",
    Kind.ITERATOR: "iterator",
    Kind.NEXT: "step of an iterator",
    Kind.APPEND: "append",
    Kind.LIST: "list read",
    Kind.SELECT: "select",
}


@dataclass(frozen=True)
class Survey:
    """What of a trace can be written."""

    trace: Trace
    """With reads of given initial values as reads of nothing."""
    txns: Mask
    rows: Mask
    losses: list[Loss]

    def lose(
        self, number: int, one: str, many: str = "", *, fatal: bool = False, minor: bool = False
    ) -> None:
        if number:
            self.losses.append(Loss(counted(number, one, many), fatal, minor))

    def values(self) -> Mask:
        """By value: is it in what is written?"""
        trace = self.trace
        used = np.zeros(len(trace.values), np.bool_)
        held = trace.op_value[self.rows]
        used[held[held >= 0]] = True
        used[trace.item_value[self.items()]] = True
        return used

    def items(self) -> Mask:
        """The elements of the lists that are read in it."""
        trace = self.trace
        ranges = trace.op_range[self.rows & (trace.op_kind == Kind.LIST)]
        edges = np.zeros(len(trace.item_value) + 1, np.int64)
        np.add.at(edges, trace.range_items[ranges], 1)
        np.add.at(edges, trace.range_items[ranges + 1], -1)
        return np.cumsum(edges)[:-1] > 0


def survey(trace: Trace, kinds: tuple[Kind, ...], outcomes: tuple[Outcome, ...]) -> Survey:
    """What is left of the trace where there are only such operations and outcomes."""
    losses: list[Loss] = []
    trace = _from_nothing(trace, losses)
    txns = np.isin(trace.txn_outcome, outcomes)
    rows = rows_of(trace, *kinds)
    result = Survey(trace, txns, rows & np.repeat(txns, np.diff(trace.txn_ops)), losses)
    result.lose(
        int((~txns & (trace.txn_outcome == Outcome.UNKNOWN)).sum()),
        "transaction whose outcome is unknown: it would have to be committed or aborted",
        "transactions whose outcome is unknown: they would have to be committed or aborted",
        fatal=True,
    )
    result.lose(int((~txns & (trace.txn_outcome == Outcome.ABORTED)).sum()), "aborted transaction")
    if not txns.any():
        losses.append(Loss("everything: no transaction is left", fatal=True))
    failed = (trace.op_flags & Flag.ERROR) != 0
    result.lose(int(failed.sum()), "failed operation")
    for kind, word in WORDS.items():
        if kind not in kinds:
            many = "steps of iterators" if kind == Kind.NEXT else ""
            result.lose(int(((trace.op_kind == kind) & ~failed).sum()), word, many)
    timed = np.zeros(len(trace.op_kind), np.bool_)
    for column in (trace.op_invoke, trace.op_return):
        if column is not None:
            timed |= column != NO_TIME
    result.lose(int(timed.sum()), "operation's own times", "operations' own times")
    if trace.op_ctx is not None:
        result.lose(int((trace.op_ctx >= 0).sum()), "operation's hints", "operations' hints")
    return result


def _from_nothing(trace: Trace, losses: list[Loss]) -> Trace:
    """The trace as if the database had been empty: reads of the initial value become reads of nothing."""
    if trace.initial_mode == Initial.UNKNOWN:
        losses.append(Loss("that the initial state is unknown", fatal=True))
        return trace
    if not len(trace.initial_key):
        return trace
    given = np.full(len(trace.keys), ABSENT, np.int32)
    given[trace.initial_key] = trace.initial_value
    on_key = trace.op_key >= 0
    is_given = on_key & (trace.op_value >= 0)
    is_given[is_given] &= trace.op_value[is_given] == given[trace.op_key[is_given]]
    unclear = rows_of(trace, Kind.PUT) & is_given
    unclear |= rows_of(trace, Kind.GET) & (trace.op_value == ABSENT)
    lost = int((keys_of(trace, unclear & on_key) & (given >= 0)).sum())
    if lost:
        what = counted(lost, "key", "keys")
        losses.append(
            Loss(f"the initial value of {what}, which is also written, or also read as absent", True)
        )
        return trace
    what = counted(len(trace.initial_key), "key", "keys")
    losses.append(Loss(f"the initial value of {what}: a read of it becomes a read of nothing"))
    reads = rows_of(trace, Kind.GET) & is_given
    return replace(trace, op_value=np.where(reads, ABSENT, trace.op_value).astype(np.int32))


def check_spelling(s: Survey, where: str, *, integers: bool, nulls: bool) -> None:
    """Add a loss for keys and values that cannot be written down: in JSON no bytes, and often only integers."""
    keys = keys_of(s.trace, s.rows)
    _spell(s, s.trace.keys, keys, "key", where, integers, nulls=True)
    _spell(s, s.trace.values, s.values(), "value", where, integers, nulls)


def _spell(s: Survey, table: Scalars, used: Mask, what: str, where: str, integers: bool, nulls: bool) -> None:
    types = table.type[used]
    if integers:
        s.lose(int((types != INT).sum()), f"{what} that is no integer, in {where}",
               f"{what}s that are no integers, in {where}", fatal=True)  # fmt: skip
        return
    s.lose(
        int((types == BYTES).sum()),
        f"{what} of bytes, in {where}",
        f"{what}s of bytes, in {where}",
        fatal=True,
    )
    if not nulls:
        s.lose(
            int((types == NULL).sum()), f"null as a value, which stands for nothing in {where}", fatal=True
        )


def lose_zeros(s: Survey) -> None:
    """Where 0 stands for the initial state unless it is written, a read of 0 that nobody wrote cannot be said."""
    trace = zero_is_initial(
        replace(s.trace, op_kind=np.where(s.rows, s.trace.op_kind, Kind.SCAN).astype(np.uint8))
    )
    s.lose(
        int((s.rows & (trace.op_value != s.trace.op_value)).sum()),
        "read of a 0 that nobody wrote: it would be read as the initial state",
        "reads of a 0 that nobody wrote: they would be read as the initial state",
        fatal=True,
    )


def lose_times(s: Survey) -> None:
    trace = s.trace
    timed = s.txns & ((trace.txn_begin != NO_TIME) | (trace.txn_end != NO_TIME))
    s.lose(int(timed.sum()), "transaction's times", "transactions' times")


def unit_lost(trace: Trace) -> list[Loss]:
    """Of a format that keeps the times, but cannot say what a tick is."""
    return [Loss(f"that the times are in {trace.unit}", minor=True)] if trace.unit and trace.has_times else []


def lose_hints(s: Survey) -> None:
    if s.trace.txn_ctx is not None:
        s.lose(int((s.txns & (s.trace.txn_ctx >= 0)).sum()), "transaction's hints", "transactions' hints")


def lose_names(s: Survey, read_as: Mapping[int, int]) -> None:
    """`read_as`: of each transaction that is written, the name it will have when it is read."""
    trace = s.trace
    names = list(trace.names)
    lost = 0
    for t, name in enumerate(trace.txn_name.tolist()):
        if t in read_as and names[name] is not None:
            lost += not (type(names[name]) is int and names[name] == read_as[t])
    s.lose(lost, "transaction's name", "transactions' names", minor=True)


def number_of(session: str) -> int | None:
    """The number that a session's name is, if it is one."""
    return int(session) if _NUMBER.fullmatch(session) else None


_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")
