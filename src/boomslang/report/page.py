"""From data to one HTML file that runs nothing but its own scripts.

The trace is somebody else's data, so nothing of it ever meets an HTML parser: it travels as JSON whose `<`, `>` and `&`
are spelled out, and the scripts put it on the page as text. Should that fail one day, the page's own security policy
still stands: no network at all, and only the one script and the one style sheet whose hashes it names.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import Any

ASSETS = Path(__file__).parent / "assets"
SCRIPTS = ("dom", "selection", "argument", "graph", "timeline", "inspector", "figures", "main")
"""In the order in which they build on one another."""
_SPELLED_OUT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def make_page(data: dict[str, Any], title: str, plain: str, generator: str) -> str:
    """The page: `data` for the scripts, `plain` for whoever runs none."""
    style, script = style_of("page"), _script()
    policy = (
        f"default-src 'none'; script-src '{hash_of(script)}'; style-src '{hash_of(style)}'; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    return Template(asset("page.html")).substitute(
        head=head_of(
            title=escape(title),
            generator=escape(generator),
            policy=escape(policy, quote=False),
            style=style,
        ),
        plain=escape(plain),
        brand=asset("brand.html"),
        script=script,
        data=as_json(data),
    )


def as_json(data: dict[str, Any]) -> str:
    """JSON that can stand inside a script element: in ASCII, and without what could end it or begin a comment."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for letter, spelled in _SPELLED_OUT.items():
        text = text.replace(letter, spelled)
    return text


@cache
def asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def head_of(*, title: str, generator: str, style: str, policy: str | None = None) -> str:
    """The head that pages share, up to their bodies; what it is given is HTML. No policy: it comes with the answer."""
    told = "" if policy is None else f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    return Template(asset("head.html")).substitute(title=title, generator=generator, policy=told, style=style)


def style_of(*parts: str) -> str:
    """The look that all pages share, and what some kind of page has beside it."""
    return "\n".join(asset(f"{name}.css") for name in ("look", *parts))


@cache
def _script() -> str:
    """All scripts, with a scope of their own."""
    return "(() => {\n'use strict';\n" + "\n".join(asset(f"{name}.js") for name in SCRIPTS) + "})();"


def hash_of(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
