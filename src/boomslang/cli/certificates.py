"""Certificate files: what they are called, and that they are never half there.

With one level the file is called what the user said; with several, each level's file has the level's short
name before the suffix. All targets are looked at before the work begins, for nobody wants to learn after an
hour that the folder does not exist. A file is written under another name and moved to its place when it is
whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from boomslang.cli.screen import Screen
from boomslang.errors import UsageError
from boomslang.levels import Level
from boomslang.verdict import UNKNOWN

if TYPE_CHECKING:
    from boomslang.cli.report import Answer

PIECE = 100_000
"""Numbers written at a time: a witness may hold millions, and Ctrl-C must not wait for them."""


class Certificates:
    """Where the certificates of one run go; nowhere, if the user did not ask for any."""

    def __init__(self, file: str | None, trace: str, *, several: bool) -> None:
        self.file = None if file is None else Path(file)
        self.trace = Path(trace)
        self.several = several
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

    def write(self, answer: Answer) -> None:
        """Writes the answer's certificate, if it has one; a failure is kept for `complain`."""
        path = self.path(answer.level)
        if path is None:
            return
        data = None if answer.verdict is None else answer.verdict.certificate()
        if data is None:
            if answer.status == UNKNOWN:
                self.missing.append(answer.level.title)
            return
        try:
            _write(path, data)
            answer.certificate = path
        except OSError as problem:
            self.problems.append(f"{path}: cannot write the certificate: {problem.strerror}")

    def complain(self, screen: Screen) -> None:
        """To be called when the answers, which are worth more, have been shown."""
        for title in self.missing:
            screen.warning(f"no certificate of {title} was written: there is none for unknown")
        if self.problems:
            raise UsageError("\n".join(self.problems))


def obstacle(path: Path, trace: Path | None) -> str:
    """Why a file cannot be written there, beside that trace; nothing if it can."""
    folder = path.parent
    if path.is_dir():
        return "it is a folder"
    if not folder.is_dir():
        return f"there is no folder {folder}"
    if trace is not None and path.exists() and trace.exists() and path.samefile(trace):
        return "it is the trace"
    if trace is not None and trace.is_dir() and folder.samefile(trace):
        return "the folder of the trace holds its sessions and nothing else"
    if not os.access(path if path.exists() else folder, os.W_OK):
        return "no permission"
    return ""


def _write(path: Path, data: dict[str, Any]) -> None:
    if path.exists() and not path.is_file():  # a pipe or a device: nothing to move over
        with path.open("w") as file:
            file.writelines(_pieces(data))
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("w") as file:
            _fill(file, data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _fill(file: IO[str], data: dict[str, Any]) -> None:
    file.writelines(_pieces(data))
    file.flush()
    os.fsync(file.fileno())


def _pieces(data: dict[str, Any]) -> Iterator[str]:
    """JSON, a field a line."""
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
