"""PostgreSQL up to 12.3: a serializable cycle commits, because a row that was born and then updated hides its maker.

    boomslang db start postgres --version 12.3      # prints an address
    python docs/findings/postgres_list_birth.py postgresql://...

One has its snapshot when two makes the new row. An updater then holds that row, and one looks for it: the version it
meets was made by two and is being replaced by the updater, and 12.3 notes the conflict with the updater only. The
updater gives up, and nothing is left of it. Three sees what two did, and not what one did.
"""

from __future__ import annotations

import sys

import psycopg

APPEND = "INSERT INTO list_birth VALUES (%s, %s) ON CONFLICT (k) DO UPDATE SET v = list_birth.v || ',' || excluded.v"
LIST = "SELECT v FROM list_birth WHERE k = %s"


def main(address: str) -> int:
    with psycopg.connect(address, autocommit=True) as setup:
        print(setup.execute("SELECT version()").fetchone()[0].partition(" on ")[0])
        setup.execute("DROP TABLE IF EXISTS list_birth")
        setup.execute("CREATE TABLE list_birth (k text PRIMARY KEY, v text)")
        setup.execute(APPEND, ("old", "zero"))
    one, two, updater, three = sessions = [psycopg.connect(address) for _ in range(4)]
    for session in sessions:
        session.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
    try:
        one.execute(APPEND, ("old", "one"))
        two.execute(APPEND, ("new", "two"))
        two.commit()
        updater.execute(APPEND, ("new", "updater"))
        print("one finds", one.execute(LIST, ("new",)).fetchall())
        updater.rollback()
        print(
            "three finds", three.execute(LIST, ("new",)).fetchall(), three.execute(LIST, ("old",)).fetchall()
        )
        three.commit()
        one.commit()
    except psycopg.errors.SerializationFailure as refused:
        print("refused:", str(refused).splitlines()[0])
        return 0
    finally:
        for session in sessions:
            session.close()
    print("all have committed: one before two, two before three, three before one")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
