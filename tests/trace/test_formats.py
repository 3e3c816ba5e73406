"""Which format is it? By content, by name, and what is said of a file that is none of them."""

from __future__ import annotations

import gzip
import os
import struct
import threading
from pathlib import Path
from typing import Any

import pytest

from boomslang.cli import exit_codes
from boomslang.cli.main import main
from boomslang.errors import UsageError
from boomslang.trace import TraceBuilder, TraceError, read_trace, write_trace
from boomslang.trace.formats import FORMATS, find, recognise

BINCODE = (
    struct.pack("<5QQQQQ", 0, 1, 1, 1, 1, 0, 0, 0, 1)
    + struct.pack("<QQ", 1, 1)
    + struct.pack("<BQQB", 1, 1, 5, 1)
    + b"\1"
)
FILES = {
    "jsonl": b'\n{"session":"a","txn":1,"op":"begin"}\n{"session":"a","op":"commit"}\n',
    "dbcop-bincode": BINCODE,
    "dbcop-json": b'[[{"events": [{"Write": {"variable": 1, "version": 1}}], "committed": true}]]',
    "jepsen-edn": b"{:index 0, :type :invoke, :process 0, :f :txn, :value [[:w 1 2]]}\n",
    "jepsen-json": b'[{"index": 0, "type": "invoke", "process": 0, "f": "txn", "value": [["w", 1, 2]]}]\n',
    "timekiller": b'[{"tid": 1, "sid": 1, "sts": {"p": 1, "l": 0}, "cts": {"p": 2, "l": 0}, '
    b'"ops": [{"t": "w", "k": 1, "v": 2}]}]',
    "dbcop-hist": b"// a history\n\n[x:=1]\n",
    "text": b"\nw(1,2,3,4)\n",
    "awdit": b"=====\nw 1 2\n",
}
FOLDERS = {
    "jsonl": {"a.jsonl": b'{"op":"begin"}\n', "T1.log": b"S"},
    "cobra": {"T1.log": b"S" + bytes(8) + b"C" + bytes(8), "T2.log": b"", "notes.txt": b"?"},
    "viper": {"J1.log": b'\n{"value": [["w", 1, 1, true]]}\n', "J2.log": b""},
}


def folder_of(files: dict[str, bytes], folder: Path) -> Path:
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", FILES)
def test_a_file_is_recognised_whatever_it_is_called(name: str, packed: bool, tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_bytes(gzip.compress(FILES[name]) if packed else FILES[name])
    assert recognise(path).name == name
    assert len(read_trace(path)) == 1 and len(read_trace(path, format=name)) == 1


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_is_recognised(name: str, tmp_path: Path) -> None:
    path = folder_of(FOLDERS[name], tmp_path / "history")
    assert recognise(path).name == name and len(read_trace(path)) == 1


def test_no_two_formats_claim_the_same_input(tmp_path: Path) -> None:
    from boomslang.trace.formats import Sample

    for n, content in enumerate(FILES.values()):
        path = tmp_path / str(n)
        path.write_bytes(content)
        assert sum(format.recognise(Sample.of(path)) for format in FORMATS) == 1
    for name in ("cobra", "viper"):
        path = folder_of(FOLDERS[name], tmp_path / name)
        assert sum(format.recognise(Sample.of(path)) for format in FORMATS) == 1


@pytest.mark.parametrize(
    ("content", "start"),
    [
        (b"Hello, world\n", "starts with 'Hello, world'"),
        (b"\n\n" + b"x" * 100, f"starts with '{'x' * 40}...'"),
        (b"\x00\x01\x02", "starts with the bytes 00 01 02"),
        (b"{}\n", "starts with '{}'"),
    ],
)
def test_a_file_that_is_none_of_them(content: bytes, start: str, tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_bytes(content)
    with pytest.raises(TraceError) as caught:
        read_trace(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: found a file of no known format, which {start}; expected one of ")
    for format in FORMATS:
        if format.sign and not format.folder:
            assert f"{format.name} ({format.sign})" in message
    assert "cobra" not in message and "--format" in message


def test_a_folder_that_is_none_of_them(tmp_path: Path) -> None:
    path = folder_of({"server.log": b"Started\n", "a": b"", "b": b"", "c": b""}, tmp_path / "history")
    with pytest.raises(TraceError) as caught:
        read_trace(path)
    message = str(caught.value)
    assert "found a folder without traces (a, b, c and 1 more); expected one of jsonl " in message
    assert "cobra (" in message and "viper (" in message and "text (" not in message


def test_logs_of_two_kinds_in_one_folder_are_neither(tmp_path: Path) -> None:
    both = {**FOLDERS["cobra"], **FOLDERS["viper"]}
    with pytest.raises(TraceError, match="a folder without traces"):
        read_trace(folder_of(both, tmp_path / "history"))


def test_our_own_format_keeps_its_errors(tmp_path: Path) -> None:
    """Where a file looks like ours, or is called like ours, or is empty."""
    path = tmp_path / "history"
    path.write_bytes(b'{"op": "begin"}\n')
    with pytest.raises(TraceError, match=":1: found no field txn"):
        read_trace(path)
    path.write_bytes(b'{"boomslang": 2}\n')
    with pytest.raises(TraceError, match=":1: found"):
        read_trace(path)
    for content in (b"", b"\n \n"):
        path.write_bytes(content)
        with pytest.raises(TraceError, match="found nothing in it"):
            read_trace(path)
    named = tmp_path / "history.jsonl"
    named.write_bytes(b"Hello\n")
    with pytest.raises(TraceError, match=":1: found 'H' at column 1"):
        read_trace(named)


def test_a_long_first_line_is_still_ours(tmp_path: Path) -> None:
    items = ", ".join(f"[{n}, {n}]" for n in range(20_000))
    path = tmp_path / "history"
    path.write_text(f'{{"boomslang": 1, "initial": {{"items": [{items}]}}}}\n{{"txn": 1, "op": "begin"}}\n')
    assert recognise(path).name == "jsonl" and len(read_trace(path).initial_key) == 20_000


def test_a_pipe_is_ours_unless_said_otherwise(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for name in ("jsonl", "text"):
        writer = threading.Thread(target=pipe.write_bytes, args=(FILES[name],))
        writer.start()
        assert len(read_trace(pipe, format=None if name == "jsonl" else name)) == 1
        writer.join()


def test_names() -> None:
    assert find(" Dbcop-Bincode ").name == "dbcop-bincode"
    assert find("dbcop-bincode-committed").write is None
    with pytest.raises(UsageError, match=r"unknown format 'edn'; known formats: jsonl, "):
        find("edn")
    names = [format.name for format in FORMATS]
    assert len(set(names)) == len(names) and names[0] == "jsonl"


@pytest.mark.parametrize("format", [f for f in FORMATS if f.name in (*FILES, *FOLDERS)], ids=lambda f: f.name)
def test_wrong_format(format: Any, tmp_path: Path) -> None:
    """Each format's reader over every other format's files: an error, in words."""
    inputs = [tmp_path / "nothing"]
    for name, content in FILES.items():
        if name != format.name:
            inputs.append(tmp_path / name)
            inputs[-1].write_bytes(content)
    for name, files in FOLDERS.items():
        if name != format.name:
            inputs.append(folder_of(files, tmp_path / f"{name}-folder"))
    for path in inputs:
        with pytest.raises(TraceError) as caught:
            read_trace(path, format=format.name)
        assert "; expected " in str(caught.value) and "; fix: " in str(caught.value)


def test_a_gzip_file_that_ends_early(tmp_path: Path) -> None:
    path = tmp_path / "history"
    packed = gzip.compress(FILES["text"])
    path.write_bytes(packed[:-4])
    with pytest.raises(TraceError, match="gzip data that ends early"):
        read_trace(path, format="text")
    path.write_bytes(packed[:-6] + bytes([packed[-6] ^ 1]) + packed[-5:])  # the checksum
    with pytest.raises(TraceError, match="damaged gzip data"):
        read_trace(path)


def test_limits_stop_every_format(tmp_path: Path) -> None:
    from boomslang.trace import LimitReached

    for name, content in FILES.items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(LimitReached):
            read_trace(path, deadline=0.0)
    for name in ("cobra", "viper"):
        with pytest.raises(LimitReached):
            read_trace(folder_of(FOLDERS[name], tmp_path / f"{name}-folder"), deadline=0.0)


def test_our_own_format_loses_nothing(tmp_path: Path) -> None:
    b = TraceBuilder("unknown", clock="c")
    with b.transaction(None, outcome="unknown", begin=1) as t:
        t.delete(b"\0", found=True)
    jsonl = find("jsonl")
    assert jsonl.losses(b.build()) == [] and jsonl.write is not None
    jsonl.write(b.build(), tmp_path / "ours.jsonl")
    write_trace(b.build(), tmp_path / "same.jsonl")
    assert (tmp_path / "ours.jsonl").read_bytes() == (tmp_path / "same.jsonl").read_bytes()


def test_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "history"
    path.write_bytes(FILES["text"])
    for words in (["check", str(path), "--level", "ser"], ["ir", str(path), "--level", "ser"]):
        assert main([*words]) == exit_codes.VALID
        assert main([*words, "--format", "text"]) == exit_codes.VALID
        assert main([*words, "--format", "awdit"]) == exit_codes.USAGE
        assert "expected a space" in capsys.readouterr().err
        assert main([*words, "--format", "nonsense"]) == exit_codes.USAGE
        assert "unknown format 'nonsense'; known formats: jsonl, " in capsys.readouterr().err
        assert main([*words, "--format", "cobra"]) == exit_codes.USAGE
        assert "found a file; expected Cobra's logs: a folder" in capsys.readouterr().err
    proof = str(tmp_path / "proof.json")
    assert main(["check", str(path), "--level", "ser", "--certificate", proof]) == exit_codes.VALID
    assert main(["verify", str(path), proof, "--format", "text"]) == exit_codes.VALID
    assert main(["verify", str(path), proof, "--format", "awdit"]) == exit_codes.USAGE
