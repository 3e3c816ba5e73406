"""Keys that several write blindly, that go cold, and are read long after the windows of their writers were given up."""

from __future__ import annotations

import heapq
import json
import random
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.effort import examples
from support.streams import goes_by, small_pieces, verify_in_lines, whole_witness

from boomslang import check, read_trace
from boomslang.certify.lines import writer
from boomslang.certify.replay import replay
from boomslang.levels import find_level
from boomslang.levels.level import Dependency
from boomslang.stream import open_keys
from boomslang.stream import swaps as swaps_module
from boomslang.stream.forward import Forward
from boomslang.stream.last_writers import Around, Open, with_last
from boomslang.stream.live import Held, LiveKeys
from boomslang.stream.open_keys import OpenKeys, Piece, is_overwritten
from boomslang.trace.blocks import Blocks
from boomslang.trace.model import Initial

SESSIONS = 6


def cold_keys(
    path: Path,
    draw: random.Random,
    *,
    many: int,
    cold: int,
    warm: int = 8,
    planted: bool = False,
    deletes: float = 0.1,
) -> None:
    """A serializable database, each transaction at some moment between its first line and its last. Keys are written
    for some time, by several at once, and read `cold` transactions later. `planted`: the last reads find what was there
    before."""
    lines: list[tuple[int, str]] = []
    state: dict[str, int | None] = {}
    before: dict[str, int | None] = {}
    free = [(draw.randrange(50), s) for s in range(SESSIONS)]
    heapq.heapify(free)
    going: list[tuple[int, int, int, int, int]] = []
    values = begun = 0

    def tell(session: int, op: str, at: int, **more: object) -> None:
        record = {"session": f"s{session}", "op": op, "invoke": at, "return": at + 1, **more}
        lines.append((at, json.dumps(record)))

    while begun < many or going:
        if begun < many and (not going or free[0][0] <= going[0][0]):
            start, session = heapq.heappop(free)
            lasts = draw.randrange(60, 300)
            heapq.heappush(
                going, (start + draw.randrange(20, lasts - 20), begun, session, start, start + lasts)
            )
            heapq.heappush(free, (start + lasts + draw.randrange(1, 30), session))
            begun += 1
            continue
        _, n, session, start, end = heapq.heappop(going)
        newest = n // 6
        tell(session, "begin", start)
        at = start + 2
        for _ in range(draw.randrange(3)):
            if newest >= cold // 6:
                key = f"k{max(0, newest - cold // 6 - draw.randrange(warm))}"
                old = planted and n >= many - 5 and before.get(key) is not None
                seen = before[key] if old else state.get(key)
                tell(session, "get", at, key=key, **({"absent": True} if seen is None else {"value": seen}))
                at += 2
        for key in {f"k{newest + draw.randrange(warm)}" for _ in range(2)}:
            values += 1
            before[key] = state.get(key)
            if draw.random() < deletes:
                state[key] = None
                tell(session, "delete", at, key=key)
            else:
                state[key] = values
                tell(session, "put", at, key=key, value=values)
            at += 2
        tell(session, "commit", end - 1)
    lines.sort(key=lambda line: line[0])
    path.write_text("\n".join(text for _, text in lines) + "\n")


LEVELS = ("ser", "sser", "si", "strong-si", "prefix", "strong-session-ser", "strong-session-si")


@pytest.mark.parametrize("level", LEVELS)
def test_who_came_last_is_told_long_after(level: str, tmp_path: Path) -> None:
    """Windows of some forty transactions of which two or three are kept, and reads three hundred later."""
    asked, path = find_level(level), tmp_path / "trace.jsonl"
    seen = Counter[str]()
    for seed in range(examples(12)):
        draw = random.Random(seed)
        cold_keys(path, draw, many=700, cold=300)
        trace = read_trace(path)
        found, _, forward, taken = goes_by(
            path, asked, size=draw.choice((8_000, 12_000)), tail=20, kept=draw.choice((2, 3))
        )
        assert found in ("valid", "stuck") and forward is not None
        seen[found] += 1
        if found == "valid":
            assert check(trace, asked, window=0).valid
            replay(trace, whole_witness(trace, asked, taken))
            verify_in_lines(path, asked, taken, forward.counted.operations)
            seen["told"] += forward.counted.swaps
    assert seen["told"] > 3 * seen["valid"] > 0
    # Now and then a window has to end between two writers: more often where its order is not that of time.
    if level != "strong-session-ser":
        assert seen["stuck"] <= seen["valid"] // 10


@pytest.mark.parametrize("level", LEVELS)
def test_what_was_overwritten_long_ago_is_told_apart(level: str, tmp_path: Path) -> None:
    """The last few read what was there before the last write, which nobody may: unless both writers overlapped, and
    nobody else has read the key. Where time does not count, one may have come long after it had ended, and that takes
    all of the trace to see."""
    asked, path = find_level(level), tmp_path / "trace.jsonl"
    seen = Counter[tuple[str, str]]()
    for seed in range(examples(12)):
        draw = random.Random(1000 + seed)
        cold_keys(path, draw, many=400, cold=200, planted=True)
        expected = check(trace := read_trace(path), asked, window=0).status
        found, _, forward, taken = goes_by(path, asked, size=8_000, tail=20, kept=2)
        assert found in (expected, "stuck") and forward is not None
        seen[found, expected] += 1
        if found == "valid":
            replay(trace, whole_witness(trace, asked, taken))
            verify_in_lines(path, asked, taken, forward.counted.operations)
    if asked.has(Dependency.RT):
        assert seen["invalid", "invalid"] and not seen["stuck", "invalid"]


@pytest.mark.parametrize("level", ["ser", "prefix", "sser", "strong-si"])
def test_a_pair_stands_one_way_for_all_keys(
    level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two overlap, and both write x and y (and some write only one of them). Long after, one reads x, and another y;
    in between somebody may write x again, while whoever reads it is under way. No order leaves what the one wrote in x,
    and what the other wrote in y."""
    asked, path = find_level(level), tmp_path / "trace.jsonl"
    seen = Counter[tuple[str, str]]()
    for seed in range(examples(120)):
        draw = random.Random(seed)
        lines: list[str] = []

        def say(session: str, op: str, lines: list[str] = lines, **more: object) -> None:
            at = 10 * len(lines)
            lines.append(json.dumps({"session": session, "op": op, "invoke": at, "return": at + 5, **more}))

        def others(many: int, say: Any = say, draw: random.Random = draw) -> None:
            for n in range(many):
                say("other", "begin")
                say("other", "put", key=f"z{draw.randrange(5)}", value=n)
                say("other", "commit")

        others(draw.randrange(8))
        pair = {s: [k for k in "xy" if draw.random() < 0.9] for s in "abc"[: draw.choice((2, 2, 3))]}
        for op in ("begin", "put", "commit"):
            for s in draw.sample(sorted(pair), len(pair)):
                for key in pair[s] if op == "put" else [""]:
                    say(s, op, **({"key": key, "value": s} if op == "put" else {}))
        others(draw.choice((2, 6, 12, 60)))
        again = draw.random() < 0.5
        say("r", "begin")
        if again:
            say("d", "begin")
            say("d", "put", key="x", value="d")
            say("d", "commit")
        others(draw.randrange(6))
        for key in draw.sample("xy", 2):
            if wrote := [s for s in pair if key in pair[s]]:
                reader = "r" if key == "x" else "q"
                if reader == "q":
                    say("q", "begin")
                say(reader, "get", key=key, value=draw.choice(wrote))
                say(reader, "commit")
                if reader == "r":
                    say("r", "begin")
                others(draw.choice((0, 2, 60)))
        others(20)
        path.write_text("\n".join(lines) + "\n")
        expected = check(trace := read_trace(path), asked, window=0).status
        monkeypatch.setattr(swaps_module, "LONGEST", draw.choice((1_000, 1_000, 12)))
        size, kept = draw.choice((800, 1_500, 3_000)), draw.choice((2, 4, 8))
        found, _, forward, taken = goes_by(path, asked, size=size, tail=draw.choice((0, 2, 4)), kept=kept)
        assert found in (expected, "stuck") and forward is not None, seed
        seen[found, expected] += 1
        if found == "valid":
            replay(trace, whole_witness(trace, asked, taken))
            verify_in_lines(path, asked, taken, forward.counted.operations)
    assert seen["valid", "valid"]
    if asked.has(Dependency.RT):
        assert seen["invalid", "invalid"] and not seen["stuck", "invalid"]


SEEN_IN_BETWEEN = """
30 f begin
50 f commit
60 t1 begin
70 r0 begin
80 t2 begin
90 t0 begin
100 t3 begin
120 t1 put x t1
150 t2 put x t2
160 t3 put x t3
170 t3 put y t3
180 r0 get x t2
190 r0 get y t0
200 t0 put x t0
210 t0 put y t0
220 t0 commit
230 t1 commit
250 t2 commit
260 t3 commit
270 r0 commit
640 qx begin
650 qx get x t2
660 qx commit
1270 qy begin
1280 qy get y t3
1290 qy commit
"""


def test_who_was_read_in_between_is_not_open_any_more(tmp_path: Path) -> None:
    """qx says that t2 was the last of x, so t0 becomes the last of y, too. But r0 has read what t0 wrote in y: when qy
    says that t3 was the last of y, that is too late."""
    path, level = tmp_path / "trace.jsonl", find_level("strong-si")
    with path.open("w") as file:
        for line in SEEN_IN_BETWEEN.split("\n")[1:-1]:
            at, session, op, *more = line.split()
            told = {"session": session, "op": op, "invoke": int(at), "return": int(at) + 5}
            print(json.dumps({**told, **dict(zip(("key", "value"), more, strict=False))}), file=file)
    assert check(read_trace(path), level, window=0).status == "invalid"
    for size in (500, 800, 1_500):
        for kept in (1, 2, 4):
            found, *_ = goes_by(path, level, size=size, tail=0, kept=kept)
            assert found in ("invalid", "stuck"), (size, kept)


def test_half_is_given_up_where_memory_is_short(tmp_path: Path) -> None:
    path, draw = tmp_path / "trace.jsonl", random.Random(5)
    cold_keys(path, draw, many=300, cold=1_000)  # nobody reads
    open_keys_left = []
    for pressed in (False, True):
        with ExitStack() as stack:
            forward = Forward(
                Blocks(small_pieces(path, stack), smallest=3_000),
                find_level("ser"),
                mend=lambda first, source: None,
                size=3_000,
                tail=5,
                kept=2,
                pressed=lambda pressed=pressed: pressed,  # type: ignore[misc]
            )
            assert forward.run() is None
        open_keys_left.append(forward.counted.open)
    assert open_keys_left[1] < open_keys_left[0] // 2


@pytest.mark.parametrize("points", [1, 2])
def test_a_piece_with_a_hole_is_not_put_in_another_order(points: int) -> None:
    """Of a transaction that lasted long only the surroundings are kept, if any: who stood in between is not known."""
    txns = np.arange(4)
    for far in (0, 500):
        at = np.arange(4 * points) + np.where(np.arange(4 * points) < 2 * points, 0, far)
        here = Around(
            points=points,
            order=np.arange(4 * points),
            at=at,
            txn=txns,
            place=txns,
            read_start=np.zeros(5, np.int64),
            read_key=np.zeros(0, np.int32),
            write_start=np.arange(5),
            write_key=np.array([0, 1, 2, 0], np.int32),
            matters=np.ones(4, np.uint8),
            session=np.full(4, -1, np.int32),
            begin=np.zeros(4, np.int64),
            end=np.zeros(4, np.int64),
            listed=np.zeros(4, bool),
        )
        found = with_last(
            here, find_level("ser" if points == 1 else "si"), Open(0, 3, b"3", ((b"0", 0),)), 0, lambda *_: ()
        )
        assert (found is None) == (far > 0)


def test_what_may_be_decided_otherwise_overwrites_nothing() -> None:
    """A window that may still be joined can be decided otherwise: then somebody may have read the key before."""
    here = Around(
        points=1,
        order=np.array([0, 1]),
        at=np.array([0, 1]),
        txn=np.array([0, 1]),
        place=np.array([100, 200]),
        read_start=np.zeros(3, np.int64),
        read_key=np.zeros(0, np.int32),
        write_start=np.array([0, 1, 2]),
        write_key=np.zeros(2, np.int32),
        matters=np.ones(2, np.uint8),
        session=np.full(2, -1, np.int32),
        begin=np.zeros(2, np.int64),
        end=np.zeros(2, np.int64),
        listed=np.zeros(2, bool),
    )
    live, key = LiveKeys(Initial.EMPTY), b"k"
    piece = Piece(here, {key: Open(0, 1, b"2", ((b"1", 0),))}, 0, 1)
    for held, final in ((Held(b"2", 200, 1), 99), (Held(b"3", 300, 50), 50)):
        live.set(key, held)
        assert not is_overwritten(live, key, piece, final)
    assert is_overwritten(live, key, piece, 51)
    # Who deleted it since may have been forgotten, as keys are that nobody has had for long.
    assert is_overwritten(LiveKeys(Initial.EMPTY), key, piece, 0)


def test_few_transactions_may_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is too much of it, what is open longest is given up: a read may be *unknown* then, no more."""
    path, level = tmp_path / "trace.jsonl", find_level("ser")
    draw = random.Random(1)
    cold_keys(path, draw, many=700, cold=300)
    kept: list[int] = []
    add = OpenKeys.add

    def watched(self: OpenKeys, *arguments: Any) -> None:
        add(self, *arguments)
        assert self.size == sum(
            piece.here.size for piece in {id(p): p for p in map(self.find, self.keys()) if p}.values()
        )
        kept.append(self.size)

    monkeypatch.setattr(OpenKeys, "add", watched)
    assert goes_by(path, level, size=8_000, tail=20, kept=2)[0] == "valid"
    assert max(kept) < 700 * 13, "what is settled is dropped"
    monkeypatch.setattr(open_keys, "MOST", 800)
    kept.clear()
    assert goes_by(path, level, size=8_000, tail=20, kept=2)[0] == "stuck"
    assert max(kept) <= 800


def test_a_certificate_takes_points_in_another_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Across its lines, which have the same bytes in another order: those that are longer, too."""
    monkeypatch.setattr(writer, "POINTS", 7)
    draw = random.Random(3)
    for points in (1, 2):
        place = np.array([draw.randrange(10 ** draw.randrange(1, 6)) for _ in range(40)])
        file, commit = place % 3, place % 2 == 0
        with writer.Writer(tmp_path / "proof", "serializable", points, str) as proof:
            for part in (slice(0, 25), slice(25, 40)):
                proof.take(file[part], place[part], commit[part] if points == 2 else None)
            for _ in range(30):
                begin, end = (0, 25) if draw.random() < 0.5 else (25, 40)
                low = draw.randrange(begin, end - 1)
                source = np.array(draw.sample(range(count := draw.randrange(2, end - low + 1)), count))
                proof.rearrange(low, source)
                for column in (place, file, commit):
                    column[low : low + count] = column[low : low + count][source]
            proof.finish(1)
        told = [json.loads(line) for line in (tmp_path / "proof").read_text().splitlines()]
        found = [line for line in told if "order" in line]
        assert [x for line in found for x in line["order"]] == place.tolist()
        assert [x for line in found for x in line["file"]] == file.tolist()
        if points == 2:
            assert "".join(line["points"] for line in found) == "".join(np.where(commit, "c", "b"))
