"""No page states a measured figure by hand: each names the command that wrote it, and prose has none."""

from __future__ import annotations

import re
from pathlib import Path

import measured_pages
import pytest
from support.paths import ROOT

FIGURE = re.compile(r"\b\d[\d,.]* ?(?:ms|s|seconds|minutes|hours|MB|GB|times as \w+)\b|\b\d[\d,]* lines\b")
KEPT = re.compile(r"```.*?```|<!-- generated.*?<!-- end -->|`[^`]*`", re.DOTALL)
LIMITS = ("beyond 64 MB", "beyond 16 MB", "(64 MB again", "nesting beyond 64, lines")
"""What the program promises, and nobody measured."""
BOUND = re.compile(r"within \d+ ?m?s\b")
"""What is asked for."""


def test_commands_of_pages_are_there() -> None:
    found = measured_pages.pages()
    assert {"benchmarks", "benchmarks-formats", "loc", "encodings", "scaling", "corpus"} <= set(found)
    for script, _ in found.values():
        assert (ROOT / script).is_file(), script


def prose(text: str) -> str:
    text = KEPT.sub("", text)
    for limit in LIMITS:
        text = text.replace(limit, "")
    return BOUND.sub("within", text)


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.stem)
def test_prose_has_no_measured_figures(path: Path) -> None:
    if path.stem not in measured_pages.pages():
        assert not FIGURE.findall(prose(path.read_text()))


def test_what_a_figure_is() -> None:
    assert FIGURE.findall(prose("It took 3.5 s and 200 MB, fewer than 200 lines; `20 s` is an option.")) == [
        "3.5 s",
        "200 MB",
        "200 lines",
    ]
    assert not FIGURE.findall(prose("```\nread in 0.01 s\n```\n30 keys, 5 sessions"))


def test_pages_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert measured_pages.main([]) == 0
    assert "docs/loc.md: python benchmarks/loc.py --write" in capsys.readouterr().out
    assert measured_pages.main(["nothing"]) == 2
