"""A door in front of each node, through which the others talk to it, and which can be shut.

A node that is cut off must neither hear nor be heard. What comes to its own door is for it; what comes *from* it, at
the others' doors, is known by who holds the other end of the connection: the system tells which process has which
socket (/proc), and the nodes' processes are known. Where that cannot be found out (another system) a shut node
still hears nothing, and its own calls get through.

While a node is cut off nothing is passed on and nobody is told: connections stay open and silent, as with a cable that
is pulled out. When it joins again what was held back is lost, and the connections with it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from weakref import WeakSet

from boomslang.databases.servers.server import HOST

Pids = Callable[[], Sequence[int | None]]
CHUNK = 1 << 16


class Forwarder:
    """Doors for the nodes that listen on these ports. Lives in a thread, and ends with it all."""

    def __init__(self, behind: Sequence[int], pids: Pids) -> None:
        self.behind = list(behind)
        self.ports: list[int] = []
        self._pids = pids
        self._cut: set[int] = set()
        self._held: dict[asyncio.StreamWriter, tuple[int | None, int]] = {}
        self._opened: WeakSet[asyncio.StreamWriter] = WeakSet()
        self._loop = asyncio.new_event_loop()
        up = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(up,), daemon=True, name="forwarder")
        self._thread.start()
        up.wait()

    def cut(self, node: int) -> None:
        self._cut.add(node)

    def join(self, node: int) -> None:
        self._cut.discard(node)
        self._loop.call_soon_threadsafe(self._hang_up, node)

    def close(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(5)

    def _run(self, up: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        doors = []
        for node in range(len(self.behind)):
            server = self._loop.run_until_complete(asyncio.start_server(self._door(node), HOST, 0))
            doors.append(server)
            self.ports.append(server.sockets[0].getsockname()[1])
        up.set()
        self._loop.run_forever()
        for door in doors:
            door.close()
        # A connection that was accepted in the last moment gets its task now, or while the others end.
        self._loop.run_until_complete(asyncio.sleep(0.01))
        while tasks := asyncio.all_tasks(self._loop):
            for task in tasks:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            self._loop.run_until_complete(asyncio.sleep(0))
        for writer in list(self._opened):  # those, too, that wait to pass on what nobody takes any more
            writer.transport.abort()
        self._loop.run_until_complete(asyncio.sleep(0.02))  # what was told to end does so in its next turn
        self._loop.close()

    def _door(
        self, node: int
    ) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[None, None, None]]:
        async def opened(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            source = owner(writer.get_extra_info("peername")[1], self._pids())
            self._held[writer] = (source, node)
            self._opened.add(writer)
            try:
                behind_reader, behind = await asyncio.open_connection(HOST, self.behind[node])
            except (OSError, asyncio.CancelledError):
                self._held.pop(writer)
                writer.close()
                return
            self._held[behind] = (source, node)
            self._opened.add(behind)
            # Cancelled at the end; asyncio would complain of each connection's task that says so.
            with suppress(asyncio.CancelledError):
                await asyncio.gather(
                    self._pass(reader, behind, source, node), self._pass(behind_reader, writer, source, node)
                )

        return opened

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, source: int | None, node: int
    ) -> None:
        with suppress(OSError):
            while chunk := await reader.read(CHUNK):
                if source in self._cut or node in self._cut:
                    continue  # lost on the way
                writer.write(chunk)
                await writer.drain()
        writer.close()
        self._held.pop(writer, None)

    def _hang_up(self, node: int) -> None:
        """Ends the connections of a node: bytes of theirs are lost, so they must not go on."""
        for writer, ends in list(self._held.items()):
            if node in ends:
                writer.close()


def owner(port: int, pids: Sequence[int | None]) -> int | None:
    """Which of these processes made the connection that comes from this port."""
    with suppress(OSError):
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            words = line.split()
            if int(words[1].rpartition(":")[2], 16) != port:
                continue
            name = f"socket:[{words[9]}]"
            for number, pid in enumerate(pids):
                if pid is not None and _holds(pid, name):
                    return number
    return None


def _holds(pid: int, name: str) -> bool:
    with suppress(OSError):
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if str(file.readlink()) == name:
                    return True
    return False
