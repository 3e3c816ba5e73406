"""The first bytes of a connection: who wants encryption, who wants to cancel, and what a client says about itself.

A client that asks for TLS or GSSAPI encryption is told no ("N"), as a server without them would: what is encrypted
between client and server cannot be read, so between client and proxy nothing is. Between proxy and server TLS may be
spoken. A server then offers SCRAM with channel binding, which a client without TLS takes for an attack; the offer is
taken out of the list, and the client authenticates without.
"""

from __future__ import annotations

import struct

from boomslang.record.wire.relay import Malformed

SSL_REQUEST, GSS_REQUEST, CANCEL = 80877103, 80877104, 80877102
ASK_FOR_TLS = struct.pack("!ii", 8, SSL_REQUEST)
LONGEST_START = 10_000
"""As PostgreSQL has it."""
SASL = 10
BOUND = b"SCRAM-SHA-256-PLUS"


class Start:
    """The client's first messages, as far as they have come."""

    def __init__(self) -> None:
        self.data = b""

    def next(self, data: bytes) -> tuple[int, bytes] | None:
        """The code of the next message and the message, if it is whole; what comes after it stays in `data`."""
        self.data += data
        if len(self.data) < 8:
            return None
        size, code = struct.unpack_from("!ii", self.data)
        if not 8 <= size <= LONGEST_START or (
            code >> 16 != 3 and code not in (SSL_REQUEST, GSS_REQUEST, CANCEL)
        ):
            raise Malformed("no start of PostgreSQL's protocol, version 3")
        if len(self.data) < size:
            return None
        message, self.data = self.data[:size], self.data[size:]
        return code, message


def settings(message: bytes) -> dict[bytes, bytes]:
    """What a startup message says: user, database, options, ..."""
    words = message[8:].rstrip(b"\0").split(b"\0")
    return dict(zip(words[::2], words[1::2], strict=False))


def without_channel_binding(body: bytes) -> bytes:
    """An AuthenticationSASL whose list has no mechanism that needs TLS on both sides."""
    offered = body[4:].rstrip(b"\0").split(b"\0")
    kept = [name for name in offered if name != BOUND]
    return body[:4] + b"".join(name + b"\0" for name in kept) + b"\0"
