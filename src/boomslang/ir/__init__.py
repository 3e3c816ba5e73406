"""Phase 3, semantic analysis: graph, expressions and superpositions of a trace at a level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boomslang.ir.lower import lower
from boomslang.ir.model import IR, Graph
from boomslang.lazily import lazily

if TYPE_CHECKING:
    from boomslang.ir.families import ReadFrom, WriteOrder
    from boomslang.ir.printer import print_ir
    from boomslang.ir.verify import verify_ir

__all__ = ["IR", "Graph", "ReadFrom", "WriteOrder", "lower", "print_ir", "verify_ir"]

__getattr__, __dir__ = lazily(
    __name__, {"families": "ReadFrom WriteOrder", "printer": "print_ir", "verify": "verify_ir"}
)
