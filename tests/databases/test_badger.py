"""The recorder in Go of examples/badger: what it writes is a trace, and Badger's phantoms are in it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.paths import ROOT

from boomslang import check, read_trace

EXAMPLE = ROOT / "examples" / "badger"

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("go") is None:
        pytest.skip("no Go here: Badger was not run (its example is examples/badger)")
    built = tmp_path_factory.mktemp("badger") / "badger"
    made = subprocess.run(
        ["go", "build", "-o", built, "."], cwd=EXAMPLE, capture_output=True, text=True, timeout=600,
        env={**os.environ, "GOFLAGS": "-mod=readonly"},
    )  # fmt: skip
    if made.returncode and ("dial tcp" in made.stderr or "no such host" in made.stderr):
        pytest.skip(f"Badger cannot be had here: {made.stderr.strip()[:200]}")
    assert made.returncode == 0, made.stderr
    return built


def test_ranges_are_only_snapshot_isolation(program: Path, tmp_path: Path) -> None:
    subprocess.run([program, "range", tmp_path / "trace"], check=True, timeout=120)
    trace = read_trace(tmp_path / "trace")
    assert len(trace) == 4200 and trace.has_times and not trace.warnings
    assert check(trace, "si").valid
    verdict = check(trace, "ser")
    assert verdict.invalid and verdict.counterexample is not None
    assert verdict.counterexample.anomaly is not None and "phantom" in verdict.counterexample.anomaly.name


def test_single_keys_are_serializable(program: Path, tmp_path: Path) -> None:
    subprocess.run([program, "point", tmp_path / "trace"], check=True, timeout=120)
    trace = read_trace(tmp_path / "trace")
    assert (trace.txn_outcome == 1).any(), "some were refused"
    assert check(trace, "ser").valid


def test_it_says_how_it_is_used(program: Path, tmp_path: Path) -> None:
    wrong = subprocess.run(
        [program, "everything", tmp_path / "t"], capture_output=True, text=True, timeout=60
    )
    assert wrong.returncode == 1 and "usage: badger range|point FOLDER" in wrong.stderr
    assert not (tmp_path / "t").exists()
