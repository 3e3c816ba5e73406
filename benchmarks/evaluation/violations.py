"""Figure "Boomslang detects real-world violations": eighteen traces, of which some are public.

What is public and in the corpus (`../shared/corpus`, or the folder BOOMSLANG_CORPUS) is checked there; what somebody
can download is named by its path in the file of checkers, under the name that the page gives. The others say so.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from corpus import CORPUS

from evaluation.figure import NOT_HERE, NOT_MEASURED, Plot, Shown, megabytes, seconds, table, value
from evaluation.plan import Plan
from evaluation.plots import bars


@dataclass(frozen=True)
class Violation:
    level: str
    anomaly: str
    database: str
    size: str
    paper: float
    name: str
    """In the file of checkers."""
    needs: str
    """Where the trace is said to be."""
    path: str = ""
    """In the corpus."""
    note: str = ""


COBRA = "CobraLogs' trace `ser-violation/{}`, which the corpus has not"
MONGO = "the history of Jepsen's report on MongoDB 4.2.6"
VERISO = "VerIso's traces of Tapir"
OWN = "the authors' own trace of Tapir, which is not public"

PAPERS = (
    Violation("SER", "G2-anomaly", "YugaByteDB 1.3.1.0", "37.2K", 1.6, "yugabyte-g2", COBRA.format("yuga-G2-a"),
              "cobra/ser-violation/yuga-G2-b", "a smaller one of the same report"),
    Violation("SER", "Lost updates", "YugaByteDB 1.1.10.0", "2.8K", 25.55, "yugabyte-lost-updates",
              COBRA.format("yuga-disW-a")),
    Violation("SER", "G2-anomaly", "CockroachDB beta", "446", 0.08, "cockroach-g2", COBRA.format("cock-G2"),
              "cobra/ser-violation/cock-G2"),
    Violation("SER", "Read uncommitted", "CockroachDB 2.1", "20", 0.05, "cockroach-blog", COBRA.format("cock-blog"),
              "cobra/ser-violation/cock-blog"),
    Violation("SER", "Read skew", "FaunaDB 2.5.4", "8.2K", 14.05, "fauna-read-skew", COBRA.format("fauna-page")),
    Violation("SER", "Fractured reads", "Tapir", "547", 0.07, "tapir-fractured-1", VERISO),
    Violation("SER", "Fractured reads", "Tapir", "480", 0.06, "tapir-fractured-2", VERISO),
    Violation("SER", "G1-anomaly", "Tapir", "13156", 0.68, "tapir-g1", OWN),
    Violation("SER", "G2-anomaly", "Tapir", "9082", 0.66, "tapir-g2", OWN),
    Violation("SI", "Lost updates", "MongoDB 4.2.6", "23.2K", 0.28, "mongodb-lost-updates", MONGO),
    Violation("SI", "Aborted read", "MongoDB 4.2.6", "2.2K", 0.08, "mongodb-aborted-read", MONGO),
    Violation("SI", "G1c-anomaly", "MongoDB 4.2.6", "1.1K", 0.07, "mongodb-g1c", MONGO),
    Violation("SI", "Read future writes", "MongoDB 4.2.6", "4.6K", 0.14, "mongodb-future", MONGO),
    Violation("SI", "Read skew", "TiDB 2.1.7", "9.1K", 0.2, "tidb-read-skew",
              "the history of Jepsen's report on TiDB 2.1.7"),
    Violation("SI", "Non-repeatable read", "MariaDB Galera 10.4.22", "1K", 0.16, "galera", "Plume's traces",
              "polysi/violations/galera/galera.txt", "PolySI's of Galera 10.7, a lost update"),
    Violation("SI", "G-SI-anomaly", "YugaByteDB 2.11.1", "20", 0.05, "yugabyte-gsi",
              "PolySIHistories' trace `violations/yugabyte/yugabyte.txt`, which the corpus has not"),
    Violation("SSER", "Time inversion", "Tapir", "68", 0.05, "tapir-inversion", OWN),
    Violation("PL-2+", "Thin-air read", "AntidoteDB 0.2.2", "120", 0.03, "antidote", "Plume's traces"),
)  # fmt: skip

MORE = (
    Violation("causal", "Causality violation", "Dgraph 21.12", "", 0, "dgraph", "PolySI's artifact",
              "polysi/violations/dgraph/history.bincode"),
    Violation("SER", "Write skew", "Elle's test", "", 0, "elle", "Elle's repository", "elle/si-without-g-single.edn"),
    Violation("SSER", "Stale read", "Elle's paper", "", 0, "elle-paper", "Elle's repository", "elle/paper-example.edn"),
)  # fmt: skip
"""Public, and not among the paper's."""

LEVELS = {
    "SER": "strong-session-ser",
    "SI": "strong-session-si",
    "SSER": "sser",
    "PL-2+": "pl-2+",
    "causal": "strong-session-causal",
}


def violations(plan: Plan) -> Shown:
    names = (
        "level",
        "the paper's anomaly",
        "database",
        "txns",
        "paper s",
        "trace here",
        "txns",
        "found",
        "CPU s",
        "MB",
    )
    rows, labels, paper, ours = [], [], [], []
    for violation in (*PAPERS, *MORE):
        given = plan.checkers.traces.get(violation.name)
        path = (
            given if given is not None else CORPUS / "histories" / violation.path if violation.path else None
        )
        beyond = not violation.paper
        published = [violation.level, violation.anomaly, violation.database, violation.size]
        published.append("" if beyond else f"{violation.paper:g}")
        # A trace that was checked once is shown also where the corpus is not.
        found = None
        if path is not None and (path.exists() or not plan.measure):
            level = "ser" if violation.path.startswith("elle/si") else LEVELS[violation.level]
            name = violation.path if given is None else f"[{violation.name}]"
            found = plan.check(path, name, level)
        if found is None or found.get("problem"):
            told = NOT_MEASURED if path is not None and path.exists() else f"{NOT_HERE} {violation.needs}"
            told += f" (`{violation.name}`)"
            rows.append([*published, (found or {}).get("problem") or told, "", "", "", ""])
            continue
        where = f"`{violation.path if given is None else Path(given).name}`"
        where += f": {violation.note}" if violation.note and given is None else ""
        rows.append(
            [
                *published,
                where,
                f"{found['transactions']:,}",
                found.get("anomaly", found["status"]),
                seconds(found, plan.limit),
                megabytes(found),
            ]
        )
        if not beyond:
            labels.append(f"{violation.level} {violation.anomaly}, {violation.database.split()[0]}")
            paper.append(violation.paper)
            ours.append(value(found))
    there = sum(bool(row[6]) for row in rows[: len(PAPERS)])
    about = (
        f"Of the paper's {len(PAPERS)} traces, {there} or their siblings are here. Seconds are those of the whole "
        "command, with Python's start and with the counterexample's proof and explanation. A trace that you have is "
        "named in the file of checkers (`benchmarks/checkers.toml`) by the name in brackets."
    )
    series = {"here": ours, "the paper's": paper}
    alt = "seconds to find each violation whose trace is here"
    plots = [Plot("violations", alt, lambda p: bars(p, labels, series, "seconds"))] if labels else []
    return Shown([about, "", *table(names, rows)], plots)
