"""Random SQL through a recorded connection, by one client after the other: whatever it was, no level may be broken.

One client at a time is strictly serializable on any database. So if the checker says otherwise, a statement was
misread: a value that came back under another name, a row that was taken for another, a write that nobody noted. The
statements are made to provoke that: values that the database changes on their way in, collations, defaults, cascades,
triggers, conflicts, computed columns, statements that fail.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

SCHEMAS: dict[str, tuple[str, ...]] = {
    "sqlite": (
        "CREATE TABLE things (id INTEGER PRIMARY KEY, name VARCHAR(10) UNIQUE, code CHAR(4) COLLATE NOCASE, n INTEGER "
        "DEFAULT 3, amount NUMERIC(8, 2), flag BOOLEAN, at DATETIME, d DOUBLE, note TEXT, twice INTEGER AS (n * 2), "
        "created DATETIME DEFAULT CURRENT_TIMESTAMP)",
        "CREATE TABLE pairs (a INT, b VARCHAR(8), v INT NOT NULL DEFAULT 7, PRIMARY KEY (a, b))",
        "CREATE TABLE parts (id INTEGER PRIMARY KEY, thing INT REFERENCES things (id) ON DELETE CASCADE, k INT)",
        "CREATE TABLE events (what TEXT)",
        "CREATE TABLE watched (id INTEGER PRIMARY KEY, n INT)",
        "CREATE TABLE copies (id INTEGER PRIMARY KEY, n INT)",
        "CREATE TRIGGER copying AFTER UPDATE ON watched BEGIN "
        "INSERT OR REPLACE INTO copies VALUES (new.id, new.n); END",
    ),
    "postgres": (
        "CREATE TABLE things (id SERIAL PRIMARY KEY, name VARCHAR(10) UNIQUE, code CHAR(4), n INTEGER DEFAULT 3, "
        "amount NUMERIC(8, 2), flag BOOLEAN, at TIMESTAMP, d DOUBLE PRECISION, note TEXT, "
        "twice INTEGER GENERATED ALWAYS AS (n * 2) STORED, created TIMESTAMPTZ DEFAULT now())",
        "CREATE TABLE pairs (a INT, b VARCHAR(8), v INT NOT NULL DEFAULT 7, PRIMARY KEY (a, b))",
        "CREATE TABLE parts (id SERIAL PRIMARY KEY, thing INT REFERENCES things (id) ON DELETE CASCADE, k INT)",
        "CREATE TABLE events (what TEXT)",
        "CREATE TABLE watched (id INT PRIMARY KEY, n INT)",
        "CREATE TABLE copies (id INT PRIMARY KEY, n INT)",
        "CREATE FUNCTION copied() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "INSERT INTO copies VALUES (new.id, new.n) ON CONFLICT (id) DO UPDATE SET n = excluded.n; RETURN new; END $$",
        "CREATE TRIGGER copying AFTER UPDATE ON watched FOR EACH ROW EXECUTE FUNCTION copied()",
    ),
    "mysql": (
        "CREATE TABLE things (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(10) UNIQUE, code CHAR(4), "
        "n INTEGER DEFAULT 3, amount NUMERIC(8, 2), flag BOOLEAN, at DATETIME, d DOUBLE, note TEXT, "
        "twice INTEGER AS (n * 2), created DATETIME DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)",
        "CREATE TABLE pairs (a INT, b VARCHAR(8), v INT NOT NULL DEFAULT 7, PRIMARY KEY (a, b))",
        "CREATE TABLE parts (id INT AUTO_INCREMENT PRIMARY KEY, thing INT, k INT, "
        "FOREIGN KEY (thing) REFERENCES things (id) ON DELETE CASCADE)",
        "CREATE TABLE events (what TEXT)",
        "CREATE TABLE watched (id INT PRIMARY KEY, n INT)",
        "CREATE TABLE copies (id INT PRIMARY KEY, n INT)",
        "CREATE TRIGGER copying AFTER UPDATE ON watched FOR EACH ROW REPLACE INTO copies VALUES (new.id, new.n)",
    ),
}
TABLES = ("parts", "things", "pairs", "events", "watched", "copies")

COLUMNS = ("name", "code", "n", "amount", "flag", "at", "d", "note")


class Statements:
    """Draws statements with their parameters, for one dialect."""

    def __init__(self, dialect: str, seed: int) -> None:
        self.dialect = dialect
        self.draw = random.Random(seed)
        self.mark = "?" if dialect == "sqlite" else "%s"
        self.tame = seed % 4 != 3
        """Almost without statements that taint whole tables, so that much is left to be read."""

    def value(self, column: str) -> Any:
        """Something that may be written to a column, and that it may not leave as it is."""
        draw = self.draw
        if draw.random() < 0.12:
            return None
        sqlite = self.dialect == "sqlite"
        choices: dict[str, Sequence[Any]] = {
            "id": range(1, 12),
            "thing": range(1, 12),
            "name": ("ann", "Ann", "ben ", "ben", "é", "a much longer name", "", "5"),
            "code": ("ab", "AB", "ab  ", "abcd", "abcdef", "É"),
            "n": (
                0,
                1,
                2,
                3,
                -5,
                7,
                True,
                *((1.0, 2.5, "4", "x", 2**40) if self.dialect != "postgres" else (2**40,)),
            ),
            "amount": (
                1,
                Decimal("2.50"),
                Decimal("2.5"),
                Decimal("1.005"),
                *((3.25, "7.10") if not sqlite else ()),
            ),
            "flag": (True, False, *((0, 1) if self.dialect != "postgres" else ())),
            "at": (datetime(2024, 5, 6, 7, 8, 9), datetime(2024, 5, 6, 7, 8, 9, 123456), date(2024, 5, 6)),
            "d": (0.5, 1e-7, 3.0, 2, 1 / 3),
            "note": ("text", "Text", "", "with % and ? and 'quotes'", "trailing  "),
            "a": range(4),
            "b": ("x", "X", "y ", "y", "é"),
            "v": range(5),
            "k": range(5),
        }
        chosen = draw.choice(choices[column])
        return str(chosen) if sqlite and isinstance(chosen, Decimal | datetime | date) else chosen

    def statement(self) -> tuple[str, list[Any]]:
        """One of all kinds."""
        draw = self.draw
        tame = (
            self.select,
            self.select,
            self.select_joined,
            self.insert,
            self.upsert,
            self.update,
            self.pair,
        )
        wild = (
            self.insert,
            self.update,
            self.update_computed,
            self.delete,
            self.part,
            self.odd,
            self.watched,
        )
        return draw.choice(tame if self.tame and draw.random() < 0.97 else (*tame, *wild))()

    def where(self, parameters: list[Any], writes: bool = False) -> str:
        draw, mark = self.draw, self.mark
        kind = draw.choice((0, 6)) if writes and self.tame and draw.random() < 0.98 else draw.randrange(12)
        if kind < 4:
            parameters.append(draw.randint(1, 12))
            return f"id = {mark}"
        if kind == 4:
            parameters += [draw.randint(1, 12) for _ in range(3)]
            return f"id IN ({mark}, {mark}, {mark})"
        if kind == 5:
            parameters += sorted(draw.randint(1, 12) for _ in range(2))
            return f"id BETWEEN {mark} AND {mark}"
        if kind == 6:
            column = draw.choice(COLUMNS)
            parameters += [draw.randint(1, 12), self.compared(column)]
            return f"id = {mark} AND {column} = {mark}"
        if kind == 7:
            return f"{draw.choice(COLUMNS)} IS {draw.choice(('', 'NOT '))}NULL"
        if kind == 8:
            parameters.append(self.compared("n"))
            return f"flag AND NOT n {draw.choice(('<', '>=', '<>'))} {mark}"
        if kind == 9:
            parameters += [self.compared("n"), self.compared("name")]
            return f"n > {mark} OR name = {mark}"
        if kind == 10:
            return "note LIKE 't%%'" if self.dialect != "sqlite" else "note LIKE 't%'"
        column = draw.choice(COLUMNS)
        parameters.append(self.compared(column))
        return f"{column} {draw.choice(('=', '=', '<>', '<', '>='))} {mark}"

    def compared(self, column: str) -> Any:
        """A value that the database can compare with the column."""
        for _ in range(50):
            value = self.value(column)
            if column == "n" and (isinstance(value, bool | str) or (value or 0) > 2**31):
                continue
            if column == "at" and not isinstance(value, datetime | str):
                continue
            if value is not None:
                return value
        return None

    def select(self) -> tuple[str, list[Any]]:
        draw = self.draw
        parameters: list[Any] = []
        where = self.where(parameters)
        columns = draw.choice(
            ("*", "id, " + ", ".join(draw.sample(COLUMNS, 3)), "id", "n, name", "COUNT(*)", "1")
        )
        tail = draw.choice(("", "", " ORDER BY id", " ORDER BY id LIMIT 2", " LIMIT 50"))
        if "COUNT" in columns:
            tail = ""
        lock = (
            draw.choice((" FOR UPDATE", " LOCK IN SHARE MODE" if self.dialect == "mysql" else " FOR SHARE"))
            if self.dialect != "sqlite" and "COUNT" not in columns and draw.random() < 0.2
            else ""
        )
        return f"SELECT {columns} FROM things WHERE {where}{tail}{lock}", parameters

    def select_joined(self) -> tuple[str, list[Any]]:
        draw, mark = self.draw, self.mark
        return draw.choice(
            (
                (
                    "SELECT p.id, p.k, t.id, t.name FROM parts p JOIN things t ON t.id = p.thing WHERE t.n >= "
                    + mark,
                    [1],
                ),
                (
                    f"SELECT t.n, p.k, p.id FROM things t LEFT JOIN parts p ON p.thing = t.id WHERE t.id = {mark}",
                    [draw.randint(1, 12)],
                ),
                ("SELECT p.k, p.thing, t.note FROM parts p INNER JOIN things t ON p.thing = t.id", []),
                ("SELECT SUM(n), MAX(amount) FROM things", []),
                ("SELECT n, COUNT(*) FROM things GROUP BY n", []),
                ("SELECT id, name FROM things WHERE id IN (SELECT thing FROM parts)", []),
                ("SELECT a, b, v FROM pairs", []),
                ("SELECT id, k FROM parts UNION SELECT id, n FROM watched", []),
                ("SELECT id, n FROM copies", []),
                ("SELECT DISTINCT n FROM things", []),
                ("SELECT id, UPPER(name), n FROM things ORDER BY n", []),
            )
        )

    def insert(self) -> tuple[str, list[Any]]:
        draw, mark = self.draw, self.mark
        columns = draw.sample(COLUMNS, draw.randint(1, 4))
        if draw.random() < 0.4:
            columns.insert(0, "id")
        rows = 1 if draw.random() < 0.7 else 2
        parameters = [self.value(column) for _ in range(rows) for column in columns]
        each = f"({', '.join(mark for _ in columns)})"
        returning = draw.choice(("", "", " RETURNING id", " RETURNING *"))
        if self.tame and not returning:
            returning = " RETURNING id"
        word = (
            "INSERT INTO"
            if draw.random() < (0.99 if self.tame else 0.8) or self.dialect == "postgres"
            else (
                draw.choice(("INSERT OR IGNORE INTO", "INSERT OR REPLACE INTO", "REPLACE INTO"))
                if self.dialect == "sqlite"
                else draw.choice(("INSERT IGNORE INTO", "REPLACE INTO"))
            )
        )
        if self.dialect == "postgres" and draw.random() < 0.2:
            returning = " ON CONFLICT DO NOTHING" + returning
        return (
            f"{word} things ({', '.join(columns)}) VALUES {', '.join([each] * rows)}{returning}",
            parameters,
        )

    def upsert_thing(self) -> tuple[str, list[Any]]:
        """Into a table where another column than the primary key is unique, too."""
        draw, mark = self.draw, self.mark
        parameters = [draw.randint(1, 12), self.value("name"), self.compared("n")]
        insert = f"INSERT INTO things (id, name, n) VALUES ({mark}, {mark}, {mark})"
        if self.dialect == "mysql":
            tail = draw.choice(("n = VALUES(n)", "n = n + 1", "name = VALUES(name), n = VALUES(n)"))
            return f"{insert} ON DUPLICATE KEY UPDATE {tail}", parameters
        target = "id" if self.tame else draw.choice(("id", "id", "name"))
        tail = draw.choice(
            (
                "DO UPDATE SET n = excluded.n",
                "DO UPDATE SET name = excluded.name, n = things.n + 1",
                "DO UPDATE SET n = excluded.n WHERE things.n > 2",
                "DO NOTHING",
            )
        )
        back = draw.choice(("", " RETURNING id, n", " RETURNING *"))
        return f"{insert} ON CONFLICT ({target}) {tail}{back}", parameters

    def upsert(self) -> tuple[str, list[Any]]:
        mark = self.mark
        if self.draw.random() < (0.3 if self.dialect != "mysql" or not self.tame else 0.03):
            return self.upsert_thing()
        parameters = [self.value("a"), self.value("b"), self.value("v")]
        if self.dialect == "mysql":
            tail = self.draw.choice(("v = VALUES(v)", "v = v + 1"))
            return (
                f"INSERT INTO pairs VALUES ({mark}, {mark}, {mark}) ON DUPLICATE KEY UPDATE {tail}",
                parameters,
            )
        tail = self.draw.choice(
            ("DO UPDATE SET v = excluded.v", "DO UPDATE SET v = pairs.v + 1", "DO NOTHING")
        )
        back = self.draw.choice(("", " RETURNING v", " RETURNING a, b, v"))
        return (
            f"INSERT INTO pairs VALUES ({mark}, {mark}, {mark}) ON CONFLICT (a, b) {tail}{back}",
            parameters,
        )

    def update(self) -> tuple[str, list[Any]]:
        draw, mark = self.draw, self.mark
        columns = draw.sample(COLUMNS, draw.randint(1, 2))
        parameters = [self.value(column) for column in columns]
        where = self.where(parameters, writes=True)
        returning = draw.choice(("", "", " RETURNING id", " RETURNING *")) if self.dialect != "mysql" else ""
        return (
            f"UPDATE things SET {', '.join(f'{c} = {mark}' for c in columns)} WHERE {where}{returning}",
            parameters,
        )

    def update_computed(self) -> tuple[str, list[Any]]:
        draw = self.draw
        parameters: list[Any] = []
        change = draw.choice(
            ("n = n + 1", "n = n - 2, note = 'less'", "name = UPPER(name)", "d = d * 2", "flag = NOT flag")
        )
        returning = draw.choice(("", " RETURNING id, n", " RETURNING n")) if self.dialect != "mysql" else ""
        return f"UPDATE things SET {change} WHERE {self.where(parameters, True)}{returning}", parameters

    def delete(self) -> tuple[str, list[Any]]:
        parameters: list[Any] = []
        where = (
            self.where(parameters)
            if self.draw.random() < (0.02 if self.tame else 0.3)
            else f"id = {self.mark}"
        )
        if not parameters and where.startswith("id ="):
            parameters = [self.draw.randint(1, 12)]
        returning = self.draw.choice(("", " RETURNING id, n"))
        return f"DELETE FROM things WHERE {where}{returning}", parameters

    def pair(self) -> tuple[str, list[Any]]:
        draw, mark = self.draw, self.mark
        a, b, v = draw.randrange(4), draw.choice(("x", "X", "y", "y ", "é")), draw.randrange(5)
        return draw.choice(
            (
                (f"SELECT v FROM pairs WHERE a = {mark} AND b = {mark}", [a, b]),
                (f"SELECT * FROM pairs WHERE a = {mark}", [a]),
                (f"SELECT a, b, v FROM pairs WHERE b = {mark} AND v > 1", [b]),
                (f"UPDATE pairs SET v = {mark} WHERE a = {mark} AND b = {mark}", [v, a, b]),
                (
                    f"UPDATE pairs SET v = {mark} WHERE a = {mark} AND b = {mark} AND v = {mark}",
                    [v, a, b, v - 1],
                ),
                (f"UPDATE pairs SET a = {mark} WHERE a = {mark}", [a, 9 if self.tame else v]),
                (f"DELETE FROM pairs WHERE a = {mark} AND b = {mark}", [a, b]),
                (f"INSERT INTO pairs (a, b) VALUES ({mark}, {mark})", [a, b]),
            )
        )

    def part(self) -> tuple[str, list[Any]]:
        draw, mark = self.draw, self.mark
        return draw.choice(
            (
                (f"INSERT INTO parts (thing, k) VALUES ({mark}, {mark})", [draw.randint(1, 12), 1]),
                (f"UPDATE parts SET k = {mark} WHERE id = {mark}", [draw.randrange(9), draw.randint(1, 9)]),
                (f"SELECT id, thing, k FROM parts WHERE id < {mark}", [draw.randint(1, 9)]),
                (f"SELECT k FROM parts WHERE id = {mark}", [draw.randint(1, 9)]),
            )
        )

    def watched(self) -> tuple[str, list[Any]]:
        draw, mark = self.draw, self.mark
        one = draw.randrange(3)
        return draw.choice(
            (
                (f"INSERT INTO watched VALUES ({mark}, {mark})", [one, 1]),
                (f"UPDATE watched SET n = {mark} WHERE id = {mark}", [draw.randrange(9), one]),
                (f"SELECT n FROM copies WHERE id = {mark}", [one]),
                (f"SELECT n FROM watched WHERE id = {mark}", [one]),
            )
        )

    def odd(self) -> tuple[str, list[Any]]:
        draw, mark = self.draw, self.mark
        rare = (
            ("INSERT INTO parts (thing, k) SELECT id, n FROM things WHERE id = 1", []),
            ("UPDATE parts SET k = (SELECT COUNT(*) FROM things)", []),
            ("INSERT INTO watched SELECT id, n FROM copies WHERE id > 100", []),
            ("SELECT nonsense FROM things", []),
        )
        often = (
            ("INSERT INTO events VALUES ('odd')", []),
            ("SELECT what FROM events", []),
            ("DELETE FROM events", []),
            (f"SELECT {mark}", [1]) if self.dialect != "postgres" else ("SELECT 1", []),
            ("SELECT t.* FROM things t WHERE t.id = 1", []),
        )
        return draw.choice(rare if draw.random() < 0.15 else often)


def play(
    connection: Any,
    dialect: str,
    seed: int,
    transactions: int,
    errors: tuple[type[BaseException], ...],
    *,
    wild: bool = False,
) -> int:
    """Transactions of random statements on a recorded connection that is in autocommit mode; returns how many
    statements were executed. At the end all tables are read: they must hold what was recorded."""
    statements = Statements(dialect, seed)
    statements.tame &= not wild
    draw = statements.draw
    count = 0
    cursor = connection.cursor()

    def send(text: str, parameters: list[Any]) -> bool:
        nonlocal count
        count += 1
        try:
            cursor.execute(text, parameters) if parameters else cursor.execute(text)
            if cursor.description is not None:
                cursor.fetchall()
        except errors:
            return False
        return True

    for _ in range(transactions):
        if draw.random() < 0.2:
            send(*statements.statement())
            continue
        cursor.execute("BEGIN")
        whole = True
        for step in range(draw.randint(1, 5)):
            inner = draw.random() < 0.6
            if inner:
                cursor.execute(f"SAVEPOINT s{step}")
            fine = send(*statements.statement())
            if inner:
                undone = not fine or draw.random() < 0.15
                cursor.execute(f"ROLLBACK TO SAVEPOINT s{step}" if undone else f"RELEASE SAVEPOINT s{step}")
            elif not fine:
                whole = False
                break
        cursor.execute("COMMIT" if whole and draw.random() < 0.9 else "ROLLBACK")
    for table in TABLES:
        send(f"SELECT * FROM {table}", [])
    return count
