"""What can be chosen by its name, known without loading any of it: a test holds these against the things themselves."""

from __future__ import annotations

NATIVE = "native"
SOLVERS = (NATIVE, "z3", "clingo", "monosat")
PASSES = ("prune", "merge", "prioritize", "segments")
ENCODINGS = ("cobra", "viper", "polysi", "emme", "elle")
