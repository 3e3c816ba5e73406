"""The few transactions of a long trace that a refutation speaks of, as a trace of their own.

A core says: with these transactions, and what these reads saw, there is no order, whatever else happened. Who
checks that (certify/refute.py) needs the core's transactions, and all whose version one of the core's reads
may have taken: *any* transaction, whatever became of it, that wrote just that to the key. All others may be
left out, and that is sound:

- A transaction outside the core reads nothing and has no place in its session or in time, and may have
  committed or not. Take an order of the whole weakened problem, and strike out those from whom no read of the
  core can have read: what is left is still an order, for nothing that is left speaks of them. So where the small
  trace has no order, the whole has none. (That is how refute.py itself leaves them out.)
- Nobody who could explain a read is lost: the trace is read from one end to the other, and a writer is kept as
  soon as one of its writes, final or not, fits. Where a delete found something, everybody who wrote anything
  to the key is kept, and where nothing was there, everybody who deleted it. Keeping too many changes nothing:
  refute.py looks again.
- What the keys of the core held at first is taken over from the headers, and from transactions that load it.

A proof that counts, or follows states, speaks of all who wrote its keys: here these are kept, with those that
it names; who wrote none of them changes no state and is no version.

The trace is read twice: first for the core's own lines, which say what was seen, then for the writers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from boomslang.certify.certificate import Core
from boomslang.certify.lines.files_read import FilesRead
from boomslang.certify.lines.form import CHECK_WROTE, code_of
from boomslang.certify.lines.proof_places import Place, keys_of, places_of, proof_from_json
from boomslang.certify.lines.reader import Lines as Certificate
from boomslang.certify.refute import LEVELS, CoreError
from boomslang.certify.seen import SOME_VALUE, look
from boomslang.errors import UsageError
from boomslang.trace.blocks import Block, Files, Lines
from boomslang.trace.model import ABSENT, Flag, Initial, Kind, Trace
from boomslang.trace.scalars import Code, Scalars
from boomslang.trace.writer import JsonTexts

Mask = NDArray[np.bool_]

_ANYTHING: Final = None
_NOTHING: Final[Code] = b""
Wanted = dict[Code, set[Code | None]]
"""Of each key what somebody must have written there to matter: a value, a delete (`_NOTHING`), or `_ANYTHING`."""


@dataclass(frozen=True, eq=False)
class SmallTrace:
    """What the refutation needs of the trace, and the core in its numbers."""

    trace: Trace
    """With the lines that the user sees."""
    core: Core
    warnings: tuple[str, ...]


def small_trace(
    path: Path, certificate: Certificate, *, jobs: int = 1, size: int | None = None
) -> SmallTrace:
    """Raises CoreError if the trace does not have what the core names, UsageError if this is no core."""
    base = certificate.level.partition("-within-")[0]
    base = base if base in LEVELS else base.removeprefix("strong-session-").removeprefix("strong-")
    if (
        base not in LEVELS or base == "cursor-stability"
    ):  # whether marks of cursors count, the whole trace says
        raise UsageError(
            f"{certificate.path}: found the level {certificate.level!r}, which a certificate in lines does not refute"
        )
    try:
        return _Selection(path, certificate, jobs, size).run()
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
        if isinstance(problem, CoreError):
            raise
        told = str(problem) if isinstance(problem, ValueError) else repr(problem)
        raise UsageError(f"{certificate.path}: a damaged certificate: {told}; {CHECK_WROTE}") from None


class _Selection:
    def __init__(self, path: Path, certificate: Certificate, jobs: int, size: int | None) -> None:
        self.path, self.level = path, certificate.level
        self.options = {"jobs": jobs} if size is None else {"jobs": jobs, "size": size}
        core = certificate.head["core"]
        self.transactions = [_place(place) for place in core["transactions"]]
        self.reads = [(*_place([file, line]), code_of(key)) for file, line, key in core["reads"]]
        self.proof = core.get("proof")
        self.keys = {key for _, _, key in self.reads}
        self.named = set(self.transactions)
        if self.proof is not None:
            self.keys |= keys_of(self.proof)
            self.named |= places_of(self.proof)
        self.one_file = False
        self.initial: dict[Code, Code] = {}
        self.mode = Initial.EMPTY
        self.warnings: list[str] = []

    def run(self) -> SmallTrace:
        own = self._read(self.named, {})
        index = _Index(own, self.one_file)
        wanted: Wanted = {}
        for file, line, key in self.reads:
            k = index.key.get(key)
            seen = None if k is None else look(own, index.row(file, line), k)
            if seen is not None:
                values = own.values
                of = (
                    _ANYTHING
                    if seen.value == SOME_VALUE
                    else _NOTHING
                    if seen.value == ABSENT
                    else bytes([int(values.type[seen.value])]) + values.content(seen.value)
                )
                wanted.setdefault(key, set()).add(of)
            elif k is None and own.op_kind[index.row(file, line)] in (Kind.SCAN, Kind.NEXT):
                wanted.setdefault(key, set()).add(_NOTHING)  # its range may hold the key, if it is anywhere
            else:
                raise CoreError(f"{file}:{line} does not read the key that the core says")
        if self.proof is not None:
            for key in keys_of(self.proof):
                wanted.setdefault(key, set()).add(_ANYTHING)
                wanted[key].add(_NOTHING)
        trace = self._read(self.named, wanted)
        index = _Index(trace, self.one_file)
        # A key that nobody here wrote and nobody but a range looked at was absent: that it was seen so says nothing.
        reads = [
            (index.row(file, line), index.key[key]) for file, line, key in self.reads if key in index.key
        ]
        proof = None
        if self.proof is not None:
            proof = proof_from_json(self.proof, index.txn, index.row, index.known_key, index.value.get)
        transactions = tuple(index.txn(file, line) for file, line in self.transactions)
        core = Core(self.level, transactions, tuple(reads), proof=proof)
        return SmallTrace(trace, core, tuple(dict.fromkeys(self.warnings)))

    def _read(self, named: Iterable[Place], wanted: Wanted) -> Trace:
        """The lines of these, and of all who wrote what is wanted."""
        with FilesRead(self.path, **self.options) as files:
            number = {name: f for f, name in enumerate(files.names)}
            self.one_file = len(number) == 1
            if not self.one_file and (strange := [file for file, _ in named if file not in number]):
                raise UsageError(
                    f"found the file {strange[0]!r}, which {self.path} does not have: made for another trace"
                )
            places = {(0 if self.one_file else number[file], line) for file, line in named}
            by_file = [
                np.array(sorted(line for f, line in places if f == one), np.int64)
                for one in range(len(files.names))
            ]
            chosen: Files = [Lines()] * len(files.names)
            self.mode, self.initial = files.headers.initial_mode, {}
            self._first(files.headers)
            for block, over in files.all():
                self._first(block.trace)
                these = over & (_named(block, by_file) | _writers(block.trace, wanted))
                if these.any():
                    chosen = [a + b for a, b in zip(chosen, block.lines_of(these), strict=True)]
            self.warnings += files.warnings
            chosen = [_in_order(lines) for lines in chosen]
            small = files.blocks.parsed(chosen, self._initial())
            return small.with_places()

    def _first(self, trace: Trace) -> None:
        """What keys held at first, those of which the core speaks."""
        if len(trace.initial_key):
            self.mode = Initial.GIVEN
            keys, values = trace.keys.codes(), trace.values.codes()
            for k, v in zip(trace.initial_key.tolist(), trace.initial_value.tolist(), strict=True):
                if keys[k] in self.keys:
                    self.initial[keys[k]] = values[v]

    def _initial(self) -> bytes:
        if self.mode == Initial.UNKNOWN:
            return b'"unknown"'
        keys, values = (
            JsonTexts(Scalars.of_codes(self.initial)),
            JsonTexts(Scalars.of_codes(self.initial.values())),
        )
        items = ", ".join(f"[{keys[i]}, {values[i]}]" for i in range(len(self.initial)))
        return f'{{"items": [{items}]}}'.encode()


class _Index:
    """A small trace by what a certificate calls its parts."""

    def __init__(self, trace: Trace, one_file: bool) -> None:
        self.trace, self.one_file = trace, one_file
        self.key = {code: i for i, code in enumerate(trace.keys.codes())}
        self.value = {code: i for i, code in enumerate(trace.values.codes())}
        names = [name.replace("\\", "/").rpartition("/")[2] for name in trace.files]
        files = [names[f] for f in trace.txn_file.tolist()]
        lines = trace.txn_begin_line.tolist()
        self._txn = {(self._file(f), line): t for t, (f, line) in enumerate(zip(files, lines, strict=True))}
        owner = np.repeat(np.arange(len(trace)), np.diff(trace.txn_ops)).tolist()
        self._row = {
            (self._file(files[t]), line): row
            for row, (t, line) in enumerate(zip(owner, trace.op_line.tolist(), strict=True))
        }

    def _file(self, name: Any) -> str:
        return "" if self.one_file else str(name)

    def txn(self, file: Any, line: Any) -> int:
        if (found := self._txn.get((self._file(file), line))) is None:
            raise CoreError(f"no transaction begins at {file}:{line}")
        return found

    def row(self, file: Any, line: Any) -> int:
        if (found := self._row.get((self._file(file), line))) is None:
            raise CoreError(f"{file}:{line} is no operation of a transaction that the core names")
        return found

    def known_key(self, key: Code) -> int:
        if key not in self.key:
            raise CoreError("the proof speaks of a key that is not in the trace")
        return self.key[key]


def _place(data: Any) -> Place:
    file, line = data
    if not isinstance(file, str) or not isinstance(line, int) or isinstance(line, bool):
        raise ValueError(f"found {data!r} as a place; expected a file and a line")
    return file, line


def _named(block: Block, lines: list[NDArray[np.int64]]) -> Mask:
    begin, found = block.first_lines(), np.zeros(len(block.trace), bool)
    for f in np.unique(block.trace.txn_file).tolist():
        found |= (block.trace.txn_file == f) & np.isin(begin, lines[f])
    return found


def _writers(trace: Trace, wanted: Wanted) -> Mask:
    """Who wrote what is wanted, whatever became of it."""
    found = np.zeros(len(trace), bool)
    if not wanted or not len(trace.op_kind):
        return found
    number = {code: i for i, code in enumerate(trace.keys.codes()) if code in wanted}
    if not number:
        return found
    asked = {value for key in number for value in wanted[key]}
    values = {code: i for i, code in enumerate(trace.values.codes()) if code in asked}
    owner = np.repeat(np.arange(len(trace)), np.diff(trace.txn_ops))
    done = trace.op_flags & Flag.ERROR == 0
    put = done & (trace.op_kind == Kind.PUT)
    delete = done & (trace.op_kind == Kind.DELETE) & (trace.op_flags & Flag.NOTHING == 0)
    for key, k in number.items():
        here = trace.op_key == k
        if _ANYTHING in wanted[key]:
            found[owner[here & put]] = True
        if _NOTHING in wanted[key]:
            found[owner[here & delete]] = True
        ids = [values[value] for value in wanted[key] if value in values]
        if ids:
            found[owner[here & put & np.isin(trace.op_value, ids)]] = True
    return found


def _in_order(lines: Lines) -> Lines:
    """As they stand in the file."""
    if not len(lines.number) or bool((np.diff(lines.number) > 0).all()):
        return lines
    text = lines.text.removesuffix(b"\n").split(b"\n")
    by = np.argsort(lines.number, kind="stable")
    return Lines((b"\n".join(text[i] for i in by.tolist()) + b"\n",), lines.number[by])
