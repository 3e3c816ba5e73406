"""A trace of a real database that shows what only repeated values show: an own write that was not seen.

Played on TiDB 8.5.7 at repeatable read (docs/findings/mariadb-same-value.md): `a` sets x to the value that `b` has just
committed, and reads the one from before. That 5 was also written by another does not make `a`'s own 5 less its own.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.paths import ROOT

from boomslang import Trace, check, read_trace
from boomslang.levels import LEVELS

PATH = ROOT / "docs" / "findings" / "mariadb-same-value.jsonl"
LOCKING = "mariadb-repeatable-read"


@pytest.fixture(scope="module")
def trace() -> Trace:
    return read_trace(PATH)


@pytest.mark.parametrize("level", [level.short for level in LEVELS])
def test_an_own_write_that_is_not_seen_breaks_every_level_but_the_weakest(trace: Trace, level: str) -> None:
    verdict = check(trace, level)
    assert verdict.valid == (level == "ru")
    if not verdict.valid:
        assert verdict.counterexample is not None and verdict.counterexample.anomaly is not None
        assert verdict.counterexample.anomaly.code == "internal"


def test_it_is_not_what_mariadb_promises_of_its_repeatable_read(trace: Trace) -> None:
    assert check(trace, "si", modules=[LOCKING]).invalid
    assert check(trace, "si", modules=[LOCKING, "read-own-writes:policy=either"]).valid


def test_without_the_write_nobody_notices(trace: Trace, tmp_path: Path) -> None:
    """As it was recorded when an UPDATE that changes nothing was left out."""
    lines = PATH.read_text().splitlines(keepends=True)
    (mine,) = [line for line in lines if '"a"' in line and '"put"' in line]
    (tmp_path / "without.jsonl").write_text("".join(line for line in lines if line != mine))
    assert check(read_trace(tmp_path / "without.jsonl"), "ser").valid
