"""A database behind a server: one that is named by its address, or one that is started for it on the spot.

What stands behind the database's name says which: `postgres` starts one, `postgres:15.3` one of that version,
`postgres:/opt/pg/bin` one from that folder, and `postgresql://user@host/db` is somebody else's. Options follow a
question mark, as in an address: `postgres:?index=hash`; settings of the server's own, too (settings.py). All tables are
ours alone, named `boomslang_...`.

Several hosts in an address are the nodes of a cluster, `node1` and so on. Sessions are dealt out over them, or over
those that `nodes=1,3` names; each stays with its node unless `failover=yes` lets it go to the next when that is gone.
"""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from urllib.parse import parse_qsl, urlencode

from boomslang.databases.claims import Holder, Release
from boomslang.databases.database import Aborted, Connection, Database, Failed, Offered
from boomslang.databases.embedded_files import missing
from boomslang.databases.settings import SET, refuse_reserved, refused, split_settings
from boomslang.errors import UsageError

if TYPE_CHECKING:
    from boomslang.databases.servers import Cluster, Server

TABLE = "boomslang_kv"
EVERYWHERE: Mapping[str, tuple[str, ...]] = {
    "durable": ("no", "yes"),
    "nodes": ("<numbers>",),
    "failover": ("no", "yes"),
}
"""Options of all that are behind servers."""
C = TypeVar("C", bound=Connection)
BATCH = 8
"""Pairs that an iterator asks a server for at a time: few, since it must not read ahead of its caller by much."""


def import_driver(module: str, title: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        raise missing(title, extra, problem) from None


@contextmanager
def making_table(connection: C, title: str) -> Iterator[C]:
    """A connection that makes the table ready and is closed after that; a server that refuses is told of."""
    try:
        yield connection
    except (Failed, Aborted) as problem:
        raise UsageError(f"cannot make the table {TABLE} in {title}: {problem}") from None
    finally:
        connection.close()


def split_options(argument: str, known: Mapping[str, tuple[str, ...]]) -> tuple[str, dict[str, str]]:
    """What follows a database's name without our options, and those options, with what they are by default.

    `known`: option -> what it may be, the default first; a single word in brackets is any text.
    """
    place, _, query = argument.partition("?")
    options = {name: "" if allowed[0].startswith("<") else allowed[0] for name, allowed in known.items()}
    rest = []
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in known:
            rest.append((name, value))
        elif known[name][0].startswith("<") or value in known[name]:
            options[name] = value
        else:
            raise UsageError(f"found {name}={value}; expected {name}= one of {', '.join(known[name])}")
    return place + (f"?{urlencode(rest)}" if rest else ""), options


def split_hosts(address: str) -> tuple[str, ...]:
    """`x://me@a:1,b:2/db` as an address for each host."""
    scheme, mark, rest = address.partition("://")
    place, slash, path = rest.partition("/")
    who, at, hosts = place.rpartition("@")
    return tuple(f"{scheme}{mark}{who}{at}{host}{slash}{path}" for host in hosts.split(","))


def chosen_nodes(said: str, count: int) -> tuple[int, ...]:
    """Which nodes sessions are dealt out over: all, or those that were named by their numbers from 1."""
    if not said:
        return tuple(range(count))
    words = said.split(",")
    if not all(word.isascii() and word.isdigit() and 1 <= int(word) <= count for word in words):
        raise UsageError(f"found nodes={said}; expected numbers from 1 to {count}, as in nodes=1,{count}")
    return tuple(int(word) - 1 for word in words)


class Served(Database):
    """What all databases behind servers have in common: where the server is."""

    server_kind: ClassVar[str | None] = None
    """The server that can be started for it (see boomslang.databases.servers)."""
    options_known: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    reserved_settings: ClassVar[Mapping[str, str] | None] = None
    """Settings that are not for the user to set, and what to say instead; None: there are no settings at all."""
    level_settings: ClassVar[tuple[str, ...]] = ()
    """Settings that say which level is the default."""

    server: Server | Cluster | None
    """The server that was started for it; it can be killed and restarted."""
    given: frozenset[str]
    """Options that were said."""
    dsns: tuple[str, ...]
    """The addresses of its nodes; one if it is no cluster."""

    def __init__(self, argument: str = "") -> None:
        argument, self.settings = split_settings(argument)
        if self.settings and self.reserved_settings is None:
            raise UsageError(
                f"found {SET}=... in the address of {self.title}; expected none: it takes no settings"
            )
        refuse_reserved(self.title, self.settings, self.reserved_settings or {})
        place, self.options = split_options(argument, {**self.options_known, **EVERYWHERE})
        self.given = frozenset(
            name for name, _ in parse_qsl(argument.partition("?")[2], keep_blank_values=True)
        )
        self._holder = Holder()  # here, so that copies with other options have the same
        self.server = None
        self._started = "://" not in place
        if not self._started:
            self._reach(place)
            return
        name, _, unknown = place.partition("?")
        if unknown:
            options = ", ".join((*self.options_known, *EVERYWHERE))
            raise UsageError(f"found the option {unknown!r} of {self.title}; expected some of {options}")
        if self.server_kind is None:
            raise UsageError(
                f"{self.title} is not started here: give the address of one that runs, as {self.name}://..."
            )
        from boomslang.databases.servers import start_server  # not for those who only give an address

        is_folder = "/" in name
        self.server = start_server(
            self.server_kind,
            version=None if is_folder else name or None,
            binaries=Path(name).expanduser() if is_folder else None,
            durable=self.options["durable"] == "yes",
            more={**self.server_options(), **({"settings": self.settings} if self.settings else {})},
        )
        try:
            for name, value in self.settings.items():
                if complaint := self.server.complaint(name):
                    raise refused(self.title, name, value, complaint)
            self._reach(self.server.dsn)
        except BaseException:
            self.server.close()
            raise

    def server_options(self) -> dict[str, Any]:
        """What else a server is to be started with."""
        return {}

    def _reach(self, address: str) -> None:
        self.dsns = split_hosts(address)
        self.dsn = self.dsns[0]
        self._dealt = chosen_nodes(self.options["nodes"], len(self.dsns))

    @property
    def started_here(self) -> bool:
        """Was the server started for this, with the settings as its configuration? (Also in a process that this was
        sent to.)"""
        return self._started

    def level(self, name: str | None) -> Offered:
        said = [self.settings[each] for each in self.level_settings if each in self.settings]
        return self.promised(super().level(name if name is not None or not said else said[0]))

    def promised(self, offered: Offered) -> Offered:
        """What a level promises with the settings and options that were given."""
        return offered

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(f"node{n + 1}" for n in self._dealt) if len(self.dsns) > 1 else ()

    @property
    def fails_over(self) -> bool:
        return self.options["failover"] == "yes" and len(self._dealt) > 1

    def connect_to(self, node: int) -> Connection:
        place = self._dealt[node]
        connection = self.connect_at(self.dsns[place])
        if len(self.dsns) > 1:
            connection.node = f"node{place + 1}"
        return connection

    def connect(self) -> Connection:
        return self.connect_at(self.dsn)

    @abstractmethod
    def connect_at(self, dsn: str) -> Connection:
        """A session with the server at an address. Raises `Lost` if it cannot be reached."""

    def claim(self) -> Release | None:
        return None if self.started_here else self.claim_tables()

    def claim_tables(self) -> Release | None:
        """Keep others' runs from the tables of a server that others can reach, if it can be told to."""
        return None

    def __getstate__(self) -> dict[str, Any]:
        # The server stays with the process that started it; others connect to it.
        return {**self.__dict__, "server": None}

    def with_options(self, options: Mapping[str, str]) -> Served:
        made = copy(self)
        made.server = self.server  # which a copy for another process would not have
        made.options = {**self.options, **options}
        return made

    def close(self) -> None:
        if self.server is not None:
            self.server.close()
