"""Whose encoding is faster, when all else is equal? Earlier checkers' encodings on one back end.

The published systems differ in language, solver and optimisations, so their times say little about the
encodings. Here all go through the same passes to the same solver: Cobra beside ours at serializability,
Viper and PolySI beside ours at snapshot isolation, Emme where the version order is told, Elle on lists.

    python benchmarks/earlier_checkers.py --solver clingo --sizes 100,300 --write
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from phases import COLUMNS, Way, page, parser, run, shown, table
from simulate import BLINDW, DATA, generate, stored


def versioned(size: int) -> Path:
    """A history whose transactions say when they committed: the database's own order."""
    path = DATA / f"versioned-{size}.jsonl"
    if not path.exists():
        history = replace(BLINDW, transactions=size, keys=max(3, size // 3), sessions=8)
        plain, witness = path.with_suffix(".plain"), path.with_suffix(".witness")
        generate(history, plain, witness)
        lines = [line.split() for line in witness.read_text().splitlines()]
        place = {int(txn): i + 1 for i, (what, txn) in enumerate(lines) if what == "commit"}
        told = []
        for line in plain.read_text().splitlines():
            data = json.loads(line)
            if data.get("op") == "put" and data["txn"] in place:
                data["ctx"] = {"version": place[data["txn"]]}
            told.append(json.dumps(data))
        path.write_text("\n".join(told) + "\n")
        plain.unlink()
        witness.unlink()
    return path


def lists(size: int) -> Path:
    """Appends and list reads, one transaction after the other."""
    path = DATA / f"lists-{size}.jsonl"
    if not path.exists():
        from boomslang.trace import TraceBuilder, write_trace

        rng, state, element = random.Random(1), {}, 0
        builder = TraceBuilder()
        for i in range(size):
            with builder.transaction(f"S{i % 8}") as t:
                for _ in range(4):
                    key = rng.randrange(max(3, size // 20))
                    held = state.setdefault(key, [])
                    if rng.random() < 0.5:
                        element += 1
                        held.append(element)
                        t.append(key, element)
                    else:
                        t.list(key, list(held))
        DATA.mkdir(exist_ok=True)
        write_trace(builder.build(), path)
    return path


def cases(sizes: list[int]) -> Iterator[tuple[str, int, Path, str, list[str | None]]]:
    for size in sizes:
        blind = stored(replace(BLINDW, transactions=size, keys=max(3, size // 3), sessions=8))
        yield "BlindW", size, blind, "strong-session-ser", [None, "cobra"]
        yield "BlindW", size, blind, "strong-session-si", [None, "viper", "polysi"]
        yield "BlindW, versions told", size, versioned(size), "strong-session-ser", [None, "emme"]
        yield "lists", size, lists(size), "ser", [None, "elle"]


def main(arguments: list[str]) -> int:
    made = parser(__doc__, "earlier_checkers")
    made.add_argument("--solver", default="clingo")
    made.add_argument("--sizes", default="100,200")
    made.add_argument("--timeout", type=float, default=60)
    given = made.parse_args(arguments)
    names = ("history", "size", "level", "encoding", *COLUMNS, "superpositions", "left")
    widths = (22, 6, 19, 9, *(9 for _ in COLUMNS), 14, 6)
    print(shown(names, widths))
    rows, wrong = [], 0
    for label, size, path, level, encodings in cases([int(word) for word in given.sizes.split(",")]):
        for encoding in encodings:
            found = run(path, Way(level, given.solver, None, encoding, given.timeout, "cpu"))
            wrong += found.status not in ("valid", "unknown")
            counts = [str(found.superpositions), str(found.left)]
            rows.append([label, str(size), level, encoding or "Boomslang", *found.cells(), *counts])
            print(shown(rows[-1], widths), flush=True)
    if given.write:
        about = (
            f"Every encoding through all passes to {given.solver}; histories are valid, of 8 operations a transaction "
            "(lists: 4) and 8 sessions. *Boomslang* is the expanded IR, which assumes nothing."
        )
        page(
            "encodings",
            "Encodings of earlier checkers, on one back end",
            [about],
            table(names, rows, 5),
            arguments,
            script="earlier_checkers",
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
