"""The only place that prints.

A trace is somebody else's data: a key may hold an escape sequence that clears the terminal or retitles its
window. So every line passes through `escape` here, and nothing else in the package writes to a terminal. On a
terminal lines are coloured (unless NO_COLOR is set, see no-color.org) and wrapped with a hanging indent;
anywhere else they are plain text, one line each, whatever the width.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

from boomslang.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

Part = str | tuple[str, str]
"""A piece of a line: text, or text and its style."""


def escape(text: str) -> str:
    """The text with everything that is not printable spelled out, as repr would."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def console(stream: TextIO) -> Console:
    """A rich console for a terminal, without any of rich's guesses about what the text means."""
    from rich.console import Console

    plain = bool(os.environ.get("NO_COLOR"))
    return Console(
        file=stream, highlight=False, markup=False, emoji=False, force_terminal=True, no_color=plain,
        color_system=None if plain else "auto",
    )  # fmt: skip


class Screen:
    """Standard output for answers, standard error for everything about how they came to be."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.closed = False
        """Whoever read our output has gone; there is no point in printing more."""
        self._consoles: dict[int, Console] = {}
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")

    def line(self, *parts: Part, indent: int = 0, hang: int = 2) -> None:
        """A line of the answer; where it must be wrapped, it goes on `hang` columns further in."""
        if not self.quiet:
            self._print(sys.stdout, parts, indent, hang)

    def document(self, data: Any) -> None:
        """An answer for programs: JSON in ASCII, so that it holds nothing a terminal could obey."""
        import json

        self._write(sys.stdout, json.dumps(data, indent=2) + "\n")

    def text(self, text: str) -> None:
        """An answer for programs in a format of its own, line by line: what a terminal could obey is spelled out."""
        self._write(sys.stdout, "\n".join(escape(line) for line in text.split("\n")))

    def json_line(self, text: str) -> None:
        """A line of JSON Lines as it is, but in ASCII: what is not can only stand in a string, so it can be spelled
        out."""
        import json

        ascii_text = "".join(c if " " <= c <= "~" else json.dumps(c)[1:-1] for c in text.rstrip("\n"))
        self._write(sys.stdout, ascii_text.replace("\x7f", "\\u007f") + "\n")

    def note(self, text: str) -> None:
        """How it goes, while there is no answer yet."""
        if not self.quiet:
            self._print(sys.stderr, [(text, "dim")])
            self._write(sys.stderr, "", flush=True)

    def warning(self, text: str) -> None:
        self._print(sys.stderr, [("warning: ", "yellow"), text])

    def error(self, text: str) -> None:
        for n, line in enumerate(text.split("\n")):
            self._print(sys.stderr, [line] if n else [("boomslang: ", "bold red"), line])

    def flush(self) -> None:
        self._write(sys.stdout, "", flush=True)

    def _print(self, stream: TextIO, parts: Sequence[Part], indent: int = 0, hang: int = 2) -> None:
        pieces = [(escape(p), "") if isinstance(p, str) else (escape(p[0]), p[1]) for p in parts]
        if not is_terminal(stream):
            self._write(stream, " " * indent + "".join(text for text, _ in pieces) + "\n")
            return
        from rich.text import Text

        target = self._consoles.setdefault(id(stream), console(stream))
        lines = Text.assemble(*pieces).wrap(target, max(20, target.width - indent - hang))
        for n, text in enumerate(lines or [Text()]):
            text.rstrip()
            target.print(Text(" " * (indent + hang if n else indent)) + text)

    def _write(self, stream: TextIO, text: str, *, flush: bool = False) -> None:
        if self.closed and stream is sys.stdout:
            return
        try:
            stream.write(text)
            if flush:
                stream.flush()
        except OSError as problem:
            self.closed = True
            # What is left in the buffer must not fail again when Python exits.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            if not isinstance(problem, BrokenPipeError):
                raise UsageError(f"cannot write the output: {problem.strerror}") from None
