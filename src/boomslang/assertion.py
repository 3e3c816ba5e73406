"""An assertion for tests: a trace satisfies a level, or the test fails with the story of why it does not."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from boomslang.checker import check
from boomslang.levels import Level, bounded, find_level
from boomslang.trace import Trace, read_trace
from boomslang.verdict import Verdict

if TYPE_CHECKING:
    from boomslang.checker import Asked


class Recorded(Protocol):
    """What recorded a trace: `boomslang.record.Tracer` does."""

    @property
    def folder(self) -> Path: ...


def assert_isolation(
    trace: Trace | Recorded | str | os.PathLike[str],
    level: str | Level = "serializable",
    *,
    modules: Iterable[Asked] = (),
    within: str | int | None = None,
    timeout: float | None = None,
    report: str | os.PathLike[str] | None = None,
) -> Verdict:
    """Raises AssertionError unless the trace satisfies the level; the message tells why, and where the report is.

    `trace` may be a trace, the path of one, or the tracer that recorded it (whose transactions must be over: what has
    not ended is of unknown outcome). `within` asks for the level within a bound of real time, such as "1s". `report` is
    where to write the HTML report of a violation; a temporary file, if it is not given. What cannot be decided, for
    want of time or of what the level speaks of, fails as well.
    """
    __tracebackhide__ = True
    asked = find_level(level) if within is None else bounded(find_level(level), within)
    path = _path(trace)
    read = trace if isinstance(trace, Trace) else read_trace(path)
    verdict = check(read, asked, modules=modules, timeout=timeout)
    if verdict.valid:
        return verdict
    if not verdict.invalid:
        raise AssertionError(f"it is not known whether this is {verdict.level.title}: {verdict.reason}")
    assert verdict.counterexample is not None
    lines = [f"this is not {verdict.title}:", *verdict.counterexample.lines()]
    lines += ["", f"report: {_reported(verdict, path, report)}"]
    raise AssertionError("\n".join(lines))


def _path(trace: Trace | Recorded | str | os.PathLike[str]) -> str:
    """Where the trace is; nothing, if it is in memory only."""
    if isinstance(trace, Trace):
        return ""
    return os.fspath(trace if isinstance(trace, str | os.PathLike) else trace.folder)


def _reported(verdict: Verdict, trace: str, file: str | os.PathLike[str] | None) -> str:
    """The path of the report; or why there is none, for the story is worth more than the page."""
    if file is None:
        handle, file = tempfile.mkstemp(prefix="isolation-", suffix=".html")
        os.close(handle)
    from boomslang.report import write_report  # what draws pages is not loaded where all is well

    try:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        write_report(verdict, file, trace_path=trace)
    except OSError as problem:
        return f"none ({problem})"
    return os.fspath(file)
