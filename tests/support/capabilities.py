"""What can each format say? Asked, not remembered: for each feature a small history is put to the format's own list
of losses. `test_docs.py` puts the answers into docs/formats.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from boomslang.trace import Absent, Trace, TraceBuilder
from boomslang.trace.formats import FORMATS, Format
from boomslang.trace.formats.timekiller import CLOCK

Operations = Callable[[Any, Any], None]
"""What a transaction (the first argument) does to a key (the second)."""


def put(t: Any, key: Any) -> None:
    t.put(key, 1)


def append(t: Any, key: Any) -> None:
    t.append(key, 1)
    t.list(key, [1])


def delete(t: Any, key: Any) -> None:
    t.delete(key)


def delete_what_was_there(t: Any, key: Any) -> None:
    t.get(key, 1)
    t.delete(key, found=True)


FEATURES: dict[str, list[dict[str, Any]]] = {
    "aborted": [{"outcome": "aborted"}],
    "unknown": [{"outcome": "unknown"}],
    "initial values": [{"first": lambda t, key: t.get(key, 7), "initial": 7}],
    "absent reads": [{"then": lambda t, key: t.get(key + key, Absent)}],
    "repeated values": [{"then": put}],
    "deletes": [{"then": delete}, {"then": delete_what_was_there}],
    "scans": [{"then": lambda t, key: t.scan(key, key + key, [(key, 1)])}],
    "lists": [{"first": append}],
}
"""Each may be said in one of several ways."""


def history(
    key: Any,
    clock: str | None,
    first: Operations = put,
    then: Operations | None = None,
    outcome: str = "committed",
    initial: Any = None,
) -> Trace:
    """A transaction, and then another of its session that has this outcome."""
    b = TraceBuilder(None if initial is None else [(key, initial)])
    for number, what, ending in (
        (1, first, "committed"),
        (2, then or (lambda t, key: t.put(key + key, 2)), outcome),
    ):
        times: Any = {} if clock is None else {"begin": 10 * number, "end": 10 * number + 1}
        with b.transaction("1", outcome=ending, **times) as t:  # type: ignore[arg-type]
            what(t, key)
    return b.build() if clock is None else replace(b.build(), clocks=[clock])


def carries(
    format: Format, ways: list[dict[str, Any]], clocks: Iterable[str | None] = (None, "", CLOCK)
) -> bool:
    """Some formats know only numbers as keys, some only names, and some nothing without times."""
    return any(
        all(loss.minor for loss in format.losses(history(key, clock, **way)))
        for way, key, clock in product(ways, (3, "k"), clocks)
    )


def capabilities() -> Iterator[str]:
    yield f"| format | times | {' | '.join(FEATURES)} |"
    yield f"| --- |{' :-: |' * (1 + len(FEATURES))}"
    for format in FORMATS:
        if format.write is not None:
            found = [
                carries(format, [{}], ("", CLOCK)),
                *(carries(format, ways) for ways in FEATURES.values()),
            ]
            yield f"| `{format.name}` | {' | '.join('yes' if yes else '-' for yes in found)} |"


def signs() -> Iterator[str]:
    yield "| format | what it is | recognised by |"
    yield "| --- | --- | --- |"
    for format in FORMATS:
        kind = " (a folder)" if format.folder else ""
        sign = format.sign or f"only by its name: `--format {format.name}`"
        yield f"| `{format.name}` | {format.title}{kind} | {sign} |"
