"""A trace of any length: decided in windows that fit together.

The engine's cost on a long trace is that of one huge order: repairs move points of it, and its arrays leave the cache.
But a database's order is local: what a transaction depends on happened around it. So

- **rank** (rank.py, native/windows/rank.cpp): order the points as the trace suggests, by times, by the lines of the
  one log, or by who read from whom;
- **walk** (native/windows/walk.cpp): go through it in one pass, which decides most traces that are valid; else
- **cut** that order into windows of a few thousand transactions (native/windows/cut.cpp);
- **fit** (native/windows/fit.cpp): say of each window what its reads need of the state at its start, and ask the
  windows before it to leave just that;
- **solve** each window alone, on all cores (native/windows/part.cpp);
- **stitch** (native/windows/stitch.cpp): put the orders one after the other, and replay all of it;
- **join** (solve.py): what does not fit is asked as a part of the whole trace, where it may refute it; or else together
  with its neighbours, in the limit the whole trace in one piece.

Why this is sound stands at the top of native/windows/windows.hpp. Only *valid* rests on windows, and only after a
replay; *invalid* is always a part of the whole trace that has no order, found in a window and asked on its own.
"""
