"""Traces with lists beside scans: the clients of unheard.py, who also append to lists and read them.

The keys of lists lie among those of registers, so that ranges cover them; a scan says nothing of them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from boomslang import Trace, read_trace
from support.unheard import Made, Open, Store


class WithLists(Store):
    """A store some of whose keys hold lists. What a list holds is kept as its elements in the store's state, in a key
    that no scan returns."""

    def __init__(self, rng: random.Random, made: Made, lists: int) -> None:
        super().__init__(rng, made)
        self.state = {}
        self.lists = [f"c{i}" for i in range(lists)]
        self.appended = 0

    def operation(self, one: Open) -> list[dict[str, Any]]:
        if self.rng.random() > 0.45:
            return super().operation(one)
        key = self.rng.choice(self.lists)
        inside = f"list {key}"  # which no scan covers
        view = one.view().get(inside, ())
        if self.rng.random() < 0.5:
            self.appended += 1
            one.own[inside] = (*view, self.appended)
            one.read.add(inside)
            return [{"op": "append", "key": key, "value": self.appended}]
        one.read.add(inside)
        if not view and self.rng.random() < 0.3:
            return [{"op": "get", "key": key, "absent": True}]
        return [{"op": "list", "key": key, "elements": list(view)}]

    def plant(self, told: list[dict[str, Any]]) -> None:
        looks = [line for line in told if line["op"] == "list" and line["elements"]]
        if looks and self.rng.random() < 0.5:
            line = self.rng.choice(looks)
            if self.rng.random() < 0.6:
                line["elements"] = line["elements"][:-1]
            else:
                self.rng.shuffle(line["elements"])
            return
        super().plant(told)
        for line in told:  # a list that is read with a get was empty
            if line["op"] == "get" and line["key"] in self.lists:
                line.pop("value", None)
                line["absent"] = True


def listed_traces(
    seeds: Iterable[int], folder: Path, *, small: bool = False
) -> Iterator[tuple[Path, Trace, random.Random]]:
    """Such traces, each as a file."""
    for seed in seeds:
        rng = random.Random(seed)
        made = Made(
            transactions=rng.choice((4, 5) if small else (8, 14, 25)),
            sessions=rng.choice((1, 2, 3, 5)),
            planted=rng.choice((0, 1, 1, 2)),
            serializable=rng.random() < 0.5,
            times=rng.random() < 0.5,
            doubt=rng.choice((0, 0.1, 0.3)),
            ranges=rng.choice((0.2, 0.5)),
        )
        path = folder / f"trace{seed}.jsonl"
        told = WithLists(rng, made, rng.choice((1, 2, 3))).lines()
        path.write_text("".join(json.dumps(line) + "\n" for line in told))
        yield path, read_trace(path), rng
        path.unlink()
