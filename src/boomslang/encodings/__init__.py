"""Earlier checkers, as encodings on the IR: the same passes and solvers serve all of them."""

from __future__ import annotations

from boomslang.encodings.cobra import COBRA
from boomslang.encodings.elle import ELLE
from boomslang.encodings.emme import EMME
from boomslang.encodings.encoding import Encoding, OutsideAssumptions
from boomslang.encodings.polysi import POLYSI
from boomslang.encodings.viper import VIPER
from boomslang.errors import UsageError, did_you_mean

ENCODINGS = {encoding.name: encoding for encoding in (COBRA, VIPER, POLYSI, EMME, ELLE)}


def find_encoding(name: str) -> Encoding:
    if name not in ENCODINGS:
        raise UsageError(
            f"unknown encoding {name!r}{did_you_mean(name, ENCODINGS)}; known encodings: {', '.join(ENCODINGS)}"
        )
    return ENCODINGS[name]


__all__ = ["ENCODINGS", "Encoding", "OutsideAssumptions", "find_encoding"]
