"""A level of a file, or of an installed package, wherever a command asks for one: recording, watching, hunting too."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.commands import PROGRAM, Ran, command, environment
from support.growing import Store
from support.histories import get, history, put, txn

import boomslang
from boomslang.databases import ADAPTERS
from boomslang.levels import registry
from boomslang.trace import write_trace

CODE = """
import boomslang
from boomslang.levels.catalog import SNAPSHOT_ISOLATION


@boomslang.level
def real_time_si():
    return SNAPSHOT_ISOLATION.strong("real-time-si", "rt-si", "real-time snapshots", "nobody, 2026", ())
"""
UNWATCHED = CODE.replace("SNAPSHOT_ISOLATION", "REPEATABLE_READ")
STALE = history(txn("A", put("x", 1), time=(0, 10)), txn("B", get("x", boomslang.Absent), time=(20, 30)))
FRESH = history(txn("A", put("x", 1), time=(0, 10)), txn("B", get("x", 1), time=(20, 30)))


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(ADAPTERS, "memory", "support.memory_store:Memory")  # type: ignore[arg-type]
    yield
    registry._registered.clear()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(CODE)
    return path


@pytest.fixture
def stale(tmp_path: Path) -> Path:
    write_trace(STALE, path := tmp_path / "stale.jsonl")
    return path


def load(what: str, *words: object) -> Ran:
    return command(what, "--db", "memory", "--workload", "list-append", "--txns", 200, *words)


def test_report(file: Path, stale: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert command("check", stale, "--level", file, "--report", page).code == 1
    text = page.read_text()
    assert "real-time snapshots" in text and "nobody, 2026" not in text.split("<body", 1)[0]


def test_explain_as_a_script(file: Path, stale: Path) -> None:
    ran = command("explain", stale, "--level", file)
    assert ran.code == 1 and "Why it is not real-time snapshots" in ran.out
    assert command("explain", stale, "--level", file, "--as", "script").code == 1


def test_compare_and_advise(file: Path, stale: Path, tmp_path: Path) -> None:
    write_trace(FRESH, fresh := tmp_path / "fresh.jsonl")
    ran = command("compare", fresh, stale, "--level", file)
    line = next(line for line in ran.out.splitlines() if "real-time snapshots" in line)
    assert line.split()[2:4] == ["valid", "invalid"], ran.out
    ran = command("advise", stale, "--level", file)
    assert ran.code == 1 and "stale read" in ran.out
    assert command("advise", stale, "--level", "si").code == 0, "only the level from outside forbids it"


def test_run_checks_it(file: Path, tmp_path: Path) -> None:
    proof = tmp_path / "proof.json"
    ran = load("run", "--out", tmp_path / "right", "--check", file, "--certificate", proof)
    assert ran.code == 0 and "real-time snapshots  valid" in ran.out
    assert command("verify", tmp_path / "right", proof, "--level", file).code == 0
    ran = load("run", "--out", tmp_path / "wrong", "--db-level", "broken", "--check", file, "--sessions", 4)
    assert ran.code == 1 and "real-time snapshots  INVALID" in ran.out


def test_some_cannot_be_watched(file: Path, tmp_path: Path) -> None:
    file.write_text(UNWATCHED)
    ran = load("run", "--out", tmp_path / "t", "--watch", "--check", file)
    assert (
        ran.code == 254
        and "found the level real-time snapshots; expected one that an order of begins" in ran.err
    )


def test_run_watches_it(file: Path, tmp_path: Path) -> None:
    ran = load("run", "--out", tmp_path / "t", "--watch", "--check", file, "--idle", "1s")
    assert ran.code == 0 and "real-time snapshots" in ran.out + ran.err, ran


def test_hunt_finds_it(file: Path, tmp_path: Path) -> None:
    words = ("--db-level", "broken", "--for", "20s", "--seed", 1, "--level", file, "--sessions", 4)
    ran = load("hunt", "--out", tmp_path / "h", *words, "--json")
    assert ran.code == 1, ran
    found = json.loads(ran.out)
    assert "real-time-si" in json.dumps(found)
    proofs = [path for path in (tmp_path / "h").rglob("*.json") if "certificate" in path.name]
    assert len(proofs) == 1 and json.loads(proofs[0].read_text())["level"] == "real-time-si"


def test_watch(file: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "t")
    store.run(300)
    store.settle()
    ran = command("watch", tmp_path / "t", "--level", file, "--until-idle", "500ms", "--idle", "200ms")
    assert ran.code == 0 and "real-time snapshots  valid" in ran.out, ran
    store.lose_an_update()
    ran = command("watch", tmp_path / "t", "--level", file, "--until-idle", "500ms", "--idle", "200ms")
    assert ran.code == 1 and "real-time snapshots  INVALID" in ran.out, ran


# --- an installed package


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """What an installer leaves of a small package: its module, and what it says about itself."""
    place = tmp_path / "site"
    about = place / "time_levels-1.0.dist-info"
    about.mkdir(parents=True)
    (place / "time_levels.py").write_text(CODE)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: time-levels\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[boomslang.levels]\nrt-si = time_levels:real_time_si\n")
    return place


def program(package: Path, *words: object) -> Ran:
    done = subprocess.run(
        [*PROGRAM, *map(str, words)], capture_output=True, text=True, env=environment(package), check=False
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def test_an_installed_packages_level_is_known_by_its_name(package: Path, stale: Path, tmp_path: Path) -> None:
    proof = tmp_path / "proof.json"
    assert program(package, "check", stale, "--level", "rt-si", "--certificate", proof).code == 1
    verified = program(package, "verify", stale, proof)  # a name is enough: no file has to be run
    assert verified.code == 0 and "the package time-levels" in verified.out, verified
    assert "the package time-levels" in program(package, "levels", "rt si").out
    assert program(package, "stats", stale).code == 0
    without = command("check", stale, "--level", "rt-si")
    assert without.code == 254 and "rt-si" in without.err


def test_a_package_that_cannot_be_loaded_is_named(package: Path, stale: Path) -> None:
    (package / "time_levels.py").write_text("1 / 0\n")
    ran = program(package, "check", stale, "--level", "rt-si")
    assert ran.code == 254 and "time-levels" in ran.err and "division by zero" in ran.err
    assert program(package, "check", stale, "--level", "si").code == 0, (
        "who asks for another level is not troubled"
    )


@pytest.mark.full
def test_installed_by_pip(stale: Path, tmp_path: Path) -> None:
    source, place = tmp_path / "source", tmp_path / "installed"
    source.mkdir()
    (source / "time_levels.py").write_text(CODE)
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
        '[project]\nname = "time-levels"\nversion = "1.0"\n'
        '[project.entry-points."boomslang.levels"]\nrt-si = "time_levels:real_time_si"\n'
        '[tool.setuptools]\npy-modules = ["time_levels"]\n'
    )
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", place, source],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"pip cannot build here: {done.stderr.strip().splitlines()[-1]}")
    assert program(place, "check", stale, "--level", "rt-si").code == 1
    write_trace(FRESH, fresh := tmp_path / "fresh.jsonl")
    assert program(place, "check", fresh, "--level", "real-time-si").code == 0
