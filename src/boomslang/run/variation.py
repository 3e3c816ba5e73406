"""What a hunt varies from run to run, and where it spends its time.

Which settings bring a bug to light is not known before: PostgreSQL 12.3 needed the birth of a list, 15.3 a bitmap
scan of wide rows, MariaDB two values. So everything that was not said is drawn: how many keys, sessions and
operations, which values, how much is read, how wide ranges are, how long lists get, how long clients pause (so that
others pass by, whatever the machine), and how the database stores and searches its rows; in one of four also what
happens *around* the load (`around`): clients and servers that are killed, connections that are cut, and in one of four
sessions that ask for different levels.

Two rules share the runs. Every other one is drawn anew, so that nothing is ever given up. The others start from one of
the best so far and change one thing. The best are those with the most *near misses* a second (see near_misses.py),
and, for what a database refuses was near too, a tenth for each abort: what is broken once in ten thousand dangerous
moments is found sooner where there are more of them. Near misses are of several kinds, and the commonest need not be
the one that a database overlooks; so each kind that was met has its own best, and the same share of the runs. That is
an evolution strategy of the simplest kind; its draws come from the seed, its choices also from what the database did.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from boomslang.workloads import Workload
from boomslang.workloads.workload import OF_EVERY_WORKLOAD

SESSIONS = 8
"""If nothing is said of them."""
LEAST_KEYS = 2
MOST_OPS = 12
SHRINK = (1, 4, 16, 64, 256)
"""A run has so many times fewer keys than the workload's own number."""
ANEW = 0.5
"""The part of the runs that owe nothing to earlier ones."""
AS_USUAL = 0.5
"""The chance that a setting stays as it usually is. If all were drawn, few runs would have any one of them in the
company in which it shows what it does: with ten settings that may spoil each other's effect, one run in a thousand."""
BEST = 4
"""So many runs are worth starting from, of each kind of near miss."""
AROUND = 4
"""Of so many runs that are drawn anew one has faults, and one sessions at different levels."""


@dataclass(frozen=True)
class Varied:
    """What one run is to be."""

    workload: Workload
    options: Mapping[str, str]
    """Of the database: how it stores and searches."""
    around: Mapping[str, str] = field(default_factory=dict)
    """What else: the faults, the level of every other session; "" is none."""
    parent: int | None = None
    """The run it started from, counted from 0; none: drawn anew."""

    def to_json(self) -> dict[str, Any]:
        return {
            **self.workload.settings.to_json(),
            "options": dict(self.options),
            **self.around,
            "started_from": self.parent,
        }


@dataclass
class Variations:
    """A row of runs. `learn` says what came of one; the next take it into account."""

    workload: type[Workload]
    given: Mapping[str, Any]
    """What stays as it was given; None: not given."""
    seed: int
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Options of the database that may vary, and what each may be, its usual one first."""
    around: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What may happen around the load, by what it is; each may also be absent, and mostly is."""
    made: list[Varied] = field(default_factory=list)
    worth: dict[str, dict[int, float]] = field(default_factory=dict)
    """By kind of near miss, then by the run's number: so many a second, and a tenth of its other close moments."""

    def __post_init__(self) -> None:
        self._random = random.Random(f"{self.seed}/hunt")
        given = {**self.given, "sessions": self.given.get("sessions") or SESSIONS}
        self._usual = self.workload.with_settings(**{**given, "seed": self.seed})
        self.space = space(self.workload, self._usual, self.given)

    def __iter__(self) -> Iterator[Varied]:
        while True:
            yield self._next()

    def learn(
        self,
        run: int,
        near_misses: int,
        seconds: float,
        *,
        close: int = 0,
        kinds: Mapping[str, int] | None = None,
    ) -> None:
        """What came of the run of that number: near misses, moments that were close to one (aborts, readers of what
        was being overwritten), and of the near misses those of special kinds."""
        worth = {"all": near_misses + close / 10, **(kinds or {})}
        for kind, many in worth.items():
            self.worth.setdefault(kind, {})[run] = many / max(seconds, 0.1)

    def best(self, kind: str) -> list[int]:
        """The runs worth starting from for the sake of one kind of near miss, best first."""
        worth = self.worth[kind]
        return sorted((run for run in worth if worth[run] > 0), key=lambda run: (-worth[run], run))[:BEST]

    def _next(self) -> Varied:
        number = len(self.made)
        best = list(filter(None, map(self.best, self.worth)))
        if not number:
            made = Varied(
                self._usual,
                {name: values[0] for name, values in self.options.items()},
                dict.fromkeys(self.around, ""),
            )
        elif best and self._random.random() >= ANEW:
            made = self._changed(self._random.choice(self._random.choice(best)))
        else:
            made = self._anew()
        settings = replace(made.workload.settings, seed=self.seed + number)
        made = replace(made, workload=self.workload(settings))
        self.made.append(made)
        return made

    def _anew(self) -> Varied:
        drawn = {
            name: self._random.choice(values)
            for name, values in self.space.items()
            if self._random.random() >= AS_USUAL
        }
        options = {
            name: self._random.choice(values) if self._random.random() >= AS_USUAL else values[0]
            for name, values in self.options.items()
        }
        around = {name: self._drawn_around(name) for name in self.around}
        return Varied(self.workload(replace(self._usual.settings, **drawn)), options, around)

    def _drawn_around(self, name: str) -> str:
        return self._random.choice(self.around[name]) if self._random.random() * AROUND < 1 else ""

    def _changed(self, parent: int) -> Varied:
        start = replace(self.made[parent], parent=parent)
        kinds = [*self.space, *(f"?{name}" for name in self.options), *(f"!{name}" for name in self.around)]
        if not kinds:
            return start
        kind = self._random.choice(kinds)
        name = kind[1:]
        if kind.startswith("?"):
            return replace(start, options={**start.options, name: self._random.choice(self.options[name])})
        if kind.startswith("!"):
            return replace(start, around={**start.around, name: self._drawn_around(name)})
        settings = replace(start.workload.settings, **{kind: self._random.choice(self.space[kind])})
        return replace(start, workload=self.workload(settings))


def space(workload: type[Workload], usual: Workload, given: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Each setting that makes a difference and was not given, with what it may be."""
    settings = usual.settings
    least = min(LEAST_KEYS, settings.keys)
    unique_or_few = (settings.values, 0, 2, 5) if settings.values else (0, 5, 100)
    ranges: dict[str, tuple[Any, ...]] = {
        "keys": tuple(max(least, settings.keys // by) for by in SHRINK),
        "ops": (1, 2, 4, 8, MOST_OPS) if settings.ops > 1 else (1, 2),
        "values": unique_or_few,
        "distribution": ("uniform", "zipf", "hotspot"),
        "reads": (20, 50, 80),
        "appends": (2, 3, 8, settings.appends),
        "width": (2, 10, settings.width),
        "pause": (0, 1, 4),
        "sessions": tuple(max(2, int(settings.sessions * by)) for by in (1, 2, 1 / 2, 1 / 4)),
    }
    free = [name for name in ranges if name in workload.uses or name in OF_EVERY_WORKLOAD]
    return {name: tuple(dict.fromkeys(ranges[name])) for name in free if given.get(name) is None}


def variations(workload: type[Workload], given: Mapping[str, Any], seed: int) -> Iterator[Workload]:
    """A row that learns nothing: run 17 is the same wherever it runs. The workload as it is comes first."""
    return (made.workload for made in Variations(workload, given, seed))
