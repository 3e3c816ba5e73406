"""A plan as SQL side by side: a column for each session, to be pasted into as many terminals, a step a line.

Parameters are written into the statements as literals of the dialect. What a terminal would obey cannot be in them:
text with control characters is spelled in hexadecimal, and in statements these are blanks.
"""

from __future__ import annotations

import re
from typing import Any

from boomslang.errors import UsageError
from boomslang.explain.replay.plan import Part, Plan
from boomslang.record.sql.given import spoken

COMMENTS = re.compile(r"""('(?:[^'\\]|''|\\.)*'|"(?:[^"]|"")*"|`[^`]*`)|--[^\n]*|/\*.*?\*/""", re.DOTALL)
WIDEST = 72
HEX = {
    "postgres": "convert_from('\\x{0}', 'UTF8')",
    "mysql": "CONVERT(X'{0}' USING utf8mb4)",
    "sqlite": "CAST(X'{0}' AS TEXT)",
    "duckdb": "decode(from_hex('{0}'))",
}
BYTES = {"postgres": "'\\x{0}'::bytea", "mysql": "X'{0}'", "sqlite": "X'{0}'", "duckdb": "from_hex('{0}')"}


def terminals(plan: Plan) -> str:
    """The tables and rows first, then the columns, and what to look for."""
    parts = {part.name: part for part in plan.parts}
    sessions = list(dict.fromkeys(part.session for part in plan.parts))
    lines = [
        f"-- {_line(plan.about)}: {plan.dialect}, at {plan.level or 'the level you ask about'}",
        "-- before:",
    ]
    lines += list(_setup(plan))
    cells: list[tuple[int, str]] = []
    begun: set[str] = set()
    for name, number in plan.orders[0] if plan.orders else []:
        part = parts[name]
        column = sessions.index(part.session)
        if name not in begun:
            begun.add(name)
            cells.append((column, _begin(plan, part)))
        if number == len(part.steps):
            cells.append((column, "COMMIT;" if part.commits else "ROLLBACK;"))
        else:
            cells.append(
                (column, inlined(part.steps[number].pieces or part.steps[number], plan.dialect) + ";")
            )
    widths = [
        max([len(_line(session)) + 3, *(min(len(text), WIDEST) for c, text in cells if c == place)])
        for place, session in enumerate(sessions)
    ]
    lines += [
        "",
        "  ".join(f"-- {_line(s)}".ljust(w) for s, w in zip(sessions, widths, strict=True)).rstrip(),
    ]
    for column, text in cells:
        pad = sum(w + 2 for w in widths[:column])
        lines.append(" " * pad + text)
    lines += [
        "",
        "-- It happened again if all were committed and what they saw and left is what no order of them, one after "
        "the other, gives.",
    ]
    return "\n".join(lines) + "\n"


def _begin(plan: Plan, part: Part) -> str:
    level = f" ISOLATION LEVEL {plan.level.upper()}" if plan.level else ""
    mark = f"  -- {part.name}"
    if plan.dialect == "mysql":
        return (f"SET TRANSACTION{level}; " if level else "") + f"START TRANSACTION;{mark}"
    return f"BEGIN{level if plan.dialect == 'postgres' else ''};{mark}"


def _setup(plan: Plan) -> list[str]:
    made = []
    for table in plan.tables:
        name = _name(table["name"], plan.dialect)
        columns = [f"{_name(c, plan.dialect)} {kind}" for c, kind in table["columns"]]
        if not (plan.dialect == "sqlite" and table["generated"]):
            columns.append(f"PRIMARY KEY ({', '.join(_name(k, plan.dialect) for k in table['key'])})")
        made.append(f"CREATE TABLE {name} ({', '.join(columns)});")
        for row in table["rows"]:
            named = ", ".join(_name(column, plan.dialect) for column in row)
            values = ", ".join(_literal(value, plan.dialect) for value in row.values())
            made.append(f"INSERT INTO {name} ({named}) VALUES ({values});")
    return made


def inlined(step: Any, dialect: str) -> str:
    """A statement with its parameters in it, on one line."""
    if isinstance(step, list):
        pieces = step
    else:
        mark = "%s" if dialect in ("postgres", "mysql") else "?"
        texts = step.text.split(mark)
        pieces = [
            texts[0],
            *(x for pair in zip(step.given or [], texts[1:], strict=False) for x in ((pair[0],), pair[1])),
        ]
    return (
        "".join(
            _literal(piece[0], dialect)
            if isinstance(piece, tuple)
            else _line(COMMENTS.sub(lambda m: m[1] or " ", piece), keep=True)
            for piece in pieces
        )
        .strip()
        .rstrip(";")
    )


def _line(text: str, *, keep: bool = False) -> str:
    """Without line breaks and whatever else is not printable."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    return re.sub(r" {2,}", " ", plain) if keep else " ".join(plain.split())


def _name(name: str, dialect: str) -> str:
    mark = "`" if dialect == "mysql" else '"'
    return ".".join(mark + _line(part).replace(mark, mark * 2) + mark for part in name.split("."))


def _literal(said: Any, dialect: str) -> str:
    value = spoken(said)
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return ("TRUE" if value else "FALSE") if dialect in ("postgres", "duckdb") else str(int(value))
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, bytes):
        return BYTES[dialect].format(value.hex())
    if isinstance(value, list):
        if dialect not in ("postgres", "duckdb"):
            raise UsageError("found a list as a parameter; expected a plain value, for SQL to paste")
        return f"ARRAY[{', '.join(_literal(part, dialect) for part in said)}]"
    text = str(value)
    if not text.isprintable():
        return HEX[dialect].format(text.encode().hex())
    if dialect == "mysql":
        text = text.replace("\\", "\\\\")
    quoted = text.replace("'", "''")
    return f"'{quoted}'"
