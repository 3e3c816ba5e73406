"""From the text of a statement to its tree: sqlglot's, once the driver's parameters have one spelling.

Drivers write parameters as %s, %(name)s, ?, ?1, :name or $1. Each becomes `:pN`, outside of strings, names and
comments, and `places` says where the N-th one's value is: a position, or a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from boomslang.errors import UsageError
from boomslang.extras import how_to_install
from boomslang.record.sql.schema import Unknown

SKIPPED = (
    r"""'(?:[^'\\]|''|\\.)*'|"(?:[^"]|"")*"|`[^`]*`|--[^\n]*|/\*.*?\*/|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$"""
)
PARAMETER = (
    r"%%|%s|%\((?P<percent>[^)]*)\)s|\$(?P<dollar>\d+)|\?(?P<question>\d*)|(?<![:\w]):(?P<colon>[A-Za-z_]\w*)"
)
PIECES = re.compile(f"{SKIPPED}|(?P<parameter>{PARAMETER})", re.DOTALL)
MYSQL_SKIPPED = (
    r"""'(?:[^'\\]|''|\\.)*'|"(?:[^"\\]|""|\\.)*"|`(?:[^`]|``)*`|--(?=\s|$)[^\n]*|\#[^\n]*|/\*.*?\*/"""
)
QUESTIONS = re.compile(rf"{MYSQL_SKIPPED}|(?P<parameter>\?)", re.DOTALL)

PERCENT = re.compile(r"%s|%\(\w+\)s")
STYLES = {
    "postgres": "percent dollar",
    "mysql": "percent",
    "sqlite": "question colon",
    "duckdb": "question dollar",
}
"""Which of them drivers of a database use; another is an operator there, or nothing."""


@dataclass(frozen=True)
class Parsed:
    """A statement as a tree, and where its parameters' values are."""

    tree: Any
    places: tuple[int | str, ...]

    def parameters(self, given: Any) -> Callable[[str], Any]:
        """What `:pN` is, of the parameters that were given."""

        def value(name: str) -> Any:
            place = self.places[int(name[1:])]
            try:
                found = given[place]
                return [plain_integer(one) for one in found] if type(found) is list else plain_integer(found)
            except (LookupError, TypeError):
                return Unknown

        return value


def plain_integer(value: Any) -> Any:
    """psycopg has integers that say how large they may be; Django uses them."""
    own = isinstance(value, int) and type(value).__module__.startswith("psycopg.")
    return int(value) if own else value


class Numbered(tuple[Any, ...]):
    """Parameters that PostgreSQL's protocol carries beside the text, which has a `$1` for the first; a % is a %."""


class NotParsed(Exception):
    """It is no statement that the parser knows."""


def parsed(text: str, dialect: str, given: Any) -> Parsed:
    """The tree of a statement. Raises NotParsed."""
    import logging

    import sqlglot
    from sqlglot.errors import SqlglotError

    plain, places = spelled(text, dialect, given)
    log = logging.getLogger("sqlglot")
    quiet, log.disabled = log.disabled, True  # of what it does not know it warns; that is counted here
    try:
        trees = [tree for tree in sqlglot.parse(plain, read=dialect) if tree is not None]
    except (SqlglotError, RecursionError) as error:
        raise NotParsed(str(error)) from None
    finally:
        log.disabled = quiet
    if len(trees) != 1:
        raise NotParsed(f"{len(trees)} statements in one text")
    return Parsed(trees[0], places)


def spelled(text: str, dialect: str, given: Any) -> tuple[str, tuple[int | str, ...]]:
    """The text with `:pN` for its N-th parameter, and where each one's value is."""
    made: list[str] = []
    places: list[int | str] = []
    for piece in pieces(text, dialect, given):
        if isinstance(piece, Place):
            made.append(f" :p{len(places)} ")
            places.append(piece.of)
        else:
            made.append(piece)
    return "".join(made), tuple(places)


@dataclass(frozen=True)
class Place:
    """In a text: a parameter, by its position or name."""

    of: int | str


def pieces(text: str, dialect: str, given: Any) -> list[str | Place]:
    """The text, cut at its parameters. Where a driver wants %% for a %, it is a % here."""
    numbered = isinstance(given, Numbered)
    if given is None or (
        not numbered and isinstance(given, Sequence | Mapping) and not given and "%s" not in text
    ):
        return [text]
    if numbered and dialect == "mysql":
        return _questions(text)
    styles = ["dollar"] if numbered else STYLES.get(dialect, "percent").split()
    if dialect == "sqlite" and PERCENT.search(text) and "?" not in text:
        styles = ["percent"]  # Django writes all databases' parameters so, and its cursor turns them round
    count, at = 0, 0
    made: list[str | Place] = []

    def piece(match: re.Match[str]) -> str | Place:
        nonlocal count
        found = match["parameter"]
        if found is None:
            # psycopg and PyMySQL look for their %s in strings too, and write %% for a %.
            return match[0].replace("%%", "%") if "percent" in styles else match[0]
        place: int | str
        if found == "%%":
            return "%" if "percent" in styles else found
        if found == "%s" and "percent" in styles:
            place, count = count, count + 1
        elif match["percent"] is not None and "percent" in styles:
            place = match["percent"]
        elif match["dollar"] is not None and "dollar" in styles:
            place = int(match["dollar"]) - 1
        elif match["question"] is not None and "question" in styles:
            place = int(match["question"]) - 1 if match["question"] else count
            count = int(place) + 1
        elif match["colon"] is not None and "colon" in styles:
            place = match["colon"]
        else:
            return found
        return Place(place)

    for match in PIECES.finditer(text):
        made += [text[at : match.start()], piece(match)]
        at = match.end()
    return [*made, text[at:]]


def _questions(text: str) -> list[str | Place]:
    made: list[str | Place] = []
    count, at = 0, 0
    for match in QUESTIONS.finditer(text):
        if match["parameter"] is not None:
            made += [text[at : match.start()], Place(count)]
            count, at = count + 1, match.end()
    return [*made, text[at:]]


def needs_parser() -> None:
    """The parser is an extra."""
    try:
        import sqlglot  # noqa: F401
    except ImportError:
        raise UsageError(
            f"found no SQL parser; expected sqlglot, which understands statements; fix: {how_to_install('sql')}, or "
            "give trace_connection a table of statements"
        ) from None
