"""A clock of its own for one server: what it takes for the time of day is moved, and nobody else's is.

A process cannot have another wall clock than its machine (Linux' time namespaces move the monotonic clock and the time
since boot, not this one). But a program that asks the C library what time it is can be given another answer: Debian's
package `faketime` brings a library that is loaded before the others and reads from a file by how much it is to lie.
Only the time of day is moved: a monotonic clock that jumps is one that no machine has.

That works for what is linked with the C library: PostgreSQL, MariaDB. etcd, as all that is written in Go, asks the
kernel directly, and cannot be lied to in this way.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from boomslang.databases.servers.packages import ServerMissing

LIBRARY = "libfaketimeMT.so.1"
PLACES = ("/usr/lib/*/faketime", "/usr/lib/faketime", "/usr/lib64/faketime", "/usr/local/lib/faketime")


def find_library() -> Path:
    """The library that lies about the time."""
    for place in PLACES:
        for found in sorted(Path("/").glob(f"{place[1:]}/{LIBRARY}")):
            return found
    raise ServerMissing(
        f"to move a server's clock {LIBRARY} is needed, and was not found: apt install faketime"
    )


class MovedClock:
    """By how much a server's clock is off: a file that it reads whenever it asks for the time."""

    def __init__(self, folder: Path) -> None:
        self._library = find_library()
        self.file = folder / "clock"
        self.move(0.0)

    def move(self, seconds: float) -> None:
        made = self.file.with_suffix(".new")
        made.write_text(f"{seconds:+.3f}s\n")
        made.chmod(0o644)
        made.replace(self.file)

    def environment(self) -> Mapping[str, str]:
        return {
            "LD_PRELOAD": str(self._library),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
