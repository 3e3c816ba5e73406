"""How a connection begins: the server's greeting, and the client's answer to it.

The proxy reads both as far as it must: the flags, which decide what later messages look like, the character set, and
which database is asked for. Names and proofs of passwords pass through it and are not kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from boomslang.record.wire.mysql.capabilities import (
    CONNECT_WITH_DB,
    DECLINED,
    EXTENDED_KEPT,
    LONG_PASSWORD,
    PLUGIN_AUTH_LENGTH,
    PROTOCOL_41,
    SECURE_CONNECTION,
    SSL,
)
from boomslang.record.wire.mysql.packets import Reader
from boomslang.record.wire.relay import Malformed

VERSION = 10
UNUSED = 6
EXTENDED = 4
"""Bytes of MariaDB's extended flags, after the unused ones."""


@dataclass(frozen=True)
class Greeting:
    contents: bytes
    """As the client may see it."""
    flags: int
    extended: int
    maria: bool
    status: int


@dataclass(frozen=True)
class Login:
    contents: bytes
    """As the server may see it."""
    flags: int
    extended: int
    collation: int
    database: str | None


def greeting(contents: bytes) -> Greeting:
    """Of a server; what is declined is cleared in it."""
    read = Reader(contents)
    if read.byte() != VERSION:
        raise Malformed(f"found a greeting of the protocol's version {contents[0]}; expected {VERSION}")
    version = read.until_nul()
    read.take(4 + 8 + 1)  # the connection's number, the first part of the challenge, a zero
    low_at = read.at
    flags = read.two()
    status = 0
    made = bytearray(contents)
    extended, maria = 0, b"mariadb" in version.lower()
    if read.left:
        read.byte()
        status = read.two()
        high_at = read.at
        flags |= read.two() << 16
        read.take(1 + UNUSED)
        extended_at = read.at
        extended = read.four()
        if flags & LONG_PASSWORD or not maria:
            extended = 0
        else:
            extended &= EXTENDED_KEPT
            made[extended_at : extended_at + EXTENDED] = extended.to_bytes(EXTENDED, "little")
        flags &= ~DECLINED
        made[high_at : high_at + 2] = (flags >> 16).to_bytes(2, "little")
    if not flags & PROTOCOL_41:
        raise Malformed("found a server that speaks only the protocol before MySQL 4.1")
    flags &= ~DECLINED
    made[low_at : low_at + 2] = (flags & 0xFFFF).to_bytes(2, "little")
    return Greeting(bytes(made), flags, extended, maria, status)


SHORT = 32
"""Bytes of a login before the name."""


def offers_tls(contents: bytes) -> bool:
    """Does the server that greets so speak it?"""
    read = Reader(contents, 1)
    read.until_nul()
    read.take(4 + 8 + 1)
    return bool(read.two() & SSL)


def with_tls(contents: bytes) -> tuple[bytes, bytes]:
    """A client's login as one that is sent inside of TLS, and the beginning of it that is sent before."""
    flags = Reader(contents).four()
    if len(contents) < SHORT or not flags & PROTOCOL_41:
        raise Malformed("found a client that speaks only the protocol before MySQL 4.1")
    made = (flags | SSL).to_bytes(4, "little") + contents[4:]
    return made, made[:SHORT]


class WantsTLS(Malformed):
    """A client that insists on what was declined."""


def login(contents: bytes, offered: Greeting) -> Login:
    """Of a client. What is declined is cleared, should it have asked all the same."""
    read = Reader(contents)
    flags = read.four()
    if not flags & PROTOCOL_41:
        raise Malformed("found a client that speaks only the protocol before MySQL 4.1")
    if flags & SSL:
        raise WantsTLS("found a client that wants TLS; expected it to do without")
    read.four()  # the longest message
    collation = read.byte()
    read.take(19)
    extended_at = read.at
    extended = read.four() & offered.extended
    made = bytearray(contents)
    made[0:4] = (flags & ~DECLINED).to_bytes(4, "little")
    if offered.maria and not flags & LONG_PASSWORD:
        made[extended_at : extended_at + EXTENDED] = extended.to_bytes(EXTENDED, "little")
    else:
        extended = 0
    read.until_nul()
    if flags & PLUGIN_AUTH_LENGTH:
        read.text()
    elif flags & SECURE_CONNECTION:
        read.take(read.byte())
    else:
        read.until_nul()
    database = b""
    if flags & CONNECT_WITH_DB and read.left:
        database = read.until_nul()
    named = database.decode("utf-8", "replace") or None
    return Login(bytes(made), flags & offered.flags, extended, collation, named)
