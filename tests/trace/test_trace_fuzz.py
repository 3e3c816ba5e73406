"""Damaged input: always a trace or a TraceError, never a crash, and never an inconsistent trace."""

from __future__ import annotations

import gzip
import random
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from boomslang.trace import Trace, TraceBuilder, TraceError, read_trace, write_trace
from boomslang.trace._reader import Reader
from boomslang.trace.reader import Limits, finish


def sample() -> bytes:
    b = TraceBuilder(initial=[("x", 1), (b"\x00", None)])
    t, u = b.transaction("a", begin=1, end=50, ctx={"k": [1, {"z": "é"}]}), b.transaction(begin=3)
    t.put("schlüssel", 'q"\\\n😀', invoke=5, return_=6)
    u.get(-12, 3.25e-7)
    it = u.iterator("a", "zz")
    it.next("b", True)
    t.scan(1, 99, [(2, "a"), (1, None), (50, 10**30)])
    it.end()
    t.failed("delete", key="x", error="no such table")
    t.delete(b"\x01\x02", found=False)
    u.commit()
    t.abort()
    return (b._header + "".join(b._lines)).encode()


def parse(data: bytes, chunk: int) -> Trace:
    reader = Reader()
    reader.begin_file("fuzz", None)
    for at in range(0, len(data), chunk):
        reader.feed(data[at : at + chunk])
    reader.end_file()
    return finish(reader, Limits())


def check(trace: Trace) -> None:
    n, m = len(trace), len(trace.op_kind)
    assert trace.txn_ops[0] == 0 and trace.txn_ops[n] == m and (np.diff(trace.txn_ops) >= 0).all()
    assert (trace.op_key < len(trace.keys)).all() and (trace.op_value < len(trace.values)).all()
    assert sorted(trace.key_rank.tolist()) == list(range(len(trace.keys)))
    assert len(list(trace.transactions())) == n


def damage(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(out))
        match rng.randrange(5):
            case 0:
                out[at] ^= 1 << rng.randrange(8)
            case 1:
                del out[at : at + rng.randint(1, 20)]
            case 2:
                out[at:at] = out[rng.randrange(len(out)) :][: rng.randint(1, 30)]
            case 3:
                out[at] = rng.choice(b'{}[]",:\\\n-0123456789eE.tfn\xff\xc3\x00')
            case _:
                lines = bytes(out).split(b"\n")
                rng.shuffle(lines)
                out = bytearray(b"\n".join(lines))
        if not out:
            break
    return bytes(out)


@pytest.mark.parametrize("seed", range(8))
def test_damaged_text(seed: int) -> None:
    rng = random.Random(seed)
    data = sample()
    good = 0
    for _ in range(2500):
        try:
            check(parse(damage(data, rng), rng.choice([1, 7, 64, 10**6])))
            good += 1
        except TraceError as error:
            assert str(error).startswith("fuzz:") or not error.line
    assert good


def test_every_single_bit(tmp_path: Path) -> None:
    data = bytearray(sample())
    for at in range(len(data)):
        for bit in range(8):
            data[at] ^= 1 << bit
            with suppress(TraceError):
                check(parse(bytes(data), 10**6))
            data[at] ^= 1 << bit


def test_every_cut_is_a_trace_with_a_torn_end() -> None:
    data = sample()
    whole = parse(data, 10**6)
    for cut in range(len(data) + 1):
        trace = parse(data[:cut], 10**6)
        assert len(trace.op_kind) <= len(whole.op_kind)
        torn = cut > 0 and data[cut - 1 : cut] != b"\n" and data[cut : cut + 1] != b"\n"
        assert bool(trace.warnings) == torn


def test_how_the_input_is_cut_into_blocks_does_not_matter() -> None:
    data = sample()
    whole = parse(data, 10**6)
    for chunk in (1, 2, 3, 100):
        cut = parse(data, chunk)
        assert list(cut.transactions()) == list(whole.transactions())


def test_damaged_gzip(tmp_path: Path) -> None:
    rng = random.Random(1)
    path = tmp_path / "t.jsonl.gz"
    trace = parse(sample(), 10**6)
    write_trace(trace, path)
    packed = path.read_bytes()
    assert gzip.decompress(packed)
    for _ in range(500):
        path.write_bytes(damage(packed, rng))
        with suppress(TraceError):
            check(read_trace(path))
