"""Explanations for programs: Graphviz, SARIF and JUnit XML, each made from the document (explain/document.py) alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from boomslang.explain.outputs.dot import dot
from boomslang.explain.outputs.junit import junit
from boomslang.explain.outputs.sarif import sarif

Json = dict[str, Any]

OUTPUTS: dict[str, Callable[[str, Sequence[Json]], str]] = {"dot": dot, "sarif": sarif, "junit": junit}
"""By name: from a trace's path and its explanations to a text."""

__all__ = ["OUTPUTS", "dot", "junit", "sarif"]
