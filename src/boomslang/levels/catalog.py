"""The levels Boomslang checks, with the names people use for them.

"Repeatable read" has three meanings in the world: Adya's PL-2.99 (all cycles but those through a predicate
anti-dependency are forbidden), MySQL's (close to snapshot isolation without its write rule), and "each key is read
from one writer" of some papers. Here it is Adya's.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from boomslang.errors import UsageError
from boomslang.levels.level import Dependency, Level, Once, Point

if TYPE_CHECKING:
    from boomslang.levels.names import NotSupported

_T = (Point.ONLY, Point.ONLY)
_FORWARD = (Point.COMMIT, Point.BEGIN)
_BACK = (Point.BEGIN, Point.COMMIT)

_READS = frozenset({Dependency.WR, Dependency.PWR})

READ_UNCOMMITTED = Level(
    name="read-uncommitted",
    short="ru",
    title="read uncommitted",
    edges={Dependency.WW: _T},
    citation="Adya 1999, PL-1, section 3.2.1",
    forbids="cycles of ww (G0), which show only where the version order is known: in lists",
    aliases=("pl-1",),
    observes=False,
)
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
READ_COMMITTED_BE = Level(
    name="read-committed-be",
    short="rc-be",
    title="read committed after Biswas and Enea",
    edges={**READ_COMMITTED.edges, Dependency.SO: _T},
    citation="Biswas and Enea, OOPSLA 2019, figure 2",
    forbids="cycles of ww, wr and so, and a read of a version older than one whose writer was read from before",
    aliases=("rc-biswas-enea",),
    once=Once(_READS, longest=1, earlier=True),
)
CURSOR_STABILITY = replace(
    READ_COMMITTED,
    name="cursor-stability",
    short="cs",
    title="cursor stability",
    citation="Adya 1999, PL-CS, section 4.2; Berenson et al., SIGMOD 1995",
    forbids="G1, and a write between one's read of a key and one's write of it (G-cursor, lost update)",
    aliases=("pl-cs",),
    cursor=True,
)
READ_ATOMIC = replace(
    READ_COMMITTED,
    name="read-atomic",
    short="ra",
    title="read atomic",
    citation="Bailis et al., SIGMOD 2014; Cerone et al., CONCUR 2015",
    forbids="G1, and cycles of one rw and one wr: reads that see part of a transaction (fractured reads)",
    aliases=("ramp", "read-atomicity"),
    once=Once(_READS, longest=1),
)
CAUSAL = replace(
    READ_COMMITTED,
    name="causal",
    short="causal",
    title="causal consistency",
    citation="Lloyd et al., SOSP 2011; Cerone et al., CONCUR 2015; Biswas and Enea, OOPSLA 2019",
    forbids="G1, and cycles of one rw and otherwise wr",
    aliases=("tcc", "cc", "transactional-causal-consistency", "causal-consistency", "causal+", "tcc+"),
    once=Once(_READS),
)
CONSISTENT_VIEW = replace(
    READ_COMMITTED,
    name="consistent-view",
    short="pl-2+",
    title="consistent view",
    citation="Adya 1999, PL-2+, section 4.1; as parallel SI: Sovran et al., SOSP 2011; Cerone and Gotsman, JACM 2018",
    forbids="G1, and cycles of one rw and otherwise ww and wr (G-single)",
    aliases=("parallel-snapshot-isolation", "psi", "pl-2-plus", "basic-consistency"),
    once=Once(_READS | {Dependency.WW}),
)
FORWARD_CONSISTENT_VIEW = CONSISTENT_VIEW.strong(
    "forward-consistent-view",
    "pl-fcv",
    "forward consistent view",
    "Adya 1999, PL-FCV, section 4.4",
    ("fcv", "strong-pl-2+", "strong-consistent-view", "strong-psi", "strong-parallel-snapshot-isolation"),
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
PREFIX = replace(
    SNAPSHOT_ISOLATION,
    name="prefix",
    short="prefix",
    title="prefix consistency",
    edges={**SNAPSHOT_ISOLATION.edges, Dependency.WW: (Point.COMMIT, Point.COMMIT)},
    citation="Burckhardt et al., ECOOP 2015; Biswas and Enea, OOPSLA 2019",
    forbids="reads of anything but a prefix of the commits; writers of a key may overlap",
    aliases=("pc", "prefix-consistency", "consistent-prefix"),
)
STRONG_SNAPSHOT_ISOLATION = SNAPSHOT_ISOLATION.strong(
    "strong-snapshot-isolation",
    "strong-si",
    "strong snapshot isolation",
    "Daudjee and Salem, VLDB 2006",
    ("strong-snapshot", "strong-pl-si", "pl-strong-si"),
)

_TEXTBOOK = (
    READ_COMMITTED,
    CURSOR_STABILITY,
    READ_ATOMIC,
    CAUSAL,
    CONSISTENT_VIEW,
    REPEATABLE_READ,
    PREFIX,
    SNAPSHOT_ISOLATION,
    SERIALIZABLE,
    STRICT_SERIALIZABLE,
)
LEVELS: tuple[Level, ...] = (
    READ_UNCOMMITTED,
    *_TEXTBOOK,
    READ_COMMITTED_BE,
    *(level.strong_session() for level in _TEXTBOOK),
    FORWARD_CONSISTENT_VIEW,
    STRONG_SNAPSHOT_ISOLATION,
)


def normal_name(name: str) -> str:
    """Case, spaces, hyphens and underscores do not matter, nor does the colon of a Clojure keyword."""
    return re.sub(r"[\s_-]+", "", name.lower()).removeprefix(":")


def names_of(level: Level) -> tuple[str, ...]:
    """All names under which the level can be asked for, the canonical one first."""
    from boomslang.levels.names import ALSO

    names = (level.name, level.short, *level.aliases, *ALSO.get(level.name, ()))
    return tuple(dict.fromkeys(names))


_BY_OWN_NAME = {name: level for level in LEVELS for name in (level.name, level.short)}


@cache
def _by_name() -> dict[str, Level]:
    """Under all names: made when somebody uses another than the level's own."""
    return {normal_name(name): level for level in LEVELS for name in (*names_of(level), level.title)}


@cache
def _not_supported() -> dict[str, NotSupported]:
    from boomslang.levels.names import NOT_SUPPORTED

    return {normal_name(name): known for known in NOT_SUPPORTED for name in (known.name, *known.aliases)}


def find_level(name: str | Level) -> Level:
    """The level of that name, however it is written: `ser`, `PL-3`, `Serializable`, `ser-within-1s`, ..."""
    if isinstance(name, Level):
        if not name.bound and name.name not in _BY_OWN_NAME:
            from boomslang.levels.registry import remember

            remember(name)
        return name
    level = _BY_OWN_NAME.get(name) or _by_name().get(normal_name(name))
    if level is not None:
        return level
    if "within" in name.lower():
        from boomslang.levels.within import bounded, named_bounded

        if (parts := named_bounded(name)) is not None:
            return bounded(find_level(parts[0]), parts[1])
    from boomslang.levels.registry import find_outside

    if (outside := find_outside(name)) is not None:
        return outside
    from boomslang.levels.vendors import vendors_level

    if (meant := vendors_level(name)) is not None:
        if not meant.modules:
            return find_level(meant.level)
        own = meant.modules[0]
        raise UsageError(
            f"{name!r} is a vendor's: {meant.level} as the module {own} has it; here only a level is expected, and the "
            f"module {own} asks for it beside a level: --module {own} --level {meant.level}"
        )
    if (known := _not_supported().get(normal_name(name))) is not None:
        raise UsageError(f"{name!r} is known, but not supported: {_nearest(known)}")
    if "," in name:
        raise UsageError(f"found several levels in {name!r}; expected one; fix: ask for each on its own")
    import difflib

    near = difflib.get_close_matches(normal_name(name), [*_by_name(), *_not_supported()], n=1)
    hint = ""
    if near:
        same = _by_name().get(near[0])
        hint = f" (did you mean {_not_supported()[near[0]].name if same is None else same.short}?)"
    from boomslang.levels.registry import known_levels

    levels = ", ".join(f"{level.name} ({level.short})" for level in known_levels())
    raise UsageError(f"unknown level {name!r}{hint}; known levels: {levels}")


def _nearest(known: NotSupported) -> str:
    """What it is, and what to ask for instead."""
    parts = [f"{known.name} ({known.source})"]
    for title, names in (("stronger", known.stronger), ("weaker", known.weaker)):
        levels = ", ".join(f"{find_level(near).name} ({find_level(near).short})" for near in names)
        parts.append(f"nearest {title} level: {levels or 'none'}")
    if known.module:
        parts.append(f"the module {known.module} asks for it beside a level: --module {known.module}")
    return "; ".join(parts)
