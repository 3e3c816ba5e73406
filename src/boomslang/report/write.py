"""Writing a report. The file is there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, cast

import boomslang
from boomslang.errors import UsageError
from boomslang.explain.counterexample import Counterexample
from boomslang.report.contents import contents
from boomslang.report.page import make_page
from boomslang.report.values import printable
from boomslang.storage import is_address, located
from boomslang.verdict import Verdict

LINES = 60
"""Of an argument, for whoever runs no scripts."""


def render_report(
    verdicts: Verdict | Sequence[Verdict],
    *,
    trace_path: str = "",
    about: Mapping[str, str] | None = None,
    load_seconds: float | None = None,
) -> str:
    """The report of verdicts on one trace, as HTML. `about` says what else is worth knowing: a database, a seed."""
    several = [verdicts] if isinstance(verdicts, Verdict) else list(verdicts)
    if not several:
        raise UsageError("found no verdict to report; expected at least one")
    if any(v.trace is not several[0].trace for v in several):
        raise UsageError("found verdicts on several traces; expected one report for each trace")
    data = contents(several, trace_path, dict(about or {}), load_seconds)
    name = data["path"] or "a trace"
    plain = [f"{name}: {data['size']}"]
    for v in several:
        plain += ["", f"{v.level.title}: {v.status}{f' ({v.reason})' if v.reason else ''}"]
        if v.counterexample is not None:
            plain += _story(v.counterexample)
    title = f"{data['headline']} · {name} · Boomslang"
    return make_page(data, title, "\n".join(map(printable, plain)), f"Boomslang {boomslang.__version__}")


def _story(found: Counterexample) -> list[str]:
    """The story in words."""
    if found.likely is not None or found.proved is not None:
        return list(found.lines())
    name = (
        []
        if found.anomaly is None
        else [f"{found.anomaly.code} ({found.anomaly.name}): {found.anomaly.meaning}"]
    )
    told = [] if found.argument is None else list(islice(found.argument.lines(), LINES + 1))
    return [*name, *(told if len(told) <= LINES else [*told[:LINES], "..."])]


def write_report(
    verdicts: Verdict | Sequence[Verdict],
    path: str | os.PathLike[str],
    *,
    trace_path: str = "",
    about: Mapping[str, str] | None = None,
    load_seconds: float | None = None,
) -> Path:
    """Writes the report of verdicts on one trace to a file, and returns its path."""
    target = located(path)
    page = render_report(verdicts, trace_path=trace_path, about=about, load_seconds=load_seconds)
    if is_address(target):
        cast(Any, target).write_pieces([page])
        return target
    if target.exists() and not target.is_file():  # a pipe or a device: nothing to move over
        target.write_text(page, encoding="utf-8")
        return target
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        temporary.write_text(page, encoding="utf-8")
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return target
