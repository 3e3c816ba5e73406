"""Where servers that were fetched are kept: once a machine, whoever asks for them first.

The folder is BOOMSLANG_SERVERS, or one inside the Python environment (so that removing `.venv` removes them), or, where
that cannot be written, one in the user's cache. What is fetched is made in a folder beside its place and then moved
there, under a lock: two test processes that want the same server at the same time fetch it once, and a half-made one is
never found.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_folder() -> Path:
    if given := os.environ.get("BOOMSLANG_SERVERS"):
        folder = Path(given).absolute()
    else:
        folder = Path(sys.prefix) / "share" / "boomslang" / "servers"
        existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
        if not os.access(existing, os.W_OK):
            home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
            folder = Path(home).expanduser() / "boomslang" / "servers"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def cached(name: str, make: Callable[[Path], None] | None) -> Path | None:
    """A folder of the cache; if it is not there yet, `make` fills it. None if it is not there and nothing is to be
    made."""
    home = cache_folder()
    place = home / name
    if place.is_dir():
        return place
    if make is None:
        return None
    with locked(home / f".{name}.lock"):
        if not place.is_dir():
            half_made = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=home))
            try:
                make(half_made)
                half_made.chmod(0o755)  # a server that is not to run as root must get in
                half_made.rename(place)
            finally:
                shutil.rmtree(half_made, ignore_errors=True)
    return place
