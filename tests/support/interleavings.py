"""Scripted interleavings: two or three sessions of a real database, step by step, in a given order.

A script is a line of steps, `A begin, B begin, A get x, B put x 1, ...`: who does what. Each session has a connection
and a thread of its own. `play` hands out one step after the other and waits for each; a step that does not return in
time *waits* for a lock: the script goes on with the others, and what the session has still to do stays in its queue
until it is let go. A client does what sane clients do: after an abort the rest of its transaction is skipped, and a
transaction with a failed operation is rolled back.

All is recorded as in a real run. What is left is a trace, what each step returned, and how each transaction ended:

    played = play(database, SCRIPTS["write skew"], "snapshot", folder)
    played.outcomes     {"A": "committed", "B": "committed"}
    played.happened     True: the trace breaks the level that the anomaly breaks, and keeps those that allow it
    played.summary      "happens", or what became of it: "B aborts", "B waits", "harmless"

The scripts are the anomalies of Adya's thesis (MIT, 1999) and of Berenson et al. (SIGMOD 1995), each with the
interleaving in which a database without any isolation shows it.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boomslang import Trace, check, read_trace
from boomslang.databases import Aborted, Database, DatabaseError, Failed, Lost
from boomslang.record import Recorded, Tracer
from boomslang.verdict import vacuous

PATIENCE = 0.25
"""Seconds after which a step that another open transaction may hold up is taken to wait for it."""
STUCK = 30.0
"""Seconds after which a step that nothing should hold up is an error."""

Step = tuple[str, ...]
"""Session, operation, arguments."""


@dataclass(frozen=True)
class Script:
    name: str
    steps: tuple[Step, ...]
    breaks: str
    """A weakest level that forbids what the script leads to."""
    allowed: str
    """A strongest level that allows it."""
    initial: Mapping[str, str] = field(default_factory=lambda: {"x": "0", "y": "0"})
    needs: str = ""
    """The capability of a database without which it cannot be played."""


def script(name: str, text: str, *, breaks: str, allowed: str = "", **more: Any) -> Script:
    """A script from its line of steps."""
    steps = tuple(tuple(step.split()) for step in text.replace("\n", " ").split(","))
    return Script(name, steps, breaks, allowed, **more)


_ALL = (
    script(
        "dirty write",
        """A begin, B begin, A put x 1, B put x 2, B put y 2, B commit, A put y 1, A commit,
        C begin, C get x, C get y, C commit""",
        breaks="ra",
        allowed="cs",
    ),
    script(
        "dirty append",
        """A begin, B begin, A append l 1, B append l 2, B append m 2, B commit, A append m 1, A commit,
        C begin, C list l, C list m, C commit""",
        breaks="ru",
        initial={},
        needs="append",
    ),
    script(
        "aborted read",
        "A begin, B begin, A put x 1, B get x, A abort, B commit",
        breaks="rc",
        allowed="ru",
    ),
    script(
        "intermediate read",
        "A begin, B begin, A put x 1, B get x, A put x 2, A commit, B commit",
        breaks="rc",
        allowed="ru",
    ),
    script(
        "circular information flow",
        "A begin, B begin, A put x 1, B put y 2, A get y, B get x, A commit, B commit",
        breaks="rc",
        allowed="ru",
    ),
    script(
        "non-repeatable read",
        "A begin, A get x, B begin, B put x 1, B commit, A get x, A commit",
        breaks="ra",
        allowed="cs",
    ),
    script(
        "read skew",
        "A begin, A get x, B begin, B put x 1, B put y 1, B commit, A get y, A commit",
        breaks="ra",
        allowed="cs",
    ),
    script(
        "read skew by iterator",
        """A begin, A iterator i x z, A next i, B begin, B put x 1, B put y 1, B commit,
        A next i, A next i, A commit""",
        breaks="ra",
        allowed="cs",
        needs="iterator",
    ),
    script(
        "lost update",
        "A begin, B begin, A get x, B get x, A put x 1, A commit, B put x 2, B commit",
        breaks="cs",
        allowed="prefix",
    ),
    script(
        "locked update",
        "A begin, B begin, A get_for_update x, B get_for_update x, A put x 1, A commit, B put x 2, B commit",
        breaks="cs",
        allowed="prefix",
        needs="locking",
    ),
    script(
        "update lost to a delete",
        """A begin, B begin, A get x, B get x, A put x 1, A commit, B delete x, B commit,
        C begin, C get x, C commit""",
        breaks="cs",
        allowed="prefix",
    ),
    script(
        "delete lost to an update",
        """A begin, B begin, A get x, B get x, A delete x, A commit, B put x 2, B commit,
        C begin, C get x, C commit""",
        breaks="cs",
        allowed="prefix",
    ),
    script(
        "insert if absent",
        "A begin, B begin, A get k, B get k, A insert k a, A commit, B insert k b, B commit",
        breaks="cs",
        allowed="prefix",
    ),
    script(
        "long fork",
        """C begin, C get y, D begin, D get x, A begin, A put x 1, A commit, B begin, B put y 1, B commit,
        C get x, C commit, D get y, D commit""",
        breaks="prefix",
        allowed="pl-2+",
    ),
    script(
        "write skew",
        """A begin, B begin, A get x, A get y, B get x, B get y, A put x 1, B put y 1, A commit, B commit""",
        breaks="rr",
        allowed="si",
    ),
    script(
        "locked write skew",
        """A begin, B begin, A get_for_update x, A get y, B get_for_update y, B get x, A put x 1, B put y 1,
        A commit, B commit""",
        breaks="rr",
        allowed="si",
        needs="locking",
    ),
    script(
        "read-only anomaly",
        """B begin, B get x, B get y, A begin, A get y, A put y 1, A commit,
        C begin, C get x, C get y, C commit, B put x 2, B commit""",
        breaks="rr",
        allowed="si",
    ),
    script(
        "phantom",
        "A begin, A scan k l, B begin, B put k1 b, B commit, A scan k l, A commit",
        breaks="ra",
        allowed="rr",
    ),
    script(
        "phantom write skew",
        "A begin, B begin, A scan k l, B scan k l, A put k1 a, B put k2 b, A commit, B commit",
        breaks="ser",
        allowed="si",
    ),
    script(
        "read, then locking read",
        "A begin, A get x, B begin, B put x 1, B commit, A get_for_update x, A put x 2, A commit",
        breaks="ra",
        allowed="rc",
        needs="locking",
    ),
)
SCRIPTS: Mapping[str, Script] = {each.name: each for each in _ALL}


@dataclass
class Result:
    """What became of a step."""

    step: Step
    ended: str = ""
    """ok, aborted, failed, lost, or skipped; empty until it has returned."""
    value: Any = None
    """What the database returned, or said."""
    waited: bool = False
    """It was held up: the script went on with the others before it returned."""

    def __str__(self) -> str:
        said = (
            ""
            if self.value is None and self.step[1] not in ("get", "get_for_update")
            else f" -> {self.value!r}"
        )
        return f"{' '.join(self.step)}{said}{'' if self.ended == 'ok' else f' [{self.ended}]'}{' waited' * self.waited}"


@dataclass
class Played:
    """All that is left of a script."""

    script: Script
    trace: Trace
    results: list[Result]
    outcomes: dict[str, str]
    """Transaction (a session's second is called A2) -> committed, aborted, unknown."""

    def holds(self, level: str, **more: Any) -> bool:
        """Is the trace valid at a level?"""
        verdict = check(self.trace, level, **more)
        assert verdict.status != "unknown" or vacuous(self.trace), verdict.reason
        return not verdict.invalid  # where nothing committed, nothing is broken

    def returned(self, session: str, op: str) -> list[Any]:
        """What a session's operations of a kind returned, in their order."""
        return [r.value for r in self.results if r.step[:2] == (session, op) and r.ended == "ok"]

    @property
    def happened(self) -> bool:
        """Did the script lead to what it is named for?"""
        script = self.script
        return not self.holds(script.breaks) and (not script.allowed or self.holds(script.allowed))

    @property
    def summary(self) -> str:
        """`happens`, or who waited and who aborted; `harmless` if all went through and it did not come to that."""
        if self.happened:
            return "happens"
        waited = sorted({r.step[0] for r in self.results if r.waited})
        said = [f"{session} waits" for session in waited]
        said += [f"{name} aborts" for name in sorted(self.not_committed())]
        return ", ".join(said) if said else "harmless"

    def not_committed(self) -> list[str]:
        """Those that the script would have committed, and the database did not."""
        meant = {name for name, end in endings(self.script).items() if end == "commit"}
        return [name for name in meant if self.outcomes.get(name) != "committed"]

    def __str__(self) -> str:
        return "\n".join(map(str, self.results))


def endings(script: Script) -> dict[str, str]:
    """Transaction -> how the script ends it."""
    begun: dict[str, int] = {}
    ends: dict[str, str] = {}
    for session, op, *_ in script.steps:
        begun[session] = begun.get(session, 0) + (op == "begin")
        if op in ("commit", "abort"):
            ends[_transaction(session, begun[session])] = op
    return ends


def _transaction(session: str, number: int) -> str:
    return session if number == 1 else f"{session}{number}"


class _Client:
    """A session in a thread of its own: takes steps from its queue, one after the other."""

    def __init__(self, name: str, database: Database, tracer: Tracer, level: str) -> None:
        self.name = name
        self.level = level
        self.open = False
        self.lost = False
        self.begun = 0
        self.outcomes: dict[str, str] = {}
        self.seen: dict[str, Any] = {}
        self.iterators: dict[str, Iterator[tuple[str, str]]] = {}
        self.todo: queue.Queue[Result | None] = queue.Queue()
        self.idle = threading.Event()
        self.broke: BaseException | None = None
        self.pending = 1  # to connect
        self.lock = threading.Lock()
        self.database, self.tracer = database, tracer
        self.thread = threading.Thread(target=self._run, name=f"session {name}", daemon=True)
        self.thread.start()

    def give(self, result: Result) -> None:
        if self.broke:
            raise self.broke
        with self.lock:
            self.pending += 1
            self.idle.clear()
        self.todo.put(result)

    def stop(self) -> None:
        self.todo.put(None)
        self.thread.join(STUCK)

    def _run(self) -> None:
        try:
            # Some databases want a connection used by the thread that opened it. In a cluster each has its node.
            nodes = len(self.database.nodes)
            connection = (
                self.database.connect_to((ord(self.name) - ord("A")) % nodes)
                if nodes
                else self.database.connect()
            )
            self.connection = Recorded(connection, self.tracer.session(self.name))
            self._done()
            while (result := self.todo.get()) is not None:
                self._take(result)
                self._done()
            if self.open:
                self.connection.abort()
            self.connection.close()
        except BaseException as error:
            self.broke = error
            self.idle.set()

    def _done(self) -> None:
        with self.lock:
            self.pending -= 1
            if not self.pending:
                self.idle.set()

    def _take(self, result: Result) -> None:
        op = result.step[1]
        if self.lost or (op != "begin" and not self.open):
            result.ended = "skipped"
            return
        if op == "begin":
            self.begun += 1
            self.seen.clear()
            self.iterators.clear()
        try:
            result.value = self._do(op, *result.step[2:])
            result.ended = "ok"
            if op == "begin":
                self.open = True
            elif op in ("commit", "abort"):
                self._over("committed" if op == "commit" else "aborted")
        except DatabaseError as error:
            result.value = f"{type(error).__name__}: {error}"
            self._went_wrong(op, error, result)

    def _went_wrong(self, op: str, error: DatabaseError, result: Result) -> None:
        if isinstance(error, Aborted):
            result.ended = "aborted"
            self._over("aborted")
        elif isinstance(error, Failed):
            result.ended = "failed"
            if self.open:
                self.connection.abort()
            self._over("aborted")
        else:
            assert isinstance(error, Lost), error
            result.ended = "lost"
            self.lost = True
            self._over("unknown" if op == "commit" else "aborted")

    def _over(self, outcome: str) -> None:
        self.open = False
        self.outcomes[_transaction(self.name, self.begun)] = outcome

    def _do(self, op: str, *arguments: str) -> Any:
        c = self.connection
        if op == "begin":
            return c.begin(arguments[0] if arguments else self.level)
        if op in ("get", "get_for_update"):
            self.seen[arguments[0]] = getattr(c, op)(arguments[0])
            return self.seen[arguments[0]]
        if op == "insert":  # only if the key was not there when it was looked at
            key, value = arguments
            if self.seen[key] is None:
                c.put(key, value)
            return None
        if op == "iterator":
            self.iterators[arguments[0]] = c.iterator(*arguments[1:])
            return None
        if op == "next":
            return next(self.iterators[arguments[0]], None)
        return getattr(c, op)(*arguments)


def play(
    database: Database,
    script: Script,
    level: str | Mapping[str, str],
    folder: Path,
    *,
    patience: float = PATIENCE,
    waits: str | None = None,
) -> Played:
    """Plays a script; `level` may say a level for each session. The folder gets the trace, and must not exist yet.

    `waits` names the sessions that may be held up, where that is known ("AB"; "" for none): for all others a slow
    machine is never taken for a lock.
    """
    database.prepare(script.initial)
    tracer = Tracer(folder, initial=script.initial or "empty")
    names = sorted({step[0] for step in script.steps})
    levels = {name: level if isinstance(level, str) else level[name] for name in names}
    clients = {name: _Client(name, database, tracer, levels[name]) for name in names}
    _wait_for_all(clients, script, [])
    results = [Result(step) for step in script.steps]
    for result in results:
        client = clients[result.step[0]]
        if not client.idle.is_set():  # its turn comes when the session is let go
            client.give(result)
            continue
        client.give(result)
        held = any(other.open for other in clients.values() if other is not client)
        held &= waits is None or client.name in waits
        client.idle.wait(patience if held else STUCK)
        if not result.ended and not client.broke:
            result.waited = True
        elif result.ended != "ok" or result.step[1] in ("commit", "abort"):
            # What it held is free now: those who waited for it are let go, one after the other.
            for other in clients.values():
                other.idle.wait(2 * patience)
    _wait_for_all(clients, script, results)
    for client in clients.values():
        client.stop()
    _wait_for_all(clients, script, results)
    outcomes = {name: end for client in clients.values() for name, end in client.outcomes.items()}
    return Played(script, read_trace(folder), results, outcomes)


def _wait_for_all(clients: Mapping[str, _Client], script: Script, results: list[Result]) -> None:
    deadline = time.monotonic() + STUCK
    for client in clients.values():
        came_back = client.idle.wait(max(0.0, deadline - time.monotonic()))
        if client.broke:
            raise client.broke
        if not came_back:
            told = "\n".join(map(str, results))
            raise AssertionError(f"session {client.name} never came back from {script.name!r}:\n{told}")
