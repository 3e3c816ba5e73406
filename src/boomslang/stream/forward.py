"""Windows that go forward: read, solved, and forgotten.

Where the past is decided, the state that it left is known, and the next transactions are a small trace that starts in
that state (window.py). Of the order that the engine finds for it, the beginning is taken for good, and what stands at
its end is asked again in the next window, together with what came in meanwhile: later reads may yet say in which order
the last writers wrote. What is left of the past is what each key holds (live.py).

Why *valid* is sound: the orders that were taken, one after the other, are an order of all points. A read sees the last
writer before it in its window, or what the windows behind left: just that was its start state. A transaction that
begins in one window and commits in a later one had its reads explained where it began, and is the first of its
writers of a key where it goes on (window.py). What is read later belongs to no earlier place: a session's transactions
come in their order, and no window takes what began after a moment up to which not all files have told what ended.
Each of these is checked again as the order is taken (replayed.py, `_in_time`), and what is written is a certificate.
A scan also reads keys that its window never speaks of. Those that are there are in its start state; of the others
nobody need speak, but where it is not known what the database held at first. Then ranges are remembered (looked.py).

A window that has no order shows nothing by itself, for its start state was a choice. Its core is asked as a part of all
that was recorded (past.py), which refutes the level or does not; then the window is joined with those before it, as far
back as they are kept. What is still open then is *unknown*. A window whose search takes long is asked again with more
lines, joined, and given more time (patience.py); nothing is concluded from that.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, PRESENT
from boomslang.distinct import distinct
from boomslang.explain.parts import first_broken
from boomslang.levels.level import Dependency, Level
from boomslang.solve.solution import Limits, Solution
from boomslang.solve.strategy import solve
from boomslang.stream.behind import Behind, without_operations
from boomslang.stream.counted import Counted
from boomslang.stream.how_far import how_far
from boomslang.stream.last_writers import Whole, begun_here
from boomslang.stream.live import Held, LiveKeys, Undo
from boomslang.stream.live_lists import Change, LiveLists, replayed_lists, uses_lists
from boomslang.stream.loading import Loading
from boomslang.stream.looked import InWindow, Looked, looked_through
from boomslang.stream.no_answer import NotForward, Stuck, demand
from boomslang.stream.patience import SECONDS, Patience
from boomslang.stream.replayed import Replayed, replayed
from boomslang.stream.set_aside import read_at_last, set_aside
from boomslang.stream.standing import Lost, Standing
from boomslang.stream.swaps import Mend, Swaps
from boomslang.stream.taken import Taken
from boomslang.stream.window import Question, place_of, places, question
from boomslang.trace.blocks import Block, Blocks, Files, joined
from boomslang.trace.coverage import has_notes
from boomslang.trace.errors import LimitReached
from boomslang.trace.model import ABSENT, NO_TIME, Initial, Kind, Outcome, Trace
from boomslang.trace.scalars import Code, Scalars
from boomslang.windows.worth import fits_windows

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Mask = NDArray[np.bool_]

BYTES = 16 << 20
"""Lines of a window."""
TAIL = 400
"""Transactions at the end of a window's order that are asked again in the next one."""
KEPT = 16
"""Windows behind that can be joined again."""
SWEPT = 10_000
"""Keys more than there were that make it worth to look for those that were deleted long ago."""


Refuted = Callable[["Forward", Question, Solution], Any]
"""Is the core of this window refuted as a part of all that was recorded? Something, if it is."""


class Forward:
    """One trace that is checked as it goes by, at one level."""

    def __init__(
        self,
        blocks: Blocks,
        level: Level,
        limits: Limits | None = None,
        *,
        take: Callable[[Taken], None] = lambda taken: None,
        mend: Mend | None = None,
        refuted: Refuted = lambda forward, asked, found: None,
        size: int = BYTES,
        tail: int = TAIL,
        tail_share: float = 0.0,
        kept: int = KEPT,
        pressed: Callable[[], bool] = lambda: False,
        standing: Standing | None = None,
        stays_open: Collection[int] = (),
        lenient: Collection[int] | None = None,
        first_search: float = SECONDS,
        longest_search: float | None = None,
        sweep: int | None = SWEPT,
    ) -> None:
        """`take`: is given the order, part by part. `mend`: other points where some of it was; without it, what was
        given out stays as it was. `tail`, `tail_share`: transactions at the end of a window's order that are asked
        again, at least so many, and at least this part of them. `standing`: where it goes on from, if that is not the
        beginning. `stays_open`: places of transactions that begin before the end of the files and commit behind it.
        `lenient`: where the windows start is arbitrary, so reads that nothing explains do not count, nor any of these
        transactions. `first_search`, `longest_search`: seconds for a window, before it is asked otherwise, and before
        it is given up. `sweep`: keys that were deleted long ago are forgotten when there are so many more, and twice as
        many; None: never."""
        if not fits_windows(level):
            raise NotForward(f"{level.title} is not decided by an order of begins and commits alone")
        self.blocks, self.level, self.limits = blocks, level, limits or Limits()
        self.take, self.refuted = take, refuted
        self.size, self.kept, self.pressed = size, kept, pressed
        self.tail, self.tail_share = tail, tail_share
        self.first_search, self.longest_search = first_search, longest_search
        self.patience: Patience | None = None
        """With the window that is being decided."""
        self.start = time.monotonic()
        self.counted = Counted()
        self.live: LiveKeys | None = None
        self.initial: LiveKeys | None = None
        """As it was at first."""
        self._loading = Loading()
        self._first: Block | None = None  # the first block, if nobody has asked about it yet
        self._held: Files = []
        self._pins: dict[int, int] = {}  # place of each that is pinned -> where its begin stands in the order
        self._behind: deque[Behind] = deque()
        self.mend = mend
        self._swaps: Swaps | None = None  # once there is something to start with
        self._lost: dict[int, Lost] = {}
        self._lost_before = self._lost  # before those that the window reads from were put back into it
        self._paused: set[int] = set()  # decided, though their files were idle and may tell more of them
        self._latest: list[int] = []  # of each file the last moment that it told of
        self._began = NO_TIME  # the latest begin that was taken
        self._points = 0  # taken
        self._given_out = False  # is any window behind for good?
        self.sweep, self._swept = sweep, 0  # how many keys were left then
        self._scans = self._with_lists = False
        self._looked = Looked()  # where nobody knows what there was at first
        self._lists = LiveLists()
        self._sessions: dict[str, int] = {}
        self._stays_open = np.array(sorted(stays_open), np.int64)
        self._lenient = None if lenient is None else np.array(sorted(lenient), np.int64)
        if standing is not None:
            self._resume(standing)

    def _resume(self, at: Standing) -> None:
        live = LiveKeys(at.mode)
        for key, cell in at.live.items():
            live.set(key, Held(*cell))
        self._start_with(live)
        self._held, self._pins, self._lost = list(at.held), dict(at.pins), dict(at.lost)
        self._began, self._latest, self._points, self._scans = at.began, list(at.latest), at.points, at.scans
        self._looked = at.looked

    def _start_with(self, live: LiveKeys) -> None:
        self.live = live
        self._swaps = Swaps(live, self.level, self._behind, self.counted, self.mend)

    def standing(self) -> Standing:
        """Where it stands between two windows."""
        assert self.live is not None
        pinned: list[Int64] = [np.zeros(0, np.int64)] * len(self.blocks.sources)
        if self._pins:
            block = self.blocks.parsed(self._held)
            of_pins = np.isin(places(block), list(self._pins))
            pinned = [lines.number for lines in block.lines_of(of_pins)]
        return Standing(
            self.live.mode,
            self.live.everything(),
            self._held,
            dict(self._pins),
            dict(self._lost),
            self._began,
            list(self._latest),
            self._points,
            self._scans,
            pinned,
            self._looked,
        )

    def swap(self, key: Code, wanted: Code | None) -> bool:
        """The key holds what the latest of its last writers wrote; was it another?"""
        assert self._swaps is not None
        return self._swaps.swap(key, wanted, self._final)

    # --- going on

    def step(self) -> Any:
        """Reads more and decides a window. What `refuted` returned, if the level is broken; else None."""
        new = self._more(self.size, self._held)
        if self.live is not None:
            return self.decide(new)
        first = self._loaded(new)
        return None if first is None else self.decide(first)

    def _loaded(self, new: Files) -> Files | None:
        """What there was at first. The lines of transactions, which are to be decided; None: there is more to load."""
        block = self.blocks.parsed(joined(self._held, new))
        self._suits(block)
        self._scans |= _looks_through_ranges(block.trace)
        self._loading.take(block)
        self.blocks.forget_initial()
        of_all = np.ones(len(block.trace), bool)
        if not self._loading.over:
            self._held = block.carried(of_all)
            return None
        assert self._loading.live is not None
        self._start_with(self._loading.live)
        self._held = []
        self.initial = self._loading.copy()
        if block.loads:
            return block.lines_of(of_all)
        self._first = block
        return block.files

    def _more(self, size: int, held: Files | None = None) -> Files:
        """More lines; before those of a session that was idle, what it had said of its open transaction."""
        new = self.blocks.more(size, held)
        for f in sorted(self.blocks.woken):
            if decided := [place for place in self._paused if place_of(place)[0] == f]:
                raise NotForward(
                    f"{self.blocks.sources[f].name}: it was idle in the middle of a transaction, which others have "
                    f"read from, and now it goes on (line {place_of(max(decided))[1]})"
                )
            for place, lost in list(self._lost.items()):
                if lost.paused and place_of(place)[0] == f:
                    del self._lost[place]
                    new[f] = lost.lines[f] + new[f]
        self.blocks.woken.clear()
        return new

    @property
    def decided(self) -> int:
        """The latest begin of what is decided; NO_TIME: there is none, or it has no times."""
        return self._began

    @property
    def done(self) -> bool:
        """All that will ever be recorded is decided."""
        return self.blocks.done and not any(self._held)

    @property
    def at_once(self) -> bool:
        """The window that is asked is the whole trace: nothing of it was taken, nor kept aside. (A window that took
        nothing has left out who aborted in it.)"""
        nothing_before = not self._behind and not self._given_out and self._points == 0
        return self.blocks.done and nothing_before and not self._lost

    @property
    def can_go_back(self) -> bool:
        """Are there windows behind that can be joined with the one that is asked?"""
        return bool(self._behind)

    def needed_files(self) -> set[int]:
        """Those of which some lines are not decided for good, or are in a window that may be asked again."""
        asked = [self._held, *(files for behind in self._behind for files in (behind.held, behind.new))]
        pinned = {place_of(place)[0] for place in self._pins}
        return pinned | {f for files in asked for f, lines in enumerate(files) if lines}

    def finish(self) -> None:
        """Nothing will be joined any more: gives out what was taken."""
        while self._behind:
            self._give_out(self._behind.popleft())

    def run(self) -> Any:
        """To the end."""
        while True:
            if (found := self.step()) is not None:
                return found
            if self.done:
                self.finish()
                return None

    # --- one window

    def decide(self, new: Files) -> Any:
        """Decides a window, joined with others where it must be."""
        self.patience = Patience(self.first_search, self.longest_search)
        try:
            return self._decided(new, self.patience)
        finally:
            self.patience = None

    def _decided(self, new: Files, patience: Patience) -> Any:
        behind: list[Behind] = []
        extended = False
        held = self._held
        assert self._swaps is not None
        while True:
            self._lost_before = dict(self._lost)
            asked = self._asked(joined(held, new))
            found = self._solved(asked, patience, hopeful=bool(asked.undecided.any()))
            if found.status == "valid":
                self._taken(asked, found, held, new)
                return None
            if back := self._swaps.written_behind(asked):
                held, new = self._joined(behind, held, new, back)
                continue
            if asked.undecided.any():
                asked = self._asked(asked.block.files, hopeful=False)
                found = self._solved(asked, patience)
                if found.status == "valid":
                    self._taken(asked, found, held, new)
                    return None
            searched = found.status == "unknown"
            if searched:
                self.counted.ran_out += 1
                patience.ran_out(self.limits.since(self.start))
            elif (answer := self.refuted(self, asked, found)) is not None:
                return answer
            first = not self._behind and self._points == 0
            if not self.blocks.done and (not extended or first or (searched and not self._behind)):
                # What comes next may explain it: a log is written a moment after things happened.
                extended = True
                self._lost = dict(self._lost_before)
                more = self._more(self.size // 4 if self._points else 2 * self.size)
                if any(more):
                    new = joined(new, more)
                    continue
            if not self._behind and searched:
                continue  # for longer
            if not self._behind:
                raise Stuck(demand(asked, found))
            held, new = self._joined(behind, held, new, 1)
            extended &= not searched  # which of the two helps against a long search, nobody knows: in turn

    def _joined(self, before: list[Behind], held: Files, new: Files, least: int) -> tuple[Files, Files]:
        """The window with those behind it: at least so many, and as many again as were joined `before`."""
        self.counted.joins += 1
        for _ in range(max(least, len(before))):
            if self._behind:
                last = self._behind.pop()
                before.append(last)
                self._go_back(last)
                held, new = last.held, joined(last.new, new)
        return held, new

    def _go_back(self, to: Behind) -> None:
        assert self.live is not None
        for change in reversed(to.undo):
            self.live.undo(change)
        self._looked = to.looked
        self._lists.undo(to.lists)
        self._pins, self._began, self._points, self._lost = dict(to.pins), to.began, to.points, dict(to.lost)
        now, then = self.counted, to.counted
        now.transactions, now.committed = then.transactions, then.committed
        now.aborted, now.operations = then.aborted, then.operations

    def _asked(self, files: Files, *, hopeful: bool = True) -> Question:
        block = self._parsed(files)
        pins = np.array(sorted(self._pins), np.int64)
        assert self.live is not None and self._swaps is not None
        for more in (True,) * 5 + (False,):
            # Once more with what these reads say of two last writers, or of transactions of unknown outcome.
            trace = self._started(block.trace)
            if self._with_lists:
                trace = self._lists.given_to(_lists_start_empty(trace), np.isin(places(block), pins))
            undecided = block.open
            if (moment := self.blocks.watermark(block, self._latest)) is not None:
                undecided = undecided | (trace.txn_end > moment) | (trace.txn_begin > moment)
            if len(self._stays_open) and not self.blocks.done:
                undecided = undecided | np.isin(places(block), self._stays_open)
            asked = question(
                block,
                trace,
                self.level,
                pins,
                undecided,
                hopeful=hopeful,
                stays_open=self._stays_open,
                lenient=self._lenient,
                jobs=self.limits.jobs or 1,
            )
            if more and len(asked.asg.orphans) and self._swaps.swapped(asked, self._final):
                if self._scans:
                    block = self._parsed(files)
                continue
            if not more or not (again := read_at_last(asked, self._lost)):
                break
            files = joined(files, again)
            block = self._parsed(files)
        return asked

    def _parsed(self, files: Files) -> Block:
        if self._first is not None:
            block, self._first = self._first, None
            return block
        assert self.live is not None
        start, there = self.live.as_json(self._lists) if self._scans else (b"", 0)
        block = self.blocks.parsed(files, start)
        if not self._scans and _looks_through_ranges(block.trace):
            self._scans = True
            return self._parsed(files)
        if block.loads or len(block.trace.initial_key) > there:
            raise NotForward("it loads initial values after its beginning")
        self._suits(block)
        return block

    def _started(self, trace: Trace) -> Trace:
        """The trace of a block, as one that starts with what the windows before left. Of keys that it does not list
        nothing is known, or, where the trace says what there was at first, that they are absent."""
        assert self.live is not None
        if self._scans and self.live.mode != Initial.UNKNOWN:
            return trace
        trace = self.live.given_to(trace)
        if not self._looked:
            return trace
        new = np.ones(len(trace.keys), bool)
        new[trace.initial_key] = False
        absent = np.fromiter(self._looked.among(trace, np.flatnonzero(new).tolist()), np.int32)
        return replace(
            trace,
            initial_key=np.append(trace.initial_key, absent),
            initial_value=np.append(trace.initial_value, np.full(len(absent), ABSENT, np.int32)),
        )

    def _suits(self, block: Block) -> None:
        """Can windows go forward on this?"""
        trace = block.trace
        self.counted.has_times |= trace.has_times
        self.counted.has_sessions |= trace.has_sessions
        self._with_lists |= bool(np.isin(trace.op_kind, (Kind.APPEND, Kind.LIST)).any())
        if self._with_lists and self.live is not None:
            if self.live.mode == Initial.UNKNOWN:
                raise NotForward("it has lists, and a header says that nobody knows what there was at first")
            if (key := self._lists.used_otherwise(trace, self.live, scans=self._scans)) is not None:
                raise NotForward(f"{Scalars.of_codes([key])[0]!r} is used as a list and as a register")
        if trace.op_where is not None:
            raise NotForward("it has selects, which speak of all rows of a table")
        if has_notes(trace):
            raise NotForward(
                "it was recorded from SQL, and what must be left out of it is known only at its end"
            )
        clock = trace.txn_clock
        if len(self.blocks.sources) == 1:
            return
        if len(clock) and bool((clock != clock[0]).any()):
            raise NotForward("its files have several clocks")
        ended = trace.txn_outcome == Outcome.COMMITTED
        if bool((trace.txn_end[ended] == NO_TIME).any()):
            raise NotForward("it has several files, and not all that committed have times")

    def _solved(self, asked: Question, patience: Patience, *, hopeful: bool = False) -> Solution:
        asg = asked.asg
        if (broken := first_broken(asg)) is not None:
            return Solution("invalid", core_transactions=broken.transactions, core_reads=broken.reads)
        limits = patience.search(asg.transactions, self.limits.since(self.start), hopeful=hopeful)
        found = solve(asked.ir, limits)
        self.counted.conflicts += int(found.stats.get("conflicts", 0))
        if found.status == "unknown" and found.reason != "time":
            raise LimitReached(found.reason)  # of which no other way to ask makes more
        return found

    # --- what is taken of the order

    def _taken(self, asked: Question, found: Solution, held: Files, new: Files) -> None:
        assert self.live is not None and self._swaps is not None and found.order is not None
        points, asg, trace = self.level.points, asked.asg, asked.asg.trace
        order = found.order[found.order < points * asg.transactions].astype(np.int64)
        behind = np.zeros(len(order), bool)
        if len(self._stays_open) and points == 2:
            behind = np.isin(asked.place[order // 2], self._stays_open) & (order % 2 == 1)
            order = np.concatenate([order[~behind], order[behind]])
        place = np.full(points * asg.transactions, -1, np.int64)
        place[order] = np.arange(len(order))
        begin, commit = place[::points], place[points - 1 :: points]
        initial = (asg.initial if found.initial is None else found.initial).astype(np.int32, copy=False)
        end = len(order)
        if not self.blocks.done:
            tail = max(self.tail, int(self.tail_share * asg.transactions))
            end = how_far(asked, points, order, begin, commit, tail, beside_pairs=self.mend is not None)
        end = min(end, len(order) - int(behind.sum()))
        began, over = (begin >= 0) & (begin < end), (commit >= 0) & (commit < end)
        walked = self._replay(asked, initial, order[:end])
        undo = self._changed(asked, walked, commit)
        fixed, fixed_values = self._fixed(asked, found, over, began)
        looked, ranges = self._looked, None
        if self._scans:
            ranges = looked_through(trace, began & ~asked.pinned)
        if self.live.mode == Initial.UNKNOWN:
            if ranges is not None:
                self._looked = looked.joined(_of_unheard(ranges, fixed))
            # Of those that a range covers it is known without a cell for each.
            kept = np.ones(len(fixed), bool)
            gone = np.flatnonzero(fixed_values == ABSENT)
            kept[gone[np.isin(fixed[gone], list(self._looked.among(trace, fixed[gone].tolist())))]] = False
            nobody = np.full(int(kept.sum()), -1, np.int64)
            undo.append(self.live.update(trace, fixed[kept], fixed_values[kept], nobody, nobody, fresh=True))
        lists = self._appended(asked, begin, commit, over, end)
        if end == 0 and self._behind:
            # Nothing to decide otherwise, and nothing that is worth the place of a window that took something.
            last = self._behind[-1]
            last.new = joined(last.new, new)
        else:
            self._behind.append(
                Behind(
                    held,
                    new,
                    dict(self._pins),
                    undo,
                    looked,
                    lists,
                    Whole(
                        without_operations(asg),
                        points,
                        order[:end][begun_here(order[:end], points, asked.pinned)],
                        asked.place,
                        walked.matters,
                        uses_lists(trace),
                    ),
                    [
                        (trace.keys.code(k), None if v == ABSENT else trace.values.code(v))
                        for k, v in zip(fixed.tolist(), fixed_values.tolist(), strict=True)
                    ],
                    self._swaps.overlapping(asked, walked),
                    self._swaps.settled(trace, walked.seen, ranges),
                    self._began,
                    self._points,
                    self._lost_before,
                    replace(self.counted),
                )
            )
        self._in_time(asked, began & ~asked.pinned)
        for t in np.flatnonzero(over & asked.pinned).tolist():
            del self._pins[int(asked.place[t])]
        for t in np.flatnonzero(began & ~over & ~asked.pinned).tolist():
            self._pins[int(asked.place[t])] = self._points + int(begin[t])
        self._points += end
        self._carry(asked, begin, over)
        done = np.flatnonzero(over)
        self.counted.transactions += len(done)
        self.counted.committed += int((asg.trace.txn_outcome[done] == Outcome.COMMITTED).sum())
        self.counted.aborted += int((asg.trace.txn_outcome == Outcome.ABORTED).sum())
        self.counted.operations += int((asg.trace.txn_ops[done + 1] - asg.trace.txn_ops[done]).sum())
        self.counted.windows += 1
        self.counted.largest = max(self.counted.largest, asg.transactions)
        self.counted.keys, self.counted.lost = len(self.live), len(self._lost)
        while len(self._behind) > self.kept or (len(self._behind) > 1 and self.pressed()):
            self._give_out(self._behind.popleft())
        unread = self._swaps.open
        if len(unread) and self.pressed():
            unread.give_up_half()
        unread.sweep(self.live, self._final)
        self.counted.open = len(unread)
        self._forget_absent()

    def _give_out(self, behind: Behind) -> None:
        """It will not be joined any more."""
        assert self._swaps is not None
        taken = behind.taken(self.level.points)
        self._given_out = True
        self.take(taken)
        self._swaps.give_out(behind, len(taken.place))

    @property
    def _final(self) -> int:
        """The place in the order before which nothing is decided otherwise, but for the order of last writers."""
        return self._behind[0].points if self._behind else self._points

    def _forget_absent(self) -> None:
        """Keys that were deleted before all that may be asked again, and before all that are open began: for these it
        must be known who wrote a key since. Those stay of which somebody else may have been the last writer."""
        assert self.live is not None and self._swaps is not None
        if self.sweep is None or len(self.live) <= max(2 * self._swept, self._swept + self.sweep):
            return
        kept = [(key, held) for key in self._swaps.open.gone() if (held := self.live.get(key)) is not None]
        self.live.forget_absent(min([self._final, *self._pins.values()]))
        for key, held in kept:
            self.live.set(key, held)
        self._swept = len(self.live)

    def _changed(self, asked: Question, walked: Replayed, commit: Int64) -> list[Undo]:
        """Takes over what the taken part of the order wrote."""
        assert self.live is not None
        asg, trace = asked.asg, asked.asg.trace
        for row in walked.first.tolist():
            held = self.live.get(trace.keys.code(_key_of(asg, row)))
            if held is not None and held.at > self._pins[int(asked.place[asg.write_txn[row]])]:
                raise AssertionError("writers of a key overlap across windows")
        last = walked.last
        txn = asg.write_txn[last]
        key = (np.searchsorted(asg.key_start, last, side="right") - 1).astype(np.int32)
        at = self._points + commit[txn]
        return [self.live.update(trace, key, asg.write_value[last], asked.place[txn], at)]

    def _appended(self, asked: Question, begin: Int64, commit: Int64, over: Mask, end: int) -> Change:
        """Takes over what the taken part of the order appended to lists; replays what was read of them on the way."""
        if not self._with_lists:
            return []
        trace = asked.asg.trace
        replayed_lists(trace, asked.pinned, begin, commit, end)
        change, twice = self._lists.take(trace, over, commit)
        if twice is not None:
            key, element = (Scalars.of_codes([code])[0] for code in twice)
            raise NotForward(f"{element!r} is appended to {key!r} a second time, which no trace may do")
        return change

    def _replay(self, asked: Question, initial: Int32, order: Int64) -> Replayed:
        """What the order of a window shows to those who read."""
        return replayed(asked, self.level, initial, order)

    @property
    def scans(self) -> bool:
        """Has it seen any? Then its windows speak of every key."""
        return self._scans

    @property
    def looked(self) -> Looked:
        """Where nobody knows what there was at first: ranges whose keys were absent, unless `live` says otherwise."""
        return self._looked

    @property
    def pins(self) -> dict[int, int]:
        """Places of those that have begun and not committed -> where in the order they began."""
        return self._pins

    def _fixed(self, asked: Question, found: Solution, over: Mask, began: Mask) -> tuple[Int32, Int32]:
        """What the initial state must have been for the reads that are taken, where it is unknown: keys and values."""
        assert self.live is not None
        asg, trace = asked.asg, asked.asg.trace
        if self.live.mode != Initial.UNKNOWN:
            return trace.initial_key[:0], trace.initial_key[:0]
        fixed = np.zeros(asg.keys, bool)
        fixed[asg.read_key[began[asg.read_txn]]] = True
        fixed[asg.write_key[over[asg.write_txn]]] = True
        fixed[trace.initial_key] = False
        assert found.initial is not None
        keys = np.flatnonzero(fixed).astype(np.int32)
        values = found.initial[keys].astype(np.int32)
        if bool(((values == PRESENT) | (values >= len(trace.values))).any()):
            raise NotForward("a delete found something of which nobody knows what it was")
        return keys, np.maximum(values, np.int32(ABSENT))

    def _in_time(self, asked: Question, began: Mask) -> None:
        """Nothing that returned before something was taken may come after it."""
        trace = asked.asg.trace
        if self.level.has(Dependency.RT):
            late = (trace.txn_outcome == Outcome.COMMITTED) & (trace.txn_end != NO_TIME) & ~asked.pinned
            late &= trace.txn_end < self._began
            if bool(late.any()):
                where = asked.block.with_places().where(int(np.flatnonzero(late)[0]))
                raise NotForward(f"{where} ended long before what stands above it in the log began")
        starts = trace.txn_begin[began]
        if len(starts):
            self._began = max(self._began, int(starts.max()))

    def _carry(self, asked: Question, begin: Int64, over: Mask) -> None:
        """What is asked again."""
        block, asg = asked.block, asked.asg
        for place in self._lost.keys() & set(asked.place.tolist()) if self._lost else ():
            del self._lost[place]  # it was asked again
        for t in np.flatnonzero(block.paused).tolist():
            if over[t] or int(asked.place[t]) in self._pins:
                self._paused.add(int(asked.place[t]))
        kept = ~over & (asg.outcome != Outcome.ABORTED)
        lost = kept & (begin < 0) & ~asked.undecided
        self._held = block.lines_of(kept & ~lost)
        self.counted.held = int((kept & ~lost).sum())
        for t in np.flatnonzero(lost).tolist():
            if (one := set_aside(block, asg, t)) is not None:
                self._lost[int(asked.place[t])] = one
        if self.blocks.done:
            self._held = []


def _key_of(asg: ASG, row: int) -> int:
    """The key of a write."""
    return int(np.searchsorted(asg.key_start, row, side="right")) - 1


def _of_unheard(ranges: InWindow, fixed: Int32) -> Looked:
    """What these say of keys that nobody speaks of yet. Others of which nothing is known are taken out."""
    trace = ranges.trace
    unknown = np.ones(len(trace.keys), bool)
    unknown[trace.initial_key] = unknown[fixed] = False
    return ranges.but_for(unknown)


def _looks_through_ranges(trace: Trace) -> bool:
    return bool(np.isin(trace.op_kind, (Kind.SCAN, Kind.ITERATOR)).any())


def _lists_start_empty(trace: Trace) -> Trace:
    """What a key's last append was is no state to start with: see live_lists.py."""
    lists = distinct(trace.op_key[np.isin(trace.op_kind, (Kind.APPEND, Kind.LIST))])
    kept = ~np.isin(trace.initial_key, lists)
    return replace(trace, initial_key=trace.initial_key[kept], initial_value=trace.initial_value[kept])
