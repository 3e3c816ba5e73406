# What a replay does (the data above are all that is different from one to the next; this part is always the same).
#
# One connection a session, each in a thread of its own. A statement that waits for a lock goes on in its thread, and
# those of the others are sent meanwhile. Then the transactions that were committed are run again, one after the other,
# in one order after another: if what they saw and what they left is not what any of these orders gives, it happened.

import argparse
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from queue import Queue
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import UUID

PLAN: dict[str, Any] = {}

AGAIN, NOT_AGAIN, UNDECIDED, WRONG_USE = 1, 0, 2, 254
PATIENCE = 0.5  # seconds that a statement has before it counts as waiting
LOCKS = 8  # seconds that it may wait for a lock
MOST_RUNS = 400  # transactions one after the other, until it is given up
LEVELS = ("read uncommitted", "read committed", "repeatable read", "serializable")
KINDS: dict[str, Any] = {
    "decimal": Decimal,
    "bytes": bytes.fromhex,
    "uuid": UUID,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
}


class Database:
    """Where it is replayed: connections, tables, and what is in them."""

    def __init__(self, address: str, level: str | None) -> None:
        self.dialect, self.level, self.address = PLAN["dialect"], level, address
        self.root: Any = None
        self.control = self.connect()
        self.lock = threading.Lock()
        self.made: list[str] = []

    def connect(self) -> Any:
        if self.dialect == "postgres":
            import psycopg

            made = psycopg.connect(self.address, autocommit=True)
            made.execute(f"SET lock_timeout = '{LOCKS}s'")
            return made
        if self.dialect == "mysql":
            import pymysql

            url = urlsplit(self.address)
            made = pymysql.connect(
                host=url.hostname or "127.0.0.1",
                port=url.port or 3306,
                user=unquote(url.username or "") or None,
                password=unquote(url.password or ""),
                database=unquote(url.path[1:]),
                autocommit=True,
                client_flag=2,  # count the rows that were found
            )
            made.cursor().execute(f"SET SESSION innodb_lock_wait_timeout = {LOCKS}")
            return made
        if self.dialect == "sqlite":
            import sqlite3

            return sqlite3.connect(self.address, isolation_level=None, timeout=LOCKS, check_same_thread=False)
        import duckdb

        if self.root is None:
            self.root = duckdb.connect(self.address)
        return self.root.cursor()

    def quoted(self, name: str) -> str:
        mark = "`" if self.dialect == "mysql" else '"'
        return ".".join(mark + part.replace(mark, mark * 2) + mark for part in name.split("."))

    def send(self, connection: Any, text: str, parameters: Any = None) -> list[str]:
        """What it answered: the rows, in no order, or how many there were."""
        if self.dialect == "duckdb":
            cursor = connection.execute(text, parameters or [])
            return sorted(map(repr, cursor.fetchall())) if cursor.description else []
        cursor = connection.cursor()
        try:
            if parameters is None:
                cursor.execute(text)
            else:
                cursor.execute(text, parameters)
            if cursor.description:
                return sorted(repr(tuple(row)) for row in cursor.fetchall())
            return [f"{cursor.rowcount} rows"]
        finally:
            cursor.close()

    def begin(self, connection: Any) -> None:
        level = f" ISOLATION LEVEL {self.level.upper()}" if self.level else ""
        if self.dialect == "postgres":
            self.send(connection, "BEGIN" + level)
        elif self.dialect == "mysql":
            if level:
                self.send(connection, "SET TRANSACTION" + level)
            self.send(connection, "START TRANSACTION")
        else:
            self.send(connection, "BEGIN")

    def prepare(self) -> None:
        """New tables, with the rows that were there. Tables that somebody else made are left alone."""
        self.remove()
        mark = "%s" if self.dialect in ("postgres", "mysql") else "?"
        for table in PLAN["tables"]:
            name = self.quoted(table["name"])
            columns = [f"{self.quoted(column)} {kind}" for column, kind in table["columns"]]
            if not (self.dialect == "sqlite" and table["generated"]):
                columns.append(f"PRIMARY KEY ({', '.join(map(self.quoted, table['key']))})")
            self.send(self.control, f"CREATE TABLE {name} ({', '.join(columns)})")
            self.made.append(name)
            for row in table["rows"]:
                named = ", ".join(map(self.quoted, row))
                marks = ", ".join([mark] * len(row))
                values = [value(x) for x in row.values()]
                self.send(self.control, f"INSERT INTO {name} ({named}) VALUES ({marks})", values)

    def remove(self) -> None:
        while self.made:
            self.send(self.control, f"DROP TABLE {self.made.pop()}")

    def number_next(self, connection: Any, table: str, column: str, number: int) -> None:
        """The key that the database gives out next is the one that it gave out then."""
        with suppress(Exception), self.lock:
            if self.dialect == "postgres":
                text = "SELECT setval(pg_get_serial_sequence(%s, %s), %s, false)"
                self.send(self.control, text, (self.quoted(table), column, number))
            elif self.dialect == "mysql":
                self.send(connection, f"SET insert_id = {int(number)}")
            elif self.dialect == "sqlite":
                self.send(connection, "DELETE FROM sqlite_sequence WHERE name = ?", (table,))
                self.send(connection, "INSERT INTO sqlite_sequence VALUES (?, ?)", (table, number - 1))

    def state(self) -> list[Any]:
        return [self.send(self.control, f"SELECT * FROM {self.quoted(t['name'])}") for t in PLAN["tables"]]


def value(said: Any) -> Any:
    """A parameter: plain values stand for themselves, others say what they are."""
    if isinstance(said, dict):
        ((kind, text),) = said.items()
        return KINDS[kind](text)
    return [value(part) for part in said] if isinstance(said, list) else said


def shown(x: object) -> str:
    """On a line, and nothing that a terminal would obey."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(str(x).split()))[:300]


class Transaction:
    """One of them, in one run."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.steps = PLAN["transactions"][name]["steps"]
        self.session = PLAN["transactions"][name]["session"]
        self.saw: list[list[str]] = []
        self.error: str | None = None
        self.committed = self.begun = False

    def do(self, database: Database, connection: Any, number: int) -> str:
        """Its next step; the last one ends it. Returns what became of it."""
        if self.error is not None:
            return "not sent"
        try:
            if not self.begun:
                database.begin(connection)
                self.begun = True
            if number == len(self.steps):
                ends = "COMMIT" if PLAN["transactions"][self.name]["commits"] else "ROLLBACK"
                database.send(connection, ends)
                self.committed = ends == "COMMIT"
                return "done"
            step = self.steps[number]
            if step.get("next"):
                database.number_next(connection, *step["next"])
            given = step["given"]
            answer = database.send(connection, step["text"], None if given is None else value(given))
            self.saw.append(answer)
            return ", ".join(map(shown, answer)) or "no rows"
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"
            with suppress(Exception):
                database.send(connection, "ROLLBACK")
            return f"ERROR {shown(self.error)}"


class Client(threading.Thread):
    """A session: it does what it is told, one thing after the other."""

    def __init__(self, database: Database) -> None:
        super().__init__(daemon=True)
        self.database, self.work = database, Queue[Any]()
        self.connection = database.connect()
        self.waits_for: threading.Event | None = None

    def run(self) -> None:
        while (task := self.work.get()) is not None:
            transaction, number, done, answer = task
            answer.append(transaction.do(self.database, self.connection, number))
            done.set()
        with suppress(Exception):
            self.connection.close()


def interleaved(database: Database, order: list[Any]) -> dict[str, Transaction]:
    """All of them at the same time, step by step in this order."""
    database.prepare()
    runs = {name: Transaction(name) for name in PLAN["transactions"]}
    clients = {run.session: Client(database) for run in runs.values()}
    for client in clients.values():
        client.start()
    waiting: list[tuple[str, threading.Event, list[str]]] = []

    def told(words: str, done: threading.Event, answer: list[str]) -> None:
        late = " (after it had waited)" if words.startswith("...") else ""
        print(f"  {words}\n      -> {answer[0] if done.is_set() else 'still waits'}{late}")

    for name, number in order:
        run = runs[name]
        client, done, answer = clients[run.session], threading.Event(), list[str]()
        client.work.put((run, number, done, answer))
        end = "COMMIT" if PLAN["transactions"][name]["commits"] else "ROLLBACK"
        words = f"{name} ({shown(run.session)}): {end if number == len(run.steps) else line_of(run.steps[number])}"
        behind = client.waits_for is not None and not client.waits_for.is_set()
        if behind or not done.wait(PATIENCE):
            client.waits_for = done
            print(f"  {words}\n      -> waits")
            waiting.append((words, done, answer))
        else:
            told(words, done, answer)
        for past in [past for past in waiting if past[1].is_set()]:
            waiting.remove(past)
            told(f"... {past[0]}", *past[1:])
    for words, done, answer in waiting:
        done.wait(2 * LOCKS)
        told(f"... {words}", done, answer)
    for client in clients.values():
        client.work.put(None)
        client.join(LOCKS)
    return runs


def line_of(step: Any) -> str:
    given = "" if step["given"] is None else f"  {step['given']}"
    return shown(step["text"] + given)


def one_after_the_other(database: Database, names: list[str]) -> tuple[list[Transaction], list[Any]]:
    database.prepare()
    connection = database.connect()
    runs = [Transaction(name) for name in names]
    for run in runs:
        for number in range(len(run.steps) + 1):
            run.do(database, connection, number)
    with suppress(Exception):
        connection.close()
    return runs, database.state()


class Explained(Exception):
    """An order explains it."""


def unexplained(database: Database, runs: dict[str, Transaction], left: list[Any], order: list[Any]) -> bool:
    """Does no order of those that were committed give what they saw and left?"""
    committed = [run for run in runs.values() if run.committed]
    before = list(must_be_before([run.name for run in committed], order))
    count = 0

    def look(names: list[str]) -> None:
        nonlocal count
        count += 1
        if count > MOST_RUNS:
            raise TimeoutError
        again, state = one_after_the_other(database, names)
        if again and again[-1].saw != runs[names[-1]].saw:
            return
        if len(names) == len(committed):
            if state == left:
                raise Explained(" then ".join(names) or "nothing")
            return
        for run in committed:
            if run.name not in names and all(a in names for a, b in before if b == run.name):
                look([*names, run.name])

    look([])
    return True


def must_be_before(names: list[str], order: list[Any]) -> Iterator[tuple[str, str]]:
    """Where the level orders transactions by their sessions or by time, so must an explanation."""
    first = {name: min(i for i, (n, _) in enumerate(order) if n == name) for name in names}
    last = {name: max(i for i, (n, _) in enumerate(order) if n == name) for name in names}
    for a in names:
        for b in names:
            together = PLAN["transactions"][a]["session"] == PLAN["transactions"][b]["session"]
            if a != b and last[a] < first[b] and (PLAN["keeps"] == "time" or (PLAN["keeps"] and together)):
                yield a, b


def replay(database: Database) -> int:
    answer = NOT_AGAIN
    for attempt, order in enumerate(PLAN["orders"]):
        print(f"\n{'in the recorded order' if attempt == 0 else 'in another order'}:")
        runs = interleaved(database, order)
        left = database.state()
        refused = {name: run.error for name, run in runs.items() if run.error is not None}
        try:
            if unexplained(database, runs, left, order):
                print(
                    "\nIt HAPPENED AGAIN: what these transactions saw, and what they left, is not what any order of "
                    "them one after the other gives."
                )
                return AGAIN
        except Explained as why:
            print(f"\nIt did not happen: {why}, one after the other, gives the same.")
        except TimeoutError:
            print("\nNot decided: there are too many orders to try.")
            answer = UNDECIDED
        for name, error in refused.items():
            print(f"  {name} was refused: {shown(error)}")
    return answer


def main() -> int:
    parser = argparse.ArgumentParser(
        description=f"Replays a violation on a database of your own ({PLAN['dialect']}): "
        + shown(PLAN["about"]),
        epilog="Exit code 1: it happened again; 0: it did not; 2: not decided. The statements come from a trace: look "
        "at them, and use a database with nothing in it. Tables are created, and dropped at the end.",
    )
    here = PLAN["dialect"] in ("sqlite", "duckdb")
    what = "a file that is not there yet; else one that is removed" if here else "such as " + PLAN["example"]
    parser.add_argument("database", nargs="?" if here else None, help=what)
    if not here:
        parser.add_argument("--level", choices=LEVELS, default=PLAN["level"], help="the isolation level")
    words = parser.parse_args()
    if here and words.database and Path(words.database).exists():
        parser.exit(WRONG_USE, f"found the file {shown(words.database)}; expected none: it is made anew\n")
    level = getattr(words, "level", None)
    with tempfile.TemporaryDirectory() as folder:
        try:
            database = Database(words.database or str(Path(folder, "replay.db")), level)
        except Exception as error:
            parser.exit(WRONG_USE, f"{type(error).__name__}: {shown(error)}\n")
        print(f"{shown(PLAN['about'])}\non {PLAN['dialect']}, at {level or 'its level'}")
        try:
            return replay(database)
        except Exception as error:
            parser.exit(WRONG_USE, f"cannot be replayed here: {type(error).__name__}: {shown(error)}\n")
        finally:
            with suppress(Exception):
                database.remove()


if __name__ == "__main__":
    sys.exit(main())
