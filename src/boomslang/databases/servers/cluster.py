"""Several servers that are one database: started together on loopback, and gone together.

A node is a `Server`, with a watcher of its own: none of them outlives whoever started the cluster. Nodes can be met by
faults one by one. What all of them can have is done to their processes: `pause` stops them, `slow` stops them most of
the time, in short turns, `kill` ends them and `restart` brings them back; a clock can be moved where the program asks
the C library for the time (moved_clock.py). To `cut` a node off from the others differs from one kind of cluster to the
next.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import ClassVar

from boomslang.databases.servers.moved_clock import MovedClock
from boomslang.databases.servers.server import START, Program, Server, ServerFailed
from boomslang.databases.servers.watcher import below
from boomslang.errors import UsageError

RUNNING, STOPPED = 0.01, 0.09
"""Seconds of a turn in which a slow node runs, and in which it does not."""


STARTS = 3
"""How often a node that does not come up is started."""


class Cluster(ABC):
    """Nodes, numbered from 0; up when it has been made, and to be closed."""

    title: ClassVar[str]
    cuts: ClassVar[bool] = False
    """Can a node be cut off from the others?"""
    clocks: ClassVar[bool] = False
    """Can a node's clock be moved?"""

    def __init__(
        self,
        program: Program,
        *,
        port: int | None = None,
        durable: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """As a server is made. The nodes are made by those who know them."""
        self.program = program
        self.nodes: list[Server] = []
        self._slow: dict[int, threading.Event] = {}

    # --- its life

    @contextmanager
    def coming_up(self) -> Iterator[None]:
        """Around the start of the nodes: of a cluster that does not come up as a whole nothing stays."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def start_together(self, makers: Sequence[Callable[[], Server]]) -> None:
        """Nodes that wait for each other, at the same time."""
        with ThreadPoolExecutor(len(makers)) as pool:
            coming = [pool.submit(make) for make in makers]
        self.nodes += [each.result() for each in coming if each.exception() is None]
        for each in coming:
            each.result()  # raises what kept it from starting

    def complaint(self, setting: str) -> str:
        """What the log of a node says against a setting; empty if nothing."""
        return next(filter(None, (node.complaint(setting) for node in self.nodes)), "")

    @property
    @abstractmethod
    def dsn(self) -> str:
        """The addresses of all nodes in one."""

    @property
    def running(self) -> bool:
        return all(node.running for node in self.nodes)

    def close(self) -> None:
        for slow in self._slow.values():
            slow.set()
        for node in self.nodes:
            node.close()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- faults

    def pause(self, node: int) -> None:
        self._signal(node, signal.SIGSTOP)

    def resume(self, node: int) -> None:
        self._signal(node, signal.SIGCONT)

    def slow(self, node: int) -> None:
        """It runs for a tenth of the time, in turns of a tenth of a second."""
        end = self._slow[node] = threading.Event()

        def turns() -> None:
            while not end.wait(RUNNING):
                self.pause(node)
                end.wait(STOPPED)
                self.resume(node)

        threading.Thread(target=turns, daemon=True, name=f"slow node {node}").start()

    def hurry(self, node: int) -> None:
        if node in self._slow:
            self._slow.pop(node).set()
        self.resume(node)

    def kill(self, node: int) -> None:
        self.nodes[node].kill()

    def restart(self, node: int) -> None:
        """Bring a node back. One that cannot join at first, while the others are busy or cut off, is started again."""
        for left in reversed(range(STARTS)):
            try:
                self.nodes[node].start()
                return
            except ServerFailed:
                if not left:
                    raise

    def revive(self) -> dict[int, str]:
        """Bring back nodes that ended by themselves; which they were, and what they said last."""
        dead = {n: node.last_words() for n, node in enumerate(self.nodes) if not node.running}
        for number in dead:
            self.restart(number)
        return dead

    def cut(self, node: int) -> None:
        raise UsageError(f"a node of {self.title} cannot be cut off here")

    def join(self, node: int) -> None:  # noqa: B027 - there is nothing to end where nothing can be cut
        """The end of a cut."""

    def give_clocks(self, nodes: Collection[int]) -> None:
        """Start these nodes anew, one after the other, each with a clock of its own that can be moved."""
        for node in sorted(nodes):
            each = self.nodes[node]
            if each.clock is None:
                each.clock = MovedClock(each.folder)
                each.stop()
                each.start()
                self.wait_until_whole()

    def move_clock(self, node: int, seconds: float) -> None:
        clock = self.nodes[node].clock
        assert clock is not None, "give_clocks comes first"
        clock.move(seconds)

    def wait_until_whole(self) -> None:
        end = time.monotonic() + START
        while not self.healthy():
            if time.monotonic() > end:
                raise ServerFailed(f"the nodes of {self.title} did not find each other within {START:.0f} s")
            time.sleep(0.1)

    @abstractmethod
    def healthy(self) -> bool:
        """Does every node take part again?"""

    def _signal(self, node: int, number: int) -> None:
        pid = self.nodes[node].pid
        if pid is None:
            return
        for each in (pid, *below(pid)):
            with suppress(ProcessLookupError):
                os.kill(each, number)
