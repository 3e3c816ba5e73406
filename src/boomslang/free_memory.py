"""Memory that is free, and whether the C library keeps it for later or gives it back to the system.

Left alone it keeps some: what large arrays leave behind counts as taken until the process ends, and small ones are
given back and taken again, page by page. Whoever knows better says so here; where the C library has no such
functions, nothing happens.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MOST_ARENAS = -1, -3, -8
"""Of the C library's `mallopt`: what is free at the end of the heap before it is given back, what is so large that
it is given back at once, and how many heaps there may be."""


def keep_what_is_freed() -> None:
    """For work that takes and frees the same memory again and again: taking it page by page each time was a third of
    the work of a trace that goes by."""
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_TRIM_THRESHOLD, 1 << 30)
        mallopt(_MMAP_THRESHOLD, 1 << 28)
        mallopt(_MOST_ARENAS, 1)  # a thread's own heap is given back whenever nothing is in it


def give_large_back_at_once() -> None:
    """For work that takes large arrays, each of another size. The C library gives such arrays back by itself, but the
    more of them it has seen, the larger they must be: after a while what is free lies among what is not."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, 1 << 22)


def give_back() -> None:
    """Gives back all that is free now. It takes milliseconds, and what is needed again is taken page by page."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
