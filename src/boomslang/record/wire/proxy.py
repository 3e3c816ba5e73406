"""The proxy as a whole: an address to forward to, a place to listen, a trace to write.

    proxy = Proxy("postgres://localhost:5432", Tracer("trace"))
    with proxy.running("127.0.0.1", 6432) as (host, port):
        ...  # clients connect here

An address says where the server is, and nothing about who connects: each client brings its own name and password, which
go by unread. Nothing of them is in the trace, or in a message.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from boomslang.errors import UsageError, did_you_mean
from boomslang.record.sql.text import needs_parser
from boomslang.record.tracer import Tracer
from boomslang.record.wire.engine import Engine, addresses_of
from boomslang.record.wire.relay import Watcher, Wire
from boomslang.record.wire.tunnel import Tunnel

PORTS = {"postgres": 5432, "postgresql": 5432, "mysql": 3306, "mariadb": 3306}
"""Of each kind of address."""
MODES = ("disable", "require", "verify-ca", "verify-full")
"""How TLS is spoken to the server: not; with whoever answers; with whom a certificate vouches for; and by that name."""
FEW_FILES = 8192


@dataclass(frozen=True)
class Address:
    """Where the server is."""

    kind: str
    host: str
    port: int
    sslmode: str = "disable"
    certificates: str | None = None
    """A file of those who may vouch for the server (sslrootcert); else the system's."""

    @classmethod
    def parse(cls, text: str) -> Address:
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError as error:
            raise UsageError(f"found the address {text!r} ({error}); expected {_EXAMPLE}") from None
        if parts.scheme not in PORTS:
            raise UsageError(
                f"found an address that begins with {parts.scheme!r}{did_you_mean(parts.scheme, PORTS)}; expected one "
                f"of {', '.join(PORTS)}, as in {_EXAMPLE}"
            )
        if parts.username is not None or parts.password is not None:
            raise UsageError(
                "found a name or a password in the address of the server; expected neither, for each client brings its "
                f"own; fix: {_EXAMPLE}"
            )
        if not parts.hostname:
            raise UsageError(f"found no host in {text!r}; expected {_EXAMPLE}")
        if parts.path.strip("/"):
            raise UsageError(
                f"found the database {parts.path.strip('/')!r} in the address; expected none, for each client names "
                f"its own; fix: {_EXAMPLE}"
            )
        asked = parse_qs(parts.query, keep_blank_values=True)
        mode = asked.pop("sslmode", ["disable"])[-1]
        roots = asked.pop("sslrootcert", [None])[-1]
        if mode not in MODES:
            raise UsageError(
                f"found sslmode={mode}{did_you_mean(mode, MODES)}; expected one of {', '.join(MODES)}"
            )
        if asked:
            raise UsageError(
                f"found {min(asked)!r} in the address; expected sslmode or sslrootcert, or nothing"
            )
        kind = "postgres" if parts.scheme.startswith("postgres") else "mysql"
        return cls(kind, parts.hostname, port or PORTS[parts.scheme], mode, roots)

    def tls(self) -> ssl.SSLContext | None:
        if self.sslmode == "disable":
            return None
        if self.sslmode == "require":
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            return context
        try:
            context = ssl.create_default_context(cafile=self.certificates)
        except (OSError, ssl.SSLError) as error:
            raise UsageError(f"found no certificates in {self.certificates}: {error}") from None
        context.check_hostname = self.sslmode == "verify-full"
        return context


_EXAMPLE = "postgres://db.example:5432?sslmode=require or mysql://localhost:3306"


def _load_parser(dialect: str) -> None:
    """Before anybody connects: where clients have taken all files that may be open, nothing can be loaded any more."""
    needs_parser()
    import sqlglot

    sqlglot.parse_one("SELECT 1", read=dialect)  # which loads the dialect


def is_loopback(host: str) -> bool:
    """Can only programs of this machine reach it?"""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=1024
        )
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host}:{port} ({error.strerror or error}); fix: --listen another port"
        ) from None


def try_out(address: Address, host: str, port: int) -> None:
    """Can it be served at all? Asked before there is a trace: who corrects a word can name the same folder again."""
    addresses_of(address.host, address.port)
    listen(host, port).close()


class Proxy:
    """Forwards to one server, and records into one trace."""

    def __init__(
        self,
        address: Address | str,
        tracer: Tracer,
        *,
        trouble: Callable[[str], None] = lambda why: None,
        unexpected: Callable[[Exception], None] = lambda error: None,
    ) -> None:
        self.address = Address.parse(address) if isinstance(address, str) else address
        self._tls = self.address.tls()
        self._watch = watching(self.address.kind, tracer, tls=self._tls is not None)
        self._tracer, self._trouble, self._unexpected = tracer, trouble, unexpected
        self._engine: Engine | None = None
        _many_files()

    @property
    def connections(self) -> int:
        """How many there were."""
        return 0 if self._engine is None else self._engine.connections

    @property
    def open(self) -> int:
        """How many there are."""
        return 0 if self._engine is None else len(self._engine.wires)

    @property
    def behind(self) -> int:
        """Bytes that were forwarded and are not understood yet."""
        return 0 if self._engine is None else self._engine.behind

    @property
    def complete(self) -> bool:
        """Nothing is missing in the trace for want of room."""
        return self._engine is None or self._engine.complete

    async def serve(
        self, host: str, port: int, listening: Callable[[str, int], None], stop: asyncio.Event
    ) -> None:
        """Until `stop` is set. `listening` is told where clients can connect."""
        _load_parser(self.address.kind)
        listener = listen(host, port)
        async with AsyncExitStack() as stack:
            stack.callback(listener.close)
            listener.setblocking(False)
            if self._tls is None:
                server = addresses_of(self.address.host, self.address.port)
            else:
                place = (self.address.kind, self.address.host, self.address.port)
                tunnel = Tunnel(*place, self._tls, self._trouble)
                server = [(await stack.enter_async_context(tunnel), 0)]
            engine = self._engine = Engine(
                self._tracer,
                listener,
                server,
                self.address.kind,
                self._watch,
                trouble=self._trouble,
                unexpected=self._unexpected,
            )
            serving = asyncio.get_running_loop().create_task(asyncio.to_thread(engine.serve))
            stopped = asyncio.get_running_loop().create_task(stop.wait())
            try:
                found = listener.getsockname()
                listening(found[0], found[1])
                await asyncio.wait((serving, stopped), return_when=asyncio.FIRST_COMPLETED)
            finally:
                engine.stop()
                stopped.cancel()
                await serving

    @contextmanager
    def running(self, host: str = "127.0.0.1", port: int = 0) -> Iterator[tuple[str, int]]:
        """In a thread, until the end of the block; gives where it listens."""
        found: list[tuple[str, int]] = []
        broke: list[BaseException] = []
        ready = threading.Event()
        loops: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

        async def main() -> None:
            stop = asyncio.Event()
            loops.append((asyncio.get_running_loop(), stop))

            def listening(host: str, port: int) -> None:
                found.append((host, port))
                ready.set()

            await self.serve(host, port, listening, stop)

        def body() -> None:
            try:
                asyncio.run(main())
            except BaseException as error:
                broke.append(error)
            finally:
                ready.set()

        thread = threading.Thread(target=body, name="boomslang proxy", daemon=True)
        thread.start()
        ready.wait()
        try:
            if not found:
                raise broke[0]
            yield found[0]
        finally:
            if loops:
                with suppress(RuntimeError):  # it has ended
                    loops[0][0].call_soon_threadsafe(loops[0][1].set)
            thread.join()


def watching(kind: str, tracer: Tracer, *, tls: bool = False) -> Callable[[Wire], Watcher]:
    """What makes the watcher of a connection."""
    if kind == "postgres":
        from boomslang.record.wire.postgres.watcher import PostgresWatcher

        return lambda wire: PostgresWatcher(wire, tracer, tls=tls)
    from boomslang.record.wire.mysql.watcher import MySQLWatcher

    return lambda wire: MySQLWatcher(wire, tracer)


def _many_files() -> None:
    """A connection is two sockets and a file: as many as the system lets us have."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FEW_FILES if hard == resource.RLIM_INFINITY else min(hard, max(FEW_FILES, soft))
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
