"""Workers on many machines: a task of Ray for each item.

Ray (Moritz et al., OSDI 2018) runs functions as tasks on the machines of a cluster, wherever their
resources are free. A task here asks for one core and for the memory that its item may use, and its process
is used once: what one item held is not held against the next, and a solver that does not stop goes with it.
We count lost workers ourselves rather than leave it to Ray: a machine that dies, a process that is killed
and a result that was on a dead machine are the same to us, and the same as on one machine (see
processes.py).

The machines need the same version of Boomslang, and must reach what they are asked to read: on a shared
disk, at the same path, or on object storage. They work in the folder of the same name as ours, where there
is one.
"""

from __future__ import annotations

import os
import secrets
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from boomslang import __version__
from boomslang.errors import UsageError
from boomslang.extras import how_to_install
from boomslang.workers import TRIES, Item, Lost, Result

MARGIN = 1.1
"""A task asks for so many times the memory that its item may use: limits are looked at now and then."""
GLANCE = 0.5
"""Seconds after which we see Ctrl-C, at the latest."""


def _library(address: str | None) -> Any:
    if "ray" not in sys.modules:  # it looks at these when it is loaded, and never again
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nobody was asked whether to tell Ray's makers
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # it warns otherwise
        if address is None:
            # Ray listens to the whole network and does what it is told. Ours is told by whoever knows this: by us.
            os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    try:
        import ray
        import ray.exceptions
    except ImportError:
        raise UsageError(
            f"found --on ray; expected the package ray; fix: {how_to_install('ray')}, here and on the cluster"
        ) from None
    return ray


class RayCluster:
    """The cluster at an address (`ray://host:10001`), or else at RAY_ADDRESS (`auto` is the one that this machine is
    part of); without either, one of this machine's cores alone, which ends with us."""

    def __init__(
        self,
        address: str | None,
        *,
        megabytes: float | None = None,
        most: int | None = None,
        waiting: int = 2,
    ) -> None:
        self.address = address or os.environ.get("RAY_ADDRESS") or None
        self.ray = _library(self.address)
        self.megabytes = megabytes
        """What an item may use; if nothing is said, as much as each core has on the smallest machine."""
        self.most = most
        """Tasks that are handed in at a time; if nothing is said, `waiting` for each core: with 2 the next one is there
        when a core is free, with 1 it is made when there is one."""
        self.waiting = waiting
        self.running: dict[Any, tuple[int, Any, int]] = {}
        """Task -> number of the item, the item, workers it has lost."""
        self._ours = False

    def __enter__(self) -> RayCluster:
        if not self.ray.is_initialized():
            self._connect()
        if self.megabytes is None:
            shares = [memory / cores for cores, memory in self._machines()]
            self.megabytes = min(shares) / MARGIN / 2**20 if shares else None
        return self

    def _connect(self) -> None:
        options: dict[str, Any] = {"logging_level": "error", "log_to_driver": False}
        if self.address is None:
            self.ray.init("local", include_dashboard=False, **options)
        else:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of what we say ourselves below
                    self.ray.init(self.address, **options)
            except (ConnectionError, RuntimeError, ValueError, TimeoutError) as problem:
                first = (str(problem).strip().splitlines() or [type(problem).__name__])[0]
                raise UsageError(
                    f"no Ray cluster could be reached at {self.address}: {first}; fix: correct the address, or start "
                    "one there, with the same versions of Ray and Python as here"
                ) from None
        self._ours = True
        # Ray prints what became of lost workers on standard output, whatever it was told about logs. That is for
        # answers, which may be JSON.
        if hasattr(self.ray._private.worker, "print_to_stdstream"):
            self.ray._private.worker.print_to_stdstream = lambda *_, **__: None

    def __exit__(self, *_: object) -> None:
        self._drop()
        if self._ours:
            self.ray.shutdown()

    def _drop(self) -> None:
        """What is still running is of no use to anybody."""
        for task in self.running:
            with suppress(Exception):  # it may be over, or its machine gone
                self.ray.cancel(task, force=True)
        self.running.clear()

    def _machines(self) -> list[tuple[float, float]]:
        """Cores and bytes of memory of each machine that has any cores."""
        found = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        return [(one["CPU"], one.get("memory", 0.0)) for one in found if one.get("CPU", 0.0) >= 1]

    @property
    def obstacle(self) -> str:
        """Why nothing may ever come of it; else nothing."""
        need = (self.megabytes or 0) * MARGIN * 2**20
        if any(memory >= need for _, memory in self._machines()):
            return ""
        return (
            f"no machine of the cluster has a core and {need / 2**20:,.0f} MB now; what is asked of it waits for one "
            "(Ctrl-C ends that; --memory asks for less)"
        )

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[int, Result | Lost]]:
        self._drop()
        ray, errors = self.ray, self.ray.exceptions
        bytes_each = int((self.megabytes or 0) * MARGIN * 2**20) or None
        start = ray.remote(
            num_cpus=1, memory=bytes_each, max_calls=1, max_retries=0, scheduling_strategy="SPREAD"
        )(_work)
        here = os.getcwd()  # noqa: PTH109 - a string, for others
        fresh = enumerate(items)
        again: deque[tuple[int, Item, int]] = deque()
        while True:
            room = self.most or self.waiting * max(1, int(ray.cluster_resources().get("CPU", 1)))
            while len(self.running) < room:
                if again:
                    number, item, lost = again.popleft()
                elif (taken := next(fresh, None)) is not None:
                    (number, item), lost = taken, 0
                else:
                    break
                self.running[start.remote(__version__, here, function, item)] = number, item, lost
            if not self.running:
                return
            ready, _ = ray.wait(list(self.running), timeout=GLANCE)
            for task in ready:
                number, item, lost = self.running.pop(task)
                try:
                    result = ray.get(task)
                except errors.RayTaskError as problem:
                    raise _cause(problem) from None
                except errors.RayError as gone:
                    if lost + 1 < TRIES:
                        again.append((number, item, lost + 1))
                        continue
                    yield (
                        number,
                        Lost(f"{TRIES} workers were lost over it, the last one by {_how(gone)}"),
                    )
                else:
                    yield number, result


def _how(gone: Exception) -> str:
    lines = str(gone).strip().splitlines()
    return f"{type(gone).__name__}" + (f" ({lines[0][:200]})" if lines else "")


def _cause(problem: Any) -> Exception:
    """What the function raised on the other machine."""
    cause: Exception = problem.cause if isinstance(problem.cause, Exception) else problem
    if "failed to import on the worker" in str(cause) or isinstance(cause, ModuleNotFoundError):
        return UsageError(
            f"found machines in the cluster on which Boomslang cannot be loaded; expected version {__version__} on "
            "each of them; fix: install it there, with the same version of Python"
        )
    return cause


def _work(version: str, folder: str, function: Callable[[Any], Any], item: Any) -> Any:
    """The body of a task."""
    if version != __version__:
        import platform

        raise UsageError(
            f"found Boomslang {__version__} on {platform.node()}, a machine of the cluster; expected {version}, "
            "as here; fix: install the same version on both"
        )
    with suppress(OSError):
        os.chdir(folder)
    return function(item)
