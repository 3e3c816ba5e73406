"""Reading a certificate in lines, one line at a time.

A certificate is as untrusted as a trace: every line has a bound, is JSON of a known shape, and what is not is
told with the number of its line. What its lines claim is for others to check.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeGuard

import numpy as np
from numpy.typing import NDArray

from boomslang.certify.lines.form import CHECK_WROTE, INITIAL, LONGEST, LONGEST_INITIAL, VERSION
from boomslang.errors import UsageError
from boomslang.trace._reader import Reader
from boomslang.trace.errors import TraceError
from boomslang.trace.reader import trace_of
from boomslang.trace.scalars import Code

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

LARGEST = 1 << 40
"""Beyond every line of a file."""
MANY_FILES = 1 << 20
"""More than a trace has. (So a place, line * MANY_FILES + file, is one number.)"""
_STARTS = re.compile(rb'\s*\{\s*"boomslang-certificate"\s*:\s*([0-9]+)\s*[,}]')


@dataclass(frozen=True)
class NewFile:
    """From here on this number means that file."""

    number: int
    name: str


@dataclass(frozen=True, eq=False)
class Part:
    """The next points of the order."""

    file: Ints
    line: Ints
    commit: Mask


@dataclass(frozen=True)
class Chosen:
    """What keys held at first."""

    items: list[tuple[Code, Code]]


@dataclass(frozen=True)
class Last:
    """Nothing follows."""

    transactions: int
    operations: int


Said = NewFile | Part | Chosen | Last


def version_of(path: Path) -> int:
    """Which version of the format a file says it has; 0: it does not begin like a certificate."""
    try:
        if path.exists() and not path.is_file():  # a pipe is read once, and holds no such certificate
            return 0
        with path.open("rb") as file:
            start = file.read(200)
    except OSError as problem:
        raise UsageError(f"{path}: cannot read the certificate: {problem.strerror}; {CHECK_WROTE}") from None
    match = _STARTS.match(start)
    return int(match[1]) if match and len(match[1]) < 10 else 0


class Lines:
    """A certificate that is open."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path, self._file = path, file
        self.number = 0
        """Of the line that was read last."""
        head = self._next()
        if head is None or head.get("boomslang-certificate") != VERSION:
            raise UsageError(f"{path}: not a certificate of version {VERSION}; {CHECK_WROTE}")
        self.head = head
        level = head.get("level")
        if not isinstance(level, str):
            self.refuse(f"found {level!r} as the level; expected its name")
        self.level = level
        self.invalid = head.get("verdict") == "invalid"
        self.points = 0
        if not self.invalid:
            points = head.get("points")
            if points not in (1, 2) or isinstance(points, bool):
                self.refuse(f"found {points!r} points a transaction; expected 1 or 2")
            self.points = points

    def refuse(self, what: str) -> NoReturn:
        raise UsageError(f"{self.path}:{self.number}: a damaged certificate: {what}; {CHECK_WROTE}")

    def said(self) -> Iterator[Said]:
        """What its lines say, up to the last."""
        files: set[int] = set()
        while (told := self._next()) is not None:
            if "order" in told:
                yield self._part(told, files)
            elif "initial" in told:
                yield self._chosen(told)
            elif "file" in told:
                number, name = told.get("number"), told["file"]
                if (
                    not _is_number(number)
                    or number in files
                    or not isinstance(name, str)
                    or number >= MANY_FILES
                ):
                    self.refuse(f"found the file {name!r} with the number {number!r}")
                files.add(number)
                yield NewFile(number, name)
            elif told.get("verdict") == "valid":
                yield self._last(told)
                return
            else:
                self.refuse(f"found the fields {', '.join(map(repr, list(told)[:5]))}")
        raise UsageError(
            f"{self.path}: an incomplete certificate: its last line is missing, so it shows nothing; {CHECK_WROTE}, "
            "to its end"
        )

    def nothing_follows(self) -> None:
        if self._next() is not None:
            self.refuse("found a line after its last one")

    # --- one line

    def _next(self) -> dict[str, Any] | None:
        self._line = self._file.readline(LONGEST + 1)
        if len(self._line) > LONGEST and self._line.startswith(INITIAL):
            self._line += self._file.readline(LONGEST_INITIAL + 1 - LONGEST)
        self.number += 1
        if not self._line.strip():
            if self._line:
                self.refuse("found an empty line")
            return None
        longest = LONGEST_INITIAL if self._line.startswith(INITIAL) else LONGEST
        if len(self._line) > longest:
            self.refuse(f"found a line of more than {longest:,} bytes")
        try:
            told = json.loads(self._line)
        except (ValueError, RecursionError) as problem:
            torn = not self._line.endswith(b"\n")
            self.refuse("its last line is torn" if torn else f"found no JSON ({problem})")
        if not isinstance(told, dict):
            self.refuse("found no JSON object")
        return told

    def _part(self, told: dict[str, Any], files: set[int]) -> Part:
        line = self._numbers(told["order"], "order")
        named = told.get("file")
        if named is None:
            if len(files) != 1:
                self.refuse("found an order without its files")
            file = np.full(len(line), next(iter(files)), np.int64)
        else:
            file = self._numbers(named, "file")
            if len(file) != len(line) or not np.isin(file, list(files)).all():
                self.refuse("found an order whose files are not one for each point, and all named before")
        if self.points == 1:
            commit = np.ones(len(line), bool)
            if "points" in told:
                self.refuse("found the kinds of points where a transaction has only one")
        else:
            kinds = told.get("points")
            if not isinstance(kinds, str) or len(kinds) != len(line) or set(kinds) - {"b", "c"}:
                self.refuse("found an order whose points are not a letter b or c for each")
            commit = np.frombuffer(str(kinds).encode(), np.uint8) == ord("c")
        return Part(file, line, commit)

    def _numbers(self, data: Any, what: str) -> Ints:
        try:
            found = np.array(data if data != [] else np.zeros(0, np.int64))
        except (ValueError, OverflowError):
            found = np.array("")
        whole = isinstance(data, list) and found.ndim == 1 and found.dtype.kind in "iu"
        if not whole or (len(found) and (found.min() < 0 or found.max() >= LARGEST)):
            self.refuse(f"found something else than a list of whole numbers as its {what}")
        return found.astype(np.int64)

    def _chosen(self, told: dict[str, Any]) -> Chosen:
        """Read as the header of a trace is, so that both mean the same keys and values."""
        items = told["initial"]
        if set(told) != {"initial"} or not isinstance(items, dict) or set(items) != {"items"}:
            self.refuse("found an initial state that is no list of items")
        reader = Reader(1)
        try:
            reader.begin_file(str(self.path), None)
            reader.feed(b'{"boomslang": 1, ' + self._line.strip()[1:] + b"\n")
            reader.end_file()
            reader.settle()
            while reader.finish_step():
                pass
            trace = trace_of(reader.columns())
        except TraceError as problem:
            self.refuse(f"in its initial state, {problem.message}")
        keys, values = trace.keys.codes(), trace.values.codes()
        pairs = zip(trace.initial_key.tolist(), trace.initial_value.tolist(), strict=True)
        return Chosen([(keys[k], values[v]) for k, v in pairs])

    def _last(self, told: dict[str, Any]) -> Last:
        counts = told.get("transactions"), told.get("operations")
        if not all(map(_is_number, counts)):
            self.refuse("found a last line without the numbers of its transactions and operations")
        return Last(*(int(count) for count in counts if count is not None))


def _is_number(data: Any) -> TypeGuard[int]:
    return isinstance(data, int) and not isinstance(data, bool) and 0 <= data < LARGEST
