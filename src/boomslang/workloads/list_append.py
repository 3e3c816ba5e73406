"""List-append: the load of Jepsen and Elle (Kingsbury and Alvaro, VLDB 2020).

Transactions of 1 to 4 operations, each an append of a new element or a read of a whole list. A list that was read
tells who appended in which order, so this finds anomalies like no other load. Lists must not grow for ever: ten keys
are in use at a time, and the keys in use move on as the sessions do, so that each list gets about 32 appends in all
(`--appends`: with few, most of what happens is the birth of a list).
(Jepsen retires a key when it has had its share; sessions that share nothing go by their own numbers instead, and wait
for those that fell behind.)
"""

from __future__ import annotations

from boomslang.workloads.workload import Client, Draw, Settings, Transaction, Workload


class ListAppend(Workload):
    name = "list-append"
    about = "Jepsen's: appends to lists and reads of whole lists"
    defaults = Settings(keys=10, ops=4)
    uses = frozenset({"keys", "ops", "distribution", "reads", "appends"})
    keys_are = "lists in use at a time"

    def pace(self) -> float:
        """After so many transactions of every session the next list comes into use, for `keys` such moves."""
        settings = self.settings
        appended = (1 + settings.ops) / 2 * max(1, 100 - settings.reads) / 100  # in a transaction
        return settings.appends / (appended * settings.sessions)

    def meets_within(self) -> float:
        return self.settings.keys * self.pace()

    def draw(self, draw: Draw) -> Transaction:
        settings = self.settings
        first = int(draw.number / self.pace())
        steps = []
        for _ in range(draw.random.randint(1, settings.ops)):
            key = f"list{first + draw.key():07d}"
            steps.append((key, None if 100 * draw.random.random() < settings.reads else draw.new()))

        def run(c: Client) -> None:
            for key, element in steps:
                if element is None:
                    c.list(key)
                else:
                    c.append(key, element)

        return Transaction("lists", run)
