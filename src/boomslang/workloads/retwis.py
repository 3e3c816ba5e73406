"""Retwis: a small Twitter as Tapir's benchmark has it (Zhang et al., SOSP 2015, table 2).

5 % of the transactions add a user (1 read, 3 writes), 15 % follow or unfollow (2 read-modify-writes), 30 % post a
tweet (3 read-modify-writes, 2 writes), 50 % get a timeline (1 to 10 reads). The keys are any: users, tweets and lists
are not told apart, and those of a transaction are sorted. Values are unique here (there, the key's name). 100 keys,
drawn evenly, as the client has it.
"""

from __future__ import annotations

from typing import ClassVar

from boomslang.workloads.workload import Client, Draw, Settings, Transaction, Workload


class Retwis(Workload):
    name = "retwis"
    about = "Tapir's small Twitter: add user, follow, post, timeline"
    defaults = Settings(keys=100)
    uses = frozenset({"keys", "values", "distribution"})
    mix: ClassVar = {"add-user": 5, "follow": 15, "post-tweet": 30, "timeline": 50}
    shape: ClassVar = {"add-user": (1, 3), "follow": (2, 2), "post-tweet": (3, 5)}
    """Of those that write: how many of its keys are read, and how many written."""

    def initial(self) -> dict[str, str]:
        return {self.key(n): "initial" for n in range(self.settings.keys)}

    def draw(self, draw: Draw) -> Transaction:
        name = draw.one_of(self.mix)
        if name == "timeline":
            seen = sorted(self.key(n) for n in draw.keys(draw.random.randint(1, 10)))
            return Transaction(name, lambda c: [c.get(key) for key in seen])
        reads, writes = self.shape[name]
        keys = sorted(self.key(n) for n in draw.keys(writes))
        values = [draw.value() for _ in keys]

        def run(c: Client) -> None:
            for n, (key, value) in enumerate(zip(keys, values, strict=True)):
                if n < reads:
                    c.get(key)
                c.put(key, value)

        return Transaction(name, run)
