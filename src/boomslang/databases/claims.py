"""One run at a time on the same tables: whoever comes second is refused, instead of spoiling the first one's trace.

Two runs that empty, load and write the same table would each record what the other did as something that nobody did,
and accuse a healthy database. So a run *claims* what it uses first, by whatever the database has for that: an advisory
lock (PostgreSQL, MySQL and MariaDB), a key with a lease (etcd), a lock on a file beside the database's (what is
embedded). All of these end with the process that has them, however that ends. Clients of a run that was killed commit
nothing more: they look for the runner before each commit.

A claim is on what is ours in the database, our table; whoever else works there is not kept from it. Of a server that
was started for the run nobody else knows the address: it needs no claim.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from boomslang.errors import UsageError

Release = Callable[[], object]


class Taken(UsageError):
    """Another run has what this one wants to use."""

    def __init__(self, title: str, where: str) -> None:
        super().__init__(
            f"found another run of Boomslang on {where} of {title}; expected to be alone there, or each would spoil "
            "the other's trace; fix: wait until it ends, or give this run a database of its own"
        )


class Holder:
    """Who holds a claim in this process. Copies of a database share it; one that is sent to another process has
    nothing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._release: Release | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Holder, ()

    @contextmanager
    def held(self, take: Callable[[], Release | None]) -> Iterator[None]:
        """The claim, from the first who wants it until the last who does has gone."""
        with self._lock:
            if not self._users:
                self._release = take()
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                release, self._release = (None, self._release) if self._users else (self._release, None)
            if release is not None:
                release()


def number_for(words: str) -> int:
    """A number of 63 bits that stands for these words, for locks that have no names."""
    return int.from_bytes(hashlib.sha256(f"boomslang {words}".encode()).digest()[:8], "big") >> 1


def claim_file(title: str, path: Path) -> Release:
    """A lock on the file `<path>.boomslang-lock`, which is removed with it. (On the database's own file a lock would be
    lost: SQLite closes it now and then, and with it goes every lock of the process.)"""
    name = path.with_name(f"{path.name}.boomslang-lock")
    while True:
        try:
            file = name.open("a")
        except OSError as problem:
            raise UsageError(
                f"{name}: cannot be made ({problem.strerror}); expected a folder that can be written to, as the "
                "database's must be"
            ) from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise Taken(title, f"the file {path}") from None
        # Whoever had it may have removed it between our opening and our locking it.
        with suppress(OSError):
            if name.stat().st_ino == os.fstat(file.fileno()).st_ino:
                break
        file.close()

    def release() -> None:
        name.unlink(missing_ok=True)
        file.close()

    return release
