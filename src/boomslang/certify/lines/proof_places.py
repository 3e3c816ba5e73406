"""Refutations that need no solver (certify/proof.py), with places and contents in place of the trace's numbers.

The fields are those of version 1: a transaction is [file, line of its begin], a reader [file, line, line of
the operation that read], keys and values are themselves; absent is {"absent": true}, and a value that the
trace does not name {"unnamed": true}; what a proof does not tell apart is {"other": true}.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import Any

from boomslang.certify.lines.form import code_of, json_of
from boomslang.certify.proof import (
    OTHER,
    UNNAMED,
    Proof,
    StuckSessions,
    TooFewArrivals,
    TooFewVersions,
    proof_of,
)
from boomslang.certify.refute import CoreError
from boomslang.trace.model import ABSENT, Trace
from boomslang.trace.scalars import Code

Place = tuple[str, int]
"""The name of a file, and a line."""
_MARKS = {ABSENT: {"absent": True}, UNNAMED: {"unnamed": True}, OTHER: {"other": True}}


def proof_to_json(trace: Trace, proof: Proof) -> dict[str, Any] | None:
    """In places and contents. The trace has the lines that the user sees. None: the proof speaks of the whole trace,
    and a solver looks at its core instead."""
    if isinstance(proof, StuckSessions):
        return None

    def place(t: int) -> list[Any]:
        return [PurePath(trace.files[int(trace.txn_file[t])]).name, int(trace.txn_begin_line[t])]

    def key(k: int) -> Any:
        return json_of(trace.keys[k])

    def value(v: int) -> Any:
        return _MARKS[v] if v in _MARKS else json_of(trace.values[v])

    if isinstance(proof, TooFewVersions):
        readers = [[*place(t), int(trace.op_line[row])] for t, row in proof.readers]
        later = [place(t) for t in proof.later]
        return {"kind": "counting", "key": key(proof.key), "readers": readers, "later": later}
    keys = [key(k) for k in proof.keys]
    if isinstance(proof, TooFewArrivals):
        return {
            "kind": "departures",
            "keys": keys,
            "state": [value(v) for v in proof.state],
            "departures": [place(t) for t in proof.departures],
            "later": [place(t) for t in proof.later],
        }
    states = [[value(v) for v in state] for state in proof.states]
    told = {"kind": "states", "keys": keys, "states": states, "transaction": place(proof.transaction)}
    return {**told, "apart": [value(v) for v in proof.apart]} if proof.apart else told


def keys_of(data: Any) -> set[Code]:
    """Of which keys a proof speaks. Raises KeyError, TypeError or ValueError if it has another form."""
    return {code_of(key) for key in ([data["key"]] if data["kind"] == "counting" else data["keys"])}


def places_of(data: Any) -> set[Place]:
    """Of which transactions."""
    listed = [*data.get("readers", ()), *data.get("later", ()), *data.get("departures", ())]
    if "transaction" in data:
        listed.append(data["transaction"])
    return {(str(file), int(line)) for file, line, *_ in listed}


def proof_from_json(
    data: Any,
    txn: Callable[[Any, Any], int],
    row: Callable[[Any, Any], int],
    key: Callable[[Code], int],
    value: Callable[[Code], int | None],
) -> Proof:
    """In the numbers of a trace: `txn` and `row` know them by file and line, `key` and `value` by content.
    Raises KeyError, TypeError or ValueError if it has another form.

    A trace that is smaller than the one it was made for may not have all values. A state with another is left out:
    nobody here leads to it, nor asks for it, so at first it can only have stood for a value that is not named."""

    def number(one: Any) -> int | None:
        mark = next((v for v, form in _MARKS.items() if form == one), None)
        return value(code_of(one)) if mark is None else mark

    def known(numbers: Iterable[int | None]) -> list[int]:
        return [one for one in numbers if one is not None]

    told: dict[str, Any] = {"kind": data["kind"]}
    if told["kind"] == "counting":
        told["key"] = key(code_of(data["key"]))
        told["readers"] = [[txn(file, line), row(file, at)] for file, line, at in data["readers"]]
    else:
        told["keys"] = [key(code_of(one)) for one in data["keys"]]
    if told["kind"] == "departures":
        told["state"] = known(map(number, data["state"]))
        if len(told["state"]) < len(data["state"]):
            raise CoreError("the proof speaks of a value that nobody wrote to its keys")
        told["departures"] = [txn(*place) for place in data["departures"]]
    if told["kind"] == "states":
        states = ([number(one) for one in state] for state in data["states"])
        told["states"] = [known(state) for state in states if None not in state]
        told["transaction"] = txn(*data["transaction"])
        told["apart"] = known(map(number, data.get("apart", [])))
    else:
        told["later"] = [txn(*place) for place in data["later"]]
    return proof_of(told)
