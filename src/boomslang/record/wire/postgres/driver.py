"""What PostgreSQL's errors mean for a transaction, where all that is known is what the server sent."""

from __future__ import annotations

from typing import Any

from boomslang.record.outcomes import DISCONNECTED, Effect, sqlstate_of
from boomslang.record.wire.exchange import WireDriver, ambiguous


class PostgresDriver(WireDriver):
    dialect = "postgres"

    def effect(self, connection: Any, error: BaseException) -> Effect:
        if self.lost:
            return Effect.DOUBTFUL if self.in_doubt else Effect.LOST
        state = sqlstate_of(error)
        if state is not None and state.startswith(DISCONNECTED):
            return Effect.LOST
        if connection.talk.open:
            return Effect.DOOMED
        return Effect.DOUBTFUL if ambiguous(error) else Effect.NOTHING
