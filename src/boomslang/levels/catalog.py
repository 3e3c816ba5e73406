"""The levels Boomslang checks, with the names people use for them.

"Repeatable read" has three meanings in the world: Adya's PL-2.99 (all cycles but those through a predicate
anti-dependency are forbidden), MySQL's (close to snapshot isolation without its write rule), and "each key is read
from one writer" of some papers. Here it is Adya's.
"""

from __future__ import annotations

import difflib

from boomslang.errors import UsageError
from boomslang.levels.level import Dependency, Level, Point

_T = (Point.ONLY, Point.ONLY)
_FORWARD = (Point.COMMIT, Point.BEGIN)
_BACK = (Point.BEGIN, Point.COMMIT)

READ_COMMITTED = Level(
    name="read-committed",
    short="rc",
    title="read committed",
    edges={Dependency.WW: _T, Dependency.WR: _T, Dependency.PWR: _T},
    citation="Adya 1999, PL-2, section 3.2.2",
    forbids="cycles of ww and wr (G1c), and reads of aborted (G1a) or intermediate (G1b) values",
    aliases=("pl-2",),
)
REPEATABLE_READ = Level(
    name="repeatable-read",
    short="rr",
    title="repeatable read",
    edges={**READ_COMMITTED.edges, Dependency.RW: _T},
    citation="Adya 1999, PL-2.99, section 3.2.4",
    forbids="cycles of ww, wr and item rw (G2-item)",
    aliases=("pl-2.99",),
)
SERIALIZABLE = Level(
    name="serializable",
    short="ser",
    title="serializable",
    edges={**REPEATABLE_READ.edges, Dependency.PRW: _T},
    citation="Adya 1999, PL-3, section 3.2.3; Papadimitriou, JACM 26 (1979)",
    forbids="all cycles (G2)",
    aliases=("pl-3", "serializability", "serialisable", "1sr"),
)
STRICT_SERIALIZABLE = SERIALIZABLE.strong(
    "strict-serializable",
    "sser",
    "strict serializable",
    "Papadimitriou, JACM 26 (1979); Herlihy and Wing, TOPLAS 12 (1990)",
    (
        "strict",
        "strict-serializability",
        "strong-serializable",
        "strong-ser",
        "strict-1sr",
        "strong-1sr",
        "pl-ss",
        "strict-ser",
    ),
)
SNAPSHOT_ISOLATION = Level(
    name="snapshot-isolation",
    short="si",
    title="snapshot isolation",
    edges={
        Dependency.WW: _FORWARD,
        Dependency.WR: _FORWARD,
        Dependency.PWR: _FORWARD,
        Dependency.RW: _BACK,
        Dependency.PRW: _BACK,
    },
    citation="Berenson et al., SIGMOD 1995; Adya 1999, PL-SI, section 4.3; on two points: Zhang et al., EuroSys 2023",
    forbids="cycles over begin and commit points (G-SI)",
    aliases=("pl-si", "snapshot"),
)
STRONG_SNAPSHOT_ISOLATION = SNAPSHOT_ISOLATION.strong(
    "strong-snapshot-isolation",
    "strong-si",
    "strong snapshot isolation",
    "Daudjee and Salem, VLDB 2006",
    ("strong-snapshot", "strong-pl-si", "pl-strong-si"),
)

LEVELS: tuple[Level, ...] = (
    READ_COMMITTED,
    REPEATABLE_READ,
    SNAPSHOT_ISOLATION,
    SERIALIZABLE,
    STRICT_SERIALIZABLE,
    READ_COMMITTED.strong_session(),
    REPEATABLE_READ.strong_session(),
    SNAPSHOT_ISOLATION.strong_session(),
    SERIALIZABLE.strong_session(),
    STRICT_SERIALIZABLE.strong_session(),
    STRONG_SNAPSHOT_ISOLATION,
)


def _normal(name: str) -> str:
    return "-".join(name.strip().lower().replace("_", " ").replace("-", " ").split())


_BY_NAME: dict[str, Level] = {
    _normal(name): level
    for level in LEVELS
    for name in (level.name, level.short, level.title, *level.aliases)
}


def find_level(name: str | Level) -> Level:
    """The level of that name, however it is written: `ser`, `PL-3`, `Serializable`, ..."""
    if isinstance(name, Level):
        return name
    level = _BY_NAME.get(_normal(name))
    if level is None:
        near = difflib.get_close_matches(_normal(name), _BY_NAME, n=1)
        hint = f" (did you mean {_BY_NAME[near[0]].short}?)" if near else ""
        known = ", ".join(f"{known.name} ({known.short})" for known in LEVELS)
        raise UsageError(f"unknown level {name!r}{hint}; known levels: {known}")
    return level
