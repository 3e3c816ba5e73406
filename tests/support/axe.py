"""axe-core in the tests' browser: a checker of pages for those who use a keyboard or a screen reader.

It is npm's package, fetched once and kept as servers from there are. Where it cannot be had, tests say so.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from boomslang.databases.servers.packages import ServerMissing, npm_package
from support.browser import Browser

VERSION = "4.10.3"
GRAVE = ("serious", "critical")


@cache
def axe() -> str:
    """Its script; skips the test if it cannot be had."""
    try:
        return (npm_package("axe-core", VERSION) / "axe.min.js").read_text(encoding="utf-8")
    except ServerMissing as problem:
        pytest.skip(
            f"npm's axe-core cannot be had here ({problem}): nobody looked whether the page is accessible"
        )


def violations(browser: Browser) -> list[str]:
    """What is seriously or critically wrong with the page that is open, with where it is."""
    browser.call("Runtime.evaluate", expression=axe())
    found: list[dict[str, Any]] = browser.js(
        "axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations.map((v) => "
        "({id: v.id, impact: v.impact, help: v.help, where: v.nodes.slice(0, 4).map((n) => n.html.slice(0, 160))})))"
    )
    return [json.dumps(each) for each in found if each["impact"] in GRAVE]
