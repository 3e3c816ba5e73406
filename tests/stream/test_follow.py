"""Files that grow: what is read of them, and what must not happen to them unnoticed."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from boomslang.stream.follow import GrowingFile, GrowingFiles
from boomslang.trace.errors import TraceError

LINE = b'{"op":"begin"}\n'


def growing(path: Path, data: bytes = b"") -> GrowingFile:
    path.write_bytes(data)
    return GrowingFile(path, "s", 0.0)


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_the_last_line_waits_until_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    file = growing(path, LINE + LINE[:5])
    assert file.read(100) == LINE and not file.done
    assert file.read(100) == b""
    append(path, LINE[5:] + LINE)
    assert file.read(100) == LINE + LINE


def test_a_line_longer_than_what_is_read_at_a_time(tmp_path: Path) -> None:
    long = b'{"op":"get","key":"' + b"k" * 1000 + b'"}\n'
    file = growing(tmp_path / "s.jsonl", long + LINE)
    assert file.read(10).startswith(long[:-1])


def test_what_the_recorder_takes_back_was_never_read(tmp_path: Path) -> None:
    """A full disk: the beginning of a line is truncated away, and the file goes on."""
    path = tmp_path / "s.jsonl"
    file = growing(path, LINE + b'{"op":"pu')
    assert file.read(100) == LINE
    os.truncate(path, len(LINE))
    file.look(1.0, 5.0)
    append(path, b'{"op":"commit"}\n')
    assert file.read(100) == b'{"op":"commit"}\n'


def test_at_the_end_the_torn_line_is_given_out(tmp_path: Path) -> None:
    file = growing(tmp_path / "s.jsonl", LINE + b'{"op":"pu')
    assert file.read(100) == LINE
    file.ended = True
    assert file.read(100) == b'{"op":"pu' and file.done


def test_a_file_that_became_shorter(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    file = growing(path, LINE + LINE)
    file.read(100)
    os.truncate(path, len(LINE))
    with pytest.raises(
        TraceError, match=r"s\.jsonl: found 15 bytes, after 30 had been read; expected a file that only grows"
    ):
        file.look(1.0, 5.0)


def test_a_file_that_was_replaced(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    file = growing(path, LINE)
    file.read(100)
    (tmp_path / "other").write_bytes(LINE + LINE)
    (tmp_path / "other").replace(path)
    with pytest.raises(TraceError, match="found another file in the place of the one that was read so far"):
        file.read(100)


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    file = growing(path, LINE)
    file.read(100)
    path.unlink()
    with pytest.raises(TraceError, match="found that the file is gone"):
        file.look(1.0, 5.0)


def test_idle_and_back(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    file = growing(path, LINE)
    file.look(0.0, 5.0)
    file.look(10.0, 5.0)
    assert not file.idle, "something is there to read"
    file.read(100)
    file.look(11.0, 5.0)
    assert file.idle
    append(path, LINE)
    file.look(12.0, 5.0)
    assert not file.idle and file.unread == len(LINE)


def test_the_file_with_the_initial_state_is_done_after_its_line(tmp_path: Path) -> None:
    path = tmp_path / "initial.jsonl"
    file = growing(path, b'{"boomslang":1,')
    assert file.read(100) == b"" and not file.done
    append(path, b'"initial":"empty"}\n')
    assert file.read(100) and file.done


def test_files_that_come_later_and_packed_ones(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(LINE)
    files = GrowingFiles(tmp_path)
    assert [source.session for source in files.sources] == ["a"]
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(LINE))
    (tmp_path / "run.json").write_text("{}")
    files.look()
    assert [source.session for source in files.sources] == ["a", "b"]
    lines = files.more(1000)
    assert [part.text for part in lines] == [LINE, LINE]
    assert not files.done
    files.end()
    files.more(1000)
    assert files.done
    files.close()


def test_a_packed_file_under_a_plain_name(tmp_path: Path) -> None:
    file = growing(tmp_path / "s.jsonl", gzip.compress(LINE * 50, mtime=0) + b"\n")
    with pytest.raises(TraceError, match="found a packed file"):
        file.read(1000)


def test_a_line_that_is_torn_in_the_middle_of_a_file_is_an_error_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(LINE + b'{"op":"pu\n' + LINE)
    files = GrowingFiles(tmp_path)
    with pytest.raises(TraceError, match=r"a\.jsonl:2: "):
        files.parsed(files.more(1000))


def test_an_initial_state_that_comes_too_late(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(LINE)
    files = GrowingFiles(tmp_path)
    files.parsed(files.more(1000))
    files.forget_initial()
    (tmp_path / "b.jsonl").write_bytes(b'{"boomslang":1,"initial":"unknown"}\n')
    files.look()
    with pytest.raises(
        TraceError, match="found an initial state in a file that came after the check had begun"
    ):
        files.more(1000)
