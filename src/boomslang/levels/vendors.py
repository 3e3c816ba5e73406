"""Vendors' levels by their own names: `mariadb-repeatable-read` is snapshot isolation with the module that says what
MariaDB does otherwise. Such a name is a whole question, so it is taken apart before the question is asked.
"""

from __future__ import annotations

from boomslang.errors import UsageError
from boomslang.levels.catalog import normal_name
from boomslang.levels.names import VENDORS, Vendors


def vendors_level(name: object) -> Vendors | None:
    """What is meant, if it is a vendor's name for a level."""
    if not isinstance(name, str):
        return None
    wanted = normal_name(name)
    return next((v for v in VENDORS if wanted in {normal_name(other) for other in v.names}), None)


def taken_apart(names: list[str], modules: list[str]) -> tuple[list[str], list[str]]:
    """The levels and modules of a question, with ours in place of the vendors'."""
    found = {name: meant for name in names if (meant := vendors_level(name)) is not None}
    if any(meant.modules for meant in found.values()) and len(set(names)) > 1:
        first = next(name for name, meant in found.items() if meant.modules)
        raise UsageError(
            f"{first} is a level with a module of its own, which the other levels would get too; ask for it alone"
        )
    more = [m for meant in found.values() for m in meant.modules if not _has(modules, m)]
    return [found[name].level if name in found else name for name in names], [*modules, *more]


def _has(modules: list[str], wanted: str) -> bool:
    """With parameters or without."""
    return any(m.partition(":")[0] == wanted for m in modules)
