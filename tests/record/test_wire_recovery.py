"""The trace that is made from a spool is the one that the proxy wrote: byte by byte after its end, and up to the moment
of its death wherever the spool is cut. It is also the one that is made without any short way (native/wire/whole.hpp,
record/sql/plans.py), which shows that these say the same as the long one.

`Spool.settle` takes the spool away when all is understood; here it is copied before, with the folder as it is then.
"""

from __future__ import annotations

import json
import random
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pymysql
import pytest
from pymysql._auth import scramble_native_password
from support import mysql_work, wire
from support.effort import examples
from support.random_sql import SCHEMAS, TABLES, play
from support.recorded_sql import address, server, started

from boomslang import check, read_trace
from boomslang.record.wire import spool
from boomslang.record.wire.postgres.messages import message
from boomslang.record.wire.recovery import recover

COPIED = "copied"


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where a folder is copied to, with its spool, before the proxy ends."""
    settle, there = spool.Spool.settle, tmp_path / COPIED

    def settles(self: spool.Spool) -> None:
        shutil.copytree(self.path.parent, there)
        settle(self)

    monkeypatch.setattr(spool.Spool, "settle", settles)
    return there


def contents(folder: Path) -> dict[str, list[str]]:
    return {path.name: path.read_text("utf-8").splitlines() for path in sorted(folder.iterdir())}


def all_at_once(*works: Callable[[], None]) -> None:
    """Connections that begin in the same moment."""
    barrier, broke = threading.Barrier(len(works)), list[BaseException]()

    def body(work: Callable[[], None]) -> None:
        barrier.wait()
        try:
            work()
        except BaseException as error:
            broke.append(error)

    threads = [threading.Thread(target=body, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if broke:
        raise broke[0]


def is_recovered(folder: Path, copied: Path, seed: int) -> Counter[str]:
    """As it is; then again, cut at any place: what had been answered by then is told in the same way. Returns how often
    short ways were taken."""
    said = (copied / spool.NAME).read_bytes()
    files = {path.name: path.read_bytes() for path in copied.iterdir()}
    expected = contents(folder)
    slow = copied.with_name("slow")
    shutil.copytree(copied, slow)
    with wire.short_ways() as taken:
        assert recover(copied) > 0
    assert differing(contents(copied), expected) == []
    with wire.only_the_long_way(), wire.short_ways() as none:
        recover(slow)
    assert not none["whole"]
    assert differing(contents(slow), expected) == []
    assert tables(contents(copied)) == tables(contents(slow)) == tables(expected)
    rng, start = random.Random(seed), said.index(b"\n") + 1
    for number in range(examples(8)):
        cut = copied.with_name(f"cut{number}")
        cut.mkdir()
        for name, data in files.items():
            (cut / name).write_bytes(data)
        (cut / spool.NAME).write_bytes(said[: rng.randint(start, len(said))])
        recover(cut)
        is_part_of(contents(cut), expected)
        assert check(read_trace(cut), "rc").status != "invalid"
    assert check(read_trace(folder), "rc").status != "invalid"
    return taken


def differing(one: dict[str, list[str]], other: dict[str, list[str]]) -> list[tuple[str, str, str]]:
    """The files, and the first lines that are not the same, in short."""
    found = []
    for name in sorted({*one, *other}):
        lines, others = (but_for_tables(x.get(name, ["no file"])) for x in (one, other))
        if lines != others:
            at = next(
                (n for n, pair in enumerate(zip(lines, others, strict=False)) if pair[0] != pair[1]), -1
            )
            found.append((name, lines[at][:300], others[at][:300]))
    return found


def but_for_tables(lines: list[str]) -> list[str]:
    """What a table looks like is told by whichever session comes to speak of it first: on a busy machine that may be
    another one than before."""
    return [json.dumps(without_tables(json.loads(x))) if '"text": ' in x else x for x in lines]


def without_tables(record: dict[str, Any]) -> dict[str, Any]:
    record.get("ctx", {}).pop("tables", None)
    return record


def tables(files: dict[str, list[str]]) -> list[str]:
    """How tables are described, in all files together: each once."""
    told = (json.loads(x)["ctx"]["tables"] for lines in files.values() for x in lines if '"tables": ' in x)
    return sorted(json.dumps({name: table}) for some in told for name, table in some.items())


def is_part_of(part: dict[str, list[str]], whole: dict[str, list[str]]) -> None:
    for name, lines in part.items():
        if "+ahead" in name or name.endswith(".txt"):
            continue
        begins = (at for at, line in enumerate(lines) if json.loads(line).get("op") == "begin")
        lost = (
            at for at, line in enumerate(lines) if "ConnectionGone" in line
        )  # what was in a pipeline then
        done = min(max(begins, default=0), next(lost, len(lines)))
        assert differing({name: lines[:done]}, {name: whole[name][:done]}) == [], lines[-8:]


# --- PostgreSQL


@pytest.fixture(scope="module")
def postgres() -> Iterator[Any]:
    with started("postgres") as running:
        yield running


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.full) for n in range(1, 12))])
def test_postgres(postgres: Any, copies: Path, tmp_path: Path, seed: int) -> None:
    wire.prepare(postgres.dsn)
    with psycopg.connect(postgres.dsn, autocommit=True) as plain:
        plain.execute("DROP TABLE IF EXISTS cells, further CASCADE")
        plain.execute("CREATE TABLE cells (id int PRIMARY KEY, n int)")
        plain.execute("INSERT INTO cells SELECT n, 0 FROM generate_series(1, 10) n")
    folder = tmp_path / "t"
    with wire.proxied(f"postgres://127.0.0.1:{postgres.port}", folder) as (port, wrong):
        there = str(postgres.dsn).replace(f":{postgres.port}/", f":{port}/")

        def the_program() -> None:
            with psycopg.connect(there, autocommit=True) as c:
                wire.run_with_psycopg(c, wire.PROGRAM, prepare=seed % 2 == 0)

        def copies_rows() -> None:
            with psycopg.connect(there, autocommit=True) as c:
                for text in ("CREATE TABLE further (id int PRIMARY KEY, n int)", "DROP TABLE further") * 2:
                    c.execute(text)
                    if text.startswith("CREATE"):
                        with c.cursor().copy("COPY further FROM STDIN") as copy:
                            for n in range(200):
                                copy.write_row((n, n))

        def cells(client: int) -> Callable[[], None]:
            def work() -> None:
                rng = random.Random(seed * 10 + client)
                with psycopg.connect(there) as c:
                    for number in range(40):
                        one, other = rng.randint(1, 10), rng.randint(1, 10)
                        value = (number + 1) * 10 + client
                        try:
                            if rng.random() < 0.4:
                                with c.pipeline():
                                    c.execute("SELECT n FROM cells WHERE id = %s", (other,))
                                    c.execute("UPDATE cells SET n = %s WHERE id = %s", (value, one))
                                    c.commit()
                            else:
                                c.execute("SELECT n FROM cells WHERE id = %s", (other,))
                                c.execute(f"UPDATE cells SET n = {value} WHERE id = {one}")
                                (c.commit if rng.random() < 0.8 else c.rollback)()
                        except psycopg.errors.Error:
                            c.rollback()

            return work

        all_at_once(the_program, copies_rows, cells(1), cells(2), cells(3))
        assert not wrong
    taken = is_recovered(folder, copies, seed)
    assert taken["whole"] > 0 and taken["planned"] > 0


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.full) for n in range(1, 12))])
def test_random_statements_on_postgres(postgres: Any, copies: Path, tmp_path: Path, seed: int) -> None:
    with psycopg.connect(postgres.dsn, autocommit=True) as plain:
        plain.execute(f"DROP TABLE IF EXISTS {', '.join(TABLES)} CASCADE")
        plain.execute("DROP FUNCTION IF EXISTS copied")
        for text in SCHEMAS["postgres"]:
            plain.execute(text)
        plain.execute("INSERT INTO things (name, n) VALUES ('first', 1)")
    folder = tmp_path / "t"
    with wire.proxied(f"postgres://127.0.0.1:{postgres.port}", folder) as (port, wrong):
        there = str(postgres.dsn).replace(f":{postgres.port}/", f":{port}/")
        with psycopg.connect(there, autocommit=True, prepare_threshold=seed % 3) as c:
            play(c, "postgres", seed, 60, (psycopg.Error,))
        assert not wrong
    assert check(read_trace(folder), "strict serializable").valid
    assert is_recovered(folder, copies, seed)["whole"] > 0


def test_what_was_forwarded_and_makes_no_sense_may_have_done_anything(
    postgres: Any, copies: Path, tmp_path: Path
) -> None:
    """A Bind that nobody can read, and behind it a write that the database may have done."""
    with psycopg.connect(postgres.dsn, autocommit=True) as plain:
        plain.execute("DROP TABLE IF EXISTS cells CASCADE")
        plain.execute("CREATE TABLE cells (id int PRIMARY KEY, n int)")
    with wire.proxied(f"postgres://127.0.0.1:{postgres.port}", tmp_path / "t") as (port, _):
        there = str(postgres.dsn).replace(f":{postgres.port}/", f":{port}/")
        with psycopg.connect(there, autocommit=True) as c:
            c.execute("INSERT INTO cells VALUES (1, 1)")
            c.execute("SELECT n FROM cells WHERE id = 1")
    path = copies / spool.NAME
    last = next(one for one in reversed(list(spool.read(path))) if one.kind is spool.Kind.FROM_SERVER)
    said = message(b"B", b"nonsense") + message(b"Q", b"UPDATE cells SET n = 2 WHERE id = 1\0")
    made = bytearray(spool.record(last.number, last.time, last.connection, spool.Kind.FROM_CLIENT, said))
    made[21] = 1  # it was forwarded
    data = path.read_bytes()
    end = data.index(last.data, data.index(b"\n")) + len(last.data)
    path.write_bytes(data[:end] + made)
    recover(copies)
    coverage = read_trace(copies).coverage
    assert coverage is not None and coverage.tainted["*"] == spool.LOST and coverage.reads_told == 0


# --- MySQL's protocol


@pytest.fixture(scope="module")
def mariadb() -> Iterator[dict[str, Any]]:
    with server("mariadb") as dsn:
        yield address(dsn)


def prepared(c: Any, text: str) -> int:
    """By hand, as PyMySQL prepares nothing: the statement's number."""
    c._execute_command(0x16, text)
    packet = c._read_packet()
    number = int.from_bytes(packet._data[1:5], "little")
    columns, parameters = (int.from_bytes(packet._data[at : at + 2], "little") for at in (5, 7))
    for described in (parameters, columns):
        for _ in range(described + 1 if described else 0):
            c._read_packet()
    return number


def executed(c: Any, number: int, *given: int) -> None:
    said = number.to_bytes(4, "little") + b"\0\1\0\0\0"
    if given:
        said += bytes((len(given) + 7) // 8) + b"\1" + b"\x08\0" * len(given)
        said += b"".join(x.to_bytes(8, "little", signed=True) for x in given)
    c._execute_command(0x17, said)
    first = c._read_packet()
    if not first.is_ok_packet():
        ends = 0
        while ends < 2:
            ends += c._read_packet().is_eof_packet()


def change_user(c: Any, connect: dict[str, Any], database: str) -> None:
    c._execute_command(
        0x11, connect["user"].encode() + b"\0\0" + database.encode() + b"\0\x2d\0mysql_native_password\0\0"
    )
    asked = c._read_packet()
    if asked._data[:1] == b"\xfe":
        salt = asked._data[1:].split(b"\0", 1)[1].rstrip(b"\0")
        c.write_packet(scramble_native_password(connect["password"].encode(), salt))
        asked = c._read_packet()
    assert asked.is_ok_packet()


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.full) for n in range(1, 12))])
def test_mysql(mariadb: dict[str, Any], copies: Path, tmp_path: Path, seed: int) -> None:
    mysql_work.make_tables(mariadb)
    with pymysql.connect(**mariadb, autocommit=True) as plain, plain.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS cells, further")
        cursor.execute("CREATE TABLE cells (id INT PRIMARY KEY, n INT)")
        cursor.execute("INSERT INTO cells VALUES (1, 0), (2, 0), (3, 0)")
    folder = tmp_path / "t"
    with mysql_work.proxied(mariadb, folder) as (there, troubles):

        def the_work() -> None:
            with pymysql.connect(**there, autocommit=True) as c:
                mysql_work.run_plainly(c)

        def changes_tables() -> None:
            with pymysql.connect(**there, autocommit=True) as c, c.cursor() as cursor:
                for _ in range(3):
                    cursor.execute("CREATE TABLE further (id INT PRIMARY KEY, n INT)")
                    cursor.execute("INSERT INTO further VALUES (1, 1)")
                    cursor.execute("DROP TABLE further")

        def cells(client: int) -> Callable[[], None]:
            def work() -> None:
                rng = random.Random(seed * 10 + client)
                with pymysql.connect(**there, autocommit=True) as c, c.cursor() as cursor:
                    read = prepared(c, "SELECT n FROM cells WHERE id = ?")
                    write = prepared(c, "UPDATE cells SET n = ? WHERE id = ?")
                    for number in range(30):
                        one, value = rng.randint(1, 3), (number + 1) * 10 + client
                        try:
                            cursor.execute("BEGIN")
                            executed(c, read, one)
                            executed(c, write, value, one)
                            cursor.execute("SELECT n FROM cells WHERE id = %s", (one,))
                            cursor.execute("COMMIT" if rng.random() < 0.8 else "ROLLBACK")
                        except pymysql.OperationalError:
                            cursor.execute("ROLLBACK")
                        if number == 15 and client == 2:
                            change_user(c, there, there["database"])
                            read = prepared(c, "SELECT n FROM cells WHERE id = ?")
                            write = prepared(c, "UPDATE cells SET n = ? WHERE id = ?")

            return work

        all_at_once(the_work, changes_tables, cells(1), cells(2))
        assert troubles == []
    assert there["password"].encode() not in (copies / spool.NAME).read_bytes()
    taken = is_recovered(folder, copies, seed)
    assert taken["whole"] > 0 and taken["planned"] > 0


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.full) for n in range(1, 12))])
def test_random_statements_on_mysql(mariadb: dict[str, Any], copies: Path, tmp_path: Path, seed: int) -> None:
    with pymysql.connect(**mariadb, autocommit=True) as plain, plain.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {', '.join(TABLES)}")
        for text in SCHEMAS["mysql"]:
            cursor.execute(text)
        cursor.execute("INSERT INTO things (name, n) VALUES ('first', 1)")
    folder = tmp_path / "t"
    with mysql_work.proxied(mariadb, folder) as (there, troubles):
        flag = pymysql.constants.CLIENT.FOUND_ROWS if seed % 2 else 0
        with pymysql.connect(**there, autocommit=True, client_flag=flag) as c:
            play(c, "mysql", seed, 60, (pymysql.Error,))
        assert troubles == []
    assert check(read_trace(folder), "strict serializable").valid
    assert is_recovered(folder, copies, seed)["whole"] > 0


def test_another_database_by_a_change_of_user(mariadb: dict[str, Any], copies: Path, tmp_path: Path) -> None:
    """Which database it is now is in the spool, and who the user is is not: what follows is read in the same way."""
    mysql_work.make_tables(mariadb)
    with pymysql.connect(**mariadb, autocommit=True) as plain, plain.cursor() as cursor:
        cursor.execute("CREATE DATABASE IF NOT EXISTS elsewhere")
        cursor.execute("CREATE TABLE IF NOT EXISTS elsewhere.goods (id INT PRIMARY KEY, stock INT)")
        cursor.execute("REPLACE INTO elsewhere.goods VALUES (1, 77)")
    folder = tmp_path / "t"
    with mysql_work.proxied(mariadb, folder) as (there, troubles):
        with pymysql.connect(**there, autocommit=True) as c, c.cursor() as cursor:
            for database in (there["database"], "elsewhere", there["database"]):
                change_user(c, there, database)
                cursor.execute("SELECT stock FROM goods WHERE id = 1")
                assert cursor.fetchall() == (((77 if database == "elsewhere" else 5),),)
        assert troubles == []
    said = (copies / spool.NAME).read_bytes()
    assert b"elsewhere" in said and b"\x11" + there["user"].encode() not in said
    is_recovered(folder, copies, 0)
    trace = read_trace(folder)
    assert trace.coverage is not None and trace.coverage.reads == (3, 1, 0)
    assert check(trace, "strict serializable").valid


def test_answers_that_come_together(mariadb: dict[str, Any], copies: Path, tmp_path: Path) -> None:
    """A commit that was forwarded before the answer to the write before it was read, and both answers in one piece."""
    mysql_work.make_tables(mariadb)
    folder = tmp_path / "t"
    with mysql_work.proxied(mariadb, folder) as (there, troubles):
        with pymysql.connect(**there, autocommit=True) as c, c.cursor() as cursor:
            for number in range(10):
                cursor.execute("BEGIN")
                cursor.execute(f"UPDATE goods SET stock = {number} WHERE id = 1")
                cursor.execute("COMMIT")
        assert troubles == []
    path = copies / spool.NAME
    found, first = list(spool.read(path)), path.read_bytes().split(b"\n", 1)[0] + b"\n"
    at = max(n for n, one in enumerate(found) if one.kind is spool.Kind.FROM_CLIENT and b"COMMIT" in one.data)
    answer, commit, done = found[at - 1 : at + 2]
    assert (answer.forwarded, commit.forwarded, done.forwarded) == (True, True, True)
    assert answer.kind is done.kind is spool.Kind.FROM_SERVER
    found[at - 1 : at + 2] = [commit, replace(done, data=answer.data + done.data)]
    with path.open("wb") as file:
        file.write(first)
        for number, one in enumerate(found):
            head = (number, one.time, one.connection, one.kind, one.forwarded, 0, len(one.data))
            file.write(spool.HEAD.pack(*head) + one.data)
    wrong: list[str] = []
    recover(copies, wrong.append)
    assert wrong == []
    assert mysql_work.comparable(copies) == mysql_work.comparable(folder)


@pytest.mark.parametrize("size", [900_000, 3_000_000])
def test_large_values_of_mysql(mariadb: dict[str, Any], copies: Path, tmp_path: Path, size: int) -> None:
    with pymysql.connect(**mariadb, autocommit=True) as plain, plain.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS pages")
        cursor.execute("CREATE TABLE pages (id INT PRIMARY KEY, n INT, words LONGTEXT)")
    folder = tmp_path / "t"
    with mysql_work.proxied(mariadb, folder) as (there, troubles):
        with pymysql.connect(**there, autocommit=True) as c, c.cursor() as cursor:
            cursor.execute("INSERT INTO pages VALUES (1, 1, %s)", ("x" * size,))
            cursor.execute("SELECT n FROM pages WHERE id = 1")
        assert troubles == []
    is_recovered(folder, copies, 0)
