"""Certificates in lines: what windows that go forward find is accepted; what was tampered with is not; and on
small random traces they say the same as the replay that has the whole trace in memory."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from fuzz.traces import MIXES, random_trace
from support import effort
from support.commands import PROGRAM, command, environment
from support.histories import Absent, append, delete, get, history, list_, put, scan, txn
from support.paths import ROOT
from support.small_blocks import small_blocks

from boomslang import Trace, check, read_trace
from boomslang.certify.certificate import Core, Witness, read_certificate
from boomslang.certify.lines import replay_order
from boomslang.certify.lines.files_read import FilesRead
from boomslang.certify.lines.numbered import Numbered, sort_key
from boomslang.certify.lines.reader import Lines
from boomslang.certify.lines.replay_order import replay_lines
from boomslang.certify.lines.small_trace import small_trace
from boomslang.certify.lines.writer import SOME_VALUE, Writer, refutation
from boomslang.certify.proof import Proof, TooFewArrivals, TooFewVersions, UnreachableState
from boomslang.certify.proved import fault_of_proof
from boomslang.certify.refute import refute
from boomslang.certify.replay import ReplayError, replay
from boomslang.errors import UsageError
from boomslang.levels import LEVELS, Level, find_level
from boomslang.levels.needs import lacks
from boomslang.stream.forward import Forward
from boomslang.stream.taken import Taken
from boomslang.stream.window import MANY_FILES
from boomslang.trace import ABSENT, Outcome, TraceError, write_trace
from boomslang.trace.blocks import Blocks, sources_of
from boomslang.trace.scalars import Scalars
from boomslang.windows.worth import fits_windows

sys.path.insert(0, str(ROOT / "benchmarks"))
from simulate import History, generate

SEEDS = 40 if effort.full else 3
SERVED = [level for level in LEVELS if fits_windows(level)]


# --- making them


def checked(trace: Path, level: Level, certificate: Path, *, size: int, tail: int) -> int:
    """What windows that go forward write down; how many there were."""
    with ExitStack() as stack:
        blocks = Blocks(sources_of(trace, stack), smallest=4000)
        writer = stack.enter_context(
            Writer(certificate, level.name, level.points, lambda f: blocks.sources[f].name)
        )

        def take(part: Taken) -> None:
            writer.take(part.place % MANY_FILES, part.place // MANY_FILES, part.commit, part.initial)

        forward = Forward(blocks, level, take=take, size=size, tail=tail)
        assert forward.run() is None
        writer.finish(forward.counted.operations)
        return forward.counted.windows


def verified(trace: Path, certificate: Path, size: int = 8 << 20) -> None:
    """Raises what is wrong with it."""
    with certificate.open("rb") as file, FilesRead(trace, size=size) as files:
        replay_lines(trace, Lines(certificate, file), files)


def fault(trace: Path, certificate: Path, size: int = 8 << 20) -> str:
    try:
        verified(trace, certificate, size)
    except ReplayError as error:
        return str(error)
    return ""


def in_lines(trace: Trace, witness: Witness, path: Path) -> None:
    """A witness of version 1 as one of version 2. The trace has the lines of its files."""
    order, points = witness.order, witness.points
    txn = order // points
    keys, values = trace.keys.codes(), trace.values.codes()
    initial = [
        (keys[k], None if v == ABSENT else values[v] if v < len(values) else SOME_VALUE)
        for k, v in witness.initial
    ]
    inside = np.unique(txn)
    with Writer(path, witness.level, points, lambda f: trace.files[f]) as writer:
        writer.take(
            trace.txn_file[txn].astype(np.int64),
            trace.txn_begin_line[txn].astype(np.int64),
            order % 2 == 1 if points == 2 else None,
            initial,
        )
        writer.finish(int(np.diff(trace.txn_ops)[inside].sum()))


def edited(path: Path, *change: Callable[[list[Any]], Iterable[Any]]) -> Path:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for one in change:
        lines = list(one(lines))
    target = path.with_name("edited.jsonl")
    target.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return target


# --- what windows that go forward find


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    made: dict[History, Path] = {}

    def make(**options: Any) -> Path:
        told = History(**{"transactions": 250, "sessions": 5, "keys": 40, "times": True, **options})
        if told not in made:
            made[told] = tmp_path_factory.mktemp("simulated") / ("trace" if told.folder else "trace.jsonl")
            generate(told, made[told])
        return made[told]

    return make


@pytest.mark.parametrize("level", [level.name for level in SERVED])
@pytest.mark.parametrize("folder", [False, True])
def test_orders_of_windows_are_accepted(
    simulated: Callable[..., Path], tmp_path: Path, level: str, folder: bool
) -> None:
    wanted = find_level(level)
    trace = simulated(level="si" if wanted.points == 2 else "ser", folder=folder, unknown=0.02)
    certificate = tmp_path / "proof.jsonl"
    with small_blocks(4_000):
        assert checked(trace, wanted, certificate, size=100_000, tail=30) > 2
        verified(trace, certificate, size=30_000)
    ran = command("verify", trace, certificate)
    assert ran.code == 0, ran
    assert ran.out.startswith("right: ") and "its order explains all" in ran.out


def test_ranges_and_deletes_are_accepted(simulated: Callable[..., Path], tmp_path: Path) -> None:
    trace = simulated(level="si", keys=30, values=20, deletes=0.15, scans=0.1, iterators=0.1, span=12)
    certificate = tmp_path / "proof.jsonl"
    with small_blocks(4_000):
        checked(trace, find_level("si"), certificate, size=100_000, tail=30)
        verified(trace, certificate, size=30_000)
    assert fault(trace, certificate) == ""


# --- beside the replay that has the whole trace in memory


@contextmanager
def small_pieces(size: int) -> Iterator[None]:
    """Of the order; and what can be forgotten is forgotten at once."""
    with (
        patch.object(replay_order, "PIECE", size),
        patch.object(replay_order, "LOOKS", size),
        patch.object(Numbered, "worth_forgetting", True),
    ):
        yield


def on_disk(trace: Trace, folder: Path, draw: random.Random) -> Path:
    """The trace as files."""
    several = len(set(trace.txn_clock.tolist())) > 1 or draw.random() < 0.5
    path = folder / ("trace" if several else "trace.jsonl")
    write_trace(trace, path)
    return path


def orders(trace: Trace, level: Level, draw: random.Random) -> list[Witness]:
    """One that holds, if there is one, and some that were tampered with."""
    found = check(trace, level).witness
    points = level.points
    placed = np.flatnonzero(trace.txn_outcome == Outcome.COMMITTED)
    if found is None:
        order = np.repeat(placed, points) * points
        order[points - 1 :: points] += points - 1
        found = Witness(level.name, points, order)
    claims = [replace(found, level=level.name, read_op=np.zeros(0, np.int64))]
    for _ in range(4):
        order, initial = found.order.copy(), list(found.initial)
        kind = draw.choice(("swap", "near", "near", "drop", "again", "aborted", "initial", "unknown"))
        if kind in ("swap", "near") and len(order) > 1:
            i = draw.randrange(len(order) - 1)
            j = i + 1 if kind == "near" else draw.randrange(len(order))
            order[[i, j]] = order[[j, i]]
        elif kind == "drop" and len(order):
            order = np.delete(order, draw.randrange(len(order)))
        elif kind == "again" and len(order):
            order = np.insert(order, draw.randrange(len(order)), draw.choice(order.tolist()))
        elif kind in ("aborted", "unknown") and len(trace):
            t = draw.randrange(len(trace))
            at = sorted(draw.randrange(len(order) + 1) for _ in range(points))
            order = np.insert(order, at, [t * points + i for i in range(points)])
        elif kind == "initial" and len(trace.keys) and len(trace.values):
            k, v = draw.randrange(len(trace.keys)), draw.randrange(len(trace.values))
            initial = [(key, value) for key, value in initial if key != k] + [(k, v)]
        claims.append(replace(claims[0], order=order, initial=initial))
    return claims


@pytest.mark.parametrize("mix", [name for name in MIXES if not name.startswith("crowd")])
def test_both_replays_agree(tmp_path: Path, mix: str) -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        draw = random.Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        path = on_disk(random_trace(seed, mix), folder, draw)
        trace = read_trace(path)
        for level in draw.sample(SERVED, 3):
            if lacks(level, trace):
                continue
            for claim in orders(trace, level, draw):
                try:
                    replay(trace, claim)
                    expected = ""
                except ReplayError as error:
                    expected = str(error)
                certificate = folder / "proof.jsonl"
                in_lines(trace, claim, certificate)
                with small_blocks(draw.choice((60, 300, 5000))), small_pieces(draw.choice((1, 2, 5, 1000))):
                    found = fault(path, certificate, size=draw.choice((1, 1000)))
                assert bool(found) == bool(expected), (seed, level.name, found, expected)
                seen["refused" if found else "accepted"] += 1
    assert seen["refused"] and (seen["accepted"] or not effort.full), seen


A, B, C = txn("a", append("x", 1)), txn("b", append("x", 2), append("x", 3)), txn("c", list_("x", [1, 2, 3]))
LISTS: dict[str, tuple[list[Any], str]] = {  # and why they are refused
    "as it is": ([A, B, C], ""),
    "own appends at the end": ([A, txn("b", append("x", 2), list_("x", [1, 2])), txn("c", list_("x", [1, 2]))], ""),
    "a list of its own": ([txn("a", append("x", 1), list_("x", [1]), append("x", 2), list_("x", [1, 2]))], ""),
    "own ones in another order": ([A, txn("b", append("x", 2), append("x", 3), list_("x", [1, 3, 2]))], "own appends"),
    "own appends missing": ([A, txn("b", append("x", 2), list_("x", [1]))], "own appends"),
    "fewer than its own": ([txn("b", append("x", 2), append("x", 3), list_("x", [3]))], "own appends"),
    "another order": ([A, B, txn("c", list_("x", [1, 3, 2]))], "not the version"),
    "an old version": ([A, B, txn("c", list_("x", [1]))], "not the version"),
    "a part of what one appended": ([A, B, txn("c", list_("x", [1, 2]))], "not the version"),
    "nothing, as a list": ([A, txn("c", list_("x", []))], "not the version"),
    "nothing, as a get": ([A, txn("c", get("x", Absent))], "does not hold"),
    "nothing, before": ([txn("c", get("x", Absent), list_("x", [])), A], ""),
    "a scan": ([A, txn("c", scan("a", "zz", {}))], ""),
    "a scan after an append": ([txn("a", append("x", 1), scan("a", "zz", {}))], ""),
    "a scan of a register beside it": ([A, txn("b", put("y", 1)), txn("c", scan("a", "zz", {}))], "missed a key"),
}  # fmt: skip


@pytest.mark.parametrize("case", LISTS)
@pytest.mark.parametrize("level", ["serializable", "snapshot-isolation"])
def test_lists_are_replayed(tmp_path: Path, case: str, level: str) -> None:
    told, why = LISTS[case]
    path, certificate = tmp_path / "trace.jsonl", tmp_path / "proof.jsonl"
    write_trace(history(*told), path)
    trace, points = read_trace(path), find_level(level).points
    claim = Witness(level, points, np.arange(points * len(trace)))
    in_lines(trace, claim, certificate)
    for pieces, blocks in ((1, 1), (2, 1000), (1000, 1000)):
        with small_blocks(60), small_pieces(pieces):
            found = fault(path, certificate, size=blocks)
        assert why in found and bool(why) == bool(found), (case, found)
    if why:
        with pytest.raises(ReplayError):
            replay(trace, claim)
    else:
        replay(trace, claim)


def test_who_appends_to_one_list_does_not_overlap(tmp_path: Path) -> None:
    path, certificate = tmp_path / "trace.jsonl", tmp_path / "proof.jsonl"
    write_trace(history(txn("a", append("x", 1)), txn("b", append("x", 2))), path)
    for order, level, why in (
        ([0, 2, 1, 3], "snapshot-isolation", "overlapping"),
        ([0, 2, 1, 3], "prefix", ""),
        ([2, 3, 0, 1], "snapshot-isolation", ""),
    ):
        in_lines(read_trace(path), Witness(level, 2, np.array(order)), certificate)
        found = fault(path, certificate)
        assert why in found and bool(why) == bool(found)


def test_a_key_is_a_list_or_a_register(tmp_path: Path) -> None:
    path, certificate = tmp_path / "trace.jsonl", tmp_path / "proof.jsonl"
    write_trace(history(txn("a", append("x", 1)), txn("b", put("y", 2)), txn("b", put("z", 2))), path)
    in_lines(read_trace(path), Witness("serializable", 1, np.arange(3)), certificate)
    path.write_text(path.read_text().replace('"z"', '"x"'))
    with small_blocks(60), pytest.raises((UsageError, TraceError), match="register"):
        verified(path, certificate, size=1)


# --- what was tampered with


@pytest.fixture(scope="module")
def proven(simulated: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A trace of several files with every kind of outcome, and its certificate."""
    trace = simulated(level="si", folder=True, unknown=0.05)
    certificate = tmp_path_factory.mktemp("proven") / "proof.jsonl"
    checked(trace, find_level("strong-si"), certificate, size=1 << 20, tail=30)
    assert fault(trace, certificate) == ""
    return trace, certificate


def points(lines: list[Any]) -> list[tuple[int, int, str]]:
    """(file, line, b or c), in their order."""
    return [
        point
        for line in lines
        if "order" in line
        for point in zip(line["file"], line["order"], line["points"], strict=True)
    ]


def with_points(change: Callable[[list[tuple[int, int, str]]], Any]) -> Callable[[list[Any]], list[Any]]:
    """All points as one line, changed."""

    def edit(lines: list[Any]) -> list[Any]:
        found = points(lines)
        change(found)
        file, line, kind = zip(*found, strict=True)
        order = {"order": list(line), "file": list(file), "points": "".join(kind)}
        return [*(one for one in lines[:-1] if "order" not in one), order, lines[-1]]

    return edit


def swap(i: int, j: int) -> Callable[[list[Any]], None]:
    def change(found: list[Any]) -> None:
        found[i], found[j] = found[j], found[i]

    return change


def test_an_order_that_is_written_otherwise_is_the_same(proven: tuple[Path, Path]) -> None:
    trace, certificate = proven
    assert fault(trace, edited(certificate, with_points(lambda found: None))) == ""


def test_points_in_another_order(proven: tuple[Path, Path]) -> None:
    trace, certificate = proven
    found = points([json.loads(line) for line in certificate.read_text().splitlines()])
    first = {point[:2]: i for i, point in reversed(list(enumerate(found)))}
    commits = next(i for i, point in enumerate(found) if point[2] == "c")
    own = first[found[commits][:2]]
    wrong = fault(trace, edited(certificate, with_points(swap(own, commits))))
    assert wrong.endswith("commits before it begins")
    # The first at the end: it is too late, or what it wrote was not there when it was read.
    last = edited(certificate, with_points(lambda all_: all_.append(all_.pop(0))))
    assert "commits before it begins" in fault(trace, last)
    both = edited(
        certificate, with_points(lambda all_: all_.extend([all_.pop(commits), all_.pop(own)][::-1]))
    )
    assert "invoked only when it had returned" in fault(trace, both)


def test_points_that_are_left_out_or_there_twice(proven: tuple[Path, Path]) -> None:
    trace, certificate = proven
    found = points([json.loads(line) for line in certificate.read_text().splitlines()])
    read = read_trace(trace)
    names = [Path(name).name for name in read.files]
    sure = {
        (names[read.txn_file[t]], int(read.txn_begin_line[t]))
        for t in np.flatnonzero(read.txn_outcome == Outcome.COMMITTED)
    }
    files = {
        one["number"]: one["file"]
        for one in map(json.loads, certificate.read_text().splitlines())
        if "number" in one
    }
    i = max(i for i, (f, line, kind) in enumerate(found) if kind == "c" and (files[f], line) in sure)
    begin = next(j for j, point in enumerate(found) if point[:2] == found[i][:2])

    def dropped(*which: int) -> str:
        def change(all_: list[Any]) -> None:
            for j in sorted(which, reverse=True):
                del all_[j]

        return fault(trace, edited(certificate, with_points(change)))

    assert "committed, but is not in the order" in dropped(i, begin)
    assert "has only one of its points in the order" in dropped(i)
    assert "commits before it begins" in dropped(begin)
    again = with_points(lambda all_: all_.insert(i, all_[begin]))
    assert "is in the order twice" in fault(trace, edited(certificate, again))
    # Long after it was forgotten.
    late = with_points(lambda all_: all_.extend(all_[:2]))
    with small_blocks(4000), small_pieces(100):
        assert "was placed before" in fault(trace, edited(certificate, late), size=4000)


def test_aborted_and_unheard_of_transactions(proven: tuple[Path, Path]) -> None:
    trace, certificate = proven
    read = read_trace(trace)
    t = int(np.flatnonzero(read.txn_outcome == Outcome.ABORTED)[-1])
    files = [json.loads(line) for line in certificate.read_text().splitlines() if '"number"' in line]
    number = next(one["number"] for one in files if one["file"] == Path(read.files[read.txn_file[t]]).name)
    begin = int(read.txn_begin_line[t])
    placed = with_points(lambda all_: all_.extend([(number, begin, "b"), (number, begin, "c")]))
    assert "aborted, but is in the order" in fault(trace, edited(certificate, placed))
    for line in (begin + 1, 10**6):
        strange = with_points(lambda all_, line=line: all_.append((number, line, "b")))  # type: ignore[misc]
        assert "and there is none" in fault(trace, edited(certificate, strange))


def test_a_trace_that_was_edited(proven: tuple[Path, Path], tmp_path: Path) -> None:
    trace, certificate = proven
    other = tmp_path / "trace"
    other.mkdir()
    for file in trace.iterdir():
        (other / file.name).write_bytes(file.read_bytes())
    assert fault(other, certificate) == ""
    file = next(iter(sorted(other.iterdir())))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    ends = {
        line["txn"]: line["op"]
        for line in lines
        if line.get("op") in ("commit", "abort") and "error" not in line
    }
    read = next(
        line
        for line in lines
        if line.get("op") == "get" and "value" in line and ends.get(line["txn"]) == "commit"
    )
    read["value"] += 1
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "sees what the version it reads does not hold" in fault(other, certificate)
    file.rename(file.with_name("other.jsonl"))
    with pytest.raises(UsageError, match="made for another trace: it names the file"):
        verified(other, certificate)


def test_certificates_that_end_early_or_late(proven: tuple[Path, Path], tmp_path: Path) -> None:
    trace, certificate = proven
    text = certificate.read_bytes()
    whole = text.splitlines(keepends=True)
    bad = tmp_path / "bad.jsonl"
    for content, why in (
        (b"".join(whole[:-1]), "an incomplete certificate: its last line is missing"),
        (whole[0], "an incomplete certificate"),
        (text[:-20], "its last line is torn"),
        (text + whole[-1], "found a line after its last one"),
        (text[: len(text) // 2], "torn"),
        (b"", "not a certificate of version 2"),
        (whole[0] + b"[1]\n", "found no JSON object"),
        (whole[0] + b"{1}\n", "found no JSON"),
        (whole[0] + b"\n", "found an empty line"),
        (whole[0] + b'{"order": [1]}\n', "found an order without its files"),
        (
            whole[0] + b'{"file": "c1.jsonl", "number": 0}\n{"order": [1, "x"], "points": "bc"}\n',
            "whole numbers",
        ),
        (whole[0] + b'{"file": "c1.jsonl", "number": 0}\n{"order": [1.5], "points": "b"}\n', "whole numbers"),
        (whole[0] + b'{"file": "c1.jsonl", "number": 0}\n{"order": [-1], "points": "b"}\n', "whole numbers"),
        (whole[0] + b'{"file": "c1.jsonl", "number": 0}\n{"order": [[1]], "points": "b"}\n', "whole numbers"),
        (whole[0] + b'{"file": "c1.jsonl", "number": 0}\n{"order": [1], "points": "x"}\n', "a letter b or c"),
        (
            whole[0] + b'{"file": "c1.jsonl", "number": 0}\n{"order": [1], "file": [3], "points": "b"}\n',
            "named before",
        ),
        (whole[0] + b'{"file": "c1.jsonl", "number": -1}\n', "with the number -1"),
        (whole[0] + b'{"initial": [1]}\n', "no list of items"),
        (whole[0] + b'{"initial": {"items": [1]}}\n', "in its initial state, found"),
        (whole[0] + b'{"what": 1}\n', "found the fields 'what'"),
        (b'{"boomslang-certificate": 2, "level": 7}\n', "found 7 as the level"),
        (b'{"boomslang-certificate": 2, "level": "prefix", "points": 3}\n', "found 3 points"),
        (
            b'{"boomslang-certificate": 2, "level": "causal", "points": 1}\n',
            "for levels that an order decides",
        ),
    ):
        bad.write_bytes(content)
        with pytest.raises(UsageError, match=why.replace("(", r"\(")):
            verified(trace, bad)
    ran = command("verify", trace, bad)
    assert ran.code == 254 and "for levels that an order decides" in ran.err
    short = edited(certificate, lambda lines: [*lines[:-1], {**lines[-1], "transactions": 7}])
    assert "it says that 7 transactions" in fault(trace, short)
    ran = command("verify", trace, short)
    assert ran.code == 1 and "does not show that" in ran.out
    ran = command("verify", "-", certificate)
    assert ran.code == 254 and "read only once" in ran.err


def test_the_wrong_level(proven: tuple[Path, Path]) -> None:
    """Sessions and times of the level are asked for, whatever was."""
    trace, certificate = proven
    both = {"level": "serializable", "points": 1}
    lines = edited(certificate, lambda lines: [{**lines[0], **both}, *lines[1:]])
    with pytest.raises(UsageError, match="the kinds of points"):
        verified(trace, lines)
    other = edited(certificate, lambda lines: [{**lines[0], "level": "serializable"}, *lines[1:]])
    assert "there is no level 'serializable' with 2 point" in fault(trace, other)


# --- initial states


def test_initial_values_that_are_chosen(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    write_trace(
        history(
            txn("a", get("x", 1), get("y", Absent), put("x", 2)),
            txn("a", delete("z", True), put("y", b"\x00")),
            txn("b", get("x", 2), get("w", "1")),
            initial="unknown",
        ),
        trace,
    )
    read = read_trace(trace)
    found = check(read, "ser").witness
    assert found is not None
    certificate = tmp_path / "proof.jsonl"
    in_lines(read, found, certificate)
    assert fault(trace, certificate) == ""
    lines = [json.loads(line) for line in certificate.read_text().splitlines()]
    items = dict(map(tuple, next(line for line in lines if "initial" in line)["initial"]["items"]))
    assert items["x"] == 1 and items["w"] == "1" and "z" in items and "y" not in items
    at = next(i for i, line in enumerate(lines) if "initial" in line)
    twice = edited(certificate, lambda lines: [*lines[: at + 1], *lines[at:]])
    assert "chooses an initial value twice" in fault(trace, twice)
    late = edited(certificate, lambda lines: [*lines[:at], *lines[at + 1 : -1], lines[at], lines[-1]])
    assert "sees what the version it reads does not hold" in fault(trace, late)
    never = edited(certificate, lambda lines: [*lines[:at], *lines[at + 1 :]])
    assert "sees what the version it reads does not hold" in fault(trace, never)

    def wrong(lines: list[Any]) -> list[Any]:
        lines[at]["initial"]["items"].append(["y", None])
        return lines

    assert "does not hold" in fault(trace, edited(certificate, wrong))
    known = tmp_path / "known.jsonl"
    known.write_text(trace.read_text().replace('"unknown"', '{"items": [["x", 1], ["w", "1"], ["z", 0]]}'))
    assert "the trace says what they were" in fault(known, certificate)
    never = edited(certificate, lambda lines: [*lines[:at], *lines[at + 1 :]])
    assert fault(known, never) == ""


def test_what_is_chosen_after_a_range_was_looked_through(tmp_path: Path) -> None:
    """A range tells of keys that nobody has named yet."""
    trace, certificate = tmp_path / "trace.jsonl", tmp_path / "proof.jsonl"
    write_trace(history(txn("a", scan("a", "c", {})), txn("b", get("b", 1)), initial="unknown"), trace)
    read = read_trace(trace)
    begin = read.txn_begin_line.astype(np.int64)
    nobody = np.zeros(1, np.int64)
    with Writer(certificate, "serializable", 1, lambda f: read.files[f]) as writer:
        writer.take(nobody, begin[:1])
        writer.take(nobody, begin[1:], None, [(b"\x04b", b"\x021")])
        writer.finish(2)
    assert "that a range had shown to be absent" in fault(trace, certificate)
    with Writer(certificate, "serializable", 1, lambda f: read.files[f]) as writer:
        writer.take(nobody, begin[1:], None, [(b"\x04b", b"\x021")])
        writer.take(nobody, begin[:1])
        writer.finish(2)
    assert "missed a key that was there" in fault(trace, certificate)


def test_initial_values_of_a_loading_transaction(tmp_path: Path) -> None:
    """Which may be longer than a block."""
    trace = tmp_path / "trace.jsonl"
    load = [{"session": "l", "txn": 0, "op": "put", "key": k, "value": k} for k in range(50)]
    lines: list[Any] = [
        {"session": "l", "txn": 0, "op": "begin", "initial": True},
        *load,
        {"session": "l", "txn": 0, "op": "commit"},
        {"session": "a", "op": "begin"},
        {"session": "a", "op": "get", "key": 7, "value": 7},
        {"session": "a", "op": "commit"},
    ]
    trace.write_text("".join(json.dumps(line) + "\n" for line in lines))
    read = read_trace(trace)
    found = check(read, "ser").witness
    assert found is not None
    in_lines(read, found, tmp_path / "proof.jsonl")
    with small_blocks(100):
        assert fault(trace, tmp_path / "proof.jsonl", size=100) == ""
    trace.write_text(
        trace.read_text().replace('"value": 7}\n{"session": "a"', '"value": 8}\n{"session": "a"')
    )
    assert "does not hold" in fault(trace, tmp_path / "proof.jsonl")


# --- refutations


def cores(trace: Trace, draw: random.Random) -> Iterator[Core]:
    """The core of an invalid level, and weaker ones."""
    for level in draw.sample([level for level in LEVELS if not level.cursor], 4):
        found = check(trace, level)
        if found.counterexample is None:
            continue
        core = found.counterexample.core
        yield core
        if core.proof is None:
            some = {t for t in core.transactions if draw.random() < 0.7}
            reads = tuple(read for read in core.reads if trace.owner(read[0]) in some)
            yield replace(core, transactions=tuple(sorted(some)), reads=reads)
            yield replace(core, reads=tuple(read for read in core.reads if draw.random() < 0.7))


@pytest.mark.parametrize("mix", ["default", "few-values", "ranges", "unknown"])
def test_a_core_is_refuted_by_the_few_lines_that_it_needs(tmp_path: Path, mix: str) -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        draw = random.Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        path = on_disk(random_trace(seed, mix), folder, draw)
        trace = read_trace(path)
        for core in cores(trace, draw):
            certificate = folder / "proof.jsonl"
            certificate.write_text("".join(refutation(trace, core)))
            with small_blocks(draw.choice((60, 300, 5000))), certificate.open("rb") as file:
                small = small_trace(path, Lines(certificate, file), size=draw.choice((1, 1000)))
            assert len(small.trace) <= len(trace)
            if core.proof is not None:
                assert fault_of_proof(small.trace, core.level, small.core.proof or core.proof) == ""
                seen["proof"] += 1
                continue
            answer = refute(small.trace, small.core)
            assert answer == refute(trace, core), (seed, core)
            seen["refuted" if answer else "not"] += 1
            seen["smaller"] += len(small.trace) < len(trace)
    assert seen["refuted"] or not effort.full, seen


def lost_update(path: Path) -> tuple[Trace, Core]:
    """Between many others; the writer of what both read is not in the core."""
    others = [txn("o", put(f"k{i}", i), get("x", 0)) for i in range(40)]
    rows = [
        txn("w", put("x", 0), put("y", 1)),
        *others[:20],
        txn("a", get("x", 0), put("x", 1)),
        *others[20:],
        txn("b", get("x", 0), put("x", 2)),
        txn("a", get("y", 1)),
    ]
    write_trace(history(*rows), path)
    trace = read_trace(path)
    found = check(trace, "si").counterexample
    assert found is not None and found.core.proof is None
    return trace, found.core


def test_the_command_refutes_in_lines(tmp_path: Path) -> None:
    path, certificate = tmp_path / "trace.jsonl", tmp_path / "proof.jsonl"
    trace, core = lost_update(path)
    certificate.write_text("".join(refutation(trace, core)))
    ran = command("verify", path, certificate)
    assert ran.code == 0 and "Z3 refutes its" in ran.out, ran
    with certificate.open("rb") as file:
        small = small_trace(path, Lines(certificate, file))
    assert len(small.trace) == len(core.transactions) + 1 < 5
    told = json.loads(certificate.read_text())
    for change, code, why in (
        ({"transactions": told["core"]["transactions"][:1]}, 1, "is no operation of a transaction that"),
        ({"reads": told["core"]["reads"][:1]}, 1, "do not break the level"),
        ({"transactions": [*told["core"]["transactions"], ["trace.jsonl", 2]]}, 1, "not minimal"),
        (
            {"transactions": [*told["core"]["transactions"], ["trace.jsonl", 3]]},
            1,
            "no transaction begins at",
        ),
        ({"reads": [["trace.jsonl", 999, "x"]]}, 1, "is no operation of"),
        ({"reads": [["trace.jsonl", told["core"]["reads"][0][1], "y"]]}, 1, "does not read"),
        ({"reads": [7]}, 254, "a damaged certificate"),
        ({"reads": [["trace.jsonl", 3, [1]]]}, 254, "a damaged certificate"),
        ({"transactions": 7}, 254, "a damaged certificate"),
        ({"proof": {"kind": "no"}}, 254, "a damaged certificate"),
    ):
        certificate.write_text(json.dumps({**told, "core": {**told["core"], **change}}) + "\n")
        ran = command("verify", path, certificate)
        assert (ran.code, why in ran.out + ran.err) == (code, True), (change, ran)
    certificate.write_text(json.dumps({**told, "level": "cursor-stability"}) + "\n")
    assert command("verify", path, certificate).code == 254
    with pytest.raises(UsageError, match="a certificate in lines"):
        read_certificate(certificate, trace)


def test_the_writer_of_what_a_core_saw_is_never_lost(tmp_path: Path) -> None:
    """Far away, aborted or not; and a core that needs it gone is not believed."""
    path, certificate = tmp_path / "trace.jsonl", tmp_path / "proof.jsonl"
    rows = [txn("a", get("x", 1)), *[txn("o", put("k", i)) for i in range(300)], txn("b", put("x", 1))]
    write_trace(history(*rows), path)
    trace = read_trace(path)
    core = Core("serializable", (0,), ((0, trace.keys.codes().index(b"\x04x")),))
    certificate.write_text("".join(refutation(trace, core)))
    with small_blocks(500):
        ran = command("verify", path, certificate)
    assert ran.code == 1 and "do not break the level" in ran.out, ran


@pytest.mark.parametrize("kind", ["counting", "states", "departures"])
def test_proofs_in_lines(tmp_path: Path, kind: str) -> None:
    made = {
        "counting": (
            [txn("a", get("x", 5), put("x", 4))] * 3 + [txn("b", get("x", 4), put("x", 5))],
            {"x": 5},
        ),
        "states": (
            [
                *[
                    txn("a", get("a", 1), get("b", 1), put("a", 0)),
                    txn("b", get("a", 1), get("b", 1), put("b", 0)),
                ]
                * 3,
                *[txn("c", put("a", 1)), txn("c", put("b", 1))] * 3,
                txn("d", get("a", 0), get("b", 0)),
            ],
            {"a": 1, "b": 1},
        ),
        "departures": (
            [
                txn("a", get("a", 1), get("b", 1), put("a", 2)),
                txn("b", get("a", 1), get("b", 1), put("b", 2)),
            ],
            {"a": 1, "b": 1},
        ),
    }[kind]
    path, certificate = tmp_path / "trace.jsonl", tmp_path / "proof.jsonl"
    others = [txn("o", put(f"k{i}", i)) for i in range(10)]
    write_trace(history(*made[0], *others, initial=made[1]), path)
    trace = read_trace(path)
    key = {code: i for i, code in enumerate(trace.keys.codes())}
    a, b = key.get(b"\x04a", -1), key.get(b"\x04b", -1)
    value = {code: i for i, code in enumerate(trace.values.codes())}
    proof: Proof
    if kind == "counting":
        proof = TooFewVersions(key[b"\x04x"], tuple((t, int(trace.txn_ops[t])) for t in range(3)))
    elif kind == "states":
        one, zero = value[b"\x021"], value[b"\x020"]
        proof = UnreachableState((a, b), ((one, one), (one, zero), (zero, one)), 12)
    else:
        one = value[b"\x021"]
        proof = TooFewArrivals((a, b), (one, one), (0, 1))
    core = Core("serializable", (0,), (), proof=proof)
    assert fault_of_proof(trace, core.level, proof) == ""
    certificate.write_text("".join(refutation(trace, core)))
    ran = command("verify", path, certificate)
    assert ran.code == 0, ran
    with certificate.open("rb") as file:
        assert len(small_trace(path, Lines(certificate, file)).trace) == len(made[0])
    # One more version, state or arrival that is not spoken of.
    more = {
        "counting": [txn("e", put("x", 5))],
        "states": [txn("e", put("a", 0), put("b", 0))],
        "departures": [txn("e", put("a", 1))],
    }[kind]
    other = tmp_path / "other.jsonl"
    write_trace(history(*made[0], *others, *more, initial=made[1]), other)
    assert command("verify", other, certificate).code == 1


def test_states_of_values_that_only_others_know(tmp_path: Path) -> None:
    """Where nobody knows what a key held at first, it may be what somebody else saw there, who is not needed."""
    path, certificate = tmp_path / "trace.jsonl", tmp_path / "proof.jsonl"
    steps = (
        txn("a", get("a", 1), get("b", 1), put("a", 0)),
        txn("b", get("a", 1), get("b", 1), put("b", 0)),
        txn("c", put("a", 1)),
        txn("c", put("b", 1)),
    )
    write_trace(
        history(*steps, txn("d", get("a", 0), get("b", 0)), txn("o", put("k", 7)), initial={"a": 1, "b": 1}),
        path,
    )
    trace = read_trace(path)
    a, b = (trace.keys.code(i) for i in range(2))
    assert (a, b) == (b"\x04a", b"\x04b")
    seven, one, zero = (trace.values.codes().index(b"\x02" + digit) for digit in (b"7", b"1", b"0"))
    states = ((one, one), (one, zero), (zero, one), (seven, one))
    for proof, right in (
        (UnreachableState((0, 1), states, 4), True),
        (UnreachableState((0, 1), ((seven, one), *states[:2]), 4), False),
    ):
        core = Core("serializable", (4,), (), proof=proof)
        assert (fault_of_proof(trace, core.level, proof) == "") == right
        certificate.write_text("".join(refutation(trace, core)))
        assert command("verify", path, certificate).code == (0 if right else 1)


# --- order of keys, names, files


def test_keys_are_in_the_order_of_ranges() -> None:
    keys: list[Any] = [
        None, False, True, -(10**30), -1, -0.5, 0, 0.0, 1, 1.0, 2, 2.5, 1e300, 10**301,
        "", "a", "ab", "b", "é", "\U0001f600", b"", b"\x00", b"\xff",
    ]  # fmt: skip
    random.Random(1).shuffle(keys)
    trace = history(txn("a", *(put(key, 1) for key in keys)))
    codes = trace.keys.codes()
    ranked = [codes[i] for i in np.argsort(trace.key_rank)]
    assert sorted(codes, key=sort_key) == ranked
    assert [Scalars.of_codes([code])[0] for code in codes] == list(trace.keys)


def test_numbers_are_given_anew() -> None:
    numbered = Numbered()
    assert numbered.of([b"a", b"b", b"a", b"c"]).tolist() == [0, 1, 0, 2]
    numbered.keep(np.array([0, 2]))
    assert numbered.of([b"c", b"d", b"a", b"b"]).tolist() == [1, 2, 0, 3]


def test_a_single_file_may_have_been_renamed_and_packed(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    write_trace(history(txn("boomslang", put("x", 1)), txn("a", get("x", 1))), path)
    text = path.read_text().splitlines(keepends=True)[1:]
    path.write_text("".join(text))  # its first line is no header, though it looks a little like one
    trace = read_trace(path)
    found = check(trace, "ser").witness
    assert found is not None
    in_lines(trace, found, tmp_path / "proof.jsonl")
    assert fault(path, tmp_path / "proof.jsonl") == ""
    with small_blocks(20):
        assert fault(path, tmp_path / "proof.jsonl", size=1) == ""
    write_trace(trace, tmp_path / "other.jsonl.gz")
    with gzip.open(tmp_path / "other.jsonl.gz", "wt") as file:
        file.writelines(text)
    assert fault(tmp_path / "other.jsonl.gz", tmp_path / "proof.jsonl") == ""


def test_a_session_that_goes_on_in_another_file(tmp_path: Path) -> None:
    """Its order is that of the files, wherever a block ends."""
    folder = tmp_path / "trace"
    folder.mkdir()
    for name, values in (("1", range(6)), ("2", range(6, 12))):
        lines = []
        for i in values:
            head = {"session": "s", "txn": i}
            lines += [
                {**head, "op": "begin"},
                {**head, "op": "put", "key": i, "value": i},
                {**head, "op": "commit"},
            ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    trace = read_trace(folder)
    claim = Witness("strong-session-serializable", 1, np.arange(12))
    for order, why in ((np.arange(12), ""), (np.roll(np.arange(12), 6), "a later one of its session")):
        in_lines(trace, replace(claim, order=order), tmp_path / "proof.jsonl")
        for size in (60, 10_000):
            with small_blocks(size), small_pieces(3):
                assert why in fault(folder, tmp_path / "proof.jsonl", size=1)
                assert bool(why) == bool(fault(folder, tmp_path / "proof.jsonl", size=1))


def test_what_is_not_for_lines(tmp_path: Path) -> None:
    path, certificate = tmp_path / "trace.jsonl", tmp_path / "proof.jsonl"
    path.write_text(
        '{"op": "begin", "session": "a"}\n'
        '{"op": "select", "session": "a", "table": "t", "where": true, "items": []}\n{"op": "commit", "session": "a"}\n'
    )
    certificate.write_text('{"boomslang-certificate": 2, "level": "serializable", "points": 1}\n')
    with pytest.raises(UsageError, match="found selects in the trace"):
        verified(path, certificate)
    (tmp_path / "text.txt").write_text("r(1,1,1,1)\n")
    ran = command("verify", tmp_path / "text.txt", certificate)
    assert ran.code == 254 and "only jsonl" in ran.err, ran
    assert command("verify", tmp_path / "nothing.jsonl", certificate).code == 254
    (tmp_path / "empty").mkdir()
    assert command("verify", tmp_path / "empty", certificate).code == 254
    with pytest.raises(UsageError, match="a certificate in lines"):
        read_certificate(certificate, read_trace(path))


def test_a_writer_that_is_left_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "proof.jsonl"
    one = np.ones(1, np.int64)
    with Writer(target, "serializable", 1, str) as writer:
        writer.take(one, one)
    assert not list(tmp_path.iterdir())
    with Writer(target, "serializable", 1, str) as writer:
        writer.take(one, one)
        writer.finish(3)
    assert [path.name for path in tmp_path.iterdir()] == ["proof.jsonl"]
    assert json.loads(target.read_text().splitlines()[-1]) == {
        "verdict": "valid", "transactions": 1, "operations": 3,
    }  # fmt: skip


def test_levels_that_the_trace_cannot_speak_of(tmp_path: Path) -> None:
    path, certificate = tmp_path / "trace.jsonl", tmp_path / "proof.jsonl"
    write_trace(history(txn(None, put("x", 1))), path)
    trace = read_trace(path)
    for level, why in (("strict-serializable", "times"), ("strong-session-serializable", "sessions")):
        in_lines(trace, Witness(level, 1, np.zeros(1, np.int64)), certificate)
        ran = command("verify", path, certificate)
        assert ran.code == 1 and f"the level speaks of {why}" in ran.out, ran
    write_trace(history(txn("a", put("x", 1), outcome="unknown")), path)
    in_lines(read_trace(path), Witness("serializable", 1, np.zeros(1, np.int64)), certificate)
    ran = command("verify", path, certificate)
    assert ran.code == 1 and "known to have committed" in ran.out, ran


# --- memory


def long_log(folder: Path, transactions: int) -> tuple[Path, Path]:
    """Each value is new, each reads what the last but ten wrote; the order is that of the log."""
    trace, certificate = folder / f"{transactions}.jsonl", folder / f"{transactions}.proof.jsonl"
    with trace.open("w") as file:
        for i in range(transactions):
            head = f'{{"session": "s{i % 10}", "txn": {i}, "op": '
            read = f'"value": {i - 10}' if i >= 10 else '"absent": true'
            file.write(f'{head}"begin"}}\n{head}"get", "key": {i % 10}, {read}}}\n')
            file.write(f'{head}"put", "key": {i % 10}, "value": {i}}}\n{head}"commit"}}\n')
    with Writer(certificate, "serializable", 1, lambda f: trace.name) as writer:
        line = np.arange(transactions) * 4 + 1
        writer.take(np.zeros(transactions, np.int64), line)
        writer.finish(2 * transactions)
    return trace, certificate


@pytest.mark.full
def test_memory_does_not_grow_with_the_trace(tmp_path: Path) -> None:
    peaks = []
    for transactions in (400_000, 2_000_000):
        trace, certificate = long_log(tmp_path, transactions)
        # By a small process in between: what is measured of a child begins with what its parent held.
        measure = (
            "import os, sys; pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ); "
            "_, status, used = os.wait4(pid, 0); print(os.waitstatus_to_exitcode(status), used.ru_maxrss)"
        )
        words = [sys.executable, "-c", measure, *PROGRAM, "verify", str(trace), str(certificate)]
        done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment())
        told, (code, peak) = done.stdout, done.stdout.split()[-2:]
        assert "right" in told and code == "0"
        peaks.append(int(peak))
    assert peaks[1] < 1.15 * peaks[0] + 20_000, peaks
