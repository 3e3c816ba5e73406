"""docs/databases-servers.md and docs/databases-clusters.md say what the adapters offer and what the tests find."""

from __future__ import annotations

from support.interleavings import SCRIPTS
from support.paths import ROOT
from support.server_levels import ETCD, GALERA, H2, INNODB, POSTGRES

from boomslang.databases.cockroachdb import CockroachDB
from boomslang.databases.foundationdb import FoundationDB
from boomslang.databases.h2 import H2 as H2Database
from boomslang.databases.mariadb import MariaDB
from boomslang.databases.mysql import MySQL
from boomslang.databases.postgres import PostgreSQL
from boomslang.databases.tidb import TiDB
from boomslang.databases.tikv import TiKV
from boomslang.databases.yugabytedb import YugabyteDB

PAGE = (ROOT / "docs" / "databases-servers.md").read_text()
CLUSTERS = (ROOT / "docs" / "databases-clusters.md").read_text()


def rows(after: str, page: str = PAGE) -> list[list[str]]:
    """The first table after a line that begins so; without its head's rule."""
    lines = page[page.index(after) :].split("\n")
    first = next(n for n, line in enumerate(lines) if line.startswith("|"))
    found = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not set(cells) <= {"---"}:
            found.append(cells)
    return found


def test_what_the_levels_allow() -> None:
    for name, expected in (("PostgreSQL", POSTGRES), ("MariaDB, MySQL", INNODB), ("H2", H2)):
        (_, *levels), *body = rows(f"| {name} | {' | '.join(expected)} |")
        shown = {
            level: {row[0]: row[n].strip("*") for row in body} for n, level in enumerate(levels, start=1)
        }
        assert shown == expected
        for results in expected.values():
            playable = {each for each in SCRIPTS if name != "H2" or SCRIPTS[each].needs != "iterator"}
            assert set(results) == playable


def test_what_the_levels_of_clusters_allow() -> None:
    for name, expected in (("Galera", GALERA), ("etcd", ETCD)):
        (_, *levels), *body = rows(f"| {name} | {' | '.join(expected)} |\n", CLUSTERS)
        shown = {
            level: {row[0]: row[n].replace("*", "") for row in body}
            for n, level in enumerate(levels, start=1)
        }
        assert shown == expected
    assert all(set(results) == set(SCRIPTS) for results in GALERA.values())


def test_what_the_levels_promise() -> None:
    _, *body = rows("## What the levels promise")
    shown: dict[str, dict[str, str]] = {}
    databases: list[str] = []
    for names, level, promise, _ in body:
        databases = names.split(", ") if names else databases
        for name in databases:
            shown.setdefault(name, {})[level] = promise.replace("`", "")
    adapters = (PostgreSQL, YugabyteDB, CockroachDB, MariaDB, MySQL, H2Database, TiDB, TiKV, FoundationDB)
    assert shown == {
        adapter.title: {
            offered.name: " with ".join([offered.promises, *offered.modules])
            for offered in adapter.levels.values()
        }
        for adapter in adapters
    }
