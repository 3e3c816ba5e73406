"""Reachability pruning on columns: what prune.py says, for all items at once.

A round asks of every open edge whether known paths forbid or imply it; then what follows is worked out until nothing
new does: options with a false edge go, a single one that is left holds, an implication whose premises hold gives its
conclusion. Each of these steps is one look at the whole table.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from boomslang.ir.expression import START
from boomslang.passes.columns.of import Columns
from boomslang.passes.columns.table import (
    NONE,
    Bools,
    Expressions,
    Int8,
    Int32,
    Int64,
    KnownEdges,
    Marks,
    Rows,
    Superpositions,
)
from boomslang.passes.problem import Problem, topological
from boomslang.passes.reach import Reach
from boomslang.solve.clock import Clock

ALL_HOLD = -2
"""In the place of a conclusion: the premises are no premises, they all hold."""


def prune_round(columns: Columns, clock: Clock) -> Problem:
    """The problem without what reachability decides; itself, if that is nothing."""
    problem, atoms = columns.problem, columns.atoms
    sources, targets = columns.arcs()
    arcs = np.stack([sources, targets], axis=1)
    clock.look_now()
    order = topological(problem.nodes, arcs)
    if order is None:
        return columns.refuted()
    fixed = columns.fixed.copy()
    changed = False
    reach = Reach(order, arcs, clock.look)
    clock.look_now()
    if reach.known:
        said = np.zeros(len(atoms), np.bool_)
        said[columns.cells()] = True
        spoken = np.flatnonzero(said)
        spoken = spoken[(atoms.source[spoken] != START) & (fixed[spoken] == 0)]
        a, b = atoms.source[spoken], atoms.target[spoken]
        against = reach.reaches(b, a)
        along = reach.reaches(a, b) & ~against & ~asked(columns)[spoken]
        fixed[spoken[against]] = -1
        fixed[spoken[along]] = 1
        changed = bool(against.any() or along.any())
    clock.look_now()
    return _propagated(columns, fixed, changed, clock)


def asked(columns: Columns) -> Bools:
    """Of each atom: does anything depend on it, or is it merely concluded?"""
    found = np.zeros(len(columns.atoms), np.bool_)
    found[columns.superpositions.parts.cells] = True
    found[columns.expressions.premises.cells] = True
    return found


def _propagated(columns: Columns, fixed: Int8, changed: bool, clock: Clock) -> Problem:
    problem, atoms = columns.problem, columns.atoms
    superpositions, expressions = columns.superpositions, columns.expressions
    known = [columns.known]
    is_known = np.zeros(len(atoms), np.bool_)
    is_known[columns.known] = True
    while True:
        clock.look_now()
        first = _superpositions(superpositions, fixed)
        if first is None:
            return columns.refuted()
        kept, instead, smaller = first
        waiting = Expressions(
            atoms,
            expressions.premises.with_(instead.premises),
            np.concatenate([expressions.conclusion, instead.conclusion]),
        )
        second = _expressions(waiting, fixed)
        if second is None:
            return columns.refuted()
        left, units, signs, shorter = second
        changed = changed or smaller or shorter or bool(len(units))
        superpositions, expressions = kept, left
        if not len(units):
            break
        _, where = np.unique(units, return_index=True)
        fixed[units] = signs
        if (fixed[units] != signs).any():  # the same atom, both ways
            return columns.refuted()
        new = units[np.sort(where)]
        new = new[(fixed[new] > 0) & (atoms.source[new] != START) & ~is_known[new]]
        is_known[new] = True
        known.append(new)
    if not changed:
        return problem
    return replace(
        problem,
        known=KnownEdges(atoms, np.concatenate(known)),
        superpositions=superpositions,
        expressions=expressions.distinct(),
        fixed=Marks(atoms, fixed),
        derived=True,
    )


def _superpositions(given: Superpositions, fixed: Int8) -> tuple[Superpositions, Expressions, bool] | None:
    """Those that are left, what holds in place of the others, and whether anything changed. None: a contradiction."""
    values = fixed[given.parts.cells]
    if not values.any():
        return given, Expressions(given.atoms, Rows.empty(), np.zeros(0, np.int32)), False
    opened = given.parts.count(values == 0)
    false = given.parts.count(values < 0) > 0
    true = ~false & (opened == 0)
    possible = ~false & (opened > 0)
    trues, possibles = _per_superposition(given, true), _per_superposition(given, possible)
    if ((trues > 1) | ((trues == 0) & (possibles == 0))).any():
        return None
    keep = (trues == 0) & (possibles > 1)
    options = ~keep[given.owner] & possible
    parts = given.parts.only(values == 0)
    instead = Expressions(
        given.atoms,
        parts.where(options),
        np.where(trues[given.owner[options]] > 0, NONE, ALL_HOLD).astype(np.int32),
    )
    stay = keep[given.owner] & possible
    lengths = possibles[keep]
    kept = Superpositions(
        given.atoms,
        np.concatenate(([0], np.cumsum(lengths))),
        parts.where(stay),
        given.origin[keep],
        given.why,
    )
    return kept, instead, True


def _per_superposition(given: Superpositions, options: Bools) -> Int64:
    return Rows(given.options, given.parts.cells[:0]).count(options)


def _expressions(given: Expressions, fixed: Int8) -> tuple[Expressions, Int32, Int8, bool] | None:
    """Those that are left, the atoms that others fix and how, and whether anything changed. None: a contradiction."""
    values, conclusion = fixed[given.premises.cells], given.conclusion
    concluded = np.where(conclusion >= 0, fixed[conclusion], 0)
    conj = conclusion == ALL_HOLD
    alive = (given.premises.count(values < 0) == 0) & (concluded <= 0) | conj
    premises = given.premises.only(values == 0).where(alive)
    conclusion = np.where(concluded < 0, NONE, conclusion)[alive].astype(np.int32)
    conj = conj[alive]
    lengths = premises.lengths
    if ((lengths == 0) & (conclusion == NONE)).any():
        return None
    holds = (lengths == 0) & (conclusion >= 0)
    fails = (lengths == 1) & (conclusion == NONE)
    done = holds | fails | conj
    # In the order of the rows, so that what is found is told in the order in which it was found.
    of_premises = (fails | conj)[premises.owner]
    row = np.concatenate([premises.owner[of_premises], np.flatnonzero(holds)])
    units = np.concatenate([premises.cells[of_premises], conclusion[holds]]).astype(np.int32)
    signs = np.concatenate([np.where(fails[premises.owner[of_premises]], -1, 1), np.ones(holds.sum())])
    order = np.argsort(row, kind="stable")
    left = Expressions(given.atoms, premises.where(~done), conclusion[~done])
    shorter = len(left) < len(given) or len(left.premises.cells) < len(given.premises.cells)
    shorter = shorter or bool((concluded < 0).any())
    return left, units[order], signs[order].astype(np.int8), shorter
