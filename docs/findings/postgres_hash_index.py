"""PostgreSQL, SERIALIZABLE, hash index: two transactions insert the same absent key, and both commit.

Makes the race of docs/findings/postgres-hash-index.md happen on purpose. A debugger stops the first insert between the
moment where it has looked for readers of the bucket and the moment where its entry is in the bucket; the second
transaction looks in between. Nothing in the server is changed, only slowed down.

    python postgres_hash_index.py 'host=127.0.0.1 port=5432 user=postgres dbname=postgres'

needs psycopg, gdb, and the right to attach it to the server's processes (run it as root, or as the server's user). It
drops and makes a table `hash_index_race`. What it records goes to postgres-hash-index.jsonl beside it with --record.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import threading
import time
from pathlib import Path

import psycopg

import boomslang

FILLER = 7
CHECK = "CheckForSerializableConflictIn"


class Debugger:
    """gdb, attached to one backend."""

    def __init__(self, pid: int) -> None:
        self.gdb = subprocess.Popen(
            ["gdb", "-q", "-p", str(pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.say("set pagination off", "set confirm off")

    def say(self, *commands: str) -> None:
        assert self.gdb.stdin is not None
        self.gdb.stdin.write("".join(f"{command}\n" for command in commands))
        self.gdb.stdin.flush()

    def stop_at(self, function: str) -> None:
        """Go on, until the backend comes to a function."""
        self.say("delete", f"break {function}", "continue")

    def let_go(self) -> list[str]:
        """The backend goes on by itself. Returns where it had stopped."""
        self.say("delete", "detach", "quit")
        shown, _ = self.gdb.communicate(timeout=20)
        return [line for line in shown.splitlines() if line.startswith(("#1", "Breakpoint"))]


def attempt(dsn: str, index: str, fillers: int, overflow: bool) -> tuple[list[tuple[str, str]], list[str]]:
    """One race on a fresh table. Returns the rows of the key in the end, and what happened."""
    admin = psycopg.connect(dsn, autocommit=True)
    admin.execute("DROP TABLE IF EXISTS hash_index_race")
    admin.execute("CREATE TABLE hash_index_race (k int, v text)")
    admin.execute(f"CREATE INDEX ON hash_index_race USING {index} (k)")
    admin.execute(
        "INSERT INTO hash_index_race SELECT %s, 'filler' FROM generate_series(1, %s)", (FILLER, fillers)
    )
    # A key of the same bucket: its hash ends in the same bits, of which so small an index uses only a few.
    (key,) = admin.execute(
        "SELECT i FROM generate_series(1000, 99999) i WHERE hashint4(i) & 255 = hashint4(%s) & 255 LIMIT 1",
        (FILLER,),
    ).fetchone() or (None,)
    a, b = (psycopg.connect(dsn, autocommit=True) for _ in range(2))
    for session in (a, b):
        session.execute("SET enable_seqscan = off")
        session.execute("SET enable_bitmapscan = off")
    told: list[str] = []

    def step(who: str, session: psycopg.Connection, sql: str, *values: object) -> None:
        try:
            rows = session.execute(sql, values or None)
            found = f" -> {rows.fetchall()}" if rows.description else ""
            told.append(f"{who}: {sql % values if values else sql}{found}")
        except psycopg.Error as error:
            told.append(
                f"{who}: {sql % values if values else sql} -> {type(error).__name__}: {error.sqlstate}"
            )

    look = "SELECT v FROM hash_index_race WHERE k = %s"
    for who, session in (("A", a), ("B", b)):
        step(who, session, "BEGIN ISOLATION LEVEL SERIALIZABLE")
    step("A", a, look, key)
    debugger = Debugger(a.info.backend_pid)
    debugger.stop_at(CHECK)
    time.sleep(3)  # gdb reads the server's symbols
    insert = "INSERT INTO hash_index_race VALUES (%s, 'A')"
    inserting = threading.Thread(target=step, args=("A", a, insert, key))
    inserting.start()
    time.sleep(1.5)
    debugger.say("backtrace 2", "continue")  # the heap's check; the next one is the index's
    time.sleep(1.5)
    debugger.say("backtrace 2")
    if overflow:  # checked, and about to lock the page where the entry will go
        debugger.stop_at("_hash_getbuf")
        time.sleep(1.5)
        debugger.say("backtrace 2")
    looking = threading.Thread(target=step, args=("B", b, look, key))
    looking.start()
    looking.join(3)
    told.append("(A is inside its INSERT; B " + ("waits for A)" if looking.is_alive() else "did not wait)"))
    stops = debugger.let_go()
    inserting.join(20)
    looking.join(20)
    step("B", b, "INSERT INTO hash_index_race VALUES (%s, 'B')", key)
    step("A", a, "COMMIT")
    step("B", b, "COMMIT")
    rows = admin.execute(look, (key,)).fetchall()
    for session in (a, b, admin):
        session.close()
    return [(str(key), v) for (v,) in rows], told + [f"    gdb {stop}" for stop in stops]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("dsn", help="of a server to try it on, as libpq takes it")
    parser.add_argument("--record", action="store_true", help="write the trace of the two transactions")
    arguments = parser.parse_args()
    with psycopg.connect(arguments.dsn) as session:
        print(session.execute("SELECT version()").fetchone())
    cases = (
        ("hash index, the bucket has an overflow page", "hash", 500, True),
        ("control: hash index, the bucket fits its page", "hash", 5, False),
        ("control: btree index", "btree", 500, False),
    )
    doubled = []
    for title, index, fillers, overflow in cases:
        rows, told = attempt(arguments.dsn, index, fillers, overflow)
        doubled.append(len(rows) > 1)
        print(f"\n{title}\n  " + "\n  ".join(told))
        print(
            f"  rows in the end: {rows}" + ("   <- inserted twice, both committed" if len(rows) > 1 else "")
        )
    if arguments.record and doubled[0]:
        history = boomslang.TraceBuilder()
        a, b = history.transaction(session="A"), history.transaction(session="B")
        for t, value in ((a, "A"), (b, "B")):
            t.get("k", boomslang.Absent)
            t.put("k", value)
            t.commit()
        target = Path(__file__).with_name("postgres-hash-index.jsonl")
        boomslang.trace.write_trace(history.build(), target)
    return 0 if doubled == [True, False, False] else 1


if __name__ == "__main__":
    sys.exit(main())
