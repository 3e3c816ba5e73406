"""Where values repeat: what refutes a trace with no search (counting.py, states.py, departures.py), tried before one
is begun.

None is for modules that change what a transaction saw or did, and all are the native engine's alone: the other
solvers do without, so that they can disagree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG
from boomslang.certify.proof import TooFewArrivals, TooFewVersions, UnreachableState
from boomslang.distinct import distinct
from boomslang.ir.model import IR
from boomslang.levels.level import Level
from boomslang.solve.counting import parts_of_count, too_few_versions
from boomslang.solve.departures import parts_of_departures, too_few_arrivals
from boomslang.solve.solution import Limits, Solution
from boomslang.solve.states import guarded, named_reads, unreachable_state
from boomslang.trace.model import Outcome

Int64 = NDArray[np.int64]

Proof = TooFewVersions | UnreachableState | TooFewArrivals
_BY = {
    TooFewVersions: "counting",
    UnreachableState: "reachable states",
    TooFewArrivals: "counting departures",
}


def refute_repeated(
    ir: IR,
    limits: Limits,
    looked_at: dict[str, int] | None = None,
    *,
    among: NDArray[np.bool_] | None = None,
) -> Solution | None:
    """An invalid answer, with the proof and the parts that it rests on. None says nothing. `looked_at` gets the
    groups of keys whose states were followed, and how many states there were at most. `among`: keys of which all
    writers are here; of others nothing is read."""
    asg, level = ir.asg, ir.level
    proof: Proof | None = too_few_versions(asg, level)
    if proof is None:
        proof, seen = unreachable_state(asg, level, limits, among)
        if looked_at is not None:
            looked_at.update(seen)
    if proof is None:
        proof = too_few_arrivals(asg, level)
    return None if proof is None else _refuted_by(asg, level, proof)


def refute_counted(ir: IR) -> Solution | None:
    """The same by counting versions alone: that takes all who wrote what readers saw, and nobody else."""
    proof = too_few_versions(ir.asg, ir.level)
    return None if proof is None else _refuted_by(ir.asg, ir.level, proof)


def _refuted_by(asg: ASG, level: Level, proof: Proof) -> Solution:
    transactions, reads = parts_of(asg, level, proof)
    return Solution(
        "invalid",
        core_transactions=transactions,
        core_reads=reads,
        decided_by=_BY[type(proof)],
        proof=proof,
    )


def parts_of(asg: ASG, level: Level, proof: Proof) -> tuple[Int64, Int64]:
    """The transactions and reads that a proof rests on."""
    if isinstance(proof, TooFewVersions):
        transactions, reads = parts_of_count(asg, proof)
    elif isinstance(proof, TooFewArrivals):
        transactions, reads = parts_of_departures(asg, level, proof)
    else:
        txn, mine = named_reads(asg, level, proof)
        needed = guarded(asg, level, proof)
        transactions = np.concatenate([np.array([txn]), *(one.transactions for one in needed)])
        reads = distinct(np.concatenate([mine, *(one.reads for one in needed)])).astype(np.int64)
    return distinct(np.concatenate([transactions, aborted_writers(asg, reads)])).astype(np.int64), reads


def aborted_writers(asg: ASG, reads: Int64) -> Int64:
    """Aborted writers of what these reads saw: if nobody knew that they did abort, they might have been read from."""
    gone = [np.zeros(0, np.int64)]
    for key, pattern in {(int(asg.read_key[r]), int(asg.read_value[r])) for r in reads}:
        writers = asg.write_txn[asg.writes_of(key, pattern)]
        gone.append(writers[asg.outcome[writers] == Outcome.ABORTED].astype(np.int64))
    return np.concatenate(gone)
