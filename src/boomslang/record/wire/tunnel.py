"""TLS towards the server: a socket of ours on one side, an encrypted connection on the other.

The relay carries plain bytes. Where TLS is asked for it connects to a socket in a folder that only this user may open,
and what it sends there goes to the server encrypted. PostgreSQL's way to begin TLS (ask, and hear "S") is gone here, so
whoever watches the connection knows nothing of it.
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

from boomslang.record.wire.postgres import messages, transport

CHUNK = 1 << 16
PATIENCE = 30.0
"""Seconds for TLS to begin."""


class Tunnel:
    """`async with Tunnel(...) as path`: the path of a socket that leads to the server."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext, trouble: Callable[[str], None]) -> None:
        self._host, self._port, self._context, self._trouble = host, port, context, trouble
        self._folder = tempfile.TemporaryDirectory(prefix="boomslang-")
        self._listener: asyncio.Server | None = None

    async def __aenter__(self) -> str:
        path = str(Path(self._folder.name) / "server")
        self._listener = await asyncio.start_unix_server(self._carry, path)
        return path

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._listener is not None:
            self._listener.close()
        self._folder.cleanup()

    async def _carry(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        try:
            far, there = await self._open()
        except (OSError, ssl.SSLError, asyncio.TimeoutError, NotOffered) as error:
            why = f"no TLS with the server: {error or type(error).__name__}"
            self._trouble(why)
            with suppress(OSError):
                back.write(messages.refusal(why))
                await back.drain()
            back.close()
            return
        ways = [asyncio.ensure_future(_pump(near, there)), asyncio.ensure_future(_pump(far, back))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            for writer in (there, back):
                writer.close()

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        loop = asyncio.get_running_loop()
        sock = await asyncio.wait_for(self._ask(loop), PATIENCE)
        try:
            return await asyncio.open_connection(
                sock=sock, ssl=self._context, server_hostname=self._host, ssl_handshake_timeout=PATIENCE
            )
        except BaseException:
            sock.close()
            raise

    async def _ask(self, loop: asyncio.AbstractEventLoop) -> socket.socket:
        """A connection to the server, which has said that TLS begins now."""
        why: OSError = OSError("no address")
        for family, kind, _, _, place in await loop.getaddrinfo(
            self._host, self._port, type=socket.SOCK_STREAM
        ):
            sock = socket.socket(family, kind)
            sock.setblocking(False)
            try:
                await loop.sock_connect(sock, place)
                await loop.sock_sendall(sock, transport.ASK_FOR_TLS)
                answer = await loop.sock_recv(sock, 1)
                if answer != b"S":
                    raise NotOffered(
                        "the server answered that it speaks none; fix: leave sslmode out"
                        if answer
                        else "the server has closed the connection"
                    )
                return sock
            except OSError as error:
                why = error
                sock.close()
            except BaseException:
                sock.close()
                raise
        raise why


class NotOffered(Exception):
    """The server speaks no TLS."""


async def _pump(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
    with suppress(OSError, ssl.SSLError):
        while data := await source.read(CHUNK):
            to.write(data)
            await to.drain()
