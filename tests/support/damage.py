"""Bytes that become something else on their way: what tests of the proxy do to either side."""

from __future__ import annotations

import random
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress

SHARE = 0.08
"""Of all pieces that are damaged."""


class Damager:
    """Stands before somebody and forwards to it; of one direction, something becomes something else."""

    def __init__(
        self,
        to: tuple[str, int],
        seed: int,
        *,
        client: bool,
        spared: int,
        damage: Callable[[bytes, random.Random], bytes] | None = None,
    ) -> None:
        """`client`: what clients say is damaged, else what the server says. `spared`: pieces at the start of a
        connection that stay as they are. `damage`: of one kind."""
        self._to, self._rng, self._client, self._spared = to, random.Random(seed), client, spared
        self._damage = damage or damaged
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._to)
                for ends in ((near, far, self._client), (far, near, not self._client)):
                    threading.Thread(target=self._carry, args=ends, daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, damages: bool) -> None:
        rng, said = self._rng, 0
        with suppress(OSError):
            while data := source.recv(65536):
                said += 1
                if damages and said > self._spared and rng.random() < SHARE:
                    data = self._damage(data, rng)
                at = 0
                while at < len(data):  # in pieces, too
                    size = rng.choice((len(data), len(data), 1, 7, 60))
                    target.sendall(data[at : at + size])
                    at += size
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


def damaged(data: bytes, rng: random.Random) -> bytes:
    """In one of many ways."""
    made = bytearray(data)
    match rng.randrange(8):
        case 0:
            for _ in range(rng.randint(1, 8)):
                made[rng.randrange(len(made))] = rng.randrange(256)
        case 1:
            del made[rng.randrange(len(made)) :]
        case 2:
            at = rng.randrange(len(made))
            made[at:at] = rng.randbytes(rng.randint(1, 40))
        case 3:
            made = bytearray(data + data)
        case 4:
            made = bytearray(rng.randbytes(rng.randint(1, 300)))
        case 5:  # a length that is larger than all
            made[1:5] = struct.pack("!I", rng.choice((0, 3, 1 << 20, 1 << 30, (1 << 31) - 1, (1 << 32) - 1)))
        case 6:
            made += bytes([rng.choice(b"QPBEDCSXHdcfFpZ\x03\x0e\x17\x19\x11")]) + struct.pack("!I", 4)
        case 7:
            made = bytearray(rng.choice(b"QdB\xff").to_bytes(1, "big") * rng.choice((70_000, 300_000)))
    return bytes(made)


def one_byte_of_the_head(data: bytes, rng: random.Random) -> bytes:
    """Where lengths and kinds are."""
    made = bytearray(data)
    made[rng.randrange(min(len(made), 12))] = rng.randrange(256)
    return bytes(made)
