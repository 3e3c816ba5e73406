"""Read, then read with a lock: the same transaction looks at a snapshot and at the newest state.

In MariaDB and MySQL at repeatable read a plain SELECT sees the snapshot, SELECT ... FOR UPDATE and all writes see what
was committed last (the paper's case 4). A transaction reads some keys, reads one of them with a lock, writes it, and
reads all of them again. A standard level rejects what that shows; the module mariadb-repeatable-read accepts it. Other
databases must give the same answer twice, or abort. The load is ours.
"""

from __future__ import annotations

from boomslang.workloads.workload import Client, Draw, Settings, Transaction, Workload


class ReadThenLockingRead(Workload):
    name = "read-then-locking-read"
    about = "plain reads, a locking read of one of the keys, a write of it, plain reads again"
    defaults = Settings(keys=20, ops=3)
    needs = frozenset({"locking"})

    def initial(self) -> dict[str, str]:
        return {self.key(n): "0" if self.settings.values else "initial" for n in range(self.settings.keys)}

    def draw(self, draw: Draw) -> Transaction:
        keys = [self.key(n) for n in draw.keys(self.settings.ops)]
        locked = draw.random.choice(keys)
        value = draw.value()

        def run(c: Client) -> None:
            for key in keys:
                c.get(key)
            c.get_for_update(locked)
            c.put(locked, value)
            for key in keys:
                c.get(key)

        return Transaction("read-lock-write", run)
