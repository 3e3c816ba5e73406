"""Where in somebody's module something went wrong: the last line of theirs on the way to it.

What is below that line is ours, or a library's; the line is what its author can mend.
"""

from __future__ import annotations

import os
import sysconfig
import traceback
from pathlib import Path

from boomslang.errors import UsageError

_OURS = str(Path(__file__).parents[1]) + os.sep
_SHIPPED = str(Path(__file__).parent / "shipped") + os.sep
_OTHERS = tuple(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def at_line(problem: BaseException, before: str = "") -> str:
    """FILE:LINE, with `before` in front; nothing if no line of a module led to the problem."""
    if isinstance(problem, SyntaxError) and problem.filename and problem.lineno:
        return f"{before}{shown(problem.filename)}:{problem.lineno}"
    steps = traceback.extract_tb(problem.__traceback__)
    theirs = [step for step in steps if _theirs(step.filename)]
    if not theirs and not isinstance(
        problem, UsageError
    ):  # a shipped one that says what is wrong needs no line
        theirs = [step for step in steps if step.filename.startswith(_SHIPPED)]
    return f"{before}{shown(theirs[-1].filename)}:{theirs[-1].lineno}" if theirs else ""


def _theirs(file: str) -> bool:
    return not file.startswith((_OURS, "<")) and not file.startswith(_OTHERS)


def shown(file: str) -> str:
    """As one would write it here: relative, if it is below the working directory."""
    path = Path(file)
    return os.path.relpath(path) if path.is_absolute() and path.is_relative_to(Path.cwd()) else file
