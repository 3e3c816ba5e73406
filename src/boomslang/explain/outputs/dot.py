"""Graphviz DOT: the transactions of each explanation and the edges between them, the cycle in bold.

One graph a level, all in one text, which `dot -Tsvg` draws one after the other. Of a core of many transactions, what
probably happened is drawn, and its title says so and what the proof is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any

from boomslang.explain.likely_part import beside, shown
from boomslang.explain.outputs.plain import headline, printable

Json = dict[str, Any]

COLOURS = {
    "ww": "#b45309",
    "wr": "#15803d",
    "pwr": "#15803d",
    "rw": "#b91c1c",
    "prw": "#b91c1c",
    "so": "#475569",
    "rt": "#1d4ed8",
}
MOST_DEEDS = 8
"""Operations in a node."""
WIDTH = 100
"""Letters of a line below the drawing."""


def dot(path: str, documents: Sequence[Json]) -> str:
    """All explanations as graphs."""
    return dot_of_several([(path, documents, "")])


def dot_of_several(traces: Sequence[tuple[str, Sequence[Json], str]]) -> str:
    """The same of several traces; what could not be read is a comment."""
    lines: list[str] = []
    for path, documents, error in traces:
        lines += [f"// {printable(line)}" for line in error.splitlines()]
        lines += [line for n, document in enumerate(documents) for line in _graph(path, n, document)]
    return "\n".join(lines) + "\n"


def _graph(path: str, number: int, document: Json) -> Iterator[str]:
    name = f"{number + 1} {document['level']['short']}"
    beside_it = [row for line in beside(document) for row in wrap(line, WIDTH)]
    title = [f"{path}: {headline(document)}", *beside_it]
    document = shown(document)
    yield f"digraph {_quoted(name)} {{"
    yield f"  label={_quoted(*title)};"
    yield '  node [shape=box, style=rounded, fontname="monospace", fontsize=10];'
    yield '  edge [fontname="monospace", fontsize=10];'
    for txn in document["transactions"]:
        dashed = ', style="rounded,dashed"' if txn["role"] != "core" else ""
        yield f"  {_quoted(txn['id'])} [label={_label(txn)}{dashed}];"
    cycles = set(_in_cycles(document["argument"]))
    for edge in document["edges"]:
        yield f"  {_quoted(edge['source'])} -> {_quoted(edge['target'])} [{_style(edge, edge['id'] in cycles)}];"
    yield "}"


def _style(edge: Json, in_cycle: bool) -> str:
    points = "" if edge["source_point"] is None else f" {edge['source_point'][0]}->{edge['target_point'][0]}"
    label = (edge["module"] or edge["kind"]) + points + ("" if edge["key"] is None else f" {edge['key']}")
    colour = COLOURS[edge["kind"]]
    style = [f"label={_quoted(label)}", f'color="{colour}"', f'fontcolor="{colour}"']
    style.append(f"tooltip={_quoted(edge['text'])}")
    if edge["supposed"]:
        style.append("style=dashed")
    if in_cycle:
        style.append("penwidth=2.5")
    return ", ".join(style)


def _in_cycles(argument: Json | None) -> Iterator[str]:
    """The edges of the cycles that the argument ends in."""
    if argument is None:
        return
    if argument["contradiction"] is not None:
        yield from argument["contradiction"]["cycle"]
    for case in argument["cases"]:
        yield from _in_cycles(case["argument"])


def _label(txn: Json) -> str:
    deeds = [o["text"] for o in txn["operations"] if o["matters"]]
    if len(deeds) > MOST_DEEDS:
        deeds = [*deeds[:MOST_DEEDS], f"... and {len(deeds) - MOST_DEEDS} more"]
    session = "" if txn["session"] is None else f" session {txn['session']}"
    outcome = "" if txn["outcome"] == "committed" else f" {txn['outcome']}"
    return _quoted(f"{txn['id']}{session}{outcome}", txn["where"], *deeds)


def _quoted(*lines: str) -> str:
    r"""A quoted string of these lines, each ended as \l: to the left. In it, backslash starts an escape."""
    spelled = [printable(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    return '"' + ("".join(f"{line}\\l" for line in spelled) if len(spelled) > 1 else spelled[0]) + '"'
