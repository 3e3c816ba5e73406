"""Replay an order that does not fit into memory, of a trace that does not either.

The order names transactions by file and line. It is walked through in pieces of some thousand points, and the
trace is read on until all transactions of a piece are there. What is kept is what each key holds and when its
last writer committed, the transactions that wait for their place, and of each session and clock the latest
begin so far. That is enough:

    a read sees             what its key holds at the transaction's begin (what the levels served here have in common)
    a list read sees        all that was appended to its key before, and its own appends
    a range sees            no key that is there then, but those that it returned; of lists it says nothing
    snapshot isolation      of two writers of a key one commits before the other begins: each key's last commit tells
    session order           nothing commits after the begin of one that comes later in its session
    real-time order         nothing commits after the begin of one that was invoked only when it had returned
    an unknown first state  what is chosen is chosen once, and before anybody looked, through a range neither
    the end                 everything that committed has its place, and has it once; nothing that aborted has one

Levels that an order alone does not decide, bounds of time and modules are not for this file;
certify/replay.py has the whole trace in memory and knows them. Both share no code with the solver, and neither
does this share any with the checker that goes forward in windows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from boomslang.certify.lines.block_rows import PRESENT, rows_of, spread
from boomslang.certify.lines.files_read import FilesRead
from boomslang.certify.lines.held_keys import HeldKeys
from boomslang.certify.lines.held_lists import HeldLists
from boomslang.certify.lines.numbered import InOrder
from boomslang.certify.lines.reader import MANY_FILES, Chosen, Last, Lines, NewFile, Part
from boomslang.certify.lines.shown_absent import ShownAbsent
from boomslang.certify.lines.waiting import Waiting, waiting_of
from boomslang.certify.replay import ReplayError
from boomslang.errors import UsageError
from boomslang.trace.blocks import Block
from boomslang.trace.model import ABSENT, NO_TIME, Initial, Outcome
from boomslang.trace.scalars import Scalars

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

PIECE = 1 << 15
"""Points that are looked at together."""
LOOKS = 1 << 20
"""Keys in ranges that are looked at together."""
TWO_POINTS = ("snapshot-isolation", "prefix")
ONE_POINT = ("serializable", "strict-serializable")


@dataclass(frozen=True)
class Replayed:
    """What the trace turned out to hold."""

    transactions: int
    committed: int
    operations: int
    has_times: bool
    has_sessions: bool
    warnings: tuple[str, ...]


def replay_lines(path: Path, certificate: Lines, files: FilesRead) -> Replayed:
    """Returns if the certificate shows that the trace satisfies its level; raises ReplayError if it does not.
    `path`: of the trace, for messages."""
    return _Replay(path, certificate, files).run()


class _Replay:
    def __init__(self, path: Path, certificate: Lines, files: FilesRead) -> None:
        self.path, self.certificate, self.files = path, certificate, files
        level = certificate.level
        prefix = next(p for p in ("strong-session-", "strong-", "") if level.startswith(p))
        base = level.removeprefix(prefix)
        if base not in (*TWO_POINTS, *ONE_POINT):
            raise UsageError(
                f"{certificate.path}: found the level {level!r}; a certificate in lines is for levels that an order "
                f"decides: {', '.join((*ONE_POINT, *TWO_POINTS))}, and their strong- and strong-session- forms"
            )
        self.two = base in TWO_POINTS
        if certificate.points != (2 if self.two else 1):
            raise ReplayError(f"there is no level {level!r} with {certificate.points} point(s) a transaction")
        self.apart = base == "snapshot-isolation"
        self.by_session = prefix == "strong-session-"
        self.by_time = prefix == "strong-" or base == "strict-serializable"
        self.numbers: dict[int, int] = {}  # of a file in the certificate -> in the trace
        self.wait = Waiting.nobody()
        self.at = 0  # points so far
        self.held = HeldKeys()
        self.held.mode = files.headers.initial_mode
        self.held.load(files.headers)
        self.lists = HeldLists()
        self.in_order = InOrder()
        self.absent = ShownAbsent()  # where nobody knows what there was at first
        self.sessions: dict[str, int] = {}
        self.clocks: dict[str, int] = {}
        # Of each session the last one, in the order of the files, that has begun; of each clock the latest
        # time at which one that has begun was invoked.
        self.latest_of_session: Ints = np.zeros(0, np.int64)
        self.latest_of_clock: Ints = np.zeros(0, np.int64)
        self.placed = self.placed_operations = 0
        self.transactions = self.committed = self.operations = 0
        self.begins = self.ends = False  # are there times?

    def run(self) -> Replayed:
        files: Sequence[int] = range(len(self.files.names))
        while files:  # until all is loaded that the database held at first
            block, over = self.files.next_of(files)
            self._take_in(block, over)
            files = sorted(block.loads.last)
        last = Last(0, 0)
        pending: list[Part] = []
        for said in self.certificate.said():
            if isinstance(said, NewFile):
                self._name(said)
            elif isinstance(said, Part):
                pending.append(said)
                if sum(len(part.line) for part in pending) >= PIECE:
                    self._parts(pending)
            elif isinstance(said, Chosen):
                self._parts(pending)
                self._choose(said)
            else:
                last = said
        self.certificate.nothing_follows()
        self._parts(pending)
        self._none_left()
        for block, over in self.files.all():
            self._take_in(block, over)
            self._none_left()
        if (last.transactions, last.operations) != (self.placed, self.placed_operations):
            raise ReplayError(
                f"it says that {last.transactions:,} transactions with {last.operations:,} operations are in "
                f"the order, and there are {self.placed:,} with {self.placed_operations:,}"
            )
        return Replayed(
            self.transactions,
            self.committed,
            self.operations,
            self.begins and self.ends,
            bool(self.sessions),
            tuple(dict.fromkeys(self.files.warnings)),
        )

    def _none_left(self) -> None:
        """When all of the order is placed."""
        wait = self.wait
        half = (wait.begin >= 0) & (wait.commit < 0)
        self._refuse(np.flatnonzero(half), "has only one of its points in the order")
        lost = (wait.outcome == Outcome.COMMITTED) & (wait.commit < 0)
        self._refuse(np.flatnonzero(lost), "committed, but is not in the order")

    # --- the trace

    def _name(self, said: NewFile) -> None:
        names = self.files.names
        if len(names) == 1 and not self.numbers:  # a single file may have been renamed
            self.numbers[said.number] = 0
            return
        if names.count(said.name) != 1 or names.index(said.name) in self.numbers.values():
            raise UsageError(
                f"{self.certificate.path}: made for another trace: it names the file {said.name!r}; found in "
                f"{self.path}: {', '.join(names[:5])}{', ...' if len(names) > 5 else ''}"
            )
        self.numbers[said.number] = names.index(said.name)

    def _take_in(self, block: Block, over: Mask) -> None:
        """The transactions of a block that are over wait for their places."""
        trace = block.trace
        if len(trace.initial_key):
            if self.at or self.held.mode == Initial.UNKNOWN:
                raise UsageError(
                    f"{self.path}: found a transaction that loads initial values after others, or where a header says "
                    "that nobody knows them; a certificate in lines needs them at the beginning"
                )
            if not self.held.load(trace, block.loads.by):
                raise UsageError(
                    f"{self.path}: found a key twice in the initial state; expected each key once"
                )
        keys, values = self.held.numbers(trace)
        if (both := self.held.used(trace, keys)) is not None:
            raise UsageError(
                f"{self.path}: found the key {Scalars.of_codes([both])[0]!r} used as a list and as a register; "
                "expected one of the two; fix: give lists and registers keys of their own"
            )
        place, line = (
            block.first_lines() * MANY_FILES + trace.txn_file,
            block.with_places().op_line.astype(np.int64),
        )
        self.lists.take_in(trace, over, place, line)
        sessions, clocks = _numbers(self.sessions, trace.sessions), _numbers(self.clocks, trace.clocks)
        self.wait = self.wait.joined(
            waiting_of(
                trace,
                rows_of(trace, ~over),
                over,
                place=place,
                line=line,
                keys=keys,
                values=values,
                sessions=np.append(sessions, -1),
                clocks=clocks,
            )
        )
        open_since = self.wait.begin[(self.wait.begin >= 0) & (self.wait.commit < 0)]
        if self.held.forget(self.wait, int(open_since.min()) if len(open_since) else self.at):
            self.in_order = InOrder()
        self.transactions += int(over.sum())
        self.committed += int((over & (trace.txn_outcome == Outcome.COMMITTED)).sum())
        self.operations += int(np.diff(trace.txn_ops)[over].sum())
        self.begins |= bool((trace.txn_begin[over] != NO_TIME).any())
        self.ends |= bool((trace.txn_end[over] != NO_TIME).any())
        more = len(self.sessions) - len(self.latest_of_session)
        self.latest_of_session = np.append(self.latest_of_session, np.full(more, -1, np.int64))
        more = len(self.clocks) - len(self.latest_of_clock)
        self.latest_of_clock = np.append(self.latest_of_clock, np.full(more, NO_TIME, np.int64))

    # --- the order

    def _parts(self, parts: list[Part]) -> None:
        """Places them; then there are none."""
        if not parts:
            return
        number = np.full(max(self.numbers) + 1, -1, np.int64)
        number[list(self.numbers)] = list(self.numbers.values())
        file = number[np.concatenate([part.file for part in parts])]
        place = np.concatenate([part.line for part in parts]) * MANY_FILES + file
        commit = np.concatenate([part.commit for part in parts])
        parts.clear()
        for a in range(0, len(place), PIECE):
            self._piece(place[a : a + PIECE], commit[a : a + PIECE])

    def _found(self, place: Ints) -> Ints:
        """Of each point its transaction, among those that wait. Reads on if need be."""
        while True:
            at = np.searchsorted(self.wait.place, place)
            missing = np.append(self.wait.place, -1)[at] != place
            if not missing.any():
                return at
            line, file = np.divmod(place[missing], MANY_FILES)
            files = np.unique(file).tolist()
            for f in files:
                first = int(line[file == f].min())
                if not self.files.may_come(f, first):
                    raise ReplayError(
                        f"it places a transaction that begins at {self.files.names[f]}:{first}, and there is none, or "
                        "it was placed before, or it aborted"
                    )
            self._take_in(*self.files.next_of(files))

    def _piece(self, place: Ints, commit: Mask) -> None:
        """The next points."""
        txn = self._found(place)
        wait, begin = self.wait, ~commit if self.two else commit
        begun, over = txn[begin], txn[commit]
        self._stand(begun, np.flatnonzero(begin), wait.begin)
        if self.two:
            self._stand(over, np.flatnonzero(commit), wait.commit)
        else:
            wait.commit = wait.begin
        early = (wait.begin[over] < 0) | (wait.begin[over] > wait.commit[over])
        self._refuse(over[early], "commits before it begins")
        self._refuse(txn[wait.outcome[txn] == Outcome.ABORTED], "aborted, but is in the order")
        blind = begun[wait.broken[begun] >= 0]
        self._refuse(blind, "does not see its own write", wait.broken[blind])
        if self.by_session:
            self._sessions_in_order(txn, begin, commit)
        if self.by_time:
            self._times_in_order(txn, begin, commit)
        self._state(begun, over, len(txn))
        self.lists.piece(
            place,
            begin,
            commit,
            lambda point, why, line: self._refuse(txn[point : point + 1], why, np.array([line])),
        )
        self.at += len(txn)
        self.placed += len(over)
        self.placed_operations += int(wait.operations[over].sum())

    def _stand(self, txn: Ints, position: Ints, stands: Ints) -> None:
        again = np.sort(txn)
        again = again[1:][again[1:] == again[:-1]]
        self._refuse(np.append(txn[stands[txn] >= 0], again), "is in the order twice")
        stands[txn] = self.at + position

    def _sessions_in_order(self, txn: Ints, begin: Mask, commit: Mask) -> None:
        """None that committed stands behind the begin of a later one of its session."""
        wait = self.wait
        inside = np.flatnonzero(wait.session[txn] >= 0)
        inside = inside[np.argsort(wait.session[txn[inside]], kind="stable")]
        if not len(inside):
            return
        these = txn[inside]
        session = wait.session[these]
        line, file = np.divmod(wait.place[these], MANY_FILES)
        turn = (file << 40) | line  # the order of a session is that of the files, and of the lines in them
        before = self.latest_of_session[session]
        turns = np.unique(np.concatenate([before, turn]))
        mine = np.searchsorted(turns, turn)
        begun = np.maximum(np.searchsorted(turns, before), np.where(begin[inside], mine, 0))
        base = session * np.int64(len(turns))  # keeps sessions apart
        latest = np.maximum.accumulate(base + begun) - base
        ended = commit[inside] & (wait.outcome[these] == Outcome.COMMITTED)
        self._refuse(these[ended & (latest > mine)], "is placed behind a later one of its session")
        last = np.flatnonzero(np.append(session[1:] != session[:-1], True))
        self.latest_of_session[session[last]] = turns[latest[last]]

    def _times_in_order(self, txn: Ints, begin: Mask, commit: Mask) -> None:
        """None that had returned stands behind the begin of one that was invoked only then."""
        wait = self.wait
        for clock in np.unique(wait.clock[txn]).tolist():
            here = wait.clock[txn] == clock
            starts, ends = np.flatnonzero(here & begin), np.flatnonzero(here & commit)
            times = np.append(self.latest_of_clock[clock], wait.began[txn[starts]])
            invoked = np.maximum.accumulate(times)
            latest, over = invoked[np.searchsorted(starts, ends)], txn[ends]
            known = (wait.outcome[over] == Outcome.COMMITTED) & (wait.ended[over] != NO_TIME)
            late = known & (wait.ended[over] < latest)
            self._refuse(over[late], "is placed after one that was invoked only when it had returned")
            self.latest_of_clock[clock] = invoked[-1]

    # --- what keys hold

    def _state(self, begun: Ints, over: Ints, many: int) -> None:
        """Do those that begin see what keys hold, and what do those that commit leave there?"""
        wait, state = self.wait, self.held
        write, of = spread(wait.writes, over)
        writes = _Writes(wait.write_key[write], wait.commit[over[of]] - self.at, many)
        writer, left = over[of[writes.by]], wait.write_value[write[writes.by]]
        key, position = writes.key, writes.position

        def held(key: Ints, position: Ints) -> Ints:
            """What these keys hold just before these points."""
            at = writes.last_before(key, position)
            return np.where(at >= 0, np.append(left, 0)[at], state.value[key])

        read, of = spread(wait.reads, begun)
        seen, value = wait.read_key[read], wait.read_value[read]
        stands = held(seen, wait.begin[begun[of]] - self.at)
        wrong = np.where(value == PRESENT, stands == ABSENT, stands != value)
        self._refuse(
            begun[of[wrong]], "sees what the version it reads does not hold", wait.read_line[read[wrong]]
        )
        ranges, of = spread(wait.ranges, begun)
        if len(ranges):
            self._ranges_hold(ranges, begun[of], held, key[left != ABSENT])
        again = np.append(False, key[1:] == key[:-1])[: len(key)]
        if self.apart:
            before = np.where(again, np.roll(position, 1) + self.at, state.written[key])
            overlap = writer[before > wait.begin[writer]]
            self._refuse(overlap, "writes a key that another, overlapping one writes")
        last = np.flatnonzero(np.append(~again[1:], True)[: len(key)])
        state.value[key[last]] = left[last]
        state.written[key[last]] = position[last] + self.at
        state.settled[key[last]] = True
        state.settled[seen] = True
        if len(ranges) and state.mode == Initial.UNKNOWN:
            excuse, of = spread(wait.excuses, ranges)
            unsettled = ~state.settled[wait.excused_key[excuse]]
            self.absent.add(
                self.in_order,
                low=wait.low[ranges],
                after_low=wait.after_low[ranges],
                high=wait.high[ranges],
                family=wait.family[ranges],
                excused=wait.excused_key[excuse][unsettled],
                excused_of=of[unsettled],
            )

    def _ranges_hold(
        self, ranges: Ints, txn: Ints, held: Callable[[Ints, Ints], Ints], written: Ints
    ) -> None:
        """No key is there that a range neither returned nor may have left out."""
        wait, order = self.wait, self.in_order
        order.update(self.held.keys)
        there = self.held.value != ABSENT
        there[written] = True
        there &= ~self.held.listed
        there = there[order.number]
        number = order.number[there]
        before = np.append(0, np.cumsum(there))  # of each place in the order of keys: how many may be there
        low, high, family = wait.low[ranges], wait.high[ranges], wait.family[ranges]
        place = np.append(order.place, 0)
        start = np.where(family < 0, 0, order.first[family])
        stop = np.where(family < 0, len(order.place), order.last[family])
        a = before[np.where(low >= 0, place[low] + wait.after_low[ranges], start)]
        b = np.maximum(a, before[np.where(high >= 0, place[high], stop)])
        ends, j = np.append(0, np.cumsum(b - a)), 0
        while (i := j) < len(ranges):
            j = max(i + 1, int(np.searchsorted(ends, ends[i] + LOOKS)) - 1)
            of = np.repeat(np.arange(i, j), np.diff(ends[i : j + 1]))
            key = number[np.arange(ends[i], ends[j]) - ends[of] + a[of]]
            found = held(key, wait.begin[txn[of]] - self.at) != ABSENT
            of, key = of[found], key[found]
            excuse, owner = spread(wait.excuses, ranges[i:j])
            keys = np.int64(len(self.held.keys))
            excused = np.isin(of * keys + key, (owner + i) * keys + wait.excused_key[excuse])
            wrong = of[~excused]
            self._refuse(txn[wrong], "missed a key that was there", wait.range_line[ranges[wrong]])

    def _choose(self, said: Chosen) -> None:
        if self.held.mode != Initial.UNKNOWN:
            raise ReplayError("it chooses initial values, and the trace says what they were")
        if any(self.absent.has(key) for key, _ in said.items):
            raise ReplayError("it chooses an initial value of a key that a range had shown to be absent")
        if not self.held.choose(said.items):
            raise ReplayError("it chooses an initial value twice, or after the key was read or written")

    def _refuse(self, bad: Ints, why: str, line: Ints | None = None) -> None:
        """None of these transactions may be; `line`: where it shows, if not at their begins."""
        if len(bad):
            begins, file = divmod(int(self.wait.place[bad[0]]), MANY_FILES)
            name = self.files.names[file]
            shows = "" if line is None else f", as {name}:{int(line[0])} shows"
            raise ReplayError(f"the transaction that begins at {name}:{begins} {why}{shows}")


class _Writes:
    """The versions that a piece of the order leaves, by key and then by their places."""

    def __init__(self, key: Ints, position: Ints, many: int) -> None:
        self.size = np.int64(many + 1)
        code = key * self.size + position
        self.by = np.argsort(code)
        self.code, self.key, self.position = code[self.by], key[self.by], position[self.by]

    def last_before(self, key: Ints, position: Ints) -> Ints:
        """Of each key the last of them before this place; -1: none."""
        base = key * self.size
        at = np.searchsorted(self.code, base + position) - 1
        return np.where(np.append(self.code, -1)[at] >= base, at, -1)


def _numbers(known: dict[str, int], names: list[str]) -> Ints:
    return np.array([known.setdefault(name, len(known)) for name in names], np.int64)
