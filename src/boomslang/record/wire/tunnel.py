"""TLS towards the server: a socket of ours on one side, an encrypted connection on the other.

The relay carries plain bytes. Where TLS is asked for it connects to a socket in a folder that only this user may open,
and what it sends there goes to the server encrypted. How TLS begins is each protocol's own affair, and is gone here, so
whoever watches the connection knows nothing of it:

- PostgreSQL is asked, and answers "S".
- MySQL greets first; whoever logs in then says so twice, once in short and unencrypted, and once more inside of TLS. So
  what the login consists of is numbered one higher on the server's side than on the client's, up to its end.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from boomslang.record.wire.mysql import handshake as mysql
from boomslang.record.wire.mysql.packets import HEAD, framed
from boomslang.record.wire.postgres import messages, transport
from boomslang.record.wire.relay import Malformed

CHUNK = 1 << 16
PATIENCE = 30.0
"""Seconds for TLS to begin."""
LAST_WORDS = 0.5
"""Seconds for it to end."""
NO_TLS = "the server answered that it speaks none; fix: leave sslmode out"
CLOSED = "the server has closed the connection"

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class NotOffered(Exception):
    """The server speaks no TLS."""


class Tunnel:
    """`async with Tunnel(...) as path`: the path of a socket that leads to the server."""

    def __init__(
        self,
        kind: str,
        host: str,
        port: int,
        context: ssl.SSLContext,
        trouble: Callable[[str], None],
    ) -> None:
        self._kind, self._host, self._port = kind, host, port
        self._context, self._trouble = context, trouble
        self._folder = tempfile.TemporaryDirectory(prefix="boomslang-")
        self._listener: asyncio.Server | None = None
        self._carrying: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> str:
        path = str(Path(self._folder.name) / "server")
        self._listener = await asyncio.start_unix_server(self._carry, path)
        return path

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._listener is not None:
            self._listener.close()
        for task in self._carrying:
            task.cancel()
        await asyncio.gather(*self._carrying, return_exceptions=True)
        self._folder.cleanup()

    async def _carry(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._carrying.add(task)
        try:
            await self._carry_all(near, back)
        finally:
            self._carrying.discard(task)
            await _closed(back)

    async def _carry_all(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        begin = _MySQL(near, back) if self._kind == "mysql" else _Postgres()
        try:
            far, there = await self._open(begin)
        except (OSError, ssl.SSLError, asyncio.TimeoutError, asyncio.IncompleteReadError) as error:
            await self._refuse(back, begin, f"no TLS with the server: {error or type(error).__name__}")
            return
        except (NotOffered, Malformed) as error:
            await self._refuse(back, begin, f"no TLS with the server: {error}")
            return
        try:
            await begin.log_in(far, there)
            ways = [asyncio.ensure_future(_pump(near, there)), asyncio.ensure_future(_pump(far, back))]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
        except (OSError, ssl.SSLError, asyncio.IncompleteReadError):
            pass  # one of them has gone, which the other is told by the end of its connection
        finally:
            await _closed(there)

    async def _refuse(self, back: asyncio.StreamWriter, begin: _Postgres | _MySQL, why: str) -> None:
        self._trouble(why)
        with suppress(OSError):
            back.write(begin.refusal(why))
            await back.drain()

    async def _open(self, begin: _Postgres | _MySQL) -> Streams:
        sock = await asyncio.wait_for(self._connect(), PATIENCE)
        try:
            await begin.ask(sock)
            return await asyncio.open_connection(
                sock=sock, ssl=self._context, server_hostname=self._host, ssl_handshake_timeout=PATIENCE
            )
        except BaseException:
            sock.close()
            raise

    async def _connect(self) -> socket.socket:
        loop = asyncio.get_running_loop()
        why: OSError = OSError("no address")
        for family, kind, _, _, place in await loop.getaddrinfo(
            self._host, self._port, type=socket.SOCK_STREAM
        ):
            sock = socket.socket(family, kind)
            sock.setblocking(False)
            try:
                await loop.sock_connect(sock, place)
                return sock
            except OSError as error:
                why = error
                sock.close()
            except BaseException:
                sock.close()
                raise
        raise why


class _Postgres:
    """How TLS begins."""

    async def ask(self, sock: socket.socket) -> None:
        """The server has said that it begins now."""
        await _send(sock, transport.ASK_FOR_TLS)
        answer = await _receive(sock, 1)
        if answer != b"S":
            raise NotOffered(NO_TLS if answer else CLOSED)

    async def log_in(self, far: asyncio.StreamReader, there: asyncio.StreamWriter) -> None:
        """The login is as it is without."""

    def refusal(self, why: str) -> bytes:
        return messages.refusal(why)


class _MySQL:
    def __init__(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        self._near, self._back = near, back
        self._login = b""
        self._number = 0
        """Of a message to the client now."""

    async def ask(self, sock: socket.socket) -> None:
        greeting = await self._greeting(sock)
        self._back.write(greeting)
        await self._back.drain()
        # Whoever connects may take the time that it wants: it is the client's.
        head = await self._near.readexactly(HEAD)
        login = await self._near.readexactly(int.from_bytes(head[:3], "little"))
        self._number = head[3] + 1
        self._login, short = mysql.with_tls(login)
        await _send(sock, framed(short, head[3]))

    async def _greeting(self, sock: socket.socket) -> bytes:
        head = await _receive(sock, HEAD)
        greeting = await _receive(sock, int.from_bytes(head[:3], "little"))
        if len(head) < HEAD or not greeting:
            raise NotOffered(CLOSED)
        if greeting[0] == 0xFF:
            raise NotOffered(f"the server refused: {greeting[3:].decode('utf-8', 'replace')}")
        if not mysql.offers_tls(greeting):
            raise NotOffered(NO_TLS)
        return head + greeting

    async def log_in(self, far: asyncio.StreamReader, there: asyncio.StreamWriter) -> None:
        """Up to the server's last word on it. The two sides take turns, beginning with the client; which of them speaks
        next is in what the server says, so both are listened to."""
        there.write(framed(self._login, self._number))
        answering = asyncio.ensure_future(self._answers(there))
        try:
            while True:
                head = await far.readexactly(HEAD)
                said = await far.readexactly(int.from_bytes(head[:3], "little"))
                last = said[:1] in (b"\0", b"\xff")
                if last:
                    answering.cancel()
                    with suppress(asyncio.CancelledError, asyncio.IncompleteReadError, OSError):
                        await answering
                self._back.write(head[:3] + bytes(((head[3] - 1) & 0xFF,)) + said)
                await self._back.drain()
                if last:
                    return
        finally:
            answering.cancel()

    async def _answers(self, there: asyncio.StreamWriter) -> None:
        """Of the client, to what the server asks."""
        try:
            while True:
                head = await self._near.readexactly(HEAD)
                said = await self._near.readexactly(int.from_bytes(head[:3], "little"))
                there.write(head[:3] + bytes(((head[3] + 1) & 0xFF,)) + said)
                await there.drain()
        except asyncio.IncompleteReadError:
            there.close()  # it has gone, and the server will say so

    def refusal(self, why: str) -> bytes:
        said = f"boomslang: {why}".encode("utf-8", "replace")[:500]
        state = b"#HY000" if self._number else b""
        return framed(b"\xff" + (1105).to_bytes(2, "little") + state + said, self._number)


async def _send(sock: socket.socket, data: bytes) -> None:
    await asyncio.wait_for(asyncio.get_running_loop().sock_sendall(sock, data), PATIENCE)


async def _receive(sock: socket.socket, size: int) -> bytes:
    """So many bytes; fewer if it ends before. No more than that: what follows is of TLS."""
    loop, made = asyncio.get_running_loop(), b""
    while len(made) < size:
        more = await asyncio.wait_for(loop.sock_recv(sock, size - len(made)), PATIENCE)
        if not more:
            break
        made += more
    return made


async def _closed(writer: asyncio.StreamWriter) -> None:
    """What it was given is sent; whoever does not answer to the end of TLS is not waited for."""
    writer.close()
    try:
        await asyncio.wait_for(writer.wait_closed(), LAST_WORDS)
    except (OSError, ssl.SSLError, asyncio.TimeoutError):
        pass
    finally:
        writer.transport.abort()


async def _pump(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
    with suppress(OSError, ssl.SSLError):
        while data := await source.read(CHUNK):
            to.write(data)
            await to.drain()
