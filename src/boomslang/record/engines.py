"""SQLAlchemy, recorded by one line: each connection that an engine opens is wrapped as `trace_connection` wraps one.

    engine = create_engine(...)
    trace_engine(engine, tracer)

An async engine is the same: inside of it is a plain one, whose connections look like PEP 249 to us.
"""

from __future__ import annotations

from typing import Any

from boomslang.errors import UsageError
from boomslang.record.connections import trace_connection
from boomslang.record.tracer import Tracer


def trace_engine(engine: Any, tracer: Tracer) -> None:
    """Record all that goes through an engine, or async engine, of SQLAlchemy 2. Call it right after create_engine."""
    from sqlalchemy import event

    inner = getattr(engine, "sync_engine", engine)
    if _connected(inner.pool):
        raise UsageError(
            "found an engine that has connections already; expected a new one, or some would not be recorded; fix: "
            "call trace_engine right after create_engine"
        )
    creator = inner.pool._creator
    if getattr(creator, "__module__", "") != "sqlalchemy.engine.create":
        raise UsageError(
            "found an engine with a creator of its own; expected one that SQLAlchemy connects; fix: let the creator "
            "return trace_connection(connection, tracer)"
        )

    def connect(dialect: Any, record: Any, args: Any, options: Any) -> Any:
        return trace_connection(dialect.connect(*args, **options), tracer)

    event.listen(inner, "do_connect", connect)
    if (
        inner.dialect.name == "postgresql"
        and inner.dialect.driver == "psycopg"
        and not inner.dialect.is_async
    ):
        inner.dialect._type_info_fetch = _type_info


def _type_info(connection: Any, name: str) -> Any:
    """SQLAlchemy asks once whether there is a type; psycopg asks the catalog with a cursor that is its own."""
    from psycopg.types import TypeInfo

    return TypeInfo.fetch(connection.connection.dbapi_connection.connection, name)


def _connected(pool: Any) -> bool:
    if getattr(pool, "_all_conns", None):  # SingletonThreadPool
        return True
    if "connection" in vars(pool):  # StaticPool
        return True
    checked_in = pool.checkedin() if hasattr(pool, "checkedin") else 0
    checked_out = pool.checkedout() if hasattr(pool, "checkedout") else 0
    return bool(checked_in or checked_out)
