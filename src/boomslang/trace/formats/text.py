"""Text of PolySI, Plume and IsoVista, and what AWDIT calls plume: `r(key,value,session,transaction)`.

One operation a line, all numbers; transaction -1 is an aborted one. A read of 0 saw the initial version, unless
somebody writes 0 to that key. (IsoVista's files write the initial values in a transaction of their own: such a
0 is a value like any other.)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from itertools import count, pairwise
from pathlib import Path

from boomslang.distinct import distinct
from boomslang.trace.files import create
from boomslang.trace.formats.format import Format, Loss, Sample, read_native_file
from boomslang.trace.formats.registers import INITIAL, Registers, are_integers
from boomslang.trace.formats.spelling import texts
from boomslang.trace.formats.zeros import zero_is_initial
from boomslang.trace.model import Outcome, Trace
from boomslang.trace.scalars import text_to_int

NUMBER = re.compile(r"0|[1-9][0-9]*")
LINE = re.compile(r"[rw]\(\d+,\d+,\d+,-?\d+\)$")


def recognise(sample: Sample) -> bool:
    return bool(LINE.match(sample.first_line))


def read(path: Path, check: Callable[[], None]) -> Trace:
    return zero_is_initial(read_native_file("text", path, check))


class _Text(Registers):
    """What the text says of a trace. Names are kept if they are numbers."""

    def __init__(self, trace: Trace) -> None:
        super().__init__(trace, aborted=True)

    @cached_property
    def groups(self) -> list[tuple[int, list[int]]]:
        return self.sessions()

    @cached_property
    def named(self) -> list[int]:
        """The transactions that are written with a name of their own."""
        aborted = (self.trace.txn_outcome == Outcome.ABORTED).tolist()
        return [t for _, txns in self.groups for t in txns if t != INITIAL and not aborted[t]]

    @cached_property
    def session_names_stay(self) -> bool:
        return all(NUMBER.fullmatch(self.trace.sessions[s]) for s, _ in self.groups if s >= 0)

    @cached_property
    def names_stay(self) -> bool:
        ids = self.trace.txn_name[self.named]
        return bool(are_integers(self.trace.names, ids, 0, None).all()) and len(distinct(ids)) == len(ids)

    def session_numbers(self) -> list[str]:
        """One for each group."""
        names = [self.trace.sessions[s] if s >= 0 and self.session_names_stay else "" for s, _ in self.groups]
        fresh = count(1 + max((text_to_int(name) for name in names if name), default=0))
        return [name or str(next(fresh)) for name in names]

    def transaction_numbers(self) -> dict[int, str]:
        if not self.names_stay:
            return {t: str(n) for n, t in enumerate([INITIAL, *self.named])}
        names = texts(self.trace.names)
        numbers = {
            t: names[name] for t, name in zip(self.named, self.trace.txn_name[self.named], strict=True)
        }
        return {INITIAL: str(1 + max(map(text_to_int, numbers.values()), default=0)), **numbers}


def losses(trace: Trace) -> list[Loss]:
    said = _Text(trace)
    lost = [*said.losses(), *said.not_numbers(0, None), *said.zeros()]
    if not said.session_names_stay:
        lost.append(Loss("the names of sessions: they are numbered", minor=True))
    if not said.names_stay:
        lost.append(Loss("the names of transactions: they are numbered", minor=True))
    aborted = trace.txn_outcome == Outcome.ABORTED
    if any(trace.names[i] is not None for i in set(trace.txn_name[aborted].tolist())):
        lost.append(Loss("the names of aborted transactions", minor=True))
    joined = sum(bool(aborted[a] and aborted[b]) for _, txns in said.groups for a, b in pairwise(txns))
    if joined:
        lost.append(Loss(f"where one aborted transaction ends and the next begins ({joined:,} times)"))
    return lost


def write(trace: Trace, path: Path) -> None:
    said = _Text(trace)
    keys, values = texts(trace.keys), [*texts(trace.values), "0"]  # [-1] is ABSENT
    names = said.transaction_numbers()
    with create(path) as file:
        for session, (_, transactions) in zip(said.session_numbers(), said.groups, strict=True):
            for t in transactions:
                tail = f",{session},{names.get(t, '-1')})\n"
                lines = (f"{'rw'[wrote]}({keys[k]},{values[v]}{tail}" for wrote, k, v in said.operations(t))
                file.write("".join(lines).encode())


FORMAT = Format(
    name="text",
    title="text of PolySI, Plume or IsoVista",
    recognise=recognise,
    read=read,
    losses=losses,
    write=write,
    sign="lines like r(1,2,3,4) or w(1,2,3,4)",
)
