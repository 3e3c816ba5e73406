"""What a driver's exception says about the transaction: the database's own codes, and nothing guessed.

SQLSTATEs come from PostgreSQL and what speaks its protocol (psycopg, asyncpg), numbers from MySQL and MariaDB. Whatever
is not listed here is not known to be certain, and what is not certain is called so.
"""

from __future__ import annotations

from enum import Enum

from boomslang.databases.database import Aborted

ROLLED_BACK = ("40001", "40P01", "40000", "40002")
"""Serialization failure, deadlock. Not 40003, which says that the outcome is unknown."""
REFUSED = ("23", "44", "P0")
"""Classes of a constraint or trigger that was deferred to the commit and refused it."""
DISCONNECTED = ("08", "57P")
"""Classes of a server that has gone, or goes."""
AMBIGUOUS = ("40003", "58", "XX")
"""Errors that say, or may mean, that nobody knows what became of a statement that is a transaction of its own."""

MYSQL_ROLLED_BACK = (1213, 1614)
"""Deadlocks: the whole transaction was rolled back, at once."""
MYSQL_STATEMENT = (
    1048,
    1054,
    1062,
    1064,
    1136,
    1146,
    1193,
    1231,
    1232,
    1264,
    1292,
    1364,
    1366,
    1406,
    1451,
    1452,
    3819,
    4025,
)
"""Wrong statements and broken constraints: the statement did nothing, and the transaction goes on. Not 1205 (a lock's
time-out): it depends on a setting of the server whether that rolls back the statement or all."""
MYSQL_DISCONNECTED = (0, 1040, 1053, 1152, 1158, 1159, 1160, 1161, 1927, 2006, 2013, 2055, 4031)


class Effect(Enum):
    """Of an operation that failed."""

    NOTHING = "it did nothing, and the transaction goes on"
    DOOMED = "it did nothing, and the transaction will be rolled back when it ends"
    ABORTED = "the transaction is over, without effect"
    LOST = "the connection is gone"
    DOUBTFUL = "nobody knows"


def sqlstate_of(error: BaseException) -> str | None:
    state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
    return state if isinstance(state, str) else None


def mysql_code_of(error: BaseException) -> int | None:
    """The number of an error of MySQL's protocol, or of PyMySQL, mysqlclient or aiomysql: their first argument."""
    told = getattr(error, "mysql_code", None)
    if isinstance(told, int):
        return told
    if type(error).__module__.split(".")[0] not in ("pymysql", "MySQLdb", "aiomysql"):
        return None
    code = error.args[0] if error.args else None
    return code if isinstance(code, int) else None


def certainly_aborted(error: BaseException) -> bool:
    """Does this, raised by a transaction or its commit, say that it had no effect?"""
    inner = getattr(error, "orig", None)  # SQLAlchemy's errors hold the driver's
    if isinstance(inner, BaseException) and inner is not error:
        return certainly_aborted(inner)
    return (
        isinstance(error, Aborted)
        or sqlstate_of(error) in ROLLED_BACK
        or mysql_code_of(error) in MYSQL_ROLLED_BACK
    )


def refused_commit(error: BaseException) -> bool:
    """Does this, raised by a commit, say that it was refused? Then the transaction had no effect."""
    return certainly_aborted(error) or (sqlstate_of(error) or "").startswith(REFUSED)
