"""`boomslang cat`: some transactions of a trace, for people, or as a trace of their own.

A counterexample says "T17" and "history.jsonl:204"; this shows what T17 did. All that is chosen by (number, name,
session, key) must hold; the choice is made on the columns, so a trace of millions costs no more than its reading.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boomslang.cli import exit_codes
from boomslang.cli.options.trace_input import TRACE, add_format, load
from boomslang.cli.progress import watched
from boomslang.cli.screen import Part, Screen
from boomslang.errors import UsageError
from boomslang.explain.names import short
from boomslang.explain.operation_words import deed
from boomslang.trace import Flag, Kind, Operation, Outcome, Scalar, Scalars, Trace, Transaction
from boomslang.trace.scalars import FAMILY
from boomslang.trace.writer import lines_of

LIMIT = 50
"""Transactions that are shown to a person who does not say how many."""
_STYLE = {Outcome.COMMITTED: "green", Outcome.ABORTED: "red", Outcome.UNKNOWN: "yellow"}

Mask = NDArray[np.bool_]


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Shows transactions: their operations, results, times, and where they stand. Without a choice it "
        f"shows the first {LIMIT}; with several, those for which all hold."
    )
    add_argument = parser.add_argument
    add_argument("trace", metavar="TRACE", help=TRACE)
    add_argument(
        "--txn",
        metavar="N",
        action="append",
        help="by number, as in T7: 7, or 7,9, or 7..12 (both included)",
    )
    add_argument("--name", metavar="NAME", action="append", help="by the name that the trace gives it")
    add_argument("--session", metavar="S", action="append", help="of this session")
    add_argument("--key", metavar="K", action="append", help="that have to do with this key; text, or JSON")
    add_argument("--limit", metavar="L", type=_limit, help=f"at most L (else {LIMIT}; with --json, all)")
    add_format(parser)
    add_argument("--json", action="store_true", help="print them as a trace in JSON Lines")
    parser.set_defaults(run=run)


def _limit(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise argparse.ArgumentTypeError(f"found {text!r}; expected a number")
    return int(text)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    trace = watched(lambda watch: load(arguments.trace, watch, format=arguments.format))
    for warning in trace.warnings:
        screen.warning(warning)
    chosen = np.flatnonzero(choose(trace, arguments))
    limit = arguments.limit if arguments.limit is not None else len(chosen) if arguments.json else LIMIT
    shown = chosen[:limit].tolist()
    if arguments.json:
        _print_json(trace, shown, screen)
        return exit_codes.VALID
    for n, t in enumerate(shown):
        if n:
            screen.line()
        for indent, parts in describe(trace.transaction(t)):
            screen.line(*parts, indent=indent, hang=4)
        if screen.closed:
            break
    if not len(chosen):
        screen.line(
            "no transaction of the trace is like that" if len(trace) else "the trace has no transactions"
        )
    elif len(chosen) > len(shown):
        screen.line()
        screen.line((f"... and {len(chosen) - len(shown):,} more (--limit)", "dim"))
    return exit_codes.VALID


# --- which


def choose(trace: Trace, arguments: argparse.Namespace) -> Mask:
    """The transactions for which all that was asked holds."""
    chosen = np.ones(len(trace), bool)
    if arguments.txn:
        chosen &= _numbers(trace, ",".join(arguments.txn))
    if arguments.name:
        chosen &= np.isin(trace.txn_name, _called(trace.names, arguments.name))
    if arguments.session:
        for name in arguments.session:
            if name not in trace.sessions:
                raise UsageError(f"the trace has no session {name!r}; it has {_some(trace.sessions)}")
        chosen &= np.isin(trace.txn_session, [trace.sessions.index(name) for name in arguments.session])
    if arguments.key:
        chosen &= _touching(trace, _called(trace.keys, arguments.key))
    return chosen


def _numbers(trace: Trace, text: str) -> Mask:
    chosen = np.zeros(len(trace), bool)
    for word in text.split(","):
        match = re.fullmatch(r"T?([0-9]{1,18})(?:\.\.T?([0-9]{1,18}))?", word.strip())
        if not match:
            raise UsageError(
                f"--txn: found {word.strip()!r}; expected a number, such as 7, or a range, such as 7..12"
            )
        first = int(match[1])
        last = int(match[2]) if match[2] else first
        if not first <= last < len(trace):
            there = (
                f"the trace has T0 to T{len(trace) - 1}" if len(trace) else "the trace has no transactions"
            )
            raise UsageError(f"--txn: found {word.strip()!r}; {there}")
        chosen[first : last + 1] = True
    return chosen


def _called(table: Scalars, words: list[str]) -> list[int]:
    """The scalars of a table that the words say, as they stand or as JSON."""
    found: list[int] = []
    length = np.diff(table.offset)
    for wanted in (scalar for word in words for scalar in (word, *_parsed(word))):
        one = Scalars.of([wanted])
        at = np.flatnonzero((table.type == one.type[0]) & (length == len(one.data)))
        bytes_of = table.data[table.offset[at][:, None] + np.arange(len(one.data))]
        found += at[(bytes_of == one.data).all(axis=1)].tolist()
    return found


def _parsed(word: str) -> Iterator[Scalar]:
    try:
        value: Any = json.loads(word)
    except (ValueError, RecursionError):
        return
    if isinstance(value, dict) and list(value) == ["bytes"]:
        try:
            yield bytes.fromhex(value["bytes"])
        except (TypeError, ValueError):
            return
    elif not isinstance(value, dict | list):
        yield value


def _some(names: list[str]) -> str:
    shown = ", ".join(short(name) for name in names[:5])
    return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown or "none"


def _touching(trace: Trace, keys: list[int]) -> Mask:
    """Transactions that wrote or read one of these keys, or looked at a range that holds it."""
    if not keys:
        return np.zeros(len(trace), bool)
    ranges = np.zeros(len(trace.range_lo), bool)
    owner = np.repeat(np.arange(len(trace.range_lo)), np.diff(trace.range_items))
    ranges[owner[np.isin(trace.item_key, keys)]] = True
    looked = np.zeros(len(trace.range_lo), bool)
    looked[trace.op_range[np.isin(trace.op_kind, (Kind.SCAN, Kind.ITERATOR)) & (trace.op_range >= 0)]] = True
    for key in keys:
        ranges |= looked & _holds(trace, key)
    touched = np.isin(trace.op_key, keys)
    touched |= (trace.op_range >= 0) & np.append(ranges, False)[trace.op_range]
    rows = np.concatenate(([0], np.cumsum(touched)))
    touching: Mask = rows[trace.txn_ops[1:]] > rows[trace.txn_ops[:-1]]
    return touching


def _holds(trace: Trace, key: int) -> Mask:
    """The ranges that this key lies in; none, if it holds a list."""
    of_list = np.isin(trace.op_kind, (Kind.APPEND, Kind.LIST)) & (trace.op_flags & Flag.ERROR == 0)
    if (trace.op_key[of_list] == key).any():
        return np.zeros(len(trace.range_lo), bool)
    rank, type = np.append(trace.key_rank, 0), np.append(FAMILY[trace.keys.type], 0)
    lo, hi = trace.range_lo, trace.range_hi
    above = (lo < 0) | ((type[lo] == type[key]) & (rank[lo] <= rank[key]))
    below = (hi < 0) | ((type[hi] == type[key]) & (rank[key] < rank[hi]))
    holds: Mask = above & below
    return holds


# --- how


def describe(t: Transaction) -> Iterator[tuple[int, list[Part]]]:
    """A transaction in lines, with their indents."""
    head: list[Part] = [(f"T{t.index}", "bold cyan")]
    if t.session is not None:
        head.append(f"  session {short(t.session)}")
    if t.name is not None:
        head.append(f"  transaction {short(t.name)}")
    head += ["  ", (t.outcome.name.lower(), _STYLE[t.outcome])]
    if t.begin is not None or t.end is not None:
        clock = f" by the clock {short(t.clock)}" if t.clock else ""
        head.append(f"  {_shown(t.begin)}..{_shown(t.end)}{clock}")
    head.append((f"  {t.where}", "dim"))
    yield 0, head
    if t.ctx is not None:
        yield 4, [("ctx ", "dim"), json.dumps(t.ctx, ensure_ascii=False)]
    for operation in t.operations:
        yield 4, list(_operation(operation))


def _shown(time: int | None) -> str:
    return "?" if time is None else str(time)


def _operation(o: Operation) -> Iterator[Part]:
    yield deed(o)
    if o.error is not None:
        yield (f"  failed: {short(o.error)}", "red")
    if o.invoke is not None or o.return_ is not None:
        yield (f"  {_shown(o.invoke)}..{_shown(o.return_)}", "dim")
    if o.ctx is not None:
        yield (f"  ctx {json.dumps(o.ctx, ensure_ascii=False)}", "dim")
    yield (f"  {o.where}", "dim")


def _print_json(trace: Trace, chosen: list[int], screen: Screen) -> None:
    clocks = sorted(set(trace.txn_clock[chosen].tolist()))
    if len(clocks) > 1:
        names = ", ".join(short(trace.clocks[c]) for c in clocks)
        raise UsageError(
            f"these transactions have {len(clocks)} clocks ({names}), and one file of JSON Lines has one"
        )
    for line in lines_of(trace, chosen):
        screen.json_line(line)
        if screen.closed:
            break
