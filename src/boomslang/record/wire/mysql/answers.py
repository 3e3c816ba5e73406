"""What a server answers to a command: OK, an error, rows; one result, or several of them one after the other.

An answer is read message by message as it passes by, so that it is known where it ends and what it says: the state of
the transaction, how many rows were changed, the rows themselves if somebody wants them. Rows beyond a bound are passed
on and not kept; then the result says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from boomslang.record.wire.exchange import ServerError
from boomslang.record.wire.mysql.capabilities import (
    CURSOR_EXISTS,
    DEPRECATE_EOF,
    EXTENDED_METADATA,
    LAST_ROW_SENT,
    MORE_RESULTS,
    SESSION_TRACK,
    STATE_CHANGED,
)
from boomslang.record.wire.mysql.packets import FULL, Message, Reader
from boomslang.record.wire.mysql.values import Field, Row, binary_row, field_of, makers_of, text_row
from boomslang.record.wire.relay import Malformed

OK, MORE_AUTHENTICATION, LOCAL_FILE, END, ERROR = 0x00, 0x01, 0xFB, 0xFE, 0xFF
SHORTEST_ROW_WITH_FE = 9
"""A message that begins with 0xFE and is shorter is no row, which would have a length of eight bytes there."""
MOST_ROWS = 200_000
MOST_BYTES = 64 << 20
MOST_COLUMNS = 4096


@dataclass
class Result:
    """One result of an answer."""

    status: int | None = None
    """The server's; None if it says none."""
    changed: int = 0
    last: int = 0
    """The key that was generated."""
    said: bytes = b""
    """Such as "Rows matched: 1  Changed: 0  Warnings: 0"."""
    fields: list[Field] | None = None
    """None: it has no rows."""
    rows: list[Row] = field(default_factory=list)
    count: int = 0
    whole: bool = True
    """All its rows are in `rows`, if they were wanted."""
    error: ServerError | None = None
    cursor: bool = False
    """Its rows are still to be fetched."""
    local_file: bool = False


class Shape(Enum):
    """Of an answer, by the command."""

    NONE = "none at all"
    PLAIN = "OK, an error, or an end"
    TEXT = "results, with text rows"
    BINARY = "results, with binary rows"
    PREPARED = "a prepared statement's number, and its parameters and columns"
    FETCHED = "binary rows"
    FIELDS = "columns"
    WORD = "some text"
    LOGIN = "a talk that ends with OK or an error"


def end_of(contents: bytes, flags: int) -> Result:
    """What OK says, or the end of rows in either of its forms."""
    if contents[0] == END and len(contents) < 7:
        read = Reader(contents, 1)
        if not read.left:
            return Result()
        read.two()
        return Result(status=read.two())
    read = Reader(contents, 1)
    made = Result(changed=read.number(), last=read.number())
    if not read.left:  # an OK from within a login may end here
        return made
    made.status = read.two()
    read.two()
    if flags & SESSION_TRACK:
        made.said = (read.text() or b"") if read.left else b""
        if made.status & STATE_CHANGED and read.left:
            read.text()
    else:
        made.said = read.rest()
    return made


def error_of(contents: bytes) -> ServerError:
    read = Reader(contents, 1)
    code = read.two()
    text = read.rest()
    if text[:1] == b"#":
        text = text[6:]
    return ServerError(f"{code}: {text.decode('utf-8', 'replace')}", code=code)


def is_end(message: Message, flags: int) -> bool:
    """Is it the end of rows or columns?"""
    if message.first != END:
        return False
    size = len(message.raw) - 4
    return size < (FULL if flags & DEPRECATE_EOF else SHORTEST_ROW_WITH_FE)


class Answer:
    """To one command. `read` takes its messages; `told` is called with each result as it is whole."""

    def __init__(
        self,
        shape: Shape,
        flags: int,
        extended: int,
        told: Callable[[Result], None],
        *,
        wants_rows: Callable[[], bool] = lambda: False,
        encoding: str | None = None,
        fields: list[Field] | None = None,
    ) -> None:
        self._shape = shape
        self._flags = flags
        self._extended = bool(extended & EXTENDED_METADATA)
        self._told = told
        self._wants_rows = wants_rows
        self._encoding = encoding
        self._keeps = False
        self._result = Result()
        self._columns_left = 0
        self._bytes = 0
        self._makers: list[Callable[[bytes], Any]] = []
        self.prepared: tuple[int, int] | None = None
        """Of a statement that was prepared: its number, and how many parameters it has."""
        self.columns: list[Field] = []
        self.sends_file = False
        """It is the client's turn: the server waits for a file."""
        self.done = shape is Shape.NONE
        self._state: Callable[[Message], None] = {
            Shape.PREPARED: self._prepared,
            Shape.WORD: self._word,
            Shape.LOGIN: self._login,
            Shape.FIELDS: self._fields,
        }.get(shape, self._first)
        if shape is Shape.FETCHED:
            self._begin_rows(fields or [])

    def read(self, message: Message) -> None:
        self._state(message)

    # --- the states: what the next message may be

    def _first(self, message: Message) -> None:
        first = message.first
        if first == OK:
            self._ok(message)
        elif first == ERROR:
            self._error(message)
        elif first == END and self._shape is Shape.PLAIN:
            self._ok(message)
        elif first == LOCAL_FILE and self._shape is Shape.TEXT:
            self.sends_file = True
        elif self._shape in (Shape.TEXT, Shape.BINARY):
            count = Reader(_contents(message)).number()
            if not 0 < count <= MOST_COLUMNS:
                raise Malformed(f"found an answer of {count} columns")
            self._result.fields = []
            self._columns_left = count
            self._state = self._column
        else:
            raise Malformed(f"found an answer that begins with {first}")

    def _column(self, message: Message) -> None:
        assert self._result.fields is not None
        if message.first == ERROR:
            self._error(message)
            return
        self._result.fields.append(field_of(_contents(message), self._extended))
        self._columns_left -= 1
        if self._columns_left:
            return
        self._begin_rows(self._result.fields)
        if not self._flags & DEPRECATE_EOF:
            self._state = self._end_of_columns

    def _begin_rows(self, fields: list[Field]) -> None:
        self._result.fields = fields
        self._keeps = self._wants_rows()
        self._makers = makers_of(fields, self._encoding) if self._shape is Shape.TEXT else []
        self._state = self._row

    def _end_of_columns(self, message: Message) -> None:
        if message.first == ERROR:
            self._error(message)
            return
        if message.first != END:
            raise Malformed("found no end of the columns")
        if (end_of(_contents(message), self._flags).status or 0) & CURSOR_EXISTS:
            self._end(message)
        else:
            self._state = self._row

    def _row(self, message: Message) -> None:
        if message.first == ERROR:
            self._error(message)
        elif is_end(message, self._flags):
            self._end(message)
        else:
            result = self._result
            result.count += 1
            if self._keeps:
                self._keep(message)

    def _keep(self, message: Message) -> None:
        result = self._result
        self._bytes += len(message.raw)
        if message.contents is None or result.count > MOST_ROWS or self._bytes > MOST_BYTES:
            result.whole, self._keeps = False, False
            result.rows.clear()
            return
        assert result.fields is not None
        if self._shape is Shape.TEXT:
            result.rows.append(text_row(message.contents, self._makers))
        else:
            result.rows.append(binary_row(message.contents, result.fields, self._encoding))

    def _end(self, message: Message) -> None:
        result, end = self._result, end_of(_contents(message), self._flags)
        status = end.status or 0
        result.status, result.said = end.status, end.said
        result.cursor = bool(status & CURSOR_EXISTS) and not status & LAST_ROW_SENT
        self._finish(bool(status & MORE_RESULTS))

    def _ok(self, message: Message) -> None:
        self._result = end_of(_contents(message), self._flags)
        self._finish(bool((self._result.status or 0) & MORE_RESULTS))

    def _error(self, message: Message) -> None:
        self._result.error = error_of(_contents(message))
        self._finish(False)

    def _finish(self, more: bool) -> None:
        result, self._result = self._result, Result()
        self._bytes, self.sends_file = 0, False
        self._state = self._first
        self.done = not more
        self._told(result)

    def _prepared(self, message: Message) -> None:
        if message.first == ERROR:
            self._error(message)
            return
        read = Reader(_contents(message))
        if read.byte() != OK:
            raise Malformed("found no prepared statement")
        number, columns, parameters = read.four(), read.two(), read.two()
        self.prepared = number, parameters
        ends = not self._flags & DEPRECATE_EOF
        self._columns_left = columns + parameters + (bool(columns) + bool(parameters)) * ends
        self._state = self._described
        if not self._columns_left:
            self._finish(False)

    def _described(self, message: Message) -> None:
        self._columns_left -= 1
        if not self._columns_left:
            self._finish(False)

    def _fields(self, message: Message) -> None:
        if message.first == ERROR:
            self._error(message)
        elif is_end(message, self._flags):
            self._end(message)

    def _word(self, message: Message) -> None:
        if message.first == ERROR:
            self._error(message)
        else:
            self._finish(False)

    def _login(self, message: Message) -> None:
        if message.first == OK:
            self._ok(message)
        elif message.first == ERROR:
            self._error(message)


def _contents(message: Message) -> bytes:
    if message.contents is None:
        raise Malformed("found a message of the server that is longer than any")
    return message.contents
