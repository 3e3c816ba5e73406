"""AWDIT's test format: `r KEY VALUE` and `w KEY VALUE`, transactions between lines of -, sessions between lines of =.

No value stands for the initial version: what was never written cannot be read. So histories that start from
something hold a transaction that writes it, in a session of its own; that is how absent reads are written too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from boomslang.distinct import distinct
from boomslang.trace.files import create
from boomslang.trace.formats.format import Format, Loss, Sample, read_native_file
from boomslang.trace.formats.registers import Registers
from boomslang.trace.formats.spelling import counted, texts
from boomslang.trace.model import Trace

LINE = re.compile(r"[rw][ \t]+\d+[ \t]+\d+$|-+$|=+$")


def recognise(sample: Sample) -> bool:
    """By the first operation; whatever stands before it must be rules."""
    for line in sample.text.splitlines():
        if line.strip() and not LINE.match(line.strip()):
            return False
        if line.strip()[:1] in ("r", "w"):
            return True
    return False


def read(path: Path, check: Callable[[], None]) -> Trace:
    return read_native_file("awdit", path, check)


def losses(trace: Trace) -> list[Loss]:
    said = Registers(trace)
    lost = [*said.losses(), *said.not_numbers(0, None), *said.zeros(), *said.positions()]
    if number := int(said.absent_reads().sum()):
        lost.append(
            Loss(f"{counted(number, 'read')} of an absent key: a transaction of its own would write 0 first")
        )
    return lost


def write(trace: Trace, path: Path) -> None:
    said = Registers(trace)
    keys, values = texts(trace.keys), [*texts(trace.values), "0"]  # [-1] is ABSENT
    absent = distinct(trace.op_key[said.absent_reads()]).tolist()
    with create(path) as file:
        rule = b""
        for _, transactions in said.sessions():
            for t in transactions:
                lines = (f"{'rw'[wrote]} {keys[k]} {values[v]}\n" for wrote, k, v in said.operations(t))
                file.write(rule + "".join(lines).encode())
                rule = b"-----\n"
            rule = b"=====\n"
        if absent:
            file.write(rule + "".join(f"w {keys[k]} 0\n" for k in absent).encode())


FORMAT = Format(
    name="awdit",
    title="AWDIT's test format",
    recognise=recognise,
    read=read,
    losses=losses,
    write=write,
    sign="lines like r 1 2 or w 1 2 between lines of - and =",
)
