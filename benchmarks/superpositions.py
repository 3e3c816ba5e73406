"""How does time grow with what is not known? Run time over the number of superpositions, native and eager.

Transactions and operations stay the same; fewer keys mean more writers of each, and fewer values more
candidates of a read.

    python benchmarks/superpositions.py --transactions 200 --write
"""

from __future__ import annotations

import sys
from dataclasses import replace

from phases import Way, page, parser, run, shown, table
from simulate import BLINDW, stored


def main(arguments: list[str]) -> int:
    made = parser(__doc__, "superpositions")
    made.add_argument("--transactions", type=int, default=200)
    made.add_argument("--solvers", default="clingo,z3")
    made.add_argument("--level", default="strong-session-ser")
    made.add_argument("--timeout", type=float, default=60)
    given = made.parse_args(arguments)
    size, solvers = given.transactions, given.solvers.split(",")
    names = ("keys", "values", "superpositions", "left", "native s", *(f"{solver} s" for solver in solvers))
    widths = (8, 8, 14, 8, 9, *(10 for _ in solvers))
    print(shown(names, widths))
    rows, wrong = [], 0
    for keys, values in (
        (4 * size, 0),
        (2 * size, 0),
        (size, 0),
        (size // 2, 0),
        (size // 4, 0),
        (size // 8, 0),
        (size // 2, 4),
        (size // 4, 4),
    ):
        path = stored(replace(BLINDW, transactions=size, operations=4, keys=keys, values=values, sessions=8))
        native = run(path, Way(given.level, timeout=given.timeout, clock="cpu"))
        wrong += native.status != "valid"
        count, left, times = "", "", []
        for solver in solvers:
            found = run(path, Way(given.level, solver, None, timeout=given.timeout, clock="cpu"))
            wrong += found.status not in ("valid", "unknown")
            if found.seconds:
                count, left = str(found.superpositions), str(found.left)
            times.append(f"{found.total:.3f}" if found.status == "valid" else found.status)
        rows.append([str(keys), str(values or "unique"), count, left, f"{native.total:.3f}", *times])
        print(shown(rows[-1], widths), flush=True)
    if given.write:
        about = (
            f"{size} transactions of 4 operations in 8 sessions at {given.level}; fewer keys and fewer values make "
            "more superpositions. *left* are those after the passes. Total CPU seconds, parsing included; `unknown` is "
            f"the {given.timeout:g} s limit."
        )
        page(
            "superpositions",
            "Time over the number of superpositions",
            [about],
            table(names, rows, 0),
            arguments,
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
