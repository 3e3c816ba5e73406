"""What others call levels: further names for ours, words of theirs that mean something else here, and levels of
theirs that are not built.

All of it is data. Sources: Adya's thesis (MIT 1999, chapters 3 and 4), the models of Elle, the papers and command lines
of dbcop (Biswas and Enea), Plume, AWDIT, IsoVista, PolySI, Cobra and Viper, and the manuals of the databases.
"""

from __future__ import annotations

from dataclasses import dataclass

ALSO: dict[str, tuple[str, ...]] = {
    "read-uncommitted": ("degree-1",),
    "read-committed": ("degree-2",),
    "read-committed-be": ("committed-read",),
    "causal": ("causal-cerone", "causal-read"),
    "snapshot-isolation": (
        "adya-si",
        "adya-snapshot-isolation",
        "generalized-snapshot-isolation",
        "gsi",
        "weak-snapshot-isolation",
        "weak-si",
    ),
    "serializable": (
        "degree-3",
        "serialization",
        "conflict-serializable",
        "conflict-serializability",
        "view-serializable",
        "view-serializability",
        "one-copy-serializable",
        "one-copy-serializability",
    ),
    "strict-serializable": ("strong-pl-3", "external-consistency"),
    "strong-session-read-atomic": ("atomic-read",),
    "strong-session-serializable": ("session-serializable", "session-serializability"),
}
"""Level -> further names of it. Conflict and view serializability differ only in which version orders they allow; here
the version order is chosen, so they are the same. Gray's degrees are the locking forms of Adya's levels (thesis,
section 2.1). `serialization` is a word of IsoVista's, `committed-read` and `atomic-read` are dbcop's: its levels count
session order in."""


@dataclass(frozen=True)
class Elsewhere:
    """What somebody else's name is called here."""

    who: str
    name: str
    level: str | None
    """The name of the level that is it; None: there is none."""
    note: str = ""


_ONE_WRITER = "each key is read from one writer; implied by `rr` and by `ra`"
_LOCKING = (
    "plain reads from a snapshot, writes and locking reads from the newest state; between `rc` and `si`"
)

ELSEWHERE: tuple[Elsewhere, ...] = (
    Elsewhere(
        "dbcop",
        "committed-read",
        "read-committed-be",
        "its paper's; the program is weaker: of a transaction's reads it compares only those of one key",
    ),
    Elsewhere("dbcop", "repeatable-read", None, _ONE_WRITER),
    Elsewhere("dbcop", "atomic-read", "strong-session-read-atomic"),
    Elsewhere("dbcop", "causal", "strong-session-causal"),
    Elsewhere("dbcop", "prefix", "strong-session-prefix"),
    Elsewhere("dbcop", "snapshot-isolation", "strong-session-snapshot-isolation"),
    Elsewhere("dbcop", "serializable", "strong-session-serializable"),
    Elsewhere("Plume", "RC", "read-committed-be"),
    Elsewhere("Plume", "RA", "strong-session-read-atomic"),
    Elsewhere("Plume", "TCC", "strong-session-causal"),
    Elsewhere("AWDIT", "read-committed", "read-committed-be"),
    Elsewhere("AWDIT", "read-atomic", "strong-session-read-atomic"),
    Elsewhere("AWDIT", "causal", "strong-session-causal"),
    Elsewhere("IsoVista", "READ_UNCOMMITTED", "read-uncommitted", "in its older versions"),
    Elsewhere("IsoVista", "READ_COMMITTED", "read-committed-be"),
    Elsewhere("IsoVista", "REPEATABLE_READ", None, _ONE_WRITER),
    Elsewhere("IsoVista", "READ_ATOMICITY", "strong-session-read-atomic"),
    Elsewhere("IsoVista", "CAUSAL_CONSISTENCY", "strong-session-causal"),
    Elsewhere("IsoVista", "SNAPSHOT_ISOLATION", "strong-session-snapshot-isolation"),
    Elsewhere("IsoVista", "SERIALIZABLE", "strong-session-serializable"),
    Elsewhere("PolySI", "SI", "strong-session-snapshot-isolation"),
    Elsewhere("Cobra", "serializability", "strong-session-serializable"),
    Elsewhere("Viper", "Adya SI", "snapshot-isolation", "its default"),
    Elsewhere("Viper", "strong session SI", "strong-session-snapshot-isolation"),
    Elsewhere("Viper", "strong SI", "strong-snapshot-isolation"),
    Elsewhere("Elle", "causal", None, "of single operations; `causal-cerone` is `causal`"),
    Elsewhere("PostgreSQL", "READ COMMITTED", "read-committed", "each statement has a snapshot"),
    Elsewhere("PostgreSQL", "REPEATABLE READ", "snapshot-isolation"),
    Elsewhere("PostgreSQL", "SERIALIZABLE", "serializable"),
    Elsewhere("MySQL, MariaDB", "REPEATABLE READ", None, _LOCKING),
    Elsewhere("MySQL, MariaDB", "SERIALIZABLE", "serializable"),
    Elsewhere("Oracle", "READ COMMITTED", "read-committed", "each statement has a snapshot"),
    Elsewhere("Oracle", "SERIALIZABLE", "snapshot-isolation"),
    Elsewhere("SQL Server", "REPEATABLE READ", "repeatable-read", "locks on the rows that were read"),
    Elsewhere("SQL Server", "SNAPSHOT", "snapshot-isolation"),
    Elsewhere("SQL Server", "SERIALIZABLE", "serializable"),
    Elsewhere("Db2", "CS", "cursor-stability"),
    Elsewhere("Db2", "RS (read stability)", "repeatable-read"),
    Elsewhere("Db2", "RR (repeatable read)", "serializable", "locks on ranges, too"),
)


@dataclass(frozen=True)
class Vendors:
    """A vendor's own level, where it differs from the textbook's of that name: a level of ours, and the modules that
    make the difference."""

    names: tuple[str, ...]
    level: str
    modules: tuple[str, ...]


VENDORS: tuple[Vendors, ...] = (
    Vendors(
        ("mariadb-repeatable-read", "mysql-repeatable-read", "innodb-repeatable-read"),
        "snapshot-isolation",
        ("mariadb-repeatable-read",),
    ),
    Vendors(("postgresql-repeatable-read", "postgres-repeatable-read"), "snapshot-isolation", ()),
    Vendors(("oracle-serializable",), "snapshot-isolation", ()),
    Vendors(("db2-repeatable-read",), "serializable", ()),
)


@dataclass(frozen=True)
class NotSupported:
    """A level of others that is known here and not built. `stronger` imply it, and it implies `weaker`."""

    name: str
    source: str
    aliases: tuple[str, ...] = ()
    stronger: tuple[str, ...] = ()
    weaker: tuple[str, ...] = ()
    module: str = ""
    """The module that asks for it, beside any level."""


_BAILIS = "Bailis et al., VLDB 2014"
_TERRY = "a session guarantee; Terry et al., PDIS 1994"
_RUNNING = "Adya 1999: for transactions that have not committed yet"
_STRONG = "with real-time order"
_SESSIONS = ("strong-session-causal",)
_FCV = ("forward-consistent-view",)

NOT_SUPPORTED: tuple[NotSupported, ...] = (
    NotSupported("monotonic-view", "Adya 1999, PL-2L", ("pl-2l",), ("consistent-view",), ("read-committed",)),
    NotSupported(
        "monotonic-snapshot-read",
        "Adya 1999, PL-MSR",
        ("pl-msr",),
        ("snapshot-isolation",),
        ("read-committed",),
    ),
    NotSupported(
        "update-serializable",
        "Adya 1999, PL-3U",
        ("pl-3u", "update-serializability"),
        ("serializable",),
        ("consistent-view",),
    ),
    NotSupported("monotonic-atomic-view", _BAILIS, ("mav",), ("read-atomic",), ("read-committed",)),
    NotSupported("item-cut-isolation", _BAILIS, ("i-ci", "item-cut"), ("read-atomic", "repeatable-read")),
    NotSupported("predicate-cut-isolation", _BAILIS, ("p-ci", "predicate-cut"), ("read-atomic",)),
    NotSupported(
        "update-atomic",
        'Cerone et al., CONCUR 2015; Liu et al., "ROLA", 2018',
        ("ua", "update-atomicity", "rola"),
        ("consistent-view",),
        ("read-atomic", "cursor-stability"),
    ),
    # strong and strong session forms that are not built
    NotSupported(
        "strong-session-read-uncommitted",
        "with session order; Elle",
        ("strong-session-pl-1", "strong-session-ru"),
        ("strong-session-read-committed",),
        ("read-uncommitted",),
    ),
    NotSupported(
        "strong-read-uncommitted",
        f"{_STRONG}; Elle",
        ("strong-pl-1", "strong-ru"),
        _FCV,
        ("read-uncommitted",),
    ),
    NotSupported(
        "strong-read-committed", f"{_STRONG}; Elle", ("strong-pl-2", "strong-rc"), _FCV, ("read-committed",)
    ),
    NotSupported(
        "strong-cursor-stability", _STRONG, ("strong-pl-cs", "strong-cs"), _FCV, ("cursor-stability",)
    ),
    NotSupported("strong-read-atomic", _STRONG, ("strong-ra",), _FCV, ("read-atomic",)),
    NotSupported("strong-causal", _STRONG, (), _FCV, ("causal",)),
    NotSupported(
        "strong-repeatable-read",
        _STRONG,
        ("strong-pl-2.99", "strong-rr"),
        ("strict-serializable",),
        ("repeatable-read",),
    ),
    NotSupported("strong-prefix", _STRONG, ("strong-pc",), ("strong-snapshot-isolation",), ("prefix",)),
    NotSupported(
        "strong-session-monotonic-view",
        "Adya's PL-2L with session order",
        ("strong-session-pl-2l",),
        ("strong-session-consistent-view",),
        ("strong-session-read-committed",),
    ),
    NotSupported(
        "strong-session-forward-consistent-view",
        "Adya's PL-FCV with session order",
        ("strong-session-pl-fcv", "strong-session-fcv"),
        ("strong-session-strict-serializable",),
        ("forward-consistent-view", "strong-session-consistent-view"),
    ),
    # of transactions that are still running
    NotSupported("epl-2", _RUNNING, (), (), ("read-committed",)),
    NotSupported("epl-2l", _RUNNING, (), (), ("read-committed",)),
    NotSupported("epl-2+", _RUNNING, (), (), ("consistent-view",)),
    NotSupported("epl-2.99", _RUNNING, (), (), ("repeatable-read",)),
    NotSupported("epl-3u", _RUNNING, (), (), ("consistent-view",)),
    NotSupported("epl-3", _RUNNING, (), (), ("serializable",)),
    # of single operations
    NotSupported(
        "linearizable",
        "of single operations; Herlihy and Wing, TOPLAS 12 (1990)",
        ("linearizability", "lin", "atomic-consistency"),
        ("strict-serializable",),
    ),
    NotSupported(
        "sequential",
        "of single operations; Lamport 1979",
        ("sequential-consistency", "sequentially-consistent"),
        ("strong-session-serializable",),
    ),
    NotSupported(
        "pram", "of single operations; Lipton and Sandberg 1988", ("fifo", "fifo-consistency"), _SESSIONS
    ),
    NotSupported("read-your-writes", _TERRY, ("ryw", "read-my-writes"), _SESSIONS),
    NotSupported("monotonic-reads", _TERRY, ("mr",), _SESSIONS, module="monotonic-reads"),
    NotSupported("monotonic-writes", _TERRY, ("mw",), _SESSIONS, module="monotonic-writes"),
    NotSupported("writes-follow-reads", _TERRY, ("wfr", "session-causality"), _SESSIONS),
    NotSupported("session-guarantees", _TERRY.replace("a session guarantee", "all four"), (), _SESSIONS),
)
