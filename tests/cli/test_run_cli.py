"""`boomslang run`, `hunt` and `workloads`: what they print, what they exit with, what they say of wrong use."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.commands import Ran, command

import boomslang
from boomslang.databases import ADAPTERS
from boomslang.run.hunt import _answer
from boomslang.workers.forked import processes
from boomslang.workloads import WORKLOADS

SCHEMA = jsonschema.Draft202012Validator(
    json.loads((Path(boomslang.__file__).parent / "cli" / "answer.schema.json").read_text())
)


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store of the tests, by the name `memory`."""
    monkeypatch.setitem(ADAPTERS, "memory", "support.memory_store:Memory")  # type: ignore[arg-type]


def run(*words: object) -> Ran:
    return command("run", "--db", "memory", "--workload", "list-append", "--txns", 200, *words)


def hunt(*words: object) -> Ran:
    return command("hunt", "--db", "memory", "--workload", "list-append", "--txns", 200, *words)


# --- run


def test_a_run_says_what_it_did(tmp_path: Path) -> None:
    ran = run("--out", tmp_path / "t", "--sessions", 3, "--seed", 5)
    assert ran.code == 0 and ran.err == ""
    first, second, third, last = ran.out.splitlines()
    assert first == "memory 1 at 'serializable', which promises serializable"
    assert second == "  list-append, 3 sessions, 10 lists in use at a time, seed 5"
    assert third.startswith("  200 transactions committed, 0 aborted in ") and third.endswith(
        " commits/s, 0 aborts/s"
    )
    assert last == f"  recorded in {tmp_path / 't'}"
    assert command("check", tmp_path / "t", "--level", "sser").code == 0


def test_a_run_is_checked_at_what_the_database_promises(tmp_path: Path) -> None:
    right = run("--out", tmp_path / "right", "--check")
    assert right.code == 0 and "  serializable  valid\n" in right.out
    broken = run(
        "--out", tmp_path / "broken", "--db-level", "broken", "--check", "--certificate", tmp_path / "proof"
    )
    assert broken.code == 1 and "  serializable  INVALID" in broken.out and "=> " in broken.out
    assert command("verify", tmp_path / "broken", tmp_path / "proof").code == 0


def test_a_run_is_checked_at_the_levels_asked_for(tmp_path: Path) -> None:
    broken = ("--db-level", "broken", "--workload", "bank", "--keys", 2)
    ran = run("--out", tmp_path / "t", *broken, "--check", "ser,rc", "--json")
    assert ran.code == 1
    answer = json.loads(ran.out)
    SCHEMA.validate(answer)
    assert [(level["level"], level["status"]) for level in answer["levels"]] == [
        ("serializable", "invalid"), ("read-committed", "valid"),
    ]  # fmt: skip


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every client gives up some way into its transactions."""
    left, written = 20_000, os.write

    def write(fd: int, data: bytes) -> int:
        nonlocal left
        if len(data) > 3 and data[:1] == b"{":  # a record; the forked server's wires are none
            left -= len(data)
            if left < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
        return written(fd, data)

    monkeypatch.setattr(os, "write", write)


@pytest.mark.usefixtures("full_disk")
@pytest.mark.parametrize(("more", "code"), [((), 254), (("--check",), 254), (("--json",), 254)])
def test_a_run_whose_clients_all_gave_up_is_no_success(tmp_path: Path, more: Any, code: int) -> None:
    ran = run("--out", tmp_path / "t", "--txns", 2000, *more)
    assert ran.code == code
    assert re.search(
        r"boomslang: every client gave up before its time: \d+ of 2,000 transactions were run", ran.err
    )
    assert "warning: client c1: " in ran.err and "No space left on device" in ran.err
    if more == ("--check",):
        assert "  serializable  valid\n" in ran.out  # what was recorded is still checked
    if more == ("--json",):
        assert json.loads(ran.out)["gave_up"] is True


@pytest.mark.usefixtures("full_disk")
def test_a_violation_counts_however_little_was_run(tmp_path: Path) -> None:
    ran = run("--out", tmp_path / "t", "--txns", 2000, "--db-level", "broken", "--check")
    assert ran.code == 1 and "every client gave up" in ran.err


@pytest.mark.usefixtures("full_disk")
def test_a_hunt_ends_when_all_clients_give_up(tmp_path: Path) -> None:
    ran = hunt("--out", tmp_path / "h", "--txns", 2000)
    assert ran.code == 254 and "the hunt ends here: every client gave up before its time" in ran.err


def test_a_run_as_json(tmp_path: Path) -> None:
    ran = run("--db", "memory:slow=1", "--out", tmp_path / "t", "--json", "--fault", "kill-client")
    told = json.loads(ran.out)
    assert ran.code == 0 and told == json.loads((tmp_path / "t" / "run.json").read_text())
    assert told["committed"] + told["unknown"] == 200 and len(told["made_faults"]) == 1


def test_quiet_prints_nothing(tmp_path: Path) -> None:
    assert run("--out", tmp_path / "t", "--check", "--quiet") == (0, "", "")


def test_faults_are_told(tmp_path: Path) -> None:
    faults = ("--db", "memory:slow=1", "--fault", "kill-client=2")
    ran = run("--out", tmp_path / "t", *faults, "--txns", 400, "--check", "strong-session-sser")
    assert ran.code == 0 and "faults: kill-client c" in ran.out and ", 2 of unknown outcome in " in ran.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--workload", "nix"), "found the unknown workload 'nix'; expected one of blindw"),
        (("--db", "nix"), "found the unknown database 'nix'; expected one of"),
        (("--db-level", "nix"), "the test store has no level 'nix'; it offers 'broken', 'serializable'"),
        (("--check", "nix"), "unknown level 'nix'"),
        (("--check", "ser", "--module", "nix"), "unknown module 'nix'"),
        (("--module", "session-order"), "--module is for --check"),
        (("--fault", "nix"), "found the fault 'nix'; expected one of kill-client, kill-server, cut"),
        (("--fault", "kill-server"), "the test store here has no server that could be killed"),
        (("--sessions", "0"), "argument --sessions: found '0'; expected 1 or more"),
        (("--txns", "many"), "argument --txns: found 'many'; expected a whole number"),
        (("--values", "-1"), "argument --values: found '-1'; expected a whole number"),
        (
            ("--values", "5"),
            "the workload list-append has no use for values; it uses appends, distribution, keys, ops, reads",
        ),
        (("--distribution", "x"), "found the key distribution 'x'"),
        (("--timeout", "0"), "argument --timeout: found '0'; expected a number above 0"),
        (("--certificate", "p"), "--certificate is for --check"),
        (
            ("--check", "--certificate", "no-such-folder/p"),
            "cannot write the certificate: there is no folder",
        ),
        (("--check", "ser", "--certificate", "p", "--report", "p"), "name the same file"),
    ],
)
def test_wrong_use_of_run_is_told_before_anything_is_done(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    ran = run("--out", tmp_path / "t", *words)
    assert ran.code == 254 and said in ran.err and "Traceback" not in ran.err, ran.err
    assert not (tmp_path / "t").exists()


def test_a_run_that_could_not_begin_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("boomslang.run.client.PATIENCE", 0.1)
    monkeypatch.setattr(
        "support.memory_store.MemoryServer.__init__", lambda self: self.__dict__.update(up=False, kills=0)
    )
    ran = run("--db", "memory:server", "--out", tmp_path / "t", "--check", "--sessions", 2)
    assert (
        ran.code == 254
        and "the database cannot be reached" in ran.err
        and "no transaction committed" in ran.err
    )


# --- hunt


def test_a_hunt_tells_the_story_and_exits_with_1(tmp_path: Path) -> None:
    ran = hunt("--db-level", "broken", "--for", "20s", "--out", tmp_path / "h", "--seed", 1)
    assert ran.code == 1, ran
    assert "memory 1 at 'broken', which promises serializable\n" in ran.out
    assert ": serializable is broken\n" in ran.out and "Why it is not serializable:" in ran.out
    (trace,) = (path for path in (tmp_path / "h").iterdir() if path.is_dir())
    certificate = trace.with_name(f"{trace.name}.certificate.json")
    assert f"certificate of serializable: {certificate}" in ran.out
    assert command("verify", trace, certificate).code == 0


def test_a_hunt_that_finds_nothing_exits_with_0(tmp_path: Path) -> None:
    all_at_one = ("--others-at", "serializable")  # the other level lies, and a hunt would find that out
    ran = hunt("--for", "1s", "--out", tmp_path / "h", "--level", "sser", *all_at_one)
    assert ran.code == 0 and ": no violation of strict serializable found\n" in ran.out
    assert "of list-append, " in ran.out


def test_a_hunt_as_json(tmp_path: Path) -> None:
    ran = hunt(
        "--db-level", "broken", "--for", "2", "--out", tmp_path / "h", "--collect", "--json", "--level", "si"
    )
    told = json.loads(ran.out)
    assert (
        ran.code == told["exit"] == 1 and told["asked"] == "snapshot-isolation" and told["level"] == "broken"
    )
    assert told["runs"] == told["valid"] + len(told["invalid"]) and told["unknown"] == []
    assert (
        Path(told["invalid"][0]["trace"]).is_dir() and told["invalid"][0]["run"]["workload"] == "list-append"
    )


@pytest.mark.parametrize("how", [[], ["--json"], ["--quiet"]])
def test_a_hunt_writes_the_report_of_what_it_found(tmp_path: Path, how: list[str]) -> None:
    page = tmp_path / "found.html"
    ran = hunt("--db-level", "broken", "--for", "20s", "--out", tmp_path / "h", "--report", page, *how)
    assert ran.code == 1 and "memory 1 at 'broken'" in page.read_text() and "INVALID" in page.read_text()
    assert (f"report: {page}" in ran.out) == (not how)
    assert how != ["--json"] or json.loads(ran.out)["exit"] == 1


def test_a_run_writes_the_report_of_its_check(tmp_path: Path) -> None:
    page = tmp_path / "run.html"
    ran = run("--out", tmp_path / "t", "--check", "--report", page, "--seed", 5)
    assert ran.code == 0 and f"report: {page}" in ran.out
    assert "10 lists in use at a time, seed 5" in page.read_text()
    ran = run("--out", tmp_path / "u", "--report", page)
    assert ran.code == 254 and "--report is for --check" in ran.err and not (tmp_path / "u").exists()


@pytest.mark.parametrize("time", ["0", "x", "-3", "5d", ""])
def test_a_hunt_wants_a_time(time: str) -> None:
    ran = hunt(f"--for={time}")
    assert ran.code == 254 and "expected a time such as 90s, 10m or 2h" in ran.err


def test_a_hunt_leaves_a_folder_with_files_alone(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    ran = hunt("--out", tmp_path)
    assert ran.code == 254 and "expected a new or empty one" in ran.err


# --- workloads, and the real program


def test_workloads_are_listed() -> None:
    ran = command("workloads")
    assert ran.code == 0 and [line for line in ran.out.splitlines() if not line.startswith(" ")] == list(
        WORKLOADS
    )
    assert "settings: --keys 8 (accounts), --distribution uniform" in ran.out
    assert "needs: a database with locking" in ran.out


@pytest.mark.parametrize("name", ["run", "hunt"])
def test_ctrl_c_ends_a_run_and_all_its_clients(tmp_path: Path, name: str) -> None:
    """SQLite's clients are processes; none of them may stay behind, nor the temporary database."""
    words = {"run": ["--txns", "10000000", "--out", "t"], "hunt": ["--for", "1h", "--out", "h"]}[name]
    path = os.pathsep.join(
        str(Path(p).resolve()) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p
    )
    begun = subprocess.Popen(
        [sys.executable, "-m", "boomslang", name, "--workload", "bank", "--sessions", "3", *words],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    try:
        wait(lambda: len(list(tmp_path.glob("[ht]/**/c*.jsonl"))) >= 3)
        begun.send_signal(signal.SIGINT)
        out, _ = begun.communicate(timeout=20)
        assert begun.returncode == 130 and out == "boomslang: interrupted\n"
        wait(lambda: not alive(begun.pid))
        assert [path.name for path in tmp_path.glob("boomslang-*")] == []
    finally:
        if alive(begun.pid):
            os.killpg(begun.pid, signal.SIGKILL)


def alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def wait(until: object) -> None:
    end = time.monotonic() + 20
    while not until():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("words", [("run", "--check"), ("hunt", "--for", "2s")])
@pytest.mark.parametrize(("scheme", "title"), [("postgres", "PostgreSQL"), ("mysql", "MySQL")])
def test_a_server_that_is_not_there(tmp_path: Path, words: tuple[str, ...], scheme: str, title: str) -> None:
    pytest.importorskip({"postgres": "psycopg", "mysql": "pymysql"}[scheme])
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and never listens
        port = taken.getsockname()[1]
        ran = command(
            *words,
            "--workload",
            "bank",
            "--out",
            tmp_path / "t",
            "--db",
            f"{scheme}://root@127.0.0.1:{port}/x",
        )
    assert ran.code == 254 and f"{title} cannot be reached: " in ran.err and "fix: start it" in ran.err


def test_a_file_where_a_trace_should_go(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    ran = run("--out", tmp_path / "file")
    assert ran.code == 254 and "found a file; expected a new or empty folder" in ran.err
    assert (tmp_path / "file").read_text() == "mine"


def test_the_checker_of_a_hunt_that_was_torn_off_goes_quietly(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ours, theirs = processes(preload="boomslang.run.client").Pipe()
    checker = processes(preload="boomslang.run.client").Process(
        target=_answer, args=(theirs, "ser", (), None, None, 1.0)
    )
    checker.start()
    theirs.close()
    ours.send(str(tmp_path / "no such trace"))
    assert ours.poll(20)  # an answer that nobody reads
    ours.close()
    checker.join(20)
    assert checker.exitcode == 0 and "Traceback" not in capfd.readouterr().err


def test_a_hunt_that_has_no_place(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    ran = command(
        "hunt", "--db", "memory", "--workload", "bank", "--for", "1s", "--out", tmp_path / "file" / "t"
    )
    assert ran.code == 254 and "cannot keep anything there (Not a directory)" in ran.err
