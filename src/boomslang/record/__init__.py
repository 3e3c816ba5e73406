"""Record what clients of a real database see, as a trace that can be checked.

`Tracer` is where it is written, a `Session` one client's file of it; `Recorded` is a connection of an adapter that
records itself. `trace_connection` does the same for a connection of psycopg, asyncpg, PyMySQL, sqlite3 or DuckDB,
`trace_engine` for an engine of SQLAlchemy, `trace_django` for Django: their SQL is understood (record/sql/), or told by
a table of `statements`. docs/record-your-database.md shows how an application that exists already is recorded.
"""

from boomslang.record import statements
from boomslang.record.connections import trace_connection
from boomslang.record.django import trace_django
from boomslang.record.engines import trace_engine
from boomslang.record.recorded import Recorded
from boomslang.record.session import RecordingFailed, Session
from boomslang.record.tracer import Tracer

__all__ = [
    "Recorded",
    "RecordingFailed",
    "Session",
    "Tracer",
    "statements",
    "trace_connection",
    "trace_django",
    "trace_engine",
]
