"""What is each pass worth? Eager back ends with none, each alone, all but each, and all, beside the native engine.

One BlindW-like history (half reads, half blind writes; Tan et al., OSDI 2020), valid, and one with a lost
update planted in its middle; the time of each phase.

    python benchmarks/ablation.py                          300 transactions
    python benchmarks/ablation.py --transactions 10000 --keys 2000 --sessions 32 --level ser --solvers clingo \
        --timeout 600 --write                              the paper's (figure "Decomposition of runtime")
"""

from __future__ import annotations

import sys
from dataclasses import replace

from phases import COLUMNS, DID_NOT_END, Way, page, parser, run, shown, table
from simulate import BLINDW, stored

PASSES = ("prune", "merge", "prioritize", "segments")

WAYS = (
    ("none", ()),
    *((name, (name,)) for name in PASSES),
    *((f"no {name}", tuple(other for other in PASSES if other != name)) for name in PASSES),
    ("all", PASSES),
)


def main(arguments: list[str]) -> int:
    made = parser(__doc__, "ablation")
    made.add_argument("--transactions", type=int, default=300)
    made.add_argument("--keys", type=int, default=0, help="default: as many as transactions, over 3")
    made.add_argument("--sessions", type=int, default=8)
    made.add_argument("--level", default="strong-session-ser")
    made.add_argument("--solvers", default="z3,clingo")
    made.add_argument("--timeout", type=float, default=60)
    given = made.parse_args(arguments)
    size = given.transactions
    valid = replace(BLINDW, transactions=size, keys=given.keys or max(3, size // 3), sessions=given.sessions)
    names = ("back end", "passes", *COLUMNS, "superpositions", "left")
    widths = (8, 13, *(9 for _ in COLUMNS), 14, 6)
    lines: list[str] = []
    wrong = 0
    for title, history, expected in (
        ("Valid", valid, "valid"),
        ("With a lost update", replace(valid, plant="lost-update"), "invalid"),
    ):
        path = stored(history)
        print(f"\n{title}: {size} transactions, {given.level}\n\n{shown(names, widths)}")
        rows = []
        ways = [("native", "", Way(given.level, timeout=given.timeout, clock="cpu"))]
        for solver in given.solvers.split(","):
            for label, passes in WAYS:
                way = Way(given.level, solver, passes, timeout=given.timeout, clock="cpu")
                ways.append((solver, label, way))
        for solver, label, way in ways:
            found = run(path, way)
            wrong += found.status not in (expected, "unknown", DID_NOT_END)
            counts = ["", ""] if solver == "native" else [str(found.superpositions), str(found.left)]
            rows.append([solver, label, *found.cells(), *counts])
            print(shown(rows[-1], widths), flush=True)
        lines += [f"## {title}", "", *table(names, rows, words=3), ""]
    if given.write:
        about = (
            f"A BlindW-like history of {size} transactions of 8 operations over {valid.keys} keys, {given.sessions} "
            f"sessions, at {given.level}. *construct* ends with the expanded IR, *optimise* is the passes, *left* the "
            f"superpositions after them; `unknown` is the {given.timeout:g} s limit. CPU seconds, each line "
            "in a fresh process."
        )
        page("ablation", "Ablation: what each pass is worth", [about], lines[:-1], arguments)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
