"""What was forwarded and may not be understood yet, in a file beside the trace.

The relay writes to it before it forwards (native/wire/relay.cpp); what it held, the engine adds, without passwords and
without logins, of which only the state in which they ended is kept. All records have numbers, in the order in which
they are looked at; in the file some come later than they are due, so it is sorted when it is read.

A proxy that ends has understood everything, and takes the spool away. After one that was killed it is there, and
`boomslang proxy --recover` reads it (recovery.py). Until then the trace says by itself that something is missing: a
transaction of a session of its own began with the words that it may write everything, and has no end.
"""

from __future__ import annotations

import fcntl
import json
import os
import struct
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from boomslang.errors import UsageError
from boomslang.record.session import Session
from boomslang.record.sql.schema import EVERYTHING
from boomslang.record.sql.understanding import ROWS
from boomslang.record.tracer import Tracer, clock_name

NAME = "wire.spool"
UNREAD = "unread+ahead"
"""The session that says so."""
UNFINISHED = (
    "a proxy is still recording into this folder, or was killed; fix: stop it, or, if there is none, run boomslang "
    "proxy --recover FOLDER, and check again"
)
LOST = "a connection sent something that the proxy could not read, which may have written anything"
HEAD = struct.Struct("<QqIBBHI")


class Kind(IntEnum):
    """Of records, as native/wire/relay.hpp has them; from 100 on they are ours."""

    OPENED = 0
    FROM_CLIENT = 1
    FROM_SERVER = 2
    CLIENT_CLOSED = 3
    SERVER_CLOSED = 4
    UNREACHED = 5
    TROUBLE = 6
    NO_SPOOL = 7
    DRAINED = 8
    LOGGED_IN = 100
    WAITED = 101
    ENDED = 102
    """By the proxy."""


@dataclass(frozen=True, order=True)
class Kept:
    """A record of the spool."""

    number: int
    place: int
    """In the file: what was kept at the same record."""
    time: int
    connection: int
    kind: Kind
    forwarded: bool
    """Before anybody had looked at it."""
    data: bytes


def record(number: int, time: int, connection: int, kind: Kind, data: bytes = b"") -> bytes:
    return HEAD.pack(number, time, connection, kind, 0, 0, len(data)) + data


def said(thing: dict[str, Any]) -> bytes:
    return json.dumps(thing).encode()


class Spool:
    """Of a proxy that runs. Its first line says what the folder held before: what is there beyond it is made anew."""

    def __init__(self, tracer: Tracer, kind: str) -> None:
        """`kind`: of the protocol."""
        self.path = tracer.folder / NAME
        before = {
            "kind": kind,
            "process": os.getpid(),
            "clock": tracer.clock or clock_name(),
            "parameters": tracer.parameters,
            "files": _files(tracer.folder),
        }
        self.fd = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o600)
        fcntl.flock(self.fd, fcntl.LOCK_EX)  # while it is written, nobody recovers it
        self._marker = tracer.session(UNREAD)
        self._marker.log("begin", ctx={"writes": [EVERYTHING], "why": UNFINISHED})
        os.write(self.fd, said(before) + b"\n")

    def settle(self) -> None:
        """All is understood, and on file."""
        settle(self._marker)
        os.close(self.fd)
        self.path.unlink()

    def leave(self) -> None:
        """Something is not: the spool stays, and the trace says so."""
        self._marker.close()
        os.close(self.fd)


def promise_everything(tracer: Tracer, number: int) -> None:
    """A connection of which nobody knows what it did: whatever may be written in the trace is not read from it."""
    with tracer.session(f"unread{number}+ahead") as session:
        session.log("begin", ctx={"writes": [EVERYTHING], "why": LOST})


def settle(marker: Session) -> None:
    """Nothing is unread: its session ends without effect, and is not needed any more."""
    marker.log("abort")
    marker.close()
    marker.path.unlink()


def _files(folder: Path) -> dict[str, str | None]:
    """What is in a trace's folder: the names, and what is in those that are added to."""
    return {
        path.name: path.read_text(encoding="utf-8") if path.suffix == ".txt" else None
        for path in folder.iterdir()
    }


def beginning(path: Path) -> dict[str, Any]:
    """What a spool says of itself."""
    try:
        with path.open("rb") as file:
            made: dict[str, Any] = json.loads(file.readline())
    except OSError as error:
        raise UsageError(
            f"{path}: found nothing to recover ({error.strerror}); expected what a proxy that was killed has left"
        ) from None
    except ValueError:
        raise UsageError(f"{path}: found no beginning; expected a spool of a proxy that was killed") from None
    return made


def begin_anew(folder: Path, process: int, before: dict[str, str | None]) -> None:
    """Take away what a proxy has made in a folder since its spool began, but for what says that something is unread.
    What others have added stays."""
    for path in folder.iterdir():
        ours = path.name.startswith((f"p{process}-", f"{ROWS}.", "unread")) or path.suffix in (
            ".txt",
            ".part",
        )
        if ours and path.name not in before and path.name != f"{UNREAD}.jsonl":
            path.unlink()
    for name, text in before.items():
        if text is not None:
            (folder / name).write_text(text, encoding="utf-8")


def read(path: Path) -> Iterator[Kept]:
    """All that is in a spool, in order; a torn last record is none: it was not forwarded. What is held in memory of a
    record is where it is, so that a spool may be as large as the disk is."""
    numbers, places = array("Q"), array("Q")
    with path.open("rb") as file:
        for number, at in _heads(file, path.stat().st_size):
            numbers.append(number)
            places.append(at)
        for place in np.argsort(np.frombuffer(numbers, np.uint64), kind="stable").tolist():
            file.seek(places[place])
            number, time, connection, kind, forwarded, _, size = HEAD.unpack(file.read(HEAD.size))
            try:
                yield Kept(number, place, time, connection, Kind(kind), bool(forwarded), file.read(size))
            except ValueError:
                raise UsageError(
                    f"{path}: found a record of the kind {kind}; expected a spool of this version of boomslang"
                ) from None


def _heads(file: BinaryIO, end: int) -> Iterator[tuple[int, int]]:
    """The number of each whole record, and where it begins."""
    if not file.readline().endswith(b"\n"):
        return
    at = file.tell()
    while at + HEAD.size <= end:
        file.seek(at)
        number, *_, size = HEAD.unpack(file.read(HEAD.size))
        if at + HEAD.size + size > end:
            return
        yield number, at
        at += HEAD.size + size
