"""Django, recorded by one line: each connection that it opens is wrapped as `trace_connection` wraps one.

    trace_django(tracer)                       # in settings, or in an AppConfig's ready()

or by two settings, from which the line follows:

    INSTALLED_APPS += ["boomslang.record.django"]
    BOOMSLANG_TRACE = "trace"                  # the folder
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from boomslang.errors import UsageError
from boomslang.record.connections import trace_connection
from boomslang.record.rules import STATE
from boomslang.record.tracer import Tracer

default_app_config = "boomslang.record.django.Recording"


def trace_django(tracer: Tracer, *, using: str = "default") -> None:
    """Record all that goes through Django's connection of this alias, from its next connection on."""
    from django.db import connections
    from django.db.backends.signals import connection_created

    def created(sender: Any, connection: Any, **_: Any) -> None:
        if connection.alias == using:
            # Rows are recorded when they are here: a cursor on the server would only bring them in pieces.
            connection.settings_dict["DISABLE_SERVER_SIDE_CURSORS"] = True
            connection.connection = trace_connection(connection.connection, tracer)

    connection_created.connect(created, weak=False, dispatch_uid=f"boomslang {using}")
    for open_already in connections.all(initialized_only=True):
        if open_already.alias == using and open_already.connection is not None:
            if open_already.in_atomic_block:
                raise UsageError(
                    "found a transaction of Django's that is open already; expected none, or its begin is not "
                    "recorded; fix: call trace_django before it"
                )
            open_already.close()


def _app() -> Any:
    """The app, for INSTALLED_APPS; Django must be there to make it."""
    from django.apps import AppConfig

    class Recording(AppConfig):  # type: ignore[misc]
        name = "boomslang.record.django"
        label = "boomslang"

        def ready(self) -> None:
            from django.conf import settings

            folder = getattr(settings, "BOOMSLANG_TRACE", None)
            if folder is None:
                raise UsageError(
                    "found no BOOMSLANG_TRACE in the settings; expected the folder that the trace is written to"
                )
            begun = (Path(folder) / STATE).is_file()
            trace_django(Tracer.join(folder) if begun else Tracer(folder))

    return Recording


def __getattr__(name: str) -> Any:
    if name == "Recording":
        return _app()
    raise AttributeError(name)
