"""A hook of the site's builder: what pages say to readers of a checkout, said so that it also holds on the site.

Links that lead out of docs/, to example programs, cannot be followed there: their text stays, with the file's path.
Blocks such as `json file=NAME` are named for the tests; the site gets the language alone. The theme would fetch the
worker of its search from the network; file_worker.js stands in for it. Pages of no section get the room of the list of
pages beside them, which would name only themselves.
"""

from __future__ import annotations

import posixpath
import re
import shutil
from pathlib import Path
from typing import Any

LINK = re.compile(r"(?<!!)\[(?P<text>[^\]\n]+)\]\((?P<to>(?:\.\./)+[^)#\s]+)\)")
FENCE = re.compile(r"^(?P<mark>`{3,})(?P<language>\w+) file=\S+$", re.MULTILINE)


def without_ways_out(markdown: str, page: str) -> str:
    def plain(match: re.Match[str]) -> str:
        goal = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), match["to"]))
        return match[0] if goal.startswith("docs/") else f"{match['text']} (`{goal}`)"

    return FENCE.sub(r"\g<mark>\g<language>", LINK.sub(plain, markdown))


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    if page.parent is None:
        page.meta["hide"] = ["navigation"]
    return without_ways_out(markdown, page.file.src_uri)


def without_the_network(html: str, page: str) -> str:
    """The page, with our worker in the place of the one that would be fetched."""
    up = "../" * page.count("/")
    return re.sub(r"https://unpkg\.com/iframe-worker/shim", f"{up}assets/file_worker.js", html)


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    return without_the_network(output, page.file.dest_uri)


def on_post_build(*, config: Any, **_: Any) -> None:
    shutil.copy(Path(__file__).with_name("file_worker.js"), Path(config["site_dir"]) / "assets")
