"""Names of a package that are loaded when they are first used (PEP 562).

A package's `__init__` says what it offers, and importing all of it would make every command pay for every other one's
needs: a check of two transactions would load the recorder, the printer and thirteen formats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from sys import modules

TYPE_CHECKING = False  # as in boomslang/__init__.py
if TYPE_CHECKING:
    from typing import Any


def lazily(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names live in these modules (names apart by spaces)."""
    home = {name: f"{package}.{module}" for module, names in homes.items() for name in names.split()}

    def __getattr__(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(home[name]), name)
        setattr(modules[package], name, value)
        return value

    def __dir__() -> list[str]:
        return sorted({*vars(modules[package]), *home})

    return __getattr__, __dir__
