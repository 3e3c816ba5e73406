"""What a workload is: pairs to begin with, and for each session a stream of transactions.

A transaction is a function over a client, with its name: it reads and writes, the runner begins and commits it. All
that is random about it comes from the seed, the session and its number in the session, and is drawn before it runs:
the same seed gives the same streams, whatever the database answers, and a transaction that is tried again does the
same again (only the values that must be new are).
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple, Protocol

from boomslang.errors import UsageError

UNIQUE = 0
"""As a number of distinct values: none is written twice."""
OF_EVERY_WORKLOAD = ("sessions", "pause", "seed")
"""Settings that none has to name among those it uses."""
ZIPF, HOTSPOT, UNIFORM = "zipf", "hotspot", "uniform"


class Client(Protocol):
    """What a transaction may do; `boomslang.record.Recorded` offers it."""

    def get(self, key: str) -> str | None: ...
    def get_for_update(self, key: str) -> str | None: ...
    def put(self, key: str, value: str) -> None: ...
    def delete(self, key: str) -> bool | None: ...
    def scan(self, lo: str | None, hi: str | None) -> list[tuple[str, str]]: ...
    def iterator(self, lo: str | None, hi: str | None) -> Iterator[tuple[str, str]]: ...
    def append(self, key: str, element: str) -> None: ...
    def list(self, key: str) -> Sequence[str]: ...


class GiveUp(Exception):
    """Raised by a transaction that wants to be rolled back."""


class Transaction(NamedTuple):
    """One transaction, to be run between begin and commit."""

    name: str
    run: Callable[[Client], object]


@dataclass(frozen=True)
class Settings:
    """How large, how long and how contended a workload is."""

    keys: int = 1000
    """How many keys, or how many of what the workload's `keys_are` says."""
    ops: int = 8
    """Operations in a transaction, where the workload does not fix them."""
    values: int = UNIQUE
    """Distinct values; 0: no value is written twice."""
    distribution: str = UNIFORM
    """Of keys: uniform, zipf or zipf:EXPONENT, hotspot or hotspot:KEYS:ACCESSES (fractions)."""
    reads: int = 50
    """Of a hundred operations, or of a hundred transactions that only read or only write."""
    appends: int = 32
    """To a list, about, before another takes its place."""
    width: int = 100
    """Of the widest range, in keys."""
    pause: int = 0
    """Milliseconds that a client waits, on average, before an operation or a commit: before few of them, and long, so
    that others pass by, however few cores there are."""
    sessions: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        from_one = dict.fromkeys(("keys", "ops", "appends", "width", "sessions"), 1)
        for name, bound in {**from_one, "values": 0, "reads": 0, "pause": 0}.items():
            if getattr(self, name) < bound:
                raise UsageError(f"found {name} = {getattr(self, name)}; expected {bound} or more")
        if self.reads > 100:
            raise UsageError(f"found reads = {self.reads}; expected a percentage, at most 100")
        Distribution.named(self.distribution, 1)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Distribution:
    """Draws numbers below `size`; those that are drawn most are the smallest."""

    size: int
    weights: list[float] = field(repr=False)
    """Running sums, the last one being 1; empty: all the same."""

    @staticmethod
    def named(spec: str, size: int) -> Distribution:
        name, *words = spec.lower().split(":")
        try:
            numbers = [float(word) for word in words]
        except ValueError:
            numbers = [-1.0]
        if name == UNIFORM and not numbers:
            return Distribution(size, [])
        if name == ZIPF and len(numbers) <= 1 and all(0 <= n <= 10 for n in numbers):
            exponent = numbers[0] if numbers else 0.99  # YCSB's
            return Distribution(size, _running([(rank + 1) ** -exponent for rank in range(size)]))
        if name == HOTSPOT and len(numbers) in (0, 2) and all(0 < n < 1 for n in numbers):
            keys, accesses = numbers or (0.1, 0.9)
            hot = max(1, round(size * keys))
            cold = size - hot
            each = [accesses / hot] * hot + [(1 - accesses) / max(1, cold)] * cold
            return Distribution(size, _running(each))
        raise UsageError(
            f"found the key distribution {spec!r}; expected uniform, zipf, zipf:EXPONENT (0 to 10), hotspot, or "
            "hotspot:KEYS:ACCESSES (two fractions: hotspot:0.1:0.9 sends nine tenths of the accesses to a tenth)"
        )

    def draw(self, rng: random.Random) -> int:
        if not self.weights:
            return rng.randrange(self.size)
        return min(bisect_left(self.weights, rng.random()), self.size - 1)


def _running(weights: list[float]) -> list[float]:
    total = sum(weights)
    return [sum_ / total for sum_ in accumulate(weights)]


class Draw:
    """The choices of one transaction."""

    def __init__(
        self, settings: Settings, keys: Distribution, session: int, number: int, attempt: int
    ) -> None:
        self.settings = settings
        self.session = session
        self.number = number
        self.random = random.Random(f"{settings.seed}/{session}/{number}")
        self._keys = keys
        self._name = f"{session}.{number}" if attempt == 0 else f"{session}.{number}r{attempt}"
        self._made = 0

    def key(self) -> int:
        """The number of a key, as the settings distribute them."""
        return self._keys.draw(self.random)

    def keys(self, count: int) -> list[int]:
        """Different keys; all there are if there are fewer."""
        found: dict[int, None] = {}
        for _ in range(20 * count):
            if len(found) == min(count, self._keys.size):
                return list(found)
            found[self.key()] = None
        # A skewed distribution hardly draws the rest: take what comes next.
        rest = (key for key in range(self._keys.size) if key not in found)
        while len(found) < min(count, self._keys.size):
            found[next(rest)] = None
        return list(found)

    def other(self, size: int, than: int) -> int:
        """A number below `size` that is another one, if there is one."""
        found = self.random.randrange(max(1, size - 1))
        return found + 1 if found >= than and size > 1 else found

    def new(self) -> str:
        """A value that no transaction writes, or tries to write, a second time."""
        self._made += 1
        return f"{self._name}.{self._made}"

    def value(self) -> str:
        """A value: one of `values`, or a new one."""
        distinct = self.settings.values
        return self.new() if distinct == UNIQUE else str(self.random.randrange(distinct))

    def one_of(self, mix: Mapping[str, int]) -> str:
        """A name, as often as its weight says."""
        return self.random.choices(list(mix), list(mix.values()))[0]


class Workload(ABC):
    """A load to put on a database. Picklable."""

    name: ClassVar[str]
    """As on the command line."""
    about: ClassVar[str]
    """One line."""
    defaults: ClassVar[Settings] = Settings()
    keys_are: ClassVar[str] = "keys"
    """What `Settings.keys` counts."""
    uses: ClassVar[frozenset[str]] = frozenset({"keys", "ops", "values", "distribution"})
    """Settings that make a difference."""
    needs: ClassVar[frozenset[str]] = frozenset()
    """Capabilities that a database must have."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or self.defaults
        self._keys = Distribution.named(self.settings.distribution, self.settings.keys)

    @classmethod
    def with_settings(cls, **given: Any) -> Workload:
        """With the workload's own settings where none is given (None)."""
        said = {name: value for name, value in given.items() if value is not None}
        for name in said:
            if name not in cls.uses and name not in OF_EVERY_WORKLOAD:
                used = ", ".join(sorted(cls.uses)) or "none of them"
                raise UsageError(f"the workload {cls.name} has no use for {name}; it uses {used}")
        return cls(replace(cls.defaults, **said))

    def initial(self) -> dict[str, str]:
        """What the database holds before."""
        return {}

    def meets_within(self) -> float | None:
        """Where the keys in use move on with a session's transactions: by how many transactions two sessions may be
        apart and still meet at some key. None: they always meet."""
        return None

    def transaction(self, session: int, number: int, attempt: int = 0) -> Transaction:
        """The transaction of that number of a session, both from 0."""
        return self.draw(Draw(self.settings, self._keys, session, number, attempt))

    @abstractmethod
    def draw(self, draw: Draw) -> Transaction:
        """Another transaction. Draws all that is random about it now, not when it runs."""

    def key(self, number: int) -> str:
        """Keys of equal length, so that their order is that of their numbers, a hundred beyond the last too."""
        return f"k{number:0{len(str(self.settings.keys + 100))}d}"


def after(prefix: str) -> str:
    """The end of the range of all keys that begin with a prefix (of ASCII)."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)
