"""BlindW: reads and blind writes, nothing else. What earlier checkers were measured with, in five variants.

- `blindw`: each operation a read or a write, half and half; 8 a transaction, 1,000 keys, 100 values (the paper this
  project is built after, appendix on benchmarks: RandomBench with reads and writes only).
- `blindw-rw`, `blindw-rm`: Cobra's (Tan et al., OSDI 2020): transactions of 8 operations on different keys that only
  read or only write; half of them read in -RW, nine of ten in -RM ("read mostly"); 10,000 keys, unique values.
- `blindw-t`: Tapir's benchmark client (Zhang et al., SOSP 2015): 10 operations, half of them writes, 100 keys. Its
  client writes each key's name as its value; here values are unique, without which there is nothing to check.
- `blindw-e`: after the load of PORT's Eiger (Lu et al., OSDI 2020): read-only and write-only transactions over a few
  keys, mostly reading, keys of Zipf's distribution. The paper that names it gives no numbers: 5 keys, 9 in 10
  reading, exponent 0.8, 1,000 keys are ours.
"""

from __future__ import annotations

from boomslang.workloads.workload import Client, Draw, Settings, Transaction, Workload


class _Loaded(Workload):
    """All keys have a value at the beginning."""

    def initial(self) -> dict[str, str]:
        return {self.key(n): "0" if self.settings.values else "initial" for n in range(self.settings.keys)}


class BlindW(_Loaded):
    name = "blindw"
    about = "each operation a read or a blind write, half and half"
    defaults = Settings(keys=1000, ops=8, values=100)
    uses = Workload.uses | {"reads"}

    def draw(self, draw: Draw) -> Transaction:
        steps = [
            (self.key(draw.key()), None if 100 * draw.random.random() < self.settings.reads else draw.value())
            for _ in range(self.settings.ops)
        ]

        def run(c: Client) -> None:
            for key, value in steps:
                if value is None:
                    c.get(key)
                else:
                    c.put(key, value)

        return Transaction("mixed", run)


class BlindWT(BlindW):
    name = "blindw-t"
    about = "Tapir's: 10 operations, half reads, half blind writes, few keys"
    defaults = Settings(keys=100, ops=10)


class BlindWRW(_Loaded):
    name = "blindw-rw"
    about = "Cobra's: transactions that only read or only write, half and half"
    defaults = Settings(keys=10_000, ops=8)
    uses = Workload.uses | {"reads"}

    def draw(self, draw: Draw) -> Transaction:
        reads = 100 * draw.random.random() < self.settings.reads
        keys = [self.key(n) for n in draw.keys(self.settings.ops)]
        values = [] if reads else [draw.value() for _ in keys]

        def read(c: Client) -> None:
            for key in keys:
                c.get(key)

        def write(c: Client) -> None:
            for key, value in zip(keys, values, strict=True):
                c.put(key, value)

        return Transaction("read", read) if reads else Transaction("write", write)


class BlindWRM(BlindWRW):
    name = "blindw-rm"
    about = "Cobra's: the same, nine of ten transactions read"
    defaults = Settings(keys=10_000, ops=8, reads=90)


class BlindWE(BlindWRW):
    name = "blindw-e"
    about = "PORT's: few keys a transaction, nine of ten read, skewed"
    defaults = Settings(keys=1000, ops=5, distribution="zipf:0.8", reads=90)
