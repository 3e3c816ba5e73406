"""How the writers of all formats spell things: scalars in their files, and numbers of things in their losses."""

from __future__ import annotations

from itertools import pairwise

from boomslang.trace.scalars import Scalars


def texts(table: Scalars) -> list[str]:
    """Of each integer its digits, of each string itself; of others, which nobody writes so, something."""
    data, offset = table.data.tobytes(), table.offset.tolist()
    return [data[a:b].decode(errors="replace") for a, b in pairwise(offset)]


def counted(number: int, one: str, many: str = "") -> str:
    """ "1 delete", "2,000 deletes"."""
    return f"{number:,} {one}" if number == 1 else f"{number:,} {many or one + 's'}"
