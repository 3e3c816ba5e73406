"""List-append: the load of Jepsen and Elle (Kingsbury and Alvaro, VLDB 2020).

Transactions of 1 to 4 operations, each an append of a new element or a read of a whole list. A list that was read
tells who appended in which order, so this finds anomalies like no other load. Lists must not grow for ever: ten keys
are in use at a time, and the keys in use move on as the sessions do, so that each list gets about 32 appends in all,
or as many as `appends` says; they move with each transaction at most, so it is not much fewer than there are sessions.
With few of them most of what happens, happens at a list's birth. (Jepsen retires a key when it has had its share;
sessions that share nothing go by their own numbers instead.)
"""

from __future__ import annotations

from boomslang.workloads.workload import Client, Draw, Settings, Transaction, Workload


class ListAppend(Workload):
    name = "list-append"
    about = "Jepsen's: appends to lists and reads of whole lists"
    defaults = Settings(keys=10, ops=4)
    uses = frozenset({"keys", "ops", "distribution", "appends"})
    keys_are = "lists in use at a time"

    def draw(self, draw: Draw) -> Transaction:
        settings = self.settings
        # A session appends (1 + ops) / 2 / 2 elements a transaction, over `keys` lists. A list is in use for `keys`
        # moves, each after `pace` transactions of every session.
        pace = max(1, round(4 * settings.appends / ((1 + settings.ops) * settings.sessions)))
        first = draw.number // pace
        steps = []
        for _ in range(draw.random.randint(1, settings.ops)):
            key = f"list{first + draw.key():07d}"
            steps.append((key, draw.new() if draw.random.random() < 0.5 else None))

        def run(c: Client) -> None:
            for key, element in steps:
                if element is None:
                    c.list(key)
                else:
                    c.append(key, element)

        return Transaction("lists", run)
