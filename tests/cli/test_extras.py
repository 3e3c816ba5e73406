"""The packages that messages name are those that the extras bring."""

from __future__ import annotations

import re

from support.paths import ROOT

from boomslang.extras import PACKAGES, how_to_install


def test_packages_are_those_of_the_extras() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    section = text.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    brought = dict(re.findall(r'^([\w-]+) = \["([\w-]+(?:\[\w+\])?)[^"\]]*"\]$', section, re.M))
    single = {name: package for name, package in brought.items() if not package.startswith("boomslang")}
    assert single == PACKAGES


def test_nobody_is_sent_to_a_registry_for_boomslang() -> None:
    """The name belongs to another package there."""
    for path in (*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")):
        if path.name != "extras.py":
            assert not re.search(r"pip install '?boomslang", path.read_text()), path
    assert how_to_install("postgres") == "pip install 'psycopg[binary]'"
