"""SQL recorded without a table of statements, on SQLite: what is understood is told, what is not accuses nobody."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlglot")

from support.random_sql import SCHEMAS, play

from boomslang import Tracer, UsageError, check, read_trace
from boomslang.cli.main import main
from boomslang.record import trace_connection, trace_engine
from boomslang.record.sql.given import given_of, spoken
from boomslang.record.statements import get
from boomslang.trace import Outcome, write_trace

SETUP = """
CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, stock INTEGER);
INSERT INTO items VALUES (1, 'tea', 5), (2, 'pot', 6);
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    connection = sqlite3.connect(path)
    connection.executescript(SETUP)
    connection.close()
    return path


@pytest.fixture
def tracer(tmp_path: Path) -> Tracer:
    return Tracer(tmp_path / "trace")


def connect(file: Path, tracer: Tracer, **options: Any) -> Any:
    plain = sqlite3.connect(file, isolation_level=None)
    return trace_connection(plain, tracer, **options)


def lines(connection: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in connection.session.path.read_text().splitlines()[1:]]


def test_one_line_is_enough(file: Path, tracer: Tracer) -> None:
    connection = connect(file, tracer)
    connection.execute("BEGIN")
    ((stock,),) = connection.execute("SELECT stock FROM items WHERE id = ?", (1,)).fetchall()
    connection.execute("UPDATE items SET stock = ? WHERE id = ?", (stock - 1, 1))
    connection.execute("COMMIT")
    trace = read_trace(tracer.folder)
    assert dict(trace.initial())["items[1].stock"] == 5
    told = [(op.kind.name, op.key, op.value) for op in trace.transaction(0).operations]
    assert told == [
        ("GET", "items[1]", True),
        ("GET", "items[1].stock", 5),
        ("GET", "items[1]", True),
        ("PUT", "items[1].stock", 4),
    ]
    verdict = check(trace, level="strict serializable")
    assert verdict.valid and verdict.notes == ("understood: one read statement and one write statement",)


def test_a_phantom_through_a_condition_is_found(file: Path, tracer: Tracer) -> None:
    """Two clients who each see no empty shelf, and empty one: by hand, as SQLite would not let it happen."""
    ann, ben = (connect(file, tracer, session=name) for name in ("ann", "ben"))
    for connection in (ann, ben):
        connection.execute("BEGIN")
        assert connection.execute("SELECT id FROM items WHERE stock = 0").fetchall() == []
    ben.connection.execute("ROLLBACK")  # let it be what a weaker database would do: Ann need not wait for Ben
    for connection, item in ((ann, 1), (ben, 2)):
        if connection is ben:
            ben.connection.execute("BEGIN")
        connection.execute("UPDATE items SET stock = 0 WHERE id = ?", (item,))
        connection.execute("COMMIT")
    trace = read_trace(tracer.folder)
    assert check(trace, level="si").valid
    assert check(trace, level="ser").invalid


def test_a_write_that_is_not_understood_taints_what_others_read(file: Path, tracer: Tracer) -> None:
    ann, ben = connect(file, tracer, session="ann"), connect(file, tracer, session="ben")
    ann.execute("UPDATE items SET stock = stock * 2 WHERE name LIKE 't%'")
    assert ben.execute("SELECT stock FROM items WHERE id = 1").fetchall() == [(10,)]
    assert ben.execute("SELECT name FROM items WHERE id = 1").fetchall() == [("tea",)]
    trace = read_trace(tracer.folder)
    assert trace.coverage is not None
    assert trace.coverage.untold == 1 and trace.coverage.tainted == {
        "items": "a write of rows that are not known"
    }
    verdict = check(trace, level="ser")
    assert verdict.valid
    assert verdict.notes[0].startswith(
        "understood: all of 2 reads and 0% of one write statement; left out: items ("
    )

    # Without the taint, the same trace would accuse SQLite of a value from nowhere.
    path = tracer.folder / "ann.jsonl"
    path.write_text(path.read_text().replace('"taints"', '"taint"'))
    assert check(read_trace(tracer.folder), level="ser").invalid


def test_cells_are_tainted_one_by_one(file: Path, tracer: Tracer) -> None:
    connection = connect(file, tracer)
    connection.execute("UPDATE items SET stock = stock + 1 WHERE id = 1")
    for item in (1, 2):
        connection.execute("SELECT stock FROM items WHERE id = ?", (item,)).fetchall()
    trace = read_trace(tracer.folder)
    assert trace.coverage is not None and trace.coverage.untold == 1
    assert check(trace, level="sser").valid


def test_conditions_over_what_is_tainted_are_left_out(file: Path, tracer: Tracer) -> None:
    connection = connect(file, tracer)
    connection.execute("UPDATE items SET stock = 7 - stock WHERE id = 1")
    connection.execute("SELECT id FROM items WHERE stock = 2").fetchall()
    connection.execute("SELECT id FROM items WHERE name = 'tea'").fetchall()
    trace = read_trace(tracer.folder)
    assert trace.coverage is not None and trace.coverage.untold == 1
    assert check(trace, level="sser").valid


def test_a_statement_by_itself_of_which_nobody_heard_again_taints(file: Path, tracer: Tracer) -> None:
    ann, ben = connect(file, tracer, session="ann"), connect(file, tracer, session="ben")
    ann.execute("UPDATE items SET stock = 9 WHERE id = 1")
    assert ben.execute("SELECT stock FROM items WHERE id = 1").fetchall() == [(9,)]
    path = tracer.folder / "ann.jsonl"
    whole = path.read_text().splitlines()
    assert [json.loads(line)["op"] for line in whole[1:]] == ["begin", "get", "put", "commit"]
    path.write_text("\n".join(whole[:2]) + "\n")  # killed while it was under way
    trace = read_trace(tracer.folder)
    assert trace.txn_outcome[0] == Outcome.UNKNOWN
    assert check(trace, level="ser").valid
    path.write_text("\n".join([whole[0], whole[1].replace("writes", "wrote")]) + "\n")
    assert check(read_trace(tracer.folder), level="ser").invalid


def test_what_a_savepoint_undoes_taints_nothing(file: Path, tracer: Tracer) -> None:
    connection = connect(file, tracer)
    connection.execute("BEGIN")
    for end in ("ROLLBACK TO s", "RELEASE s"):
        connection.execute("SAVEPOINT s")
        connection.execute("UPDATE items SET stock = stock * 2 WHERE name LIKE 't%'")
        connection.execute(end)
        if end.startswith("ROLLBACK"):
            assert not any("taints" in line.get("ctx", {}) for line in lines(connection))
    connection.execute("COMMIT")
    (note,) = [line["ctx"] for line in lines(connection) if "taints" in line.get("ctx", {})]
    assert note["taints"] == ["items[].stock"] and note["text"].startswith("UPDATE")
    assert check(read_trace(tracer.folder), level="sser").valid


def test_a_table_of_statements_overrides_the_parser(file: Path, tracer: Tracer) -> None:
    statement = "SELECT SUM(stock) FROM items"
    connection = connect(file, tracer, statements={statement: get(key=lambda _: "sum")}, understand=True)
    connection.execute(statement).fetchall()
    connection.execute("SELECT stock FROM items WHERE id = 1").fetchall()
    keys = [line.get("key") for line in lines(connection) if line["op"] == "get"]
    assert keys == ["sum", "items[1]", "items[1].stock"]
    strict = connect(file, tracer, statements={statement: get(key=lambda _: "sum")})
    with pytest.raises(UsageError, match="not in the table of statements"):
        strict.execute("SELECT stock FROM items WHERE id = 1")


def test_tables_that_are_created_are_known_and_tables_that_appear_are_not(file: Path, tracer: Tracer) -> None:
    connection = connect(file, tracer)
    connection.execute("CREATE TABLE mine (id INTEGER PRIMARY KEY, n INT)")
    other = sqlite3.connect(file)
    other.executescript(
        "CREATE TABLE theirs (id INTEGER PRIMARY KEY, n INT); INSERT INTO theirs VALUES (1, 1)"
    )
    other.close()
    for table in ("mine", "theirs"):
        connection.execute(f"INSERT INTO {table} VALUES (2, 2)")
        connection.execute(f"SELECT id, n FROM {table}").fetchall()
    trace = read_trace(tracer.folder)
    assert {str(key).partition("[")[0] for key in trace.keys} == {"items", "mine"}
    assert check(trace, level="sser").valid


def test_what_is_renamed_or_dropped_is_tainted(file: Path, tracer: Tracer) -> None:
    connection = connect(file, tracer)
    connection.execute("ALTER TABLE items RENAME TO goods")
    connection.execute("ALTER TABLE goods RENAME TO items")
    connection.execute("SELECT id, stock FROM items").fetchall()
    assert check(read_trace(tracer.folder), level="sser").valid


def test_a_trace_is_of_one_database(file: Path, tracer: Tracer, tmp_path: Path) -> None:
    connect(file, tracer)
    with pytest.raises(UsageError, match="expected one database a trace"):
        connect(tmp_path / "another.db", tracer)


def test_row_factories_are_seen_through_or_not(file: Path, tracer: Tracer) -> None:
    plain = sqlite3.connect(file, isolation_level=None)
    connection = trace_connection(plain, tracer)
    for factory, rows in (
        (sqlite3.Row, [(1, 5)]),
        (
            lambda cursor, row: dict(zip((c[0] for c in cursor.description), row, strict=True)),
            [{"id": 1, "stock": 5}],
        ),
        (lambda cursor, row: row[1], [5]),
    ):
        plain.row_factory = factory
        found = connection.execute("SELECT id, stock FROM items WHERE id = 1").fetchall()
        assert [tuple(row) if factory is sqlite3.Row else row for row in found] == rows
    left = [line["ctx"]["left"] for line in lines(connection) if "left" in line.get("ctx", {})]
    assert left == ["rows that a row factory has made into something else"]


def test_stats_list_the_statements(file: Path, tracer: Tracer, capsys: pytest.CaptureFixture[str]) -> None:
    connection = connect(file, tracer)
    for _ in range(3):
        connection.execute("SELECT MAX(stock) FROM items").fetchall()
    connection.execute("UPDATE items SET stock = 1 WHERE id = 1")
    assert main(["stats", str(tracer.folder)]) == 0
    out = capsys.readouterr().out
    assert "3 (3 left out)" in out and "SELECT MAX(stock) FROM items: an aggregate" in out
    assert main(["stats", "--json", str(tracer.folder)]) == 0
    coverage = json.loads(capsys.readouterr().out)["coverage"]
    assert coverage["reads"] == {"executed": 3, "left_out": 3, "partly": 0}
    assert main(["check", str(tracer.folder), "--level", "ser"]) == 0
    assert "understood: 0% of 3 reads and one write statement; left out: items (an aggregate)" in " ".join(
        capsys.readouterr().out.split()
    )


def test_coverage_stays_with_the_trace_in_other_files(file: Path, tracer: Tracer, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    connection = connect(file, tracer)
    connection.execute("UPDATE items SET stock = stock + 1 WHERE name = 'tea'")
    connection.execute("SELECT stock FROM items WHERE id = 1").fetchall()
    trace = read_trace(tracer.folder)
    for name in ("trace.jsonl.gz", "trace.parquet"):
        if name.endswith("gz"):
            write_trace(trace, tmp_path / name)
        else:
            assert main(["convert", str(tracer.folder), str(tmp_path / name)]) == 0
        again = read_trace(tmp_path / name)
        assert again.coverage is not None and trace.coverage is not None
        assert again.coverage.tainted == trace.coverage.tainted
        assert check(again, level="ser").valid


def test_hints_of_others_do_no_harm(tmp_path: Path) -> None:
    """A trace is untrusted: what looks like a note and is none is a hint like any other."""
    path = tmp_path / "trace.jsonl"
    notes: list[Any] = [
        {"sql": "x"},
        {"taints": 5},
        {"taints": [5, "a["]},
        {"sql": True, "text": 3},
        {"sql": 9},
    ]
    with path.open("w") as out:
        for number, note in enumerate(notes):
            for line in (
                {"session": "a", "txn": number, "op": "begin", "ctx": {"writes": note.get("taints", 7)}},
                {"session": "a", "txn": number, "op": "put", "key": f"k{number}", "value": 1, "ctx": note},
                {"session": "a", "txn": number, "op": "commit"},
            ):
                out.write(json.dumps(line) + "\n")
    assert check(read_trace(path), level="ser").valid


SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 60))]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_statements_of_one_client_break_nothing(tmp_path: Path, seed: int) -> None:
    connection = sqlite3.connect(tmp_path / "random.db", isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    for text in SCHEMAS["sqlite"]:
        connection.execute(text)
    connection.execute("INSERT INTO things (name, n) VALUES ('first', 1)")
    initial, adds = "unknown" if seed % 3 == 0 else "empty", seed % 2 == 1
    tracer = Tracer(tmp_path / "trace", initial=initial, add_returning=adds)
    recorded = trace_connection(connection, tracer)
    play(recorded, "sqlite", seed, 60, (sqlite3.Error, OverflowError), wild=seed % 4 == 1)
    recorded.close()
    verdict = check(read_trace(tracer.folder), level="strict serializable")
    assert verdict.valid, verdict


def test_an_async_engine_is_recorded_by_one_line(file: Path, tracer: Tracer) -> None:
    pytest.importorskip("aiosqlite")
    sqlalchemy = pytest.importorskip("sqlalchemy")
    from sqlalchemy.ext.asyncio import create_async_engine

    async def work() -> None:
        engine = create_async_engine(f"sqlite+aiosqlite:///{file}")
        trace_engine(engine, tracer)
        async with engine.begin() as connection:
            await connection.execute(sqlalchemy.text("UPDATE items SET stock = :n WHERE id = 1"), {"n": 3})
            rows = await connection.execute(sqlalchemy.text("SELECT stock FROM items WHERE id = 1"))
            assert rows.all() == [(3,)]
        await engine.dispose()

    asyncio.run(work())
    trace = read_trace(tracer.folder)
    assert [op.kind.name for op in trace.transaction(0).operations] == ["GET", "PUT", "GET", "GET"]
    assert check(trace, level="sser").valid


def test_an_engine_that_is_in_use_is_refused(file: Path, tracer: Tracer) -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    engine = sqlalchemy.create_engine(f"sqlite:///{file}")
    with engine.connect():
        pass
    with pytest.raises(UsageError, match="right after create_engine"):
        trace_engine(engine, tracer)
    engine.dispose()


def test_numbers_of_rows_are_only_what_they_are_said_to_be(tmp_path: Path, tracer: Tracer) -> None:
    """INT PRIMARY KEY is not SQLite's own number of a row: a row without one has none."""
    connection = connect(tmp_path / "numbers.db", tracer)
    connection.execute("CREATE TABLE odd (id INT PRIMARY KEY, n INT)")
    connection.execute("CREATE TABLE mine (id INTEGER PRIMARY KEY, n INT)")
    for table in ("odd", "mine"):
        connection.execute(f"INSERT INTO {table} (n) VALUES (1)")
        connection.execute(f"SELECT n FROM {table} WHERE id = 1").fetchall()
    trace = read_trace(tracer.folder)
    assert trace.coverage is not None and list(trace.coverage.tainted) == ["odd"]
    assert check(trace, level="sser").valid


def test_dates_of_two_spellings_are_not_compared(tmp_path: Path, tracer: Tracer) -> None:
    connection = connect(tmp_path / "dates.db", tracer)
    connection.execute("CREATE TABLE days (id INTEGER PRIMARY KEY, at DATETIME)")
    connection.execute("INSERT INTO days VALUES (1, '2024-05-06')")
    assert connection.execute("SELECT id FROM days WHERE at = '2024-05-06 00:00:00'").fetchall() == []
    assert connection.execute("SELECT at FROM days WHERE id = 1").fetchall() == [("2024-05-06",)]
    assert check(read_trace(tracer.folder), level="sser").valid


def test_a_trace_that_goes_by_cannot_know_what_is_left_out(file: Path, tracer: Tracer) -> None:
    from boomslang.levels.catalog import find_level
    from boomslang.stream.check import check_as_it_goes_by

    connection = connect(file, tracer)
    connection.execute("SELECT stock FROM items WHERE id = 1").fetchall()
    found = check_as_it_goes_by(tracer.folder, find_level("ser"))
    assert found.status == "unknown" and "recorded from SQL" in found.reason


def hints(connection: Any) -> list[dict[str, Any]]:
    return [line["ctx"] for line in lines(connection) if "sql" in line.get("ctx", {})]


def test_statements_carry_what_it_takes_to_send_them_again(file: Path, tracer: Tracer) -> None:
    connection = connect(file, tracer)
    given = (
        Decimal("1.50"),
        datetime(2026, 1, 31, 12),
        date(2026, 1, 31),
        b"\x00\xff",
        None,
        True,
        1.5,
        "ä",
        2**70,
    )
    connection.execute("SELECT id FROM items WHERE id = ?", (1,)).fetchall()
    with suppress(sqlite3.Error):
        connection.execute(
            f"UPDATE items SET name = COALESCE({', '.join('?' * len(given))}) WHERE id = 1", given
        )
    first, second = hints(connection)
    assert first["given"] == [1] and first["database"] == {"dialect": "sqlite"}
    assert first["tables"]["items"] == {
        "key": ["id"],
        "columns": {"id": "integer", "name": "text", "stock": "integer"},
        "generated": ["id"],
    }
    assert "tables" not in second and tuple(spoken(second["given"])) == (*given[:-1], Decimal(2**70))


@pytest.mark.parametrize(
    "value",
    [object(), float("nan"), "\ud800", "x" * 5000, [[[[[[[[[[[1]]]]]]]]]]]],
    ids=["object", "nan", "half", "long", "deep"],
)
def test_parameters_that_cannot_be_said_are_left_out(file: Path, tracer: Tracer, value: Any) -> None:
    assert given_of([value]) is False and given_of({"name": value}) is False
    connection = connect(file, tracer)
    with suppress(Exception):
        connection.execute("SELECT id FROM items WHERE name = ?", (value,)).fetchall()
    connection.execute("SELECT id FROM items WHERE name = ?", ("tea",)).fetchall()
    assert [hint["given"] for hint in hints(connection)] == [False, ["tea"]]


def test_parameters_can_be_kept_out_of_the_trace(file: Path, tmp_path: Path) -> None:
    tracer = Tracer(tmp_path / "private", parameters=False)
    assert not Tracer.join(tracer.folder, parameters=False).parameters
    connection = connect(file, tracer)
    connection.execute("SELECT id FROM items WHERE name = ?", ("secret",)).fetchall()
    assert [hint["given"] for hint in hints(connection)] == [False]


@pytest.mark.parametrize(
    ("conflict", "understood"),
    [
        ("(id) DO UPDATE SET n = excluded.n", True),
        ("(name) DO UPDATE SET n = excluded.n", False),
        ("DO UPDATE SET n = excluded.n", False),
    ],
)
def test_a_conflict_of_the_primary_key_is_of_no_other_row(
    tmp_path: Path, tracer: Tracer, conflict: str, understood: bool
) -> None:
    """Though another column is unique, too: its conflict would be an error, where the key is named."""
    connection = connect(tmp_path / "unique.db", tracer)
    connection.execute("CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT UNIQUE, n INTEGER)")
    connection.execute("INSERT INTO things VALUES (1, 'a', 1), (2, 'b', 2)")
    connection.execute(f"INSERT INTO things VALUES (1, 'a', 7) ON CONFLICT {conflict}")
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(
            "INSERT INTO things VALUES (1, 'b', 8) ON CONFLICT (id) DO UPDATE SET name = excluded.name"
        )
    connection.execute("SELECT * FROM things").fetchall()
    trace = read_trace(tracer.folder)
    assert trace.coverage is not None and (trace.coverage.writes[1] == 0) == understood
    assert check(trace, level="rc").valid
