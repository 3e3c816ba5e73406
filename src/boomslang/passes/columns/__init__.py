"""Problems as columns of numbers: the same superpositions and expressions, a million at a time.

An expanded IR is quadratic in the writers of a key: 10,000 transactions on 2,000 keys have 380,000 superpositions and
twice as many expressions. As objects they take minutes and gigabytes; but nearly all have one of two shapes:

    superposition   <a and b, c and d>      exactly one of several conjunctions of edges
    expression      a and b => c            or, without a conclusion, "not all of a, b"

So edges get numbers (`Atoms`), the items are rows of those numbers (`table.py`), and a pass is a few operations on
whole columns. A `Problem` does not show the difference: its `known`, `superpositions`, `expressions`, `fixed` and
`advice` are then views that make an object when somebody asks for one, so that printers and solvers that know objects
only still work.

What has other shapes (unknown outcomes, unknown initial values, modules, levels with paths) stays objects, and the
passes for objects are the reference: tests/ir/test_columns.py compares what both print.
"""

from __future__ import annotations

from boomslang.passes.columns.table import (
    Atoms,
    AtomTable,
    Expressions,
    KnownEdges,
    Marks,
    Rows,
    Superpositions,
)

__all__ = ["AtomTable", "Atoms", "Expressions", "KnownEdges", "Marks", "Rows", "Superpositions"]
