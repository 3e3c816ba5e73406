"""What is measured: a table of named cases, and nothing else.

A case is a history (simulated, or a folder of the public corpus), a level, and the verdict that is
known beforehand: what the simulated database promised holds, and what was planted does not. The
numbers to reach are the project's own; a case that misses them is reported, a case with the
wrong verdict fails the run. Histories whose verdict only the checker can tell (does this
snapshot-isolated run happen to be serializable?) expect `None`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from simulate import BLINDW, HERE, RANDOMBENCH, History

CORPUS = HERE.parent.parent / "shared" / "corpus"

SIZES = {"10K": 10_000, "100K": 100_000, "1M": 1_000_000, "10M": 10_000_000}
BOTH = ("ser", "si", "strong-session-ser", "strong-session-si")


@dataclass(frozen=True)
class Case:
    """`seconds` and `megabytes` are to be reached by load + check; `may_give_up`: unknown is an answer."""

    name: str
    history: History | Path
    level: str
    expect: str | None
    seconds: float | None = None
    megabytes: float | None = None
    ladder: str | None = None  # cases of one ladder differ in size alone
    timeout: float = 90
    memory: float = 16_000
    may_give_up: bool = False


def blindw(size: str, levels: tuple[str, ...], history: History = BLINDW, label: str = "") -> Iterator[Case]:
    """A rung of the ladder that the section "numbers to reach" of the design speaks of."""
    reach = {"10K": (0.3, 200), "100K": (2, 500), "1M": (12, 2_000), "10M": (180, 16_000)}
    seconds, megabytes = reach[size]
    for level in levels:
        name = f"BlindW{label} {size}"
        sized = replace(history, transactions=SIZES[size])
        yield Case(name, sized, level, "valid", seconds, megabytes, ladder=f"BlindW{label} {level}")


def quick() -> Iterator[Case]:
    yield from blindw("10K", BOTH)
    yield from blindw("10K", ("si",), replace(BLINDW, level="si"), " (SI database)")
    for plant in ("lost-update", "read-skew", "long-fork", "aborted-read"):
        for level in ("ser", "si"):
            yield Case(f"BlindW 10K + {plant}", replace(BLINDW, plant=plant), level, "invalid", 1)


def standard() -> Iterator[Case]:
    from_si = replace(BLINDW, level="si")
    for size in ("10K", "100K", "1M"):
        yield from blindw(size, BOTH)
        yield from blindw(size, ("si", "strong-session-si"), from_si, " (SI database)")
        yield from blindw(size, ("ser", "si"), replace(BLINDW, folder=True), " (a file a session)")
    for size in ("100K", "1M"):
        for level in ("ser", "si"):
            planted = replace(BLINDW, transactions=SIZES[size], plant="lost-update", plant_at=0.9)
            yield Case(f"BlindW {size} + lost update", planted, level, "invalid")
    yield Case("BlindW 100K (SI database)", replace(from_si, transactions=100_000), "ser", None)


def variety() -> Iterator[Case]:
    """One thing changed at a time, around BlindW."""
    changes: dict[str, History] = {
        "Zipf keys": replace(BLINDW, theta=0.99),
        "20 % writes": replace(BLINDW, writes=0.2),
        "80 % writes": replace(BLINDW, writes=0.8),
        "100 sessions": replace(BLINDW, sessions=100),
        "1,000 keys": replace(BLINDW, keys=1_000),
        "100 values": replace(BLINDW, values=100),
        "10 values": replace(BLINDW, values=10),
        "deletes": replace(BLINDW, writes=0.4, deletes=0.1),
        "scans, deletes": replace(BLINDW, keys=1_000, writes=0.35, deletes=0.05, scans=0.1, span=20),
        "times": replace(BLINDW, times=True),
        "a file a session": replace(BLINDW, folder=True),
        "1 % unknown": replace(BLINDW, unknown=0.01),
    }
    for label, history in changes.items():
        for size in ("10K", "100K"):
            for database, levels in (("ser", ("ser", "si")), ("si", ("si",))):
                sized = replace(history, transactions=SIZES[size], level=database)
                for level in levels:
                    name = f"{label} {size}" + (" (SI database)" if database == "si" else "")
                    yield Case(name, sized, level, "valid", ladder=f"{label} {database} {level}")
    timed = replace(BLINDW, times=True)
    for size in ("10K", "100K"):
        sized = replace(timed, transactions=SIZES[size])
        yield Case(f"times {size}", sized, "strict-serializable", "valid", ladder="times strict")
        stale = replace(sized, plant="stale-read")
        yield Case(f"times {size} + stale read", stale, "strict-serializable", "invalid")
        yield Case(f"times {size} + stale read", stale, "strong-session-ser", "invalid")


def weak() -> Iterator[Case]:
    """Where the prototype of the engine was weak: done in 10 s, or `unknown` within 1 GB."""

    def case(name: str, history: History, level: str, expect: str | None) -> Case:
        return Case(name, history, level, expect, 10, 1_000, timeout=10, memory=1_000, may_give_up=True)

    for values in (2, 3, 5):
        for database, level in (("ser", "ser"), ("ser", "si"), ("si", "si")):
            few = replace(BLINDW, level=database, values=values, times=True)
            yield case(f"{values} values 10K ({database.upper()} database)", few, level, "valid")
    # An SI run of this kind need not break SER. Where it does not (seeds 1 and 2: an order without the
    # session order exists, and replays; with session order there is none) SER is the hardest question here.
    crowd = replace(BLINDW, level="si", sessions=100, writes=0.8, keys=1_000)
    skewed = replace(crowd, plant="write-skew")
    name = "100 sessions, 80 % writes"
    for level in ("si", "strong-session-si"):
        yield case(name, crowd, level, "valid")
    yield case(f"{name} + write skew", skewed, "si", "valid")
    yield case(f"{name} + write skew", skewed, "ser", "invalid")
    yield case(f"{name}, seed 3", replace(crowd, seed=3), "ser", "invalid")
    yield case(f"{name}, seed 3", replace(crowd, seed=3), "si", "valid")
    for seed in (1, 2):
        yield case(f"{name}, seed {seed}", replace(crowd, seed=seed), "ser", "valid")
        yield case(f"{name}, seed {seed}", replace(crowd, seed=seed), "strong-session-ser", "invalid")
    plain = replace(BLINDW, transactions=100_000)
    yield case("plain 100K, sessions not demanded", plain, "ser", "valid")
    yield case("plain 100K, a file a session", replace(plain, folder=True), "ser", "valid")


def random() -> Iterator[Case]:
    def case(database: str, level: str, expect: str | None) -> Case:
        history = replace(RANDOMBENCH, level=database)
        return Case(f"RandomBench 10K ({database.upper()} database)", history, level, expect, 5)

    for level in ("ser", "si", "rr", "rc", "strong-session-ser", "strong-session-si"):
        yield case("ser", level, "valid")
    for level in ("si", "strong-session-si", "rc"):
        yield case("si", level, "valid")
    yield case("si", "ser", None)
    yield case("si", "rr", None)
    yield case("rr", "rr", "valid")
    yield case("rr", "ser", None)
    yield case("rc", "rc", "valid")
    yield case("rc", "rr", None)


def levels() -> Iterator[Case]:
    """The levels in between: 5 s at 10K where only some cycles are forbidden, near SER's time at 100K elsewhere."""
    databases = {
        "BlindW": replace(BLINDW, times=True),
        "BlindW (SI database)": replace(BLINDW, level="si", times=True),
        "BlindW (RC database)": replace(BLINDW, level="rc", times=True),
        "RandomBench": replace(RANDOMBENCH, times=True),
        "100 sessions, 80 % writes (SI database)": replace(
            BLINDW, level="si", sessions=100, writes=0.8, keys=1_000, times=True
        ),
    }
    for name, history in databases.items():
        for level in ("pl-2+", "pl-fcv", "causal", "ra", "rc-be"):
            expect = "valid" if history.level in ("ser", "si") else None
            yield Case(f"{name} 10K", history, level, expect, 5)
    hundred = replace(BLINDW, transactions=100_000)
    for level in ("ser", "rc", "cs", "rr", "prefix", "pl-2+", "causal", "ra"):
        yield Case("BlindW 100K", hundred, level, "valid")


def ten_million() -> Iterator[Case]:
    yield from (replace(case, timeout=900) for case in blindw("10M", BOTH))


def corpus() -> Iterator[Case]:
    """The public histories in Cobra's format, with their published verdicts, if the corpus is there.

    Their `ser` and `si` include session order.
    """
    table = CORPUS / "histories.tsv"
    if not table.exists():
        return
    verdicts = {"ok": "valid", "VIOL": "invalid"}
    with table.open() as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            if not row["format"].startswith("cobra"):
                continue
            for column in ("ser", "si"):
                expect = verdicts.get(row[column])
                path = CORPUS / "histories" / row["path"]
                yield Case(row["path"], path, f"strong-session-{column}", expect)


GROUPS = {
    "quick": quick,
    "standard": standard,
    "variety": variety,
    "weak": weak,
    "random": random,
    "levels": levels,
    "corpus": corpus,
    "ten-million": ten_million,
}
