"""Does a count refute the trace? No solver is needed to see it.

The claim: these transactions read a key and overwrote it, and there were fewer versions to overwrite. Where a level
forbids lost updates, who reads a version and writes the key is its next writer (Berenson et al., "A critique of ANSI
SQL isolation levels", SIGMOD 1995), and a version has one next writer. So it is wrong if there are more readers than
versions between them, or if each of the versions is by one of those readers (who was the first?). Everything but
the names of the readers is found in the trace again; nothing here is shared with the pass that counted.
"""

from __future__ import annotations

from collections import defaultdict

from boomslang.certify.proof import TooFewVersions
from boomslang.certify.seen import SOME_VALUE, Seen, all_writers, fits, holds_list, look, of_others
from boomslang.certify.slack import slack_of
from boomslang.trace import ABSENT, NO_TIME, Initial, Outcome, Trace

# Levels that forbid lost updates: do reads of ranges count, too?
LEVELS = {
    "serializable": True,
    "strict-serializable": True,
    "snapshot-isolation": True,
    "strong-snapshot-isolation": True,
    "consistent-view": True,
    "forward-consistent-view": True,
    "repeatable-read": False,
    "cursor-stability": False,
}
STRICT = {"strict-serializable", "strong-snapshot-isolation", "forward-consistent-view"}


def fault_of_count(trace: Trace, level: str, proof: TooFewVersions) -> str:
    """What is wrong with the proof; nothing, if it refutes the trace."""
    try:
        plain, bound = slack_of(level, trace)
    except ValueError as error:
        return str(error)
    base = plain.removeprefix("strong-session-")
    slack = 0 if bound is None and base in STRICT else bound
    if base not in LEVELS:
        return f"{level} does not forbid lost updates, so nothing follows from a count"
    key = proof.key
    if not 0 <= key < len(trace.key_rank) or holds_list(trace, key):
        return f"key {key} is none that the trace has, or holds a list"
    left = all_writers(trace, {key})[key]
    versions = {t: value for t, value in left.items() if trace.txn_outcome[t] != Outcome.ABORTED}
    readers: defaultdict[int, set[int]] = defaultdict(set)
    for t, row in proof.readers:
        if not (0 <= t < len(trace) and trace.txn_ops[t] <= row < trace.txn_ops[t + 1]):
            return f"operation {row} is none of transaction {t}"
        if trace.txn_outcome[t] != Outcome.COMMITTED or t not in left:
            return f"transaction {t} did not commit, or did not write the key"
        if any(t in others for others in readers.values()):
            return f"transaction {t} is counted twice"
        seen = look(trace, row, key)
        outside = None if seen is None else of_others(trace, t, key, seen)
        if not isinstance(outside, Seen) or not _counts(trace, base, outside):
            return f"operation {row} says nothing of the version that transaction {t} overwrote"
        readers[outside.value].add(t)
    for w in proof.later:
        if slack is None or not all(_before(trace, t, w, slack) for t, _ in proof.readers):
            return f"transaction {w} did not begin after all those readers had returned"
        versions.pop(w, None)
    return "" if _too_few(trace, key, readers, versions) else "there are versions enough for all of them"


def _counts(trace: Trace, base: str, seen: Seen) -> bool:
    marked = trace.marked("cursor") if base == "cursor-stability" else None
    return (seen.item or LEVELS[base]) and (marked is None or bool(marked[seen.row]))


def _before(trace: Trace, a: int, b: int, slack: int) -> bool:
    if not 0 <= b < len(trace) or trace.txn_clock[a] != trace.txn_clock[b]:
        return False
    end, begin = int(trace.txn_end[a]), int(trace.txn_begin[b])
    return NO_TIME not in (end, begin) and end + slack < begin


def _too_few(trace: Trace, key: int, readers: dict[int, set[int]], versions: dict[int, int]) -> bool:
    given = dict(zip(trace.initial_key.tolist(), trace.initial_value.tolist(), strict=True))
    unknown = trace.initial_mode == Initial.UNKNOWN and key not in given
    first = given.get(key, ABSENT)
    lacking = 0
    for value, who in readers.items():
        if value == SOME_VALUE:
            continue
        there = {t for t, left in versions.items() if left == value}
        initial = not unknown and first == value
        circular = not there - who and not initial
        lacking += max(len(who) - len(there) - initial, int(circular))
    if lacking > unknown:
        return True
    if SOME_VALUE not in readers:
        return False
    takers = sum(len(who) for value, who in readers.items() if value != ABSENT)
    there = {t for t, left in versions.items() if fits(SOME_VALUE, left)}
    return takers > len(there) + (unknown or first != ABSENT)
