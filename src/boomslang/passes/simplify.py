"""Expressions in the light of what is known of their atoms: constants folded, and what follows at once.

Unit propagation (Davis, Logemann and Loveland, 1962), on expressions as they are: `false` options of a superposition
go, a single one that is left must hold if `when` does, and an expression of which one atom is left fixes that atom.
"""

from __future__ import annotations

from collections.abc import Mapping

from boomslang.ir.expression import (
    FALSE,
    TRUE,
    And,
    Atom,
    Expression,
    Implies,
    Not,
    Or,
    Superposition,
)


def reduced(e: Expression, fixed: Mapping[Atom, bool]) -> Expression:
    """The expression, with known atoms replaced and constants folded; itself, if there is nothing to do."""
    if isinstance(e, Not):
        inner = reduced(e.inner, fixed)
        if inner is e.inner:
            return e
        if inner == TRUE:
            return FALSE
        return TRUE if inner == FALSE else Not(inner)
    if isinstance(e, (And, Or)):
        parts = [reduced(part, fixed) for part in e.parts]
        if all(new is old for new, old in zip(parts, e.parts, strict=True)):
            return e
        stops, goes = (FALSE, TRUE) if isinstance(e, And) else (TRUE, FALSE)
        if stops in parts:
            return stops
        left = tuple(part for part in parts if part != goes)
        return left[0] if len(left) == 1 else type(e)(left)
    if isinstance(e, Implies):
        premise = reduced(e.premise, fixed)
        conclusion = reduced(e.conclusion, fixed)
        if conclusion == TRUE or premise == FALSE:
            return TRUE
        if premise == TRUE:
            return conclusion
        if conclusion == FALSE:
            return negated(premise)
        return e if premise is e.premise and conclusion is e.conclusion else Implies(premise, conclusion)
    if e in fixed:
        return TRUE if fixed[e] else FALSE
    return e


def negated(e: Expression) -> Expression:
    return e.inner if isinstance(e, Not) else Not(e)


def reduced_superposition(
    s: Superposition, fixed: Mapping[Atom, bool]
) -> tuple[Superposition | None, list[Expression]]:
    """The superposition with known atoms replaced (None: nothing of it is left), and expressions in its place."""
    when = reduced(s.when, fixed)
    if when == FALSE:
        return None, []
    options = [reduced(option, fixed) for option in s.options]
    left = tuple(option for option in options if option != FALSE)
    if TRUE in left:  # exactly one: the others do not hold
        rest = list(left)
        rest.remove(TRUE)
        return None, [_when(when, negated(option)) if option != TRUE else negated(when) for option in rest]
    if not left:
        return None, [negated(when) if when != TRUE else FALSE]
    if len(left) == 1:
        return None, [_when(when, left[0])]
    if (
        when is s.when
        and len(left) == len(s.options)
        and all(a is b for a, b in zip(left, s.options, strict=True))
    ):
        return s, []
    return Superposition(left, s.why, when), []


def _when(when: Expression, e: Expression) -> Expression:
    return e if when == TRUE else Implies(when, e)


def units(e: Expression) -> list[tuple[Atom, bool]]:
    """The atoms whose value an expression that must hold fixes."""
    if isinstance(e, And):
        return [unit for part in e.parts for unit in units(part)]
    if isinstance(e, Not):
        if isinstance(e.inner, Or):
            return [unit for part in e.inner.parts for unit in units(negated(part))]
        if isinstance(e.inner, (And, Implies, Not)):
            return []
        return [(e.inner, False)]
    if isinstance(e, (Or, Implies)):
        return []
    return [(e, True)]


def is_literal(e: Expression) -> bool:
    """An atom or its negation: all that it says is the atom's value."""
    return not isinstance(e.inner if isinstance(e, Not) else e, (Not, And, Or, Implies))
