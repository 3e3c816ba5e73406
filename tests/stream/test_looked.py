"""Scans of a trace that goes by speak of keys that nobody has heard of; also where it is unknown what there was."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.effort import examples
from support.streams import goes_by, verify_in_lines, verify_lines, whole_witness
from support.unheard import KEYS, Made, lines, write
from support.work import Here

from boomslang import check, read_trace
from boomslang.asg.graph import PREDICATE, build_asg
from boomslang.certify.lines.writer import Writer
from boomslang.certify.replay import ReplayError, replay
from boomslang.levels import find_level
from boomslang.stream.looked import Looked, looked_through
from boomslang.stream.taken import Taken
from boomslang.stretches.check import OnOneMachine, Sizes, check_in_stretches
from boomslang.trace import Outcome, Trace

# --- ranges


def reads(trace: Trace, by: Any, *, of_ranges: bool) -> set[bytes]:
    """Keys of which these transactions saw what others left there; or only those that a range did not return."""
    asg = build_asg(replace(trace, txn_outcome=np.full(len(trace), Outcome.COMMITTED, np.uint8)))
    those = by[asg.read_txn] & ((asg.read_kind == PREDICATE) | (not of_ranges))
    return set(trace.keys.codes(np.unique(asg.read_key[those])))


@pytest.mark.parametrize("seed", range(examples(150)))
def test_ranges_hold_the_keys_that_would_have_been_read(seed: int, tmp_path: Path) -> None:
    """Those that the trace does not speak of: had it done so, the scans would have read them."""
    rng = random.Random(seed)
    told = lines(rng, Made(transactions=rng.choice((2, 5)), planted=0, ranges=0.6))
    named = [{"session": "all", "txn": 0, "op": op} for op in ("begin", "abort")]
    universe = [key for keys in KEYS.values() for key in keys]
    distinct = {json.dumps(key): key for key in universe}.values()
    puts = [{"session": "all", "txn": 0, "op": "put", "key": key, "value": 0} for key in distinct]
    path = tmp_path / "trace.jsonl"
    write(path, told)
    trace = read_trace(path)
    write(path, [*told, named[0], *puts, named[1]])
    every = read_trace(path)
    codes = every.keys.codes()
    whole = Looked()
    for half in (0, 1):
        by = np.arange(len(trace)) % 2 == half
        by_every = np.append(by, False)
        heard = set(trace.keys.codes())
        seen = reads(every, by_every, of_ranges=False)
        unread = np.array([code not in seen for code in trace.keys.codes()], bool)
        found = looked_through(trace, by).but_for(unread)
        for code in codes:
            if code not in heard:
                assert found.holds(code) == (code in seen), code
            else:
                assert code in seen or not found.holds(code), code
        assert all(found.holds(code) for code in reads(every, by_every, of_ranges=True))
        both = whole.joined(found)
        assert all(both.holds(code) == (whole.holds(code) or found.holds(code)) for code in codes)
        assert len(both) <= len(whole) + len(found)
        whole = both


def test_ranges_that_meet_are_one(tmp_path: Path) -> None:
    """However many scans there were, what is kept are the places where they looked."""
    path = tmp_path / "trace.jsonl"
    scans = [
        line
        for i in range(200)
        for line in (
            {"session": "a", "txn": i, "op": "begin"},
            {"session": "a", "txn": i, "op": "scan", "from": i * 7 % 200, "to": i * 7 % 200 + 1, "items": []},
            {"session": "a", "txn": i, "op": "commit"},
        )
    ]
    write(path, scans)
    found, _, forward, _ = goes_by(path, find_level("ser"), size=1000, tail=1)
    assert found == "valid" and forward is not None and forward.counted.windows > 5
    assert len(forward.looked) == 1 and forward.live is not None and len(forward.live) == 0


# --- what is remembered


class Log:
    """A log of several sessions, with so many transactions in between that windows come and go."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.filled = 0
        self.begun = 0
        self.open: dict[str, int] = {}

    def say(self, session: str, op: str, **more: Any) -> None:
        if op == "begin":
            self.begun += 1
            self.open[session] = self.begun
        self.lines.append({"session": session, "txn": self.open[session], "op": op, **more})

    def txn(self, session: str, *ops: tuple[str, dict[str, Any]], end: str = "commit", **ending: Any) -> None:
        self.say(session, "begin")
        for op, more in ops:
            self.say(session, op, **more)
        self.say(session, end, **ending)

    def others(self, many: int = 15) -> None:
        for _ in range(many):
            self.filled += 1
            self.txn("other", ("put", {"key": "z", "value": self.filled}))

    def write(self, path: Path, initial: object = "unknown") -> None:
        header = {"boomslang": 1, "initial": initial}
        path.write_text("".join(json.dumps(line) + "\n" for line in (header, *self.lines)))


def get(key: Any, value: Any = None) -> tuple[str, dict[str, Any]]:
    return "get", {"key": key, **({"absent": True} if value is None else {"value": value})}


def put(key: Any, value: Any) -> tuple[str, dict[str, Any]]:
    return "put", {"key": key, "value": value}


def scan(low: Any, high: Any, *items: list[Any]) -> tuple[str, dict[str, Any]]:
    bounds = {name: bound for name, bound in (("from", low), ("to", high)) if bound is not None}
    return "scan", {**bounds, "items": list(items)}


def steps(low: Any, high: Any, *items: list[Any], end: bool = False) -> list[tuple[str, dict[str, Any]]]:
    bounds = {name: bound for name, bound in (("from", low), ("to", high)) if bound is not None}
    told: list[tuple[str, dict[str, Any]]] = [("iterator", {"id": 1, **bounds})]
    told += [("next", {"id": 1, "key": key, "value": value}) for key, value in items]
    return [*told, ("next", {"id": 1, "end": True})] if end else told


EARLY: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "a scan": ("invalid", [scan("a", "m")], {}),
    "a scan from it on": ("invalid", [scan("k", "m")], {}),
    "a scan up to it": ("valid", [scan("a", "k")], {}),
    "a scan from behind it": ("valid", [scan("k\0", "m")], {}),
    "a scan without a lower bound": ("invalid", [scan(None, "m")], {}),
    "a scan of everything": ("invalid", [scan(None, None)], {}),
    "a scan of numbers": ("valid", [scan(0, None)], {}),
    "a scan of nothing": ("valid", [scan("k", "k")], {}),
    "a scan that was undone": ("valid", [scan("a", "m")], {"end": "abort"}),
    "a scan that failed": ("valid", [("scan", {"error": "no"})], {}),
    "a scan in doubt": ("valid", [scan("a", "m")], {"error": "timeout"}),
    "a scan in doubt that was read from": (
        "invalid", [scan("a", "m"), put("y", 7)], {"error": "timeout"},
    ),
    "an iterator that ended": ("invalid", steps("a", "m", end=True), {}),
    "an iterator that was left": ("valid", steps("a", "m"), {}),
    "an iterator that came to a key before": ("valid", steps("a", "m", ["b", 1], ["j", 1]), {}),
    "an iterator that came to a key behind": ("invalid", steps("a", "m", ["b", 1], ["l", 1]), {}),
    "an iterator of everything": ("invalid", steps(None, None, end=True), {}),
    "an iterator that came to a number": ("valid", steps(None, None, [5, 1]), {}),
    "a get": ("invalid", [get("k")], {}),
}  # fmt: skip
"""What a transaction did long before somebody found a first value in k, and what that makes of the trace."""


def early_and_late(name: str, *, before: int, between: int = 15) -> Log:
    """Such a transaction, behind so many others, and long after it the one that found a value in k."""
    _, ops, ending = EARLY[name]
    log = Log()
    log.txn("early", get("y"))
    log.others(before)
    log.txn("early", *ops, **ending)
    log.txn("early", put("x", 1))
    if "read from" in name:
        log.txn("reader", get("y", 7))
    log.others(between)
    log.txn("late", get("k", 1))
    return log


@pytest.mark.parametrize("name", EARLY)
def test_what_was_looked_through_is_remembered(name: str, tmp_path: Path) -> None:
    expected, _, _ = EARLY[name]
    path, log = tmp_path / "trace.jsonl", early_and_late(name, before=5)
    log.others()
    log.write(path)
    trace = read_trace(path)
    for level in map(find_level, ("ser", "si", "strong-session-prefix")):
        assert check(trace, level, window=0).status == expected
        found, _, forward, taken = goes_by(path, level, size=400, tail=1)
        assert found == expected and forward is not None and forward.counted.windows > 5
        if found == "invalid":
            found, *_ = goes_by(path, level, size=400, tail=1, kept=1)
            assert found in ("invalid", "stuck")  # who looked is forgotten, that somebody did is not
            continue
        assert forward.counted.joins == 0  # nothing was remembered that was not so
        verify_in_lines(path, level, taken, forward.counted.operations)
        replay(trace, whole_witness(trace, level, taken))


@pytest.mark.parametrize("another", [False, True])
def test_a_scan_says_nothing_of_what_its_transaction_had_written(another: bool, tmp_path: Path) -> None:
    """It begins in one window and commits in a later one, where k is read as it was at first. If another one looked
    there, too, who had not written k, then it was absent."""
    path, log = tmp_path / "trace.jsonl", Log()
    log.others(10)
    log.say("a", "begin")
    for op, more in (get("z", 10), put("k", 2), scan("a", "m", ["k", 2]), put("p", 1)):
        log.say("a", op, **more)
    if another:
        log.txn("b", get("z", 10), scan("j", "l"))
    log.others(5)
    log.txn("c", get("p"), get("z", 15))  # so "a" commits behind it
    log.say("a", "commit")
    log.txn("d", get("k", 1), get("z", 15))
    log.others()
    log.write(path)
    trace, level = read_trace(path), find_level("si")
    assert check(trace, level, window=0).valid != another
    left_out = 0
    for size, tail in product(range(400, 2000, 200), (1, 2, 3)):
        found, _, forward, taken = goes_by(path, level, size=size, tail=tail)
        assert (found == "invalid") == another and forward is not None
        if found == "valid":
            assert forward.counted.joins == 0
            assert forward.looked.holds(b"\x04ka")
            left_out += not forward.looked.holds(b"\x04k")
            replay(trace, whole_witness(trace, level, taken))
            verify_in_lines(path, level, taken, forward.counted.operations)
    assert another or left_out


def test_what_was_looked_through_is_forgotten_when_windows_are_joined(tmp_path: Path) -> None:
    """k was there at first, and then deleted; who looked later did not see it. A read of something old says that all
    of that is asked again."""
    path, log = tmp_path / "trace.jsonl", Log()
    log.others(5)
    log.txn("a", get("k", 1))
    log.txn("a", ("delete", {"key": "k"}))
    log.txn("a", scan("a", "m"))
    log.others(10)
    log.txn("b", get("z", 2))
    log.others(5)
    log.write(path)
    trace = read_trace(path)
    for level in map(find_level, ("ser", "si")):
        found, _, forward, taken = goes_by(path, level, size=400, tail=1)
        assert found == "valid" and forward is not None and forward.counted.joins
        replay(trace, whole_witness(trace, level, taken))
        verify_in_lines(path, level, taken, forward.counted.operations)


def test_a_choice_that_a_range_forbids_is_refused(tmp_path: Path) -> None:
    """By the replay: whoever chooses an initial value after a range has shown that there was none."""
    path, certificate = tmp_path / "trace.jsonl", tmp_path / "proof.jsonl"
    level = find_level("ser")
    for (name, (expected, ops, ending)), first in product(EARLY.items(), (1, 2)):
        if "doubt" in name or "undone" in name or name == "a get":
            continue
        log = Log()
        log.txn("early", *ops, **ending)
        log.txn("late", get("k", 1))
        log.write(path)
        trace = read_trace(path)
        nobody, begin = np.zeros(1, np.int64), trace.txn_begin_line.astype(np.int64)
        early = [(trace.keys.code(int(trace.op_key[o])), trace.values.code(int(trace.op_value[o])))
                 for o in range(int(trace.txn_ops[1])) if trace.op_value[o] >= 0]  # fmt: skip
        with Writer(certificate, level.name, 1, lambda f: path.name) as writer:
            if first == 1:
                writer.take(nobody, begin[:1], None, early)
            writer.take(nobody, begin[1:], None, [(b"\x04k", b"\x021"), *(early if first == 2 else [])])
            if first == 2:
                writer.take(nobody, begin[:1])
            writer.finish(len(trace.op_kind))
        if expected == "valid":
            verify_lines(path, certificate)
            continue
        why = "a range had shown to be absent" if first == 1 else "missed a key that was there"
        with pytest.raises(ReplayError, match=why):
            verify_lines(path, certificate)


@pytest.mark.parametrize(
    "name",
    [
        name if name in ("a scan", "a scan up to it", "a get") else pytest.param(name, marks=pytest.mark.full)
        for name in EARLY
    ],
)
def test_stretches_tell_each_other_what_was_looked_through(name: str, tmp_path: Path) -> None:
    expected, _, _ = EARLY[name]
    path, log = tmp_path / "trace.jsonl", early_and_late(name, before=10, between=40)
    log.others(10)
    log.write(path)
    trace, level = read_trace(path), find_level("strong-session-ser")
    taken: list[Taken] = []
    sizes = Sizes(path.stat().st_size // 3, 600, 1, 100)
    try:
        found, cost = check_in_stretches(path, level, Here(), take=taken.append, sizes=sizes)
    except OnOneMachine as why:  # it has no order, and who looked is not in the core that was asked
        assert expected == "invalid" and "no order was found" in str(why)
        return
    assert found.status == expected and cost.seams
    if expected == "valid":
        assert cost.joins == cost.again == 0
        replay(trace, whole_witness(trace, level, taken))
        verify_in_lines(path, level, taken, found.counted.operations)


@pytest.mark.parametrize("another", ["", "before", "behind"])
def test_a_choice_is_excused_by_own_writes_alone(another: str, tmp_path: Path) -> None:
    """One scans what it has written, and has not committed when what was there at first is chosen; unless another one,
    who did not write it, scans there, too."""
    path, certificate, log = tmp_path / "trace.jsonl", tmp_path / "proof.jsonl", Log()
    log.txn("b", *([scan("j", "l")] if another else [get("x")]))
    log.txn("a", put("k", 2), scan("a", "m", ["k", 2]))
    log.txn("d", get("k", 1))
    log.write(path)
    trace = read_trace(path)
    b, a, d = trace.txn_begin_line.astype(np.int64).tolist()
    first = [a, b, b] if another == "behind" else [b, b, a]
    commits = [False, False, True] if another == "behind" else [False, True, False]
    with Writer(certificate, find_level("si").name, 2, lambda f: path.name) as writer:
        writer.take(np.zeros(3, np.int64), np.array(first), np.array(commits))
        rest = np.array([d, d, a]), np.array([False, True, True])
        writer.take(np.zeros(3, np.int64), *rest, [(b"\x04k", b"\x021")])
        writer.finish(len(trace.op_kind))
    if not another:
        verify_lines(path, certificate)
        return
    with pytest.raises(ReplayError, match="a range had shown to be absent"):
        verify_lines(path, certificate)


# --- initial values that come late


def test_initial_values_that_are_loaded_late_do_not_count_from_there_on(tmp_path: Path) -> None:
    """A scan long before should have seen them."""
    path, log = tmp_path / "trace.jsonl", Log()
    log.others()
    log.txn("early", scan("a", "m"))
    log.others()
    log.say("load", "begin", initial=True)
    log.say("load", "put", key="k", value=1)
    log.say("load", "commit")
    log.txn("late", get("k", 1))
    log.others()
    log.write(path, "empty")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    assert check(read_trace(path), "ser", window=0).status == "invalid"
    for size in (1000, 1500):
        found, *_ = goes_by(path, find_level("ser"), size=size, tail=1, kept=1)
        assert found in ("no", "invalid"), size


@pytest.mark.parametrize("scans", [True, False])
def test_what_was_loaded_at_first_may_be_joined_again(scans: bool, tmp_path: Path) -> None:
    """A read of something old, and the window is joined with the first one: what was loaded there is known by then."""
    path, log = tmp_path / "trace.jsonl", Log()
    log.say("load", "begin", initial=True)
    log.say("load", "put", key="k", value=1)
    log.say("load", "commit")
    log.others()
    log.txn("early", scan("a", "m", ["k", 1]) if scans else get("k", 1))
    log.others()
    log.txn("late", get("k", 1), get("z", 2))
    log.others()
    log.write(path, "empty")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    trace, level = read_trace(path), find_level("ser")
    for size in (800, 1200):
        found, _, forward, taken = goes_by(path, level, size=size, tail=1)
        assert found == "valid" and forward is not None and forward.counted.joins
        replay(trace, whole_witness(trace, level, taken))
        verify_in_lines(path, level, taken, forward.counted.operations)


# --- last writers


@pytest.mark.parametrize("kept", [10**6, 2])
@pytest.mark.parametrize("initial", ["unknown", "empty"])
@pytest.mark.parametrize("looks", ["scan", "iterator", "nobody"])
def test_a_scan_that_did_not_see_a_key_settles_who_deleted_it(
    looks: str, initial: str, kept: int, tmp_path: Path
) -> None:
    """Of two last writers one put the key and one deleted it. It is gone, so windows do not speak of it; but a scan
    that covers it has seen that, and they cannot change places any more."""
    path, log = tmp_path / "trace.jsonl", Log()
    log.txn("reader", get("c"), get("d"))
    log.say("a", "begin")
    log.say("b", "begin")
    for key, value in (("k", 1), ("c", 1)):
        log.say("a", "put", key=key, value=value)
    log.say("b", "delete", key="k")
    log.say("b", "put", key="d", value=1)
    log.say("a", "commit")
    log.say("b", "commit")
    log.others(15 if kept > 2 else 60)
    seen: list[list[Any]] = [["c", 1], ["d", 1]]
    if looks == "scan":
        log.txn("reader", scan("c", "m", *seen))
    elif looks == "iterator":
        log.txn("reader", *steps("c", "m", *seen, end=True))
    else:
        log.txn("reader", get("c", 1), get("d", 1))
    log.others(15 if kept > 2 else 60)
    log.txn("reader", get("k", 1))
    log.others()
    log.write(path, initial)
    trace = read_trace(path)
    for short in ("ser", "si", "strong-session-ser", "strong-session-si"):
        level = find_level(short)
        expected = check(trace, level, window=0).status
        assert expected == ("invalid" if looks != "nobody" and "session" in short else "valid")
        found, _, forward, taken = goes_by(path, level, size=500, tail=0, kept=kept)
        assert forward is not None and forward.counted.swaps == (looks == "nobody")
        if kept == 2 and looks != "nobody" and expected == "valid":  # the scan came before both, long ago
            assert found == "stuck"
            continue
        assert found == expected
        if found == "valid":
            replay(trace, whole_witness(trace, level, taken))
