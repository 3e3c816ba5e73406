"""Same value: everybody sets keys to one of a few values, and looks before and after.

Most workloads write values that are new, so an UPDATE always changes its row. Applications set flags and states, and
now and then one that another has set to the same a moment ago. Some databases then change nothing, make no version, and
go on showing the transaction the older value of its snapshot: it does not see its own write (the paper's cases 1 and
2: TiDB; MariaDB at repeatable read). A transaction reads some keys, puts to each of them one of two values, and reads
them again; what it reads at last must be what it put. Keys are put in their order, so that few deadlock. MariaDB's,
MySQL's and TiDB's adapters make each row change unless told otherwise: `--db 'mariadb:?writes=update'`. The load is
ours.
"""

from __future__ import annotations

from boomslang.workloads.workload import Client, Draw, Settings, Transaction, Workload


class SameValue(Workload):
    name = "same-value"
    about = "reads keys, sets each to one of a few values, and reads them again"
    defaults = Settings(keys=8, ops=2, values=2)

    def initial(self) -> dict[str, str]:
        return {self.key(n): "0" if self.settings.values else "initial" for n in range(self.settings.keys)}

    def draw(self, draw: Draw) -> Transaction:
        keys = [self.key(n) for n in sorted(draw.keys(self.settings.ops))]
        values = [draw.value() for _ in keys]

        def run(c: Client) -> None:
            for key in keys:
                c.get(key)
            for key, value in zip(keys, values, strict=True):
                c.put(key, value)
            for key in keys:
                c.get(key)

        return Transaction("read-set-read", run)
