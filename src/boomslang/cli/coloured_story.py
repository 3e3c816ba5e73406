"""A story in colours: transactions, the places of operations, what follows from what, and the end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from boomslang.cli.screen import Part, Screen

_TOKEN = re.compile(
    r"(?P<number>^\d+\. )|(?P<txn>\bT\d+\b)|(?P<dim> \((?:operation |[^()]*:)\d+\)|\[from [\d, ]+\]$)"
)
_STYLES = {"number": "dim", "txn": "cyan", "dim": "dim"}


def show_story(lines: Iterable[str], screen: Screen) -> None:
    """The lines, two columns in; the first of them is what happened."""
    for n, line in enumerate(lines):
        text = line.lstrip()
        screen.line(*styled(text, first=n == 0), indent=2 + len(line) - len(text))


def styled(text: str, *, first: bool = False) -> Iterator[Part]:
    """A line in pieces with their styles."""
    if first or text.startswith("=>"):
        yield (text, "bold")
        return
    at = 0
    for token in _TOKEN.finditer(text):
        if token.start() > at:
            yield text[at : token.start()]
        assert token.lastgroup is not None
        yield (token[0], _STYLES[token.lastgroup])
        at = token.end()
    if at < len(text):
        yield text[at:]
