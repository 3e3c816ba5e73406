"""The solvers' names, known without loading any of them."""

from __future__ import annotations

NATIVE = "native"
SOLVERS = (NATIVE, "z3", "clingo", "monosat")
