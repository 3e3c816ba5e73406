"""A connection between a client and its database, as the one who watches it sees it.

The bytes themselves are carried by native code (native/wire/relay.hpp), in a thread of its own. What arrives is either
*held*: the watcher looks at it first and passes it on (`to_server`, `to_client`); or it was *forwarded* at once, as
nothing of it is new, and the watcher understands it behind. A watcher does the same in both cases: what it passes on
that has been forwarded already is not sent again. Only that it cannot ask the database anything before a statement that
is on its way (`forwarded`), and that the time is the one at which the bytes came (`clock`).

A watcher that raises has lost its way in the protocol: the connection is closed on both sides, which is told once, and
what was under way is of unknown outcome.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

from boomslang.errors import UsageError
from boomslang.record.session import RecordingFailed

MUCH = 1 << 18
"""Bytes that may wait for the server before the client is not read from any more."""


class Malformed(Exception):
    """Bytes that are not of the protocol, or that nobody expected here."""


class Watcher(ABC):
    """What is known of one connection's protocol: it sees both directions, and passes them on.

    Made when a client has connected and the server too. `from_client` and `from_server` get whatever has come, cut
    anywhere; they raise `Malformed` if it makes no sense. After `gone` nothing is called any more."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire

    @abstractmethod
    def from_client(self, data: bytes) -> None: ...

    @abstractmethod
    def from_server(self, data: bytes) -> None: ...

    @abstractmethod
    def gone(self, who: str) -> None:
        """The connection is over: "client" or "server" has closed it, or "proxy" has, whose watcher raised or which is
        being stopped. Called once."""

    def refusal(self, why: str) -> bytes:
        """How the protocol tells a client that the proxy ends the connection; nothing, where it cannot be told now."""
        return b""

    @abstractmethod
    def flush(self) -> None:
        """What is recorded is on file then."""

    # --- what may be forwarded before it is understood, and understood later

    @abstractmethod
    def quiet(self) -> bool:
        """Is it known what the next statement means, if its text is known? Then it need not be held."""

    @abstractmethod
    def state(self) -> dict[str, Any] | None:
        """What must be known of the login to go on from there (`resume`); None while it is under way."""

    @abstractmethod
    def resume(self, state: dict[str, Any]) -> None:
        """As if the login of which this is the state had been watched."""

    @abstractmethod
    def whole(self, data: bytes | bytearray) -> int:
        """How many of these bytes of a client are whole messages."""

    longest: int
    """Bytes of a message of a client that are read; a longer one goes by."""

    @abstractmethod
    def missing(self, data: bytes | bytearray) -> int:
        """How many bytes the message that begins here still lacks."""

    @abstractmethod
    def masked(self, data: bytes) -> bytes:
        """Whole messages of a client, as they may be on disk: as long as they are, without passwords."""


class Carrier(Protocol):
    """What carries bytes: the proxy's engine, or, when a spool is read again, nobody."""

    def send(self, wire: Wire, to_server: bool, data: bytes) -> None: ...
    def hold(self, wire: Wire, held: bool) -> None: ...
    def later(self, wire: Wire, call: Callable[[], None]) -> None:
        """In a moment."""

    def ended(self, wire: Wire, by_us: bool) -> None: ...
    def unread(self, wire: Wire) -> None:
        """Something of the client's is on its way that nobody will understand: it may do anything."""

    def know(self, wire: Wire, kind: bytes, text: bytes) -> None: ...
    def know_statement(self, wire: Wire, number: int) -> None: ...
    def slow(self) -> None: ...

    trouble: Callable[[str], None]
    unexpected: Callable[[Exception], None]
    complete: bool
    """Nothing is missing in the trace that could not be written."""
    odd: int
    """Statements under way, on all connections, after which names or tables may not be what they were."""


class Wire:
    """A connection: which bytes of it are on their way, and who watches."""

    def __init__(self, carrier: Carrier, number: int) -> None:
        self._carrier = carrier
        self.number = number
        self.watcher: Watcher | None = None
        self.over = False
        self.now = 0
        """When what is being looked at arrived."""
        self.record = 0
        """Its number."""
        self.forwarded = False
        """It is on its way already."""
        self._ahead = [0, 0]
        """Bytes that were forwarded and that the watcher has not passed on yet: to the client, to the server."""
        self.tail = bytearray()
        """The beginning of a message of the client's that is not in the spool yet."""
        self.passing = 0
        """Bytes of a message of the client's that nobody reads, still to come."""
        self.logged_in = False

    def clock(self) -> int:
        return self.now

    buffered = True
    """What is not on file is in the spool."""

    # --- for the watcher

    def to_client(self, data: bytes) -> None:
        self._pass_on(0, data)

    def to_server(self, data: bytes) -> None:
        self._pass_on(1, data)

    def _pass_on(self, side: int, data: bytes) -> None:
        ahead = self._ahead[side]
        if ahead:
            if ahead >= len(data):
                self._ahead[side] = ahead - len(data)
                return
            self._ahead[side], data = 0, data[ahead:]
        self._carrier.send(self, bool(side), data)

    def trouble(self, why: str) -> None:
        """Tell whoever runs the proxy."""
        self._carrier.trouble(why)

    def hold_client(self) -> None:
        """Read nothing from the client until `go_on_with_client`."""
        self._carrier.hold(self, True)

    def go_on_with_client(self) -> None:
        if not self.over:
            self._carrier.hold(self, False)

    def later(self, call: Callable[[], None]) -> None:
        """Call it in a moment; what it raises ends the connection."""
        self._carrier.later(self, lambda: self.careful(call))

    def not_understood(self) -> None:
        """Something of the client's was forwarded that will not be understood."""
        self._carrier.unread(self)

    def know(self, kind: bytes, text: bytes) -> None:
        """Nothing must be asked before this text is forwarded again."""
        self._carrier.know(self, kind, text)

    def know_statement(self, number: int) -> None:
        self._carrier.know_statement(self, number)

    def begin_odd(self) -> None:
        """About to be forwarded: a statement after which names or tables may not be what they were."""
        self._carrier.odd += 1
        self._carrier.slow()

    def end_odd(self) -> None:
        self._carrier.odd -= 1

    @property
    def calm(self) -> bool:
        return self._carrier.odd == 0

    # --- for the carrier

    def received(self, client: bool, data: bytes, *, forwarded: bool) -> None:
        if self.over or self.watcher is None:
            return
        self.forwarded = forwarded
        if forwarded:
            self._ahead[1 if client else 0] += len(data)
        try:
            if client:
                self.watcher.from_client(data)
            else:
                self.watcher.from_server(data)
        except Exception as error:
            if forwarded and client:
                self._carrier.unread(self)
            self._lost_its_way(error, "client" if client else "server")
        finally:
            self.forwarded = False

    def look_again(self, data: bytes, at: int, look: Callable[[bytes], None]) -> bool:
        """At something of the client's that was forwarded and not looked at when it came. False: that ended it."""
        now, forwarded = self.now, self.forwarded
        self.now, self.forwarded = at, True
        try:
            look(data)
        except Exception as error:
            self._carrier.unread(self)
            self._lost_its_way(error, "client")
        finally:
            self.now, self.forwarded = now, forwarded
        return not self.over

    def careful(self, call: Callable[[], None]) -> None:
        if self.over:
            return
        try:
            call()
        except Exception as error:
            self._lost_its_way(error, "client")

    def broke(self, error: Exception) -> None:
        """Of a watcher that was called by something else than bytes."""
        self._lost_its_way(error, "client")

    def _lost_its_way(self, error: Exception, side: str) -> None:
        if isinstance(error, Malformed):
            why = f"found bytes from the {side} that are not of the protocol: {error}"
        elif isinstance(error, UsageError):
            why = str(error)
            self._carrier.complete &= not isinstance(error, RecordingFailed)
        else:
            why = f"internal error: {type(error).__name__}: {error}"
            self._carrier.unexpected(error)
        self._carrier.trouble(why)
        self.end("proxy", why)

    def end(self, who: str, why: str | None = None) -> None:
        """Close both ends, once; what was already given to them is still sent."""
        if self.over:
            return
        self.over = True
        if self.watcher is not None:
            if why is not None:
                self._carrier.send(self, False, self.watcher.refusal(why))
            try:
                self.watcher.gone(who)
            except Exception as error:
                self._carrier.trouble(str(error))
                self._carrier.complete &= not isinstance(error, RecordingFailed)
                if not isinstance(error, UsageError):
                    self._carrier.unexpected(error)
        self._carrier.ended(self, who == "proxy")
