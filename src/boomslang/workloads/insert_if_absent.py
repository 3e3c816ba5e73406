"""Insert if absent: look whether something is there, and insert it if it is not. Two must not both do it.

Serializable databases have had bugs here more often than elsewhere, for what is looked at does not exist and cannot be
locked as a row can. `insert-if-absent` gets a key and puts it if there is none. `insert-if-none` scans a range, and
puts a key of its own into it if it is empty: the double insert is two different rows, as with an index that is
not unique. Snapshot isolation refuses the first and allows the second. `insert-if-no-next` does as the first, but looks
through an iterator: what a database does when one is opened and what it does when the first pair is asked for lie a
round trip apart there, and between them others insert. All sessions go through the same keys at
about the same pace, a transaction at a key near its own number, so that sessions meet and keys never run out. The
load is ours.
"""

from __future__ import annotations

from boomslang.workloads.workload import Client, Draw, Settings, Transaction, Workload, after


class InsertIfAbsent(Workload):
    name = "insert-if-absent"
    about = "get a key, and put it if there is none"
    defaults = Settings(keys=4, ops=2)
    uses = frozenset({"keys", "ops", "distribution"})
    keys_are = "keys in use at a time"

    def meets_within(self) -> float:
        return self.settings.keys

    def draw(self, draw: Draw) -> Transaction:
        chosen = [(draw.number + n, draw.new()) for n in draw.keys(self.settings.ops)]

        def run(c: Client) -> None:
            for number, value in chosen:
                self.insert(c, number, value)

        return Transaction("insert", run)

    def insert(self, c: Client, number: int, value: str) -> None:
        key = f"n{number:08d}"
        if c.get(key) is None:
            c.put(key, value)


class InsertIfNone(InsertIfAbsent):
    name = "insert-if-none"
    about = "scan a range, and put a new key into it if it is empty"
    keys_are = "ranges in use at a time"

    def insert(self, c: Client, number: int, value: str) -> None:
        prefix = f"r{number:08d}/"
        if not c.scan(prefix, after(prefix)):
            c.put(prefix + value, value)


class InsertIfNoNext(InsertIfAbsent):
    name = "insert-if-no-next"
    about = "open an iterator over a key, and put the key if there is no next"
    needs = frozenset({"iterator"})

    def insert(self, c: Client, number: int, value: str) -> None:
        key = f"n{number:08d}"
        if next(iter(c.iterator(key, after(key))), None) is None:
            c.put(key, value)
