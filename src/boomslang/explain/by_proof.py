"""A refutation by counting, states or sessions as a counterexample: one sentence (count_words.py, state_words.py,
departure_words.py, session_words.py), and beside it what probably happened (likely.py).

Its core is all whose reads the proof needs. They may be hundreds, alike but for their names, so they are told as a
number and never one by one.
"""

from __future__ import annotations

from boomslang.asg.graph import ASG
from boomslang.certify.certificate import Core
from boomslang.certify.proof import Proof, StuckSessions, TooFewArrivals, TooFewVersions
from boomslang.explain.anomalies import Anomaly
from boomslang.explain.argument import Argument, Contradiction
from boomslang.explain.count_words import count_in_words
from boomslang.explain.counterexample import Counterexample
from boomslang.explain.departure_words import departures_in_words
from boomslang.explain.likely import Likely, what_probably_happened
from boomslang.explain.parts import Parts
from boomslang.explain.session_words import sessions_in_words
from boomslang.explain.state_words import state_in_words
from boomslang.levels.level import Level

LOST_UPDATE = Anomaly(
    "lost-update",
    "lost update",
    "more transactions read a version of a key and overwrote it than there were versions",
)
NEVER_WAS = Anomaly(
    "unreachable-state", "a state that never was", "a transaction saw keys together as no order can have them"
)
CHANGED_TWICE = Anomaly(
    "changed-twice",
    "a state that was changed twice",
    "more transactions saw keys in one state and changed it than can have brought it about",
)

STUCK = Anomaly(
    "stuck-sessions",
    "sessions that wait for each other",
    "no serial order that keeps session order lets all transactions see what they saw",
)


def explain_by_proof(asg: ASG, level: Level, proof: Proof, parts: Parts, seconds: float) -> Counterexample:
    """The counterexample whose core is what the proof rests on."""
    reads = [asg.pair(r) for r in parts.reads.tolist()]
    core = Core(
        level.name, tuple(asg.txn_of[parts.transactions].tolist()), tuple(sorted(set(reads))), proof=proof
    )
    if isinstance(proof, TooFewVersions):
        proved, anomaly = count_in_words(asg, proof), LOST_UPDATE
        likely = what_probably_happened(asg, level, core.transactions, seconds, lost=proof.key)
        if (
            likely is not None and len(proof.readers) == 1
        ):  # it saw what was not there yet, and nothing is lost
            anomaly = likely.anomaly
    elif isinstance(proof, TooFewArrivals):
        proved = departures_in_words(asg, level, proof)
        likely = what_probably_happened(asg, level, core.transactions, seconds)
        anomaly = CHANGED_TWICE if likely is None else likely.anomaly
    elif isinstance(proof, StuckSessions):
        proved = sessions_in_words(asg, proof, parts)
        first = min(proof.waiting, key=lambda t: (int(asg.trace.txn_end[t]), t))
        likely = what_probably_happened(asg, level, core.transactions, seconds, near=first)
        anomaly = STUCK if likely is None else likely.anomaly
    else:
        proved = state_in_words(asg, level, proof)
        likely = what_probably_happened(asg, level, core.transactions, seconds, near=proof.transaction)
        anomaly = NEVER_WAS if likely is None else likely.anomaly
    argument = Argument((), Contradiction(proved.text, operations=proved.operations))
    beside = _spoken_of(core, likely)
    return Counterexample(asg.given, core, argument, anomaly, False, beside, likely=likely, proved=proved)


def _spoken_of(core: Core, likely: Likely | None) -> tuple[int, ...]:
    return () if likely is None else tuple(t for t in likely.transactions if t not in core.transactions)
