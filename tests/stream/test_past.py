"""What is looked up in all that was recorded when the core of a window is asked."""

from __future__ import annotations

import itertools
import json
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from support.streams import goes_by, verify_refutation

from boomslang import check, read_trace
from boomslang.levels import find_level
from boomslang.stream.past import Core, spoken_of
from boomslang.stream.window import places
from boomslang.trace.blocks import Blocks, sources_of


def test_a_put_that_failed_without_a_value_wrote_nothing_that_was_read(tmp_path: Path) -> None:
    """Its value has no number: it was looked up as the last one, or in a table that is empty."""
    path = tmp_path / "trace.jsonl"
    failed = [
        {"session": "a", "op": "begin"},
        {"session": "a", "op": "put", "key": "x", "error": "no"},
        {"session": "a", "op": "abort"},
    ]
    wrote = [
        {"session": "b", "op": "begin"},
        {"session": "b", "op": "put", "key": "x", "value": 1},
        {"session": "b", "op": "commit"},
    ]
    for lines, found in ((failed, [False]), ([*failed, *wrote], [False, True])):
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        with ExitStack() as stack:
            blocks = Blocks(sources_of(path, stack))
            block = blocks.parsed(blocks.more(1 << 20))
        trace = block.trace
        x = trace.keys.code(0)
        read = frozenset((x, trace.values.code(v)) for v in range(len(trace.values)))
        nobody = np.zeros(0, np.int64)
        core = Core(frozenset(), frozenset(), frozenset(), nobody, read, frozenset({x}), frozenset())
        only_values = Core(frozenset(), frozenset(), frozenset(), nobody, read, frozenset(), frozenset())
        assert len(places(block)) == len(found)
        assert spoken_of(block, only_values).tolist() == found
        assert spoken_of(block, core).tolist() == found


def test_who_aborted_in_a_window_that_took_nothing_is_asked_too(tmp_path: Path) -> None:
    """Such a window may be given out; the next ones are not all of the trace then, though nothing was taken of it."""
    folder = tmp_path / "trace"
    folder.mkdir()

    def transaction(session: str, *steps: tuple[str, int, dict[str, object]]) -> None:
        with (folder / f"{session}.jsonl").open("a") as file:
            for op, time, more in steps:
                file.write(
                    json.dumps({"txn": steps[0][1], "op": op, **more, "invoke": time, "return": time}) + "\n"
                )

    def put(key: str, value: object) -> dict[str, object]:
        return {"key": key, "value": value}

    transaction("s2", ("begin", 43, {}), ("append", 45, put("l", 1)), ("commit", 53, {}))
    transaction("s4", ("begin", 16, {}), ("put", 45, put("y", False)), ("abort", 80, {}))
    transaction(
        "s5", ("begin", 71, {}), ("get", 83, put("y", None)), ("put", 93, put("x", None)), ("abort", 108, {})
    )
    transaction("s5", ("begin", 123, {}), ("list", 137, {"key": "l", "elements": [1]}), ("commit", 163, {}))
    transaction(
        "s5",
        ("begin", 167, {}),
        ("get", 195, put("y", False)),
        ("put", 196, put("x", 1)),
        ("commit", 198, {}),
    )
    seen = set[str]()
    for size, kept in itertools.product(range(150, 450, 25), (1, 2, 3)):
        found, verdict, *_ = goes_by(folder, find_level("strong-si"), size=size, tail=0, kept=kept)
        assert found == "invalid" and verdict is not None and verdict.counterexample is not None
        seen.add(verdict.counterexample.anomaly.code)
        verify_refutation(folder, verdict)
    assert seen == {"G1a"}


def test_a_read_of_what_was_aborted_long_ago_is_refuted(tmp_path: Path) -> None:
    path, lines = tmp_path / "trace.jsonl", list[dict[str, object]]()

    def transaction(session: str, end: str, **operation: object) -> None:
        lines.extend(
            {"session": session, **step} for step in ({"op": "begin"}, operation, {"op": end}) if step
        )

    transaction("a", "abort", op="put", key="x", value=7)
    for n in range(60):
        transaction("b", "commit", op="put", key="y", value=n)
    transaction("c", "commit", op="get", key="x", value=7)
    for n in range(60, 80):
        transaction("b", "commit", op="put", key="y", value=n)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for level in ("ser", "si"):
        found, verdict, _, _ = goes_by(path, find_level(level), size=500, tail=1, kept=1)
        assert found == "invalid" and verdict is not None and verdict.counterexample is not None
        assert verdict.counterexample.anomaly.code == "G1a"


@pytest.mark.parametrize("initial", ["empty", "unknown"])
def test_what_a_scan_did_not_return_is_not_held_against_who_put_it(initial: str, tmp_path: Path) -> None:
    """A cycle of many transactions, and beside them one that scans where somebody had put a key long ago, and another
    deleted it. Who put it is looked up, as something else that was read is theirs; who deleted it is not."""
    path, lines = tmp_path / "trace.jsonl", list[dict[str, object]]()

    def transaction(session: str, *operations: dict[str, object]) -> None:
        begun = len(lines)
        for step in ({"op": "begin"}, *operations, {"op": "commit"}):
            lines.append({"session": session, "txn": begun, **step})

    def others() -> None:
        for _ in range(30):
            transaction("other", {"op": "put", "key": "z", "value": len(lines)})

    transaction("a", {"op": "get", "key": "x", "absent": True})
    transaction("a", {"op": "put", "key": "k", "value": 1}, {"op": "put", "key": "x", "value": 5})
    transaction("b", {"op": "delete", "key": "k"})
    others()
    transaction("c", {"op": "scan", "from": "a", "to": "y", "items": [["x", 5]]})
    for i in range(9):
        transaction(
            f"d{i}",
            {"op": "get", "key": f"p{i}", "absent": True},
            {"op": "put", "key": f"p{(i + 1) % 9}", "value": 1},
            *([{"op": "get", "key": "x", "value": 5}] if i == 4 else []),
        )
    others()
    header = {"boomslang": 1, "initial": initial}
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, *lines)))
    for size in range(1500, 4000, 500):
        found, verdict, _, _ = goes_by(path, find_level("ser"), size=size, tail=3, kept=2)
        assert found == "invalid" and verdict is not None and verdict.counterexample is not None
        assert len(verdict.counterexample.core.transactions) == 9, size


def test_what_was_put_aside_may_yet_have_written_what_was_read(tmp_path: Path) -> None:
    """At the end of a short trace, of which nothing was taken yet, the window is all of it but for transactions of
    unknown outcome that were put aside: it is not the whole trace, and that it is broken shows nothing."""
    path, lines = tmp_path / "trace.jsonl", list[dict[str, object]]()

    def transaction(session: str, *operations: dict[str, object], **end: object) -> None:
        begun = len(lines)
        for step in ({"op": "begin"}, *operations, {"op": "commit", **end}):
            now = 2 * len(lines)
            lines.append({"session": session, "txn": begun, **step, "invoke": now, "return": now + 1})

    transaction(
        "a", {"op": "get", "key": "y", "value": 7}, {"op": "put", "key": "x", "value": 1}, error="timeout"
    )
    transaction("a", {"op": "put", "key": "v", "value": 1})
    for n in range(60):
        transaction("b", {"op": "put", "key": "z", "value": n})
    transaction("c", {"op": "put", "key": "y", "value": 7})
    transaction("d", {"op": "get", "key": "x", "value": 1})
    transaction("e", {"op": "put", "key": "x", "value": 1})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for level in map(find_level, ("sser", "strong-si")):
        assert check(read_trace(path), level, window=0).valid
        for size in range(600, 2000, 100):
            found, *_ = goes_by(path, level, size=size, tail=1000, kept=2)
            assert found != "invalid", size


@pytest.mark.parametrize("recorded", ["one log", "files"])
def test_what_was_overwritten_long_ago_is_refuted(recorded: str, tmp_path: Path) -> None:
    """A read of it hangs on who wrote the key since then, all of whom are forgotten, and on what they saw."""
    of: dict[str, list[str]] = {}
    now = 0

    def transaction(session: str, *operations: dict[str, object]) -> None:
        nonlocal now
        number = now
        for op in ({"op": "begin"}, *operations, {"op": "commit"}):
            now += 2
            line = {"session": session, "txn": number, "invoke": now, "return": now + 1, **op}
            name = "log" if recorded == "one log" else session
            of.setdefault(name, []).append(json.dumps(line) + "\n")

    def others(many: int) -> None:
        for i in range(many):
            transaction(f"o{i % 2}", {"op": "put", "key": f"z{i % 7}", "value": now})

    transaction("a", {"op": "put", "key": "x", "value": 1})
    others(60)
    transaction("b", {"op": "get", "key": "x", "value": 1}, {"op": "put", "key": "x", "value": 2})
    others(60)
    transaction("c", {"op": "get", "key": "x", "value": 2}, {"op": "put", "key": "x", "value": 3})
    others(200)
    transaction("c", {"op": "get", "key": "x", "value": 1})
    others(60)
    path = tmp_path / ("log.jsonl" if recorded == "one log" else "trace")
    if recorded == "files":
        path.mkdir()
    for name, told in of.items():
        (path if recorded == "one log" else path / f"{name}.jsonl").write_text("".join(told))
    whole = read_trace(path)
    for level in map(find_level, ("strong-session-ser", "strong-session-si", "sser", "strong-si")):
        assert check(whole, level).invalid
        found, verdict, forward, _ = goes_by(path, level, size=3000, tail=2, kept=2)
        assert found == "invalid" and verdict is not None and forward is not None
        assert forward.counted.windows > 5
        verify_refutation(path, verdict)
