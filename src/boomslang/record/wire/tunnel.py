"""TLS towards the server: a socket of ours on one side, an encrypted connection on the other.

The relay carries plain bytes. Where TLS is asked for it connects to a socket in a folder that only this user may open,
and what it sends there goes to the server encrypted. PostgreSQL's way to begin TLS (ask, and hear "S") is gone here, so
whoever watches the connection knows nothing of it.
"""

from __future__ import annotations

import asyncio
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
        except (
            OSError,
            ssl.SSLError,
            asyncio.TimeoutError,
            asyncio.IncompleteReadError,
            NotOffered,
        ) as error:
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
        far, there = await asyncio.open_connection(self._host, self._port)
        plain = there.transport
        try:
            there.write(transport.ASK_FOR_TLS)
            if await asyncio.wait_for(far.readexactly(1), PATIENCE) != b"S":
                raise NotOffered("the server answered that it speaks none; fix: leave sslmode out")
            loop = asyncio.get_running_loop()
            reader = asyncio.StreamReader()
            protocol = asyncio.StreamReaderProtocol(reader)
            made = await loop.start_tls(
                plain,
                protocol,
                self._context,
                server_hostname=self._host,
                ssl_handshake_timeout=PATIENCE,
            )
            if made is None:
                raise NotOffered("the server has closed the connection")
            protocol.connection_made(made)
        except BaseException:
            plain.abort()
            raise
        return reader, asyncio.StreamWriter(made, protocol, reader, loop)


class NotOffered(Exception):
    """The server speaks no TLS."""


async def _pump(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
    with suppress(OSError, ssl.SSLError):
        while data := await source.read(CHUNK):
            to.write(data)
            await to.drain()
