"""What the recorders of a trace know of its database: the schema, what texts mean, and what it held at the start.

All connections of a process that are recorded into one trace share it. Before the first of them does anything, the
rows that are there are noted down as the initial state (in `rows.jsonl`; not if the tracer was told another one). A
table that appears later and was not created by a recorded statement may hold anything, so nothing of it is recorded.
`database.txt`, in the trace's folder, tells all processes which database this is and whose rows are known; a trace is
of one database.

Whoever needs to ask the database something does it by a generator of queries, which plain and asyncio connections
drive each in their own way.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from boomslang.errors import UsageError
from boomslang.record.json_text import quoted, text_of
from boomslang.record.rules import STATE
from boomslang.record.sql.catalogs import STRANGE, catalog, identity
from boomslang.record.sql.labels import key_label, label
from boomslang.record.sql.meaning import Meaning, meaning_of
from boomslang.record.sql.returning import with_returning
from boomslang.record.sql.rows import cell_key, row_key
from boomslang.record.sql.schema import Schema, Table, Unknown
from boomslang.record.sql.text import needs_parser
from boomslang.record.tracer import Tracer
from boomslang.trace.files import shown

KNOWN = "database.txt"
ROWS = "rows"
MOST_ROWS = 200_000
"""Noted down at the start; whose table has more is not recorded."""
PATIENCE = 60.0
"""Seconds that a process waits for another one to have noted them down."""
REMEMBERED = 2000
LATER = "a table that appeared while recording, with rows that nobody knows"
UNREADABLE = "a table that the user who was recorded first may not read"

DENIED = (1142, 1143)
"""MySQL's errors: no right to this table, or to one of its columns."""
WAIT = ""
"""In place of a query: let others work for a moment."""
A_MOMENT = 0.01
Questions = Generator[str, Sequence[Sequence[Any]], None]
Resolved = Generator[str, Sequence[Sequence[Any]], bool]
"""Questions at whose end it is known whether names mean here what they mean to all others."""


class NotAnswered(UsageError):
    """The database refused to answer a question; thrown into the generator that asked it."""


class Shaped(Protocol):
    """Texts that were understood before, but for their values (record/wire/shapes.py)."""

    def meaning(self, text: str, schema: Schema) -> Meaning | None: ...
    def clear(self) -> None: ...


class Understanding:
    """Of one trace, in this process."""

    def __init__(
        self, folder: Path, dialect: str, *, tells_parameters: bool = True, adds_returning: bool = False
    ) -> None:
        needs_parser()
        self.folder = folder
        self.tells_parameters = tells_parameters
        """Parameters of statements are noted down, so that they can be replayed."""
        self.adds_returning = adds_returning
        """Writes that do not tell enough may be sent with RETURNING (record/sql/returning.py)."""
        self.described: set[str] = set()
        """Tables that somebody has described in the trace."""
        self.dialect = dialect
        self.schema: Schema | None = None
        self.stale = True
        """The schema must be read before the next statement."""
        self.lock = threading.RLock()
        self._meanings: dict[tuple[str, bool, bool], Meaning] = {}
        self._asked: set[str] = set()
        """Names that were not found, and that the database was asked for."""
        self._open_start = _initial(folder) == "empty"
        self.shapes: Shaped | None = None
        """A short way to what texts with values in them mean, where there is one."""
        self.postponed: dict[Any, Callable[[], object]] = {}
        """Statements that are understood when their answers are there, or, by calling this, before the schema is
        another one: what they were sent to is the schema of that moment."""

    def _catch_up(self) -> None:
        for call in [self.postponed.pop(who) for who in list(self.postponed)]:
            call()

    def questions(self) -> Resolved:
        """Ask for the schema; and, who is first, for the rows that are there."""
        schema = yield from catalog(self.dialect)
        known = schema.path if self.schema is None else self.schema.path
        alike = schema.path == known and STRANGE not in schema.options
        schema = replace(schema, path=known)
        if self._claim():
            try:
                noted = yield from self._note_down(schema)
                self._publish(schema.database, noted)
            except BaseException:
                with _ignored():
                    (self.folder / KNOWN).unlink()
                raise
        listed = yield from self._listed(schema.database)
        if self._open_start:
            for place, table in schema.tables.items():
                if table.name not in listed and table.silent is None:
                    schema.tables[place] = replace(table, silent=LATER if table.readable else UNREADABLE)
        self._catch_up()
        self.schema, self.stale = schema, False
        self.described.clear()
        self._meanings.clear()
        if self.shapes is not None:
            self.shapes.clear()
        return alike

    def identify(self) -> Resolved:
        """Ask which database a new connection is to, and where it looks for tables: a role may have a path of its
        own."""
        assert self.schema is not None
        database, path, strange = yield from identity(self.dialect)
        yield from self._listed(database)
        return not strange and (path is None or path == self.schema.path)

    def meaning(self, text: str, given: Any, *, adds: bool = False) -> Meaning:
        """What a text means. If a name in it is not known, the schema is stale: ask, and call again. `adds`: whoever
        sends it can send another text, and keep the rows to itself."""
        assert self.schema is not None
        adds = adds and self.adds_returning
        place = (text, given is None, adds)
        found = self._meanings.get(place)
        if found is None:
            if len(self._meanings) >= REMEMBERED:
                self._meanings.clear()
            short = None
            if given is None and self.shapes is not None:
                short = self.shapes.meaning(text, self.schema)
            found = short or meaning_of(text, self.schema, given)
            if self.postponed and not found.strangers <= self._asked:
                self._catch_up()
            if adds and found.is_write:
                found = self._returning(text, given) or found
            self._meanings[place] = found
            if not found.strangers <= self._asked:
                self._asked |= found.strangers
                self.stale = True
        return found

    def _returning(self, text: str, given: Any) -> Meaning | None:
        assert self.schema is not None
        longer = with_returning(text, self.schema, given)
        made = None if longer is None else meaning_of(longer, self.schema, given)
        return replace(made, sends=longer) if made is not None and made.wants_rows else None

    def changed(self) -> None:
        """The schema was."""
        self._catch_up()
        self.stale = True
        self._asked.clear()

    def announce(self, tables: Sequence[str]) -> None:
        """These are about to be created, by a statement that is recorded: they will begin empty."""
        if tables:
            with (self.folder / KNOWN).open("a", encoding="utf-8") as file:
                file.write("".join(f"{json.dumps(table)}\n" for table in tables))

    # --- which database, and what it held

    def _claim(self) -> bool:
        """Am I the first?"""
        try:
            os.close(os.open(self.folder / KNOWN, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except FileExistsError:
            return False
        return True

    def _publish(self, database: str, tables: Sequence[str]) -> None:
        part = self.folder / f"{KNOWN}.part"
        part.write_text("".join(f"{json.dumps(line)}\n" for line in (database, *tables)), encoding="utf-8")
        part.replace(self.folder / KNOWN)

    def _listed(self, database: str) -> Generator[str, Sequence[Sequence[Any]], set[str]]:
        """The tables whose rows at the start are known, of this database."""
        deadline = time.monotonic() + PATIENCE
        while True:
            lines: list[str] = []
            with _ignored():
                lines = [json.loads(line) for line in (self.folder / KNOWN).read_text("utf-8").splitlines()]
            if lines and lines[0] != database:
                raise UsageError(
                    f"found a connection to {database} in the trace {shown(self.folder)}, which is of {lines[0]}; "
                    "expected one database a trace; fix: give each database a Tracer of its own"
                )
            if lines:
                return set(lines[1:])
            if time.monotonic() > deadline:
                raise UsageError(
                    f"found that the process that began to record into {shown(self.folder)} has not noted down what "
                    "the database held; expected it to have; fix: record anew, into another folder"
                )
            yield WAIT

    def _note_down(self, schema: Schema) -> Generator[str, Sequence[Sequence[Any]], list[str]]:
        """The rows that are there, as the initial state; returns the tables whose rows are known."""
        tables = [table for table in schema.tables.values() if table.silent is None]
        if not self._open_start:
            return [table.name for table in tables]
        listed: list[str] = []
        lines: list[str] = []
        taints: list[str] = []
        for (space, name), table in schema.tables.items():
            if table.silent is not None or not table.readable:
                continue
            columns = [*table.key, *(column.name for column in table.told)]
            named = ", ".join(_quoted(column, schema) for column in columns)
            source = f"{_quoted(space, schema)}.{_quoted(name, schema)}"
            try:
                rows = yield f"SELECT {named} FROM {source} LIMIT {MOST_ROWS + 1}"
            except NotAnswered:  # a table that this user may not read
                continue
            if len(rows) > MOST_ROWS or not _put_rows(table, rows, lines, taints):
                continue
            listed.append(table.name)
        if lines:
            self._write_rows(lines, taints)
        return listed

    def _write_rows(self, lines: list[str], taints: list[str]) -> None:
        head = ['{"boomslang":1}', '{"op":"begin","txn":0,"initial":true}']
        tail = ['{"op":"commit"}']
        if taints:
            note = json.dumps({"taints": taints})
            why = quoted("values whose like a trace cannot say")
            tail += ['{"op":"begin","txn":1}', f'{{"op":"put","error":{why},"ctx":{note}}}', '{"op":"abort"}']
        part = self.folder / f"{ROWS}.part"
        part.write_text("\n".join([*head, *lines, *tail]) + "\n", encoding="utf-8")
        part.replace(self.folder / f"{ROWS}.jsonl")


def _put_rows(table: Table, rows: Sequence[Sequence[Any]], lines: list[str], taints: list[str]) -> bool:
    """False if a row's primary key cannot be said."""
    size = len(table.key)
    put: list[str] = []
    for row in rows:
        key = tuple(
            key_label(table.columns[name], value) for name, value in zip(table.key, row[:size], strict=True)
        )
        if any(part is Unknown for part in key):
            return False
        put.append(f'{{"op":"put","key":{text_of(row_key(table, key))},"value":true}}')
        for column, value in zip(table.told, row[size:], strict=True):
            name, made = cell_key(table, key, column.name), label(column, value)
            if made is Unknown:
                taints.append(name)
            else:
                put.append(f'{{"op":"put","key":{text_of(name)},"value":{text_of(made)}}}')
    lines.extend(put)
    return True


def _quoted(name: str, schema: Schema) -> str:
    mark = "`" if schema.dialect == "mysql" else '"'
    return f"{mark}{name.replace(mark, mark * 2)}{mark}"


def _initial(folder: Path) -> str:
    """What the tracer was told: "empty" is what it says if nobody told it."""
    with _ignored():
        header = json.loads((folder / STATE).read_text(encoding="utf-8"))
        initial = header.get("initial", "empty")
        return initial if isinstance(initial, str) else "given"
    return "empty"


class _ignored:
    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        return kind is not None and issubclass(kind, OSError | ValueError)


_shared: WeakKeyDictionary[Tracer, Understanding] = WeakKeyDictionary()
_sharing = threading.Lock()


def understanding(tracer: Tracer, dialect: str) -> Understanding:
    """The one of this trace."""
    with _sharing:
        found = _shared.get(tracer)
        if found is None:
            found = _shared[tracer] = Understanding(
                tracer.folder,
                dialect,
                tells_parameters=tracer.parameters,
                adds_returning=tracer.add_returning,
            )
        if found.dialect != dialect:
            raise UsageError(
                f"found connections to databases of two kinds, {found.dialect} and {dialect}, in one trace; expected "
                "one database; fix: give each a Tracer of its own"
            )
        return found


def plain(row: Any) -> tuple[Any, ...] | None:
    """A row as its values in order, whatever the driver or its row factory made of it; None if that is not known."""
    if type(row) is tuple:
        return row
    if isinstance(row, tuple | list):
        return tuple(row)
    if hasattr(row, "keys"):  # dict, sqlite3.Row, asyncpg.Record
        try:
            return tuple(row.values()) if hasattr(row, "values") else tuple(row)
        except TypeError:
            return None
    return None


def drive(questions: Questions, ask: Callable[[str], Sequence[Sequence[Any]]]) -> None:
    """Answer all questions."""
    try:
        query = next(questions)
        while True:
            if query == WAIT:
                time.sleep(A_MOMENT)
                query = questions.send([])
                continue
            try:
                rows = ask(query)
            except Exception as error:
                query = questions.throw(refusal(error))
            else:
                query = questions.send([plain(row) or () for row in rows])
    except StopIteration:
        return


def refusal(error: Exception) -> Exception:
    """What the generator that asked is told: the error, or that this user may not know."""
    return NotAnswered(str(error)) if error.args and error.args[0] in DENIED else error
