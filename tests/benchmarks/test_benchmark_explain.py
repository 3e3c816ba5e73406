"""The benchmark of explanations: it asks about what it planted, and measures what it says it does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import explain
import pytest
from simulate import PLANTS, compiler, generate

try:
    compiler()
except SystemExit as missing:
    pytest.skip(str(missing), allow_module_level=True)


def test_everything_that_can_be_planted_is() -> None:
    assert set(explain.PLANTED) == set(PLANTS) - {"none"}


@pytest.mark.parametrize("plant", ["lost-update", "long-fork", "stale-read"])
def test_a_planted_violation_is_measured(plant: str, tmp_path: Path) -> None:
    questions = [q for q in explain.questions(200) if q[0].plant == plant]
    assert questions
    history, level, smallest, name = questions[0]
    path = tmp_path / "trace.jsonl"
    generate(replace(history, keys=50), path)
    found = explain.measure(path, level)
    assert (found["core"], found["name"]) == (smallest, name)
    assert 0 < found["explain"] < explain.LIMIT and found["answer"] > 0 and 0 < found["lines"] < 40
