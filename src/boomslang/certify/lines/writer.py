"""Writing a certificate as it grows.

Parts of the order come as they are found, and go to a file beside the one that is asked for. Only when the
last line is written does the certificate get its name: what is there is whole, whatever happened to the
checker. (And its last line says so: a certificate without it shows nothing.)

What was written may have to change places later, when a read says which of two writers came last (`rearrange`). The
same points then stand in the same lines in another order, so these take as many bytes, and are written over.
"""

from __future__ import annotations

import json
import os
import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from types import TracebackType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from boomslang.certify.certificate import Core
from boomslang.certify.lines.form import SOME_VALUE, VERSION, json_of
from boomslang.certify.lines.proof_places import proof_to_json
from boomslang.storage import is_address
from boomslang.trace.model import Trace
from boomslang.trace.scalars import Code, Scalars
from boomslang.trace.writer import JsonTexts

__all__ = ["SOME_VALUE", "Writer", "refutation"]

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

POINTS = 20_000
"""Of one line, at most."""
BYTES = 1 << 20
"""Of one line with initial values, about."""


class Writer:
    """A certificate of *valid* that is being written. Used with `with`: left before `finish`, nothing is there."""

    def __init__(self, path: Path, level: str, points: int, name_of: Callable[[int], str]) -> None:
        """`level`: its full name. `points`: of a transaction, 1 or 2. `name_of`: the name of a file of the
        trace, by its number; of a path, the last part counts."""
        self.path, self.points, self.name_of = path, points, name_of
        self.placed = 0
        """Transactions, so far."""
        self._named: set[int] = set()
        self._point: list[int] = []  # of each line with points, which one it starts with
        self._start: list[int] = []  # and where it stands in the file
        self._points = self._bytes = 0
        beside = not is_address(path) and (path.is_file() or not path.exists())
        if beside:
            self._temporary = path.with_name(f".{path.name}.{os.getpid()}")
        else:  # an object of a cloud's storage, or a pipe: written when it is whole
            descriptor, name = tempfile.mkstemp(prefix="boomslang-certificate-")
            os.close(descriptor)
            self._temporary = Path(name)
        self._beside = beside
        self._file = self._temporary.open("w+b")
        self._line({"boomslang-certificate": VERSION, "level": level, "points": points})

    def take(
        self,
        file: Ints,
        line: Ints,
        commit: Mask | None = None,
        initial: Iterable[tuple[Code, Code | None]] = (),
    ) -> None:
        """The next points of the order: of each the number of its transaction's file, the line of its begin,
        and, with two points a transaction, whether it is the commit. `initial`: keys whose initial value was
        open until here, and what it was; None: absent. They are not yet read or written by what was taken
        before. `SOME_VALUE` stands for a value that nobody names."""
        self._chosen([(key, value) for key, value in initial if value is not None])
        for f in np.unique(file).tolist():
            if f not in self._named:
                self._named.add(f)
                self._line({"file": PurePath(self.name_of(f)).name, "number": f})
        for at in range(0, len(line), POINTS):
            part = slice(at, at + POINTS)
            told: dict[str, Any] = {"order": line[part].tolist()}
            if len(self._named) > 1:
                told["file"] = file[part].tolist()
            if commit is not None:
                told["points"] = np.where(commit[part], b"c", b"b").tobytes().decode()
            self._point.append(self._points)
            self._start.append(self._bytes)
            self._points += len(told["order"])
            self._line(told)
        self.placed += len(line) if commit is None else int(commit.sum())

    def _chosen(self, pairs: Sequence[tuple[Code, Code]]) -> None:
        keys = JsonTexts(Scalars.of_codes(key for key, _ in pairs))
        values = JsonTexts(Scalars.of_codes(value for _, value in pairs))
        items: list[str] = []
        size = 0
        for i in range(len(pairs)):
            items.append(f"[{keys[i]}, {values[i]}]")
            size += len(items[-1])
            if size > BYTES or i == len(pairs) - 1:
                self._text(f'{{"initial": {{"items": [{", ".join(items)}]}}}}\n')
                items, size = [], 0

    def finish(self, operations: int) -> None:
        """All points are there, and their transactions have so many operations. Now it has its name."""
        self._line({"verdict": "valid", "transactions": self.placed, "operations": operations})
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        if self._beside:
            self._temporary.replace(self.path)
            return
        with self._temporary.open(encoding="utf-8") as whole:
            if is_address(self.path):
                cast(Any, self.path).write_pieces(_pieces(whole))
            else:
                with self.path.open("w", encoding="utf-8") as target:
                    target.writelines(whole)
        self._temporary.unlink()

    def abandon(self) -> None:
        """It will not be finished. (After `finish` this does nothing.)"""
        self._file.close()
        self._temporary.unlink(missing_ok=True)

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.abandon()

    def _line(self, told: dict[str, Any]) -> None:
        self._text(json.dumps(told, ensure_ascii=False) + "\n")

    def _text(self, text: str) -> None:
        self._bytes += self._file.write(text.encode())

    def rearrange(self, first: int, source: Ints) -> None:
        """Of all points that were taken, those from number `first` on: where each comes from, counted from there."""
        line = bisect_right(self._point, first) - 1
        end = bisect_left(self._point, first + len(source))
        starts = self._start[line:end]
        self._file.seek(starts[0])
        lines = [self._file.readline() for _ in starts]
        told, text = [json.loads(text) for text in lines], b""
        for name in ("order", "file", "points"):
            whole = [x for part in told for x in part.get(name, ())]
            if whole:
                low = first - self._point[line]
                whole[low : low + len(source)] = [whole[low + i] for i in source.tolist()]
                for part in told:
                    mine, whole = whole[: len(part[name])], whole[len(part[name]) :]
                    part[name] = "".join(mine) if name == "points" else mine
        for i, part in enumerate(told):
            self._start[line + i] = starts[0] + len(text)
            text += json.dumps(part, ensure_ascii=False).encode() + b"\n"
        assert len(text) == sum(map(len, lines))
        self._file.seek(starts[0])
        self._file.write(text)
        self._file.seek(0, os.SEEK_END)


def _pieces(file: Iterable[str]) -> Iterator[str]:
    yield from file


def refutation(trace: Trace, core: Core, **more: Any) -> Iterator[str]:
    """The text of a certificate of *invalid*, one line. `trace`: any that holds the core's transactions, and
    whose lines and file names are those that the user has (see `Block.with_places`); `more`: further fields,
    such as the explanation."""
    if core.modules or core.encoding:
        raise ValueError("a certificate in lines takes no modules and no encoding")
    owner = {row: trace.owner(row) for row, _ in core.reads}
    told: dict[str, Any] = {
        "transactions": [_place(trace, t) for t in core.transactions],
        "reads": [
            [_file(trace, owner[row]), int(trace.op_line[row]), json_of(trace.keys[key])]
            for row, key in core.reads
        ],
    }
    if core.proof is not None and (proof := proof_to_json(trace, core.proof)) is not None:
        told["proof"] = proof
    head = {
        "boomslang-certificate": VERSION,
        "verdict": "invalid",
        "level": core.level,
        "core": told,
    }
    yield json.dumps({**head, **more}, ensure_ascii=False) + "\n"


def _file(trace: Trace, t: int) -> str:
    return PurePath(trace.files[int(trace.txn_file[t])]).name


def _place(trace: Trace, t: int) -> list[Any]:
    return [_file(trace, t), int(trace.txn_begin_line[t])]
