"""Our own trace as an Arrow table: what the formats `arrow` and `parquet` share.

The table has a column for each column of `Trace`. Those have different lengths (there are more operations than
transactions), and there are two layouts for that. *In lists* (version 1): the row of the table holds the whole column
as one list, or many rows hold pieces of it, in order; an Arrow file that is mapped into memory needs no more than that.
*In rows* (version 2, for Parquet, where the entries of lists take several times as long to decode): the table is as
long as its longest column, the others are filled up with nulls, and `boomslang-lengths` in the metadata says where
each of them ends. Tables of scalars are two columns: the type of each, and its content as in `Scalars`. The schema's
metadata has `boomslang`, the version of the layout, and, where they are known, `boomslang-unit`, the unit of the
times, and `boomslang-ctx`, what the header says of the whole trace.
Columns that a trace does not have (such as `op_invoke`) are left out.

A file may be damaged, or written to do harm, and what follows is native code that believes the columns. So the
Arrow library checks the structure, this module the scalars, and `rules` all that joins them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from boomslang.distinct import distinct
from boomslang.errors import UsageError
from boomslang.extras import how_to_install
from boomslang.trace._reader import alike, integers, not_surely_objects
from boomslang.trace.coverage import covered
from boomslang.trace.errors import TraceError
from boomslang.trace.model import Initial, Kind, Trace
from boomslang.trace.rows import checked_selects
from boomslang.trace.rules import check_rules
from boomslang.trace.scalars import BOOL, BYTES, FAMILY, FLOAT, INT, NULL, STR, Scalars
from boomslang.trace.units import UNITS

if TYPE_CHECKING:
    import pyarrow as pa

IN_LISTS, IN_ROWS = b"1", b"2"
"""Versions of the layout."""
LENGTHS = b"boomslang-lengths"
UNIT = b"boomslang-unit"
NOTES = b"boomslang-ctx"
FIX = "fix: copy the file again, or convert it again from its source"
LONGEST = 1 << 26
"""Bytes of a scalar: as long as a line of JSON Lines may be."""
SHORT = 1 << 16
"""Entries of a column that is put together when it is there."""
DIGITS = 18
"""So many always fit into 64 bits."""

NUMBERS: dict[str, type[np.generic]] = {
    "key_rank": np.int64,
    "txn_session": np.int32,
    "txn_outcome": np.uint8,
    "txn_name": np.int32,
    "txn_file": np.int32,
    "txn_begin_line": np.uint32,
    "txn_end_line": np.uint32,
    "txn_begin": np.int64,
    "txn_end": np.int64,
    "txn_clock": np.int32,
    "txn_ops": np.int64,
    "txn_ctx": np.int32,
    "op_kind": np.uint8,
    "op_flags": np.uint8,
    "op_key": np.int32,
    "op_value": np.int32,
    "op_range": np.int32,
    "op_line": np.uint32,
    "op_invoke": np.int64,
    "op_return": np.int64,
    "op_ctx": np.int32,
    "op_error": np.int32,
    "op_where": np.int32,
    "range_lo": np.int32,
    "range_hi": np.int32,
    "range_items": np.int64,
    "item_key": np.int32,
    "item_value": np.int32,
    "initial_mode": np.uint8,
    "initial_key": np.int32,
    "initial_value": np.int32,
}
OPTIONAL = frozenset(("txn_ctx", "op_invoke", "op_return", "op_ctx", "op_error", "op_where"))
TABLES = ("keys", "values", "names")
TEXTS = ("texts", "sessions", "files", "clocks", "warnings")


def arrow() -> Any:
    """The Arrow library, which is an extra."""
    try:
        import pyarrow
        import pyarrow.compute
    except ImportError:
        raise UsageError(
            "Arrow and Parquet files need the library pyarrow, which is not installed; "
            f"install it with: {how_to_install('arrow')}"
        ) from None
    return pyarrow


@contextmanager
def damaged(file: str, what: str) -> Iterator[None]:
    """What the Arrow library says of a file becomes an error of ours."""
    pa = arrow()
    try:
        yield
    except (pa.ArrowException, MemoryError, OSError, OverflowError, ValueError) as problem:
        if isinstance(problem, TraceError):
            raise
        reason = " ".join(str(problem).split())[:160]
        raise TraceError(
            f"found damaged {what} data ({reason}); expected a whole file; {FIX}", file
        ) from None


# --- writing


def to_table(trace: Trace, piece: int | None = None) -> pa.Table:
    """In lists: the trace as one row, or as many rows of at most `piece` entries a column."""
    pa = arrow()
    columns = _columns(pa, trace)
    longest = max(map(len, columns.values()))
    rows = 1 if piece is None else max(1, -(-longest // piece))
    step = max(1, longest) if piece is None else piece
    lists = {}
    for name, column in columns.items():
        offsets = np.minimum(np.arange(rows + 1, dtype=np.int64) * step, len(column))
        of = pa.large_list(pa.field("item", column.type, nullable=False))
        lists[name] = pa.LargeListArray.from_arrays(pa.array(offsets), column, type=of)
    fields = [pa.field(name, made.type, nullable=False) for name, made in lists.items()]
    return pa.Table.from_arrays(list(lists.values()), schema=pa.schema(fields, _metadata(trace, IN_LISTS)))


def to_rows(trace: Trace) -> pa.Table:
    """In rows."""
    pa = arrow()
    columns = _columns(pa, trace)
    lengths = {name: len(column) for name, column in columns.items()}
    longest = max(lengths.values())
    filled = [pa.chunked_array([c, pa.nulls(longest - len(c), c.type)]) for c in columns.values()]
    fields = [pa.field(name, column.type) for name, column in columns.items()]
    metadata = _metadata(trace, IN_ROWS) | {LENGTHS: json.dumps(lengths).encode()}
    return pa.Table.from_arrays(filled, schema=pa.schema(fields, metadata))


def _columns(pa: Any, trace: Trace) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for name in NUMBERS:
        column = [trace.initial_mode] if name == "initial_mode" else getattr(trace, name)
        if column is not None:
            columns[name] = pa.array(np.asarray(column, NUMBERS[name]))
    for name in TABLES:
        table = getattr(trace, name)
        columns[f"{name}_type"] = pa.array(table.type)
        columns[f"{name}_content"] = _contents(pa, table, pa.large_binary())
    columns["texts"] = _contents(pa, trace.texts, pa.large_string())
    for name in TEXTS[1:]:
        columns[name] = pa.array(getattr(trace, name), pa.large_string())
    return columns


def _metadata(trace: Trace, version: bytes) -> dict[bytes, bytes]:
    unit = {UNIT: trace.unit.encode()} if trace.unit else {}
    notes = {NOTES: trace.notes.encode()} if trace.notes else {}
    return {b"boomslang": version, **unit, **notes}


def _contents(pa: Any, table: Scalars, type: Any) -> Any:
    buffers = [
        None,
        pa.py_buffer(np.ascontiguousarray(table.offset, np.int64)),
        pa.py_buffer(np.ascontiguousarray(table.data)),
    ]
    return pa.Array.from_buffers(type, len(table), buffers)


# --- reading


def from_columns(
    schema: pa.Schema,
    read: Callable[[str], Iterable[pa.Array]],
    file: str,
    check: Callable[[], None],
    lengths: Mapping[str, int] | None = None,
) -> Trace:
    """The trace of a file in lists with this schema, whose columns `read` gives, piece by piece. `lengths`: how many
    entries a column has at most, if that is known; then no piece is held longer than it takes to copy it."""
    return _Reading(schema, read, file, check, lengths or {}).trace()


def from_rows(
    schema: pa.Schema,
    read: Callable[[int, list[str]], pa.Table],
    groups: list[int],
    file: str,
    check: Callable[[], None],
) -> Trace:
    """The trace of a file in rows with this schema. `groups`: how many rows its parts have; `read` gives columns of
    one of them."""
    reading = _Reading(schema, lambda name: (), file, check, {}, IN_ROWS)
    reading.layout()
    reading.gather(read, groups)
    return reading.trace()


def lengths_of(metadata: Mapping[bytes, bytes] | None) -> dict[str, int]:
    """Where each column of a file in rows ends."""
    said = json.loads((metadata or {}).get(LENGTHS, b"null"))
    if not isinstance(said, dict) or not all(type(n) is int and 0 <= n < 1 << 40 for n in said.values()):
        raise ValueError("it does not say how long its columns are")
    return said


class _Reading:
    def __init__(
        self,
        schema: pa.Schema,
        read: Callable[[str], Iterable[pa.Array]],
        file: str,
        check: Callable[[], None],
        lengths: Mapping[str, int],
        version: bytes = IN_LISTS,
    ) -> None:
        self.pa = arrow()
        self.schema, self.read, self.file, self.check = schema, read, file, check
        self.lengths, self.version = lengths, version
        self.gathered: dict[str, NDArray[Any]] = {}
        self.gathered_pieces: dict[str, list[Any]] = {}

    def refuse(self, found: str, expected: str) -> NoReturn:
        raise TraceError(f"found {found}; expected {expected}; {FIX}", self.file)

    def trace(self) -> Trace:
        self.layout()
        columns: dict[str, Any] = {name: self.numbers(name) for name in NUMBERS}
        mode = columns.pop("initial_mode")
        if len(mode) != 1 or mode[0] >= len(Initial):
            self.refuse("an initial_mode that is none", "one number from 0 to 2")
        columns["initial_mode"] = Initial(int(mode[0]))
        columns["unit"] = (self.schema.metadata or {}).get(UNIT, b"").decode(errors="replace")
        if columns["unit"] not in ("", *UNITS):
            self.refuse(f"times in {columns['unit'][:20]!r}", f"a unit: {', '.join(UNITS)}, or none")
        columns["notes"] = (self.schema.metadata or {}).get(NOTES, b"").decode(errors="replace")
        if columns["notes"]:
            self.hint(columns["notes"])
        contents = {}
        for name in TABLES:
            columns[name], contents[name] = self.scalars(name)
        for name in TEXTS:
            texts = self.flat(name, self.pa.large_string())
            if name == "texts":
                columns[name] = self.table(np.full(len(texts), STR, np.uint8), texts)
            else:
                columns[name] = texts.to_pylist()
            if name in ("texts", "sessions", "clocks"):
                table = self.table(np.full(len(texts), STR, np.uint8), texts)
                self.distinct(name, table, texts, _digest(table))
        trace = Trace(**columns)
        check_rules(trace, self.file, self.check)
        self.ranks(trace, contents["keys"])
        self.hints(trace)
        if trace.op_where is not None or (trace.op_kind == Kind.SELECT).any():
            trace = checked_selects(trace)
        return covered(trace)

    def layout(self) -> None:
        version = (self.schema.metadata or {}).get(b"boomslang")
        if version is None:
            raise TraceError(
                "found a table that is no trace; expected what `boomslang convert` writes (the metadata lacks "
                "boomslang); fix: write your history as JSON Lines, and convert that",
                self.file,
            )
        if version != self.version:
            shown = version.decode(errors="replace")[:20]
            raise TraceError(
                f"found version {shown!r} of the columns; expected {self.version.decode()}; fix: use a newer Boomslang",
                self.file,
            )
        known = {*NUMBERS, *TEXTS, *(f"{name}_{part}" for name in TABLES for part in ("type", "content"))}
        names = self.schema.names
        if len(set(names)) != len(names):
            self.refuse("two columns of one name", "one of each")
        for name in names:
            if name not in known:
                self.refuse(f"the unknown column {name[:40]!r}", "the columns of a trace")
        missing = sorted(known - OPTIONAL - set(names))
        if missing:
            self.refuse(f"no column {missing[0]}", "all columns of a trace")

    def gather(self, read: Callable[[int, list[str]], pa.Table], groups: list[int]) -> None:
        """All columns of a file in rows, group by group: each is decoded while it is in the cache, and none is held
        longer than it takes to copy it."""
        lengths = lengths_of(self.schema.metadata)
        longest = max(lengths.values(), default=0)
        if sorted(lengths) != sorted(self.schema.names) or longest != sum(groups):
            self.refuse("lengths of other columns than there are", "those of all columns")
        for name, length in lengths.items():
            if name in NUMBERS:
                self.gathered[name] = np.empty(length, NUMBERS[name])
            else:
                self.gathered_pieces[name] = []
        start = 0
        for group, rows in enumerate(groups):
            self.check()
            names = [name for name, length in lengths.items() if length > start]
            table = read(group, names)
            for name in names:
                self.taken(name, table.column(name).slice(0, lengths[name] - start), start)
            start += rows

    def taken(self, name: str, column: Any, start: int) -> None:
        """A piece of a column that is there from `start` on."""
        if name in NUMBERS:
            type = self.pa.from_numpy_dtype(NUMBERS[name])
        elif name in TEXTS:
            type = self.pa.large_string()
        else:
            type = self.pa.uint8() if name.endswith("_type") else self.pa.large_binary()
        for chunk in column.chunks:
            chunk.validate(full=True)
            if chunk.null_count:
                self.refuse(f"a null in the column {name}", "none before its end")
            if chunk.type != type:
                if self.pa.types.is_nested(chunk.type):
                    self.refuse(f"the type {str(chunk.type)[:60]} of the column {name}", str(type))
                chunk = chunk.cast(type)
            if name in NUMBERS:
                self.gathered[name][start : start + len(chunk)] = chunk.to_numpy(zero_copy_only=True)
            else:
                self.gathered_pieces[name].append(chunk)
            start += len(chunk)

    def flat(self, name: str, type: Any) -> Any:
        """All that the lists of a column hold, as one array without nulls."""
        in_rows = self.version == IN_ROWS
        pieces = self.gathered_pieces.pop(name) if in_rows else list(self.pieces(name, type))
        if len(pieces) == 1:
            return pieces[0]
        return self.pa.concat_arrays(pieces) if pieces else self.pa.array([], type)

    def pieces(self, name: str, type: Any) -> Iterator[Any]:
        """The same, as the arrays that the file has."""
        self.check()
        pa = self.pa
        wanted = pa.large_list(pa.field("item", type, nullable=False))
        for chunk in self.read(name):
            chunk.validate(full=True)
            if chunk.null_count:
                self.refuse(f"a null in the column {name}", "none")
            if chunk.type != wanted:
                if not (pa.types.is_list(chunk.type) or pa.types.is_large_list(chunk.type)):
                    self.refuse(f"the type {str(chunk.type)[:60]} of the column {name}", str(wanted))
                chunk = chunk.cast(pa.large_list(type))
                chunk.validate(full=True)
            inner = chunk.flatten()
            if inner.null_count:
                self.refuse(f"a null in the column {name}", "none")
            yield inner

    def numbers(self, name: str) -> NDArray[Any] | None:
        if name in OPTIONAL and name not in self.schema.names:
            return None
        if self.version == IN_ROWS:
            return self.gathered.pop(name)
        type = self.pa.from_numpy_dtype(NUMBERS[name])
        if self.lengths.get(name, 0) > SHORT:
            return self.copied(name, type)
        numbers: NDArray[Any] = self.flat(name, type).to_numpy(zero_copy_only=True)
        if not numbers.flags.aligned:
            numbers = numbers.copy()
        return numbers

    def copied(self, name: str, type: Any) -> NDArray[Any]:
        """A long column, piece by piece: memory that was used for one piece is there for the next, which on a fresh
        process is half of the time."""
        made, at = np.empty(self.lengths[name], NUMBERS[name]), 0
        for piece in self.pieces(name, type):
            if at + len(piece) > len(made):
                self.refuse(f"more entries in the column {name} than the file says", "as many")
            made[at : at + len(piece)] = piece.to_numpy(zero_copy_only=True)
            at += len(piece)
        return made[:at]

    # --- tables of scalars

    def table(self, types: NDArray[np.uint8], content: Any) -> Scalars:
        """Without a copy, where the array starts at its buffers' start."""
        _, offsets, data = content.buffers()
        if not len(content):
            return Scalars(types, np.zeros(1, np.int64), np.zeros(0, np.uint8))
        offset = np.frombuffer(offsets, np.int64)[content.offset : content.offset + len(content) + 1]
        held = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
        held = held[int(offset[0]) : int(offset[-1])]
        if offset[0] != 0:
            offset = offset - offset[0]
        if len(offset) > 1 and int(np.diff(offset).max()) > LONGEST:
            self.refuse(f"a scalar of more than {LONGEST:,} bytes", "shorter ones")
        return Scalars(types, offset, held)

    def scalars(self, name: str) -> tuple[Scalars, Any]:
        types = self.numbers_of_types(name)
        content = self.flat(f"{name}_content", self.pa.large_binary())
        if len(types) != len(content):
            self.refuse(f"{len(types):,} types and {len(content):,} contents of {name}", "as many of both")
        if len(types) >= 2**31:
            self.refuse(f"{len(types):,} {name}", "fewer")
        table = self.table(types, content)
        digest = None
        for type in np.flatnonzero(np.bincount(types)).tolist():
            self.check()
            if type > BYTES:
                self.refuse(f"the type {type} among the {name}", "a number from 0 to 5")
            at = np.flatnonzero(types == type)
            alone = len(at) == len(types)
            numbers = self.well_formed(name, type, content if alone else content.take(self.pa.array(at)))
            digest = numbers if alone else None
        self.distinct(name, table, content, _digest(table) if digest is None else digest)
        return table, content

    def numbers_of_types(self, name: str) -> NDArray[np.uint8]:
        types: NDArray[np.uint8] = self.flat(f"{name}_type", self.pa.uint8()).to_numpy(zero_copy_only=True)
        return types

    def well_formed(self, name: str, type: int, content: Any) -> NDArray[Any] | None:
        """Equal values must have equal bytes, so each value has one way to be written. Returns the numbers, of
        integers that are not too long."""
        pc = self.pa.compute
        lengths = pc.binary_length(content).to_numpy()
        if type == STR:
            content.cast(self.pa.large_string())  # looks at the UTF-8
        elif type == INT:
            return self.integers(name, content, lengths)
        elif type in (NULL, BOOL, FLOAT):
            if (lengths != {NULL: 0, BOOL: 1, FLOAT: 8}[type]).any():
                self.refuse(
                    f"a scalar of another size than its type has, among the {name}", "0, 1 or 8 bytes"
                )
            data = b"".join(content.to_pylist())
            if type == BOOL and not set(data) <= {0, 1}:
                self.refuse(f"a boolean that is neither true nor false, among the {name}", "0 or 1")
            if type == FLOAT:
                numbers = np.frombuffer(data, "<f8")
                if not np.isfinite(numbers).all() or ((numbers == 0) & np.signbit(numbers)).any():
                    self.refuse(
                        f"a float that is no number, infinite or -0.0, among the {name}", "finite numbers"
                    )
        return None

    def integers(self, name: str, content: Any, lengths: NDArray[Any]) -> NDArray[Any] | None:
        table = self.table(np.full(len(content), INT, np.uint8), content)
        numbers = integers(table.offset.astype(np.int64, copy=False), table.data, DIGITS)
        if numbers is None:
            self.refuse(
                f"an integer that is not written as one should be, among the {name}", "such as 0 or -12"
            )
        return None if bool((lengths > DIGITS).any()) else numbers

    def distinct(self, name: str, table: Scalars, content: Any, digest: NDArray[Any]) -> None:
        """Two numbers for one value would make it two values. Most are told apart by their digest; the library
        looks closely at those that are not."""
        closely = alike(digest.view(np.int64))
        for type in distinct(table.type[closely]).tolist():
            at = closely[table.type[closely] == type]
            if self.pa.compute.count_distinct(content.take(self.pa.array(at))).as_py() != len(at):
                self.refuse(f"a scalar twice among the {name}", "each once")

    def ranks(self, trace: Trace, content: Any) -> None:
        """`key_rank` must be the order of the keys, which also shows that no key is there twice."""
        rank = trace.key_rank
        if len(rank) and not (np.bincount(rank, minlength=len(rank)) == 1).all():
            self.refuse("a key_rank twice", "the place of each key in their order")
        order = np.argsort(rank)
        types = trace.keys.type[order]
        wrong = bool((np.diff(FAMILY[types].astype(np.int8)) < 0).any())
        held = np.flatnonzero(np.bincount(types)).tolist()
        for type in held:
            part = content.take(self.pa.array(order[types == type]))
            wrong = wrong or not self.increasing(type, part)
        if INT in held and FLOAT in held:
            wrong = wrong or not _mixed(trace.keys, order[FAMILY[types] == INT])
        if wrong:
            self.refuse("keys that are not in the order that key_rank says", "the order of keys")

    def increasing(self, type: int, content: Any) -> bool:
        pa, pc = self.pa, self.pa.compute
        if len(content) < 2:
            return True
        if type == INT:
            if int(pc.max(pc.binary_length(content)).as_py()) > DIGITS:
                return all(_less(a, b) for a, b in pairwise(content.to_pylist()))
            narrow = pc.cast(content.cast(pa.large_string()), pa.int64()).to_numpy()
            return bool((narrow[1:] > narrow[:-1]).all())
        if type == FLOAT:
            floats = np.frombuffer(b"".join(content.to_pylist()), "<f8")
            return bool((floats[1:] > floats[:-1]).all())
        return bool(pc.all(pc.less(content[:-1], content[1:])).as_py())

    # --- hints

    def hints(self, trace: Trace) -> None:
        """Each is the text of a JSON object."""
        used: list[NDArray[Any]] = [c for c in (trace.txn_ctx, trace.op_ctx) if c is not None]
        if not used:
            return
        seen = np.zeros(len(trace.texts) + 1, bool)
        for column in used:
            seen[column] = True  # none is -1: the last
        texts = np.flatnonzero(seen[:-1])
        offset = trace.texts.offset.astype(np.int64, copy=False)
        for n, text in enumerate(not_surely_objects(offset, trace.texts.data, texts)):
            if n % 10_000 == 0:
                self.check()
            self.hint(trace.texts.text(text))

    def hint(self, text: str) -> None:
        try:
            hint = _DECODER.decode(text)
        except (ValueError, RecursionError):
            hint = None
        if not isinstance(hint, dict):
            self.refuse(f"a ctx that is no JSON object: {text[:40]!r}", "an object")


def _mixed(keys: Scalars, order: NDArray[np.int64]) -> bool:
    """Do these numbers increase? Those of one type do; where the type changes, Python compares exactly."""
    change = np.flatnonzero(np.diff(keys.type[order]))
    for i, j in zip(order[change].tolist(), order[change + 1].tolist(), strict=True):
        a, b = keys[i], keys[j]
        assert isinstance(a, int | float) and isinstance(b, int | float)
        if a > b or (a == b and isinstance(a, float)):  # of one size the integer comes first
            return False
    return True


def _less(a: bytes, b: bytes) -> bool:
    """Of two integers as they are written: the longer is the further from zero."""
    if a.startswith(b"-") != b.startswith(b"-"):
        return a.startswith(b"-")
    nearer = (len(a), a) < (len(b), b)
    return nearer if not a.startswith(b"-") else not nearer and a != b


def _object(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    pairs = list(pairs)
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a field twice")
    return made


def _refuse(text: str) -> NoReturn:
    raise ValueError(text)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse)


def _digest(table: Scalars) -> NDArray[np.uint64]:
    """A number for each scalar, the same for equal ones: of its type, its length, its first and last eight bytes."""
    data = np.concatenate((np.zeros(8, np.uint8), table.data, np.zeros(8, np.uint8)))
    words = np.lib.stride_tricks.as_strided(data[:8].view("<u8"), (len(data) - 7,), (1,))
    start, end = table.offset[:-1], table.offset[1:]
    length = (end - start).astype(np.uint64)
    spare = 64 - 8 * np.minimum(length, 8)  # bits of a word that belong to a neighbour
    shift = np.minimum(spare, 63)
    empty = spare == 64
    first = np.where(empty, 0, words[start + 8] << shift)
    last = np.where(empty, 0, words[end] >> shift)
    mixed = first * np.uint64(0x9E3779B97F4A7C15) ^ (last + length) * np.uint64(0xC2B2AE3D27D4EB4F)
    made: NDArray[np.uint64] = mixed ^ (table.type.astype(np.uint64) << np.uint64(56))
    return made
