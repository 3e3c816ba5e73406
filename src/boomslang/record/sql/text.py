"""From the text of a statement to its tree: sqlglot's, once the driver's parameters have one spelling.

Drivers write parameters as %s, %(name)s, ?, ?1, :name or $1. Each becomes `:pN`, outside of strings, names and
comments, and `places` says where the N-th one's value is: a position, or a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from boomslang.errors import UsageError
from boomslang.extras import how_to_install
from boomslang.record.sql.schema import Unknown

STRINGS = r"""(?<!\w)[eE]'(?:[^'\\]|''|\\.)*'|'(?:[^']|'')*'"""
"""A backslash is one, but in an E'...' of PostgreSQL's."""
SKIPPED = rf"""{STRINGS}|"(?:[^"]|"")*"|`[^`]*`|--[^\n]*|/\*.*?\*/|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$"""
PARAMETER = (
    r"%%|%s|%\((?P<percent>[^)]*)\)s|\$(?P<dollar>\d+)|\?(?P<question>\d*)|(?<![:\w]):(?P<colon>[A-Za-z_]\w*)"
)
PIECES = re.compile(f"{SKIPPED}|(?P<parameter>{PARAMETER})", re.DOTALL)
MYSQL_SKIPPED = (
    r"""'(?:[^'\\]|''|\\.)*'|"(?:[^"\\]|""|\\.)*"|`(?:[^`]|``)*`|--(?=\s|$)[^\n]*|\#[^\n]*|/\*.*?\*/"""
)
QUESTIONS = re.compile(rf"{MYSQL_SKIPPED}|(?P<parameter>\?)", re.DOTALL)
MYSQL_PIECES = re.compile(rf"{MYSQL_SKIPPED}|(?P<parameter>{PARAMETER})", re.DOTALL)
ENDS = re.compile(rf"{SKIPPED}|(?P<end>;)", re.DOTALL)
MYSQL_ENDS = re.compile(rf"{MYSQL_SKIPPED}|(?P<end>;)", re.DOTALL)
COMPOUND = re.compile(r"\s*create\b[^;]*?\b(?:trigger|procedure|function|event|package)\b", re.IGNORECASE)
"""A statement with others inside."""
EXECUTED = re.compile(r"/\*M?!")
"""A comment of MySQL's that is none."""
STRICT_NOT = re.compile(rf"{MYSQL_SKIPPED}|(?P<sign>!)(?!=)", re.DOTALL)
"""A NOT that binds more tightly than NOT does."""
SIGNED = re.compile(
    rf"{SKIPPED}|(?:[=<>(,]|\b(?:where|and|or|not|between|in|then|when|else|on|by|select)\b)\s*(?P<sign>\+)",
    re.DOTALL | re.IGNORECASE,
)
"""A plus with nothing on its left."""

PERCENT = re.compile(r"%s|%\([^)]*\)s")
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
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    if (dialect == "mysql" and _own_way(text)) or (dialect == "sqlite" and _plus(text)):
        raise NotParsed("a sign that the database reads in its own way")
    plain, places = spelled(text, dialect, given)
    log = logging.getLogger("sqlglot")
    quiet, log.disabled = log.disabled, True  # of what it does not know it warns; that is counted here
    try:
        found = sqlglot.parse(plain, read=dialect)
        trees = [tree for tree in found if tree is not None and not isinstance(tree, exp.Semicolon)]
    except (SqlglotError, RecursionError) as error:
        raise NotParsed(str(error)) from None
    finally:
        log.disabled = quiet
    if len(trees) != 1:
        raise NotParsed(f"{len(trees)} statements in one text")
    if dialect == "postgres":
        _fold(trees[0])
    return Parsed(trees[0], places)


def several(text: str, dialect: str) -> bool:
    """Are there more statements than one in a text?"""
    if ";" not in text or (dialect in ("mysql", "sqlite") and COMPOUND.match(text)):
        return False
    ended = False
    at = 0
    for match in (MYSQL_ENDS if dialect == "mysql" else ENDS).finditer(text):
        between, at = text[at : match.start()], match.end()
        if ended and between.strip():
            return True
        if match["end"]:
            ended = True
        elif ended and match[0][:2] not in ("--", "/*") and match[0][0] != "#":
            return True
    return ended and bool(text[at:].strip())


def _own_way(text: str) -> bool:
    return "!" in text and (
        EXECUTED.search(text) is not None or any(match["sign"] for match in STRICT_NOT.finditer(text))
    )


def _plus(text: str) -> bool:
    """In SQLite `+n = '1'` is not `n = '1'`, and to the parser it is."""
    return "+" in text and any(match["sign"] for match in SIGNED.finditer(text))


CAPITALS = str.maketrans(ascii_uppercase, ascii_lowercase)


def _fold(tree: Any) -> None:
    """Names that are not quoted are in lower case: to PostgreSQL, `Items` and `"Items"` are two."""
    from sqlglot import exp

    for node in tree.find_all(exp.Identifier):
        name = node.this
        if not node.quoted and name != name.translate(CAPITALS):
            node.set("this", name.translate(CAPITALS))


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
            plain = match[0].replace("%%", "") if "percent" in styles else ""
            if PERCENT.search(plain):
                raise NotParsed("a parameter in a string")
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

    for match in (MYSQL_PIECES if dialect == "mysql" else PIECES).finditer(text):
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
