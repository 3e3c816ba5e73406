"""The proxy between clients of MySQL's protocol and a real MariaDB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest
from pymysql.constants import CLIENT
from support.mysql_clients import built, run_client
from support.mysql_work import comparable, make_tables, proxied, recorded_in_python, run_plainly
from support.recorded_sql import address, server

from boomslang import check, read_trace


@pytest.fixture(scope="module")
def mariadb() -> Iterator[dict[str, Any]]:
    with server("mariadb") as dsn:
        yield address(dsn)


@pytest.mark.parametrize("flags", [0, CLIENT.FOUND_ROWS], ids=["changed", "found"])
def test_the_trace_is_the_one_that_python_records(
    mariadb: dict[str, Any], tmp_path: Path, flags: int
) -> None:
    expected = recorded_in_python(mariadb, tmp_path / "python", client_flag=flags)
    make_tables(mariadb)
    with proxied(mariadb, tmp_path / "wire") as (there, troubles):
        connection = pymysql.connect(**there, autocommit=True, client_flag=flags)
        run_plainly(connection)
        connection.close()
    assert troubles == []
    assert comparable(tmp_path / "wire") == expected
    assert check(read_trace(tmp_path / "wire"), "strict serializable").valid


@pytest.mark.full
@pytest.mark.parametrize(
    ("language", "mode", "found_rows"),
    [
        ("node", ["text"], True),
        ("node", ["prepared"], True),
        ("go", ["text"], False),
        ("go", ["prepared"], False),
        ("java", ["text", "mariadb"], True),
        ("java", ["prepared", "mariadb"], True),
        ("java", ["text", "mysql"], True),
        ("java", ["prepared", "mysql"], True),
        ("java", ["cursor", "mysql"], True),
    ],
    ids=lambda x: "-".join(x) if isinstance(x, list) else str(x),
)
def test_clients_of_other_languages(
    mariadb: dict[str, Any], tmp_path: Path, language: str, mode: list[str], found_rows: bool
) -> None:
    command = built(language)
    flags = CLIENT.FOUND_ROWS if found_rows else 0
    expected = recorded_in_python(mariadb, tmp_path / "python", client_flag=flags)
    make_tables(mariadb)
    with proxied(mariadb, tmp_path / "wire") as (there, troubles):
        run_client(command, mode, there, tmp_path)
    assert troubles == []
    found = comparable(tmp_path / "wire")
    if mode[0] != "text":  # what is wrong is refused when it is prepared, and never executed
        found, expected = without_failures(found), without_failures(expected)
    assert found == expected


def without_failures(sessions: list[list[Any]]) -> list[list[Any]]:
    return [[line for line in lines if "failed" not in line["ctx"]] for lines in sessions]
