"""Levels from elsewhere: of installed packages, of files that the user names, and of Python code.

A level is data (level.py), so anybody can write one: `@boomslang.level` on a function that returns it, or
`boomslang.level(Level(...))`. An installed package offers one through the entry points group `boomslang.levels`; a
file is executed only because the user named it: `--level FILE.py` (`FILE.py:NAME`, if it has several). Nothing is ever
loaded from a trace or a certificate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from boomslang.errors import UsageError
from boomslang.levels.catalog import LEVELS, names_of, normal_name
from boomslang.levels.level import Dependency, Level, Point

GROUP = "boomslang.levels"
_registered: dict[str, Level] = {}
_NEEDED = (Dependency.WW, Dependency.WR, Dependency.PWR)


def level(given: Level | Callable[[], Level]) -> Level:
    """Makes a level known by its names. For a function that returns one, or for the level itself."""
    made = given if isinstance(given, Level) else given()
    if not isinstance(made, Level):
        raise UsageError(
            f"found {type(made).__name__} where @boomslang.level expects a function that returns a Level"
        )
    _look_at(made)
    other = _registered.get(made.name)
    if other is not None and other != made and other.owner == made.owner:
        raise UsageError(f"two levels are called {made.name!r}; rename one of them")
    _registered[made.name] = made
    return made


def remember(given: Level) -> None:
    """A level that is used as an object, or came from another process: what is said about it later goes by its name."""
    _registered[given.name] = given


def _look_at(made: Level) -> None:
    """What every solver takes for granted of a level."""
    missing = [kind.value for kind in _NEEDED if kind not in made.edges]
    if missing or not made.observes:
        raise UsageError(
            f"the level {made.name!r} has no edges for {', '.join(missing) or 'reads'}; expected ww, wr and pwr at "
            "least: below that there is nothing to decide"
        )
    for text, what in ((made.name, "name"), (made.short, "short"), (made.citation, "citation")):
        if not text.strip():
            raise UsageError(f"the level {made.name!r} has no {what}")
    _look_at_points(made)
    if made.once is not None and (made.has(Dependency.RW) or made.has(Dependency.PRW)):
        raise UsageError(
            f"the level {made.name!r} has rw or prw as edges and `once` too: whoever forbids all their cycles forbids "
            "those with one of them; leave `once` out"
        )
    taken = {normal_name(name): known for known in LEVELS for name in (*names_of(known), known.title)}
    for name in (made.name, made.short, *made.aliases):
        if normal_name(name) in taken:
            raise UsageError(
                f"the name {name!r} is taken: it is {taken[normal_name(name)].name} of Boomslang; choose another"
            )


_FORWARD, _BACK = (Point.COMMIT, Point.BEGIN), (Point.BEGIN, Point.COMMIT)
_ENDS = {
    Dependency.WW: (_FORWARD, (Point.COMMIT, Point.COMMIT)),
    Dependency.RW: (_BACK,),
    Dependency.PRW: (_BACK,),
}
"""With two points, where an edge may start and end; the others go from a commit to a begin."""


def _look_at_points(made: Level) -> None:
    """The points that solvers, the lattice and brute force know what to make of."""
    if made.points == 1:
        wrong = [kind for kind, ends in made.edges.items() if ends != (Point.ONLY, Point.ONLY)]
        expected = "T to T for all"
    else:
        wrong = [kind for kind, ends in made.edges.items() if ends not in _ENDS.get(kind, (_FORWARD,))]
        expected = "B to C for rw and prw, C to B for the others (or C to C for ww)"
    if wrong:
        a, b = made.edges[wrong[0]]
        raise UsageError(
            f"the level {made.name!r} has {wrong[0].value} from {a.value} to {b.value}; expected {expected}"
        )
    if made.once is not None and (made.points == 2 or made.cursor or made.once.longest not in (None, 1)):
        raise UsageError(
            f"the level {made.name!r} has `once` with two points, with `cursor`, or with a longest other than 1; none "
            "of these is built"
        )


def outside_levels() -> tuple[Level, ...]:
    """Those that are registered, and those of installed packages."""
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP):
        owner = (
            f"the package {entry.dist.name}" if entry.dist is not None else f"the entry point {entry.value}"
        )
        try:
            loaded = entry.load()
        except Exception as problem:
            raise UsageError(f"{owner} has a level {entry.name!r} that cannot be loaded: {problem}") from None
        made = loaded if isinstance(loaded, Level) else loaded()
        level(replace(made, owner=owner))
    return tuple(_registered.values())


def known_levels() -> tuple[Level, ...]:
    """All that can be asked for."""
    return (*LEVELS, *outside_levels())


def is_shipped(asked: Level) -> bool:
    """Is it one of Boomslang's own, or one of those within a bound?"""
    base = asked.name.removesuffix(f"-within-{asked.bound}") if asked.bound else asked.name
    return any(known.name == base for known in LEVELS)


def find_outside(name: str) -> Level | None:
    """The level of that name, or of that file."""
    path, _, wanted = name.partition(".py:") if ".py:" in name else (name.removesuffix(".py"), "", "")
    if name.endswith(".py") or wanted:
        return _of_file(Path(f"{path}.py"), wanted)
    for made in outside_levels():
        if normal_name(name) in {normal_name(n) for n in (made.name, made.short, made.title, *made.aliases)}:
            return made
    return None


def _of_file(path: Path, wanted: str) -> Level:
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file; expected a Python file with @boomslang.level")
    import runpy

    before = dict(_registered)
    _registered.clear()
    try:
        runpy.run_path(str(path), run_name="<level>")
        found = {name: replace(made, owner=f"the file {path}") for name, made in _registered.items()}
    except UsageError:
        raise
    except Exception as problem:
        raise UsageError(f"{path}: cannot be run: {type(problem).__name__}: {problem}") from None
    finally:
        _registered.clear()
        _registered.update(before)
    if not found:
        raise UsageError(f"{path}: has no level; mark a function that returns one with @boomslang.level")
    _registered.update(found)
    if not wanted and len(found) == 1:
        return next(iter(found.values()))
    for made in found.values():
        if normal_name(wanted) in {normal_name(n) for n in (made.name, made.short, *made.aliases)}:
            return made
    raise UsageError(f"{path}: has the levels {', '.join(found)}; say which: {path}:{next(iter(found))}")
