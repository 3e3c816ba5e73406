"""MariaDB, TiDB, MySQL: who sets the value that another has just set does not see it, at repeatable read.

Plays the two sessions with each way of writing and at each level, and says how many rows the write found and what the
transaction reads afterwards. See docs/findings/mariadb-same-value.md.

    boomslang db start mariadb            # prints an address
    python mariadb_same_value.py mariadb://USER:PASSWORD@HOST:PORT/DATABASE
"""

from __future__ import annotations

import sys
from itertools import product
from typing import Any
from urllib.parse import unquote, urlsplit

import pymysql

LEVELS = ("READ COMMITTED", "REPEATABLE READ")
WRITES = {
    "UPDATE, the same value": "UPDATE same_value SET v = 5 WHERE k = 'x'",
    "UPDATE, the value in its WHERE too": "UPDATE same_value SET v = 5 WHERE k = 'x' AND v >= 0",
    "UPDATE, another value": "UPDATE same_value SET v = 6 WHERE k = 'x'",
    "INSERT ... ON DUPLICATE KEY UPDATE": (
        "INSERT INTO same_value VALUES ('x', 5) ON DUPLICATE KEY UPDATE v = VALUES(v)"
    ),
    "REPLACE": "REPLACE INTO same_value VALUES ('x', 5)",
}
NO_SUCH_SETTING = 1193


class Session:
    def __init__(self, where: dict[str, Any]) -> None:
        flag = pymysql.constants.CLIENT.FOUND_ROWS
        self.connection = pymysql.connect(**where, autocommit=True, client_flag=flag)

    def __call__(self, statement: str) -> Any:
        """The only value of its only row, or how many rows it found."""
        cursor = self.connection.cursor()
        count = cursor.execute(statement)
        return cursor.fetchone()[0] if cursor.description else count


def play(a: Session, b: Session, level: str, write: str) -> str:
    b("DELETE FROM same_value")
    b("INSERT INTO same_value VALUES ('x', 0)")
    a(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
    a("START TRANSACTION")
    first = a("SELECT v FROM same_value WHERE k = 'x'")
    b("UPDATE same_value SET v = 5 WHERE k = 'x'")
    try:
        found = a(write)
        then = a("SELECT v FROM same_value WHERE k = 'x'")
        newest = a("SELECT v FROM same_value WHERE k = 'x' FOR UPDATE")
        a("COMMIT")
    except pymysql.err.OperationalError as refused:
        a("ROLLBACK")
        return f"read {first}; refused: {refused.args[0]}"
    lost = "" if then == newest else "   <-- its own write is not seen"
    return f"read {first}; wrote {found} row; read {then}; read with a lock {newest}{lost}"


def main() -> None:
    url = urlsplit(sys.argv[1])
    where = {
        "host": url.hostname,
        "port": url.port or 3306,
        "user": unquote(url.username or ""),
        "password": unquote(url.password or ""),
        "database": url.path[1:],
    }
    a, b = Session(where), Session(where)
    print(a("SELECT VERSION()"))
    b("DROP TABLE IF EXISTS same_value")
    b("CREATE TABLE same_value (k VARCHAR(10) PRIMARY KEY, v INT)")
    for setting in ("OFF", "ON"):
        try:
            a(f"SET SESSION innodb_snapshot_isolation = {setting}")
            print(f"innodb_snapshot_isolation = {setting}")
        except pymysql.err.MySQLError as error:
            if error.args[0] != NO_SUCH_SETTING:
                raise
            if setting == "ON":
                continue
        for level, (name, write) in product(LEVELS, WRITES.items()):
            print(f"  {level:15}  {name:35}  {play(a, b, level, write)}")
    b("DROP TABLE same_value")


if __name__ == "__main__":
    main()
