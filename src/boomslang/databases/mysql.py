"""MySQL and MariaDB (InnoDB), through PyMySQL.

Outcomes. A deadlock's victim (1213) has been rolled back. A lock that could not be had in time (1205) rolls back the
statement only, so the rest is rolled back here: an abort. Data that does not fit, and the like, are errors of their
statement: the transaction is open. Whatever else a statement may say, rolling back makes it certain. A connection that
is gone is `Lost`, and so is a COMMIT that ended with anything but a conflict.

Keys are VARBINARY: in the text types, the binary collations too, 'a' equals 'a '. Each write also changes a counter: an
UPDATE that leaves a row as it is makes no version in InnoDB, and whoever made it would go on reading the old one. The
option `writes` has them written as applications do, without it: then that shows (docs/findings/mariadb-same-value.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

from boomslang.databases.claims import Release, Taken, number_for
from boomslang.databases.database import Aborted, Connection, DatabaseError, Failed, Lost, Offered
from boomslang.databases.server_database import BATCH, TABLE, Served, import_driver, making_table
from boomslang.databases.settings import literal, refused
from boomslang.errors import UsageError

GONE = frozenset(
    {1053, 1077, 1079, 1080, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 2006, 2013, 2055, 3169, 4031}
)
"""Errors after which there is no connection: the server ends, the session was killed, the network failed."""
CONFLICT = frozenset({1213})
"""Errors of COMMIT that are certain to have rolled back: a deadlock, which in a cluster may show as late as that."""
OF_THE_SERVER = frozenset({1229, 1238})
"""Errors of a SET SESSION that names a setting of the server's as a whole, or one that only its configuration sets."""
RESERVED: Mapping[str, str] = {
    **dict.fromkeys(
        ("sql_mode", "character_set_client", "character_set_connection", "character_set_results"), ""
    ),
    **dict.fromkeys(("autocommit", "completion_type", "init_connect", "init_file", "skip_networking"), ""),
    **dict.fromkeys(("datadir", "basedir", "tmpdir", "socket", "pid_file", "port", "bind_address"), ""),
}

MUCH = 5000
"""Rows that are not worth deleting one by one."""

_INSERT = f"INSERT INTO {TABLE} (k, v) VALUES (%s, %s) ON DUPLICATE KEY UPDATE v = "
COUNTED, UPDATE = "counted", "update"
PUTS: Mapping[str, str] = {
    COUNTED: f"{_INSERT}VALUES(v), n = n + 1",
    UPDATE: f"{_INSERT}VALUES(v)",  # if its UPDATE finds no row
    "upsert": f"{_INSERT}VALUES(v)",
    "replace": f"REPLACE INTO {TABLE} (k, v) VALUES (%s, %s)",
}
"""How a value is written: the option `writes`. All but the first leave a row that has the value already as it is."""
APPEND = f"{_INSERT}CONCAT(v, ',', VALUES(v)), n = n + 1"


class MySQL(Served):
    name = "mysql"
    title = "MySQL"
    levels: ClassVar[Mapping[str, Offered]] = {
        each.name: each
        for each in (
            Offered("read uncommitted", "ru"),
            Offered("read committed", "rc", note="each statement has a snapshot of its own"),
            Offered(
                "repeatable read",
                "si",
                ("mariadb-repeatable-read",),
                note="plain reads see a snapshot; locking reads and writes see the newest state",
            ),
            Offered("serializable", "ser", note="plain reads lock, too"),
        )
    }
    default_level = "repeatable read"
    capabilities = frozenset({"locking", "iterator", "append"})
    server_kind: ClassVar[str | None] = "mysql"
    options_known: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "lock_wait_timeout": ("<seconds>",),
        "unix_socket": ("<path>",),
        "ssl_ca": ("<path>",),
        "writes": tuple(PUTS),
    }
    reserved_settings: ClassVar[Mapping[str, str] | None] = RESERVED
    level_settings = ("transaction_isolation", "tx_isolation")
    conflicts: ClassVar[frozenset[int]] = CONFLICT
    gone: ClassVar[frozenset[int]] = GONE

    def __init__(self, argument: str = "") -> None:
        self.driver_must_be_there()
        super().__init__(argument)
        seconds = self.options["lock_wait_timeout"]
        if seconds and not seconds.isdigit():
            raise UsageError(f"found lock_wait_timeout={seconds}; expected a number of seconds")
        self._given = {dsn: self._understood(dsn) for dsn in self.dsns}

    def _understood(self, dsn: str) -> dict[str, Any]:
        """What the driver is to be told of an address."""
        address = urlsplit(dsn)
        try:
            port = address.port or 3306
        except ValueError as problem:
            raise UsageError(f"cannot read the address of {self.title}: {problem}") from None
        if address.query:
            known = ", ".join(self.options_known)
            raise UsageError(
                f"found {address.query!r} in the address of {self.title}; expected some of {known}"
            )
        if len(address.path) < 2:
            raise UsageError(
                f"the address of {self.title} names no database; expected {self.name}://host/database"
            )
        return {
            "host": address.hostname or "127.0.0.1",
            "port": port,
            "user": unquote(address.username or ""),
            "password": unquote(address.password or ""),
            "database": unquote(address.path[1:]),
            "unix_socket": self.options["unix_socket"] or None,
            "ssl_ca": self.options["ssl_ca"] or None,
        }

    @classmethod
    def driver_must_be_there(cls) -> Any:
        return import_driver("pymysql", cls.title, "mysql")

    def connect(self) -> MySQLConnection:
        return self.connect_at(self.dsn)

    def connect_at(self, dsn: str) -> MySQLConnection:
        pymysql = self.driver_must_be_there()
        try:
            driver = pymysql.connect(
                **self._given[dsn],
                charset="utf8mb4",
                autocommit=True,
                connect_timeout=10,
                client_flag=pymysql.constants.CLIENT.FOUND_ROWS,  # or an UPDATE counts what it changed
                sql_mode="STRICT_ALL_TABLES",  # or a value that does not fit is cut off
            )
        except (pymysql.err.Error, OSError) as problem:
            raise Lost(_text(problem)) from None
        for name, value in {**self.settings_of_options(), **self.settings}.items():
            try:
                driver.cursor().execute(f"SET SESSION {name} = {literal(value)}")
            except (pymysql.err.Error, OSError) as problem:
                code = problem.args[0] if problem.args else None
                if code in OF_THE_SERVER and self.started_here:
                    continue  # its configuration has it
                driver._force_close()
                if isinstance(problem, OSError | pymysql.err.InterfaceError) or code in self.gone:
                    raise Lost(_text(problem)) from None
                raise refused(self.title, name, value, _text(problem)) from None
        return self.connection(driver)

    def settings_of_options(self) -> dict[str, str]:
        """What options of ours come to, as settings."""
        seconds = self.options["lock_wait_timeout"]
        return {"innodb_lock_wait_timeout": seconds} if seconds else {}

    def connection(self, driver: Any) -> MySQLConnection:
        return MySQLConnection(driver, self.conflicts, self.options["writes"], self.gone)

    def claim_tables(self) -> Release | None:
        held: list[MySQLConnection] = []

        def release() -> None:
            for connection in held:
                connection.close()

        for dsn in self.dsns:  # such a lock is one node's alone
            try:
                held.append(self.connect_at(dsn))
            except Lost:
                continue
            try:
                if not self.lock_name(held[-1], number_for(f"{self._given[dsn]['database']}.{TABLE}")):
                    release()
                    raise Taken(self.title, f"the table {TABLE}")
            except (Failed, Aborted):  # of those that speak the protocol, some have no such locks
                held.pop().close()
        return release

    def lock_name(self, connection: MySQLConnection, number: int) -> bool:
        """Take an advisory lock for as long as the connection lives, unless another has it."""
        connection.run("SET SESSION wait_timeout = 604800")
        ((had,),) = connection.run(f"SELECT GET_LOCK('boomslang {number}', 0)").fetchall()
        return bool(had)

    def prepare(self, initial: Mapping[str, str]) -> None:
        with making_table(self.connect(), self.title) as connection:
            connection.run("SET SESSION lock_wait_timeout = 30")
            connection.run(
                f"CREATE TABLE IF NOT EXISTS {TABLE} (k VARBINARY(700) NOT NULL PRIMARY KEY, v LONGBLOB NOT NULL, "
                "n BIGINT NOT NULL DEFAULT 0) ENGINE = InnoDB"
            )
            # To make a table takes InnoDB longer than to empty one that holds little.
            if connection.run(f"SELECT 1 FROM {TABLE} LIMIT 1 OFFSET {MUCH}").fetchall():
                connection.run(f"TRUNCATE TABLE {TABLE}")
            connection.run("START TRANSACTION")
            connection.run(f"DELETE FROM {TABLE}")
            connection.load(initial)
            connection.run("COMMIT")

    def version(self) -> str:
        connection = self.connect()
        try:
            ((told,),) = connection.run("SELECT VERSION()").fetchall()
            return f"{self.title} {told}"
        finally:
            connection.close()


def _text(problem: Exception) -> str:
    return ": ".join(str(part) for part in problem.args) or type(problem).__name__


class MySQLConnection(Connection):
    def __init__(
        self,
        driver: Any,
        conflicts: frozenset[int] = CONFLICT,
        writes: str = COUNTED,
        gone: frozenset[int] = GONE,
    ) -> None:
        self.driver = driver
        """The PyMySQL connection. It commits each statement by itself; transactions are ours to begin."""
        self._conflicts = conflicts
        self._gone = gone
        self._writes = writes
        self._level = ""
        self._errors = import_driver("pymysql", "MySQL", "mysql").err

    # --- what may be raised

    def run(self, statement: str, *values: bytes) -> Any:
        """Runs a statement of an open transaction."""
        try:
            return self._send(statement, *values)
        except (self._errors.Error, OSError) as problem:
            raise self._meaning(problem) from None

    def _send(self, statement: str, *values: bytes) -> Any:
        cursor = self.driver.cursor()
        cursor.execute(statement, values or None)
        return cursor

    def load(self, pairs: Mapping[str, str]) -> None:
        """Inserts many pairs at a time."""
        rows = [(key.encode(), value.encode()) for key, value in pairs.items()]
        try:
            self.driver.cursor().executemany(f"INSERT INTO {TABLE} (k, v) VALUES (%s, %s)", rows)
        except (self._errors.Error, OSError) as problem:
            raise self._meaning(problem) from None

    def _meaning(self, problem: Exception) -> DatabaseError:
        if self._is_gone(problem):
            self.close()
            return Lost(_text(problem))
        errors = self._errors
        if isinstance(problem, (errors.DataError, errors.IntegrityError, errors.ProgrammingError)):
            return Failed(_text(problem))
        self.abort()
        return Aborted(_text(problem))

    def _is_gone(self, problem: Exception) -> bool:
        code = problem.args[0] if problem.args else None
        return (
            not self.driver.open
            or isinstance(problem, OSError | self._errors.InterfaceError)
            or code in self._gone
        )

    def commit(self) -> None:
        try:
            self._send("COMMIT")
        except (self._errors.Error, OSError) as problem:
            if not self._is_gone(problem) and problem.args[0] in self._conflicts:
                self.abort()
                raise Aborted(_text(problem)) from None
            self.close()
            raise Lost(_text(problem)) from None

    def abort(self) -> None:
        try:
            self._send("ROLLBACK")
        except (self._errors.Error, OSError) as problem:
            self.close()
            raise Lost(_text(problem)) from None

    def close(self) -> None:
        if self.driver.open:
            try:
                self.driver.close()
            except (self._errors.Error, OSError):
                self.driver._force_close()

    # --- operations

    def begin(self, level: str) -> None:
        if level != self._level:
            self.run(f"SET SESSION TRANSACTION ISOLATION LEVEL {level.upper()}")
            self._level = level
        self.run("START TRANSACTION")

    def get(self, key: str) -> str | None:
        return self._one(f"SELECT v FROM {TABLE} WHERE k = %s", key)

    def get_for_update(self, key: str) -> str | None:
        return self._one(f"SELECT v FROM {TABLE} WHERE k = %s FOR UPDATE", key)

    def _one(self, statement: str, key: str) -> str | None:
        row = self.run(statement, key.encode()).fetchone()
        return None if row is None else row[0].decode()

    def put(self, key: str, value: str) -> None:
        if self._writes == UPDATE:
            found = self.run(f"UPDATE {TABLE} SET v = %s WHERE k = %s", value.encode(), key.encode()).rowcount
            if found:
                return
        self.run(PUTS[self._writes], key.encode(), value.encode())

    def append(self, key: str, element: str) -> None:
        self.run(APPEND, key.encode(), element.encode())

    def delete(self, key: str) -> bool:
        return bool(self.run(f"DELETE FROM {TABLE} WHERE k = %s", key.encode()).rowcount)

    def scan(self, lo: str | None, hi: str | None) -> list[tuple[str, str]]:
        return self._page([(">=", lo), ("<", hi)])

    def iterator(self, lo: str | None, hi: str | None) -> Iterator[tuple[str, str]]:
        # The protocol has no cursors worth the name: each page is a query of its own, and the first is read now.
        return self._pages(self._page([(">=", lo), ("<", hi)], BATCH), hi)

    def _pages(self, page: list[tuple[str, str]], end: str | None) -> Iterator[tuple[str, str]]:
        while page:
            yield from page
            if len(page) < BATCH:
                return
            page = self._page([(">", page[-1][0]), ("<", end)], BATCH)

    def _page(self, bounds: list[tuple[str, str | None]], limit: int | None = None) -> list[tuple[str, str]]:
        said = " AND ".join(f"k {sign} %s" for sign, bound in bounds if bound is not None)
        rows = self.run(
            f"SELECT k, v FROM {TABLE}{' WHERE ' + said if said else ''} ORDER BY k"
            + (f" LIMIT {limit}" if limit else ""),
            *(bound.encode() for _, bound in bounds if bound is not None),
        ).fetchall()
        return [(key.decode(), value.decode()) for key, value in rows]
