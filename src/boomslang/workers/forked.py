"""The small server that clients, checkers and workers are forked off, and that Ctrl-C leaves no mess on the terminal.

Ctrl-C reaches every process of a terminal, and the command ends at once, perhaps in the middle of asking for another
process. The server, which is Python's, would then write a traceback below the user's prompt. So it is started with
SIGINT blocked (it ends when the command has), and with preload.py, for requests that are torn off.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
from multiprocessing import forkserver, resource_tracker
from typing import Any

DRIVERS = ("psycopg", "pymysql")
"""Of databases. A client that loads one for itself takes a tenth of a second for it, which is as long as it takes for a
hundred transactions, and hunts start thousands of clients."""


def processes(preload: str) -> Any:
    """How processes are made: forked off a small server, so that no thread or file of ours is theirs. It loads that
    module first, so that they need not, and the drivers that are in use here."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["boomslang.workers.preload", preload, *(name for name in DRIVERS if name in sys.modules)]
    )
    resource_tracker.ensure_running()  # first: it unblocks SIGINT once it has started
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return context
