"""`check --stream`, and `check --memory` of a trace that is larger: the answer of the whole, window by window."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from simulate import History, generate
from support.commands import command

from boomslang.levels import find_level
from boomslang.stream import check as stream_check
from boomslang.stream.check import check_as_it_goes_by, window_bytes

RECORDED = History(transactions=3_000, sessions=8, keys=300, operations=4, times=True)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stream") / "long.jsonl"
    generate(RECORDED, path)
    return path


def test_the_same_answers_with_certificates_that_are_right(long: Path, tmp_path: Path) -> None:
    proof = tmp_path / "proof.jsonl"
    done = command("check", str(long), "--level", "ser,strong-si", "--stream", "--certificate", str(proof))
    assert done.code == 0, done.err
    assert "it went by in" in done.out
    for short in ("ser", "strong-si"):
        verified = command("verify", str(long), str(proof.with_name(f"proof.{short}.jsonl")))
        assert verified.code == 0, verified.out


def test_one_job_is_one_thread(long: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_ahead, ahead = stream_check.read_ahead, []
    monkeypatch.setattr(stream_check, "read_ahead", lambda *given: ahead.append(1) or read_ahead(*given))
    answers = []
    for jobs, expected in ((1, 0), (2, 1)):
        found = check_as_it_goes_by(long, find_level("ser"), jobs=jobs)
        assert len(ahead) == expected
        answers.append((found.status, found.counted.transactions, found.counted.windows))
    assert answers[0] == answers[1] and answers[0][0] == "valid"


def test_a_trace_that_is_broken(tmp_path: Path) -> None:
    path, proof = tmp_path / "broken.jsonl", tmp_path / "proof.json"
    generate(replace(RECORDED, plant="lost-update", plant_at=0.8), path)
    done = command("check", str(path), "--level", "si", "--stream", "--json", "--certificate", str(proof))
    assert done.code == 1, done.err
    told = json.loads(done.out)
    assert told["levels"][0]["status"] == "invalid" and told["went_by"]["windows"] >= 0
    whole = json.loads(command("check", str(path), "--level", "si", "--json").out)
    places = [
        sorted(t["where"] for t in answer["levels"][0]["counterexample"]["transactions"])
        for answer in (told, whole)
    ]
    assert places[0] == places[1]  # by the lines that the user has
    assert command("verify", str(path), str(proof)).code == 0


def test_larger_than_memory_goes_by(long: Path) -> None:
    done = command("check", str(long), "--level", "ser", "--memory", "61", "--json")
    told = json.loads(done.out)
    assert "went_by" in told
    done = command("check", str(long), "--level", "ser", "--memory", "1000", "--json")
    assert "went_by" not in json.loads(done.out) and done.code == 0


@pytest.fixture
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("boomslang.cli.commands.check.WORTH_A_LOOK", 1 << 10)
    monkeypatch.setattr("boomslang.cli.going_by.LARGE", 1)


def scans_of_who_knows_what(path: Path) -> None:
    """With scans, and an initial state that is unknown."""
    generate(replace(RECORDED, transactions=300, scans=0.2), path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([json.dumps(json.loads(lines[0]) | {"initial": "unknown"}) + "\n", *lines[1:]]))


def test_scans_of_what_nobody_knows_go_by(tmp_path: Path) -> None:
    path, proof = tmp_path / "scans.jsonl", tmp_path / "proof.jsonl"
    scans_of_who_knows_what(path)
    done = command("check", str(path), "--level", "ser", "--stream", "--certificate", str(proof), "--json")
    told = json.loads(done.out)
    assert "went_by" in told and told["levels"][0]["status"] == "valid"
    assert command("verify", str(path), str(proof)).code == 0


@pytest.mark.usefixtures("small_is_large")
def test_what_would_take_much_memory_goes_by_of_itself(long: Path, tmp_path: Path) -> None:
    told = json.loads(command("check", str(long), "--level", "ser", "--json").out)
    assert "went_by" in told and told["levels"][0]["status"] == "valid"
    # For two levels it would go by twice, and so much is allowed.
    for more in (["--level", "ser,si"], ["--level", "ser", "--memory", "1000"]):
        assert "went_by" not in json.loads(command("check", str(long), *more, "--json").out)
    # What cannot be decided so is decided in memory, with the usual answer and certificate.
    path, proof = tmp_path / "scans.jsonl", tmp_path / "proof.json"
    scans_of_who_knows_what(path)
    with path.open("a") as file:
        for line in ({"op": "begin"}, {"op": "delete", "key": "k", "found": True}, {"op": "commit"}):
            file.write(json.dumps({"session": "late", **line}) + "\n")
    assert "a delete found something" in command("check", str(path), "--level", "ser", "--stream").out
    told = json.loads(
        command("check", str(path), "--level", "ser", "--json", "--certificate", str(proof)).out
    )
    assert "went_by" not in told and told["levels"][0]["status"] == "valid"
    assert command("verify", str(path), str(proof)).code == 0


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["--level", "rc"], "read committed is not decided by an order"),
        (["--level", "strongest"], "strongest"),
        (["--level", "ser", "--solver", "z3"], "native engine"),
    ],
)
def test_what_cannot_go_by_says_why(long: Path, more: list[str], why: str) -> None:
    done = command("check", str(long), "--stream", *more)
    assert done.code == 254 and why in done.err


def test_a_mistake_is_told_with_the_line_of_the_file(long: Path, tmp_path: Path) -> None:
    lines = long.read_text().splitlines()
    lines[9_000] = lines[9_000].replace('"op"', '"oops"')
    path = tmp_path / "damaged.jsonl"
    path.write_text("\n".join(lines) + "\n")
    streamed = command("check", str(path), "--level", "ser", "--stream")
    whole = command("check", str(path), "--level", "ser")
    assert streamed.code == whole.code == 254
    assert streamed.err == whole.err and ":9001:" in streamed.err


def test_windows_are_as_large_as_the_memory_allows() -> None:
    sizes = [window_bytes(megabytes) for megabytes in (100, 300, 600, 2000)]
    assert sizes == sorted(sizes) and sizes[0] == stream_check.SMALLEST and sizes[-1] > sizes[1]


@pytest.mark.full
def test_memory_stays_flat(tmp_path: Path) -> None:
    """Ten times the length, the same memory."""
    import subprocess
    import sys

    peaks = []
    for transactions in (30_000, 300_000):
        path = tmp_path / f"{transactions}.jsonl"
        generate(replace(RECORDED, transactions=transactions, keys=3_000, operations=8), path)
        command = """
import sys
from pathlib import Path
from boomslang.levels import find_level
from boomslang.stream.check import check_as_it_goes_by
found = check_as_it_goes_by(Path(sys.argv[1]), find_level("ser"), megabytes=250, jobs=1)
told = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
print(found.status, int(told["VmHWM"].split()[0]) // 1024)  # ru_maxrss begins with that of pytest
"""
        done = subprocess.run(
            [sys.executable, "-c", command, str(path)], capture_output=True, text=True, check=True
        )
        status, peak = done.stdout.split()
        assert status == "valid"
        peaks.append(int(peak))
        path.unlink()
    assert peaks[1] < 250 and peaks[1] < 1.7 * peaks[0], peaks


def test_nothing_committed_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "none.jsonl"
    path.write_text('{"session": "a", "op": "begin"}\n{"op": "put", "session": "a", "key": 1, "value": 1}\n')
    found = check_as_it_goes_by(path, find_level("ser"))
    assert found.status == "unknown" and "committed" in found.reason
