"""Small applications whose values repeat: flags, states, counts, round amounts.

Each is a set of keys and a few kinds of transactions that look before they write, as code does that was written with
one user in mind. Its rule holds if transactions run one after the other; the numbers in the class say how large it is
and how strict. A transaction is a generator of steps (see `simulated_database.py`); some of each family only look.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, fields, replace
from functools import partial
from random import Random
from typing import Any, ClassVar

from simulated_database import ABSENT, PLANTS, Application, Program, State, Step

Steps = Generator[Step, Any, None]


def look(*keys: str) -> Steps:
    for key in keys:
        yield "get", key


@dataclass(frozen=True)
class OnCall:
    """Somebody is always on call: who sees another one on call may go off, and anybody may come on."""

    plants: ClassVar = PLANTS
    doctors: int = 4
    looks: float = 0.1

    def names(self) -> list[str]:
        return [f"doctor{n}" for n in range(self.doctors)]

    def initial(self) -> State:
        return dict.fromkeys(self.names(), True)

    def draw(self, random: Random) -> Program:
        if random.random() < self.looks:
            return partial(look, *self.names())
        return partial(self.turn, random.choice(self.names()))

    def turn(self, me: str) -> Steps:
        on = {}
        for name in self.names():
            on[name] = yield "get", name
        if not on[me]:
            yield "put", me, True
        elif sum(on.values()) > 1:
            yield "put", me, False


@dataclass(frozen=True)
class Seats:
    """Rows of seats, free or taken: one is taken only if it and its neighbours are free, and given back."""

    plants: ClassVar = PLANTS
    rows: int = 3
    seats: int = 6
    looks: float = 0.1

    def row(self, row: int) -> list[str]:
        return [f"row{row}/seat{n}" for n in range(self.seats)]

    def initial(self) -> State:
        return {seat: "free" for row in range(self.rows) for seat in self.row(row)}

    def draw(self, random: Random) -> Program:
        row, seat = random.randrange(self.rows), random.randrange(self.seats)
        if random.random() < self.looks:
            return partial(look, *self.row(row))
        return partial(self.take if random.random() < 0.7 else self.give_back, row, seat)

    def take(self, row: int, seat: int) -> Steps:
        near = self.row(row)[max(0, seat - 1) : seat + 2]
        found = []
        for name in near:
            found.append((yield "get", name))
        if all(state == "free" for state in found):
            yield "put", self.row(row)[seat], "taken"

    def give_back(self, row: int, seat: int) -> Steps:
        if (yield "get", self.row(row)[seat]) == "taken":
            yield "put", self.row(row)[seat], "free"


@dataclass(frozen=True)
class Inventory:
    """Orders take one from a stock; who finds none fills it up."""

    plants: ClassVar = ("lost-update", "stale-read")  # a transaction writes the one key it read: no skew
    items: int = 3
    full: int = 5
    looks: float = 0.1

    def names(self) -> list[str]:
        return [f"item{n}" for n in range(self.items)]

    def initial(self) -> State:
        return dict.fromkeys(self.names(), self.full)

    def draw(self, random: Random) -> Program:
        if random.random() < self.looks:
            return partial(look, *self.names())
        return partial(self.order, random.choice(self.names()))

    def order(self, item: str) -> Steps:
        stock = yield "get", item
        yield "put", item, stock - 1 if stock else self.full


@dataclass(frozen=True)
class Bank:
    """Two accounts a customer: one may be overdrawn as long as there is money in both together. Round amounts."""

    plants: ClassVar = PLANTS
    customers: int = 4
    start: int = 100
    most: int = 300
    looks: float = 0.05

    def accounts(self) -> list[str]:
        return [f"{kind}{n}" for n in range(self.customers) for kind in ("checking", "savings")]

    def initial(self) -> State:
        return dict.fromkeys(self.accounts(), self.start)

    def draw(self, random: Random) -> Program:
        amount, kind = random.choice((10, 20, 50)), random.random()
        if kind < self.looks:
            return partial(look, *self.accounts())
        one, other = random.sample(self.accounts(), 2)
        if kind < 0.4:
            return partial(self.transfer, one, other, amount)
        if kind < 0.7:
            return partial(self.withdraw, random.randrange(self.customers), random.randrange(2), amount)
        return partial(self.deposit, one, amount)

    def transfer(self, one: str, other: str, amount: int) -> Steps:
        balance = yield "get", one
        if balance >= amount:
            rest = yield "get", other
            yield "put", one, balance - amount
            yield "put", other, rest + amount

    def withdraw(self, customer: int, which: int, amount: int) -> Steps:
        accounts = self.accounts()[2 * customer : 2 * customer + 2]
        balances = []
        for account in accounts:
            balances.append((yield "get", account))
        if sum(balances) >= amount:
            yield "put", accounts[which], balances[which] - amount

    def deposit(self, account: str, amount: int) -> Steps:
        balance = yield "get", account
        if balance + amount <= self.most:
            yield "put", account, balance + amount


@dataclass(frozen=True)
class Jobs:
    """A queue of jobs that wait, run, are done and are queued again; only so many run at a time."""

    plants: ClassVar = PLANTS
    jobs: int = 10
    limit: int = 3
    looks: float = 0.1

    def names(self) -> list[str]:
        return [f"job{n:03}" for n in range(self.jobs)]

    def initial(self) -> State:
        return dict.fromkeys(self.names(), "waiting")

    def draw(self, random: Random) -> Program:
        job, kind = random.choice(self.names()), random.random()
        if kind < self.looks:
            return self.overview
        if kind < 0.5:
            return partial(self.start, random.randrange(self.jobs))
        if kind < 0.75:
            return partial(self.move, job, "running", "done")
        return partial(self.move, job, "done", "waiting")

    def overview(self) -> Steps:
        yield "scan", "job", "job~"

    def start(self, which: int) -> Steps:
        states = dict((yield "scan", "job", "job~"))
        waiting = [job for job, state in states.items() if state == "waiting"]
        if waiting and list(states.values()).count("running") < self.limit:
            yield "put", waiting[which % len(waiting)], "running"

    def move(self, job: str, before: str, then: str) -> Steps:
        if (yield "get", job) == before:
            yield "put", job, then


@dataclass(frozen=True)
class Flags:
    """Feature flags that everybody reads and few switch; of each pair at most one is on."""

    plants: ClassVar = PLANTS
    pairs: int = 4
    read: int = 3
    switches: float = 0.15

    def names(self) -> list[str]:
        return [f"flag{n}" for n in range(2 * self.pairs)]

    def initial(self) -> State:
        return dict.fromkeys(self.names(), False)

    def draw(self, random: Random) -> Program:
        if random.random() >= self.switches:
            return partial(look, *random.sample(self.names(), self.read))
        n = random.randrange(2 * self.pairs)
        if random.random() < 0.2:
            return partial(self.off, f"flag{n}")
        return partial(self.switch, f"flag{n}", f"flag{n ^ 1}")

    def off(self, flag: str) -> Steps:
        yield "put", flag, False

    def switch(self, flag: str, rival: str) -> Steps:
        rival_on = yield "get", rival
        on = yield "get", flag
        if on or not rival_on:
            yield "put", flag, not on


@dataclass(frozen=True)
class Carts:
    """A few things of each kind in a cart, and only so many kinds; a checkout empties it. Two tabs use one cart."""

    plants: ClassVar = PLANTS
    users: int = 5
    kinds: int = 5
    limit: int = 3
    most: int = 3
    looks: float = 0.1

    def initial(self) -> State:
        return {}

    def draw(self, random: Random) -> Program:
        cart, kind = f"cart{random.randrange(self.users):02}", random.random()
        item = f"{cart}/item{random.randrange(self.kinds)}"
        if kind < self.looks:
            return partial(self.overview, cart)
        if kind < 0.65:
            return partial(self.add, cart, item)
        if kind < 0.9:
            return partial(self.remove, item)
        return partial(self.checkout, cart)

    def overview(self, cart: str) -> Steps:
        yield "scan", cart, f"{cart}~"

    def add(self, cart: str, item: str) -> Steps:
        inside = dict((yield "scan", cart, f"{cart}~"))
        there = inside.get(item, 0)
        if there < self.most and (there or len(inside) < self.limit):
            yield "put", item, there + 1

    def remove(self, item: str) -> Steps:
        there = yield "get", item
        if there is ABSENT:
            return
        if there == 1:
            yield "delete", item
        else:
            yield "put", item, there - 1

    def checkout(self, cart: str) -> Steps:
        for item, _ in (yield "scan", cart, f"{cart}~"):
            yield "delete", item


FAMILIES: dict[str, Any] = {
    "on-call": OnCall(),
    "seats": Seats(),
    "inventory": Inventory(),
    "bank": Bank(),
    "jobs": Jobs(),
    "flags": Flags(),
    "carts": Carts(),
}


def with_settings(family: str, words: list[str]) -> Application:
    """A family with its numbers changed: `doctors=6`."""
    made = FAMILIES[family]
    known = {item.name: type(getattr(made, item.name)) for item in fields(made)}
    changes = {}
    for word in words:
        name, _, value = word.partition("=")
        if name not in known:
            raise ValueError(f"{family} has no {name!r}; there are {', '.join(known)}")
        try:
            changes[name] = known[name](value)
        except ValueError:
            raise ValueError(f"found {word!r}; expected {name}= and a number") from None
    changed: Application = replace(made, **changes)
    return changed
