"""Certificate files: what they are called, and that they are never half there.

With one level the file is called what the user said; with several, each level's file has the level's short
name before the suffix. All targets are looked at before the work begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boomslang.cli.output_files import obstacle, write_whole
from boomslang.cli.screen import Screen
from boomslang.errors import UsageError
from boomslang.levels import Level
from boomslang.storage import located
from boomslang.verdict import UNKNOWN

if TYPE_CHECKING:
    from boomslang.cli.answer import Answer

PIECE = 100_000
"""Numbers written at a time: a witness may hold millions, and Ctrl-C must not wait for them."""


class Certificates:
    """Where the certificates of one run go; nowhere, if the user did not ask for any."""

    def __init__(self, file: str | None, trace: str, *, several: bool) -> None:
        self.file = None if file is None else located(file)
        self.trace = located(trace)
        self.several = several
        self.paths: list[Path] = []
        """All that were prepared."""
        self.problems: list[str] = []
        self.missing: list[str] = []

    def path(self, level: Level) -> Path | None:
        if self.file is None or not self.several:
            return self.file
        return self.file.with_name(f"{self.file.stem}.{level.short}{self.file.suffix}")

    def prepare(self, level: Level) -> None:
        """Raises if the level's certificate could not be written."""
        path = self.path(level)
        if path is None:
            return
        problem = obstacle(path, self.trace)
        if problem:
            raise UsageError(f"{path}: cannot write the certificate: {problem}")
        self.paths.append(path)

    def keep_apart(self, level: Level, report: str | None) -> None:
        """Raises if the level's certificate and the report would be one file."""
        path = self.path(level)
        if path is not None and report is not None and path.resolve() == located(report).resolve():
            raise UsageError(f"{path}: --certificate and --report name the same file; fix: name two")

    def write(self, answer: Answer) -> None:
        """Writes the answer's certificate, if it has one; a failure is kept for `complain`."""
        path = self.path(answer.level)
        if path is None:
            return
        pieces = certificate_of(answer)
        if pieces is None:
            if answer.status == UNKNOWN:
                self.missing.append(answer.level.title)
            return
        try:
            write_whole(path, pieces)
            answer.certificate = path
        except OSError as problem:
            self.problems.append(f"{path}: cannot write the certificate: {problem.strerror}")

    def complain(self, screen: Screen) -> None:
        """To be called when the answers, which are worth more, have been shown."""
        for title in self.missing:
            screen.warning(f"no certificate of {title} was written: there is none for unknown")
        if self.problems:
            raise UsageError("\n".join(self.problems))


def certificate_of(answer: Answer) -> Iterator[str] | None:
    """The text of an answer's certificate; None if it has none."""
    data = None if answer.verdict is None else answer.verdict.certificate()
    return None if data is None else _pieces(data)


def _pieces(data: dict[str, Any]) -> Iterator[str]:
    """JSON, a field a line."""
    import json

    separator = "{"
    for name, value in data.items():
        yield f"{separator}{json.dumps(name)}: "
        separator = ",\n "
        if not isinstance(value, list):
            yield json.dumps(value)
            continue
        for at in range(0, len(value), PIECE):
            yield ("[" if at == 0 else ", ") + json.dumps(value[at : at + PIECE])[1:-1]
        yield "]" if value else "[]"
    yield "}\n"
