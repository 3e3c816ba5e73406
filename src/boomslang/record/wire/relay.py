"""Carries bytes between a client and its database, and lets a watcher look at them first.

A connection has two ends and one watcher. Whatever arrives at an end is given to the watcher, which passes it on
(`wire.to_server`, `wire.to_client`), most often as it is. So the watcher decides what happens first: a record is on
file before the commit that it belongs to is sent, and a time is taken before a statement is forwarded and after its
answer has come.

A watcher that raises has lost its way in the protocol: the connection is closed on both sides, which is told once, and
what was under way is of unknown outcome. An end that cannot take more is waited for by not reading from the other one,
so that nothing piles up here.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from boomslang.errors import UsageError

MUCH = 1 << 18
"""Bytes that may wait for an end before the other one is not read from any more."""


class Malformed(Exception):
    """Bytes that are not of the protocol, or that nobody expected here."""


class Watcher(ABC):
    """What is known of one connection's protocol: it sees both directions, and passes them on.

    Made when a client has connected and the server too. `from_client` and `from_server` get whatever has come, cut
    anywhere; they raise `Malformed` if it makes no sense. After `gone` nothing is called any more."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire

    @abstractmethod
    def from_client(self, data: bytes) -> None: ...

    @abstractmethod
    def from_server(self, data: bytes) -> None: ...

    @abstractmethod
    def gone(self, who: str) -> None:
        """The connection is over: "client" or "server" has closed it, or "proxy" has, whose watcher raised or which is
        being stopped. Called once."""

    def refusal(self, why: str) -> bytes:
        """How the protocol tells a client that the proxy ends the connection; nothing, where it cannot be told now."""
        return b""


class End(asyncio.Protocol):
    """One side of a connection."""

    transport: asyncio.Transport | None = None

    def __init__(self, wire: Wire, name: str) -> None:
        self._wire, self.name = wire, name
        self.other: End | None = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.set_write_buffer_limits(high=MUCH)
        raw = transport.get_extra_info("socket")
        if raw is not None and raw.family in (socket.AF_INET, socket.AF_INET6):
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._wire.connected(self)

    def data_received(self, data: bytes) -> None:
        self._wire.received(self, data)

    def connection_lost(self, error: Exception | None) -> None:
        self._wire.lost(self)

    def pause_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.transport is not None and not self._wire.over:
            self.other.transport.resume_reading()


class Wire:
    """A connection: the client's end, the server's end, and who watches."""

    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self.client, self.server = End(self, "client"), End(self, "server")
        self.client.other, self.server.other = self.server, self.client
        self.watcher: Watcher | None = None
        self.over = False
        self._early: list[bytes] = []
        """What the client said before the server was there."""

    def to_client(self, data: bytes) -> None:
        if self.client.transport is not None:
            self.client.transport.write(data)

    def to_server(self, data: bytes) -> None:
        if self.server.transport is not None:
            self.server.transport.write(data)

    def trouble(self, why: str) -> None:
        """Tell whoever runs the proxy."""
        self._relay.trouble(why)

    def hold_client(self) -> None:
        """Read nothing from the client until `go_on_with_client`."""
        if self.client.transport is not None:
            self.client.transport.pause_reading()

    def go_on_with_client(self) -> None:
        if self.client.transport is not None and not self.over:
            self.client.transport.resume_reading()

    def start_tls(self, then: Callable[[], None]) -> None:
        """Speak TLS to the server from here on, and go on with `then`; nothing is read from the client meanwhile."""
        self.hold_client()
        self._relay.spawn(self._start_tls(then))

    async def _start_tls(self, then: Callable[[], None]) -> None:
        relay, end = self._relay, self.server
        assert end.transport is not None and relay.tls is not None
        loop = asyncio.get_running_loop()
        plain = end.transport
        try:
            made = await loop.start_tls(
                plain, end, relay.tls, server_hostname=relay.host, ssl_handshake_timeout=30
            )
        except (OSError, ssl.SSLError) as error:
            plain.abort()
            self._relay.trouble(f"no TLS with the server: {error}")
            self.end("proxy", f"no TLS with the server: {error}")
            return
        if made is None:
            self.end("server")
            return
        end.transport = made
        made.set_write_buffer_limits(high=MUCH)
        self._careful(then)
        self.go_on_with_client()

    # --- what the ends tell

    def connected(self, end: End) -> None:
        if end is self.client:
            self._relay.spawn(self._connect())

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: self.server, self._relay.host, self._relay.port)
        except OSError as error:
            self._relay.trouble(f"cannot reach the server: {error}")
            self.end("server", f"cannot reach the server: {error}")
            return
        if self.over:
            self._close()
            return

        def begin() -> None:
            self.watcher = self._relay.watch(self)
            for data in self._early:
                self.watcher.from_client(data)
            self._early.clear()

        self._careful(begin)

    def received(self, end: End, data: bytes) -> None:
        if self.over:
            return
        if self.watcher is None:
            self._early.append(data)
            if end is self.client and sum(map(len, self._early)) > MUCH:
                self.hold_client()
            return
        watch = self.watcher.from_client if end is self.client else self.watcher.from_server
        try:
            watch(data)
        except Exception as error:
            self._lost_its_way(error, end.name)

    def _careful(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception as error:
            self._lost_its_way(error, "client")

    def broke(self, error: Exception) -> None:
        """Of a watcher that was called by something else than bytes."""
        self._lost_its_way(error, "client")

    def _lost_its_way(self, error: Exception, side: str) -> None:
        if isinstance(error, Malformed):
            why = f"found bytes from the {side} that are not of the protocol: {error}"
        elif isinstance(error, UsageError):
            why = str(error)
        else:
            why = f"internal error: {type(error).__name__}: {error}"
            self._relay.unexpected(error)
        self._relay.trouble(why)
        self.end("proxy", why)

    def lost(self, end: End) -> None:
        end.transport = None
        self.end(end.name)

    def end(self, who: str, why: str | None = None) -> None:
        """Close both ends, once; what was already given to them is still sent."""
        if self.over:
            return
        self.over = True
        if self.watcher is not None:
            if why is not None:
                self.to_client(self.watcher.refusal(why))
            try:
                self.watcher.gone(who)
            except Exception as error:
                self._relay.trouble(str(error))
                if not isinstance(error, UsageError):
                    self._relay.unexpected(error)
        self._close()
        self._relay.ended(self)

    def _close(self) -> None:
        for end in (self.client, self.server):
            if end.transport is not None:
                end.transport.close()


class Relay:
    """Listens, connects each client to the server, and gives each connection a watcher."""

    def __init__(
        self,
        host: str,
        port: int,
        watch: Callable[[Wire], Watcher],
        *,
        tls: ssl.SSLContext | None = None,
        trouble: Callable[[str], None] = lambda why: None,
        unexpected: Callable[[Exception], None] = lambda error: None,
    ) -> None:
        self.host, self.port, self.tls = host, port, tls
        self.watch = watch
        self.trouble = trouble
        """Told whatever ends a connection that neither side has ended."""
        self.unexpected = unexpected
        """Told errors that are ours."""
        self.connections = 0
        """How many there were."""
        self.wires: set[Wire] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._listener: asyncio.Server | None = None

    async def listen(self, host: str, port: int) -> tuple[str, int]:
        """Where it listens then."""
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(self._accept, host, port, backlog=1024)
        found = self._listener.sockets[0].getsockname()
        return found[0], found[1]

    async def close(self) -> None:
        """End all connections. What was under way is of unknown outcome."""
        if self._listener is not None:
            self._listener.close()
        for wire in list(self.wires):
            wire.end("proxy", "the proxy is being stopped")
        for task in list(self._tasks):
            task.cancel()
        await asyncio.sleep(0.1)  # what was closed says goodbye

    def _accept(self) -> End:
        wire = Wire(self)
        self.wires.add(wire)
        self.connections += 1
        return wire.client

    def ended(self, wire: Wire) -> None:
        self.wires.discard(wire)

    def spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
