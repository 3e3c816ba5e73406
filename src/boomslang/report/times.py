"""When things happened, as numbers to draw by.

By the clock if all transactions have times of one clock; else by the line if one file holds them all in order; else
nothing is known but the order inside a session, and the lanes are not aligned.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from boomslang.report.transaction_summary import Glance
from boomslang.report.values import clipped
from boomslang.trace.model import NO_TIME, Trace

Json = dict[str, Any]
_RECORDED = re.compile(
    r".+/(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:/\d+)?|\d+-[0-9a-f]{16})", re.DOTALL
)
"""What our recorder calls a clock (record/tracer.py). Its times are nanoseconds; old ones did not say so."""
_PART = 0.8
"""How much of its line an operation takes."""


class Axis:
    """What the timeline of these transactions is drawn by."""

    def __init__(self, trace: Trace, views: Iterable[Glance]) -> None:
        self.trace = trace
        views = list(views)
        self.kind = "none"
        self.clock = ""
        self.base = 0
        if views and all(v.begin is not None and v.clock == views[0].clock for v in views):
            self.kind = "time"
            self.clock = views[0].clock
            self.base = min(v.begin for v in views if v.begin is not None)
        elif (
            views
            and len({int(trace.txn_file[v.index]) for v in views}) == 1
            and all(map(self._in_line, views))
        ):
            self.kind = "line"
        self._next: dict[object, int] = {}

    def to_json(self) -> Json:
        word = "line" if any(self.trace.files) else "event"
        unit = None
        if self.kind == "time":
            unit = self.trace.unit or ("ns" if _RECORDED.fullmatch(self.clock) else None)
        clock = clipped(self.clock) if self.clock else None
        return {"kind": self.kind, "clock": clock, "word": word, "unit": unit, "base": self.base}

    def fits(self, view: Glance) -> bool:
        """Could this one be drawn beside the others?"""
        if self.kind == "time":
            return view.begin is not None and view.clock == self.clock
        return self.kind == "none" or self._in_line(view)

    def _in_line(self, view: Glance) -> bool:
        lines = self._lines(view)
        return all(a < b for a, b in pairwise(lines))

    def _lines(self, view: Glance) -> list[int]:
        t = view.index
        rows = self.trace.op_line[view.rows.start : view.rows.stop].tolist()
        end = int(self.trace.txn_end_line[t])
        return [int(self.trace.txn_begin_line[t]), *rows, *([end] if end else [])]

    def place(self, view: Glance, made: Json) -> None:
        """Adds `from` and `to` to a transaction and to those of its operations that are shown."""
        begin, spans, end = getattr(self, f"_{self.kind}")(view)
        made["from"], made["to"] = begin, end
        for operation in made["operations"]:
            operation["from"], operation["to"] = spans[operation["id"] - view.rows.start]

    def _time(self, view: Glance) -> tuple[float, list[tuple[float, float]], float]:
        here = slice(view.rows.start, view.rows.stop)
        columns = [
            None if c is None else c[here].tolist() for c in (self.trace.op_invoke, self.trace.op_return)
        ]
        invoked, returned = ([NO_TIME] * len(view.rows) if c is None else c for c in columns)
        times = [time for pair in zip(invoked, returned, strict=True) for time in pair]
        events = [view.begin, *(None if time == NO_TIME else time for time in times)]
        known = _between([None if e is None else e - self.base for e in [*events, view.end]])
        spans = [(known[i], known[i + 1]) for i in range(1, len(known) - 1, 2)]
        return known[0], spans, known[-1]

    def _line(self, view: Glance) -> tuple[float, list[tuple[float, float]], float]:
        lines = self._lines(view)
        rows = lines[1 : 1 + len(view.rows)]
        return lines[0], [(line, line + _PART) for line in rows], max(lines[-1], (rows or [0])[-1] + 1)

    def _none(self, view: Glance) -> tuple[float, list[tuple[float, float]], float]:
        lane: object = ("alone", view.index) if view.session is None else view.session
        begin = self._next.get(lane, 0)
        end = begin + len(view.rows) + 1
        self._next[lane] = end + 1
        return begin, [(begin + i + 0.2, begin + i + 1) for i in range(len(view.rows))], end


def _between(events: list[int | None]) -> list[float]:
    """The events, with what is not known spread evenly between what is, or put beside the last that is."""
    known = {i: float(event) for i, event in enumerate(events) if event is not None}
    spread: list[float] = np.interp(range(len(events)), list(known), list(known.values())).tolist()
    return spread
