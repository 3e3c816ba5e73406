"""Applications whose values repeat, and what went wrong in them: small traces, the same each time.

A toy database runs the transactions: each reads a snapshot as of its begin, and others see its writes once it has
ended. Who may overlap whom is what makes the anomaly.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from boomslang.trace import Trace, TraceBuilder

DOCTORS = ("alice", "bob", "carol")


def on_call(rounds: int = 8, *, times: bool = True) -> Trace:
    """Doctors who go off call if they see somebody else on call, and on again: one at a time, but for the last two who
    go off together. Then somebody looks, and nobody is on call."""
    store = _Store(dict.fromkeys(DOCTORS, True), times=times)
    chance = random.Random(7)
    for _ in range(rounds):
        who = chance.choice(DOCTORS)
        store.run(who, _changes(who))
    for who in DOCTORS:
        store.run(who, _goes(who, on=True))
    store.run("carol", _goes("carol", on=False))
    store.together(("alice", _goes("alice", on=False)), ("bob", _goes("bob", on=False)))
    store.run("carol", _goes("carol", on=True))
    return store.trace()


def two_go_off(rounds: int = 40, *, times: bool = True) -> Trace:
    """The same, and everybody is on call when two go off together, so that somebody is left: each state that was seen
    could be, and each doctor went off and came on in turn."""
    store = _Store(dict.fromkeys(DOCTORS, True), times=times)
    chance = random.Random(7)
    for n in range(rounds):
        who = chance.choice(DOCTORS)
        store.run(who, _changes(who))
        if n == rounds // 2:
            for doctor in DOCTORS:
                store.run(doctor, _goes(doctor, on=True))
            store.together(("alice", _goes("alice", on=False)), ("bob", _goes("bob", on=False)))
    return store.trace()


def inventory(orders: int = 42, *, lost: int = 20, even: bool = False, times: bool = True) -> Trace:
    """Orders that take one of a stock, which is filled up to 3 when it is at 0. The order number `lost` overwrites what
    another has just overwritten; with `even`, a later one makes good for it, so that the counts come out even."""
    store = _Store({"stock": 3}, times=times)

    def take(seen: State) -> State:
        return {"stock": seen["stock"] - 1 if seen["stock"] else 3}

    for n in range(orders):
        session = f"shop-{n % 3}"
        if n == lost:
            store.together((session, take), (f"shop-{(n + 1) % 3}", take))
        elif even and n == lost + 8:
            store.run("office", lambda seen: {"stock": seen["stock"] + 1})
            store.run(session, take)
        else:
            store.run(session, take)
    return store.trace()


def late_snapshots(transactions: int = 22, seed: int = 20) -> Trace:
    """Clients that read two of five keys and write two of them with one of three values, not looking at what they
    read; some see the state before the latest. With so few values, it takes most of the trace to show that."""
    chance = random.Random(seed)
    initial = {f"k{i}": 0 for i in range(5)}
    b = TraceBuilder(initial=initial)
    states = [initial]
    for n in range(transactions):
        late = chance.random() < 0.1 and len(states) > 1
        seen = states[-2 if late else -1]
        with b.transaction(session=f"c{n % 5}") as t:
            for key in chance.sample(sorted(seen), 2):
                t.get(key, seen[key])
            made = {key: chance.randrange(3) for key in chance.sample(sorted(seen), 2)}
            for key, value in made.items():
                t.put(key, value)
        states.append({**states[-1], **made})
    return b.build()


State = dict[str, Any]
Deed = Callable[[State], State]
"""What a transaction writes, by what it sees."""


class _Store:
    """What is there now, the clock, and the trace so far."""

    def __init__(self, now: State, *, times: bool) -> None:
        self.now = dict(now)
        self.builder = TraceBuilder(initial=now)
        self.clock = 100 if times else None

    def run(self, session: str, deed: Deed) -> None:
        self.together((session, deed))

    def together(self, *deeds: tuple[str, Deed]) -> None:
        """They begin together: none of them sees what another writes."""
        seen, begin = dict(self.now), self.clock
        for n, (session, deed) in enumerate(deeds):
            at = None if begin is None else begin + 3 * n
            with self.builder.transaction(session=session, begin=at) as t:
                for i, (key, value) in enumerate(seen.items()):
                    t.get(key, value, **_span(at, 1 + 2 * i))
                for key, value in deed(seen).items():
                    t.put(key, value, **_span(at, 12))
                    self.now[key] = value
                t.commit(**_span(at, 18))
        if begin is not None:
            self.clock = begin + 30

    def trace(self) -> Trace:
        return self.builder.build()


def _span(at: int | None, after: int) -> dict[str, int]:
    return {} if at is None else {"invoke": at + after, "return_": at + after + 1}


def _goes(who: str, *, on: bool) -> Deed:
    return lambda _: {who: on}


def _changes(who: str) -> Deed:
    """Off, if somebody else is on; else on."""
    return lambda seen: {who: not seen[who] or sum(seen.values()) < 2}
