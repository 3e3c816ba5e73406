"""A hunt, as it is compared: the document that it ends with (`hunt.json` in its folder, or what `--json` printed).

The document may be anybody's, so whatever it lacks or has in another form is an error that says so.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from boomslang.compare.of_a_trace import ANOMALIES, settings_of
from boomslang.compare.side import Answered, Figure, Side
from boomslang.errors import UsageError
from boomslang.levels import find_level
from boomslang.verdict import INVALID, UNKNOWN, VALID

DOCUMENT = "hunt.json"
LARGEST = 200_000_000
"""Bytes of a document that is read."""
NAMELESS = "an anomaly without a name"

Json = dict[str, Any]


def hunt_file(path: str) -> Path | None:
    """The document of the hunt that lies there; None if none does."""
    place = Path(path)
    if place.is_dir():
        inside = place / DOCUMENT
        return inside if inside.is_file() else None
    try:
        with place.open("rb") as file:
            beginning = file.read(4096)
    except OSError:
        return None
    # A trace is a line of JSON after the other; a hunt's document is one object over many lines, with these names.
    return (
        place
        if beginning.lstrip()[:1] == b"{" and b'"boomslang"' in beginning and b'"asked"' in beginning
        else None
    )


def side_of_hunt(path: str, file: Path) -> Side:
    if file.stat().st_size > LARGEST:
        raise UsageError(
            f"{file}: found {file.stat().st_size:,} bytes; expected the document of a hunt, which is smaller"
        )
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
        return _side(path, told)
    except UsageError as problem:  # a level that nobody knows
        raise UsageError(f"{file}: {problem}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise UsageError(
            f"{file}: found {_what(problem)}; expected what `boomslang hunt --json` prints, or the "
            f"{DOCUMENT} of a hunt's folder"
        ) from None


def _what(problem: Exception) -> str:
    return f"no {problem.args[0]!r}" if isinstance(problem, KeyError) else "something else"


def _side(path: str, told: Json) -> Side:
    tried = [_tried(each) for each in told["tried"]]
    seconds = sum(each[2] for each in tried) or 1e-9
    commits, aborts = sum(each[0] for each in tried), sum(each[1] for each in tried)
    near = [each[4] for each in tried if each[4] is not None]
    near_seconds = sum(each[2] for each in tried if each[4] is not None) or 1e-9
    broken, unknown = list(told["invalid"]), list(told["unknown"])
    names = [str(each["reason"] or NAMELESS) for each in broken]
    found: dict[Figure, float] = {
        Figure("runs"): int(told["runs"]),
        Figure("runs that broke the level", "", -1): len(broken),
        Figure("runs of which nothing is known", "", -1): len(unknown),
        Figure("time", "s"): float(told["seconds"]),
        Figure("commits in runs that were checked"): int(told["committed"]),
    }
    if tried:  # a hunt on a cluster tells no run by itself
        found[Figure("commits a second", "", 1)] = commits / seconds
        found[Figure("aborts a second", "", -1)] = aborts / seconds
        found[Figure("aborted, of all", "%", -1)] = aborts / max(1, commits + aborts)
    if near:
        found[Figure("near misses a second")] = sum(near) / near_seconds
    first = next((n for n, each in enumerate(tried) if each[3] == INVALID), None)
    if first is not None:
        found[Figure("commits until the first violation")] = sum(each[0] for each in tried[: first + 1])
    status = INVALID if broken else UNKNOWN if unknown and not told["valid"] else VALID
    reason = ", ".join(dict.fromkeys(names)) if broken else "" if status == UNKNOWN else "no violation found"
    return Side(
        path, "hunt", settings_of(told), found,
        {find_level(str(told["asked"])).title: Answered(status, reason)}, {ANOMALIES: set(names)},
        runs=[(each[0] / max(each[2], 0.1), each[1] / max(each[2], 0.1), each[3]) for each in tried],
        notes=[str(problem) for problem in told["problems"]],
    )  # fmt: skip


def _tried(each: Json) -> tuple[int, int, float, str, float | None]:
    """Of one run: commits, aborts, seconds, the answer, and near misses."""
    run, near = each["run"], each["near_misses"]
    return (
        int(run["committed"]), int(run["aborted"]), float(run["seconds"]), str(each["status"]),
        None if near is None else float(near["dangerous"]),
    )  # fmt: skip
