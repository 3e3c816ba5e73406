"""What a client asks for: the commands of MySQL's protocol, and the statements that it has prepared.

Parameters of a prepared statement come without their types if an earlier execution told them, and in pieces if they
are long (SEND_LONG_DATA). Both are kept, within bounds, until the statement is closed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from boomslang.record.wire.mysql.answers import Shape
from boomslang.record.wire.mysql.packets import KEPT, Reader
from boomslang.record.wire.mysql.values import NULL, Field, parameter, string_parameter
from boomslang.record.wire.relay import Malformed


class Command(IntEnum):
    QUIT = 0x01
    INIT_DB = 0x02
    QUERY = 0x03
    FIELD_LIST = 0x04
    CREATE_DB = 0x05
    DROP_DB = 0x06
    REFRESH = 0x07
    SHUTDOWN = 0x08
    STATISTICS = 0x09
    PROCESS_INFO = 0x0A
    PROCESS_KILL = 0x0C
    DEBUG = 0x0D
    PING = 0x0E
    CHANGE_USER = 0x11
    PREPARE = 0x16
    EXECUTE = 0x17
    LONG_DATA = 0x18
    CLOSE = 0x19
    RESET_STATEMENT = 0x1A
    SET_OPTION = 0x1B
    FETCH = 0x1C
    RESET_CONNECTION = 0x1F


SHAPES: dict[int, Shape] = {
    Command.QUIT: Shape.NONE,
    Command.INIT_DB: Shape.PLAIN,
    Command.QUERY: Shape.TEXT,
    Command.FIELD_LIST: Shape.FIELDS,
    Command.CREATE_DB: Shape.PLAIN,
    Command.DROP_DB: Shape.PLAIN,
    Command.REFRESH: Shape.PLAIN,
    Command.SHUTDOWN: Shape.PLAIN,
    Command.STATISTICS: Shape.WORD,
    Command.PROCESS_INFO: Shape.TEXT,
    Command.PROCESS_KILL: Shape.PLAIN,
    Command.DEBUG: Shape.PLAIN,
    Command.PING: Shape.PLAIN,
    Command.CHANGE_USER: Shape.LOGIN,
    Command.PREPARE: Shape.PREPARED,
    Command.EXECUTE: Shape.BINARY,
    Command.LONG_DATA: Shape.NONE,
    Command.CLOSE: Shape.NONE,
    Command.RESET_STATEMENT: Shape.PLAIN,
    Command.SET_OPTION: Shape.PLAIN,
    Command.FETCH: Shape.FETCHED,
    Command.RESET_CONNECTION: Shape.PLAIN,
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
