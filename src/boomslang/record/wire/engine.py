"""Understands what the relay carries, behind it: one thread that looks at all connections' bytes, in order.

It runs at a lower priority than the relay (native/wire/relay.hpp), which forwards without it what is plain. When it
falls behind, the relay's bound makes clients wait; when the proxy ends, it catches up first, so the trace is complete.

What the recorder learns is told to the relay: texts of which nothing must be asked (`know`), connections on which they
may be forwarded at once (`fast`). A statement after which names or tables may not be what they were makes everything
held, until it is over and the schema has been read again.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from boomslang.errors import UsageError
from boomslang.record.sql.understanding import A_MOMENT
from boomslang.record.tracer import Tracer
from boomslang.record.wire.relay import Watcher, Wire
from boomslang.record.wire.spool import Kind, Spool, promise_everything, record, said

MOST_WAITING = 64 << 20
"""Bytes that were forwarded and are not understood yet; then clients wait."""
AT_A_TIME = 256
"""Records."""
NICE = 5
PROMPT = 0.05
"""Seconds after which what is recorded is on file."""
LARGE = 1 << 20
"""Bytes of a message that are held; a larger one is not read by anybody."""
FEW_FILES = "too many open files"


class Engine:
    """Of one proxy. `serve` returns when `stop` was called and all is understood."""

    def __init__(
        self,
        tracer: Tracer,
        listener: socket.socket,
        server: list[tuple[str, int]],
        kind: str,
        watch: Callable[[Wire], Watcher],
        *,
        trouble: Callable[[str], None],
        unexpected: Callable[[Exception], None],
    ) -> None:
        from boomslang.record.wire._relay import NativeRelay

        self._watch = watch
        self.trouble, self.unexpected = trouble, unexpected
        self.connections = 0
        """How many there were."""
        self.wires: dict[int, Wire] = {}
        self.odd = 0
        self._place = 0
        """The number of the record that is looked at, or was last."""
        self._spool = Spool(tracer, kind)
        self._relay = NativeRelay(listener.fileno(), server, kind == "mysql", self._spool.fd, MOST_WAITING)
        self._timers: list[tuple[float, Wire, Callable[[], None]]] = []
        self._written: set[Wire] = set()
        self._flush_at = 0.0
        self._stopping = threading.Event()
        self.complete = True
        """All that was forwarded is in the trace, or in doubt there."""
        self._tracer = tracer
        self._unread: set[int] = set()
        """Connections that were ended by us, of which more may have been forwarded."""

    @property
    def behind(self) -> int:
        """Bytes that were forwarded and are not understood yet."""
        return self._relay.waiting

    def stop(self) -> None:
        self._stopping.set()

    def serve(self) -> None:
        carrying = threading.Thread(target=self._relay.run, name="boomslang relay", daemon=True)
        carrying.start()
        with suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        drained = stopping = False
        try:
            while not drained:
                if self._stopping.is_set() and not stopping:
                    stopping = True
                    self._relay.drain()
                for found in self._relay.take(AT_A_TIME, self._patience()):
                    drained = self._look(*found) or drained
                self._wake()
                if self._written and time.monotonic() > self._flush_at:
                    self._flush()
            for wire in list(self.wires.values()):
                wire.end("proxy", "the proxy is being stopped")
        except BaseException:
            self.complete = False
            raise
        finally:
            self._relay.quit()
            carrying.join()
            if self.complete:
                self._spool.settle()
            else:
                self._spool.leave()

    def _flush(self) -> None:
        """Whoever follows the trace waits no longer than that."""
        for wire in self._written:
            if not wire.over and wire.watcher is not None:
                wire.careful(wire.watcher.flush)
        self._written.clear()
        self._flush_at = time.monotonic() + PROMPT

    def _patience(self) -> int:
        """Milliseconds until there is something to do."""
        if self._timers:
            return max(1, int((self._timers[0][0] - time.monotonic()) * 1000))
        return 50

    def _look(self, number: int, kind: int, forwarded: bool, place: int, at: int, data: bytes) -> bool:
        """At one record; True: it is the last one."""
        self._place = place
        wire = self.wires.get(number)
        if wire is None:
            return self._of_nobody(number, kind, forwarded, place, at, data)
        wire.now, wire.record = at, place
        self._written.add(wire)
        if kind == Kind.FROM_CLIENT or kind == Kind.FROM_SERVER:
            if not forwarded and wire.logged_in:
                self._keep_held(wire, kind, data)
            wire.received(kind == Kind.FROM_CLIENT, data, forwarded=forwarded)
            if not forwarded:
                self._after_held(wire)
        elif kind == Kind.CLIENT_CLOSED or kind == Kind.SERVER_CLOSED:
            self._keep(wire, Kind(kind))
            wire.end("client" if kind == Kind.CLIENT_CLOSED else "server")
        return False

    def _of_nobody(self, number: int, kind: int, forwarded: bool, place: int, at: int, data: bytes) -> bool:
        """A record of no connection that there is."""
        if kind == Kind.OPENED:
            self.connections += 1
            wire = self.wires[number] = Wire(self, number)
            wire.now, wire.record = at, place
            wire.careful(lambda: self._begin(wire))
        elif kind == Kind.UNREACHED:
            self.connections += 1
            why = data.decode(errors="replace")
            self.trouble(f"cannot reach the server: {_with_advice(why)}")
            self._relay.close(number)
        elif kind == Kind.TROUBLE:
            self.trouble(_with_advice(data.decode(errors="replace")))
        elif kind == Kind.NO_SPOOL:
            why = data.decode(errors="replace")
            self.complete = False
            self.trouble(
                f"cannot record any further ({why}): found no place for what is forwarded; nothing more is"
            )
            for wire in list(self.wires.values()):
                wire.end("proxy", f"cannot record any further ({why})")
        elif kind == Kind.FROM_CLIENT and forwarded and number in self._unread:
            self._unread.discard(number)
            promise_everything(self._tracer, number)
        return kind == Kind.DRAINED

    def _begin(self, wire: Wire) -> None:
        wire.watcher = self._watch(wire)

    # --- the spool

    def _keep(self, wire: Wire, kind: Kind, data: bytes = b"") -> None:
        self._relay.keep(record(wire.record, wire.now, wire.number, kind, data))

    def _keep_now(self, wire: Wire, kind: Kind) -> None:
        """Of something that no record of this connection brought about."""
        self._relay.keep(record(self._place, wire.now, wire.number, kind))

    def _keep_held(self, wire: Wire, kind: int, data: bytes) -> None:
        """What was held is kept before it is looked at: of the client, as whole messages without passwords."""
        watcher = wire.watcher
        if watcher is None:
            return
        if kind == Kind.FROM_CLIENT:
            data = wire.tail + data
            size = watcher.whole(data)
            data, wire.tail = watcher.masked(data[:size]), data[size:]
            if len(wire.tail) > LARGE:
                data, wire.tail = data + wire.tail[:64] + bytes(len(wire.tail) - 64), b""
            if not data:
                return
        self._keep(wire, Kind(kind), data)

    def _after_held(self, wire: Wire) -> None:
        """May the next be forwarded at once?"""
        watcher = wire.watcher
        if wire.over or watcher is None:
            return
        if not wire.logged_in and (state := watcher.state()) is not None:
            wire.logged_in = True
            self._keep(wire, Kind.LOGGED_IN, said(state))
        if self.odd == 0 and wire.logged_in and not wire.tail and watcher.quiet():
            self._relay.fast(wire.number, wire.record)

    # --- what wires ask for

    def send(self, wire: Wire, to_server: bool, data: bytes) -> None:
        self._relay.send(wire.number, to_server, data)

    def hold(self, wire: Wire, held: bool) -> None:
        self._relay.hold(wire.number, held)

    def know(self, wire: Wire, kind: bytes, text: bytes) -> None:
        self._relay.know(kind, text)

    def know_statement(self, wire: Wire, number: int) -> None:
        self._relay.know_statement(wire.number, number)

    def slow(self) -> None:
        self._relay.slow()

    def ended(self, wire: Wire, by_us: bool) -> None:
        self.wires.pop(wire.number, None)
        self._keep_now(wire, Kind.ENDED)
        if by_us:
            self._unread.add(wire.number)
        self._relay.close(wire.number)

    def later(self, wire: Wire, call: Callable[[], None]) -> None:
        self._timers.append((time.monotonic() + A_MOMENT, wire, call))

    def _wake(self) -> None:
        if not self._timers:
            return
        now = time.monotonic()
        due = [timer for timer in self._timers if timer[0] <= now]
        self._timers = [timer for timer in self._timers if timer[0] > now]
        for _, wire, call in due:
            self._keep_now(wire, Kind.WAITED)
            call()
            self._after_held(wire)


def _with_advice(why: str) -> str:
    if FEW_FILES in why.lower():
        return f"{why}; each takes two sockets and a file; fix: raise the limit (ulimit -n), or open fewer connections"
    return why


def addresses_of(host: str, port: int) -> list[tuple[str, int]]:
    """Where a host can be reached, by numbers."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise UsageError(
            f"found the host {host!r} ({error.strerror or error}); expected one that has an address"
        ) from None
    made: list[tuple[str, int]] = []
    for _, _, _, _, place in found:
        one: Any = (str(place[0]), int(place[1]))
        if one not in made:
            made.append(one)
    return made
