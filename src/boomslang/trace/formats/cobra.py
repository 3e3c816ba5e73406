"""Cobra's binary logs: a folder, one `*.log` a client thread.

Cobra (Tan, Zhao, Mu and Walfish, OSDI 2020) wraps the database's client library, tags every value it writes
with a unique id and logs, for every read, the id it saw. A record is a tag character and big-endian 64-bit
numbers:

    S txn                          a transaction starts        W write_id key_hash value_hash
    C txn                          it committed                R writer_txn write_id key_hash value_hash
    A txn                          it aborted (reserved)

So a value is its write id. In VeriStrong's dialect of the format all write ids are one reserved number, and
the value is its hash; then values may repeat. Rows that the unlogged loader wrote and rows that were not
there look alike to every checker of this format: both are read as absent, from a database that starts empty.

Histories are written with values as write ids if each is written once, else in VeriStrong's dialect. Cobra itself takes
no record of an abort, which stays unwritten as in its own logs; and it gives the version of a key that nobody wrote the
key's hash as its write id, so where a write has that id already, keys get other numbers.

Error messages count records where other formats count lines.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from boomslang.distinct import distinct
from boomslang.trace.errors import TraceError
from boomslang.trace.files import create_folder, read_bytes, shown
from boomslang.trace.formats.format import Format, Loss, Sample, logs_in
from boomslang.trace.formats.registers import INITIAL, Registers, are_integers
from boomslang.trace.formats.spelling import counted, texts
from boomslang.trace.model import ABSENT, NO_TIME, Flag, Initial, Kind, Outcome, Trace
from boomslang.trace.scalars import Scalars

SIZES = {ord("S"): 9, ord("W"): 25, ord("R"): 33, ord("C"): 9, ord("A"): 9}
START, WRITE, READ, COMMIT, ABORT = SIZES
LOADED, MISSING_ROW, DELETED, UNIVERSAL = 0xBEBEEBEE, 0xDEADBEEF, 0xABCDEFAB, 0xABDDEFEE
SPECIAL = {LOADED, MISSING_ROW, DELETED, UNIVERSAL}
LOW, HIGH = -(2**63), 2**63 - 1

Int64 = NDArray[np.int64]


def recognise(sample: Sample) -> bool:
    """Every log begins with the start of a transaction."""
    heads = sample.heads(".log")
    return bool(heads) and all(
        len(h) >= 9 and h[0] == START and (len(h) < 10 or h[9] in SIZES) for h in heads
    )


@dataclass
class _Log:
    """One file's records as columns. `txn` numbers the file's transactions."""

    txn_id: Int64
    outcome: NDArray[np.uint8]
    begin_line: NDArray[np.uint32]
    end_line: NDArray[np.uint32]
    op_txn: Int64
    kind: NDArray[np.uint8]
    key: Int64
    value: Int64
    absent: NDArray[np.bool_]
    line: NDArray[np.uint32]


def read(folder: Path, check: Callable[[], None]) -> Trace:
    paths = logs_in(folder)
    logs: list[_Log] = []
    warnings: list[str] = []
    for path in paths:
        check()
        logs.append(_read_log(shown(path), read_bytes(path, check), warnings))
    if not any(len(log.txn_id) for log in logs):
        raise TraceError(
            "found no transaction in it; expected at least one; fix: check that the recorder ran",
            shown(folder),
        )
    return _join(paths, logs, warnings)


def _read_log(path: str, data: bytes, warnings: list[str]) -> _Log:
    size_of = [SIZES.get(tag, 0) for tag in range(256)]
    starts: list[int] = []
    at, end = 0, len(data)
    while at < end:
        size = size_of[data[at]]
        if not size:
            raise TraceError(
                f"found byte 0x{data[at]:02x} as a record's tag; expected one of S, W, R, C, A; "
                "fix: check that the log was written without time stamps, and copied as a binary file",
                path,
                len(starts) + 1,
            )
        if at + size > end:
            warnings.append(f"{path}:{len(starts) + 1}: the last record is torn and was dropped")
            break
        starts.append(at)
        at += size

    raw = np.frombuffer(data, np.uint8)
    start = np.array(starts, np.int64)
    tag = raw[start] if len(start) else np.empty(0, np.uint8)
    line = np.arange(1, len(start) + 1, dtype=np.uint32)

    def number(rows: Int64, position: int) -> Int64:
        places = start[rows][:, None] + (1 + 8 * position) + np.arange(8)
        big_endian: NDArray[np.uint8] = raw[places].reshape(-1, 8)
        return np.ascontiguousarray(big_endian[:, ::-1]).view("<i8").ravel().astype(np.int64)

    edge = np.flatnonzero((tag == START) | (tag == COMMIT) | (tag == ABORT))
    begin = np.flatnonzero(tag == START)
    txn = np.cumsum(tag == START) - 1
    _check_edges(path, tag, edge, txn, line)

    count = len(begin)
    txn_id = number(begin, 0)
    outcome = np.full(count, Outcome.UNKNOWN, np.uint8)
    end_line = np.zeros(count, np.uint32)
    ends = edge[tag[edge] != START]
    outcome[txn[ends]] = np.where(tag[ends] == COMMIT, Outcome.COMMITTED, Outcome.ABORTED)
    end_line[txn[ends]] = line[ends]
    if len(wrong := np.flatnonzero(number(ends, 0) != txn_id[txn[ends]])):
        row = int(ends[wrong[0]])
        raise TraceError(
            f"found the end of transaction {int(number(ends, 0)[wrong[0]])}; expected that of transaction "
            f"{int(txn_id[txn[row]])}, which is open; fix: check that the log is whole",
            path,
            row + 1,
        )

    _, first = np.unique(txn_id, return_index=True)
    if len(first) < count:
        again = int(np.setdiff1d(np.arange(count), first)[0])
        raise TraceError(
            f"found a second transaction {int(txn_id[again])}; expected each number once in a log; "
            "fix: check that the log is one run's",
            path,
            int(begin[again]) + 1,
        )

    ops = np.flatnonzero((tag == WRITE) | (tag == READ))
    is_read = tag[ops] == READ
    key, value = np.empty(len(ops), np.int64), np.empty(len(ops), np.int64)
    absent = np.zeros(len(ops), np.bool_)
    deletes = np.zeros(len(ops), np.bool_)
    for where, shift in ((is_read, 1), (~is_read, 0)):
        rows = ops[where]
        write_id = number(rows, shift)
        key[where] = number(rows, shift + 1)
        value[where] = np.where(write_id == UNIVERSAL, number(rows, shift + 2), write_id)
        gone = write_id == DELETED
        if shift:
            gone |= np.isin(write_id, (LOADED, MISSING_ROW))
        else:
            deletes[where] = gone
        absent[where] = gone
    kind = np.where(is_read, Kind.GET, np.where(deletes, Kind.DELETE, Kind.PUT)).astype(np.uint8)
    return _Log(txn_id, outcome, line[begin], end_line, txn[ops], kind, key, value, absent, line[ops])


def _check_edges(
    path: str, tag: NDArray[np.uint8], edge: Int64, txn: Int64, line: NDArray[np.uint32]
) -> None:
    """Transactions start, then end, one after the other; only the last may lack its end."""
    kinds = tag[edge]
    is_start = kinds == START
    wrong = np.flatnonzero(is_start != (np.arange(len(edge)) % 2 == 0))
    outside = np.ones(len(tag), np.bool_)
    outside[edge] = False
    opened = np.cumsum(tag == START) - np.cumsum((tag == COMMIT) | (tag == ABORT))
    outside &= opened != 1
    faults = [int(edge[wrong[0]])] if len(wrong) else []
    faults += [int(np.flatnonzero(outside)[0])] if outside.any() else []
    if faults:
        row = min(faults)
        found, expected = (
            ("a second start", "the end of the open transaction first")
            if tag[row] == START
            else (f"record {chr(tag[row])} outside a transaction", "the start of a transaction first")
        )
        raise TraceError(
            f"found {found}; expected {expected}; fix: check that the log is whole", path, row + 1
        )


def _join(paths: list[Path], logs: list[_Log], warnings: list[str]) -> Trace:
    counts = [len(log.txn_id) for log in logs]
    bases = np.cumsum([0, *counts])
    op_txn = np.concatenate([log.op_txn + base for log, base in zip(logs, bases, strict=False)])
    n = int(bases[-1])
    file = np.repeat(np.arange(len(logs), dtype=np.int32), counts)
    keys, op_key = np.unique(np.concatenate([log.key for log in logs]), return_inverse=True)
    absent = np.concatenate([log.absent for log in logs])
    value = np.concatenate([log.value for log in logs])
    values, value_id = np.unique(value[~absent], return_inverse=True)
    op_value = np.full(len(value), ABSENT, np.int32)
    op_value[~absent] = value_id
    names, txn_name = np.unique(np.concatenate([log.txn_id for log in logs]), return_inverse=True)
    ops = len(op_key)
    none32, none64 = np.empty(0, np.int32), np.full(n, NO_TIME, np.int64)
    return Trace(
        keys=Scalars.integers(keys),
        values=Scalars.integers(values),
        names=Scalars.integers(names),
        texts=Scalars.of([]),
        key_rank=np.arange(len(keys), dtype=np.int64),
        sessions=[Path(shown(path)).stem for path in paths],
        files=[shown(path) for path in paths],
        clocks=[""],
        txn_session=file,
        txn_outcome=np.concatenate([log.outcome for log in logs]),
        txn_name=txn_name.astype(np.int32),
        txn_file=file.copy(),
        txn_begin_line=np.concatenate([log.begin_line for log in logs]),
        txn_end_line=np.concatenate([log.end_line for log in logs]),
        txn_begin=none64,
        txn_end=none64.copy(),
        txn_clock=np.zeros(n, np.int32),
        txn_ops=np.searchsorted(op_txn, np.arange(n + 1)).astype(np.int64),
        txn_ctx=None,
        op_kind=np.concatenate([log.kind for log in logs]),
        op_flags=np.zeros(ops, np.uint8),
        op_key=op_key.astype(np.int32),
        op_value=op_value,
        op_range=np.full(ops, -1, np.int32),
        op_line=np.concatenate([log.line for log in logs]),
        op_invoke=None,
        op_return=None,
        op_ctx=None,
        op_error=None,
        range_lo=none32,
        range_hi=none32.copy(),
        range_items=np.zeros(1, np.int64),
        item_key=none32.copy(),
        item_value=none32.copy(),
        initial_mode=Initial.EMPTY,
        initial_key=none32.copy(),
        initial_value=none32.copy(),
        warnings=warnings,
    )


# --- writing ---


class _Cobra(Registers):
    """What the logs say of a trace."""

    def __init__(self, trace: Trace) -> None:
        super().__init__(trace, unknown=True, empty=True, deletes=True)

    @cached_property
    def names_stay(self) -> bool:
        ids = self.trace.txn_name[self.kept]
        good = are_integers(self.trace.names, ids, LOW, HIGH)
        special = {self.trace.names[int(i)] for i in distinct(ids)} & SPECIAL
        return bool(good.all()) and len(distinct(ids)) == len(ids) and not special

    @cached_property
    def writers(self) -> dict[int, int]:
        """value -> the transaction that writes it; empty if that does not tell a write from all others."""
        writes = [
            (v, t)
            for _, txns in self.sessions()
            for t in txns
            for w, _, v in self.operations(t)
            if w and v >= 0
        ]
        found = dict(writes)
        special = {str(n) for n in SPECIAL}
        texts = (self.trace.values.content(int(v)).decode(errors="replace") for v in self.used_values())
        return {} if len(found) < len(writes) or not special.isdisjoint(texts) else found

    @cached_property
    def clashes(self) -> set[int]:
        """The keys read as absent whose number is the id of a write: Cobra would take one for the other."""
        ids = {self.trace.values[v] for v in self.writers}
        absent = distinct(self.trace.op_key[self.absent_reads()]).tolist()
        return {k for k in absent if self.trace.keys[k] in ids}

    def key_numbers(self) -> list[int]:
        keys = _numbers(self.trace.keys)
        taken = {*keys, *_numbers(self.trace.values), *SPECIAL}
        fresh = (number for number in count(1) if number not in taken)
        return [next(fresh) if k in self.clashes else number for k, number in enumerate(keys)]


def losses(trace: Trace) -> list[Loss]:
    said = _Cobra(trace)
    lost = [*said.losses(), *said.not_numbers(LOW, HIGH), *said.unnamed_files()]
    unknown = trace.txn_outcome == Outcome.UNKNOWN
    if number := sum(bool(unknown[t]) for _, txns in said.sessions() for t in txns[:-1]):
        what = f"{counted(number, 'transaction')} with an unknown outcome that another of its session follows"
        lost.append(Loss(what, fatal=True))
    told = (trace.op_kind == Kind.DELETE) & (trace.op_flags & (Flag.FOUND | Flag.NOTHING) != 0) & said.rows
    if number := int(told.sum()):
        lost.append(Loss(f"whether {counted(number, 'delete')} found something"))
    if number := len(said.clashes):
        lost.append(Loss(f"{counted(number, 'key')} whose number is also that of a write: another is taken"))
    if not said.names_stay:
        lost.append(Loss("the names of transactions: they are numbered", minor=True))
    return lost


def write(trace: Trace, path: Path) -> None:
    said = _Cobra(trace)
    create_folder(path)
    keys, values = said.key_numbers(), _numbers(trace.values)
    name = _numbers(trace.names)
    ids = {t: name[i] if said.names_stay else t + 1 for t, i in enumerate(trace.txn_name.tolist())}
    ids[INITIAL] = (
        max(ids.values(), default=0) + 1 if max(ids.values(), default=0) < HIGH else min(ids.values()) - 1
    )
    taken = {*ids.values(), *SPECIAL}
    nobody = next(n for n in count() if n not in taken)
    outcome = [*trace.txn_outcome.tolist(), int(Outcome.COMMITTED)]  # [-1] is INITIAL
    writers = said.writers
    two, four, five = struct.Struct(">cq").pack, struct.Struct(">cqqq").pack, struct.Struct(">cqqqq").pack
    for file_name, (_, transactions) in zip(said.file_names(), said.sessions(), strict=True):
        with (path / f"{file_name}.log").open("wb") as file:
            for t in transactions:
                file.write(two(b"S", ids[t]))
                for wrote, k, v in said.operations(t):
                    if v < 0 and wrote:
                        file.write(four(b"W", DELETED, keys[k], 0))
                    elif v < 0:
                        file.write(five(b"R", MISSING_ROW, MISSING_ROW, keys[k], 0))
                    elif wrote:
                        file.write(four(b"W", values[v] if writers else UNIVERSAL, keys[k], values[v]))
                    elif writers:
                        file.write(
                            five(
                                b"R",
                                ids[writers[v]] if v in writers else nobody,
                                values[v],
                                keys[k],
                                values[v],
                            )
                        )
                    else:
                        file.write(five(b"R", UNIVERSAL, UNIVERSAL, keys[k], values[v]))
                if outcome[t] != Outcome.UNKNOWN:
                    file.write(two(b"C", ids[t]))


def _numbers(table: Scalars) -> list[int]:
    """What is no number of 64 bits is not used, or `losses` refuses it."""
    good = are_integers(table, np.arange(len(table), dtype=np.int32), LOW, HIGH).tolist()
    return [int(text) if number else 0 for text, number in zip(texts(table), good, strict=True)]


FORMAT = Format(
    name="cobra",
    title="Cobra's logs",
    recognise=recognise,
    read=read,
    losses=losses,
    write=write,
    folder=True,
    sign="*.log files of binary records that begin with S",
)
