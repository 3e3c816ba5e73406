"""Bank: money moves between accounts and must not be made or lost (Jepsen's bank test).

Half of the transactions read all accounts, half move 1 to 5 from one account to another, if there is enough. There
are 8 accounts with 100 in all. Balances repeat, so this is also a load with values that are not unique. The sum of
what a read returned is not looked at: if it can be wrong, the history is no snapshot, and the checker says why.
"""

from __future__ import annotations

from boomslang.workloads.workload import Client, Draw, Settings, Transaction, Workload

TOTAL = 100
MOST = 5
"""That is moved at a time."""


class Bank(Workload):
    name = "bank"
    about = "Jepsen's: transfers between accounts, and reads of all accounts"
    defaults = Settings(keys=8)
    uses = frozenset({"keys", "distribution"})
    keys_are = "accounts"

    def initial(self) -> dict[str, str]:
        accounts = self.settings.keys
        first = TOTAL - TOTAL // accounts * (accounts - 1)
        return {self._account(n): str(TOTAL // accounts if n else first) for n in range(accounts)}

    def draw(self, draw: Draw) -> Transaction:
        if draw.random.random() < 0.5:
            return Transaction("audit", lambda c: c.scan("account", "accounu"))
        source = draw.key()
        target = draw.other(self.settings.keys, source)
        amount = draw.random.randint(1, MOST)

        def transfer(c: Client) -> None:
            a, b = self._account(source), self._account(target)
            left, right = int(c.get(a) or 0), int(c.get(b) or 0)
            if left >= amount and a != b:
                c.put(a, str(left - amount))
                c.put(b, str(right + amount))

        return Transaction("transfer", transfer)

    def _account(self, number: int) -> str:
        return f"account{number:0{len(str(self.settings.keys - 1))}d}"
