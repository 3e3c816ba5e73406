"""A file whose reading has begun before anybody could ask for it.

Until the command has imported what answers (NumPy most of all), a quarter of a second goes by in which one core is busy
with that and the others have nothing to do: as much as reading three hundred megabytes takes. So the command line is
looked at first, and if it names one long file of our own lines, native threads start to read it; `formats.jsonl` takes
over what they have when it is asked for that file. Nothing is decided here: whatever does not look quite usual is left
to those who come later, and a file that gives trouble is read again by whoever can say what is wrong with it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from itertools import pairwise

from boomslang.cores import all_cores

TYPE_CHECKING = False  # what is imported here, a long trace waits for
if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

LEAST, MOST = 16 << 20, 2 << 30
"""Bytes. Shorter files are read in a moment; longer ones may go by, window by window, and are never read as a whole."""
OTHERWISE = ("--memory", "--stream", "--on", "--format", "--encoding", "--window")
"""Options with which a trace is read otherwise, or perhaps not at all."""


class Begun:
    """One file, and the thread that reads it until somebody else goes on."""

    def __init__(self, path: str, jobs: int) -> None:
        from boomslang.trace._reader import Reader

        self.path, self.jobs = path, jobs
        self.file: BinaryIO = open(path, "rb", buffering=0)  # noqa: SIM115, PTH123 - for whoever goes on
        self.trouble = os.pread(self.file.fileno(), 1, 0) != b"{"
        self.reader = Reader(jobs)
        self.reader.begin_file(path, None)
        self._thread = threading.Thread(target=self._read, name="boomslang-begun", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            if not self.trouble:
                self.reader.read_on(self.file.fileno())
        except Exception:  # told by whoever reads it again
            self.trouble = True

    def stop(self) -> None:
        """After this nobody reads."""
        self.reader.stop()
        self._thread.join()

    def forget(self) -> None:
        """What was read, and then the file, from which threads of the reader may still read."""
        del self.reader
        self.file.close()


_begun: Begun | None = None


def begin(words: Sequence[str]) -> None:
    """Starts to read the trace that these words of a command line name, if it is clear which one that is, and if there
    is a second core."""
    global _begun
    options = {word.partition("=")[0] for word in words if word.startswith("--")}
    jobs = all_cores()
    if "--jobs" in options:
        said = dict(pairwise(word for whole in words for word in whole.split("=", 1))).get("--jobs", "")
        jobs = int(said) if said.isdecimal() and len(said) < 4 else 1
    if min(jobs, all_cores()) < 2 or not options.isdisjoint(OTHERWISE):
        return
    named = [word for word in words if word.endswith(".jsonl") and os.path.isfile(word)]  # noqa: PTH113
    # One that is spelled as its messages will spell it.
    if len(named) != 1 or not named[0].isprintable() or not _is_plain(named[0]):
        return
    try:
        if LEAST <= os.stat(named[0]).st_size <= MOST:  # noqa: PTH116
            _begun = Begun(named[0], jobs)
    except OSError:
        return  # told by whoever opens it again


def _is_plain(path: str) -> bool:
    """Would `Path` spell it so, too?"""
    parts = path.split("/")
    return os.sep == "/" and "." not in parts and "" not in parts[1:] and parts != [""]


def taken(path: Path, jobs: int) -> Begun | None:
    """What has begun of this file, for the caller to go on with, and to close; once."""
    global _begun
    begun, _begun = _begun, None
    if begun is None:
        return None
    begun.stop()
    try:
        same = str(path) == begun.path and os.path.samestat(path.stat(), os.fstat(begun.file.fileno()))
        if same and not begun.trouble and begun.jobs == jobs:
            return begun
    except OSError:
        pass
    begun.forget()
    return None


def given_up() -> None:
    """Nobody will go on with what has begun."""
    global _begun
    begun, _begun = _begun, None
    if begun is not None:
        begun.stop()
        begun.forget()
