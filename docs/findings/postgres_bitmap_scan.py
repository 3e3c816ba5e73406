"""PostgreSQL up to 15.3: two serializable transactions insert the same key, because a bitmap scan misses a conflict.

    boomslang db start postgres --version 15.3      # prints an address
    python docs/findings/postgres_bitmap_scan.py postgresql://...

A cursor takes the two halves of a bitmap scan apart: it is told how long the table is when it is declared, and asks the
index when the first row is fetched. Between the two another transaction inserts, on a page behind that end.
"""

from __future__ import annotations

import sys

import psycopg

CURSOR = "DECLARE c CURSOR FOR SELECT k FROM bitmap_scan WHERE k = 'new'"
INSERT = "INSERT INTO bitmap_scan (k) VALUES ('new')"


def main(address: str) -> int:
    with psycopg.connect(address, autocommit=True) as setup:
        print(setup.execute("SELECT version()").fetchone()[0].partition(" on ")[0])
        setup.execute("DROP TABLE IF EXISTS bitmap_scan")
        setup.execute("CREATE TABLE bitmap_scan (k text, filler text DEFAULT repeat('-', 5000))")
        setup.execute("ALTER TABLE bitmap_scan ALTER filler SET STORAGE PLAIN")  # a page for each row
        setup.execute("CREATE INDEX ON bitmap_scan (k)")
        setup.execute("INSERT INTO bitmap_scan (k) SELECT 'old' || n FROM generate_series(1, 50) n")
    one, two = psycopg.connect(address), psycopg.connect(address)
    for session in (one, two):
        for kind in ("seqscan", "indexscan", "indexonlyscan"):
            session.execute(f"SET enable_{kind} = off")
        session.commit()
        session.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
    try:
        one.execute(CURSOR)  # ... and looks no further yet
        two.execute(CURSOR)
        print("two finds", two.execute("FETCH ALL FROM c").fetchall())
        two.execute(INSERT)
        print("one finds", one.execute("FETCH ALL FROM c").fetchall())
        two.commit()
        one.execute(INSERT)
        one.commit()
    except psycopg.errors.SerializationFailure as refused:
        print("one is refused:", str(refused).splitlines()[0])
        return 0
    finally:
        one.close()
        two.close()
    with psycopg.connect(address) as last:
        rows = last.execute("SELECT count(*) FROM bitmap_scan WHERE k = 'new'").fetchone()[0]
    print(f"both have committed, and the key is there {rows} times")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
