"""A document in two: what probably happened as a document of its own, and the rest without it.

Whoever draws or tells a document shows the first, if there is one, and the proof beside it: two transactions say more
than two hundred.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def likely_part(document: Json) -> Json | None:
    """Of a document with a likely part: the same with nothing but that; else None."""
    likely = document["likely"]
    if likely is None:
        return None
    steps = set(_told(likely["argument"]))
    return {
        **document,
        "anomaly": {**likely["anomaly"], "rules_out": []},
        "transactions": [t for t in document["transactions"] if t["id"] in likely["transactions"]],
        "edges": [e for e in document["edges"] if e["step"] in steps],
        "steps": [s for s in document["steps"] if s["id"] in steps],
        "argument": likely["argument"],
        "reads": [r for r in document["reads"] if r["transaction"] in likely["transactions"]],
        "likely": None,
        "proof": None,
    }


def without_likely(document: Json) -> Json:
    """The proof alone. One by counting or states has a few examples for all its transactions."""
    likely, proof = document["likely"], document["proof"]
    steps = set() if likely is None else set(_told(likely["argument"]))
    transactions = [t for t in document["transactions"] if t["role"] != "likely"]
    if proof is not None:
        transactions = [t for t in transactions if t["id"] in proof["examples"]]
    return {
        **document,
        "transactions": transactions,
        "edges": [e for e in document["edges"] if e["step"] not in steps or e["step"] is None],
        "steps": [s for s in document["steps"] if s["id"] not in steps],
        "likely": None,
    }


def shown(document: Json) -> Json:
    """What is to be drawn: what probably happened, else the proof."""
    return likely_part(document) or without_likely(document)


def beside(document: Json) -> list[str]:
    """What is to be said beside that, in a few lines: the proof, and that the rest is likely and no more."""
    lines = []
    if document["proof"] is not None:
        lines.append(f"=> {document['proof']['text']}")
    elif document["likely"] is not None:
        core = sum(t["role"] == "core" for t in document["transactions"])
        lines.append(f"{core:,} transactions, every order of which was refuted; the JSON output has them all")
    if document["likely"] is not None:
        lines.append(f"What probably happened, {document['likely']['how']}:")
        lines += [document["likely"]["when"]] if document["likely"]["when"] else []
    elif document["proof"] is not None:
        lines.append("Some of them:" if len(document["proof"]["examples"]) > 1 else "It is:")
    return lines


def _told(argument: Json) -> list[str]:
    """The steps that an argument without cases speaks of."""
    end = argument["contradiction"]
    return [*argument["steps"], *([] if end is None else end["because"])]
