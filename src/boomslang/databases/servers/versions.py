"""Version numbers: which one is meant by `15`, which come near one that there is not, and which lie between two.

Registries number their packages a little otherwise than the servers in them: PostgreSQL 12.3 is `12.3.0` on Maven
Central, `16.1` is `16.1.1-beta.9` on npm. What is asked for is a beginning: `15` is any 15, and `15.3` not 15.30.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from boomslang.errors import UsageError

NEAR = 6
"""How many versions an error lists."""


def numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, without what follows them (`-beta.9`)."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def fits(found: str, asked: str) -> bool:
    """Is this version the one that was asked for, or one of those?"""
    return found == asked or re.match(rf"{re.escape(asked)}[.\-]", found) is not None


def newest(versions: Iterable[str]) -> str:
    return max(versions, key=numbers)


def near(asked: str, known: Sequence[str]) -> str:
    """The versions next to one that is not there, in words."""
    if not known:
        return "it has none"
    wanted = numbers(asked)
    ordered = sorted(set(known), key=lambda each: (numbers(each), each))
    place = sum(numbers(each) < wanted for each in ordered)
    first = min(max(0, place - NEAR // 2), max(0, len(ordered) - NEAR))
    return f"near ones are {', '.join(ordered[first : first + NEAR])}"


def between(versions: Iterable[str], first: str, last: str) -> list[str]:
    """Those from one to another, both included, from old to new. The end `12` takes in all of 12."""
    low, high = numbers(first), numbers(last)
    if not low or not high:
        raise UsageError(f"found the versions {first}..{last}; expected two, as in 12.0..12.6")
    inside = [each for each in versions if low <= numbers(each) and numbers(each)[: len(high)] <= high]
    return sorted(set(inside), key=numbers)
