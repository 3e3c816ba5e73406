"""Where an embedded database keeps its files: where it was told to, or in a temporary folder that goes when it closes.

An adapter is called with what follows its name on the command line: `sqlite:shop.db`, `sqlite:shop.db?journal=delete`,
`sqlite:?timeout=0.1`, or nothing. A path that was given is kept, and only what Boomslang made there is ever emptied: a
table of its own in a file, a folder of its own in a folder.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl

from boomslang.databases.claims import Release, claim_file
from boomslang.databases.database import DriverMissing
from boomslang.errors import UsageError
from boomslang.extras import how_to_install


class Place:
    """A path, and who has to clean it up: the process that made it, and none that it was sent to."""

    def __init__(self, path: str, name: str) -> None:
        """`name` is what the file or folder is called in a temporary folder."""
        self._temporary = None if path else tempfile.mkdtemp(prefix=f"boomslang-{Path(name).stem}-")
        self._maker = os.getpid()
        self.path = Path(path).expanduser() if self._temporary is None else Path(self._temporary) / name

    def claim(self, title: str) -> Release | None:
        """Keep others' runs from it; none can come to a temporary folder."""
        return claim_file(title, self.path.absolute()) if self._temporary is None else None

    def remove(self) -> None:
        """Removes a temporary folder; leaves what was given."""
        if self._temporary is not None and self._maker == os.getpid():
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None


def split_argument(database: str, argument: str, defaults: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Path and options of an argument such as `shop.db?journal=delete`."""
    path, _, query = argument.partition("?")
    options = dict(defaults)
    for key, value in parse_qsl(query, keep_blank_values=True):
        if key not in defaults:
            known = ", ".join(defaults) or "none"
            raise UsageError(f"{database} has no option {key!r}; it has {known}")
        options[key] = value
    return path, options


def one_of(database: str, option: str, found: str, known: tuple[str, ...]) -> str:
    """An option's value, if it is one of those known."""
    if found not in known:
        raise UsageError(f"found {option}={found!r} for {database}; expected one of {', '.join(known)}")
    return found


def seconds(database: str, option: str, found: str) -> float:
    """An option's value in seconds."""
    try:
        value = float(found)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 3600:
        raise UsageError(f"found {option}={found!r} for {database}; expected seconds, from 0 to 3600")
    return value


def missing(database: str, extra: str, error: ImportError) -> DriverMissing:
    """The error that says what to install."""
    return DriverMissing(f"{database} needs a driver ({error}); install it with: {how_to_install(extra)}")
