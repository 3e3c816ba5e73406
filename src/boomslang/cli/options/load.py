"""The options that say which load is put on which database: what `run` and `hunt` share."""

from __future__ import annotations

import argparse
import re
from typing import Any

from boomslang.cli.options.limits import add_limits
from boomslang.cli.options.report import report_option


def add(parser: argparse.ArgumentParser, *, txns: int, txns_are: str, sessions: int | None) -> None:
    def option(name: str, help: str, **more: Any) -> None:
        parser.add_argument(f"--{name}", help=help, **more)

    number = {"type": _any_count, "metavar": "N"}
    count = {"type": _count, "metavar": "N"}
    several: dict[str, Any] = {"action": "append", "default": []}
    else_sessions = "" if sessions is None else f"; else {sessions}"
    option(
        "db",
        "a database or its address (see `boomslang db list`); else sqlite",
        default="sqlite",
        metavar="DB",
    )
    option(
        "db-level", "the level the database is asked for, by its own name; else its default", metavar="NAME"
    )
    option(
        "others-at",
        "the level of every other session, by its own name: one that promises no less than --db-level",
        metavar="NAME",
    )
    option("workload", "the load (see `boomslang workloads`)", required=True, metavar="NAME")
    option("sessions", f"clients at a time{else_sessions}", default=sessions, **count)
    option("txns", f"transactions {txns_are}; else {txns:,}", default=txns, **count)
    option("keys", "how many keys (or users, accounts, ...: `boomslang workloads` says of what)", **count)
    option("ops", "operations in a transaction", **count)
    option("values", "distinct values; 0: no value is written twice", **number)
    option("distribution", "of keys: uniform, zipf[:EXPONENT] or hotspot[:KEYS:ACCESSES]", metavar="NAME")
    option("reads", "of a hundred operations (or transactions), how many read", **number)
    option("appends", "appends to a list, about, before another takes its place", **count)
    option("width", "of the widest range, in keys", **count)
    option(
        "pause",
        "milliseconds, on average, before an operation or a commit: before one in eight, eight times as long; else 0",
        **number,
    )
    option("seed", "the same seed gives the same transactions; else 0", default=0, **number)
    option("retries", "try what the database aborted up to N times more", default=0, **number)
    option(
        "fault",
        "kill-client=N, kill-server=N or cut=N: so often in a run; may be given several times; none: none",
        metavar="FAULT",
        **several,
    )
    option(
        "faults",
        "of a cluster's nodes, when and how long: 'at 10s pause node2 for 5s; at 20s kill node1 for 3s' (pause, slow, "
        "kill, cut)",
        default="",
        metavar="SCHEDULE",
    )
    option(
        "module",
        "for the check, what else is known or asked for (see `boomslang check --help`)",
        metavar="MODULE",
        **several,
    )


def add_answer(parser: argparse.ArgumentParser) -> None:
    """The options of the check that follows, and of the answer."""
    add_limits(parser, "give up the check")
    report_option(parser)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print JSON")
    how.add_argument("--quiet", "-q", action="store_true", help="print nothing but errors and warnings")


def _any_count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,12}", text):
        raise argparse.ArgumentTypeError(f"found {text!r}; expected a whole number")
    return int(text)


def _count(text: str) -> int:
    if (number := _any_count(text)) < 1:
        raise argparse.ArgumentTypeError(f"found {text!r}; expected 1 or more")
    return number
