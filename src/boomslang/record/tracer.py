"""Where a trace is written, and what its files have in common: a folder, a clock, the initial state.

    tracer = Tracer("trace", initial={"x": 0})
    session = tracer.session("alice")         # the file trace/alice.jsonl

Each session writes a file of its own, so threads, tasks and processes need no lock and nobody waits. A tracer may be
used after a fork, and sent to other processes; a process that has nothing from this one joins with
`Tracer.join("trace")`.
"""

from __future__ import annotations

import itertools
import os
import re
import socket
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from boomslang.errors import UsageError
from boomslang.record.functions import Current, Function, Scope, traced
from boomslang.record.json_text import encoded, hints_of, pairs_of, quoted
from boomslang.record.rules import STATE, check_length, check_once
from boomslang.record.session import RecordingFailed, Session
from boomslang.trace.files import shown
from boomslang.trace.units import UNITS

NANOSECONDS = "ns"
NAME = re.compile(r"(?!\.)[\w.@=+ -]{1,200}")

Initial = Mapping[Any, Any] | Iterable[tuple[Any, Any]] | Literal["empty", "unknown"]


class Tracer:
    """Makes the sessions of one trace, in a folder that is new or empty.

    `initial` is what the database holds before: "empty", "unknown", or a mapping (or pairs). `clock` names the clock
    that times are read from, if host and boot would not do: times of differently named clocks are never compared.
    Times are nanoseconds, unless they are all given to `Session.log`: then `unit` says what they are ("ns", "us", "ms",
    "s", or "" if nobody knows). `parameters`: where SQL is understood, the parameters of statements are noted down too,
    so that a violation can be replayed; False leaves them out. `add_returning`: writes that do not tell which rows they
    changed, or to what, are sent with RETURNING where the database has it; the application does not see its rows, and
    its user must be allowed to read what it writes. `ctx`: notes on the whole trace, for its header. `rotate`: after so
    many seconds a session goes on in another file, so that `boomslang watch --keep` can delete what is old.
    """

    process: int | None = None
    """The process that sessions without a name are named after, if it is not this one: what another one has left
    unfinished is written anew."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        initial: Initial = "empty",
        clock: str | None = None,
        unit: str = NANOSECONDS,
        parameters: bool = True,
        add_returning: bool = False,
        rotate: float | None = None,
        ctx: Mapping[str, Any] | None = None,
    ) -> None:
        self.folder = Path(folder).absolute()
        self.parameters = parameters
        self.add_returning = add_returning
        self.clock = clock
        self.unit = _checked(unit)
        self.rotate = _positive(rotate)
        self._numbers = itertools.count(1)
        self._current = Current(self.session)
        if isinstance(initial, str):
            if initial not in ("empty", "unknown"):
                raise UsageError(f"found initial={initial!r}; expected 'empty', 'unknown' or a mapping")
            state = quoted(initial)
        else:
            pairs = list(initial.items() if isinstance(initial, Mapping) else initial)
            state = f'{{"items":{pairs_of(pairs)}}}'
            check_once(pairs)
        notes = f',"ctx":{hints_of(ctx)}' if ctx else ""
        header = check_length(encoded(f'{{"boomslang":1,"initial":{state}{notes}}}\n'), "an initial state", 0)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if any(self.folder.iterdir()):
                raise UsageError(
                    f"found files in the folder {shown(self.folder)}; expected a new or empty one for a trace; "
                    "fix: name another, or Tracer.join(folder) to add sessions to the trace that is there"
                )
            with (self.folder / STATE).open("xb") as file:
                file.write(header)
        except OSError as error:
            raise RecordingFailed(
                f"{shown(self.folder)}: cannot begin a trace ({error.strerror or error}); "
                "expected a folder with room to write to"
            ) from error

    @classmethod
    def join(
        cls,
        folder: str | os.PathLike[str],
        *,
        clock: str | None = None,
        unit: str = NANOSECONDS,
        parameters: bool = True,
        add_returning: bool = False,
        rotate: float | None = None,
    ) -> Tracer:
        """Another process's way to a trace that was begun: its sessions come into the same folder."""
        path = Path(folder).absolute()
        if not (path / STATE).is_file():
            raise UsageError(
                f"found no trace to join in {shown(path)}; expected a folder that a Tracer has begun ({STATE} is in it)"
            )
        joined = cls.__new__(cls)
        joined.__setstate__(
            {
                "folder": path,
                "clock": clock,
                "unit": _checked(unit),
                "parameters": parameters,
                "add_returning": add_returning,
                "rotate": _positive(rotate),
            }
        )
        return joined

    def session(self, name: str | None = None) -> Session:
        """A new session; its name must be new in the trace. Without one it is named after the process."""
        unit = f',"unit":{quoted(self.unit)}' if self.unit else ""
        header = f'{{"boomslang":1,"clock":{quoted(self.clock or clock_name())}{unit}'
        if name is not None:
            if not NAME.fullmatch(name):
                raise UsageError(
                    f"found the session name {name!r}; expected letters, digits and .@=+-_ or spaces: it names a file"
                )
            try:
                return self._open(name, header)
            except FileExistsError:
                raise UsageError(
                    f"found a session {name!r} already in {shown(self.folder)}; expected a new name: a session "
                    "is recorded once, by one process"
                ) from None
        while True:
            try:
                return self._open(f"p{self.process or os.getpid()}-{next(self._numbers)}", header)
            except FileExistsError:  # another host's process, or one before us that had our number
                continue

    # --- the session of whoever is running (see record/functions.py)

    def current(self) -> Session:
        """The session of this thread or task; made when it is first asked for."""
        return self._current.session()

    def using(self, session: Session) -> AbstractContextManager[Session]:
        """`with tracer.using(session):` the current session is this one."""
        return self._current.using(session)

    def transaction(
        self, *, aborts: tuple[type[BaseException], ...] = (), ctx: Mapping[str, Any] | None = None
    ) -> Scope:
        """`with tracer.transaction():` around a transaction of the database. `aborts`: exceptions that mean that it
        was rolled back; serialization failures and deadlocks of known drivers need not be named."""
        return Scope(self.current, aborts, ctx)

    def traced(
        self, op: str, *, absent: object = None, ctx: Mapping[str, Any] | None = None, **parameters: str
    ) -> Callable[[Function], Function]:
        """`@tracer.traced("get", key="account")`: a function, also `async`, that is an operation.

        `key=`, `value=` (put, append), `lo=` and `hi=` (scan) name its parameters, unless they are called so. It
        returns a get's value (`absent` if there is none), a scan's pairs or dict, a list's elements, whether a delete
        found something. If it raises it must have done nothing.
        """
        return traced(self.current, op, parameters, absent, ctx)

    def _open(self, name: str, header: str) -> Session:
        try:
            return Session(name, self.folder / f"{name}.jsonl", header, rotate=self.rotate)
        except FileExistsError:
            raise
        except OSError as error:
            raise RecordingFailed(
                f"{shown(self.folder)}: cannot open a session's file ({error.strerror or error})"
            ) from error

    def __getstate__(self) -> dict[str, Any]:
        kept = ("folder", "clock", "unit", "parameters", "add_returning", "rotate")
        return {name: getattr(self, name) for name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.folder = state["folder"]
        self.clock = state["clock"]
        self.unit = state["unit"]
        self.parameters = state["parameters"]
        self.add_returning = state["add_returning"]
        self.rotate = state["rotate"]
        self._numbers = itertools.count(1)
        self._current = Current(self.session)


def _checked(unit: str) -> str:
    if unit and unit not in UNITS:
        raise UsageError(f"found unit={unit!r}; expected one of {', '.join(UNITS)}, or '' if it is not known")
    return unit


def _positive(seconds: float | None) -> float | None:
    if seconds is not None and not seconds > 0:
        raise UsageError(
            f"found rotate={seconds!r}; expected seconds, after which a session gets a new file, or None"
        )
    return seconds


@lru_cache(maxsize=1)
def clock_name() -> str:
    """Whose monotonic clock this is: host, boot and, where there are such, the namespace of its time.

    Where the system does not tell, each process counts as a clock of its own: times that are not compared
    lose something, times that are compared wrongly give wrong verdicts.
    """
    host = socket.gethostname()
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"{host}/{os.getpid()}-{os.urandom(8).hex()}"
    try:
        space = re.sub(r"\D", "", Path("/proc/self/ns/time").readlink().name)
    except OSError:  # before Linux 5.6
        return f"{host}/{boot}"
    return f"{host}/{boot}/{space}"
