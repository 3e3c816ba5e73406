"""Explanations for programs: Graphviz, SARIF and JUnit XML, each made from the document (explain/document.py) alone."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

OUTPUTS = ("dot", "sarif", "junit")
"""Each is a file here, with a function of its name, and one for several traces."""

OneTrace = tuple[str, Sequence[dict[str, Any]], str]
"""Its path, its explanations, and why there are none, if it could not be read."""


def write(output: str, path: str, explanations: Sequence[dict[str, Any]]) -> str:
    """The text of that kind, from a trace's path and its explanations."""
    return write_several(output, [(path, explanations, "")])


def write_several(output: str, traces: Sequence[OneTrace]) -> str:
    """One text for several traces."""
    made: str = getattr(import_module(f"{__name__}.{output}"), f"{output}_of_several")(traces)
    return made
