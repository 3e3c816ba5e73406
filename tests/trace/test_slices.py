"""However the input is cut, by however many threads it is read, and whether lines are predicted or not: the columns are
the same, and so are the warnings and the errors, with their files and lines."""

from __future__ import annotations

import json
import random
import tempfile
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz.damaged_files import HAND_MADE, TOKENS, Input, damaged_input
from support.effort import examples
from support.strategies import DEFAULT, Mix, generate

from boomslang.trace import Trace, TraceBuilder, TraceError, read_trace, write_trace
from boomslang.trace._reader import Ahead, Reader
from boomslang.trace.close_times import CloseTimes
from boomslang.trace.reader import Limits, finish
from boomslang.trace.scalars import Scalars

PLAIN = {"jobs": 1, "block": 1 << 18, "shapes": False}
"""One thread, and every line through the tokenizer."""
WAYS = (
    {"jobs": 1, "block": 1 << 18, "shapes": True},
    {"jobs": 1, "block": 1, "shapes": True},
    {"jobs": 1, "block": 70, "shapes": True},
    {"jobs": 2, "block": 1 << 18, "shapes": True},
    {"jobs": 3, "block": 1, "shapes": True},
    {"jobs": 3, "block": 90, "shapes": True},
    {"jobs": 4, "block": 300, "shapes": False},
    {"jobs": 1, "block": 40, "shapes": True, "borrowed": True},
    {"jobs": 3, "block": 100, "shapes": True, "borrowed": True},
    {"jobs": 1, "block": 1 << 18, "shapes": True, "ahead": 1 << 18},
    {"jobs": 2, "block": 100, "shapes": True, "ahead": 1},
    {"jobs": 1, "block": 50, "shapes": True, "ahead": 90},
)


def told(trace: Trace) -> dict[str, Any]:
    """All that is in a trace, byte by byte."""
    found: dict[str, Any] = {}
    for field in fields(trace):
        held = getattr(trace, field.name)
        parts = (held.type, held.offset, held.data) if isinstance(held, Scalars) else (held,)
        parts = (held.base, held.after) if isinstance(held, CloseTimes) else parts
        found[field.name] = [(p.dtype, p.tobytes()) if isinstance(p, np.ndarray) else p for p in parts]
    return found


def outcome(
    files: Input, jobs: int, block: int, shapes: bool, *, borrowed: bool = False, ahead: int = 0
) -> object:
    """What reading these files gives: a trace, or an error. `borrowed`: not from files, but in two parts that are in
    memory. `ahead`: parsed before, in blocks of about so many bytes; half of it was asked for once before."""
    reader = Reader(jobs, block, shapes)
    parser, early = Ahead(ahead), Reader(jobs, block, shapes)
    kept: list[Any] = []
    try:
        for name, data in files.items():
            reader.begin_file(name, name.removesuffix(".jsonl") if len(files) > 1 else None)
            if borrowed:
                middle = data.rfind(b"\n", 0, len(data) // 2) + 1
                kept += [data[:middle], data[middle:]]
                reader.borrow(kept[-2])
                reader.borrow(kept[-1])
                reader.end_file()
                continue
            if ahead:
                middle = data.rfind(b"\n", 0, len(data) // 2) + 1
                kept += [parser.parse(data[:middle]), parser.parse(data[middle:])]
                lines = [part.text.count(b"\n") for part in kept[-2:]]
                assert all(part.lines in (-1, n) for part, n in zip(kept[-2:], lines, strict=True))
                with suppress(TraceError):
                    early.begin_file(name, None)
                    early.take(kept[-2])
                    early.end_file()
                reader.take(kept[-2])
                reader.take(kept[-1])
                reader.end_file()
                continue
            with tempfile.TemporaryFile(buffering=0) as file:
                file.write(data)
                file.seek(0)
                while reader.read(file.fileno()):
                    pass
            reader.end_file()
        reader.settle()
        return told(finish(reader, Limits())), reader.files()
    except TraceError as error:
        return error.message, error.file, error.line


def same_in_every_way(files: Input, ways: Any = WAYS) -> object:
    expected = outcome(files, **PLAIN)
    for way in ways:
        assert outcome(files, **way) == expected, way
    return expected


def random_files(rng: random.Random) -> Input:
    mix = rng.choice(
        (DEFAULT, Mix(ranges=False, lists=0.7, initial=("empty",)), Mix(errors=False, times=("all",)))
    )
    trace = generate(rng, mix)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / ("trace.jsonl" if len(trace.clocks) < 2 and rng.random() < 0.6 else "folder")
        write_trace(trace, path)
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        made = {file.name: file.read_bytes() for file in files}
    if rng.random() < 0.5:  # as our recorder writes: no spaces
        made = {
            name: b"".join(
                json.dumps(json.loads(line), separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
                for line in data.splitlines()
            )
            for name, data in made.items()
        }
    return made


@pytest.mark.parametrize("seed", range(examples(200)))
def test_random_traces(seed: int) -> None:
    expected = same_in_every_way(random_files(random.Random(seed)))
    assert isinstance(expected, tuple) and isinstance(expected[0], dict)


def damaged_trace(seed: int) -> object:
    rng = random.Random(seed)
    good: Input = random_files(rng)
    if rng.random() < 0.3:
        made = rng.choice(HAND_MADE["jsonl"])
        good = made if isinstance(made, dict) else {"history": made}
    return same_in_every_way(damaged_input(good, TOKENS["jsonl"], rng), rng.sample(WAYS, 3))


def test_damaged_traces() -> None:
    found = [damaged_trace(seed) for seed in range(examples(1500))]
    refused = [f for f in found if isinstance(f, tuple) and isinstance(f[0], str)]
    assert len(refused) > len(found) / 4 and len(refused) < len(found)
    assert len({f[2] for f in refused}) > 10


SCALARS = [
    *(
        "0",
        "7",
        "-7",
        "12345678",
        "123456789",
        "123456789012345678",
        "1234567890123456789",
        "-12345678901234567",
    ),
    *(
        "-123456789012345678",
        "-0",
        "00",
        "01",
        "-01",
        "-",
        "+1",
        "1.",
        "1.5",
        "1e3",
        "1E",
        "12a",
        "1 ",
        " 1",
        "\t2",
    ),
    *(
        '""',
        '"a"',
        '"a longer text than eight"',
        '"\\""',
        '"\\n"',
        '"é"',
        '"\x01"',
        '"a',
        "a",
        "'a'",
        '"\\ud800"',
    ),
    *(
        "true",
        "false",
        "null",
        "tru",
        '{"bytes": "00ff"}',
        '{"bytes": "0"}',
        "{}",
        "[]",
        "[1]",
        "",
        "\x00",
        '"\x7f"',
    ),
    *("9223372036854775807", "-9223372036854775808", "9" * 40, "123456789\r", "1\r"),
]
"""What may stand where a number or a string stood, right and wrong."""


@pytest.mark.parametrize("space", ["", " "])
@pytest.mark.parametrize("field", ["session", "txn", "key", "value", "invoke", "return"])
def test_a_line_of_a_known_shape_with_anything_in_its_places(field: str, space: str) -> None:
    def line(op: str, **other: str) -> str:
        held = {
            "session": '"s"',
            "txn": "1",
            "op": f'"{op}"',
            "key": "5",
            "value": "6",
            "invoke": "10",
            "return": "20",
        }
        held |= other
        if op in ("begin", "commit"):
            del held["key"], held["value"]
        return "{" + f",{space}".join(f'"{name}":{space}{text}' for name, text in held.items()) + "}\n"

    start = line("begin") + line("put") + line("get")
    for text in SCALARS:
        for end in ("", line("put"), line("commit", invoke="5"), line("commit")):
            for before in ("", line("begin", txn=text) if field == "txn" else ""):
                data = (start + before + line("put", **{field: text}) + end).encode()
                same_in_every_way({"history": data}, (WAYS[0], WAYS[5]))


def test_shapes_that_begin_alike() -> None:
    lines = [
        '{"txn":1,"op":"begin"}',
        '{"txn":1,"op":"put","key":1,"value":2}',
        '{"txn":1,"op":"put","key":1,"value":2 }',
        '{"txn":1,"op":"put","key":1,"value": 2}',
        '{"txn":1,"op":"get","key":1,"absent":true}',
        '{"txn":1,"op":"get","key":1,"absent":false}',
        '{"txn":1,"op":"get","key":1}',
        '{"txn":1,"op":"delete","key":1,"found":true}',
        '{"txn":1,"op":"delete","key":1,"found":false}',
        '{"txn":1,"op":"delete","key":1}',
        '{"txn":1,"op":"put","key":1,"value":2,"key":3}',
        '{"txn":1,"op":"put","key":1,"value":2}}',
        '{"txn":1,"op":"put","key":1,"value":2',
        '{"txn":1,"op":"put","key":1,"value":2}   ',
        '{"txn":1,"op":"append","key":9,"value":2}',
        '{"txn":1,"op":"append","key":9,"value":2,"invoke":3,"return":2}',
        '{"value":2,"key":1,"op":"put","txn":1}',
        f'{{"txn":1,{" " * 60}"op":"put","key":1,"value":2}}',
        "",
        "  ",
    ]
    rng = random.Random(5)
    for _ in range(examples(1000)):
        chosen = [lines[0], *rng.choices(lines, k=rng.randint(1, 12))]
        same_in_every_way({"history": "\n".join(chosen).encode()}, (WAYS[0], WAYS[2], WAYS[5]))


def test_more_shapes_than_are_remembered() -> None:
    lines = ['{"txn":1,"op":"begin"}']
    for a in range(12):
        for b in range(12):
            lines.append(f'{{"txn":{" " * a}1,"op":"put","key":{" " * b}{a},"value":{b}}}')
    data = ("\n".join(lines * 1) + "\n" + "\n".join(lines[1:]) + "\n").encode()
    expected = same_in_every_way({"history": data})
    assert isinstance(expected, tuple) and isinstance(expected[0], dict)


def test_more_sessions_than_are_remembered() -> None:
    b = TraceBuilder()
    for n in range(3000):
        t = b.transaction(f"s{n % 1500}", name=n)
        t.put(n % 7, n)
        t.commit()
    data = (b._header + "".join(b._lines)).encode()
    expected = same_in_every_way({"history": data}, (WAYS[0], WAYS[3]))
    assert isinstance(expected, tuple) and isinstance(expected[0], dict)


# --- several files


def folder_of(tmp_path: Path, **files: bytes) -> Path:
    for name, data in files.items():
        (tmp_path / f"{name}.jsonl").write_bytes(data)
    return tmp_path


GOOD = b'{"op":"begin"}\n{"op":"put","key":1,"value":2}\n{"op":"commit"}\n'


def test_the_first_mistake_is_told_whoever_finds_one_first(tmp_path: Path) -> None:
    mistake = GOOD + b'{"op":"put","key":1,"value":2}\n'
    folder = folder_of(tmp_path, a=GOOD, b=mistake, c=b"PK\x03\x04zip", d=GOOD)
    for jobs in (1, 2, 8):
        with pytest.raises(TraceError, match=r"b\.jsonl:4: .*after the end"):
            read_trace(folder, jobs=jobs)
    (tmp_path / "b.jsonl").write_bytes(GOOD)
    for jobs in (1, 2, 8):
        with pytest.raises(TraceError, match=r"c\.jsonl: .*a zip archive"):
            read_trace(folder, jobs=jobs)


def test_torn_and_empty_files_are_told_in_their_order(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, a=GOOD + b'{"op":', b=b"", c=GOOD, d=GOOD + b'{"op":"beg', e=b"\n")
    traces = [read_trace(folder, jobs=jobs) for jobs in (1, 2, 8)]
    for trace in traces:
        assert told(trace) == told(traces[0])
    assert [warning.partition(": ")[0].rpartition("/")[2] for warning in traces[0].warnings] == [
        *("a.jsonl:4", "d.jsonl:4", "b.jsonl", "e.jsonl")
    ]


def test_packed_files_and_pipes_with_several_jobs(tmp_path: Path) -> None:
    import gzip

    data = random_files(random.Random(3))
    for name, content in data.items():
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content))
    one, many = (read_trace(tmp_path, jobs=jobs) for jobs in (1, 3))
    assert told(one) == told(many)


def test_a_line_that_is_too_long_is_told_after_what_is_before_it(tmp_path: Path) -> None:
    long = b'{"txn":1,"op":"put","key":1,"value":"' + b"x" * (65 << 20) + b'"}'
    path = tmp_path / "t.jsonl"
    for jobs in (1, 2):
        path.write_bytes(GOOD.replace(b'"op"', b'"txn":1,"op"') + long)
        with pytest.raises(TraceError, match=r"t\.jsonl:4: found a line longer"):
            read_trace(path, jobs=jobs)
        path.write_bytes(b'{"op":"begin"}\n' + long)
        with pytest.raises(TraceError, match=r"t\.jsonl:1: found no field txn"):
            read_trace(path, jobs=jobs)


def test_again_and_again() -> None:
    """Threads that disturb each other do so only sometimes."""
    b = TraceBuilder()
    rng = random.Random(1)
    for n in range(400):
        with b.transaction(f"s{n % 5}", name=n, begin=n) as t:
            t.put(rng.randrange(50), n, invoke=n, return_=n)
            t.get(f"k{rng.randrange(50)}", n - 1)
            t.scan(0, 9, [(1, n)])
    data = (b._header + "".join(b._lines)).encode()
    expected = outcome({"history": data}, **PLAIN)
    for _ in range(examples(200)):
        assert (
            outcome({"history": data}, rng.choice((2, 3, 8)), rng.choice((64, 500, 5000)), True) == expected
        )
