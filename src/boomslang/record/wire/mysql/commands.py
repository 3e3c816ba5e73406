"""What a client asks for: the commands of MySQL's protocol, and the statements that it has prepared.

Parameters of a prepared statement come without their types if an earlier execution told them, and in pieces if they
are long (SEND_LONG_DATA). Both are kept, within bounds, until the statement is closed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from boomslang.record.wire.mysql.answers import Shape
from boomslang.record.wire.mysql.packets import KEPT, Reader
from boomslang.record.wire.mysql.values import Field, NULL, parameter, string_parameter
from boomslang.record.wire.relay import Malformed

QUIT, INIT_DB, QUERY, FIELD_LIST, CREATE_DB, DROP_DB = 0x01, 0x02, 0x03, 0x04, 0x05, 0x06
REFRESH, SHUTDOWN, STATISTICS, PROCESS_INFO, PROCESS_KILL, DEBUG, PING = 0x07, 0x08, 0x09, 0x0A, 0x0C, 0x0D, 0x0E
CHANGE_USER, PREPARE, EXECUTE, LONG_DATA, CLOSE, RESET_STATEMENT = 0x11, 0x16, 0x17, 0x18, 0x19, 0x1A
SET_OPTION, FETCH, RESET_CONNECTION = 0x1B, 0x1C, 0x1F

SHAPES = {
    QUIT: Shape.NONE,
    INIT_DB: Shape.PLAIN,
    QUERY: Shape.TEXT,
    FIELD_LIST: Shape.FIELDS,
    CREATE_DB: Shape.PLAIN,
    DROP_DB: Shape.PLAIN,
    REFRESH: Shape.PLAIN,
    SHUTDOWN: Shape.PLAIN,
    STATISTICS: Shape.WORD,
    PROCESS_INFO: Shape.TEXT,
    PROCESS_KILL: Shape.PLAIN,
    DEBUG: Shape.PLAIN,
    PING: Shape.PLAIN,
    CHANGE_USER: Shape.LOGIN,
    PREPARE: Shape.PREPARED,
    EXECUTE: Shape.BINARY,
    LONG_DATA: Shape.NONE,
    CLOSE: Shape.NONE,
    RESET_STATEMENT: Shape.PLAIN,
    SET_OPTION: Shape.PLAIN,
    FETCH: Shape.FETCHED,
    RESET_CONNECTION: Shape.PLAIN,
}
"""Commands that are passed on. Others (replication, bulk execution) are answered with an error by the proxy."""

LAST_PREPARED = 0xFFFFFFFF
"""MariaDB's: in place of a number, the statement that was prepared last."""
MOST_STATEMENTS = 16_384


@dataclass
class Prepared:
    """A statement that the client prepared."""

    text: str | None
    """None: nobody could read it."""
    parameters: int
    types: tuple[tuple[int, bool], ...] | None = None
    """Of the last execution: each one's type, and whether it is unsigned."""
    pieces: dict[int, bytes] = field(default_factory=dict)
    too_long: bool = False
    """Pieces were dropped."""
    fields: list[Field] = field(default_factory=list)
    """Of rows that are still to be fetched."""

    def add_piece(self, place: int, data: bytes) -> None:
        held = sum(map(len, self.pieces.values()))
        if self.too_long or held + len(data) > KEPT or place >= self.parameters:
            self.too_long = True
            self.pieces.clear()
        else:
            self.pieces[place] = self.pieces.get(place, b"") + data

    def forget_pieces(self) -> None:
        self.pieces.clear()
        self.too_long = False


def parameters_of(contents: bytes, statement: Prepared, encoding: str | None) -> tuple[Any, ...] | None:
    """The parameters of an execution; None if nobody can tell."""
    count = statement.parameters
    if not count:
        return ()
    read = Reader(contents, 1 + 4 + 1 + 4)
    absent = read.take((count + 7) // 8)
    if read.byte():
        told = [(read.byte(), bool(read.byte() & 0x80)) for _ in range(count)]
        statement.types = tuple(told)
    if statement.types is None:
        raise Malformed("found parameters whose types were never told")
    if statement.too_long:
        return None
    made: list[Any] = []
    for place, (kind, unsigned) in enumerate(statement.types):
        piece = statement.pieces.get(place)
        if piece is not None:
            made.append(string_parameter(piece, kind, encoding))
        elif absent[place >> 3] & 1 << (place & 7) or kind == NULL:
            made.append(None)
        else:
            made.append(parameter(read, kind, unsigned, encoding))
    return tuple(made)
