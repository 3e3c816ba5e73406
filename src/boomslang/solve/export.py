"""A problem as text, for any other solver. Satisfiable means: the trace satisfies the level.

**SMT-LIB** (`smtlib`; version 2.6, logic QF_IDL): an integer for each point, a boolean for each atom; an edge that is
true puts its source before its target. Comments say what is what. `z3 FILE`, `cvc5 FILE`, `yices-smt2 FILE`.

**DIMACS with a graph** (`dimacs-graph`), which is MonoSAT's GNF: DIMACS CNF (`p cnf VARIABLES CLAUSES`, then
clauses that end in 0), followed by a graph whose edges are variables:

    digraph int NODES EDGES 0
    edge 0 FROM TO VARIABLE        the edge is there if the variable is true
    acyclic 0 VARIABLE             true if the graph has no cycle

Each edge has a variable of its own. An edge that is always there, and `acyclic`, have one that a unit clause makes
true. Comments (`c ...`) say what the variables and nodes are. `monosat FILE`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

from boomslang.ir.expression import (
    FALSE,
    START,
    TRUE,
    And,
    Atom,
    Edge,
    Expression,
    Implies,
    Not,
    Or,
)
from boomslang.ir.printer import format_expression
from boomslang.passes.problem import Problem
from boomslang.solve.cnf import to_clauses


def to_smtlib(problem: Problem) -> Iterator[str]:
    """The lines of an SMT-LIB script."""
    names: dict[Atom, str] = {atom: f"a{i}" for i, atom in enumerate(problem.atoms())}
    graph = problem.ir.graph
    yield f"; {problem.ir.level.name}: sat if the trace satisfies it"
    yield "(set-logic QF_IDL)"
    for node in range(problem.nodes):
        yield f"(declare-const n{node} Int) ; {graph.name(node)}"
    for atom, name in names.items():
        yield f"(declare-const {name} Bool) ; {_comment(format_expression(problem.ir, atom))}"
    for a, b in dict.fromkeys(problem.arcs()):
        yield f"(assert (< n{a} n{b}))"
    for atom, name in names.items():
        if isinstance(atom, Edge) and atom.source != START:
            yield f"(assert (=> {name} (< n{atom.source} n{atom.target})))"
        if atom in problem.fixed:
            yield f"(assert {name})" if problem.fixed[atom] else f"(assert (not {name}))"
    for s in problem.superpositions:
        when = _term(s.when, names)
        options = [_term(option, names) for option in s.options]
        yield f"(assert (=> {when} {_joined('or', options, 'false')}))"
        for one, two in combinations(options, 2):
            yield f"(assert (=> {when} (not (and {one} {two}))))"
    for e in problem.expressions:
        yield f"(assert {_term(e, names)})"
    yield "(check-sat)"


def _term(e: Expression, names: dict[Atom, str]) -> str:
    if e in (TRUE, FALSE):
        return "true" if e == TRUE else "false"
    if isinstance(e, Not):
        return f"(not {_term(e.inner, names)})"
    if isinstance(e, Implies):
        return f"(=> {_term(e.premise, names)} {_term(e.conclusion, names)})"
    if isinstance(e, (And, Or)):
        return _joined("and" if isinstance(e, And) else "or", [_term(p, names) for p in e.parts], "")
    return names[e]


def _joined(word: str, terms: list[str], none: str) -> str:
    return f"({word} {' '.join(terms)})" if len(terms) > 1 else terms[0] if terms else none


def _comment(text: str) -> str:
    """Names come from the trace; a comment ends with its line."""
    return " ".join(text.split())


def to_dimacs_graph(problem: Problem) -> Iterator[str]:
    """The lines of a GNF file."""
    written = to_clauses(problem)
    graph, arcs, units = problem.ir.graph, list(written.arcs), []
    for a, b in dict.fromkeys(written.always):
        variable = written.fresh()
        arcs.append((a, b, variable))
        units.append(variable)
    acyclic = written.fresh()
    units.append(acyclic)
    yield f"c {problem.ir.level.name}: satisfiable if the trace satisfies it"
    for atom, number in written.of.items():
        yield f"c variable {number} {_comment(format_expression(problem.ir, atom))}"
    for node in range(problem.nodes):
        yield f"c node {node} {graph.name(node)}"
    yield f"p cnf {written.variables} {len(written.clauses) + len(units)}"
    for clause in (*written.clauses, *([unit] for unit in units)):
        yield " ".join(map(str, [*clause, 0]))
    yield f"digraph int {problem.nodes} {len(arcs)} 0"
    for a, b, variable in arcs:
        yield f"edge 0 {a} {b} {variable}"
    yield f"acyclic 0 {acyclic}"


FORMATS: dict[str, Callable[[Problem], Iterator[str]]] = {
    "smtlib": to_smtlib,
    "dimacs-graph": to_dimacs_graph,
}
