"""Record what clients of a real database see, as a trace that can be checked.

`Tracer` is where it is written, a `Session` one client's file of it; `Recorded` is a connection of an adapter that
records itself. docs/record-your-database.md shows how an application that exists already is recorded.
"""

from boomslang.record.recorded import Recorded
from boomslang.record.session import RecordingFailed, Session
from boomslang.record.tracer import Tracer

__all__ = ["Recorded", "RecordingFailed", "Session", "Tracer"]
