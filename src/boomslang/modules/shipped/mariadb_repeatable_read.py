"""Repeatable read as MariaDB and MySQL (InnoDB) mean it: plain reads see a snapshot, locking reads and writes do not.

`SELECT ... FOR UPDATE`, `... FOR SHARE`, and what UPDATE and DELETE look at, see the newest committed state, so one
transaction works with several views. It is split: all plain reads are one part, placed where the first of them was
(that takes the snapshot); each locking read, and each delete that told what it found, is a part of its own, with a
fresh view; the writes belong to the last part, the commit. A locking read is marked in `ctx`: {"lock": "update"} (or
"share", or true). A list that is read after an own append to it is the newest one too: the append made its version of
the newest. So is a row of a table once the transaction has written to it: InnoDB puts the new columns into the newest
version of the row, and the transaction's own version is what it sees from then on, other columns included. Such a read
is a part of its own, and a select says nothing of such rows. With locks=held the locking parts are the commit's: their
locks are held until then.

Deliberately not a tight check: without locks=held it does not ask that what was locked stays as it was read.
"""

from dataclasses import replace

import numpy as np

from boomslang.asg.graph import ASG
from boomslang.errors import UsageError
from boomslang.ir.model import IR
from boomslang.modules.module import Hints, module
from boomslang.modules.rows import rows_of_keys, without_rows
from boomslang.modules.split import keep_together, split
from boomslang.trace.model import Flag, Kind

PLAIN = (Kind.GET, Kind.SCAN, Kind.ITERATOR, Kind.NEXT, Kind.LIST, Kind.SELECT)
WRITES = (Kind.PUT, Kind.DELETE)


def into_views(asg: ASG, hints: Hints) -> ASG:
    """The ASG with each transaction split into its views."""
    if (locks := hints.parameters["locks"]) not in ("released", "held"):
        raise UsageError(f"found locks={locks!r}; expected released or held")
    trace = asg.trace
    told = (trace.op_kind == Kind.DELETE) & (trace.op_flags & (Flag.FOUND | Flag.NOTHING) != 0)
    reads = np.isin(trace.op_kind, PLAIN)
    locking = np.zeros(len(trace.op_kind), bool)
    if trace.op_ctx is not None:
        for row in np.flatnonzero(reads & (trace.op_ctx >= 0)).tolist():
            locking[row] = bool(hints.operation(row).get("lock"))
    # An iterator locks what its opening says.
    locked_ranges = np.unique(trace.op_range[locking & (trace.op_kind == Kind.ITERATOR)])
    locking |= (trace.op_kind == Kind.NEXT) & np.isin(trace.op_range, locked_ranges)
    row_of = rows_of_keys(asg)
    silenced: dict[int, set[int]] = {}  # of plain selects, the rows of which they say nothing
    part = np.zeros(len(trace.op_kind), np.int64)
    commit = np.zeros(len(trace), np.int64)
    for t in range(len(trace)):
        view, snapshot = 0, -1
        appended: set[int] = set()
        rows: set[int] = set()
        first, end = int(trace.txn_ops[t]), int(trace.txn_ops[t + 1])
        last = []
        for row in range(first, end):
            key = int(trace.op_key[row])
            kind = trace.op_kind[row]
            of = int(row_of[key]) if key >= 0 else -1
            newest = (kind == Kind.LIST and key in appended) or (kind == Kind.GET and of in rows)
            if kind == Kind.APPEND:
                appended.add(key)
            elif kind in WRITES and of >= 0:
                rows.add(of)
            elif kind == Kind.SELECT and rows and not locking[row]:
                silenced[row] = set(rows)
            if reads[row] and not locking[row] and not newest:
                if snapshot < 0:
                    snapshot, view = view, view + 1
                part[row] = snapshot
            elif (locking[row] or told[row] or newest) and locks == "released":
                part[row], view = view, view + 1
            else:
                last.append(row)
        part[last] = view
        # What a delete wrote is not the snapshot's, even if nothing but the snapshot came later.
        own = bool(last) or (snapshot == view - 1 and bool(told[first:end].any()))
        commit[t] = view if own else max(0, view - 1)
    made = split(without_rows(asg, silenced, row_of), part, commit)
    note = (
        "mariadb-repeatable-read: plain reads see a snapshot, locking reads and writes the newest state; "
        "each view is a transaction of its own, so this is deliberately not a tight check"
    )
    return replace(made, notes=(*asg.notes, note))


@module(prepare=into_views, selects=True)
def mariadb_repeatable_read(asg: ASG, ir: IR, hints: Hints, *, locks: str = "released") -> None:
    """Plain reads see a snapshot; locking reads (ctx.lock) and writes see the newest committed state."""
    keep_together(ir)
