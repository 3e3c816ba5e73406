"""Cobra's encoding of serializability: a polygraph with coalesced constraints.

Tan, Zhao, Mu and Walfish, "Cobra: making transactional key-value stores verifiably serializable", OSDI 2020,
section 3. Every value is written once, so every read has one writer; what is open is the order of the writers of a
key. Cobra

- *combines writes*: a transaction that reads a version and writes the key is the next writer; rows of such writers are
  ordered as a whole;
- *coalesces constraints*: for two rows, one constraint with two sets of edges. Either the last of the one and all who
  read it come before the first of the other, or the other way round;
- prunes constraints by reachability (the pass `prune`).
"""

from __future__ import annotations

from itertools import combinations, pairwise

from boomslang.asg.graph import ASG
from boomslang.encodings.encoding import (
    Encoding,
    Sheet,
    chains,
    of_base,
    refuse_ambiguity,
    refuse_duplicates,
    refuse_lists,
    refuse_ranges,
    refuse_unknown_outcomes,
)
from boomslang.ir.expression import Superposition, all_of
from boomslang.ir.lower import lower
from boomslang.levels.level import Level
from boomslang.passes.problem import Problem
from boomslang.solve.clock import Clock


def write(asg: ASG, level: Level, clock: Clock) -> Problem:
    return polygraph(asg, level, "Cobra", clock)


def polygraph(asg: ASG, level: Level, title: str, clock: Clock) -> Problem:
    """Rows of writers, and a superposition for each two of them."""
    for refuse in (refuse_unknown_outcomes, refuse_ranges, refuse_lists, refuse_duplicates):
        refuse(asg, title)
    ir = lower(asg, level)
    refuse_ambiguity(ir, title)
    sheet = Sheet.of(ir)
    for key in range(asg.keys):
        rows = chains(sheet, key)
        if rows is None:  # two overwrote one version: each read what the other overwrote
            sheet.contradiction()
            continue
        for row in rows:
            for writer, later in pairwise(row):
                sheet.know(sheet.overwrites(writer, later, key))
        initial, *others = rows
        for row in others:
            sheet.know(sheet.overwrites(initial[-1], row[0], key))
        for one, two in clock.over(combinations(others, 2)):
            sheet.superpositions.append(
                Superposition(
                    (
                        all_of(*sheet.overwrites(one[-1], two[0], key)),
                        all_of(*sheet.overwrites(two[-1], one[0], key)),
                    ),
                    why=f"writers of {ir.key_name(key)}: {_names(one)} and {_names(two)}",
                )
            )
    return sheet.problem()


def _names(row: list[int]) -> str:
    return " ".join(f"T{t}" for t in row)


COBRA = Encoding(
    "cobra",
    "Cobra",
    of_base("serializable"),
    "serializability",
    write,
    "Tan et al., OSDI 2020",
)
