"""Settings of the database itself, in its address: `mariadb:?set=innodb_snapshot_isolation=ON&set=lock_wait_timeout=5`.

Databases call them variables, parameters or pragmas. Each is set on every connection, which is all that can be done to
somebody else's server; one that is started for the run also gets them as a part of its configuration, so that those
which belong to the server are in force too. What a setting changes about a level's promise the adapter knows
(`Served.promised`); what it does not know changes nothing.

A name that the database does not have, or a value that it does not take, is an error before anything is emptied, with
the database's own answer. Settings that the adapters rely on (how text is encoded, what happens to data that does not
fit) cannot be set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from boomslang.errors import UsageError

SET = "set"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


def split_settings(argument: str) -> tuple[str, dict[str, str]]:
    """What follows a database's name without the settings in it, and those, in the order in which they stand."""
    place, mark, query = argument.partition("?")
    settings: dict[str, str] = {}
    rest = []
    for option, said in parse_qsl(query, keep_blank_values=True):
        if option != SET:
            rest.append((option, said))
            continue
        name, given, value = said.partition("=")
        if not (given and _NAME.fullmatch(name)):
            raise UsageError(f"found {SET}={said}; expected {SET}=NAME=VALUE, such as {SET}=lock_timeout=5s")
        name = name.lower()
        if settings.get(name, value) != value:
            raise UsageError(
                f"found {SET}={name}={settings[name]} and {SET}={name}={value}; expected one of them"
            )
        settings[name] = value
    if not settings:
        return argument, {}
    return place + (mark + urlencode(rest) if rest else ""), settings


def refuse_reserved(title: str, settings: Mapping[str, str], reserved: Mapping[str, str]) -> None:
    """Raises for a setting that is not the user's. `reserved`: its name -> what to say instead, or nothing."""
    for name, value in settings.items():
        if name in reserved:
            instead = f"; instead: {reserved[name]}" if reserved[name] else ""
            raise UsageError(
                f"found {SET}={name}={value}, which recording {title} relies on; expected it to be left out{instead}"
            )


def refused(title: str, name: str, value: str, answer: object) -> UsageError:
    """The database did not take a setting; what it said."""
    return UsageError(
        f"found {SET}={name}={value}; {title} answered: {answer}; expected a setting that it has, with a value that it "
        "takes"
    )


def literal(value: str) -> str:
    """A value in SQL: a number as it is, anything else in quotes."""
    if _NUMBER.fullmatch(value):
        return value
    doubled = value.replace("'", "''")
    return f"'{doubled}'"


def is_on(value: str | None) -> bool:
    """Does a value switch something on, as SQL databases spell it?"""
    return value is not None and value.lower() in ("on", "1", "true", "yes")


# --- pragmas: SQLite passes over what it does not know without a word, so it is asked what came of it

_WORDS = {
    "off": 0, "no": 0, "false": 0, "none": 0, "default": 0,
    "on": 1, "yes": 1, "true": 1, "normal": 1, "file": 1,
    "full": 2, "memory": 2, "incremental": 2, "extra": 3,
}  # fmt: skip
"""Words that pragmas take for numbers. (FULL is 1 for auto_vacuum, too.)"""


def set_pragmas(
    title: str, settings: Mapping[str, str], ask: Callable[[str], Collection[Any]], *, listed: bool = True
) -> None:
    """Sets pragmas on a connection. `ask` runs a statement and returns its rows; `listed`: it can name its pragmas."""
    if not settings:
        return
    known = {str(row[0]).lower() for row in ask("PRAGMA pragma_list")} if listed else set()
    for name, value in settings.items():
        if known and name not in known:
            raise refused(title, name, value, "there is no such pragma")
        ask(f"PRAGMA {name} = {literal(value)}")
        rows = ask(f"PRAGMA {name}")
        found = str(next(iter(rows))[0]) if rows else ""
        if not _means(value, found):
            raise refused(title, name, value, f"the pragma is {found or 'nothing'} after it")


def _means(value: str, found: str) -> bool:
    wanted = value.lower()
    return (
        wanted == found.lower()
        or (wanted in _WORDS and found in (str(_WORDS[wanted]), "1" if wanted == "full" else ""))
        or (
            bool(_NUMBER.fullmatch(value)) and bool(_NUMBER.fullmatch(found)) and float(value) == float(found)
        )
    )
