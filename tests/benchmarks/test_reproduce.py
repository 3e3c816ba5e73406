"""The script that reproduces the paper's evaluation: tiny sizes, same page; and it goes on where it stopped."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT

pytest.importorskip("clingo")


def reproduce(folder: Path, *words: str) -> str:
    script = ROOT / "benchmarks" / "reproduce.py"
    places = ["--store", str(folder / "cells"), "--out", str(folder / "page.md")]
    command = [sys.executable, str(script), "--quick", "--limit", "20", *places, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return (folder / "page.md").read_text()


def test_what_cannot_be_had_is_said(tmp_path: Path) -> None:
    page = reproduce(tmp_path, "--only", "combinations")
    assert page.count("\n| SER |") == 6 and "not here: needs a TiKV cluster" in page


@pytest.mark.full
def test_tiny_and_restarted(tmp_path: Path) -> None:
    first = reproduce(tmp_path, "--divide", "10", "--only", "ablation", "--only", "encodings")
    assert "all but prune" in first and "failed" not in first and "| valid |" in first
    cells = {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()}
    assert len(cells) == 13
    again = reproduce(tmp_path, "--divide", "10", "--only", "ablation", "--only", "encodings")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()} == cells
    assert again.splitlines()[6:] == first.splitlines()[6:]
