"""What a trace will take in memory, told before it is loaded."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from boomslang.trace import TraceError, read_trace
from boomslang.trace.formats import find
from boomslang.trace.reader import resident_mb
from boomslang.trace.size import estimated_megabytes, larger_than

MEASURE = """
import sys
from boomslang.trace import read_trace
from boomslang.trace.reader import resident_mb
from pathlib import Path
read_trace(sys.argv[2], jobs=1)
before = resident_mb()
trace = read_trace(sys.argv[1], jobs=1)
status = Path("/proc/self/status").read_text()  # getrusage would tell the peak of whoever started this process
print(int(status.partition("VmHWM:")[2].split()[0]) / 1024 - before)
"""


def history(transactions: int, first: int = 1) -> bytes:
    lines = []
    for n in range(first, first + transactions):
        lines.append(f'{{"session":"s{n % 20}","txn":{n},"op":"begin","invoke":{10 * n}}}\n')
        for i in range(8):
            op = "put" if i % 2 else "get"
            value = 8 * n + i if i % 2 else max(1, 8 * n + i - 801)
            lines.append(
                f'{{"session":"s{n % 20}","txn":{n},"op":"{op}","key":{(n * 7 + i) % 1000},"value":{value},'
                f'"invoke":{10 * n + i},"return":{10 * n + i}}}\n'
            )
        lines.append(f'{{"session":"s{n % 20}","txn":{n},"op":"commit","return":{10 * n + 9}}}\n')
    return "".join(lines).encode()


@pytest.fixture(scope="module")
def data() -> bytes:
    return history(60_000)


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the system does not tell a process's peak"
)
def test_it_is_near_what_reading_takes(data: bytes, tmp_path: Path) -> None:
    path, short = tmp_path / "t.jsonl", tmp_path / "short.jsonl"
    path.write_bytes(data)
    short.write_bytes(history(10))
    measured = float(
        subprocess.run(
            [sys.executable, "-c", MEASURE, str(path), str(short)], capture_output=True, text=True, check=True
        ).stdout
    )
    assert 0.8 * measured < estimated_megabytes(path) < 2 * measured


def test_packed_it_is_the_same(data: bytes, tmp_path: Path) -> None:
    path, packed = tmp_path / "t.jsonl", tmp_path / "t.jsonl.gz"
    path.write_bytes(data)
    packed.write_bytes(gzip.compress(data, 1))
    plain = estimated_megabytes(path)
    assert 0.7 * plain < estimated_megabytes(packed) < 1.4 * plain


def test_a_folder_is_the_sum_of_its_files(tmp_path: Path) -> None:
    for n in range(20):
        (tmp_path / f"s{n}.jsonl").write_bytes(history(100, 1 + 100 * n))
    (tmp_path / "notes.txt").write_bytes(b"x" * 10_000_000)
    one = tmp_path / "one"
    one.mkdir()
    (one / "all.jsonl").write_bytes(history(2000))
    assert 0.6 * estimated_megabytes(one) < estimated_megabytes(tmp_path) < 1.7 * estimated_megabytes(one)


def test_damaged_and_empty_files_are_estimated_too(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"")
    assert estimated_megabytes(path) == 0
    path.write_bytes(b'{"op": "begin"}\n' * 100_000)
    assert 0.5 < estimated_megabytes(path) < 5
    path.write_bytes(gzip.compress(history(5000))[:-1000])
    assert estimated_megabytes(path) > 0.5
    with pytest.raises(TraceError, match="no such file"):
        estimated_megabytes(tmp_path / "nothing.jsonl")


def test_other_formats_by_their_length(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes(b"w(1,1,0,0)\n" * 1000)
    assert estimated_megabytes(path, format="text") == pytest.approx(0.021, rel=0.1)


def test_a_trace_that_does_not_fit_is_told_before_it_is_loaded(data: bytes, tmp_path: Path) -> None:
    plain, packed = tmp_path / "t.jsonl", tmp_path / "t.jsonl.gz"
    plain.write_bytes(data)
    packed.write_bytes(gzip.compress(data, 1))
    for path in (plain, packed):
        found = larger_than(resident_mb() + 5, path)
        assert found is not None and found.estimated > 16
        assert f"--memory {found.advised}" in found.reason and "estimated from its beginning" in found.reason
        assert found.advised > resident_mb() + found.estimated
        assert larger_than(resident_mb() + 2 * found.estimated, path) is None
        assert larger_than(None, path) is None


def test_what_cannot_be_known_before_is_not_told(tmp_path: Path) -> None:
    small = tmp_path / "t.jsonl"
    small.write_bytes(history(10))
    for path in (small, tmp_path / "nothing", "-", "s3://bucket/key.jsonl"):
        assert larger_than(1, path) is None


def test_parquet_says_how_much_it_holds(data: bytes, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    plain, parquet = tmp_path / "t.jsonl", tmp_path / "t.parquet"
    plain.write_bytes(data)
    write = find("parquet").write
    assert write is not None
    write(read_trace(plain), parquet)
    assert 0.5 * estimated_megabytes(plain) < estimated_megabytes(parquet) < 4 * estimated_megabytes(plain)
    parquet.write_bytes(parquet.read_bytes()[:-1])
    assert estimated_megabytes(parquet, format="parquet") > 0
