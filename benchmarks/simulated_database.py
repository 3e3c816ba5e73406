"""A database that runs an application's clients at once, and what they saw, written down as a trace.

`simulate.py` makes histories of blind reads and writes. Applications are another matter: what a transaction writes
hangs on what it read. Here a transaction is a generator that yields its steps and is sent their results:

    def order(item):
        stock = yield "get", item
        yield "put", item, stock - 1

Clients take turns in simulated time: every step is invoked, takes effect a little later and returns a little after
that, so transactions overlap. What the database does with the overlap is its level:

    ser   reads see the newest commit; a commit is refused if anything read has changed since (ranges
          included), so the order of commits is a serial one (Kung & Robinson, ACM TODS 1981), and real time agrees
    si    reads see the state at the begin; of two overlapping writers of a key the first to commit wins: write skew
    rc    reads see the newest commit, and no commit is refused: lost updates, write skew, reads that do not repeat

What is refused is recorded as aborted, and tried again after a pause, as a client would. `planted` does otherwise: one
transaction after the other, and at a chosen place a single violation, which no order that real time allows explains.
"""

from __future__ import annotations

import bisect
import heapq
import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Protocol

Value = Any
Step = tuple[Any, ...]
"""("get", key), ("put", key, value), ("delete", key) or ("scan", from, to)."""
Program = Callable[[], Generator[Step, Any, None]]
State = dict[str, Value]

LEVELS = ("rc", "si", "ser")
PLANTS = ("lost-update", "write-skew", "stale-read")
ORDERS = ("times", "log", "sessions")
"""What a trace tells of the order: times; one file, in which lines stand as operations returned; or neither."""

MILLISECOND = 1_000_000
UNIT = "ns"
STEP, THINK = 1 * MILLISECOND, 20 * MILLISECOND
"""How long a step takes and a client pauses, on average: eight clients do about 250 transactions a second."""
ATTEMPTS = 100
"""Pairs of transactions that are tried at each place where something is to be planted."""
ABSENT = object()


class Application(Protocol):
    """What clients do."""

    def initial(self) -> State: ...

    def draw(self, random: Random) -> Program:
        """A transaction that a client may want to run; it can be run again."""
        ...


class CannotPlant(Exception):
    """No two transactions of the application clash as they should."""


# --- the database


@dataclass
class Open:
    """A transaction that has not ended."""

    since: int
    own: dict[str, Value] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)
    """Keys that were read, with the number of the last commit before the first read."""
    ranges: list[tuple[str, str, int]] = field(default_factory=list)


class Database:
    def __init__(self, level: str, initial: State) -> None:
        if level not in LEVELS:
            raise ValueError(f"unknown level {level!r}; known are {', '.join(LEVELS)}")
        self.level = level
        self.commits = 0
        self.versions: dict[str, list[tuple[int, Value]]] = {key: [(0, v)] for key, v in initial.items()}
        self.keys = sorted(initial)

    def begin(self) -> Open:
        return Open(self.commits)

    def do(self, txn: Open, step: Step) -> Value:
        """The result of a step: of a get the value or ABSENT, of a scan its items, of a delete whether it found."""
        kind, key = step[0], step[1]
        if kind == "put":
            txn.own[key] = step[2]
            return None
        if kind == "scan":
            low, high = key, step[2]
            txn.ranges.append((low, high, self.commits))
            inside = self.keys[bisect.bisect_left(self.keys, low) : bisect.bisect_left(self.keys, high)]
            inside = sorted({*inside, *(own for own in txn.own if low <= own < high)})
            found = [(key, self._see(txn, key)) for key in inside]
            return [(key, value) for key, value in found if value is not ABSENT]
        if key not in txn.own:
            txn.seen.setdefault(key, self.commits)
        value = self._see(txn, key)
        if kind == "get":
            return value
        txn.own[key] = ABSENT
        return value is not ABSENT

    def _see(self, txn: Open, key: str) -> Value:
        if key in txn.own:
            return txn.own[key]
        versions = self.versions.get(key, ())
        for number, value in reversed(versions):
            if self.level != "si" or number <= txn.since:
                return value
        return ABSENT

    def commit(self, txn: Open) -> bool:
        """Whether it was let in."""
        if self.level == "si" and any(self._changed(key) > txn.since for key in txn.own):
            return False
        if self.level == "ser":
            if any(self._changed(key) > when for key, when in txn.seen.items()):
                return False
            for low, high, when in txn.ranges:
                first, last = bisect.bisect_left(self.keys, low), bisect.bisect_left(self.keys, high)
                if any(self._changed(key) > when for key in self.keys[first:last]):
                    return False
        if txn.own:
            self.commits += 1
        for key, value in txn.own.items():
            if key not in self.versions:
                bisect.insort(self.keys, key)
                self.versions[key] = []
            self.versions[key].append((self.commits, value))
        return True

    def _changed(self, key: str) -> int:
        versions = self.versions.get(key)
        return versions[-1][0] if versions else 0


# --- what is written down


class Line(NamedTuple):
    returned: int
    invoked: int
    session: int
    txn: int
    edge: bool
    """A begin or an end: what carries the times."""
    text: str


class Recording:
    """What the clients saw, to be written with as much order as one likes."""

    def __init__(self, initial: State) -> None:
        self.initial = initial
        self.lines: list[Line] = []
        self.committed = self.aborted = self.unknown = 0
        self.planted: tuple[int, ...] = ()
        """The transactions of what was planted, numbered as they began."""
        self.witness: list[tuple[str, int, int]] = []
        """Begins and commits of a concurrent run, in the order in which they took effect: session, transaction."""

    def add(
        self, session: int, txn: int, when: tuple[int, int], op: str, *, edge: bool = False, **more: Any
    ) -> None:
        text = json.dumps({"op": op, **more})[1:-1]
        self.lines.append(Line(when[1], when[0], session, txn, edge, text))

    def step(self, session: int, txn: int, when: tuple[int, int], step: Step, result: Value) -> None:
        kind = step[0]
        if kind == "put":
            self.add(session, txn, when, "put", key=step[1], value=step[2])
        elif kind == "delete":
            self.add(session, txn, when, "delete", key=step[1], found=result)
        elif kind == "scan":
            self.add(session, txn, when, "scan", **{"from": step[1], "to": step[2], "items": result})
        elif result is ABSENT:
            self.add(session, txn, when, "get", key=step[1], absent=True)
        else:
            self.add(session, txn, when, "get", key=step[1], value=result)

    def write(self, path: Path, order: str) -> None:
        """A file for `log`, else a folder with a file for each session."""
        if order not in ORDERS:
            raise ValueError(f"unknown order {order!r}; known are {', '.join(ORDERS)}")
        header: dict[str, Any] = {"boomslang": 1}
        if order == "times" and header_has_unit():
            header["unit"] = UNIT
        first = json.dumps({**header, "initial": {"items": list(self.initial.items())}}) + "\n"
        lines = sorted(self.lines)
        if order == "log":
            with path.open("w") as out:
                out.write(first)
                for line in lines:
                    out.write(f'{{"session": "c{line.session}", "txn": {line.txn}, {line.text}}}\n')
            return
        path.mkdir()
        for session in sorted({line.session for line in lines}):
            with (path / f"c{session}.jsonl").open("w") as out:
                out.write(first)
                for line in lines:
                    if line.session == session:
                        timed = order == "times" and line.edge
                        times = f', "invoke": {line.invoked}, "return": {line.returned}' if timed else ""
                        out.write(f'{{"txn": {line.txn}, {line.text}{times}}}\n')


@cache
def header_has_unit() -> bool:
    """Whether this reader knows the header's `unit`."""
    schema = resources.files("boomslang.trace").joinpath("schema.json").read_text()
    return '"unit"' in schema


# --- all clients at once


@dataclass
class _Client:
    """One session: idle, or inside of a transaction."""

    number: int
    txns: int = 0
    wanted: Program | None = None
    running: Generator[Step, Any, None] | None = None
    txn: Open | None = None
    step: Step | None = None
    """What it does next; None: commit."""
    refused: int = 0


def concurrent(
    application: Application,
    level: str,
    transactions: int,
    *,
    seed: int = 1,
    clients: int = 8,
    lost: float = 0.0,
) -> Recording:
    """A run in which so many transactions committed. `lost` is the share of commits whose answer does not arrive."""
    if transactions < 1 or clients < 1 or not 0 <= lost < 1:
        raise ValueError("expected a transaction and a client at least, and a share of lost answers below 1")
    random = Random(f"{seed} {level}")
    database = Database(level, application.initial())
    recording = Recording(application.initial())
    # The next invocation of each client; the number makes the order of equal times a fixed one.
    waiting = [(random.randrange(THINK), n, _Client(n)) for n in range(clients)]
    heapq.heapify(waiting)
    effects: list[tuple[int, int, int, _Client]] = []
    while recording.committed + recording.unknown < transactions:
        if not effects or (waiting and waiting[0][0] <= effects[0][0]):
            now, _, client = heapq.heappop(waiting)
            effect = now + 1 + int(random.expovariate(2 / STEP))
            heapq.heappush(effects, (effect, client.number, now, client))
            continue
        effect, _, invoked, client = heapq.heappop(effects)
        returned = effect + 1 + int(random.expovariate(2 / STEP))
        pause = _advance(client, (invoked, returned), application, database, recording, random, lost)
        heapq.heappush(waiting, (returned + 1 + pause, client.number, client))
    return _without_open(recording)


def _advance(
    client: _Client,
    when: tuple[int, int],
    application: Application,
    database: Database,
    recording: Recording,
    random: Random,
    lost: float,
) -> int:
    """One step of a client takes effect; how long it waits after that."""
    if client.running is None or client.txn is None:
        client.txns += 1
        client.wanted = client.wanted or application.draw(random)
        client.running, client.txn = client.wanted(), database.begin()
        client.step = next(client.running, None)
        recording.add(client.number, client.txns, when, "begin", edge=True)
        recording.witness.append(("begin", client.number, client.txns))
        return 0
    if client.step is not None:
        result = database.do(client.txn, client.step)
        recording.step(client.number, client.txns, when, client.step, result)
        try:
            client.step = client.running.send(result)
        except StopIteration:
            client.step = None
        return 0
    silent = random.random() < lost
    arrived = not silent or random.random() < 0.5
    done = arrived and database.commit(client.txn)
    if done:
        recording.witness.append(("commit", client.number, client.txns))
    client.running = client.txn = None
    if silent:
        recording.add(client.number, client.txns, when, "commit", edge=True, error="no answer")
        recording.unknown += 1
    elif done:
        recording.add(client.number, client.txns, when, "commit", edge=True)
        recording.committed += 1
    else:
        recording.add(client.number, client.txns, when, "abort", edge=True)
        recording.aborted += 1
        client.refused += 1
        return int(random.expovariate(1 / (STEP << min(client.refused, 6))))
    client.wanted, client.refused = None, 0
    return int(random.expovariate(1 / THINK))


def _without_open(recording: Recording) -> Recording:
    """What the end of the run cut off had not written anything yet, and is left out."""
    ended: dict[tuple[int, int], bool] = {}
    for line in recording.lines:
        if line.edge and not line.text.startswith('"op": "begin"'):
            ended[line.session, line.txn] = True
    recording.lines = [line for line in recording.lines if (line.session, line.txn) in ended]
    return recording


# --- one after the other, and one violation


class Ran(NamedTuple):
    """A transaction that was alone."""

    steps: list[tuple[Step, Value]]
    writes: dict[str, Value]

    def fits(self, state: State) -> bool:
        """Would it have seen the same there?"""
        database, results = Database("ser", state), []
        txn = database.begin()
        for step, _ in self.steps:
            results.append(database.do(txn, step))
        return results == [result for _, result in self.steps]


def alone(program: Program, state: State) -> Ran:
    database = Database("ser", state)
    txn, running, steps = database.begin(), program(), []
    step = next(running, None)
    while step is not None:
        result = database.do(txn, step)
        steps.append((step, result))
        try:
            step = running.send(result)
        except StopIteration:
            step = None
    return Ran(steps, txn.own)


def after(state: State, writes: Mapping[str, Value]) -> State:
    return {key: value for key, value in {**state, **writes}.items() if value is not ABSENT}


def clashes(plant: str, first: Ran, second: Ran, state: State) -> bool:
    """Are these two, both run on the state, what is to be planted?"""
    late = after(state, first.writes)
    if second.fits(late):
        return False
    if plant == "stale-read":
        return not second.writes
    if first.fits(after(state, second.writes)):
        return False
    shared = first.writes.keys() & second.writes.keys()
    return bool(shared) if plant == "lost-update" else not shared


def planted(
    application: Application,
    plant: str,
    transactions: int,
    *,
    seed: int = 1,
    clients: int = 8,
    place: float = 0.5,
) -> Recording:
    """One transaction after the other, but for two: of these the second saw nothing of the first.

    A lost update and a write skew are two that overlap in time; a stale read begins when the write that it missed has
    returned. `place` (0 to 1) is where; if nothing there clashes, it is the next place where something does.
    """
    if plant not in PLANTS:
        raise ValueError(f"cannot plant {plant!r}; known are {', '.join(PLANTS)}")
    if transactions < 2 or clients < 2 or not 0 <= place <= 1:
        raise ValueError("expected two transactions and two clients at least, and a place from 0 to 1")
    random = Random(f"{seed} {plant}")
    state, recording = application.initial(), Recording(application.initial())
    now, txns = 0, [0] * clients

    def pass_time() -> tuple[int, int]:
        nonlocal now
        invoked = now + 1 + int(random.expovariate(1 / STEP))
        now = invoked + 1 + int(random.expovariate(1 / STEP))
        return invoked, now

    def begin(session: int) -> None:
        txns[session] += 1
        recording.add(session, txns[session], pass_time(), "begin", edge=True)

    def run(session: int, ran: Ran) -> None:
        for step, result in ran.steps:
            recording.step(session, txns[session], pass_time(), step, result)

    def commit(session: int, ran: Ran) -> None:
        nonlocal state
        recording.add(session, txns[session], pass_time(), "commit", edge=True)
        recording.committed += 1
        state = after(state, ran.writes)

    def clash(one: Ran, other: Ran) -> None:
        recording.planted = (recording.committed, recording.committed + 1)
        a, b = random.sample(range(clients), 2)
        begin(a)
        if plant != "stale-read":
            begin(b)
        run(a, one)
        if plant != "stale-read":
            run(b, other)
        commit(a, one)
        if plant == "stale-read":
            begin(b)
            run(b, other)
        commit(b, other)

    while recording.committed < transactions:
        here = int(place * (transactions - 2)) <= recording.committed <= transactions - 2
        if here and not recording.planted:
            for _ in range(ATTEMPTS):
                one, other = (alone(application.draw(random), state) for _ in range(2))
                if clashes(plant, one, other, state):
                    clash(one, other)
                    break
            if recording.planted:
                continue
        session, ran = random.randrange(clients), alone(application.draw(random), state)
        begin(session)
        run(session, ran)
        commit(session, ran)
        now += int(random.expovariate(clients / THINK))
    if not recording.planted:
        raise CannotPlant(f"no {plant} after {place:g} of {transactions} transactions")
    return recording
