"""Phase 3, semantic analysis: graph, expressions and superpositions of a trace at a level."""

from boomslang.ir.lower import lower
from boomslang.ir.model import IR, Graph, ReadFrom, WriteOrder
from boomslang.ir.printer import print_ir
from boomslang.ir.verify import verify_ir

__all__ = ["IR", "Graph", "ReadFrom", "WriteOrder", "lower", "print_ir", "verify_ir"]
