"""Violations as programs, run: what `explain --as script` writes, on a database."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from boomslang.cli.main import main
from support.commands import environment


def written(trace: Path, file: Path, capsys: object, *words: str) -> Path:
    """The program of a trace's violation."""
    assert main(["explain", str(trace), "--as", "script", *words]) == 1
    file.write_text(capsys.readouterr().out)  # type: ignore[attr-defined]
    return file


def replayed(script: Path, *words: str) -> tuple[int, str]:
    """Its exit code, and all that it said."""
    done = subprocess.run(
        [sys.executable, "-I", str(script), *words],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr
