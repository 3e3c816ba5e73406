"""Jepsen's and Elle's histories in JSON, as elle-cli reads them: one array of objects. See jepsen.py.

One object a line, without the array, is read too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from boomslang.trace.formats import jepsen
from boomslang.trace.formats.format import Format, Loss, Sample
from boomslang.trace.model import Trace

TITLE = "Jepsen and Elle histories in JSON"
BEGINS = re.compile(r"\s*\[?\s*\{")
TYPE = re.compile(r'"type"\s*:\s*"(?:invoke|ok|fail|info)"')
MORE = re.compile(r'"(?:value|process)"\s*:')
OURS = re.compile(r'"op"\s*:\s*"')  # boomslang's own JSON Lines, whose hints may hold anything


def recognise(sample: Sample) -> bool:
    text = sample.text
    return bool(BEGINS.match(text) and TYPE.search(text) and MORE.search(text)) and not OURS.search(text)


def read(path: Path, check: Callable[[], None]) -> Trace:
    return jepsen.read("jepsen-json", path, check)


def losses(trace: Trace) -> list[Loss]:
    return jepsen.plan(trace, TITLE).losses


SPELLING = jepsen.Spelling(
    names={kind: f'"{name}"' for kind, name in jepsen.NAMES.items()},
    separator=",",
    nothing="null",
    keyword=lambda text: False,
)


def write(trace: Trace, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        before = "["
        for line in jepsen.lines(jepsen.plan(trace, TITLE), SPELLING, _line):
            file.write(before + line)
            before = ",\n"
        file.write("]\n" if before != "[" else "[]\n")


def _line(index: int, kind: str, process: str | None, time: int | None, value: str) -> str:
    who = "" if process is None else f'"process":{process},'
    when = "" if time is None else f'"time":{time},'
    return f'{{"index":{index},"type":"{kind}",{who}{when}"f":"txn","value":{value}}}'


FORMAT = Format(
    "jepsen-json", TITLE, recognise, read, losses, write, sign='JSON objects with "type" and "value"'
)
