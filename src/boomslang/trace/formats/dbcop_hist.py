"""dbcop's text for people (`.hist`): `[x:=1 y==2 z==?]` a transaction, `---` between sessions.

`z==?` read z before anybody wrote it, and so did `z==0`, unless somebody writes 0 to z. `[...]!` did not commit:
it is aborted. Each version of a variable is written once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from boomslang.trace.files import create
from boomslang.trace.formats.dbcop_json import refuse_repeated, repeated
from boomslang.trace.formats.format import Format, Loss, Sample, read_native_file
from boomslang.trace.formats.registers import Registers, are_integers
from boomslang.trace.formats.spelling import counted, texts
from boomslang.trace.formats.zeros import zero_is_initial
from boomslang.trace.model import Kind, Outcome, Trace
from boomslang.trace.scalars import STR

START = re.compile(r"\s*(//[^\n]*\n\s*|-+\s*\n\s*)*\[\s*[A-Za-z_][A-Za-z0-9_]*(:=|==)")
VARIABLE = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")


def recognise(sample: Sample) -> bool:
    return bool(START.match(sample.text))


def read(path: Path, check: Callable[[], None]) -> Trace:
    trace = read_native_file("dbcop-hist", path, check)
    refuse_repeated(trace)
    return zero_is_initial(trace)


def losses(trace: Trace) -> list[Loss]:
    said = Registers(trace, aborted=True)
    used = said.used_keys().tolist()
    wrong = sum(trace.keys.type[k] != STR or not VARIABLE.fullmatch(trace.keys.content(k)) for k in used)
    values = said.used_values()
    not_versions = int((~are_integers(trace.values, values, 0, 2**64 - 1)).sum())
    lost = said.losses()
    if wrong:
        lost.append(Loss(f"{counted(wrong, 'key')} other than names of letters, digits and _", fatal=True))
    if not_versions:
        what = f"{counted(not_versions, 'value')} other than whole numbers from 0 to {2**64 - 1}"
        lost.append(Loss(what, fatal=True))
    puts = said.rows & (trace.op_kind == Kind.PUT)
    pairs = set(zip(trace.op_key[puts].tolist(), trace.op_value[puts].tolist(), strict=True))
    if again := len(repeated(trace, puts)) + len(pairs.intersection(said.loaded)):
        what = f"{counted(again, 'write')} of a value that its key has had before: versions differ"
        lost.append(Loss(what, fatal=True))
    # Absent is ?, so only a 0 that nobody wrote would look like something else.
    return [*lost, *said.unwritten_zeros(), *said.positions()]


def write(trace: Trace, path: Path) -> None:
    said = Registers(trace, aborted=True)
    keys, values = texts(trace.keys), [*texts(trace.values), "?"]  # [-1] is ABSENT
    aborted = [*(trace.txn_outcome == Outcome.ABORTED).tolist(), False]  # [-1] is INITIAL
    with create(path) as file:
        for n, (_, transactions) in enumerate(said.sessions()):
            file.write(b"---\n" if n else b"")
            for t in transactions:
                events = (f"{keys[k]}{'=:'[wrote]}={values[v]}" for wrote, k, v in said.operations(t))
                file.write(f"[{' '.join(events)}]{'!' if aborted[t] else ''}\n".encode())


FORMAT = Format(
    name="dbcop-hist",
    title="dbcop's .hist text",
    recognise=recognise,
    read=read,
    losses=losses,
    write=write,
    sign="lines like [x:=1 y==2]",
)
