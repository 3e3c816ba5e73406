"""Files that are still being written: read as far as they have come, and looked at again.

A recorder appends whole lines (record/session.py), so a file that grows is read up to its last newline; what stands
after that waits. A recorder that could not write a whole line takes its beginning back, so that part is looked at
anew each time. What must not happen is that something else than appending goes unnoticed: a file that became shorter
than what was read of it, that another one took the place of, or that is gone, ends the watch with an error. Nothing
is kept open between two looks: a folder may have thousands of sessions.

Nobody can see from a file whether more will come. Whoever knows that the recorder has ended says so (`end`). Before
that, a file that has not grown for a stated time is *idle*: it is no longer waited for, and it may come back.

A file that appears later tells of later things only: it was not there when the folder was last looked at, which was
after all that is known by then was read. A session may go on in another file (its header names the session, if the
file does not): then nothing is added to those before, and they may be deleted when they are checked (keep.py).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import cast

from boomslang.record.rules import STATE
from boomslang.trace.blocks import LONGEST_LINE, Block, Blocks, Files, FileSource, Source
from boomslang.trace.errors import TraceError
from boomslang.trace.files import natural_order, opened, refuse_strange, shown, without_mark
from boomslang.trace.formats.jsonl import is_called_so, session_of
from boomslang.trace.model import NO_TIME
from boomslang.trace.packed import START, packing_of
from boomslang.trace.packed import SUFFIXES as PACKED

IDLE = 5.0
"""Seconds without a line after which a session is not waited for."""
NAP = 0.05
"""Seconds between two looks at files that do not grow."""
LONGEST_HEADER = 1 << 16
"""Bytes of one that names a session."""
FIX = "fix: check what was recorded so far with `boomslang check`, and let only recorders write to the files"


class GrowingFile:
    """A `Source` that somebody else appends to."""

    def __init__(self, path: Path, session: str | None, now: float) -> None:
        self.path, self.name, self.session = path, shown(path), session
        self.done = self.idle = False
        self.size = 0
        """In bytes, when it was last looked at."""
        self.ended = False
        """Nobody writes to it any more."""
        self.left = False
        """Its session has gone on in another file."""
        self.deleted = False
        self.only_header = session is not None and path.name == STATE
        """It is done after its first line."""
        self._at = 0  # what is before was read
        self._seen = 0  # how far there was no whole line to read
        self._identity: tuple[int, int] | None = None
        self.grew = now
        """When that was last seen."""

    @property
    def unread(self) -> int:
        """Bytes that were not looked at yet."""
        return 0 if self.done else max(0, self.size - self._seen)

    def look(self, now: float, patience: float) -> None:
        """How long is it now? Raises if something happened to it that no recorder does."""
        if self.done:
            return
        try:
            about = self.path.stat()
        except OSError as error:
            raise self._gone(error) from None
        self._same(about)
        if about.st_size != self.size:
            self.grew = now
            self.idle = False if about.st_size > self._seen else self.idle
        self.size = about.st_size
        if now - self.grew >= patience and not self.unread:
            self.idle = True

    def read(self, size: int) -> bytes:
        """Whole lines; once it has ended, also what is left of the last one."""
        with opened(self.path) as file:
            about = os.fstat(file.fileno())
            self._same(about)
            self.size = max(self.size, about.st_size)
            file.seek(self._at)
            got = b""
            while True:
                more = file.read(max(size, len(got)))
                got += more
                if b"\n" in more or not more or len(got) > LONGEST_LINE:
                    break
            over = not file.read(1)
        whole = got.rfind(b"\n") + 1
        self._seen = self._at + len(got)
        too_long = not whole and len(got) > LONGEST_LINE  # which is refused where it is parsed
        if (self.ended and over) or too_long:
            whole, self.done = len(got), True
        got = got[:whole]
        if not got:
            return got
        if self._at == 0:
            got = self._beginning(got)
        self._at += whole
        self.idle = False
        if self.only_header:
            self.done = True
        return got

    def delete(self) -> int:
        """From the disk: it is done, and nobody will ask for it. How many bytes that gave back."""
        self.path.unlink()
        self.deleted = True
        return self.size

    def _beginning(self, got: bytes) -> bytes:
        refuse_strange(got[:START], self.name)
        if packing_of(got[:START]) is not None:
            raise TraceError(
                "found a packed file; expected lines as a recorder writes them; fix: check it when it is finished",
                self.name,
            )
        return without_mark(got)

    def _same(self, about: os.stat_result) -> None:
        identity = (about.st_dev, about.st_ino)
        if self._identity is not None and self._identity != identity:
            raise TraceError(
                f"found another file in the place of the one that was read so far; expected one that only grows; {FIX}",
                self.name,
            )
        self._identity = identity
        if about.st_size < self._at:
            raise TraceError(
                f"found {about.st_size:,} bytes, after {self._at:,} had been read; expected a file that only grows; "
                f"{FIX}",
                self.name,
            )
        self._seen = min(self._seen, about.st_size)

    def _gone(self, error: OSError) -> TraceError:
        return TraceError(
            f"found that the file is gone ({error.strerror}), after {self._at:,} bytes of it had been read; expected "
            f"it to stay where it is; {FIX}",
            self.name,
        )


def told_session(path: Path) -> str:
    """The session that the header of a file names; nothing if it names none, or there is none yet."""
    try:
        with opened(path) as file:
            told = json.loads(file.readline(LONGEST_HEADER))
    except (OSError, ValueError, TraceError):
        return ""
    session = told.get("session") if isinstance(told, dict) and "boomslang" in told else None
    return session if isinstance(session, str) else ""


class GrowingFiles(Blocks):
    """The files of a trace that is being written: one log, or a folder in which sessions may appear."""

    def __init__(
        self,
        path: Path,
        *,
        idle: float = IDLE,
        jobs: int = 1,
        check: Callable[[], None] = lambda: None,
        seen: Callable[[Block, int], None] = lambda block, files: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__([], jobs=jobs, check=check)
        self.path, self.patience, self.seen = path, idle, seen
        """`seen` is shown every block that was made, and told how many files there are."""
        self.stop = stop
        """Does somebody say that the recorder has ended?"""
        self.ended = False
        self.newest = NO_TIME
        """The last moment of which anything was read."""
        self._before: list[int] = []
        self._known: set[str] = set()
        self._writes: dict[str, GrowingFile] = {}  # the file that a session writes to
        self._going: list[GrowingFile] = []  # that are not done
        self._stack = ExitStack()
        self.look()

    @property
    def done(self) -> bool:
        return self.ended and super().done

    @property
    def growing(self) -> list[GrowingFile]:
        """All but what is packed; not those that are done."""
        if any(source.done for source in self._going):
            self._going = [source for source in self._going if not source.done]
        return self._going

    @property
    def started(self) -> bool:
        """Has a session said anything? Then the initial state is told, too, which a recorder writes first."""
        return any(not isinstance(s, GrowingFile) or (s.size and not s.only_header) for s in self.sources)

    @property
    def unread(self) -> int:
        return sum(source.unread for source in self.growing)

    @property
    def ready(self) -> int:
        """Bytes that would be read now."""
        return sum(
            source.unread
            for f, source in enumerate(self.sources)
            if isinstance(source, GrowingFile) and f not in self.full
        )

    @property
    def idle(self) -> list[str]:
        """Sessions, or files, that nobody waits for."""
        return [source.session or source.name for source in self.growing if source.idle]

    def quiet(self, now: float) -> float:
        """Seconds since anything grew."""
        return now - max(
            (source.grew for source in self.sources if isinstance(source, GrowingFile)), default=now
        )

    def end(self) -> None:
        """Nobody writes any more: what is there now is all."""
        self.look()
        self.ended = True
        for source in self.growing:
            source.ended = True

    def once_more(self, stack: ExitStack) -> list[Source]:
        """The same files from their beginning to where they end by now, in the same order."""
        found: list[Source] = []
        for source in self.sources:
            if isinstance(source, GrowingFile):
                again = GrowingFile(source.path, source.session, 0.0)
                again.ended, again.done = True, source.deleted
                found.append(cast(Source, again))
            else:
                path = self.path / Path(source.name).name if self.path.is_dir() else self.path
                file = stack.enter_context(opened(path))
                found.append(cast(Source, FileSource(path, file, source.session)))
        return found

    @property
    def sessions(self) -> int:
        """Files, each session's once."""
        return sum(not (isinstance(source, GrowingFile) and source.left) for source in self.sources)

    @property
    def recorded(self) -> int:
        """Bytes in all."""
        return sum(s.size for s in self.sources if isinstance(s, GrowingFile) and not s.deleted)

    def close(self) -> None:
        self._stack.close()

    def look(self) -> None:
        """What is there now?"""
        if self.ended:
            return
        now = time.monotonic()
        for path in self._new():
            self._known.add(path.name)
            session = session_of(path) if self.path.is_dir() else None
            self._before.append(self.newest)
            if path.name.endswith(PACKED):
                file = self._stack.enter_context(opened(path))
                self.add(cast(Source, FileSource(path, file, session)))
            else:
                self._follow(
                    GrowingFile(path, session if session is None else told_session(path) or session, now)
                )
        for source in self.growing:
            source.look(now, self.patience)

    def _follow(self, source: GrowingFile) -> None:
        self.add(cast(Source, source))
        self._going.append(source)
        if source.session is None:
            return
        if (before := self._writes.get(source.session)) is not None:
            before.left = before.ended = True
        self._writes[source.session] = source

    def _new(self) -> list[Path]:
        if self.path.is_dir():
            with os.scandir(self.path) as entries:
                names = [entry.name for entry in entries if entry.name not in self._known]
            paths = [self.path / name for name in names]
            return sorted((p for p in paths if is_called_so(p) and p.is_file()), key=natural_order)
        return [self.path] if not self._known and self.path.is_file() else []

    def more(self, size: int, held: Files | None = None) -> Files:
        if not self.ended and self.stop():
            self.end()
        before = self.bytes
        found = super().more(size, held)
        self.look()
        if self.bytes == before and not self.ended:
            time.sleep(NAP)  # whoever asks again at once gets nothing new
        return found

    def parsed(self, files: Files, initial: bytes = b"") -> Block:
        block = super().parsed(files, initial)
        trace = block.trace
        if len(trace):
            self.newest = max(self.newest, int(trace.txn_end.max()), int(trace.txn_begin.max()))
        self.seen(block, len(self.sources))
        return block

    def before(self, f: int) -> int:
        return self._before[f]
