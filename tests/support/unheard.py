"""Traces of a database of which nobody knows what it held at first, with scans of keys that appear only later.

A few sessions work on a little store, their lines between each other in one log. Which keys are in use moves on, so
that most are first spoken of long after ranges that cover them were looked through; bounds of ranges are often keys
that nobody uses. What the store held at first is known to it alone. It keeps snapshots, or lets nobody commit who has
read what was changed meanwhile (but write what others have written: whose was the last, later reads tell); and some
answers are changed afterwards.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boomslang import Trace, read_trace

KEYS: dict[str, list[Any]] = {
    "texts": ["", "a", "a0", "aa", "b", "c", "c\u00e9", "d", "e", "f"],
    "numbers": [-3, -2.5, 0, 1, 1.0, 1.5, 2, 2.5, 10, 10**20],
    "bytes": [{"bytes": text} for text in ("", "00", "0001", "01", "7f", "80", "ff")],
    "all kinds": [None, False, True, 0, 1, 1.0, "0", "1", {"bytes": ""}, {"bytes": "31"}],
}
"""In their order, family by family."""
_SPELLED = {json.dumps(key): key for keys in KEYS.values() for key in keys}


def _family(key: Any) -> str:
    """Numbers order among each other."""
    return "number" if type(key) in (int, float) else type(key).__name__


@dataclass(frozen=True)
class Made:
    """What is drawn."""

    transactions: int = 14
    sessions: int = 3
    operations: int = 4
    ranges: float = 0.4
    """The share of operations that look through one."""
    planted: int = 1
    """Answers that are changed, at most."""
    serializable: bool = False
    times: bool = False
    doubt: float = 0.1
    """The share of transactions whose outcome is unknown."""


@dataclass
class Open:
    name: int
    state: dict[str, Any]
    keys: list[str]
    left: int
    lines: list[dict[str, Any]] = field(default_factory=list)
    own: dict[str, Any] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)

    def view(self) -> dict[str, Any]:
        return {key: value for key, value in (self.state | self.own).items() if value is not GONE}


GONE = object()


def lines(rng: random.Random, made: Made) -> list[dict[str, Any]]:
    """The lines of a trace, without its header."""
    return Store(rng, made).lines()


def unheard_traces(
    seeds: Iterable[int], folder: Path, *, small: bool = False
) -> Iterator[tuple[Path, Trace, random.Random]]:
    """Such traces, each as a file. `small`: so that brute force can decide them."""
    for seed in seeds:
        rng = random.Random(seed)
        made = Made(
            transactions=rng.choice((4, 6) if small else (8, 14, 25)),
            sessions=rng.choice((1, 2, 3, 5)),
            planted=rng.choice((0, 1, 1, 2)),
            serializable=rng.random() < 0.5,
            times=rng.random() < 0.5,
            doubt=rng.choice((0, 0.1, 0.4)),
            ranges=rng.choice((0.2, 0.5)),
        )
        path = folder / f"trace{seed}.jsonl"
        write(path, lines(rng, made))
        yield path, read_trace(path), rng
        path.unlink()


def write(path: Path, told: list[dict[str, Any]]) -> None:
    """As a file; "unknown" is what its header says of the initial state."""
    header = {"boomslang": 1, "initial": "unknown"}
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, *told)))


class Store:
    def __init__(self, rng: random.Random, made: Made) -> None:
        self.rng, self.made = rng, made
        universe = KEYS[rng.choice(list(KEYS))]
        self.universe = [json.dumps(key) for key in universe]
        self.order = rng.sample(self.universe, len(self.universe))  # in which they come into use
        self.values = rng.choice((2, 1000))
        self.state: dict[str, Any] = {key: self.value() for key in self.universe if rng.random() < 0.4}
        self.commits: list[set[str]] = []
        self.now = 0

    def value(self) -> int:
        return self.rng.randrange(self.values)

    def lines(self) -> list[dict[str, Any]]:
        rng, made = self.rng, self.made
        told: list[dict[str, Any]] = []
        running: dict[int, tuple[Open, int]] = {}
        begun = 0
        while begun < made.transactions or running:
            session = rng.randrange(made.sessions)
            self.now += rng.choice((0, 1, 2))
            if session not in running:
                if begun == made.transactions:
                    continue
                used = self.order[: 1 + (begun + 1) * len(self.order) // made.transactions]
                keys = used if rng.random() < 0.85 else self.universe
                one = Open(begun, dict(self.state), keys, rng.randint(1, made.operations))
                running[session] = one, len(self.commits)
                begun += 1
                self.say(told, session, one, "begin")
                continue
            one, since = running[session]
            if one.left:
                one.left -= 1
                for line in self.operation(one):
                    self.say(told, session, one, **line)
                continue
            del running[session]
            self.end(told, session, one, since)
        for _ in range(rng.randint(0, made.planted)):
            self.plant(told)
        return told

    def say(
        self, told: list[dict[str, Any]], session: int, one: Open, op: str, **more: Any
    ) -> dict[str, Any]:
        line = {"session": f"s{session}", "txn": one.name, "op": op, **more}
        if self.made.times:
            line["invoke"] = self.now
            self.now += self.rng.choice((0, 1))
            line["return"] = self.now
        told.append(line)
        return line

    def end(self, told: list[dict[str, Any]], session: int, one: Open, since: int) -> None:
        wrote = set(one.own)
        touched = one.read if self.made.serializable else wrote
        luck = self.rng.random()
        if any(touched & later for later in self.commits[since:]) or luck > 0.95:
            self.say(told, session, one, "abort")
            return
        unsure = luck < self.made.doubt
        if not unsure or self.rng.random() < 0.6:
            self.state = {k: v for k, v in (self.state | one.own).items() if v is not GONE}
            self.commits.append(wrote)
        if unsure:
            self.say(told, session, one, "commit", error="timeout")
            return
        self.say(told, session, one, "commit")

    def operation(self, one: Open) -> list[dict[str, Any]]:
        rng = self.rng
        view, key = one.view(), rng.choice(one.keys)
        if rng.random() < 0.03:
            return [{"op": "scan", "error": "no"}]
        if rng.random() < self.made.ranges:
            return self.range(one)
        kind = rng.choice(("get", "get", "put", "put", "put", "delete", "delete"))
        if kind == "put":
            one.own[key] = self.value()
            return [{"op": "put", "key": _SPELLED[key], "value": one.own[key]}]
        found = key in view
        if kind == "get":
            one.read.add(key)
            return [
                {
                    "op": "get",
                    "key": _SPELLED[key],
                    **({"value": view[key]} if found else {"absent": True}),
                }
            ]
        tells = rng.random() < 0.3
        if tells:
            one.read.add(key)
        if found or not tells:
            one.own[key] = GONE
        return [{"op": "delete", "key": _SPELLED[key], **({"found": found} if tells else {})}]

    def range(self, one: Open) -> list[dict[str, Any]]:
        rng, universe = self.rng, self.universe
        about = rng.choice(universe)
        alike = [key for key in universe if _family(_SPELLED[key]) == _family(_SPELLED[about])]
        low, high = sorted((rng.choice(alike), rng.choice(alike)), key=alike.index)
        bounds: dict[str, Any] = {"from": _SPELLED[low], "to": _SPELLED[high]}
        inside = alike[alike.index(low) : alike.index(high)]
        left = rng.choice(("from", "to", "both", "none", "none"))
        if left == "both":
            bounds, inside = {}, universe
        elif left == "from":
            del bounds["from"]
            inside = alike[: alike.index(high)]
        elif left == "to":
            del bounds["to"]
            inside = alike[alike.index(low) :]
        if None in bounds.values():  # which would be no bound
            bounds, inside = {}, universe
        view = one.view()
        there = [key for key in inside if key in view]
        if rng.random() < 0.5:
            one.read |= set(inside)
            return [{"op": "scan", **bounds, "items": [[_SPELLED[key], view[key]] for key in there]}]
        name = f"i{rng.randrange(10**9)}"
        steps = rng.randint(0, len(there) + 1)
        told: list[dict[str, Any]] = [{"op": "iterator", "id": name, **bounds}]
        one.read |= set(inside)
        for key in there[:steps]:
            told.append({"op": "next", "id": name, "key": _SPELLED[key], "value": view[key]})
        if steps > len(there):
            told.append({"op": "next", "id": name, "end": True})
        return told

    def plant(self, told: list[dict[str, Any]]) -> None:
        """One answer is another."""
        rng = self.rng
        looks = [line for line in told if line["op"] in ("get", "scan", "next") and "error" not in line]
        if not looks:
            return
        early = [line for line in looks[: len(looks) // 2] if line.get("items")]
        line = rng.choice(early if early and rng.random() < 0.5 else looks)
        if line["op"] == "get":
            was = line.pop("value", None)
            line.pop("absent", None)
            line.update(
                {"absent": True} if was is not None and rng.random() < 0.5 else {"value": self.value()}
            )
        elif line["op"] == "scan" and line["items"]:
            at = rng.randrange(len(line["items"]))
            if rng.random() < 0.7:
                del line["items"][at]
            else:
                line["items"][at][1] = self.value()
        elif line["op"] == "next" and "value" in line:
            if rng.random() < 0.5:
                told.remove(line)
            else:
                line["value"] = self.value()
