"""`boomslang watch`, `run --watch` and `hunt --watch`: what they print, when they stop, and what they exit with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jsonschema
import pytest
from support.commands import PROGRAM, Ran, command, environment
from support.growing import Store
from support.paths import ROOT

import boomslang
from boomslang.databases import ADAPTERS
from boomslang.stream.beside import Beside
from boomslang.stream.watcher import CannotWatch

SCHEMA = jsonschema.Draft202012Validator(
    json.loads((Path(boomslang.__file__).parent / "cli" / "answer.schema.json").read_text())
)


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store of the tests, by the name `memory`."""
    monkeypatch.setitem(ADAPTERS, "memory", "support.memory_store:Memory")  # type: ignore[arg-type]


@contextmanager
def watch(*words: object) -> Iterator[subprocess.Popen[str]]:
    """The real program."""
    program = subprocess.Popen(
        [*PROGRAM, "watch", *map(str, words)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(BOOMSLANG_DEBUG="1"),
    )  # fmt: skip
    try:
        yield program
    finally:
        if program.poll() is None:
            program.kill()
        program.communicate()


def over(program: subprocess.Popen[str]) -> Ran:
    out, err = program.communicate(timeout=30)
    return Ran(program.returncode, out, err)


def told(program: subprocess.Popen[str], word: str) -> str:
    """The first line of what it says that has this word."""
    assert program.stderr is not None
    while line := program.stderr.readline():
        if word in line:
            return line
    raise AssertionError(program.communicate())


# --- watch


def test_ctrl_c_gives_the_verdict_so_far(tmp_path: Path) -> None:
    store = Store(tmp_path / "t")
    store.run(2000)
    with watch(tmp_path / "t", "--level", "si", "--every", "200ms") as program:
        assert " hold snapshot isolation, " in told(program, "transactions")
        store.run(500)
        program.send_signal(signal.SIGINT)
        ran = over(program)
    assert ran.code == 0
    assert "deciding what was recorded so far; Ctrl-C again to leave now" in ran.err
    assert ran.out.startswith(f"{tmp_path / 't'}: ") and "  snapshot isolation  valid" in ran.out


def test_a_violation_ends_it_with_story_certificate_and_report(tmp_path: Path) -> None:
    proof, page = tmp_path / "proof.json", tmp_path / "page.html"
    store = Store(tmp_path / "t")
    store.run(1000)
    words = ("--level", "si", "--certificate", proof, "--report", page, "--every", "100ms")
    with watch(tmp_path / "t", *words) as program:
        told(program, " hold snapshot isolation, ")
        store.lose_an_update()
        ran = over(program)
    assert ran.code == 1
    assert "INVALID  lost update" in ran.out and "Why it is not snapshot isolation:" in ran.out
    assert "Judged is what was recorded up to then" in ran.out
    assert page.read_text().startswith("<!doctype html>")
    assert command("verify", tmp_path / "t", proof).code == 0


def test_the_certificate_of_what_holds_grows_while_it_is_watched(tmp_path: Path) -> None:
    proof = tmp_path / "proof.jsonl"
    store = Store(tmp_path / "t")
    store.run(1500)
    with watch(tmp_path / "t", "--level", "strong-si", "--certificate", proof, "--every", "100ms") as program:
        told(program, " hold strong snapshot isolation, ")
        store.run(1500)
        store.settle()
        program.send_signal(signal.SIGINT)
        ran = over(program)
    assert ran.code == 0 and f"certificate of strong snapshot isolation: {proof}" in ran.out, ran
    ran = command("verify", tmp_path / "t", proof)
    assert ran.code == 0 and "its order explains all" in ran.out, ran
    store.run(400)
    store.settle()
    ran = command("verify", tmp_path / "t", proof)  # what came later is not in it
    assert ran.code == 1, ran
    assert {path.name for path in tmp_path.iterdir()} == {"t", "proof.jsonl"}


def test_a_certificate_that_finds_no_room_is_told_and_stops_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "t")
    store.run(500)
    store.settle()
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    ran = command("watch", tmp_path / "t", "--level", "si", "--until-idle", "300ms", "--certificate", full)
    assert ran.code == 254 and "cannot write the certificate: No space left on device" in ran.err
    assert "snapshot isolation  valid" in ran.out


def test_json_lines_and_the_end_of_a_recorder(tmp_path: Path) -> None:
    store = Store(tmp_path / "t")
    store.run(1000)
    store.settle()
    words = ("--level", "si", "--json", "--every", "100ms", "--until-idle", "1s")
    with watch(tmp_path / "t", *words) as program:
        ran = over(program)
    assert ran.code == 0 and ran.err == ""
    *lines, last = (json.loads(line) for line in ran.out.splitlines())
    assert lines and all(line["watch"]["level"] == "snapshot isolation" for line in lines)
    SCHEMA.validate(last)
    assert last["levels"][0]["status"] == "valid" and last["exit"] == 0
    assert last["watch"]["committed"] == last["watch"]["transactions"] == store.commits


RECORDER = """
import sys, time
sys.path.insert(0, {tests!r})
from pathlib import Path
from support.growing import Store
store = Store(Path({folder!r}), clients=4)
while True:
    store.run(20)
    time.sleep(0.002)
"""


def test_a_recorder_that_is_killed(tmp_path: Path) -> None:
    code = RECORDER.format(tests=str(ROOT / "tests"), folder=str(tmp_path / "t"))
    recorder = subprocess.Popen([sys.executable, "-c", code], env=environment())
    try:
        with watch(
            tmp_path / "t", "--level", "strong-si", "--until-idle", "800ms", "--every", "100ms"
        ) as program:
            told(program, " hold strong snapshot isolation, ")
            time.sleep(0.5)
            recorder.kill()
            ran = over(program)
    finally:
        recorder.kill()
        recorder.wait()
    assert ran.code == 0 and "valid" in ran.out
    assert command("check", tmp_path / "t", "--level", "strong-si").code == 0


def test_sigterm_means_the_same_and_twice_means_now(tmp_path: Path) -> None:
    store = Store(tmp_path / "t")
    store.run(100)
    with watch(tmp_path / "t", "--level", "si", "--every", "100ms") as program:
        told(program, "s: ")
        program.send_signal(signal.SIGTERM)
        assert over(program).code == 0
    with watch(tmp_path / "nothing", "--level", "si", "--every", "100ms") as program:
        told(program, "waiting for the recorder")
        program.send_signal(signal.SIGTERM)
        ran = over(program)
    assert ran.code == 2 and "no transaction is known to have committed" in ran.out


def test_a_truncated_file_ends_it(tmp_path: Path) -> None:
    store = Store(tmp_path / "t")
    store.run(1000)
    with watch(tmp_path / "t", "--level", "si", "--every", "100ms") as program:
        told(program, " hold snapshot isolation, ")
        os.truncate(tmp_path / "t" / "c1.jsonl", 60)
        ran = over(program)
    assert ran.code == 254 and ran.out == ""
    assert (
        "c1.jsonl: found 60 bytes, after " in ran.err and "expected a file that only grows; fix: " in ran.err
    )


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("-", "--level", "si"), "expected a folder or a file of this machine"),
        (("s3://bucket/t", "--level", "si"), "expected a folder or a file of this machine"),
        (("{}/no/where", "--level", "si"), "found no folder that "),
        (("{}/t", "--level", "ser,si"), "expected one level"),
        (("{}/t", "--level", "strongest"), "expected one level"),
        (("{}/t", "--level", "rc"), "expected one that an order of begins and commits decides"),
        (("{}/t", "--level", "si", "--idle", "soon"), "found 'soon'; expected a time such as"),
        (("{}/t", "--level", "si", "--keep", "1m", "--certificate", "p"), "found --certificate with --keep"),
        ((__file__, "--level", "si", "--keep", "1m"), "found --keep with the one log"),
    ],
)
def test_wrong_use(tmp_path: Path, words: tuple[str, ...], error: str) -> None:
    ran = command("watch", *(word.format(tmp_path) for word in words))
    assert ran.code == 254 and error in ran.err, ran


# --- run


def run(*words: object) -> Ran:
    return command("run", "--db", "memory", "--workload", "blindw-t", *words)


def test_a_run_is_checked_while_it_goes(tmp_path: Path) -> None:
    ran = run("--txns", 3000, "--out", tmp_path / "t", "--watch")
    assert ran.code == 0, ran
    assert "3,000 transactions committed" in ran.out
    assert f"{tmp_path / 't'}: 3,000 transactions, 100 keys" in ran.out
    assert "  serializable  valid    all that was recorded so far" in ran.out and "watched for " in ran.out


def test_a_violation_stops_the_load(tmp_path: Path) -> None:
    proof = tmp_path / "proof.json"
    words = ("--db", "memory:slow=1", "--db-level", "broken", "--txns", 1_000_000, "--for", "60s")
    ran = command(
        "run", "--workload", "bank", *words, "--out", tmp_path / "t", "--watch", "--certificate", proof
    )
    assert ran.code == 1 and "INVALID" in ran.out and "Why it is not serializable:" in ran.out, ran
    about = json.loads((tmp_path / "t" / "run.json").read_text())
    assert about["seconds"] < 30 and about["committed"] < 100_000
    assert command("verify", tmp_path / "t", proof).code == 0


def test_json_of_a_watched_run(tmp_path: Path) -> None:
    ran = run("--txns", 500, "--out", tmp_path / "t", "--watch", "--check", "sser", "--json")
    document = json.loads(ran.out)
    SCHEMA.validate(document)
    assert ran.code == 0 and document["levels"][0]["level"] == "strict-serializable"
    assert document["watch"]["committed"] == 500


def test_a_watched_run_writes_the_certificate_of_what_holds(tmp_path: Path) -> None:
    proof = tmp_path / "proof.jsonl"
    ran = run("--txns", 800, "--out", tmp_path / "t", "--watch", "--certificate", proof)
    assert ran.code == 0 and f"certificate of serializable: {proof}" in ran.out, ran
    assert command("verify", tmp_path / "t", proof).code == 0


def test_a_run_of_which_only_the_end_is_kept(tmp_path: Path) -> None:
    words = ("--db", "memory:slow=1", "--txns", 1_000_000, "--for", "6s", "--keep", "800ms")
    ran = command("run", "--workload", "blindw-t", *words, "--out", tmp_path / "t", "--watch", "--json")
    document = json.loads(ran.out)
    SCHEMA.validate(document)
    assert ran.code == 0 and document["levels"][0]["status"] == "valid", ran
    about = json.loads((tmp_path / "t" / "run.json").read_text())
    assert document["watch"]["committed"] == about["committed"]
    assert document["watch"]["deleted"] > 0
    ran = command("check", tmp_path / "t", "--level", "ser")
    assert ran.code == 254 and "a part of this trace was deleted when it was checked" in ran.err


def test_lists_are_watched(tmp_path: Path) -> None:
    words = ("--workload", "list-append", "--txns", 1500, "--out")
    ran = command("run", "--db", "memory", *words, tmp_path / "t", "--watch")
    assert ran.code == 0 and "  serializable  valid    all that was recorded so far" in ran.out, ran
    assert command("check", tmp_path / "t", "--level", "ser").code == 0
    broken = ("--db", "memory:slow=1", "--db-level", "broken", "--for", "60s")
    ran = command("run", *broken, *words, tmp_path / "b", "--watch")
    assert ran.code == 1 and "Why it is not serializable:" in ran.out, ran


def test_the_certificate_of_lists_grows_while_they_are_watched(tmp_path: Path) -> None:
    proof = tmp_path / "proof.json"
    words = ("--workload", "list-append", "--txns", 200, "--out", tmp_path / "t", "--certificate", proof)
    ran = command("run", "--db", "memory", *words, "--watch")
    assert ran.code == 0 and "  serializable  valid    all that was recorded so far" in ran.out, ran
    assert proof.read_text().startswith('{"boomslang-certificate": 2')
    assert command("verify", tmp_path / "t", proof).code == 0


def test_what_cannot_be_watched_is_checked_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(_beside: Beside) -> None:
        raise CannotWatch("its files have several clocks")

    monkeypatch.setattr(Beside, "answer", cannot)
    proof = tmp_path / "proof.json"
    words = ("--workload", "list-append", "--txns", 200, "--out", tmp_path / "t", "--certificate", proof)
    ran = command("run", "--db", "memory", *words, "--watch")
    assert "several clocks; it is checked now that it is finished" in ran.err, ran
    assert ran.code == 0 and "serializable  valid" in ran.out
    assert command("verify", tmp_path / "t", proof).code == 0


def test_a_watched_run_with_clients_that_die(tmp_path: Path) -> None:
    words = ("--db", "memory:slow=1,lose=40", "--txns", 1500, "--fault", "kill-client=2", "--idle", "300ms")
    ran = command("run", "--workload", "blindw-t", *words, "--out", tmp_path / "t", "--watch")
    assert (
        ran.code == 0
        and "of unknown outcome" in ran.out
        and "valid    all that was recorded so far" in ran.out
    ), ran
    assert command("check", tmp_path / "t", "--level", "ser").code == 0


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--check", "ser,si"), "with --watch; expected one level"),
        (("--module", "session-order"), "found the module session-order with --watch"),
        (("--check", "rc"), "expected one that an order of begins and commits decides"),
        (("--keep", "1m", "--report", "page.html"), "found --report with --keep"),
    ],
)
def test_wrong_use_of_a_watched_run(tmp_path: Path, words: tuple[str, ...], error: str) -> None:
    ran = run("--txns", 10, "--out", tmp_path / "t", "--watch", *words)
    assert ran.code == 254 and error in ran.err and not (tmp_path / "t").exists()


# --- hunt


def test_a_hunt_that_watches(tmp_path: Path) -> None:
    words = (
        "--txns",
        400,
        "--for",
        "3s",
        "--watch",
        "--others-at",
        "serializable",
    )  # the store's other level is a lie
    ran = command("hunt", "--db", "memory", "--workload", "blindw-t", *words, "--out", tmp_path / "a")
    assert ran.code == 0 and "no violation of serializable found" in ran.out
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["hunt.html", "hunt.json"]
    broken = ("--db", "memory:slow=1", "--db-level", "broken", "--txns", 1_000_000, "--for", "60s", "--watch")
    ran = command("hunt", "--workload", "bank", *broken, "--out", tmp_path / "b")
    assert ran.code == 1 and "serializable is broken" in ran.out and "Why it is not serializable:" in ran.out
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == [
        "hunt.html",
        "hunt.json",
        "run-0001",
        "run-0001.certificate.json",
    ]


def test_a_hunt_of_which_only_the_end_is_kept(tmp_path: Path) -> None:
    words = ("--db", "memory:slow=1", "--txns", 1_000_000, "--for", "4s", "--out", tmp_path / "a", "--json")
    ran = command("hunt", "--workload", "blindw-t", *words, "--watch", "--keep", "500ms")
    answer = json.loads(ran.out)
    assert ran.code == 0 and answer["valid"] == answer["runs"] == 1 and not answer["problems"], ran
    ran = command("hunt", "--workload", "blindw-t", *words, "--keep", "500ms")
    assert ran.code == 254 and "--keep is for --watch" in ran.err


def test_a_hunt_on_a_cluster_does_not_watch(tmp_path: Path) -> None:
    ran = command(
        "hunt", "--db", "sqlite", "--workload", "blindw", "--watch", "--on", "ray", "--out", tmp_path / "h"
    )
    assert ran.code == 254 and "found --watch with --on" in ran.err
