"""`boomslang convert`: what is written says the same, what would be lost is refused, and no half file stays behind."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from support.commands import PROGRAM, command, environment, program
from support.paths import ROOT
from support.whole_traces import story

from boomslang.cli import exit_codes
from boomslang.cli.commands.convert import AMBIGUOUS, SUFFIXES, target_format
from boomslang.errors import UsageError
from boomslang.trace import Trace, TraceBuilder, read_trace, write_trace
from boomslang.trace import formats as registry
from boomslang.trace.formats import Format, Loss

SKEW = ROOT / "examples" / "write-skew.jsonl"


def leftovers(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def known_too(monkeypatch: pytest.MonkeyPatch, format: registry.Format) -> None:
    """One more format."""
    load = registry._load
    monkeypatch.setitem(registry._HOMES, format.name, "")
    monkeypatch.setattr(registry, "_load", lambda name: format if name == format.name else load(name))


@pytest.fixture
def poor(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A format that cannot say much; what it loses, and how it writes, can be set."""
    says: dict[str, Any] = {"losses": [], "write": lambda trace, path: path.write_text("poor")}
    made = Format(
        name="poor",
        title="a poor format",
        recognise=lambda sample: False,
        read=lambda path, check: TraceBuilder().build(),
        losses=lambda trace: says["losses"],
        write=lambda trace, path: says["write"](trace, path),
    )
    known_too(monkeypatch, made)
    return says


# --- there and back


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz", "t.arrow", "t.parquet", "t.ARROW"])
def test_by_the_name_of_the_file(name: str, tmp_path: Path) -> None:
    ran = command("convert", SKEW, tmp_path / name)
    assert ran.code == exit_codes.VALID and ran.err == ""
    format = SUFFIXES[name.lower().removeprefix("t")]
    assert ran.out == f"{tmp_path / name}: 3 transactions as {format}\n"
    assert leftovers(tmp_path) == [name]
    assert story(read_trace(tmp_path / name)) == story(read_trace(SKEW))
    assert registry.recognise(tmp_path / name).name == format


def test_by_the_name_of_the_format(tmp_path: Path) -> None:
    assert (
        command("convert", SKEW, tmp_path / "x.data", "--to", "arrow", "--from", "jsonl").code
        == exit_codes.VALID
    )
    assert command("convert", tmp_path / "x.data", tmp_path / "y", "--to", "parquet").code == exit_codes.VALID
    assert story(read_trace(tmp_path / "y")) == story(read_trace(SKEW))


def test_to_a_folder(tmp_path: Path) -> None:
    assert command("convert", SKEW, tmp_path / "folder", "--to", "jsonl").code == exit_codes.VALID
    assert (tmp_path / "folder").is_dir() and leftovers(tmp_path) == ["folder"]
    assert story(read_trace(tmp_path / "folder")) == story(read_trace(SKEW))


def test_the_program_itself(tmp_path: Path) -> None:
    ran = program("convert", SKEW, tmp_path / "t.parquet")
    assert ran.code == exit_codes.VALID and ran.err == ""
    ran = program("check", tmp_path / "t.parquet", "--level", "ser")
    assert ran.code == exit_codes.INVALID and f"({SKEW}:2)" in ran.out


def test_warnings_are_passed_on(tmp_path: Path) -> None:
    torn = tmp_path / "torn.jsonl"
    torn.write_text(SKEW.read_text() + '{"op": "be')
    ran = command("convert", torn, tmp_path / "t.arrow")
    assert ran.code == exit_codes.VALID and ran.err.startswith("warning: ")
    assert command("stats", tmp_path / "t.arrow").err == ran.err, "the file remembers"


# --- what it is to be


def test_every_format_that_can_be_written_can_be_named() -> None:
    for format in registry.FORMATS:
        if format.write is not None:
            assert target_format(Path("x"), format.name) is format
    known = {format.name for format in registry.FORMATS}
    for suffix, name in SUFFIXES.items():
        if name in known:
            assert target_format(Path(f"x{suffix}"), None).name == name
    for suffix in AMBIGUOUS:
        with pytest.raises(UsageError, match="say which with --to"):
            target_format(Path(f"x{suffix}"), None)


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("t.json", [], "may be dbcop-json or jepsen-json or timekiller; say which with --to"),
        ("t.txt", [], "may be text or awdit"),
        ("t", [], "its name does not tell a format"),
        ("t.arrow", ["--to", "nonsense"], "unknown format 'nonsense'"),
        ("t.arrow", ["--from", "nonsense"], "unknown format 'nonsense'"),
        ("t.arrow", ["--from", "parquet"], "damaged Parquet data"),
        ("no/t.arrow", [], "there is no folder"),
    ],
)
def test_wrong_use(name: str, words: list[str], message: str, tmp_path: Path) -> None:
    ran = command("convert", SKEW, tmp_path / name, *words)
    assert ran.code == exit_codes.USAGE and message in ran.err and ran.out == ""
    assert leftovers(tmp_path) == []


def test_what_can_only_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one_way = Format(
        "one-way", "", lambda sample: False, lambda path, check: TraceBuilder().build(), lambda t: []
    )
    known_too(monkeypatch, one_way)
    ran = command("convert", SKEW, tmp_path / "t", "--to", "one-way")
    assert ran.code == exit_codes.USAGE and "one-way can be read but not written" in ran.err


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "t.arrow"
    out.write_text("mine")
    ran = command("convert", SKEW, out)
    assert ran.code == exit_codes.USAGE and "nothing is overwritten" in ran.err and out.read_text() == "mine"
    gone = tmp_path / "gone.arrow"
    gone.symlink_to(tmp_path / "nowhere")
    assert command("convert", SKEW, gone).code == exit_codes.USAGE and gone.is_symlink()
    source = tmp_path / "source"
    source.mkdir()
    shutil.copy(SKEW, source / "a.jsonl")
    ran = command("convert", source, source / "b.jsonl")
    assert ran.code == exit_codes.USAGE and "and nothing else" in ran.err and leftovers(source) == ["a.jsonl"]


# --- what would be lost


def test_losses_are_refused_unless_they_are_wanted(poor: dict[str, Any], tmp_path: Path) -> None:
    poor["losses"] = [Loss("the times of 3 transactions"), Loss("1 clock")]
    ran = command("convert", SKEW, tmp_path / "t", "--to", "poor")
    assert ran.code == exit_codes.USAGE and ran.out == "" and leftovers(tmp_path) == []
    assert "  the times of 3 transactions\n  1 clock\n" in ran.err and "--lossy" in ran.err
    ran = command("convert", SKEW, tmp_path / "t", "--to", "poor", "--lossy")
    assert ran.code == exit_codes.VALID and (tmp_path / "t").read_text() == "poor"
    assert "lost: the times of 3 transactions" in ran.err and "lost: 1 clock" in ran.err


def test_labels_are_lost_with_a_word(poor: dict[str, Any], tmp_path: Path) -> None:
    poor["losses"] = [Loss("the names of sessions", minor=True)]
    ran = command("convert", SKEW, tmp_path / "t", "--to", "poor")
    assert ran.code == exit_codes.VALID and ran.err == "warning: lost: the names of sessions\n"
    poor["losses"].append(Loss("1 clock"))
    ran = command("convert", SKEW, tmp_path / "u", "--to", "poor")
    assert ran.code == exit_codes.USAGE and "names" not in ran.err


def test_some_losses_are_always_refused(poor: dict[str, Any], tmp_path: Path) -> None:
    poor["losses"] = [Loss("the times of 3 transactions"), Loss("scans (t.jsonl:4)", fatal=True)]
    for words in ([], ["--lossy"]):
        ran = command("convert", SKEW, tmp_path / "t", "--to", "poor", *words)
        assert ran.code == exit_codes.USAGE and leftovers(tmp_path) == []
        assert "  scans (t.jsonl:4)\n" in ran.err and "another history" in ran.err
        assert "--lossy" not in ran.err


def test_several_clocks_do_not_fit_into_a_file(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for n in (1, 2):
        (source / f"c{n}.jsonl").write_text(
            f'{{"boomslang": 1, "clock": "h{n}"}}\n{{"op": "begin", "invoke": 1}}\n{{"op": "commit"}}\n'
        )
    for words in ([], ["--lossy"]):
        ran = command("convert", source, tmp_path / "t.jsonl", *words)
        assert ran.code == exit_codes.USAGE and "2 clocks" in ran.err
    assert command("convert", source, tmp_path / "t.arrow").code == exit_codes.VALID
    assert command("convert", tmp_path / "t.arrow", tmp_path / "t", "--to", "jsonl").code == exit_codes.VALID
    assert story(read_trace(tmp_path / "t")) == story(read_trace(source))


def test_times_that_run_backwards_are_no_recorders(tmp_path: Path) -> None:
    """A broken database may hand out such times; a file of ours with them could not be read."""
    b = TraceBuilder()
    for begin in (10, 30):
        with b.transaction("a", begin=begin, end=begin + 5) as t:
            t.put("x", begin)
    back = b.build()
    back.txn_begin[:], back.txn_end[:] = [10, 2], [15, 3]
    write = registry.find("arrow").write
    assert write is not None
    write(back, tmp_path / "t.arrow")
    assert read_trace(tmp_path / "t.arrow").transaction(1).end == 3
    ran = command("convert", tmp_path / "t.arrow", tmp_path / "t.jsonl", "--lossy")
    assert ran.code == exit_codes.USAGE and "the times of 1 transaction, which run backwards" in ran.err
    assert "(first at operation 4)" in ran.err and leftovers(tmp_path) == ["t.arrow"]


# --- no half files


@pytest.mark.parametrize("folder", [False, True])
def test_a_writer_that_fails_leaves_nothing(poor: dict[str, Any], tmp_path: Path, folder: bool) -> None:
    def write(trace: Trace, path: Path) -> None:
        if folder:
            path.mkdir()
            path = path / "part"
        path.write_text("half")
        raise OSError(28, "No space left on device", str(path))

    poor["write"] = write
    ran = command("convert", SKEW, tmp_path / "t", "--to", "poor")
    assert ran.code == exit_codes.USAGE and "No space left on device" in ran.err and leftovers(tmp_path) == []


def test_somebody_else_was_faster(poor: dict[str, Any], tmp_path: Path) -> None:
    def write(trace: Trace, path: Path) -> None:
        path.write_text("ours")
        (tmp_path / "t").write_text("theirs")

    poor["write"] = write
    ran = command("convert", SKEW, tmp_path / "t", "--to", "poor")
    assert ran.code == exit_codes.USAGE and (tmp_path / "t").read_text() == "theirs"
    assert leftovers(tmp_path) == ["t"]


def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    b, rng = TraceBuilder(), random.Random(0)
    for _ in range(4_000):
        with b.transaction("a") as t:
            for key in range(10):
                t.put(key, rng.randbytes(500).hex())  # long to pack, quick to make
    source, out = tmp_path / "in.jsonl", tmp_path / "out"
    write_trace(b.build(), source)
    out.mkdir()
    child = subprocess.Popen(
        [*PROGRAM, "convert", str(source), str(out / "t.jsonl.gz")], env=environment(), stderr=subprocess.PIPE
    )
    end = time.monotonic() + 60
    while not leftovers(out):
        assert time.monotonic() < end and child.poll() is None
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGINT)
    _, err = child.communicate(timeout=20)
    assert child.returncode == exit_codes.INTERRUPTED and err == b"boomslang: interrupted\n"
    assert leftovers(out) == []
