"""One session's file: a line for each operation, written by one call when the operation returned.

    session.log_input("put", ("x", 1))     # before the call: the arguments, and the clock
    store.put("x", 1)
    session.log_output()                   # after it: the result, the clock, and the line is in the file

Three rules make what is in the file true whatever happens to the program. A line is appended by one write, so a
program that is killed loses at most its last line. A line that cannot be written whole (a full disk) is taken back,
and from then on the session refuses every operation *before* it is made: nothing is committed that is not on file. And
an end is written only when the database said so: a commit that raised, or never returned, leaves the transaction
unknown. What a reader would refuse is refused here (record/rules.py).
"""

from __future__ import annotations

import json
import os
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from boomslang.errors import UsageError
from boomslang.record.json_text import encoded, hints_of, pairs_of, quoted, text_of
from boomslang.record.rules import (
    LONGEST,
    NEXT_FILE,
    ROOM,
    Cursor,
    Range,
    RecordingWarning,
    check_length,
    check_list,
    check_time,
    short,
    shown,
)
from boomslang.trace.scalars import Absent, Unbounded

ARGUMENTS: Mapping[str, int] = {
    "begin": 0,
    "commit": 0,
    "abort": 0,
    "put": 2,
    "append": 2,
    "get": 1,
    "delete": 1,
    "list": 1,
    "next": 1,
    "scan": 2,
    "iterator": 2,
    "select": 2,
}
"""How many arguments each operation has: key and value, a key, an iterator's number, the bounds of a range, or a table
and a condition.

Iterators of a transaction are numbered from 1 in the order in which they were opened; `Session.iterators` is the number
of the newest."""

_RESULTS: Mapping[str, str] = {
    "get": "a value, or Absent",
    "scan": "pairs of a key and a value",
    "select": "pairs of a key and a value",
    "next": "a key and a value, or None at the end",
    "delete": "True, False or None",
    "list": "the elements",
}

SHORT = 1 << 16
"""Characters of several records that are written as one."""
BUFFERED = 64
"""Records, where they are."""
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)

_forks = 0
"""How often this process is a fork's child: a session belongs to the process that opened it."""


def forks() -> int:
    return _forks


def _forked() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class RecordingFailed(UsageError):
    """The trace cannot be written any further. What is in it is true.

    Raised before a commit is sent, if a record is missing; if it is the commit's own record that found no place, the
    transaction counts as unknown.
    """


class Session:
    """A sequence of operations, one after the other, of one client: made by `Tracer.session`.

    Not for two threads or tasks at a time; that is noticed, and refused.
    """

    def __init__(self, name: str, path: Path, header: str, *, rotate: float | None = None) -> None:
        """`header`: of each of its files, but for its end. `rotate`: seconds after which it goes on in another one."""
        self.name = name
        self.path = path
        self.failed: str | None = None
        """Why nothing more can be recorded, once that is so."""
        self.now: Callable[[], int | None] = time.monotonic_ns
        """The clock, in the tracer's unit; it may say that nobody knows."""
        self.in_transaction = False
        """A transaction began, and its end is not recorded."""
        self.transaction = 0
        """The number of the newest transaction."""
        self.errors = 0
        """How many operations of that transaction failed."""
        self._iterators = 0
        self._cursors: dict[int, Cursor] = {}
        """The iterators of the transaction that are open, by their numbers."""
        self._range: Range | None = None
        """Of the scan or iterator that is under way."""
        self._hints: set[str] = set()
        """Of the transaction's begin."""
        self._time: int | None = None
        """The newest on file."""
        self._size = 0
        self.buffered = False
        """Records are in the file after `flush`, and not before: for those who can tell again what is lost."""
        self._buffer: list[bytes] = []
        self._forks = _forks
        self._under_way = threading.Lock()
        self._op = ""
        self._head = b""
        self._held: list[list[bytes]] = []
        self._moved: list[set[int]] = []
        """Since each of the savepoints: the iterators that were opened or returned something."""
        self._rotate, self._header = rotate, header
        self._first, self._files, self._opened = path, 1, time.monotonic()
        head = encoded(header + "}\n")
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | _CLOEXEC, 0o666)
        try:
            self._write(head)
        except RecordingFailed:
            path.unlink()
            raise

    # --- the envelope

    def log_input(self, op: str, args: Sequence[Any] = (), ctx: Mapping[str, Any] | None = None) -> None:
        """An operation is about to be made. Raises, and nothing is to be sent, if it cannot be recorded."""
        self._enter(op, args, ctx)
        self._invoked = self.now()
        if self._time is not None and self._invoked is not None and self._invoked < self._time:
            self._under_way.release()
            check_time(self._invoked, self._time, f"a {op}")

    def _enter(self, op: str, args: Sequence[Any], ctx: Mapping[str, Any] | None) -> None:
        if self.failed is not None or self._forks != _forks or self._fd < 0:
            self.usable()
        if not self._under_way.acquire(blocking=False):
            raise UsageError(
                f"found {op} in session {self.name!r} while its {self._op or 'operation'} is under way; expected its "
                "log_output or log_error first; fix: give each thread and each task a session of its own"
            )
        try:
            if self._held and op in ("begin", "commit", "abort"):
                self._settle(op == "commit")
            if op == "begin" and self._rotate is not None and not self.in_transaction:
                self._go_on_elsewhere(self._rotate)
            head = self._input_text(op, args)
            if ctx is not None:
                head = f'{head},"ctx":{self._hints_of(op, ctx)}'
            elif op == "begin":
                self._hints.clear()
            self._op, self._head = op, check_length(encoded(head), f"a {op}")
        except BaseException:
            self._under_way.release()
            raise

    def log_output(self, result: Any = None) -> None:
        """It returned. `result` is a get's value or Absent, whether a delete found something (None: it did not say),
        a scan's pairs, a list's elements, an iterator's (key, value) or None for its end."""
        returned = self.now()
        op = self._op
        try:
            try:
                tail = encoded(self._output_text(op, result))
            except UsageError as error:
                # The database returned what a trace cannot say. Nothing that was observed is recorded of it.
                self._write(self._error_line(f"not recorded: {error}"))
                raise
            if not self._fits(tail):
                self._write(self._error_line(f"not recorded: {self._too_long(tail)}"))
                return
            self._write(self._head + tail + _times(self._invoked, returned) + b"}\n")
            self._time = self._time if returned is None else returned
            self._after(op)
        finally:
            self._under_way.release()

    def log_error(self, text: str, *, aborted: bool = False) -> None:
        """It failed, and observed and changed nothing. `aborted`: the transaction is over too, without effect.

        Of a commit this means that its outcome is unknown, unless `aborted`; a begin that failed was none.
        """
        try:
            if self._op == "begin":
                return
            line = self._error_line(text)
            if aborted:
                self._drop()
                line += b'{"op":"abort"}\n'
            self._write(line)
            self.errors += 1
            if aborted:
                self.in_transaction = False
        finally:
            self._under_way.release()

    def leave(self) -> None:
        """The transaction is over, and nobody will know how it ended."""
        self.in_transaction = False
        self._drop()

    def log(
        self,
        op: str,
        args: Sequence[Any] = (),
        result: Any = None,
        *,
        ctx: Mapping[str, Any] | None = None,
        invoke: int | None = None,
        returned: int | None = None,
        error: str | None = None,
    ) -> None:
        """A whole record at once, with times as they are given or none. They are in the unit of the tracer."""
        reached = self._time
        for number in (invoke, returned):
            reached = reached if number is None else check_time(number, reached, f"a {op}")
        self._enter(op, args, ctx)
        try:
            tail, why = encoded("" if error is not None else self._output_text(op, result)), error
            if not self._fits(tail):
                why, tail = f"not recorded: {self._too_long(tail)}", b""
            line = self._head + tail + _times(invoke, returned)
            line += b"" if why is None else f',"error":{quoted(short(why))}'.encode(errors="replace")
            self._write(line + b"}\n")
            self._time = reached
            if why is None:
                self._after(op)
            elif error is not None:
                self.errors += 1
        finally:
            self._under_way.release()

    def log_lines(self, lines: Sequence[str], invoke: int | None, returned: int | None) -> bool:
        """Records of reads and writes of the open transaction, as text but for the times and the last bracket: the
        first was invoked then, and the last returned. False, and nothing is written, if one of them needs more care."""
        reached = self._time
        if invoke is not None:
            if invoke < 0 or (reached is not None and invoke < reached):
                return False
            reached = invoke
        if returned is not None:
            if returned < 0 or (reached is not None and returned < reached):
                return False
            reached = returned
        if self.failed is not None or self._forks != _forks or self._fd < 0 or not self.in_transaction:
            return False
        first = "" if invoke is None else f',"invoke":{invoke}'
        last = "" if returned is None else f',"return":{returned}'
        if len(lines) == 1:
            text = f"{lines[0]}{first}{last}}}\n"
        else:
            between = "}\n".join(lines[1:])
            text = f"{lines[0]}{first}}}\n{between}{last}}}\n"
        if len(text) > SHORT or not self._under_way.acquire(blocking=False):
            return False
        try:
            self._write(text.encode())
            self._time = reached
        except UnicodeEncodeError:
            return False
        finally:
            self._under_way.release()
        return True

    def note(self, op: str, why: str, ctx: Mapping[str, Any]) -> None:
        """Of an operation that cannot be told: it observed and changed nothing *here*; why, and what `ctx` says."""
        self.usable()
        if not self.in_transaction:
            raise UsageError(
                f"found a note in session {self.name!r} outside a transaction; expected begin first"
            )
        line = f'{{"op":{quoted(op)},"error":{quoted(short(why))},"ctx":{hints_of(ctx)}}}\n'
        self._write(check_length(line.encode(errors="replace"), "a note"))

    def usable(self) -> None:
        """Raises if nothing can be recorded now."""
        if self.failed is not None:
            raise RecordingFailed(self.failed)
        if self._forks != _forks:
            raise UsageError(
                f"found session {self.name!r} in a process that was forked off its own; expected one process; "
                "fix: ask the tracer for a session after the fork"
            )
        if self._fd < 0:
            raise UsageError(f"found an operation in session {self.name!r}, which was closed")

    def check(self, op: str, args: Sequence[Any]) -> None:
        """Raises if this operation of the open transaction could not be recorded."""
        self.usable()
        check_length(encoded(self._input_text(op, args)), f"a {op}")

    def fail(self, reason: str) -> None:
        """Record nothing more: something happened that cannot be told."""
        self.failed = f"{self.path}: {reason}; the trace is not complete; fix the cause and record anew"

    def close(self) -> None:
        """Close the file. A transaction that is still open stays unknown."""
        if self._fd >= 0 and self.failed is None:
            self.flush()
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        try:
            os.close(fd)
        except OSError as error:  # some file systems tell only now that a write failed
            raise RecordingFailed(f"{self.path}: {error.strerror or error}") from error

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            os.close(self._fd)

    @property
    def reached(self) -> int | None:
        """The newest time on file."""
        return self._time

    # --- savepoints

    def hold(self) -> None:
        """From here on keep records back: what a savepoint's rollback would undo must not be in the file yet."""
        self._held.append([])
        self._moved.append(set())

    def let_go(self) -> None:
        """The innermost savepoint was released: what was kept back since belongs to the transaction."""
        lines = self._held.pop()
        moved = self._moved.pop()
        if self._moved:
            self._moved[-1] |= moved
        for line in lines:
            self._write(line)

    def forget(self) -> None:
        """The innermost savepoint was rolled back: nothing that was recorded since has happened.

        (What was read since was read. But some of it may be what was written since, so all of it goes; a trace that
        tells less accuses nobody wrongly. An iterator is not where it was: what it returns from now on tells nothing.)
        """
        self._held.pop()
        for number in self._moved.pop() & self._cursors.keys():
            self._cursors[number].lost = True

    def _settle(self, commits: bool) -> None:
        """The end of the transaction is the end of its savepoints."""
        if not commits:
            self._drop()
        while self._held:
            self.let_go()

    def _drop(self) -> None:
        self._held.clear()
        self._moved.clear()

    # --- lines

    def _hints_of(self, op: str, ctx: Mapping[str, Any]) -> str:
        """Those of a begin and of its end are joined, so no name may be in both."""
        text = hints_of(ctx)
        if op == "begin":
            self._hints = set(ctx) if all(type(name) is str for name in ctx) else set(json.loads(text))
        elif op in ("commit", "abort") and (twice := self._hints & set(json.loads(text))):
            raise UsageError(
                f"found the hint {min(twice)!r} of the begin again at the {op}; expected each at one of them"
            )
        return text

    def _fits(self, tail: bytes) -> bool:
        return len(self._head) + len(tail) <= LONGEST - ROOM

    def _too_long(self, tail: bytes) -> str:
        """It happened, and a reader would choke on what it returned: the trace says only that it was tried."""
        why = (
            f"a {self._op} returned {len(tail) >> 20:,} MB, and the longest line of a trace has {LONGEST >> 20} MB; "
            "what it saw is not in the trace"
        )
        if self._op == "next":
            self._cursors[self._cursor].lost = True
        warnings.warn(f"{self.path}: {why}", RecordingWarning, stacklevel=4)
        return why

    def _input_text(self, op: str, args: Sequence[Any]) -> str:
        """The line up to the arguments."""
        if ARGUMENTS.get(op) != len(args):
            known = ARGUMENTS.get(op)
            if known is None:
                raise UsageError(f"found the operation {op!r}; expected one of {', '.join(ARGUMENTS)}")
            raise UsageError(f"found {len(args)} arguments of {op}; expected {known}")
        if op == "begin":
            self.transaction += 1
            self._iterators = self.errors = 0
            self._cursors.clear()
            return f'{{"op":"begin","txn":{self.transaction}'
        if not self.in_transaction:
            raise UsageError(
                f"found {op} in session {self.name!r} outside a transaction; expected begin first"
            )
        if op == "append" or op == "list":
            check_list(self.path.parent, args[0])
        if op == "put" or op == "append":
            return f'{{"op":"{op}","key":{text_of(args[0])},"value":{text_of(args[1])}'
        if op == "get" or op == "delete" or op == "list":
            return f'{{"op":"{op}","key":{text_of(args[0])}'
        if op == "next":
            return self._next(args[0])
        if op == "commit" or op == "abort":
            return f'{{"op":"{op}"'
        if op == "select":
            table, where = args
            condition = "" if where is True else f',"where":{json.dumps(where, ensure_ascii=False)}'
            return f'{{"op":"select","table":{text_of(table)}{condition}'
        bounds = "".join(
            f',"{name}":{text_of(bound)}'
            for name, bound in zip(("from", "to"), args, strict=True)
            if bound is not None and bound is not Unbounded
        )
        if op == "scan":
            self._range = Range(*args)
            return f'{{"op":"scan"{bounds}'
        self._range = Cursor(*args)
        self._iterators += 1
        return f'{{"op":"iterator","id":{self._iterators}{bounds}'

    def _next(self, number: Any) -> str:
        """The next of an iterator; of one whose steps are not all on file, without its name."""
        cursor = self._cursors.get(number) if type(number) is int else None
        if cursor is None or cursor.ended:
            known = ", ".join(str(n) for n, c in self._cursors.items() if not c.ended) or "none is open"
            raise UsageError(
                f"found next of iterator {shown(number)}; expected the number of one that this transaction has opened "
                f"and that is not at its end ({known}): the first is 1, and `session.iterators` is the newest"
            )
        self._cursor = number
        return '{"op":"next"' if cursor.lost else f'{{"op":"next","id":{number}'

    def _output_text(self, op: str, result: Any) -> str:
        """The results, as the line goes on."""
        try:
            return self._result_text(op, result)
        except (TypeError, ValueError, LookupError) as error:
            if op == "next":
                self._cursors[self._cursor].lost = True
            if isinstance(error, UsageError):
                raise
            raise UsageError(
                f"found {shown(result)} as the result of a {op} ({error}); expected {_RESULTS[op]}"
            ) from None

    def _result_text(self, op: str, result: Any) -> str:
        if op == "get":
            return ',"absent":true' if result is Absent else f',"value":{text_of(result)}'
        if op == "select":
            return f',"items":{pairs_of(result)}'
        if op == "scan":
            assert self._range is not None
            items = list(result)
            text = f',"items":{pairs_of(items)}'
            self._range.check_items(key for key, _ in items)
            return text
        if op == "next":
            return self._step_text(result)
        if op == "delete":
            return "" if result is None else ',"found":true' if result else ',"found":false'
        if op == "list":
            if isinstance(result, str | bytes | Mapping):
                raise TypeError("it is no list")
            return f',"elements":[{",".join(map(text_of, result))}]'
        return ""

    def _step_text(self, result: Any) -> str:
        """What an iterator returned."""
        cursor = self._cursors[self._cursor]
        if cursor.lost:
            return ',"error":"not recorded: an earlier step of this iterator is not in the trace"'
        if result is None:
            cursor.ended = True
            return ',"end":true'
        key, value = result
        text = f',"key":{text_of(key)},"value":{text_of(value)}'
        cursor.step(key)
        return text

    def _after(self, op: str) -> None:
        if op == "begin":
            self.in_transaction = True
        elif op == "iterator":
            assert isinstance(self._range, Cursor)
            self._cursors[self._iterators] = self._range
            self._touch(self._iterators)
        elif op == "next":
            self._touch(self._cursor)
        elif op == "commit" or op == "abort":
            self.in_transaction = False

    def _touch(self, number: int) -> None:
        if self._moved:
            self._moved[-1].add(number)

    def _error_line(self, text: str) -> bytes:
        """An error is for people, so whatever of it is no text is replaced."""
        self._time = self._time if self._invoked is None else self._invoked
        said = f',"error":{quoted(short(text))}}}\n'.encode(errors="replace")
        return self._head + _times(self._invoked, None) + said

    @property
    def iterators(self) -> int:
        """The number of the newest iterator of this transaction."""
        return self._iterators

    # --- the file

    def _go_on_elsewhere(self, after: float) -> None:
        """In another file, once this one is old: between two transactions, of which each stands in one file.

        Its name comes after those of the session's files before it, in the order in which files count, and it gets
        that name once its header is in it. Nothing is added to this one from then on: whoever watches counts on that.
        Where no file can be had, this one is gone on with.
        """
        now = time.monotonic()
        if now - self._opened < after:
            return
        self._opened = now
        path = self._first.with_name(f"{self._first.stem}{NEXT_FILE}{self._files + 1}{self._first.suffix}")
        head = encoded(f'{self._header},"session":{quoted(self.name)}}}\n')
        new = path.with_name(f"{path.name}.new")
        try:
            new.write_bytes(head)
            fd = os.open(new, os.O_WRONLY | os.O_APPEND | _CLOEXEC)
        except OSError:
            with suppress(OSError):
                new.unlink(missing_ok=True)
            return
        self.flush()
        new.rename(path)
        os.close(self._fd)
        self.path, self._fd, self._size = path, fd, len(head)
        self._files += 1

    def _write(self, data: bytes) -> None:
        if self._held:
            self._held[-1].append(data)
            return
        if self.buffered:
            self._buffer.append(data)
            if len(self._buffer) >= BUFFERED:
                self.flush()
            return
        self._put(data)

    def flush(self) -> None:
        """What is buffered is in the file then."""
        if self._buffer:
            data = b"".join(self._buffer)
            self._buffer.clear()
            self._put(data)

    def _put(self, data: bytes) -> None:
        written = 0
        try:
            while written < len(data):
                written += os.write(self._fd, data[written:] if written else data)
        except OSError as error:
            self._fail(error)
        self._size += written

    def _fail(self, error: OSError) -> NoReturn:
        """Take back what was written of a record that does not fit, and record nothing more."""
        self.failed = (
            f"{self.path}: cannot record any further ({error.strerror or error}); found no place for a record; "
            "what is in the trace is true, and what is not was not sent to be committed; fix: make room and record anew"
        )
        with suppress(OSError):  # failing that, a torn last line stays, which the reader drops
            os.ftruncate(self._fd, self._size)
        raise RecordingFailed(self.failed) from error


def _times(invoke: int | None, returned: int | None) -> bytes:
    if invoke is not None and returned is not None:
        return b',"invoke":%d,"return":%d' % (invoke, returned)
    if invoke is not None:
        return b',"invoke":%d' % invoke
    return b"" if returned is None else b',"return":%d' % returned
