"""What the tests of recorded SQL connections share: a server, and a session's records in short."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from boomslang import check
from boomslang.trace import Outcome, read_trace
from boomslang.verdict import vacuous


@contextmanager
def server(kind: str) -> Iterator[str]:
    """The address of a server of its own; skips where there is none to be had."""
    with started(kind) as running:
        yield running.dsn


@contextmanager
def started(kind: str) -> Iterator[Any]:
    """The server itself, which can be killed."""
    servers = pytest.importorskip("boomslang.databases.servers")
    try:
        running = servers.start_server(kind)
    except servers.ServerMissing as missing:
        pytest.skip(str(missing))
    with running:
        yield running


def address(dsn: str) -> dict[str, Any]:
    """As PyMySQL wants it."""
    parts = urlsplit(dsn)
    return {
        "host": parts.hostname,
        "port": parts.port,
        "user": parts.username,
        "password": parts.password or "",
        "database": parts.path.lstrip("/"),
    }


def recorded(connection: Any) -> list[str]:
    """The lines of its session: "get x=1", "put! x=2" if it failed, ..."""
    shown = []
    for line in map(json.loads, connection.session.path.read_text().splitlines()[1:]):
        failed = "!" if "error" in line else ""
        value = (
            "absent" if line.get("absent") else line.get("value", line.get("found", line.get("items", "")))
        )
        key = line.get("key", "")
        shown.append(f"{line['op']}{failed} {key}{'=' if key != '' else ''}{value}".strip())
    return shown


def outcomes(folder: Path, level: str = "ser") -> list[str]:
    """Of all transactions, which must satisfy the level."""
    trace = read_trace(folder)
    assert not trace.warnings
    verdict = check(trace, level=level)
    assert verdict.valid or (vacuous(trace) and not verdict.invalid)
    return [Outcome(outcome).name.lower() for outcome in trace.txn_outcome]
