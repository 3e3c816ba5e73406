"""What is made of a write that counted no row, by its text and by what the driver knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.recorded_sql import recorded

from boomslang.record import Tracer, trace_connection
from boomslang.record.drivers import driver_of
from boomslang.record.found_rows import FOUND_ROWS, NOBODY_KNOWS, rows_found, rows_matched
from boomslang.record.statements import put

MATCHED = "Rows matched: 1  Changed: 0  Warnings: 0"
UPDATE = "UPDATE t SET v = %s WHERE k = %s"


@pytest.mark.parametrize(
    "text",
    [
        UPDATE,
        "update `t` set `v`=%(v)s where k=%(k)s and v <> 7 limit 1",
        "/* shop */ -- a\n UPDATE t SET v = ?",
        "UPDATE t SET v = ?;",
        "UPDATE t SET state = 'done' WHERE k = %s",
        "UPDATE t SET v = %s, n = n + 1, at = NOW(), why = CONCAT('a', 'b') WHERE k = %s",
        "INSERT INTO t VALUES (%s, %s) ON DUPLICATE KEY UPDATE v = VALUES(v)",
        "INSERT INTO t (k, v) VALUES (%s, %s) ON DUPLICATE KEY UPDATE v = VALUE(v), n = n + 1;",
        "INSERT INTO t SET k = %s, v = %s ON DUPLICATE KEY UPDATE v = %s",
    ],
)
def test_what_was_found_was_written(text: str) -> None:
    assert rows_found(text, lambda: 1) == 1


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE t SET v = GREATEST(v, %s) WHERE k = %s",
        "UPDATE t SET v = IF(v = %s, 1, v) WHERE k = %s",
        "UPDATE t SET v = CASE WHEN v < %s THEN %s ELSE v END WHERE k = %s",
        "UPDATE t SET n = %s, v = LEAST(v, %s) WHERE k = %s",
        "UPDATE t SET v = v + 1 WHERE k = %s",
        "UPDATE t SET v = (SELECT v FROM u WHERE k = %s) WHERE k = %s",
        "WITH u AS (SELECT 1) UPDATE t SET v = %s WHERE k = %s",
        "INSERT INTO t VALUES (%s, %s) ON DUPLICATE KEY UPDATE v = GREATEST(v, VALUES(v))",
        "INSERT INTO t VALUES (%s, %s) AS u ON DUPLICATE KEY UPDATE v = GREATEST(t.v, u.v)",
        "INSERT INTO t SELECT %s, %s FROM u ON DUPLICATE KEY UPDATE v = VALUES(v)",
    ],
)
def test_of_a_value_that_is_computed_nobody_knows(text: str) -> None:
    assert rows_found(text, lambda: 1) == NOBODY_KNOWS


def test_what_was_not_found_was_not_written() -> None:
    assert rows_found(UPDATE, lambda: 0) == 0
    assert rows_found("INSERT IGNORE INTO t VALUES (%s, %s)", lambda: None) == 0
    assert rows_found(UPDATE, lambda: None) == NOBODY_KNOWS


@pytest.mark.parametrize(
    ("said", "matched"),
    [
        (b"(Rows matched: 1  Changed: 0  Warnings: 0", 1),  # PyMySQL leaves the text's length in front of it
        ("3Datensätze gefunden: 12  Geändert: 0  Warnungen: 0".encode(), 12),
        ("Rows matched: 0  Changed: 0  Warnings: 0", 0),
        ("Records: 3", None),
        (b"", None),
        (None, None),
    ],
)
def test_the_servers_word(said: object, matched: int | None) -> None:
    assert rows_matched(said) == matched


class Cursor:
    rowcount = 0
    description = None

    def execute(self, query: str, parameters: Any) -> None:
        pass


def connection_of(module: str, **known: Any) -> Any:
    """As far as a recorder looks at one, of a driver that is not installed here."""
    kind = type("Connection", (), {"cursor": lambda self: Cursor(), "commit": lambda self: None, **known})
    kind.__module__ = module
    return kind()


@pytest.mark.parametrize(
    ("module", "known", "expected"),
    [
        # mysqlclient
        ("MySQLdb.connections", {"client_flag": FOUND_ROWS}, "get x=absent"),
        ("MySQLdb.connections", {"client_flag": 0, "info": lambda self: MATCHED}, "put x=5"),
        ("MySQLdb.connections", {"client_flag": 0, "info": lambda self: None}, None),
        # MySQL's own connector, which keeps the server's word to itself
        ("mysql.connector.connection", {"_client_flags": 3908111}, "get x=absent"),
        ("mysql.connector.connection", {"_client_flags": 3908109}, None),
        # nobody knows it; not to be MySQL is what most are
        ("strange", {}, "get x=absent"),
    ],
)  # fmt: skip
def test_other_drivers(module: str, known: dict[str, Any], expected: str | None, tmp_path: Path) -> None:
    connection = connection_of(module, **known)
    assert driver_of(connection).found(connection) == {"get x=absent": 0, "put x=5": 1, None: None}[expected]
    c = trace_connection(
        connection,
        Tracer(tmp_path / "trace"),
        {UPDATE: put(key=1, value=0, none_means_absent=True)},
    )
    c.cursor().execute(UPDATE, (5, "x"))
    c.commit()
    assert recorded(c) == ["begin", *([expected] if expected else []), "commit"]
