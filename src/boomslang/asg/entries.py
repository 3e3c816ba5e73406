"""Keys that the trace does not have: entries, which say of a row whether it matches a condition.

A database answers `WHERE on_call` from an index of the rows that match. So does the ASG: for a row and a
condition over one of its columns there is an *entry*, a key of its own. Whoever writes the column writes
the entry: present if the row now matches, absent if not. A select then reads entries, those of the rows it
returned as present and all others as absent, and these are predicate reads like any that a scan makes:
every level, every solver and every explanation knows what to do with them. This is exact, because each
writer of the column settles the entry, whatever else happened.

A condition over several columns is settled by no single write. Then there is a *joint* read: of each column
one version, which the solver chooses as for any read, and a relation that the values must be in
(ir/relations.py). The keys of such reads are entries too: present with every version.

Entries are numbered after the trace's own keys. Certificates have no numbers of ours: they say `keys + k`
for what a select asked of the key k alone, and `2 * keys + n` for what it asked of the n-th row
(trace/rows.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from boomslang.trace.model import ABSENT
from boomslang.trace.scalars import Scalars

if TYPE_CHECKING:
    from boomslang.asg.graph import ASG
    from boomslang.trace.model import Trace

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

PRESENT, UNKNOWN_INITIAL = -2, -3
"""As in graph.py, which uses this file."""
PREDICATE = 1


@dataclass(frozen=True, eq=False)
class Joint:
    """What a select said of a row, over several columns that others write."""

    op: int
    txn: int
    number: int
    """What certificates call it."""
    name: str
    returned: bool
    keys: tuple[int, ...]
    """Of each column its key."""
    classes: tuple[dict[int, int], ...]
    """Of each column, what a value is to the condition: values of one class make no difference."""
    bad: frozenset[tuple[int, ...]]
    """What the columns cannot have been together."""
    parts: frozenset[int] = frozenset()
    """Entries of single columns that stand for some of it as long as it is not active."""

    def holds(self, values: tuple[int, ...]) -> bool:
        """Can the select have seen these? What was there initially and nobody knows fits."""
        if UNKNOWN_INITIAL in values:
            return True
        return tuple(c[v] for c, v in zip(self.classes, values, strict=True)) not in self.bad


@dataclass(frozen=True, eq=False)
class Entries:
    """The keys beyond the trace's own: one row each."""

    trace: Trace
    """The trace as it was given: the ASG's has these keys, too."""
    first: int
    """The number of the first one: how many keys the trace has."""
    base: Int64
    """The trace's key that settles it; -1 if nothing does."""
    number: Int64
    """What certificates call it."""
    joint: Int32
    """The joint read it belongs to, or -1."""
    column: Int32
    """And which of its columns it is."""
    fits: tuple[Callable[[int], bool | None] | None, ...]
    """With which values of that key it is present; None: the joint reads have it in their relation."""
    known: tuple[Sequence[int], ...]
    """Values that are worth a try where nobody knows what that key held."""
    joints: tuple[Joint, ...] = ()
    """All of them; `active` are those whose reads are in the ASG."""
    active: frozenset[int] = frozenset()


@dataclass
class Making:
    """Entries and reads to be added to an ASG, in lists."""

    names: list[str] = field(default_factory=list)
    base: list[int] = field(default_factory=list)
    number: list[int] = field(default_factory=list)
    joint: list[int] = field(default_factory=list)
    column: list[int] = field(default_factory=list)
    fits: list[Callable[[int], bool | None] | None] = field(default_factory=list)
    known: list[Sequence[int]] = field(default_factory=list)
    initial: list[int] = field(default_factory=list)
    write_key: list[Int64] = field(default_factory=list)
    write_row: list[Int64] = field(default_factory=list)
    """Rows of the ASG's writes."""
    write_value: list[Int32] = field(default_factory=list)
    inner_key: list[Int64] = field(default_factory=list)
    inner_row: list[Int64] = field(default_factory=list)
    inner_value: list[Int32] = field(default_factory=list)
    """The same of writes that their own transactions overwrote."""
    reads: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Transaction, key, pattern, operation."""
    internal: list[tuple[int, int, int, int, int]] = field(default_factory=list)

    def entry(self, name: str, base: int, number: int, joint: int = -1, column: int = -1) -> int:
        """A new entry, without writes: its place."""
        self.names.append(name)
        self.base.append(base)
        self.number.append(number)
        self.joint.append(joint)
        self.column.append(column)
        self.initial.append(ABSENT)
        self.fits.append(None)
        self.known.append(())
        return len(self.names) - 1


def added(asg: ASG, made: Making) -> ASG:
    """The ASG with these entries and reads, not linked yet. Places of entries count from the keys there
    are."""
    old = asg.entries
    first, keys = (asg.keys if old is None else old.first), asg.keys
    write_key = np.concatenate([asg.write_key, *(k + keys for k in made.write_key)]).astype(np.int32)
    rows = np.concatenate([np.arange(len(asg.write_key)), *made.write_row])
    write_value = np.concatenate([asg.write_value, *made.write_value]).astype(np.int32)
    by = np.lexsort((asg.write_txn[rows], write_value, write_key))
    counts = np.bincount(write_key, minlength=keys + len(made.names))

    txn_of_read = asg.read_txn
    new = np.array(made.reads, np.int64).reshape(-1, 4)
    read_txn = np.concatenate([txn_of_read, new[:, 0]])
    read_op = np.concatenate([asg.read_op, new[:, 3]]).astype(np.int32)
    order = np.lexsort((read_op, read_txn))
    per_txn = np.bincount(read_txn, minlength=asg.transactions)
    lists = asg.lists
    if len(lists.of):
        none = np.zeros(len(new), np.int32)
        lists = replace(
            lists,
            of=np.concatenate([lists.of, none - 1]).astype(np.int32)[order],
            length=np.concatenate([lists.length, none]).astype(np.int32)[order],
        )
    contradictions = np.array(made.internal, np.int32).reshape(-1, 5)
    inner_txn, inner_key, inner_value, inner_op = asg.intermediate
    inner_rows = np.concatenate([np.arange(len(inner_key)), *made.inner_row])
    inner_key = np.concatenate([inner_key, *(k + keys for k in made.inner_key)]).astype(np.int32)
    inner_value = np.concatenate([inner_value, *made.inner_value]).astype(np.int32)
    inner_by = np.lexsort((inner_txn[inner_rows], inner_value, inner_key))
    return replace(
        asg,
        trace=replace(asg.trace, keys=_longer(asg.trace.keys, made.names)),
        write_txn=asg.write_txn[rows][by],
        write_value=write_value[by],
        write_op=asg.write_op[rows][by],
        key_start=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        read_start=np.concatenate(([0], np.cumsum(per_txn))).astype(np.int64),
        read_key=np.concatenate([asg.read_key, new[:, 1] + keys]).astype(np.int32)[order],
        read_value=np.concatenate([asg.read_value, new[:, 2]]).astype(np.int32)[order],
        read_op=read_op[order],
        read_kind=np.concatenate([asg.read_kind, np.full(len(new), PREDICATE)]).astype(np.uint8)[order],
        initial=np.concatenate([asg.initial, np.array(made.initial, np.int32)]).astype(np.int32),
        initial_by=asg.initial_by
        if not len(asg.initial_by)
        else np.concatenate([asg.initial_by, np.full(len(made.names), -1)]),
        internal=cast(
            "Any",
            tuple(
                np.concatenate([a, b + keys if i == 2 else b]).astype(np.int32)
                for i, (a, b) in enumerate(zip(asg.internal, contradictions.T, strict=True))
            ),
        ),
        intermediate=(
            inner_txn[inner_rows][inner_by],
            inner_key[inner_by],
            inner_value[inner_by],
            inner_op[inner_rows][inner_by],
        ),
        lists=lists,
        entries=Entries(
            asg.trace if old is None else old.trace,
            first,
            _joined(None if old is None else old.base, made.base, np.int64),
            _joined(None if old is None else old.number, made.number, np.int64),
            _joined(None if old is None else old.joint, made.joint, np.int32),
            _joined(None if old is None else old.column, made.column, np.int32),
            (() if old is None else old.fits) + tuple(made.fits),
            (() if old is None else old.known) + tuple(made.known),
            () if old is None else old.joints,
            frozenset() if old is None else old.active,
        ),
    )


def _joined(old: Any, new: list[int], kind: type[np.generic]) -> Any:
    return np.concatenate([np.zeros(0, kind) if old is None else old, np.array(new, kind)])


def _longer(table: Scalars, names: list[str]) -> Scalars:
    more = Scalars.of(names)
    return Scalars(
        np.concatenate([table.type, more.type]),
        np.concatenate([table.offset, more.offset[1:] + table.offset[-1]]),
        np.concatenate([table.data, more.data]),
    )


def everything(asg: ASG) -> ASG:
    """The ASG with the reads of all its joints."""
    entries = asg.entries
    return asg if entries is None or not entries.joints else activate(asg, list(range(len(entries.joints))))


def activate(asg: ASG, which: list[int]) -> ASG:
    """The ASG with the reads of these joints."""
    from boomslang.asg.graph import linked

    entries = asg.entries
    assert entries is not None and asg.key_of is None
    which = [j for j in which if j not in entries.active]
    asg = _without(asg, {(entries.joints[j].op, part) for j in which for part in entries.joints[j].parts})
    made = Making()
    gone = len(asg.trace.values)  # absent, as a version like any other
    for j in which:
        joint = entries.joints[j]
        for i, key in enumerate(joint.keys):
            place = made.entry(str(asg.trace.keys[key]), key, joint.number, j, i)
            low, high = int(asg.key_start[key]), int(asg.key_start[key + 1])
            values = asg.write_value[low:high]
            made.write_key.append(np.full(high - low, place, np.int64))
            made.write_row.append(np.arange(low, high))
            made.write_value.append(np.where(values == ABSENT, gone, values).astype(np.int32))
            start = int(settled_initial(asg)[key])
            made.initial[place] = gone if start == ABSENT else start
            made.reads.append((joint.txn, place, PRESENT, joint.op))
    more = added(asg, made)
    assert more.entries is not None
    return linked(replace(more, entries=replace(more.entries, active=entries.active | set(which))))


def _without(asg: ASG, reads: set[tuple[int, int]]) -> ASG:
    """The ASG without these reads: operations and keys. Not linked."""
    if not reads:
        return asg
    pairs = zip(asg.read_op.tolist(), asg.read_key.tolist(), strict=True)
    kept = np.array([pair not in reads for pair in pairs], bool)
    return asg.only_reads(kept)


def without_entries(asg: ASG) -> tuple[ASG, Int64]:
    """The ASG of the trace's own keys, and of each of its reads the number in the whole one."""
    from boomslang.asg.graph import linked

    entries = asg.entries
    assert entries is not None and asg.key_of is None
    first = entries.first
    kept = np.flatnonzero(asg.read_key < first)
    writes = slice(0, int(asg.key_start[first]))
    counts = np.bincount(asg.read_txn[kept], minlength=asg.transactions)
    lists, inner = asg.lists, asg.intermediate[1] < first
    if len(lists.of):
        lists = replace(lists, of=lists.of[kept], length=lists.length[kept])
    plain = replace(
        asg,
        trace=entries.trace,
        write_txn=asg.write_txn[writes],
        write_value=asg.write_value[writes],
        write_op=asg.write_op[writes],
        key_start=asg.key_start[: first + 1],
        read_start=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        read_key=asg.read_key[kept],
        read_value=asg.read_value[kept],
        read_op=asg.read_op[kept],
        read_kind=asg.read_kind[kept],
        initial=settled_initial(asg)[:first],
        initial_by=asg.initial_by[:0],
        internal=cast("Any", tuple(column[asg.internal[2] < first] for column in asg.internal)),
        intermediate=cast("Any", tuple(column[inner] for column in asg.intermediate)),
        lists=lists,
        entries=None,
    )
    return linked(plain), kept


def settled_initial(asg: ASG) -> Int32:
    """The initial values as the trace gives them."""
    from boomslang.asg.graph import unsettled

    return unsettled(asg)


def version_value(asg: ASG, value: int) -> int:
    """The value of a version that a joint's entry holds."""
    return ABSENT if value == len(asg.trace.values) else value
