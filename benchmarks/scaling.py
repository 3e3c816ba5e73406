"""How do time and memory grow with the number of transactions? Serializable, snapshot isolation and read committed.

The native engine on BlindW; the eager back ends (as far as --eager transactions) beside it.

    python benchmarks/scaling.py --sizes 1000,10000,100000 --eager 1000 --write
"""

from __future__ import annotations

import sys
from dataclasses import replace

from phases import PHASES, Way, page, parser, run, shown, table
from run import slope
from simulate import BLINDW, stored


def main(arguments: list[str]) -> int:
    made = parser(__doc__, "scaling")
    made.add_argument("--sizes", default="1000,3000,10000")
    made.add_argument("--levels", default="ser,si,rc")
    made.add_argument("--eager", type=int, default=0, help="also eager back ends, up to so many transactions")
    made.add_argument("--solvers", default="clingo")
    made.add_argument("--timeout", type=float, default=60)
    given = made.parse_args(arguments)
    names = ("transactions", "level", "back end", "verdict", *PHASES, "total s", "MB")
    widths = (12, 6, 8, 8, *(9 for _ in PHASES), 9, 6)
    print(shown(names, widths))
    rows, wrong = [], 0
    growth: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for size in (int(word) for word in given.sizes.split(",")):
        path = stored(replace(BLINDW, transactions=size))
        solvers = ["native", *(given.solvers.split(",") if size <= given.eager else ())]
        for level in given.levels.split(","):
            for solver in solvers:
                passes = () if solver == "native" else None
                found = run(path, Way(level, solver, passes, timeout=given.timeout, clock="cpu"))
                wrong += found.status not in ("valid", "unknown")
                if found.seconds:
                    growth.setdefault((solver, level), []).append((size, found.total))
                rows.append([str(size), level, solver, *found.cells()])
                print(shown(rows[-1], widths), flush=True)
    exponents = [
        [level, solver, f"{slope(points):.2f}"]
        for (solver, level), points in growth.items()
        if len(points) > 1
    ]
    for level, solver, exponent in exponents:
        print(f"growth at {level}, {solver}: total ~ size^{exponent}")
    if given.write:
        lines = table(names, rows, words=4)
        if exponents:
            lines += ["", "The exponent of total time over size; 1 is linear:", ""]
            lines += table(("level", "back end", "exponent"), exponents, words=2)
        about = (
            "BlindW from a serializable database, 8 operations a transaction; CPU seconds, each line in a fresh "
            "process."
        )
        page("scaling", "Time and memory over transactions", [about], lines, arguments)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
