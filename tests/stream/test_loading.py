"""Transactions that are longer than a window: those that load what there was at first, and others."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from support.commands import command
from support.effort import examples
from support.loaded import WAYS, loaded_traces
from support.streams import (
    bytes_of,
    goes_by,
    small_pieces,
    some_levels,
    verify_in_lines,
    verify_refutation,
    whole_witness,
)
from support.work import Here

from boomslang import check, read_trace
from boomslang.certify.replay import replay
from boomslang.levels import find_level
from boomslang.solve.brute import brute
from boomslang.stream import check as stream_check
from boomslang.stream import past as past_module
from boomslang.stream.forward import Forward
from boomslang.stretches import check as in_stretches
from boomslang.stretches.check import OnOneMachine, Sizes, check_in_stretches
from boomslang.trace import TraceError
from boomslang.trace import blocks as blocks_module
from boomslang.trace.blocks import SMALLEST_READ, Blocks


def opinions(way: str, seeds: range, folder: Path, *, small: bool) -> Counter[str]:
    seen: Counter[str] = Counter()
    for path, trace, draw in loaded_traces(seeds, folder, way, small=small):
        for level in some_levels(trace, draw, 2):
            expected = check(trace, level, window=0)
            if small:
                assert expected.status == "unknown" or expected.valid == brute(trace, level.name)
            size, tail = draw.choice((150, 300, 1000)), draw.choice((0, 1, 8))
            kept = draw.choice((2, 10**6, 10**6))
            found, verdict, forward, taken = goes_by(path, level, size=size, tail=tail, kept=kept)
            about = path.name, level.name, size, tail, kept
            if found in ("no", "stuck"):
                assert kept < 10**6 or found == "no", about
                seen[found] += 1
                continue
            assert found == expected.status, about
            seen[found] += 1
            if verdict is not None and (small or len(trace) < 12):  # Z3 takes its time
                verify_refutation(path, verdict, size=draw.choice((1, 200)))
            elif verdict is None:
                assert forward is not None
                replay(trace, whole_witness(trace, level, taken))
                verify_in_lines(path, level, taken, forward.counted.operations, size=draw.choice((60, size)))
    return seen


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_what_is_longer_than_a_window_changes_no_answer(way: str, small: bool, tmp_path: Path) -> None:
    seen = opinions(way, range(examples(30)), tmp_path, small=small)
    assert seen["valid"] and (small or seen["invalid"]) and not seen["no"], seen


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
def test_more_that_is_longer_than_a_window(way: str, tmp_path: Path) -> None:
    opinions(way, range(100, 300), tmp_path, small=False)
    for file in tmp_path.iterdir():
        file.unlink() if file.is_file() else None
    (tmp_path / "small").mkdir()
    opinions(way, range(100, 250), tmp_path / "small", small=True)


# --- how often it is read


def a_load(keys: int, **begin: Any) -> list[dict[str, Any]]:
    puts = [{"session": "l", "txn": 0, "op": "put", "key": k, "value": k} for k in range(keys)]
    ends = [{"session": "l", "txn": 0, "op": op} for op in ("begin", "commit")]
    return [ends[0] | begin, *puts, ends[1]]


def readers(many: int, keys: int) -> list[dict[str, Any]]:
    rng = random.Random(1)
    return [
        {"session": "r", "txn": i, **line}
        for i in range(many)
        for key in [rng.randrange(keys)]
        for line in ({"op": "begin"}, {"op": "get", "key": key, "value": key}, {"op": "commit"})
    ]


def written(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


class CountingBlocks(Blocks):
    """How many bytes were parsed?"""

    understood = 0

    def parsed(self, files: Any, initial: bytes = b"") -> Any:
        self.understood += sum(lines.size for lines in files)
        return super().parsed(files, initial)


@pytest.mark.parametrize("begin", [{}, {"initial": True}])
def test_it_is_not_read_again_and_again(begin: dict[str, bool], tmp_path: Path) -> None:
    """Twenty windows long, and read in parts: in all a few times its size."""
    path = written(tmp_path / "trace.jsonl", *a_load(4000, **begin), *readers(200, 4000))
    with ExitStack() as stack:
        blocks = CountingBlocks(small_pieces(path, stack), smallest=1000)
        forward = Forward(blocks, find_level("si"), size=10_000, tail=10)
        assert forward.run() is None and forward.counted.transactions == 200 + (not begin)
    assert blocks.understood < 8 * path.stat().st_size


def test_a_key_that_many_read_is_found_at_once_in_a_long_transaction(tmp_path: Path) -> None:
    """The walk looks up who wrote what was read: one by one that would take minutes here."""
    path = written(tmp_path / "trace.jsonl", *a_load(200_000), *readers(20_000, 200_000))
    trace = read_trace(path)
    for level in ("ser", "si"):
        assert check(trace, level, timeout=20).valid


# --- mistakes


def stream(path: Path, size: int = 300) -> str:
    try:
        found, *_ = goes_by(path, find_level("ser"), size=size, tail=1)
    except TraceError as error:
        return str(error)
    return found


def test_a_load_without_an_end(tmp_path: Path) -> None:
    path = written(tmp_path / "trace.jsonl", *a_load(50, initial=True)[:-1])
    with pytest.raises(TraceError) as whole:
        read_trace(path)
    assert stream(path) == str(whole.value)


def test_a_key_in_two_loads(tmp_path: Path) -> None:
    again = [{**line, "txn": 1} for line in a_load(1, initial=True)]
    path = written(tmp_path / "trace.jsonl", *a_load(50, initial=True), *again, *readers(3, 50))
    assert "the key 0 twice in the initial state" in stream(path)
    with pytest.raises(TraceError, match="the key 0 twice"):
        read_trace(path)
    header = {"boomslang": 1, "initial": {"items": [[49, 49]]}}
    path = written(tmp_path / "trace.jsonl", header, *a_load(50, initial=True), *readers(3, 50))
    assert "the key 49 twice in the initial state" in stream(path)
    path = written(tmp_path / "trace.jsonl", header, *a_load(49, initial=True), *readers(30, 50))
    assert stream(path) == "valid"


def test_a_load_where_nobody_shall_know(tmp_path: Path) -> None:
    header = {"boomslang": 1, "initial": "unknown"}
    path = written(tmp_path / "trace.jsonl", header, *a_load(50, initial=True), *readers(3, 50))
    assert "one of the two" in stream(path)


def test_a_load_after_others_is_not_for_windows(tmp_path: Path) -> None:
    path = written(tmp_path / "trace.jsonl", *_puts(30), *a_load(50, initial=True))
    assert stream(path) == "no" and check(read_trace(path), "ser").valid


def _puts(many: int) -> list[dict[str, Any]]:
    return [
        {"session": "p", "txn": i, **line}
        for i in range(many)
        for line in ({"op": "begin"}, {"op": "put", "key": "p", "value": i}, {"op": "commit"})
    ]


# --- for users


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A load that is longer than a window, and what reads it wrongly."""
    monkeypatch.setattr(stream_check, "LARGEST", 1 << 18)
    path, proof = tmp_path / "trace.jsonl", tmp_path / "proof.jsonl"
    wrong = [
        {"session": "w", "txn": 0, **line}
        for line in ({"op": "begin"}, {"op": "get", "key": 5, "value": 7}, {"op": "commit"})
    ]
    for begin in ({}, {"initial": True}):
        for last, code in (([], 0), (wrong, 1)):
            written(path, *a_load(10_000, **begin), *readers(1000, 10_000), *last)
            done = command("check", str(path), "--level", "si", "--stream", "--certificate", str(proof))
            assert done.code == code, done
            assert command("verify", str(path), str(proof)).code == 0


@pytest.mark.parametrize("packed", [False, True])
def test_a_header_that_is_longer_than_what_is_read_at_a_time(
    packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it says holds for all that follows, also where the past is gone through again."""
    monkeypatch.setattr(stream_check, "LARGEST", 1 << 18)
    monkeypatch.setattr(past_module, "BYTES", 1 << 14)
    proof = tmp_path / "proof.jsonl"
    header = {"boomslang": 1, "initial": {"items": [[f"key {i}", i] for i in range(20_000)]}}
    for last, code in ((7, 0), (8, 1)):
        folder = tmp_path / f"trace{code}"
        folder.mkdir()
        for s in range(8):
            lines: list[dict[str, object]] = [header if s == 0 else {"boomslang": 1}]
            for n in range(100):
                time = 100 * n + 10 * s
                read = last if (s, n) == (7, 99) else 7
                for i, step in enumerate(
                    ({"op": "begin"}, {"op": "get", "key": "key 7", "value": read}, {"op": "commit"})
                ):
                    lines.append({"txn": n, "invoke": time + i, "return": time + i, **step})
            text = "".join(json.dumps(line) + "\n" for line in lines).encode()
            assert s or len(text) > 4 * SMALLEST_READ
            name = f"s{s}.jsonl.gz" if packed else f"s{s}.jsonl"
            (folder / name).write_bytes(gzip.compress(text) if packed else text)
        for jobs in ("1", "2"):
            done = command(
                "check",
                str(folder),
                "--level",
                "ser",
                "--stream",
                "--jobs",
                jobs,
                "--certificate",
                str(proof),
            )
            assert done.code == code, done
            assert command("verify", str(folder), str(proof)).code == 0


@pytest.mark.parametrize("way", ["--stream", "watch"])
def test_a_line_without_an_end_is_not_read_to_it(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, read = tmp_path / "trace.jsonl", list[int]()
    limit = blocks_module.LONGEST_LINE
    with path.open("wb") as file:
        file.write(b'{"boomslang": 1}\n{"session": "s", "op": "begin"}\n{"session": "')
        file.truncate(4 * limit)  # nothing is on the disk
    whole = blocks_module.whole_lines

    def looking(rest: bytes, more: bytes) -> tuple[bytes, bytes]:
        read.append(len(rest) + len(more))
        return whole(rest, more)

    monkeypatch.setattr(blocks_module, "whole_lines", looking)
    if way == "watch":
        done = command("watch", str(path), "--level", "ser", "--until-idle", "1s")
    else:
        done = command("check", str(path), "--level", "ser", way, "--jobs", "1")
    assert done.code == 254 and "trace.jsonl:3: found a line longer than 64 MB" in done.err, done
    assert max(read, default=0) < 2 * limit


# --- in stretches


@pytest.mark.parametrize("way", ["initial", "several", "files"])
def test_stretches_know_all_that_was_loaded(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or leave it to one machine; a slice is read in blocks that are shorter than what is loaded."""
    monkeypatch.setattr(in_stretches, "BYTES", 400)
    seen: Counter[str] = Counter()
    for path, trace, draw in loaded_traces(range(examples(100)), tmp_path, way):
        level = draw.choice(some_levels(trace, draw, 2))
        size = bytes_of(path)
        sizes = Sizes(size // draw.choice((2, 3)), 600, 1, 100)
        try:
            found, _ = check_in_stretches(path, level, Here(), sizes=sizes)
        except OnOneMachine as why:
            seen[str(why)] += 1
            continue
        expected = check(trace, level, window=0)
        assert found.status == expected.status, (path.name, level.name)
        seen[found.status] += 1
    assert seen["valid"], seen
