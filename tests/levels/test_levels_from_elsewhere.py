"""A level that Boomslang does not ship works like its own: in every command, in certificates, in brute force."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fuzz.traces import random_trace
from support.commands import command as run_boomslang
from support.histories import get, history, put, txn

import boomslang
from boomslang import UsageError, check
from boomslang.levels import Dependency, Level, Point, find_level, implies, known_levels, registry
from boomslang.levels.catalog import CAUSAL, PREFIX, SERIALIZABLE, SNAPSHOT_ISOLATION
from boomslang.solve.brute import brute
from boomslang.trace import write_trace

FILE = """
import boomslang
from boomslang.levels.catalog import PREFIX


@boomslang.level
def strong_prefix():
    return PREFIX.strong(
        "real-time-prefix", "rt-prefix", "real-time prefix consistency", "nobody, 2026", ("prefix-in-real-time",)
    )
"""
REAL_TIME_PREFIX = PREFIX.strong("real-time-prefix", "rt-prefix", "real-time prefix", "nobody, 2026", ())


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    registry._registered.clear()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return path


STALE = history(
    txn("A", put("x", 1), time=(0, 10)),
    txn("B", get("x", boomslang.Absent), time=(20, 30)),
)
FRESH = history(txn("A", put("x", 1), time=(0, 10)), txn("B", get("x", 1), time=(20, 30)))


def test_registered_in_python() -> None:
    boomslang.level(REAL_TIME_PREFIX)
    assert find_level("RT prefix") is REAL_TIME_PREFIX
    assert check(STALE, "rt-prefix").invalid and check(FRESH, "real-time-prefix").valid
    assert check(STALE, "prefix").valid
    assert implies(REAL_TIME_PREFIX, PREFIX) and not implies(PREFIX, REAL_TIME_PREFIX)
    assert REAL_TIME_PREFIX in known_levels()


def test_as_an_object_without_being_registered() -> None:
    verdict = check(STALE, REAL_TIME_PREFIX)
    assert verdict.invalid and verdict.counterexample is not None
    assert "real-time order included" in "\n".join(verdict.counterexample.lines())


def test_in_every_command(file: Path, tmp_path: Path) -> None:
    for name, trace, code in (("stale", STALE, 1), ("fresh", FRESH, 0)):
        path, certificate = tmp_path / f"{name}.jsonl", tmp_path / f"{name}.json"
        write_trace(trace, path)
        level = ("--level", str(file))
        found = run_boomslang("check", str(path), *level, "--certificate", str(certificate))
        assert found.code == code, found.out + found.err
        assert json.loads(certificate.read_text())["level"] == "real-time-prefix"
        verified = run_boomslang("verify", str(path), str(certificate), *level)
        assert verified.code == 0 and "right" in verified.out and "nobody, 2026" in verified.out, verified.out
        assert run_boomslang("explain", str(path), *level).code == code
        assert run_boomslang("check", str(path), *level, "--solver", "z3").code == code
        assert "points 2" in run_boomslang("ir", str(path), *level).out
        assert run_boomslang("export", str(path), "-", *level, "--to", "smtlib").code == 0
    listed = run_boomslang("levels", str(file)).out
    assert "real-time-prefix" in listed and "the file" in listed and "implies" in listed


def test_a_certificate_does_not_run_files(file: Path, tmp_path: Path) -> None:
    path, certificate = tmp_path / "stale.jsonl", tmp_path / "stale.json"
    write_trace(STALE, path)
    run_boomslang("check", str(path), "--level", str(file), "--certificate", str(certificate))
    registry._registered.clear()
    found = run_boomslang("verify", str(path), str(certificate))
    assert found.code == 254 and "--level FILE.py" in found.err


def test_a_forged_certificate_is_refused(file: Path, tmp_path: Path) -> None:
    path, certificate = tmp_path / "fresh.jsonl", tmp_path / "fresh.json"
    write_trace(FRESH, path)
    run_boomslang("check", str(path), "--level", str(file), "--certificate", str(certificate))
    data = json.loads(certificate.read_text())
    data["order"] = data["order"][::-1]
    certificate.write_text(json.dumps(data))
    assert run_boomslang("verify", str(path), str(certificate), "--level", str(file)).code == 1


@pytest.mark.parametrize(
    "made",
    [
        replace(REAL_TIME_PREFIX, name="mine", short="mine", aliases=()),
        replace(
            CAUSAL, name="mine", short="mine", aliases=(), title="mine",
            edges={**CAUSAL.edges, Dependency.SO: (Point.ONLY, Point.ONLY)},
        ),
        replace(
            SERIALIZABLE, name="mine", short="mine", aliases=(), title="mine",
            edges={k: v for k, v in SERIALIZABLE.edges.items() if k != Dependency.PRW}
            | {Dependency.RT: (Point.ONLY, Point.ONLY)},
        ),
    ],
)  # fmt: skip
def test_agrees_with_brute_force(made: Level) -> None:
    boomslang.level(made)
    counts = {True: 0, False: 0}
    for seed in range(30):
        trace = random_trace(seed, "sessions")
        if len(trace) > 6:
            continue
        verdict = check(trace, made)
        if not (verdict.valid or verdict.invalid):
            continue
        assert verdict.valid == brute(trace, "mine"), seed
        counts[verdict.valid] += 1
    assert min(counts.values()) > 0


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"name": "serializable"}, "the name 'serializable' is taken"),
        ({"edges": {Dependency.WW: (Point.ONLY, Point.ONLY)}}, "no edges for wr, pwr"),
        ({"citation": ""}, "has no citation"),
        (
            {"edges": {**SNAPSHOT_ISOLATION.edges, Dependency.RW: (Point.COMMIT, Point.BEGIN)}},
            "rw from C to B; expected B to C for rw",
        ),
        ({"once": CAUSAL.once}, "two points"),
    ],
)
def test_refused(change: dict[str, Any], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        boomslang.level(replace(REAL_TIME_PREFIX, **change))


def test_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file"):
        find_level(str(tmp_path / "nothing.py"))
    (tmp_path / "empty.py").write_text("x = 1\n")
    with pytest.raises(UsageError, match="has no level"):
        find_level(str(tmp_path / "empty.py"))
    (tmp_path / "bad.py").write_text("1 / 0\n")
    with pytest.raises(UsageError, match="ZeroDivisionError"):
        find_level(str(tmp_path / "bad.py"))
    two = FILE + FILE.split("\n\n\n")[1].replace("real-time-prefix", "other").replace("rt-prefix", "o")
    (tmp_path / "two.py").write_text(two.replace('"prefix-in-real-time",', ""))
    with pytest.raises(UsageError, match="say which"):
        find_level(str(tmp_path / "two.py"))
    assert find_level(f"{tmp_path / 'two.py'}:other").short == "o"


def test_vendors_names(tmp_path: Path) -> None:
    """`mariadb-repeatable-read` is snapshot isolation with its module."""
    verdict = check(FRESH, "MariaDB repeatable-read")
    assert verdict.level is SNAPSHOT_ISOLATION and verdict.modules == (
        "mariadb-repeatable-read:locks=released",
    )
    path = tmp_path / "t.jsonl"
    write_trace(FRESH, path)
    found = run_boomslang("check", str(path), "--level", "mysql-repeatable-read")
    assert found.code == 0 and "mariadb-repeatable-read" in found.out
    found = run_boomslang("check", str(path), "--level", "mysql-repeatable-read,ser")
    assert found.code == 254 and "ask for it alone" in found.err
    assert check(FRESH, "postgresql-repeatable-read").modules == ()
