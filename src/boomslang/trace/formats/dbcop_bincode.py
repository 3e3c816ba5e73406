"""dbcop's binary histories (OOPSLA 2019), which PolySI, VeriStrong and others also use.

A read of 0 saw the initial version. Where a transaction writes 0 to the same key, the key starts as 0 and both
are what such a read may have seen: values may repeat in this format.

A transaction may be recorded as successful although some of its operations failed. The recording client went on
after an error, and a database that answers a failed transaction's COMMIT with a rollback said OK to that. So
such a *partial* transaction is read as unknown, with a warning; `dbcop-bincode-committed` reads it as committed
with the operations that succeeded, as the published checkers do.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import numpy as np

from boomslang.trace.files import create
from boomslang.trace.formats.format import Format, Loss, Sample, read_native_file
from boomslang.trace.formats.initial import Mask
from boomslang.trace.formats.registers import INITIAL, Registers
from boomslang.trace.formats.spelling import counted, texts
from boomslang.trace.formats.zeros import zero, zero_is_initial_or_written
from boomslang.trace.model import Flag, Initial, Kind, Outcome, Trace

LARGEST = 2**64 - 1
EVENT = np.dtype([("write", "u1"), ("variable", "<u8"), ("value", "<u8"), ("success", "u1")])


def recognise(sample: Sample) -> bool:
    """Five numbers, then three strings that fit, then a number of sessions that may be."""
    head, at = sample.head, 40
    for _ in range(3):
        if len(head) < at + 8:
            return False
        (length,) = struct.unpack_from("<Q", head, at)
        text = head[at + 8 : at + 8 + length]
        if length > 4096 or len(text) < length or not text.decode(errors="replace").isprintable():
            return False
        at += 8 + length
    return len(head) >= at + 8 and struct.unpack_from("<Q", head, at)[0] < 2**32


def read(path: Path, check: Callable[[], None]) -> Trace:
    return zero_is_initial_or_written(read_native_file("dbcop-bincode", path, check))


def read_committed(path: Path, check: Callable[[], None]) -> Trace:
    trace = read_native_file("dbcop-bincode", path, check, option="partial commits")
    return zero_is_initial_or_written(trace)


class _Bincode(Registers):
    """What the format says of a trace.

    Failed operations would make a committed transaction a partial one, which is unknown: there they go.
    """

    def __init__(self, trace: Trace) -> None:
        super().__init__(trace, aborted=True, unknown=True, failed=True, empty=True, zero_given=True)

    @cached_property
    def rows(self) -> Mask:
        committed = self.trace.txn_outcome == Outcome.COMMITTED
        rows: Mask = super().rows & ~(self.errors & np.repeat(committed, np.diff(self.trace.txn_ops)))
        return rows


def losses(trace: Trace) -> list[Loss]:
    said = _Bincode(trace)
    lost = [*said.losses(), *said.not_numbers(0, LARGEST), *said.zeros(), *said.positions()]
    failed = np.zeros(len(trace), np.bool_)
    failed[np.searchsorted(trace.txn_ops, np.flatnonzero(said.rows & said.errors), side="right") - 1] = True
    if number := int((~failed & (trace.txn_outcome == Outcome.UNKNOWN)).sum()):
        lost.append(Loss(f"{counted(number, 'transaction')} with an unknown outcome", fatal=True))
    if (said.errors & said.rows & (trace.op_value >= 0)).any():
        lost.append(Loss("the values of operations that failed"))
    texts = set() if trace.op_error is None else set(trace.op_error[said.errors & said.rows].tolist())
    if any(trace.texts.text(i) != "failed" for i in texts):
        lost.append(Loss("what failed operations said"))
    return [*lost, *_zeros_that_start(said)]


def _zeros_that_start(said: Registers) -> list[Loss]:
    """A key that is read as 0 and written 0 also starts as 0 in this format, and no other key does."""
    trace, nought = said.trace, zero(said.trace.values)
    done = said.rows & ~said.errors & (trace.op_value == nought)
    read = set(trace.op_key[done & (trace.op_kind == Kind.GET)].tolist())
    both = read & set(trace.op_key[done & (trace.op_kind == Kind.PUT)].tolist())
    given: set[int] = set()
    if trace.initial_mode == Initial.GIVEN:
        given = set(trace.initial_key[trace.initial_value == nought].tolist())
    lost = []
    if number := len(both - given):
        lost.append(Loss(f"that {counted(number, 'key')} did not start as 0"))
    if number := len(given - both):
        lost.append(Loss(f"that {counted(number, 'key')} started as 0 and not as absent"))
    return lost


def write(trace: Trace, path: Path) -> None:
    said = _Bincode(trace)
    sessions = said.sessions()
    keys = _numbers(texts(trace.keys))
    values = np.append(_numbers(texts(trace.values)), np.uint64(0))  # [-1] is ABSENT
    events = np.zeros(len(trace.op_kind), EVENT)
    events["write"] = trace.op_kind == Kind.PUT
    events["variable"] = keys[trace.op_key] if len(keys) else 0
    events["success"] = (trace.op_flags & Flag.ERROR) == 0
    events["value"] = np.where(events["success"] == 1, values[trace.op_value], np.uint64(0))
    before = np.concatenate([[0], np.cumsum(said.rows)])[trace.txn_ops].tolist()
    packed = events[said.rows].tobytes()
    loaded = np.array([(1, keys[k], values[v], 1) for k, v in said.loaded], EVENT).tobytes()
    succeeded = (trace.txn_outcome != Outcome.ABORTED).tolist()
    size = EVENT.itemsize
    most = max((len(txns) for _, txns in sessions), default=0)
    with create(path) as file:
        file.write(struct.pack("<5Q", 0, len(sessions), len(said.used_keys()), most, 0))
        for text in (b"written by boomslang", b"", b""):
            file.write(struct.pack("<Q", len(text)) + text)
        file.write(struct.pack("<Q", len(sessions)))
        for _, transactions in sessions:
            file.write(struct.pack("<Q", len(transactions)))
            for t in transactions:
                content = loaded if t == INITIAL else packed[before[t] * size : before[t + 1] * size]
                success = t == INITIAL or succeeded[t]
                file.write(struct.pack("<Q", len(content) // size) + content + bytes([success]))


def _numbers(texts: list[str]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """What is no number of 64 bits is not used, or `losses` refuses it."""
    good = (text if text.isdecimal() and int(text) <= LARGEST else "0" for text in texts)
    return np.array([int(text) for text in good], np.uint64)


FORMAT = Format(
    name="dbcop-bincode",
    title="dbcop's binary history",
    recognise=recognise,
    read=read,
    losses=losses,
    write=write,
    sign="binary, five 64-bit numbers and three strings first",
)
COMMITTED = Format(
    name="dbcop-bincode-committed",
    title="dbcop's binary history, partial transactions taken as committed",
    recognise=lambda sample: False,
    read=read_committed,
    losses=losses,
)
