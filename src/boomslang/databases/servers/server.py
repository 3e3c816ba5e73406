"""A database server of one's own: started on the spot, on this machine's loopback, gone when it is not needed any more.

It has a temporary folder with its data, a free port, and a password that only the address (`dsn`) knows; it does not
run as root (a caller who is root starts it as `nobody`); and it ends with whoever started it, however that ends
(watcher.py). For tests of what a crash does it can be killed (`kill`: all its processes at once, without a word) and
started again on the same data and port (`restart`).

Unless `durable` is asked for it does not wait for the disk: what it confirmed survives the end of its processes, kill
-9 included, but not that of the machine.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from boomslang.databases.servers.moved_clock import MovedClock
from boomslang.databases.servers.packages import ServerMissing
from boomslang.databases.servers.watcher import forget_shared_memory
from boomslang.databases.settings import refused
from boomslang.errors import UsageError

WATCHER = Path(__file__).with_name("watcher.py")
START = 60.0
"""Seconds in which a server must be up."""
STOP = 20.0
"""Seconds in which one that is asked to end must have ended, before it is made to."""
HOST = "127.0.0.1"
WORDS = 300
"""Characters of a log's line that are quoted."""


class ServerFailed(UsageError):
    """A server that was found did not start; the text holds the end of its log."""


@dataclass(frozen=True)
class Program:
    """A server as it was found on this machine."""

    binary: Path
    version: str
    source: str
    """Whose it is, for people."""
    home: Path
    """The folder that holds what it needs, the binary too."""
    libraries: tuple[Path, ...] = ()
    """Folders of shared libraries that it would not find by itself."""

    def moved(self, to: Path) -> Program:
        """A copy of it all in another place."""
        shutil.copytree(self.home, to / "home", symlinks=True)
        libraries = []
        for n, folder in enumerate(self.libraries):
            libraries.append(to / f"lib{n}")
            shutil.copytree(folder, libraries[-1], symlinks=True)
        return replace(
            self,
            binary=to / "home" / self.binary.relative_to(self.home),
            home=to / "home",
            libraries=tuple(libraries),
        )


@dataclass(frozen=True)
class User:
    """Whom a server runs as if the caller is root."""

    uid: int
    gid: int

    @staticmethod
    def wanted() -> User | None:
        if os.geteuid() != 0:
            return None
        try:
            nobody = pwd.getpwnam("nobody")
        except KeyError:
            raise ServerMissing(
                "a server must not run as root, and there is no user `nobody` to run it as"
            ) from None
        return User(nobody.pw_uid, nobody.pw_gid)


def open_to_all(path: Path) -> bool:
    """May any user look below this folder?"""
    return all(folder.stat().st_mode & 0o001 for folder in (path.resolve(), *path.resolve().parents))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


class Server(ABC):
    """A server; up when it has been made, and to be closed."""

    title: ClassVar[str]
    stop_signal: ClassVar[int] = signal.SIGTERM

    def __init__(
        self,
        program: Program,
        *,
        port: int | None = None,
        durable: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.durable = durable
        self.settings = dict(settings or {})
        """Of its configuration, beside what it is always started with."""
        self.password = secrets.token_hex(12)
        self.user = User.wanted()
        self.folder = self._temporary_folder()
        self.data = self.folder / "data"
        self.log = self.folder / "log"
        self.port = port or free_port()
        self._watcher: subprocess.Popen[bytes] | None = None
        self.pid: int | None = None
        self._began = time.time()
        self.clock: MovedClock | None = None
        """Its own clock, if it is to have one."""
        try:
            # A Python environment in root's home, say: whom we start the server as could not even read it.
            unreadable = self.user is not None and not open_to_all(program.home)
            self.program = program.moved(self.folder / "program") if unreadable else program
            self.data.mkdir(mode=0o700)
            self.give_away(self.data)
            self.initialise()
            self._start_somewhere(fixed=port is not None)
        except BaseException:
            self.close()
            raise

    # --- what differs

    @property
    @abstractmethod
    def dsn(self) -> str:
        """Its address, with the password."""

    @abstractmethod
    def initialise(self) -> None:
        """Make the data folder, which is there and empty, one that the server can start with."""

    @abstractmethod
    def command(self) -> list[str]:
        """How the server is started, in the foreground."""

    @abstractmethod
    def ready(self) -> bool:
        """Does it take connections?"""

    def forget_the_dead(self) -> None:  # noqa: B027 - most leave nothing behind that matters
        """Remove what a killed server left that would keep the next one from starting."""

    # --- for everybody

    def start(self) -> None:
        """Start it; returns when it takes connections."""
        if self.running:
            return
        if self._watcher is not None:  # one that has ended by itself, or with its watcher
            pid = self.pid
            self._order(b"stop\n")
            self.forget_the_dead()
            forget_shared_memory(pid, self._began)
        self.log.touch()
        begin = self.log.stat().st_size
        task = {
            "command": self.command(),
            "environment": self.environment() | dict(self.clock.environment() if self.clock else {}),
            "user": self.user.uid if self.user else None,
            "group": self.user.gid if self.user else None,
            "log": str(self.log),
            "signal": int(self.stop_signal),
            "patience": STOP,
            "remove": str(self.folder),
        }
        self._began = time.time()
        self._watcher = subprocess.Popen(
            [sys.executable, "-I", "-S", str(WATCHER), json.dumps(task)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for us to hear, not for it
        )
        assert self._watcher.stdout is not None
        self.pid = int(self._watcher.stdout.readline() or 0) or None
        end = time.monotonic() + START
        while not self.ready():
            if not self.running or time.monotonic() > end:
                self.kill()
                for name, value in self.settings.items():
                    if complaint := self.complaint(name):
                        raise refused(self.title, name, value, complaint)
                with self.log.open("rb") as file:
                    file.seek(begin)
                    said = file.read().decode(errors="replace").strip().splitlines()[-12:]
                raise ServerFailed("\n".join([f"{self.title} did not start; the end of its log:", *said]))
            time.sleep(0.02)

    def stop(self) -> None:
        """End it in an orderly way; its data stays."""
        self._order(b"stop\n")

    def kill(self) -> None:
        """End it as a crash does."""
        pid = self.pid
        self._order(b"kill\n")
        self.forget_the_dead()
        forget_shared_memory(pid, self._began)  # if somebody still had it when the server itself was gone

    def restart(self) -> None:
        """Start it again, on the same data and port."""
        self.stop()
        self.start()

    def close(self) -> None:
        """End it, and remove all there is of it."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def complaint(self, setting: str) -> str:
        """What its log says against a setting that it was started with; empty if nothing."""
        said = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        for line in said:
            if f"loose-{setting}" in line:
                continue  # whoever connects sets it, and hears more
            if setting in line.lower().replace("-", "_") and re.search(
                r"\b(warning|error|fatal)\b", line, re.I
            ):
                return line.strip()
        return ""

    def last_words(self) -> str:
        """What its log says of its end, if it ended by itself: the line of a panic, else the last one."""
        said = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        loud = [line for line in said if re.search(r"\b(panic|fatal)\b", line, re.I)]
        return ([""] + (loud or said))[-1].strip()[:WORDS]

    @property
    def running(self) -> bool:
        return self._watcher is not None and self._watcher.poll() is None

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- for those who tell what differs

    def run(self, *words: str | Path, given: str | bytes = "") -> None:
        """Runs one of the server's own tools, as the server's user."""
        done = subprocess.run(
            [str(word) for word in words],
            input=given if isinstance(given, bytes) else given.encode(),
            capture_output=True,
            env=self.environment(),
            cwd="/",
            user=self.user.uid if self.user else None,
            group=self.user.gid if self.user else None,
            extra_groups=[] if self.user else None,
            check=False,
        )
        if done.returncode:
            said = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()[-12:]
            raise ServerFailed("\n".join([f"{Path(words[0]).name} of {self.title} failed:", *said]))

    def environment(self) -> dict[str, str]:
        plain = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
        folders = os.pathsep.join(map(str, self.program.libraries))
        return plain | ({"LD_LIBRARY_PATH": folders} if folders else {})

    def secret_file(self, name: str, text: str) -> Path:
        """A file that only the server's user can read."""
        path = self.folder / name
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        self.give_away(path)
        return path

    def give_away(self, path: Path) -> None:
        if self.user is not None:
            for each in (path, *path.rglob("*")):
                os.chown(each, self.user.uid, self.user.gid)

    def _start_somewhere(self, *, fixed: bool) -> None:
        for attempt in range(5):
            try:
                self.start()
                return
            except ServerFailed as problem:
                # Somebody took the port since it was found to be free.
                if fixed or attempt == 4 or "in use" not in str(problem):
                    raise
                self.port = free_port()

    def _order(self, word: bytes) -> None:
        watcher = self._watcher
        if watcher is None:
            return
        assert watcher.stdin is not None and watcher.stdout is not None
        with contextlib.suppress(OSError):
            watcher.stdin.write(word)
            watcher.stdin.flush()
        watcher.wait()
        with contextlib.suppress(OSError):
            watcher.stdin.close()
        watcher.stdout.close()
        self._watcher = self.pid = None

    def _temporary_folder(self) -> Path:
        places = [tempfile.gettempdir(), "/tmp", "/var/tmp"]
        for place in places:
            if self.user is None or (Path(place).is_dir() and open_to_all(Path(place))):
                folder = Path(tempfile.mkdtemp(prefix="boomslang-server-", dir=place))
                folder.chmod(0o755 if self.user else 0o700)
                return folder
        raise ServerMissing(
            f"{self.title} must not run as root, and user `nobody` may write in none of {', '.join(places)}"
        )


def first_line(program: Path, libraries: Sequence[Path] = ()) -> str:
    """What `program --version` says; empty if it cannot be run."""
    environment: Mapping[str, str] = os.environ
    if libraries:
        environment = {**environment, "LD_LIBRARY_PATH": os.pathsep.join(map(str, libraries))}
    try:
        told = subprocess.run(
            [program, "--version"], capture_output=True, text=True, env=environment, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return told.stdout.strip() if told.returncode == 0 else ""
