"""`--jobs`: the answer is the same with any number of threads."""

from __future__ import annotations

from pathlib import Path

import pytest

from boomslang.cli.main import main

TRACE = str(Path(__file__).parents[2] / "examples" / "write-skew.jsonl")


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[str]]:
    code = main([*words])
    return code, [line for line in capsys.readouterr().out.splitlines() if "read in" not in line]


def test_the_answer_is_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    plain = answer(capsys, "check", TRACE, "--level", "ser,si")
    assert plain[0] == 1
    for jobs in ("1", "2", "999999"):
        assert answer(capsys, "check", TRACE, "--level", "ser,si", "--jobs", jobs) == plain


@pytest.mark.parametrize("jobs", ["0", "-1", "two", "", "1.5"])
def test_what_is_no_number_of_threads(jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", TRACE, "--level", "ser", "--jobs", jobs]) == 254
    assert "expected a number above 0" in capsys.readouterr().err
