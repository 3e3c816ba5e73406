"""Explanations for programs: Graphviz, SARIF and JUnit XML, each made from the document (explain/document.py) alone."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

OUTPUTS = ("dot", "sarif", "junit")
"""Each is a file here, with a function of its name."""


def write(output: str, path: str, explanations: Sequence[dict[str, Any]]) -> str:
    """The text of that kind, from a trace's path and its explanations."""
    made: str = getattr(import_module(f"{__name__}.{output}"), output)(path, explanations)
    return made
