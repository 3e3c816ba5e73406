"""The proxy between clients of MySQL's protocol and a real MariaDB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest
from pymysql.constants import CLIENT
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
