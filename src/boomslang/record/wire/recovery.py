"""The trace of a proxy that was killed, made whole: what it had forwarded is looked at again, from its spool.

Watchers see the same bytes in the same order at the same times as they did, or would have done, and ask the same
questions, whose answers are in the spool too; nobody is sent anything. So the trace is the one that the proxy would
have written if it had been stopped in the moment in which it was killed: commits whose answers it had not heard are of
unknown outcome, and everything else is as it was. The trace is written anew; until that is done it says that something
is missing (spool.py), so a recovery that is killed can be done again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections import defaultdict, deque
from collections.abc import Callable
from pathlib import Path

from boomslang.errors import UsageError
from boomslang.record.tracer import Tracer
from boomslang.record.wire import spool
from boomslang.record.wire.relay import Watcher, Wire
from boomslang.record.wire.spool import Kept, Kind


class Replay:
    """In place of the engine: nothing is sent to anybody."""

    def __init__(
        self, tracer: Tracer, watch: Callable[[Wire], Watcher], trouble: Callable[[str], None]
    ) -> None:
        self._tracer, self._watch, self.trouble = tracer, watch, trouble
        self.unexpected: Callable[[Exception], None] = _raise
        self.odd = 0
        self.complete = True
        self.connections = 0
        self._wires: dict[int, Wire] = {}
        self._unread: set[int] = set()
        self._waits: dict[int, deque[Callable[[], None]]] = defaultdict(deque)

    def send(self, wire: Wire, to_server: bool, data: bytes) -> None: ...

    def hold(self, wire: Wire, held: bool) -> None: ...

    def know(self, wire: Wire, kind: bytes, text: bytes) -> None: ...

    def know_statement(self, wire: Wire, number: int) -> None: ...

    def slow(self) -> None: ...

    def ended(self, wire: Wire, by_us: bool) -> None:
        self._wires.pop(wire.number, None)
        if by_us:
            self._unread.add(wire.number)

    def later(self, wire: Wire, call: Callable[[], None]) -> None:
        self._waits[wire.number].append(call)

    def look(self, kept: Kept) -> None:
        wire = self._wires.get(kept.connection)
        if kept.kind is Kind.LOGGED_IN:
            self.connections += 1
            wire = self._wires[kept.connection] = Wire(self, kept.connection)
            wire.now = kept.time
            wire.careful(lambda: self._resume(wire, kept))
        elif wire is None:
            if kept.connection in self._unread and kept.kind is Kind.FROM_CLIENT and kept.forwarded:
                self._unread.discard(kept.connection)
                spool.promise_everything(self._tracer, kept.connection)
        elif kept.kind in (Kind.FROM_CLIENT, Kind.FROM_SERVER):
            wire.now = kept.time
            wire.received(kept.kind is Kind.FROM_CLIENT, kept.data, forwarded=kept.forwarded)
        elif kept.kind is Kind.WAITED:
            if self._waits[kept.connection]:
                self._waits[kept.connection].popleft()()
        elif kept.kind is Kind.CLIENT_CLOSED:
            wire.end("client")
        elif kept.kind is Kind.SERVER_CLOSED:
            wire.end("server")
        elif kept.kind is Kind.ENDED:
            wire.end("proxy")

    def _resume(self, wire: Wire, kept: Kept) -> None:
        wire.watcher = self._watch(wire)
        state = json.loads(kept.data)
        if state["unread"]:
            spool.promise_everything(self._tracer, kept.connection)
        wire.watcher.resume(state)

    def close(self) -> None:
        for wire in list(self._wires.values()):
            wire.end("proxy")


def _raise(error: Exception) -> None:
    raise error


def recover(folder: Path, trouble: Callable[[str], None] = lambda why: None) -> int:
    """Make the trace of a proxy that was killed whole; returns how many connections it has."""
    from boomslang.record.wire.proxy import watching

    path = folder / spool.NAME
    before = spool.beginning(path)
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(
                f"found a proxy that is still recording into {folder}; expected one that was killed; fix: stop it, "
                "and the trace is complete"
            ) from None
        spool.begin_anew(folder, before["process"], before["files"])
        tracer = Tracer.join(folder, clock=before["clock"], parameters=before["parameters"])
        tracer.process = before["process"]
        replay = Replay(tracer, watching(before["kind"], tracer), trouble)
        for kept in spool.read(path):
            replay.look(kept)
        replay.close()
        if not replay.complete:
            raise UsageError(f"{folder}: cannot write the trace; fix: make room, and recover again")
        (folder / f"{spool.UNREAD}.jsonl").unlink(missing_ok=True)
        path.unlink()
        return replay.connections
    finally:
        os.close(fd)
