"""RUBiS: an auction house (Amza et al., WWC 2002), as Cobra's benchmarks have it on a key-value store.

A tenth of the transactions registers a user, 15 % offer an item, 15 % buy one, a fifth comments on a seller, which
changes the seller's rating, and two fifths browse (5 items, 3 ratings). Sellers that are rated are drawn with Zipf's
distribution, the rest evenly. 1,000 users with one item each to begin with (there, 1,000 users by default and 20,000
in the paper).
"""

from __future__ import annotations

from typing import ClassVar

from boomslang.workloads.workload import Client, Draw, Settings, Transaction, Workload

QUANTITY = 10
"""Of each item that is offered."""


class Rubis(Workload):
    name = "rubis"
    about = "Cobra's auction house: register, offer, buy, comment, browse"
    defaults = Settings(keys=1000, distribution="zipf")
    uses = frozenset({"keys", "distribution"})
    keys_are = "users, and items at the beginning"
    mix: ClassVar = {
        "register-user": 10, "register-item": 15, "buy-now": 15, "comment": 20, "browse": 40,
    }  # fmt: skip

    def initial(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for n in range(self.settings.keys):
            found |= {f"user/{n}": f"user {n}", f"rating/{n}": "0", f"item/{n}": f"{QUANTITY} of user {n}"}
        return found

    def draw(self, draw: Draw) -> Transaction:
        name = draw.one_of(self.mix)
        users = self.settings.keys
        someone, something = draw.random.randrange(users), draw.random.randrange(users)
        if name == "register-user":
            return self._register_user(draw.new())
        if name == "register-item":
            return self._register_item(draw.new(), someone)
        if name == "buy-now":
            return self._buy(draw.new(), something, someone, draw.random.randint(1, 4))
        if name == "comment":
            return self._comment(draw.new(), something, someone, draw.key(), draw.random.randrange(5))
        items = [draw.random.randrange(users) for _ in range(5)]
        rated = draw.keys(3)

        def browse(c: Client) -> None:
            for item in items:
                c.get(f"item/{item}")
            for user in rated:
                c.get(f"rating/{user}")

        return Transaction(name, browse)

    def _register_user(self, new: str) -> Transaction:
        def run(c: Client) -> None:
            if c.get(f"user/{new}") is None:
                c.put(f"user/{new}", f"user {new}")
                c.put(f"rating/{new}", "0")

        return Transaction("register-user", run)

    def _register_item(self, new: str, seller: int) -> Transaction:
        def run(c: Client) -> None:
            if c.get(f"user/{seller}") is not None:
                c.put(f"item/{new}", f"{QUANTITY} of user {seller}")

        return Transaction("register-item", run)

    def _buy(self, new: str, item: int, buyer: int, quantity: int) -> Transaction:
        def run(c: Client) -> None:
            offer = c.get(f"item/{item}")
            if offer is None or c.get(f"user/{buyer}") is None:
                return
            left, _, seller = offer.partition(" ")
            # The house would run empty: an item that is sold out is offered again.
            after = int(left) - quantity if int(left) > quantity else QUANTITY
            c.put(f"item/{item}", f"{after} {seller}")
            c.put(f"bought/{new}", f"{quantity} of item {item} by user {buyer}")

        return Transaction("buy-now", run)

    def _comment(self, new: str, item: int, author: int, seller: int, stars: int) -> Transaction:
        def run(c: Client) -> None:
            c.put(f"comment/{new}", f"user {author} on item {item} of user {seller}: {stars}")
            if c.get(f"user/{seller}") is not None:
                rating = int(c.get(f"rating/{seller}") or 0)
                c.put(f"rating/{seller}", str(rating + stars))

        return Transaction("comment", run)
