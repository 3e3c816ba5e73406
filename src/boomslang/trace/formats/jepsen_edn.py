"""Jepsen's and Elle's histories in EDN, as Jepsen writes them: one map a line. See jepsen.py."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from boomslang.trace.formats import jepsen
from boomslang.trace.formats.format import Format, Loss, Sample
from boomslang.trace.model import Trace

TITLE = "Jepsen and Elle histories in EDN"
BEGINS = re.compile(r"(?:[\s,]|;[^\n]*(?:\n|$))*[\[(]?(?:[\s,]|;[^\n]*(?:\n|$))*(?:#[\w.$/-]+\s*)?\{\s*:")
TYPE = re.compile(r":type[\s,]+:(?:invoke|ok|fail|info)\b")
MORE = re.compile(r":(?:value|process)[\s,]")


def recognise(sample: Sample) -> bool:
    text = sample.text
    return bool(BEGINS.match(text) and TYPE.search(text) and MORE.search(text))


def read(path: Path, check: Callable[[], None]) -> Trace:
    return jepsen.read("jepsen-edn", path, check)


def losses(trace: Trace) -> list[Loss]:
    return jepsen.plan(trace, TITLE).losses


SPELLING = jepsen.Spelling(
    names={kind: f":{name}" for kind, name in jepsen.NAMES.items()},
    separator=" ",
    nothing="nil",
    keyword=lambda text: bool(jepsen.KEYWORD.fullmatch(text)),
)


def write(trace: Trace, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(jepsen.lines(jepsen.plan(trace, TITLE), SPELLING, _line))


def _line(index: int, kind: str, process: str | None, time: int | None, value: str) -> str:
    who = "" if process is None else f", :process {process}"
    when = "" if time is None else f", :time {time}"
    return f"{{:index {index}, :type :{kind}{who}{when}, :f :txn, :value {value}}}\n"


FORMAT = Format("jepsen-edn", TITLE, recognise, read, losses, write, sign="EDN maps with :type and :value")
