"""A database behind a server: one that is named by its address, or one that is started for it on the spot.

What stands behind the database's name says which: `postgres` starts one, `postgres:15.3` one of that version,
`postgres:/opt/pg/bin` one from that folder, and `postgresql://user@host/db` is somebody else's. Options follow a
question mark, as in an address: `postgres:?index=hash`. All tables are ours alone, named `boomslang_...`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import parse_qsl, urlencode

from boomslang.databases.database import Database
from boomslang.databases.embedded_files import missing
from boomslang.errors import UsageError

if TYPE_CHECKING:
    from boomslang.databases.servers import Server

TABLE = "boomslang_kv"
BATCH = 8
"""Pairs that an iterator asks a server for at a time: few, since it must not read ahead of its caller by much."""


def import_driver(module: str, title: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        raise missing(title, extra, problem) from None


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


class Served(Database):
    """What all databases behind servers have in common: where the server is."""

    server_kind: ClassVar[str | None] = None
    """The server that can be started for it (see boomslang.databases.servers)."""
    options_known: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    server: Server | None
    """The server that was started for it; it can be killed and restarted."""
    given: frozenset[str]
    """Options that were said."""

    def __init__(self, argument: str = "") -> None:
        place, self.options = split_options(argument, {**self.options_known, "durable": ("no", "yes")})
        self.given = frozenset(
            name for name, _ in parse_qsl(argument.partition("?")[2], keep_blank_values=True)
        )
        self.server = None
        if "://" in place:
            self.dsn = place
            return
        name, _, unknown = place.partition("?")
        if unknown:
            options = ", ".join((*self.options_known, "durable"))
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
        )
        self.dsn = self.server.dsn

    def __getstate__(self) -> dict[str, Any]:
        # The server stays with the process that started it; others connect to it.
        return {**self.__dict__, "server": None}

    def with_options(self, options: Mapping[str, str]) -> Served:
        made = copy(self)
        made.options = {**self.options, **options}
        return made

    def close(self) -> None:
        if self.server is not None:
            self.server.close()
