"""A hook of the site's builder: what pages say to readers of a checkout, said so that it also holds on the site.

Links that lead out of docs/, to example programs, cannot be followed there: their text stays, with the file's path.
Blocks such as `json file=NAME` are named for the tests; the site gets the language alone.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

LINK = re.compile(r"(?<!!)\[(?P<text>[^\]\n]+)\]\((?P<to>(?:\.\./)+[^)#\s]+)\)")
FENCE = re.compile(r"^(?P<mark>`{3,})(?P<language>\w+) file=\S+$", re.MULTILINE)


def without_ways_out(markdown: str, page: str) -> str:
    def plain(match: re.Match[str]) -> str:
        goal = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), match["to"]))
        return match[0] if goal.startswith("docs/") else f"{match['text']} (`{goal}`)"

    return FENCE.sub(r"\g<mark>\g<language>", LINK.sub(plain, markdown))


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    return without_ways_out(markdown, page.file.src_uri)
