"""Traces whose database was loaded first, by transactions that are longer than a window.

The clients are those of unheard.py, so there are scans, deletes, answers that got lost and planted mistakes. What their
store held at first is loaded: by one or several transactions that say so (`"initial": true`), at the beginning of the
log or in files of their own; or by one that is like any other, at the beginning or in the middle, in which case
everybody waits for it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from boomslang import Trace, read_trace
from support.unheard import Made, Store

WAYS = ("initial", "several", "beside", "files", "first", "middle")


def loaded_traces(
    seeds: Iterable[int], folder: Path, way: str, *, small: bool = False
) -> Iterator[tuple[Path, Trace, random.Random]]:
    """Such traces, each on disk. `small`: so that brute force can decide them."""
    for seed in seeds:
        rng = random.Random(f"{way} {seed}")
        made = Made(
            transactions=rng.choice((4, 5) if small else (8, 14, 25)),
            sessions=rng.choice((1, 2, 3)),
            planted=rng.choice((0, 1, 1, 2)),
            serializable=rng.random() < 0.5,
            times=way == "files" or rng.random() < 0.5,
            doubt=rng.choice((0, 0.1)),
            ranges=rng.choice((0, 0.4)),
        )
        store = Store(rng, made)
        more = [json.dumps(f"more {i}") for i in range(rng.choice((5, 40, 120)))]
        at_first = {**store.state, **{key: rng.randrange(100) for key in more}}
        store.now = 10_000
        told = store.lines()
        if rng.random() < 0.7:  # somebody reads what only the load has written
            looked_at = rng.sample(sorted(more), min(3, len(more)))
            told += _reader(store, {key: at_first[key] for key in looked_at}, rng)
        path = folder / f"trace{seed}{'' if way == 'files' else '.jsonl'}"
        _write(path, way, at_first, told, rng, times=made.times)
        yield path, read_trace(path), rng


def _reader(store: Store, seen: dict[str, Any], rng: random.Random) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = []

    def say(op: str, **more: Any) -> None:
        line = {"session": "reader", "txn": 1, "op": op, **more}
        if store.made.times:
            store.now += 2
            line |= {"invoke": store.now - 1, "return": store.now}
        told.append(line)

    say("begin")
    for key, value in seen.items():
        wrong = store.made.planted and rng.random() < 0.1
        say("get", key=json.loads(key), **({"absent": True} if wrong else {"value": value}))
    say("commit")
    return told


def _load(name: str, items: dict[str, Any], rng: random.Random, times: bool, **begin: Any) -> list[Any]:
    puts = [{"op": "put", "key": json.loads(key), "value": value} for key, value in items.items()]
    if rng.random() < 0.5 and puts:  # what was put first counts for nothing
        puts.insert(0, {"op": "put", "key": puts[-1]["key"], "value": "other"})
    lines = [{"op": "begin", **begin}, *puts, {"op": "commit"}]
    clock = ({"invoke": 10 * i, "return": 10 * i + 1} for i in range(len(lines)))
    return [{"session": name, "txn": "load", **line, **(next(clock) if times else {})} for line in lines]


def _write(
    path: Path,
    way: str,
    at_first: dict[str, Any],
    told: list[dict[str, Any]],
    rng: random.Random,
    *,
    times: bool,
) -> None:
    items = list(at_first.items())
    rng.shuffle(items)
    many = 1 if way in ("initial", "first", "middle") else rng.choice((2, 3))
    parts = [dict(items[i::many]) for i in range(many)]
    begin = {} if way in ("first", "middle") else {"initial": True}
    loads = [_load(f"l{i}", part, rng, times and way != "middle", **begin) for i, part in enumerate(parts)]
    if way == "files":
        path.mkdir()
        of: dict[str, list[Any]] = {}
        for line in (*(line for load in loads for line in load), *told):
            name = rng.choice(("l0", "l1")) if line["session"] == "none" else line["session"]
            of.setdefault(name, []).append(line)
        for name, lines in of.items():
            _lines(path / f"{name}.jsonl", lines)
        return
    if way == "beside":  # the loads go on between each other
        lines: list[Any] = []
        while any(loads):
            load = rng.choice([load for load in loads if load])
            lines += load[: (n := rng.choice((1, 5)))]
            del load[:n]
        lines += told
    elif (
        way == "middle"
    ):  # it changes what most of the others saw, and must come last in any order that explains them
        load = loads[0]
        lines = list(told)
        places = sorted(rng.randint(len(told) // 2, len(told)) for _ in load)
        for line, at in zip(reversed(load), reversed(places), strict=True):
            lines.insert(at, line)
    else:
        lines = [line for load in loads for line in load] + told
    _lines(path, lines)


def _lines(path: Path, lines: list[Any]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
