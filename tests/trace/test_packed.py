"""Inputs as they come: packed in every way, with a mark before the text, from a pipe, or something else altogether."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from test_formats import FILES

from boomslang.trace import TraceBuilder, TraceError, read_trace, write_trace
from boomslang.trace.formats import find

try:
    import zstandard
except ImportError:
    zstandard = None  # type: ignore[assignment]

LINES = b'{"txn":1,"op":"begin"}\n{"txn":1,"op":"put","key":1,"value":"\xc3\xa9"}\n{"txn":1,"op":"commit"}\n'
PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
    "Zstandard": lambda data: zstandard.ZstdCompressor().compress(data),
}
SUFFIX = {"gzip": ".gz", "xz": ".xz", "bzip2": ".bz2", "Zstandard": ".zst"}
MARK = b"\xef\xbb\xbf"


@pytest.fixture(params=PACK)
def packing(request: pytest.FixtureRequest) -> str:
    if request.param == "Zstandard" and zstandard is None:
        pytest.skip("zstandard is not installed")
    return str(request.param)


def many(rows: int = 20_000) -> bytes:
    lines = "".join(f'{{"txn":1,"op":"put","key":{i},"value":{i * i}}}\n' for i in range(rows))
    return b'{"txn":1,"op":"begin"}\n' + lines.encode()


def test_a_packed_trace_is_told_by_its_content(packing: str, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    pack = PACK[packing]
    path.write_bytes(pack(LINES))
    assert len(read_trace(path)) == 1
    path.write_bytes(pack(LINES[:30]) + pack(LINES[30:]))  # in two parts, as writers that append make it
    assert len(read_trace(path).op_kind) == 1
    path.write_bytes(pack(many()))
    assert len(read_trace(path).op_kind) == 20_000
    path.write_bytes(pack(b"0" * 2**24 + b"\n"))  # many from few, and no trace
    with pytest.raises(TraceError):
        read_trace(path, format="jsonl")


def test_a_packed_file_is_whole_or_no_trace(packing: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    packed = PACK[packing](many(2000))
    for cut in (12, len(packed) // 2, len(packed) - 1):
        path.write_bytes(packed[:cut])
        with pytest.raises(TraceError, match=f"{packing} data.*; expected a whole file; fix: copy"):
            read_trace(path)
    broken = bytearray(packed)
    broken[len(broken) // 2] ^= 0x55
    path.write_bytes(broken)
    with pytest.raises(TraceError, match=f"{packing} data|found"):
        read_trace(path)
    path.write_bytes(packed + b"garbage")
    with pytest.raises(TraceError, match=f"damaged {packing} data"):
        read_trace(path)


@pytest.mark.parametrize("name", FILES)
def test_every_format_may_be_packed_and_come_by_a_pipe(name: str, packing: str, tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_bytes(PACK[packing](FILES[name]))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    feeder = threading.Thread(target=lambda: pipe.write_bytes(path.read_bytes()))
    feeder.start()
    by_pipe = read_trace(pipe)
    feeder.join()
    again = read_trace(path)
    assert [str(t.operations) for t in again.transactions()] == [
        str(t.operations).replace(str(pipe), str(path)) for t in by_pipe.transactions()
    ]
    assert set(by_pipe.files) == {str(pipe)}


def test_a_folder_of_packed_sessions(tmp_path: Path) -> None:
    for name, pack in PACK.items():
        if name != "Zstandard" or zstandard is not None:
            (tmp_path / f"{name}.jsonl{SUFFIX[name]}").write_bytes(pack(LINES))
    assert set(read_trace(tmp_path).sessions) >= {"gzip", "xz", "bzip2"}


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2"])
def test_a_trace_is_written_as_its_name_says(suffix: str, tmp_path: Path) -> None:
    b = TraceBuilder()
    with b.transaction() as t:
        t.put("x", 1)
    path = tmp_path / f"t.jsonl{suffix}"
    write_trace(b.build(), path)
    assert not path.read_bytes().startswith(b"{")
    assert len(read_trace(path)) == 1
    with pytest.raises(ValueError, match="Zstandard is read and not written"):
        write_trace(b.build(), tmp_path / "t.jsonl.zst")


def test_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("zstandard", "compression"):
        monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / "t.jsonl.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd\x04\x00\x01\x00\x00\x00\x00\x00\x00")
    with pytest.raises(
        TraceError,
        match=r"t.jsonl.zst: found a file packed with Zstandard.*pip install 'boomslang-checker\[zstd\]'",
    ):
        read_trace(path)


def test_the_mark_before_a_text_is_skipped(packing: str, tmp_path: Path) -> None:
    for name, content in FILES.items():
        if name in ("arrow", "parquet", "dbcop-bincode"):
            continue
        path = tmp_path / name
        path.write_bytes(MARK + content)
        assert len(read_trace(path)), name
        path.write_bytes(PACK[packing](MARK + content))
        assert len(read_trace(path)), name


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["trace", "trace.jsonl"])
def test_text_in_16_bits_is_named(encoding: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(("\ufeff" + LINES.decode()).encode(encoding))
    for format in (None, "jsonl"):
        with pytest.raises(
            TraceError, match="found text in UTF-16; expected text in UTF-8; fix: save it as UTF-8"
        ):
            read_trace(path, format=format)


def test_archives_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(LINES)
    for mode, name in (("w", "t.tar"), ("w:gz", "t.tar.gz"), ("w:xz", "t.tar.xz")):
        with tarfile.open(tmp_path / name, mode) as archive:
            archive.add(tmp_path / "a.jsonl", "a.jsonl")
        with pytest.raises(
            TraceError, match=re.escape("found a tar archive; expected one history; fix: unpack it (tar")
        ):
            read_trace(tmp_path / name)
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as zipped:
        zipped.write(tmp_path / "a.jsonl")
    with pytest.raises(TraceError, match="found a zip archive"):
        read_trace(tmp_path / "t.zip")


@pytest.mark.parametrize("number", [0xFEFF, 0xFFFE, 0xBFBBEF, 35615, 67324752, 407708164])
def test_a_number_in_binary_is_no_mark(number: int, tmp_path: Path) -> None:
    """dbcop's binary histories begin with a number, which may look like a mark or a packing."""
    path = tmp_path / "history.bincode"
    path.write_bytes(number.to_bytes(8, "little") + FILES["dbcop-bincode"][8:])
    assert len(read_trace(path)) == len(read_trace(path, format="dbcop-bincode")) > 0


# --- standard input


def boomslang(*words: str, stdin: bytes | int | None = None) -> subprocess.CompletedProcess[bytes]:
    given = {"stdin": stdin} if isinstance(stdin, int) else {"input": stdin}
    return subprocess.run(
        [sys.executable, "-m", "boomslang", *words], capture_output=True, check=False, **given
    )  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize("name", ["jsonl", "jepsen-edn", "dbcop-bincode", "arrow"])
def test_standard_input(name: str, tmp_path: Path) -> None:
    content = LINES
    if name == "arrow":
        pytest.importorskip("pyarrow")
        b = TraceBuilder()
        with b.transaction() as t:
            t.put("x", 1)
        write = find("arrow").write
        assert write is not None
        write(b.build(), tmp_path / "t.arrow")
        content = (tmp_path / "t.arrow").read_bytes()
    elif name != "jsonl":
        content = FILES[name]
    proof = str(tmp_path / "proof.json")
    ran = boomslang("check", "-", "--level", "rc", "--certificate", proof, stdin=gzip.compress(content))
    assert ran.returncode in (0, 1, 2), ran.stderr
    assert ran.stdout.startswith(b"-: ")
    if ran.returncode == 0:
        assert boomslang("verify", "-", proof, stdin=content).returncode == 0
    for words in (
        ("stats", "-"),
        ("cat", "-"),
        ("explain", "-"),
        ("convert", "-", str(tmp_path / "o.jsonl")),
    ):
        assert boomslang(*words, stdin=content).returncode in (0, 1, 2), words
    if name != "arrow":
        assert b"standard input:" in boomslang("cat", "-", stdin=content).stdout


def test_errors_name_standard_input(tmp_path: Path) -> None:
    for content, message in (
        (b"", "standard input: found nothing in it"),
        (b"hello", "standard input: found a file of no known format"),
        (LINES + b"{}\n", "standard input:4: found"),
        (FILES["jepsen-edn"][:-9], "standard input:"),
    ):
        ran = boomslang("check", "-", "--level", "ser", stdin=content)
        assert ran.returncode == 254 and message in ran.stderr.decode(), ran.stderr
        assert b"/tmp" not in ran.stderr
    ran = boomslang("check", "-", "--level", "ser", "--format", "cobra", stdin=LINES)
    assert ran.returncode == 254 and b"standard input: found a pipe; expected Cobra" in ran.stderr
    file = tmp_path / "t.jsonl"
    file.write_bytes(LINES)
    with file.open("rb") as given:
        assert boomslang("check", "-", "--level", "ser", stdin=given.fileno()).returncode == 0
