"""The faults that a run made, for the timelines of its report: what happened to which node while transactions ran.

`boomslang run` writes them beside the trace, in `run.json`, with times of the clock that the sessions were recorded by.
A trace of another origin has none.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from boomslang.report.values import clipped

ABOUT = "run.json"
MOST = 50
"""That one timeline shows."""

Json = dict[str, Any]


def faults_of(path: str) -> list[Json]:
    """Those of a trace's folder: `what`, `from` and `to` in nanoseconds of `clock`."""
    try:
        told = json.loads((Path(path) / ABOUT).read_text(encoding="utf-8"))
        found = [
            {
                "what": str(each["what"]),
                "clock": str(each["clock"]),
                "from": int(each["from"]),
                "to": int(each["to"]),
            }
            for each in told["fault_times"]
        ]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return found


def faults_beside(faults: list[Json], story: Json) -> list[Json]:
    """Those that were going on while the transactions of a story ran, in times of its axis."""
    axis = story["axis"]
    if axis["kind"] != "time" or axis["unit"] != "ns":
        return []
    shown = [*story["transactions"], *story["neighbours"]]
    first, last = min(t["from"] for t in shown), max(t["to"] for t in shown)
    base = axis["base"]
    return [
        {"what": each["what"], "from": each["from"] - base, "to": each["to"] - base}
        for each in faults
        if clipped(each["clock"]) == axis["clock"]
        and each["from"] - base <= last
        and each["to"] - base >= first
    ][:MOST]
