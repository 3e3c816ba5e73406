"""What the database held at first, where transactions load it: taken over part by part.

An application loads a million keys in one transaction, which is more than a window. Such a transaction is none of the
trace's (its begin says `"initial": true`), so nobody waits for it, and each block tells what it has loaded so far. What
is held from then on are the keys. Several transactions may load, in files of their own or one after the other; the
state is known when every file goes on with something else.
"""

from __future__ import annotations

import numpy as np

from boomslang.stream.live import LiveKeys
from boomslang.trace.blocks import MANY_FILES, Block
from boomslang.trace.errors import TraceError
from boomslang.trace.model import Initial


class Loading:
    """The initial state, as far as it is known."""

    def __init__(self) -> None:
        self.live: LiveKeys | None = None
        self.over = False
        """All of it is."""

    def take(self, block: Block) -> None:
        """Its initial values. Raises `TraceError` if a key has two."""
        trace, by = block.trace, block.loads.by
        if self.live is None:
            self.live = LiveKeys(trace.initial_mode)
        elif block.loads:
            if self.live.mode == Initial.UNKNOWN:
                raise TraceError(
                    "found a loading transaction where the header says that the initial state is unknown; expected "
                    'one of the two; fix: remove "initial" from the header or from the begin',
                    trace.files[0],
                )
            self.live.mode = Initial.GIVEN
        keys = trace.initial_key
        given = -2 - by if len(by) else np.full(len(keys), -1, np.int64)
        known = np.isin(keys, self.live.given_to(trace).initial_key) if len(self.live) else np.zeros(0, bool)
        for i in np.flatnonzero(known).tolist():
            held = self.live.get(trace.keys.code(int(keys[i])))
            if held is not None and held.writer != given[i]:
                line, f = divmod(int(by[i]), MANY_FILES)
                raise TraceError(
                    f"found the key {trace.keys[int(keys[i])]!r} twice in the initial state; expected each key once; "
                    "fix: remove one of the two",
                    trace.files[f],
                    line,
                )
        # Who gave it is kept as one that nobody is: a negative number.
        self.live.update(trace, keys, trace.initial_value, given, np.full(len(keys), -1, np.int64))
        self.over = not block.loads.last

    def copy(self) -> LiveKeys:
        """The same, for whoever changes it."""
        assert self.live is not None
        return self.live.copy()
