"""What MySQL's protocol tells of a transaction: flags with every answer, and a number with every error."""

from __future__ import annotations

from typing import Any

from boomslang.record.found_rows import FOUND_ROWS, rows_matched
from boomslang.record.outcomes import (
    MYSQL_DISCONNECTED,
    MYSQL_ROLLED_BACK,
    MYSQL_STATEMENT,
    Effect,
    mysql_code_of,
)
from boomslang.record.wire.exchange import WireDriver
from boomslang.record.wire.mysql.capabilities import AUTOCOMMIT, IN_TRANSACTION

PLAIN = frozenset(
    ("select", "insert", "update", "delete", "replace", "with", "values", "savepoint", "release")
)
"""First words of statements that commit nothing, however they end."""


class MySQLDriver(WireDriver):
    dialect = "mysql"

    def __init__(self) -> None:
        super().__init__()
        self.flags = 0
        """What client and server agreed on."""
        self.autocommit = True
        self.said = b""
        """The server's word on the last statement."""
        self.was_inside = False
        self.asked = False
        """After an error: the server was asked whether the transaction is still open."""
        self.plain = False
        """The statement that failed commits nothing."""

    def answered_ping(self, status: int) -> None:
        """After an error, by the flags of a ping's answer: what is open now."""
        self.autocommit = bool(status & AUTOCOMMIT)
        self.was_inside, self.inside = self.inside, bool(status & IN_TRANSACTION)
        self.asked = True

    def in_transaction(self, connection: Any) -> bool:
        return self.inside and not self.lost

    def autocommits(self, connection: Any, text: str) -> bool:
        return self.autocommit

    def effect(self, connection: Any, error: BaseException) -> Effect:
        code = mysql_code_of(error)
        if self.lost or code in MYSQL_DISCONNECTED:
            return Effect.LOST
        if code in MYSQL_ROLLED_BACK:
            return Effect.ABORTED
        if code in MYSQL_STATEMENT:
            return Effect.NOTHING
        if not self.asked:
            return Effect.DOUBTFUL
        if self.inside or not self.was_inside:
            return Effect.NOTHING
        return Effect.ABORTED if self.plain else Effect.DOUBTFUL

    def still_open(self, connection: Any) -> bool:
        return self.asked and self.inside

    def found(self, connection: Any) -> int | None:
        return 0 if self.flags & FOUND_ROWS else rows_matched(self.said)
