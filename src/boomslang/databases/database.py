"""One interface for every database: a transactional store of strings, as its clients see it.

An adapter is a `Database` (where it is, how to empty and load it, which levels it offers and what they promise) and a
`Connection` (one session: one transaction at a time). It talks to the database and tells *outcomes* apart; it records
nothing, decides nothing and retries nothing. Keys and values are strings, in byte order of their UTF-8.

What an operation may raise is the whole of what an adapter knows about failure:

- `Aborted`: the transaction is over and certainly had no effect (a serialization failure, a deadlock's victim, a COMMIT
  that was answered with ROLLBACK). The connection is ready for another `begin`.
- `Failed`: this operation had no effect, and the transaction is still open: `abort` it, or go on.
- `Lost`: the connection is gone. Before `commit` was called the transaction cannot have committed; if `commit` raises
  it, nobody knows. The connection is of no use any more: `close` it and ask the database for another.

Only what is certain is called `Aborted`. Anything that an adapter does not know for certain is `Lost`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from boomslang.databases.claims import Holder, Release
from boomslang.errors import UsageError, did_you_mean


class DatabaseError(Exception):
    """What a database answered; its text is the database's own."""


class Aborted(DatabaseError):
    """The transaction is over and had no effect."""


class Failed(DatabaseError):
    """The operation had no effect; the transaction is still open."""


class Lost(DatabaseError):
    """The connection is gone; if it was committing, the outcome is unknown."""


class DriverMissing(UsageError):
    """A database's driver is not installed; the text says what to install."""


@dataclass(frozen=True)
class Offered:
    """A level as a database offers it, and what it promises in this project's terms."""

    name: str
    """As the database calls it, in lower case with spaces: "repeatable read"."""
    promises: str
    """The level of boomslang.levels that it promises, by its short name."""
    modules: tuple[str, ...] = ()
    """Modules that belong to the promise (`mariadb-repeatable-read`)."""
    note: str = ""
    """Where it says so, or what to know about it."""


class Connection(ABC):
    """One session of a database. Not for two threads at a time."""

    node: str | None = None
    """The node of a cluster that it talks to."""

    @abstractmethod
    def begin(self, level: str) -> None:
        """Begin a transaction at a level, named as in `Database.levels`."""

    @abstractmethod
    def get(self, key: str) -> str | None:
        """The value of a key; None if there is none."""

    def get_for_update(self, key: str) -> str | None:
        """The same, with the database's lock on what was read (SELECT ... FOR UPDATE)."""
        raise self.cannot("locking reads")

    @abstractmethod
    def put(self, key: str, value: str) -> None:
        """Insert or overwrite."""

    @abstractmethod
    def delete(self, key: str) -> bool | None:
        """Delete; True if there was something, False if not, None if the database does not say."""

    @abstractmethod
    def scan(self, lo: str | None, hi: str | None) -> list[tuple[str, str]]:
        """All pairs with lo <= key < hi, in order of their keys; None is no bound."""

    def iterator(self, lo: str | None, hi: str | None) -> Iterator[tuple[str, str]]:
        """The same pairs one by one, as far as the caller takes them: the database reads no further than it must."""
        raise self.cannot("iterators")

    def append(self, key: str, element: str) -> None:
        """Append an element to the comma-separated list at a key in one statement, without reading it."""
        raise self.cannot("appending in one statement")

    @abstractmethod
    def commit(self) -> None:
        """Commit. Returns only if the database confirmed it."""

    @abstractmethod
    def abort(self) -> None:
        """Roll back. Never raises `Aborted`."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the connection, whatever state it is in. Never raises."""

    def cannot(self, what: str) -> UsageError:
        return UsageError(f"this database has no {what}")


class Database(ABC):
    """A database under test.

    Picklable if `one_process` is False: sessions then may run in processes of their own, each of which connects by
    itself.
    """

    name: ClassVar[str]
    """As on the command line."""
    title: ClassVar[str]
    """As people write it."""
    levels: ClassVar[Mapping[str, Offered]]
    """What it offers, from weak to strong, by `Offered.name`."""
    default_level: ClassVar[str]
    one_process: ClassVar[bool] = False
    """All sessions must live in the process that opened it (an embedded engine)."""
    capabilities: ClassVar[frozenset[str]] = frozenset()
    """Of "locking", "iterator", "append": what its connections can do beyond the rest."""

    options: Mapping[str, str] = {}
    """How it is to store and search, where that can be said. (No secrets: they are written down with each run.)"""
    settings: Mapping[str, str] = {}
    """Settings of the database's own that were given with its address (settings.py); written down, too."""

    @abstractmethod
    def prepare(self, initial: Mapping[str, str]) -> None:
        """Make an empty store that holds just these pairs, committed, in place of what an earlier run left."""

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Nobody else's run may use the same tables meanwhile. Raises `Taken` if one does."""
        holder = self.__dict__.setdefault("_holder", Holder())
        with holder.held(self.claim):
            yield

    def claim(self) -> Release | None:
        """Keep others' runs from the tables; returns what ends that. None if nobody else could come there."""
        return None

    @abstractmethod
    def connect(self) -> Connection:
        """Another session. Raises `Lost` if the database cannot be reached."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of a cluster's nodes that sessions are dealt out over; none if it is no cluster."""
        return ()

    @property
    def fails_over(self) -> bool:
        """May a session go to another node when it has lost its own?"""
        return False

    def connect_to(self, node: int) -> Connection:
        """Another session, on one of the nodes."""
        return self.connect()

    @abstractmethod
    def version(self) -> str:
        """Name and version as the database or its driver tells: goes into the trace's `ctx` and into reports."""

    def options_to_vary(self, level: Offered) -> Mapping[str, tuple[str, ...]]:
        """What a hunt may vary at a level beside the load, how rows are stored and searched: each option that was not
        given, with what it may be, its usual one first. `with_options` takes them."""
        return {}

    def with_options(self, options: Mapping[str, str]) -> Database:
        """The same database with these options, for another run. It lives as long as this one does."""
        if options:
            raise UsageError(f"found options of {self.title}: {', '.join(options)}; expected none")
        return self

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Let go of it all: files, servers that were started for it, temporary folders."""

    def level(self, name: str | None) -> Offered:
        """A level by its name, however it is spelled; the default if None."""
        if name is None:
            return self.levels[self.default_level]
        found = self.levels.get(" ".join(name.replace("-", " ").replace("_", " ").lower().split()))
        if found is None:
            offered = ", ".join(repr(level) for level in self.levels)
            meant = did_you_mean(name.lower(), self.levels)
            raise UsageError(f"{self.title} has no level {name!r}{meant}; it offers {offered}")
        return found

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
