"""A plan as a Python file: data that are literals and nothing else, and below them the program, always the same."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from boomslang.explain.replay.plan import EXAMPLES, Plan, Step

HEAD = '''#!/usr/bin/env python3
"""Replays a violation that Boomslang found, on a database of your own, and says whether it happened again.

Needs Python 3.10 and {driver}. Boomslang itself is not needed. The statements below come from a trace: look at them,
and use a database with nothing in it.
"""

from __future__ import annotations

'''
DRIVERS = {"postgres": "psycopg", "mysql": "PyMySQL", "sqlite": "nothing else", "duckdb": "duckdb"}
EMPTY = "PLAN: dict[str, Any] = {}\n"


def script(plan: Plan) -> str:
    """The file's text."""
    program = files(__package__).joinpath("program.py").read_text(encoding="utf-8")
    before, _, after = program.partition(EMPTY)
    data = f"PLAN: dict[str, Any] = {literal(_data(plan))}\n"
    return HEAD.format(driver=DRIVERS[plan.dialect]) + before + data + after


def _data(plan: Plan) -> dict[str, Any]:
    return {
        "about": plan.about,
        "dialect": plan.dialect,
        "level": plan.level,
        "example": EXAMPLES.get(plan.dialect, ""),
        "keeps": plan.keeps,
        "tables": plan.tables,
        "transactions": {
            part.name: {
                "session": part.session,
                "commits": part.commits,
                "steps": [_step(step) for step in part.steps],
            }
            for part in plan.parts
        },
        "orders": plan.orders,
    }


def _step(step: Step) -> dict[str, Any]:
    made: dict[str, Any] = {"text": step.text, "given": step.given}
    return {**made, "next": step.next} if step.next is not None else made


def literal(x: Any, indent: int = 0) -> str:
    """Plain values as Python writes them, in ASCII: nothing in them can be anything but a value."""
    if isinstance(x, dict):
        inner = [f"{literal(str(k))}: {literal(v, indent + 4)}" for k, v in x.items()]
        return _together("{", inner, "}", indent)
    if isinstance(x, list):
        return _together("[", [literal(v, indent + 4) for v in x], "]", indent)
    if isinstance(x, tuple):
        return f"({', '.join(literal(v) for v in x)}{',' if len(x) == 1 else ''})"
    if x is None or type(x) in (bool, int, float, str):
        return ascii(x)
    raise TypeError(f"{type(x).__name__} is no plain value")


def _together(left: str, parts: list[str], right: str, indent: int) -> str:
    line = left + ", ".join(parts) + right
    if len(line) + indent <= 100 and "\n" not in line:
        return line
    pad = " " * (indent + 4)
    return left + "\n" + "".join(f"{pad}{part},\n" for part in parts) + " " * indent + right
