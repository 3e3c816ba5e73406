"""Holds a server's process for as long as whoever asked for it lives, and no longer.

A database server must not outlive the program that started it, however that ends: also when it is killed, and also
when the server runs as another user. So between the two stands this small program, which needs nothing but the
standard library. It reads its standard input: the word `stop` asks the server to end, `kill` ends it and all its
processes at once, as a crash would; and the end of the input, which comes when the other side is gone, is `kill`, and
the removal of the server's folder. On Linux the server also ends with this program, should that be killed. Its first
output is the server's process number; its exit code is the server's.

Its one argument is JSON: `command`, `environment`, `user` and `group` (numbers, or null), `log` (a file), `signal` (how
this server is asked to end), `patience` (seconds until it is made to), and `remove` (its folder).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
IPC_RMID = 0
GONE = 10.0
"""Seconds in which killed processes must be gone."""


def parents() -> dict[int, int]:
    """The parent of each process that is not dead."""
    if not Path("/proc/self/stat").exists():
        told = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=False)
        pairs = (line.split() for line in told.stdout.splitlines())
        return {int(pid): int(parent) for pid, parent in pairs}
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            # The name stands in brackets and may hold anything.
            state, parent = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
            if state != "Z":
                found[int(folder.name)] = int(parent)
    return found


def below(root: int) -> set[int]:
    """All processes that descend from one."""
    parent = parents()
    found = {root}
    while more := {pid for pid, of in parent.items() if of in found} - found:
        found |= more
    return found - {root}


def at_work_in(folder: Path) -> list[int]:
    """Processes whose current folder it is, where the system tells; those that are dead have none."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cwd").readlink() == folder:
                found.append(int(process.name))
    return found


def forget_shared_memory(creator: int | None, since: float) -> None:
    """Removes what a killed server had of System V's shared memory, which outlives all who use it: of those segments a
    system has some thousand, and when they are used up no PostgreSQL starts any more. `since` (by the clock) it has
    its process number, which others had before."""
    table = Path("/proc/sysvipc/shm")
    try:
        names, *rows = (line.split() for line in table.read_text().splitlines())
    except (OSError, ValueError):  # another system, or one that does not tell
        return
    for row in rows:
        segment = dict(zip(names, map(int, row), strict=False))
        if segment["cpid"] == creator and segment["ctime"] >= int(since) and not segment["nattch"]:
            ctypes.CDLL(None).shmctl(segment["shmid"], IPC_RMID, None)


def ending_with_us() -> Callable[[], object] | None:
    """What a process that we start has to call so that the system kills it when we end, however that is."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl  # found now: between fork and exec as little as possible should happen
    return lambda: prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def kill(server: subprocess.Popen[bytes]) -> None:
    """Ends a server and its processes at once, and waits until none is left that could hold on to its files."""
    server.send_signal(signal.SIGSTOP)  # so that it starts no others while they are looked for
    family = below(server.pid)
    for pid in (server.pid, *family):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    server.wait()
    end = time.monotonic() + GONE
    while family & parents().keys() and time.monotonic() < end:
        time.sleep(0.01)


def stop(server: subprocess.Popen[bytes], how: int, patience: float) -> None:
    server.send_signal(how)
    try:
        server.wait(patience)
    except subprocess.TimeoutExpired:
        kill(server)


def watch(task: dict[str, Any]) -> int:
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # an end of the server wakes the wait below
    begin = time.time()
    with Path(task["log"]).open("ab") as log:
        try:
            server = subprocess.Popen(
                task["command"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=task["environment"],
                cwd="/",
                user=task["user"],
                group=task["group"],
                extra_groups=None if task["user"] is None else [],
                preexec_fn=ending_with_us(),
            )
        except OSError as problem:
            log.write(f"{problem}\n".encode())
            return 127
    print(server.pid, flush=True)
    while server.poll() is None:
        ready, _, _ = select.select([0, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
        if 0 in ready:
            word = os.read(0, 4096)
            if b"stop" in word:
                stop(server, task["signal"], task["patience"])
            else:
                kill(server)
            if not word:
                shutil.rmtree(task["remove"], ignore_errors=True)
    forget_shared_memory(server.pid, begin)
    return server.returncode


if __name__ == "__main__":
    sys.exit(watch(json.loads(sys.argv[1])) & 0xFF)
