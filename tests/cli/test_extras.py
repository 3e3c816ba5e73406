"""The packages that messages name are those that the extras bring."""

from __future__ import annotations

import re
from importlib import metadata

import pytest
from support.paths import ROOT

import boomslang
from boomslang.extras import DISTRIBUTION, PACKAGES, how_to_install


def test_packages_are_those_of_the_extras() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    section = text.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    brought = dict(re.findall(r'^([\w-]+) = \["([\w-]+(?:\[\w+\])?)[^"\]]*"\]$', section, re.M))
    single = {name: package for name, package in brought.items() if not package.startswith(DISTRIBUTION)}
    for own in ("site", "reproduce"):  # for a checkout's own use: no message speaks of them
        del single[own]
    assert single == PACKAGES


def test_nobody_is_sent_to_a_registry_for_the_short_name() -> None:
    """It belongs to another package there."""
    for path in (*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")):
        assert not re.search(r"pip install ['\"]?boomslang(?!-checker)", path.read_text()), path
    assert how_to_install("postgres") == "pip install 'boomslang-checker[postgres]'"
    with pytest.raises(KeyError, match="expected one of"):
        how_to_install("no such extra")


def test_the_distribution_has_one_name() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert f'\nname = "{DISTRIBUTION}"\n' in text
    assert not re.search(r'"boomslang\[', text), "extras that name extras"
    assert metadata.version(DISTRIBUTION) == boomslang.__version__
