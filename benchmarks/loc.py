"""What does a new semantics cost? The lines of each level, pass, back end, module and encoding, from the source.

Counted are lines of code: no blank lines, comments or documentation strings. A level is data: the statement
that defines it.

    python benchmarks/loc.py --write
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

from phases import page, parser, shown, table
from simulate import HERE

SOURCE = HERE.parent / "src" / "boomslang"
PARTS = {
    "encoding": SOURCE / "encodings",
    "module": SOURCE / "modules",
    "pass": SOURCE / "passes",
    "back end": SOURCE / "solve",
}
SHARED = {
    "encoding",
    "problem",
    "simplify",
    "reach",
    "cycle",
    "module",
    "registry",
    "split",
    "blame",
    "in_time",
    "rows",
    "version_hints",
    "version_relations",
    "where",
    "clock",
    "cnf",
    "backends",
    "eagerly",
    "solution",
    "polygraph",
    "skeleton",
    "table",
    "of",
}
EAGER = {"clingo_solver", "monosat_solver", "z3_solver", "export"}
BACK_ENDS = EAGER | {"backends", "clock", "cnf", "eagerly", "solution"}
"""Of solve/: what the eager back ends are made of; the rest is the native engine's."""


def code_lines(text: str) -> set[int]:
    """The numbers of the lines that hold code."""
    silent = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in silent:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def levels() -> Iterator[tuple[str, int]]:
    """The levels with a definition of their own; variants with session order have none: one function makes them."""
    text = (SOURCE / "levels" / "catalog.py").read_text()
    from boomslang.levels import LEVELS

    names = {level.name.upper().replace("-", "_"): level for level in LEVELS}
    code = code_lines(text)
    for node in ast.parse(text).body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id in names
        ):
            span = set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
            yield names[node.targets[0].id].name, len(span & code)


def files(folder: Path) -> Iterator[tuple[str, int, int]]:
    for path in sorted(folder.rglob("*.py")):
        name = "/".join(path.relative_to(folder).with_suffix("").parts[-2:])
        if path.stem != "__init__" and (folder.name != "solve" or path.stem in BACK_ENDS):
            text = path.read_text()
            yield name.removeprefix("shipped/"), len(code_lines(text)), len(text.splitlines())


def main(arguments: list[str]) -> int:
    given = parser(__doc__, "loc").parse_args(arguments)
    names = ("what", "name", "code", "all lines")
    rows = [["level", name, str(count), ""] for name, count in levels()]
    for what, folder in PARTS.items():
        for name, code, total in files(folder):
            kind = f"{what} (shared)" if name.rpartition("/")[2] in SHARED else what
            rows.append([kind, name, str(code), str(total)])
    rows.sort(key=lambda row: (row[0].split(" (")[0] != "level", row[0]))
    widths = (20, 28, 6, 9)
    print(shown(names, widths))
    for row in rows:
        print(shown(row, widths))
    if given.write:
        about = "Lines of code (no blank lines, comments or documentation) and all lines of the file."
        page("loc", "Lines of code", [about], table(names, rows, words=2), arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
