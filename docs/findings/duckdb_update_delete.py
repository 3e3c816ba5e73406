"""DuckDB: of an UPDATE and a DELETE of the same row at the same time, neither is refused, and the update is lost.

Plays the four pairs of statements in two connections of one process, and says who was refused and what is left. See
docs/findings/duckdb-update-delete.md.

    python duckdb_update_delete.py [FILE]
"""

from __future__ import annotations

import itertools
import sys

import duckdb

UPDATE = "UPDATE t SET v = v + 1 WHERE id = 1"
DELETE = "DELETE FROM t WHERE id = 1"


def play(path: str, key: str, first: str, second: str, wait: bool) -> str:
    """Both see the row; the first changes it (and commits, unless `wait`); the second changes it; both commit."""
    database = duckdb.connect(path)
    database.execute(f"CREATE OR REPLACE TABLE t (id INTEGER {key}, v INTEGER)")
    database.execute("INSERT INTO t VALUES (1, 0)")
    a, b = database.cursor(), database.cursor()
    for session in (a, b):
        session.execute("BEGIN")
        assert session.execute("SELECT v FROM t").fetchall() == [(0,)]
    try:
        a.execute(first)
        if not wait:
            a.execute("COMMIT")
        b.execute(second)
        if wait:
            a.execute("COMMIT")
        b.execute("COMMIT")
        said = "BOTH COMMIT"
    except duckdb.TransactionException as error:
        said = f"refused: {error}"
        for session in (a, b):
            session.close()
    left = database.execute("SELECT * FROM t").fetchall()
    database.close()
    return f"{said}; left: {left}"


def main() -> None:
    path = sys.argv[1] if len(sys.argv) > 1 else ":memory:"
    print(f"DuckDB {duckdb.__version__}, {path}")
    for key in ("", "PRIMARY KEY"):
        for first, second in itertools.product((UPDATE, DELETE), repeat=2):
            for wait in (False, True):
                when = "while the first is open" if wait else "after the first has committed"
                pair = f"{first.split()[0]}, then {second.split()[0]} {when}"
                print(f"{key:11} {pair:53} {play(path, key, first, second, wait)}")


if __name__ == "__main__":
    main()
