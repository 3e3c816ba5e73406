"""The proxy between clients of MySQL's protocol and a real MariaDB."""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pymysql
import pytest
from pymysql.constants import CLIENT
from support.effort import examples
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


def session_lines(folder: Path) -> list[str]:
    """The records of all sessions but the initial rows, in short."""
    shown = []
    for lines in comparable(folder, start=False):
        for line in lines:
            value = line.get("value", "absent" if line.get("absent") else "")
            shown.append(
                f"{line['op']}{'!' if line['failed'] else ''} {line.get('key', '')}={value}".strip(" =")
            )
    return shown


@pytest.fixture
def through(mariadb: dict[str, Any], tmp_path: Path) -> Iterator[tuple[dict[str, Any], list[str]]]:
    make_tables(mariadb)
    with proxied(mariadb, tmp_path / "wire") as (there, troubles):
        yield there, troubles


def run_texts(connect: dict[str, Any], *texts: str, **options: Any) -> None:
    connection = pymysql.connect(**{**connect, "autocommit": True, **options})
    with connection, connection.cursor() as cursor:
        for text in texts:
            with suppress(pymysql.Error):
                cursor.execute(text)
                while cursor.nextset():
                    pass


READ = "SELECT stock FROM goods WHERE id = 1"
GOT = ["get goods[1]=True", "get goods[1].stock=5"]
SET_TO = "UPDATE goods SET stock = {} WHERE id = 1"


def put(value: int) -> list[str]:
    return ["get goods[1]=True", f"put goods[1].stock={value}"]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param(
            ["BEGIN", READ, "BEGIN", READ, "ROLLBACK"],
            ["begin", *GOT, "commit", "begin", *GOT, "abort"],
            id="a begin inside commits",
        ),
        pytest.param(
            ["START TRANSACTION WITH CONSISTENT SNAPSHOT", READ, "COMMIT AND CHAIN", READ, "COMMIT RELEASE"],
            ["begin", *GOT, "commit", "begin", *GOT, "commit"],
            id="a chain begins another",
        ),
        pytest.param(
            ["SET autocommit = 0", READ, "SET autocommit = 1", READ],
            ["begin", *GOT, "commit", "begin", *GOT, "commit"],
            id="autocommit switched on commits",
        ),
        pytest.param(
            ["SET autocommit=OFF", SET_TO.format(3), "TRUNCATE log", SET_TO.format(4), "ROLLBACK"],
            ["begin", *put(3), "put!", "commit", "begin", *put(4), "abort"],
            id="schema changes commit",
        ),
        pytest.param(
            [
                "BEGIN",
                SET_TO.format(3),
                "CREATE TABLE goods (id INT)",
                "DROP TABLE",
                READ.replace("5", "3"),
                "COMMIT",
            ],
            None,
            id="schema changes that fail",
        ),
        pytest.param(
            ["BEGIN", SET_TO.format(3)], ["begin", *put(3), "abort"], id="a client that goes aborts"
        ),
        pytest.param(
            ["BEGIN", SET_TO.format(3), "SELECT SLEEP(", "KILL CONNECTION_ID()", "COMMIT"],
            ["begin", *put(3), "get!", "abort"],
            id="a connection that is killed",
        ),
        pytest.param(
            ["USE information_schema", "SELECT 1 FROM TABLES LIMIT 1", "USE test", READ],
            ["begin", "get!", "commit", "begin", *GOT, "commit"],
            id="another database",
        ),
        pytest.param(
            [
                "SET sql_mode = ANSI_QUOTES",
                'SELECT "stock" FROM goods WHERE id = 1',
                "SET sql_mode = ''",
                READ,
            ],
            ["begin", "get!", "commit", "begin", *GOT, "commit"],
            id="other quotes are not understood",
        ),
        pytest.param(
            ["/*!99999 */ " + READ, READ],
            ["begin", "put!", "commit", "begin", *GOT, "commit"],
            id="a comment that may be executed",
        ),
    ],
)
def test_what_begins_and_ends_transactions(
    through: tuple[dict[str, Any], list[str]], tmp_path: Path, texts: list[str], expected: list[str] | None
) -> None:
    there, troubles = through
    run_texts(there, *texts)
    time.sleep(0.1)
    found = session_lines(tmp_path / "wire")
    assert troubles == []
    assert expected is None or found == expected


def test_a_text_of_several_statements(mariadb: dict[str, Any], tmp_path: Path) -> None:
    make_tables(mariadb)
    with proxied(mariadb, tmp_path / "wire") as (there, troubles):
        run_texts(
            there,
            f"BEGIN; {SET_TO.format(3)}; COMMIT; {READ.replace('5', '3')};",
            f"{READ}; SELECT nothing FROM goods; {SET_TO.format(9)}",
            client_flag=CLIENT.MULTI_STATEMENTS,
        )
    found = session_lines(tmp_path / "wire")
    three = ["get goods[1]=True", "get goods[1].stock=3"]
    assert troubles == []
    ahead = ["begin", "abort"]  # what was promised before it was sent
    assert [line for line in found if line not in ahead and line != "commit"] == [
        *put(3),
        *three,
        *three,
        "get!",
    ]
    assert check(read_trace(tmp_path / "wire"), "strict serializable").valid


def test_passwords_are_not_written(through: tuple[dict[str, Any], list[str]], tmp_path: Path) -> None:
    there, _ = through
    run_texts(there, "CREATE USER somebody IDENTIFIED BY 'sesame open'", "DROP USER somebody")
    written = b"".join(file.read_bytes() for file in (tmp_path / "wire").iterdir())
    assert b"CREATE USER" in written
    assert b"sesame" not in written and there["password"].encode() not in written


def test_bytes_that_make_no_sense(mariadb: dict[str, Any], tmp_path: Path) -> None:
    """Whatever a client sends, the proxy goes on, tells what is wrong, and what was recorded can be read."""
    rng = random.Random("wire")
    make_tables(mariadb)
    with proxied(mariadb, tmp_path / "wire") as (there, troubles):
        for _ in range(examples(40)):
            damaged_connection(there, rng)
        run_texts(there, "BEGIN", READ, "COMMIT")
    assert not [why for why in troubles if why.startswith("unexpected")]
    assert " ".join(["begin", *GOT, "commit"]) in " ".join(session_lines(tmp_path / "wire"))
    assert check(read_trace(tmp_path / "wire"), "serializable").status != "invalid"


def damaged_connection(there: dict[str, Any], rng: random.Random) -> None:
    """A client logs in, writes, and then one side's bytes are not what they should be."""
    with suppress(pymysql.Error, OSError, struct.error, IndexError, AssertionError, UnicodeError):
        connection = pymysql.connect(**there, autocommit=rng.random() < 0.5, read_timeout=1, write_timeout=1)
        try:
            cursor = connection.cursor()
            cursor.execute("UPDATE goods SET stock = 5 WHERE id = 1")
            size = rng.randrange(1, 60)
            noise = bytes([rng.choice((1, 2, 3, 4, 14, 17, 22, 23, 24, 25, 28, 31, 77))]) + rng.randbytes(
                size
            )
            if rng.random() < 0.7:
                noise = len(noise).to_bytes(3, "little") + b"\0" + noise
            connection._sock.sendall(noise)
            connection._sock.settimeout(0.05)
            with suppress(OSError):
                connection._sock.recv(1000)
        finally:
            connection._force_close()
