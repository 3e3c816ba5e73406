"""The ASG is the same, however many threads made it."""

from __future__ import annotations

import random
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from boomslang.asg import ASG, build_asg
from boomslang.trace import Trace
from boomslang.trace._reader import Reader
from boomslang.trace.reader import Limits, finish

TRANSACTIONS = 60_000
"""Of ten operations: enough for three threads."""


def history(outcomes: tuple[str, ...], values: int | None, header: str) -> Trace:
    rng = random.Random(len(outcomes))
    lines = [header]
    state = [0] * 500
    for t in range(TRANSACTIONS):
        lines.append(f'{{"txn":{t},"op":"begin"}}')
        for i in range(10):
            key = rng.randrange(500)
            if rng.random() < 0.5:
                wrote = 10 * t + i + 1 if values is None else rng.randrange(1, values)
                lines.append(f'{{"txn":{t},"op":"put","key":{key},"value":{wrote}}}')
                state[key] = wrote
            elif state[key] and rng.random() < 0.99:
                lines.append(f'{{"txn":{t},"op":"get","key":{key},"value":{state[key]}}}')
            else:
                lines.append(f'{{"txn":{t},"op":"get","key":{key},"absent":true}}')
        if (end := rng.choice(outcomes)) != "unknown":
            lines.append(f'{{"txn":{t},"op":"{end}"}}')
    reader = Reader()
    reader.begin_file("", None)
    reader.feed("\n".join([*lines, ""]).encode())
    reader.end_file()
    return finish(reader, Limits())


def told(asg: ASG) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in fields(asg):
        held = getattr(asg, field.name)
        parts = held if isinstance(held, tuple) else (held,)
        if field.name not in ("trace", "lists"):
            found[field.name] = [p.tobytes() if isinstance(p, np.ndarray) else p for p in parts]
    return found


@pytest.mark.parametrize(
    ("outcomes", "values", "header"),
    (
        (("commit",) * 9 + ("abort",), None, '{"boomslang":1}'),
        (("commit",) * 3 + ("abort",), 30, '{"boomslang":1}'),
        (("commit",) * 3 + ("unknown", "abort"), None, '{"boomslang":1,"initial":"unknown"}'),
    ),
)
def test_threads_change_nothing(outcomes: tuple[str, ...], values: int | None, header: str) -> None:
    trace = history(outcomes, values, header)
    alone = told(build_asg(trace))
    assert alone["orphans"] != [b""] or values or "unknown" in header
    for jobs in (2, 3):
        made = told(build_asg(trace, jobs=jobs))
        assert [name for name in alone if made[name] != alone[name]] == []
