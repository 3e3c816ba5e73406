"""RandomBench, RandomRange and RandomRMWRange: every operation there is, at random.

The paper this project is built after made them because no earlier checker took ranges, iterators and deletes without
unique values. A transaction has 8 operations. Ranges are [k1, k1 + 1..100) with a random k1; an iterator takes 1 to
10 items of such a range and is then left, which the checker is not told. RandomRMWRange is the load of Emme (Clark et
al., 2024): its writes follow a read of the same key, and before each range everything is read, which there showed
the version set. It was published with 10,000 keys; 1,000 is the default here. All keys are there at the beginning,
which is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import ClassVar

from boomslang.workloads.workload import Client, Draw, Settings, Transaction, Workload

Step = Callable[[Client], object]


class RandomMix(Workload):
    """Operations drawn from a mix, one by one."""

    mix: ClassVar[Mapping[str, int]]
    """In percent."""
    uses = Workload.uses | {"width"}

    def initial(self) -> dict[str, str]:
        return {self.key(n): "0" if self.settings.values else "initial" for n in range(self.settings.keys)}

    def draw(self, draw: Draw) -> Transaction:
        steps = [getattr(self, "_" + draw.one_of(self.mix))(draw) for _ in range(self.settings.ops)]

        def run(c: Client) -> None:
            for step in steps:
                step(c)

        return Transaction("mixed", run)

    def _read(self, draw: Draw) -> Step:
        key = self.key(draw.key())
        return lambda c: c.get(key)

    def _write(self, draw: Draw) -> Step:
        key, value = self.key(draw.key()), draw.value()
        return lambda c: c.put(key, value)

    def _delete(self, draw: Draw) -> Step:
        key = self.key(draw.key())
        return lambda c: c.delete(key)

    def _read_modify_write(self, draw: Draw) -> Step:
        key, value = self.key(draw.key()), draw.value()

        def step(c: Client) -> None:
            c.get(key)
            c.put(key, value)

        return step

    def _range(self, draw: Draw) -> tuple[str, str]:
        low = draw.key()
        return self.key(low), self.key(low + draw.random.randint(1, self.settings.width))

    def _scan(self, draw: Draw) -> Step:
        low, high = self._range(draw)
        return lambda c: c.scan(low, high)

    def _scan_after_all(self, draw: Draw) -> Step:
        low, high = self._range(draw)

        def step(c: Client) -> None:
            c.scan(None, None)
            c.scan(low, high)

        return step

    def _iterate(self, draw: Draw) -> Step:
        low, high = self._range(draw)
        most = draw.random.randint(1, 10)
        return lambda c: list(islice(c.iterator(low, high), most))


class RandomBench(RandomMix):
    name = "randombench"
    about = "every operation: reads, writes, deletes, scans, iterators, read-modify-writes"
    defaults = Settings(keys=1000, ops=8, values=100)
    needs = frozenset({"iterator"})
    mix: ClassVar = {
        "read": 25, "write": 25, "delete": 5, "scan": 10, "iterate": 10, "read_modify_write": 25,
    }  # fmt: skip


class RandomRange(RandomMix):
    name = "randomrange"
    about = "reads, writes, deletes, read-modify-writes and a fifth scans"
    defaults = Settings(keys=1000, ops=8, values=100)
    mix: ClassVar = {"read": 25, "write": 25, "delete": 5, "scan": 20, "read_modify_write": 25}


class RandomRMWRange(RandomMix):
    name = "randomrmwrange"
    about = "Emme's: read-modify-writes, and a tenth scans, each after a scan of everything"
    defaults = Settings(keys=1000, ops=8)
    mix: ClassVar = {"read_modify_write": 90, "scan_after_all": 10}
