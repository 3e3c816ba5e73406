"""How a watch is doing: a few lines that stay in place on a terminal, and elsewhere a line now and then.

For programs (`--json`) it is a line of JSON now and then, and the answer is the last one.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from boomslang.cli.screen import Screen, console, escape, is_terminal

if TYPE_CHECKING:
    from rich.live import Live

    from boomslang.report.live import LivePage
    from boomslang.stream.tally import Status

EVERY = 5.0
"""Seconds between two lines where there is no terminal."""
MOST_NAMES = 5
USUAL = ("checking", "waiting for the recorder", "over")
"""Phases that need no word in a line of figures."""


def in_words(status: Status) -> str:
    """In a line."""
    parts = [
        f"{status.transactions:,} transactions hold {status.level}",
        f"{status.per_second:,.0f}/s",
        behind(status),
        f"{status.megabytes:,.0f} MB",
    ]
    if not status.committed and not status.transactions:
        parts = [status.phase]
    elif status.phase not in USUAL:
        parts.append(status.phase)
    if status.idle:
        parts.append(f"idle: {names(status.idle)}")
    if status.restarts:
        parts.append(_again(status))
    return f"{status.seconds:,.0f} s: " + ", ".join(parts)


def behind(status: Status) -> str:
    """How far, in time and in bytes."""
    parts = [] if status.lag is None else [f"{status.lag:,.1f} s"]
    if status.unread:
        parts.append(size(status.unread))
    return f"{' and '.join(parts) or 'nothing'} behind"


def size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 1e5 else f"{count / 1e3:,.1f} KB"


def names(idle: tuple[str, ...]) -> str:
    more = f" and {len(idle) - MOST_NAMES:,} more" if len(idle) > MOST_NAMES else ""
    return ", ".join(idle[:MOST_NAMES]) + more


def table(status: Status) -> list[tuple[str, str]]:
    """For a terminal: what, and how much."""
    rows = [
        (status.level, f"{status.transactions:,} transactions so far, {status.per_second:,.0f}/s"),
        ("recorded", f"{_rate(status.committed, status.commits_per_second, 'committed')}, "
                     f"{_rate(status.aborted, status.aborts_per_second, 'aborted')}"),
        ("behind", f"{behind(status)}; {status.held:,} transactions are not decided yet"),
        ("windows", f"{status.windows:,}, {status.joins:,} joined; {status.keys:,} keys; "
                    f"{status.megabytes:,.0f} MB of memory"),
    ]  # fmt: skip
    if status.latency is not None:
        each = (f"{seconds * 1e3:,.1f} ms" for seconds in status.latency)
        rows.append(("latency", "median {}, 95 %: {}, 99 %: {}".format(*each)))
    if status.lost:
        rows.append(("unknown", f"{status.lost:,} transactions of unknown outcome that nobody has read from"))
    if status.open:
        rows.append(
            ("open", f"{status.open:,} keys: several wrote one at once, and nobody has read it since")
        )
    if status.deleted:
        rows.append(("deleted", f"{size(status.deleted)} that were checked"))
    if status.idle:
        rows.append(("idle", f"{names(status.idle)}: not waited for"))
    if status.restarts:
        rows.append(("again", _again(status)))
    return rows


def _again(status: Status) -> str:
    return f"read again from the beginning {status.restarts} time{'s' * (status.restarts > 1)}"


def _rate(count: int, each: float, what: str) -> str:
    return f"{count:,} {what} ({each:,.0f}/s)"


@contextmanager
def page_of(port: int | None, title: str, screen: Screen) -> Iterator[LivePage | None]:
    """The page, if one was asked for."""
    if port is None:
        yield None
        return
    from boomslang.report.live import LivePage

    with LivePage(port, title) as page:
        screen.note(f"page: {page.address}")
        yield page


class LiveStatus:
    """Shows a status again and again, while the watch goes on."""

    def __init__(
        self,
        screen: Screen,
        *,
        json_lines: bool = False,
        quiet: bool = False,
        every: float = EVERY,
        page: LivePage | None = None,
    ) -> None:
        self.page = page
        self.screen, self.json_lines, self.quiet, self.every = screen, json_lines, quiet, every
        self._live: Live | None = None
        self._said = time.monotonic()
        self._line: Callable[[Status], None] = self._json if json_lines else self._plain

    def __enter__(self) -> LiveStatus:
        if not self.json_lines and not self.quiet and is_terminal(sys.stderr):
            from rich.live import Live

            self._live = Live(console=console(sys.stderr), transient=True, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, status: Status) -> None:
        if self.page is not None:
            self.page.show(status)
        if self._live is not None:
            self._live.update(_drawn(status), refresh=True)
        elif not self.quiet and time.monotonic() - self._said >= self.every:
            self._said = time.monotonic()
            self._line(status)

    def _plain(self, status: Status) -> None:
        self.screen.note(in_words(status))

    def _json(self, status: Status) -> None:
        self.screen.json_line(json.dumps({"watch": status.to_json()}))
        self.screen.flush()


def _drawn(status: Status) -> Any:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_row(Text(f"{status.seconds:,.0f} s", "bold"), Text(status.phase, "bold"))
    for name, value in table(status):
        grid.add_row(Text(escape(name), "dim"), Text(escape(value)))
    return grid
