"""Which tables a trigger may touch, from its text: those that it names; all, if it could name them at run time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from boomslang.record.sql.schema import EVERYTHING, Reach

DYNAMIC = re.compile(r"\b(execute|prepare|call|perform|dblink)\b", re.IGNORECASE)


def named_in(body: str | None, tables: Iterable[str], routines: Iterable[str] = ()) -> Iterator[Reach]:
    if body is None or DYNAMIC.search(body):
        yield Reach(EVERYTHING)
        return
    words = {word.lower() for word in re.findall(r"\w+", body)}
    if any(routine.lower() in words for routine in routines):
        yield Reach(EVERYTHING)
        return
    for table in tables:
        if set(re.findall(r"\w+", table.lower())) <= words:
            yield Reach(table)
