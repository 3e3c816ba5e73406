"""Certificates: what makes an answer checkable by somebody who does not believe it.

A `Witness` proves *valid*: an order of the points, which fixes who overwrote whom and who read from whom; below
snapshot isolation, where the order alone does not fix every read's writer, those are spelled out. A `Core` proves
*invalid*: the transactions and reads that already break the level. Both are plain numbers of the trace: transaction
t is its t-th (in the order of begins), operation o its o-th row, keys and values are numbered as they appear. Where
modules split transactions, the numbers are those of the parts, in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boomslang.certify.proof import Proof, proof_of
from boomslang.errors import UsageError
from boomslang.trace.model import Trace

Int64 = NDArray[np.int64]
Ints = NDArray[np.signedinteger[Any]]

VERSION = 1
_EXPECTED = "expected what `boomslang check --certificate` wrote"
_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Split:
    """What modules made of a trace whose transactions they split."""

    trace: Trace
    """Of the parts."""
    whole: Int64
    """Of each part, the transaction that it is a part of."""


@dataclass(frozen=True, eq=False)
class Witness:
    """An order that explains the trace at `level`."""

    level: str
    points: int
    order: Int64
    """One point a transaction: transactions. Two: 2t is the begin of transaction t, 2t + 1 its commit."""
    initial: list[tuple[int, int]] = field(default_factory=list)
    """Where the initial state is unknown: (key, value) that it held. All other keys were absent."""
    read_op: Ints = field(default_factory=lambda: _NONE)
    read_key: Ints = field(default_factory=lambda: _NONE)
    read_writer: Ints = field(default_factory=lambda: _NONE)
    """Below snapshot isolation, of each read of others' values its writer; -1 the initial state."""
    version_order: Mapping[int, Int64] = field(default_factory=dict)
    """Below snapshot isolation, of each key with several writers their order."""
    modules: tuple[str, ...] = ()
    """What else it satisfies: modules, with their parameters."""
    split: Split | None = None
    """If they split transactions: what the numbers are of. In no file: the modules make it again."""


@dataclass(frozen=True)
class Core:
    """A part of the trace that breaks `level` on its own, and no smaller part of it does.

    Dropping a transaction makes its outcome unknown and takes its reads, session and time edges away; it stays a
    candidate for others' reads. Dropping a read deletes that (operation, key).
    """

    level: str
    transactions: tuple[int, ...]
    reads: tuple[tuple[int, int], ...]
    """(operation, key)."""
    modules: tuple[str, ...] = ()
    """The modules without which it would not."""
    encoding: str = ""
    """The encoding whose hints it rests on, if it does."""
    proof: Proof | None = None
    """What shows it without a solver; then it holds all that the proof needs, and may be larger than necessary."""


def fingerprint(trace: Trace) -> dict[str, int]:
    """Numbers that tell a trace from another: enough to notice a certificate for the wrong one."""
    return {
        "transactions": len(trace),
        "operations": len(trace.op_kind),
        "keys": len(trace.keys),
        "values": len(trace.values),
        "checksum": int(
            (np.int64(31) * trace.op_key.astype(np.int64) + trace.op_value).sum() % (2**31)
            if len(trace.op_key)
            else 0
        ),
    }


def to_json(trace: Trace, certificate: Witness | Core, **more: Any) -> dict[str, Any]:
    """The certificate as it is written to a file."""
    head: dict[str, Any] = {
        "boomslang-certificate": VERSION,
        "trace": fingerprint(trace),
        "level": certificate.level,
    }
    if certificate.modules:
        head["modules"] = list(certificate.modules)
    if isinstance(certificate, Core):
        if certificate.encoding:
            head["encoding"] = certificate.encoding
        core: dict[str, Any] = {
            "transactions": list(certificate.transactions),
            "reads": [list(r) for r in certificate.reads],
        }
        if certificate.proof is not None:
            core["proof"] = certificate.proof.to_json()
        return {**head, "verdict": "invalid", "core": core, **more}
    body: dict[str, Any] = {
        "verdict": "valid",
        "points": certificate.points,
        "order": certificate.order.tolist(),
        "initial": [list(pair) for pair in certificate.initial],
    }
    if certificate.read_op.size or certificate.version_order:
        body["reads"] = np.stack(
            [certificate.read_op, certificate.read_key, certificate.read_writer], axis=1
        ).tolist()
        body["version-order"] = [
            [key, order.tolist()] for key, order in sorted(certificate.version_order.items())
        ]
    return {**head, **body, **more}


def read_certificate(path: Path, trace: Trace) -> Witness | Core:
    """Reads a certificate file that was made for this trace."""
    import json

    try:
        text = path.read_text()
    except OSError as problem:
        raise UsageError(f"{path}: cannot read the certificate: {problem.strerror}; {_EXPECTED}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: found bytes that are not text; {_EXPECTED}") from None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as problem:
        if not text.startswith('{"boomslang-certificate": 2'):
            raise UsageError(f"{path}: found something that is not JSON ({problem}); {_EXPECTED}") from None
        data = {"boomslang-certificate": 2}
    if isinstance(data, dict) and data.get("boomslang-certificate") == 2:
        raise UsageError(
            f"{path}: a certificate in lines (version 2), which is verified against files and not against a trace in "
            "memory; fix: use `boomslang verify`, or replay_lines of boomslang.certify.lines.replay_order"
        )
    if not isinstance(data, dict) or data.get("boomslang-certificate") != VERSION:
        raise UsageError(f"{path}: not a certificate of version {VERSION}; {_EXPECTED}")
    if data.get("trace") != fingerprint(trace):
        raise UsageError(
            f"{path}: made for another trace ({data.get('trace')}); this one is {fingerprint(trace)}"
        )
    try:
        return _parse(data)
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        told = str(problem) if isinstance(problem, ValueError) else repr(problem)
        raise UsageError(f"{path}: a damaged certificate: {told}; {_EXPECTED}") from None


def _parse(data: dict[str, Any]) -> Witness | Core:
    level, modules = str(data["level"]), data.get("modules", [])
    if not isinstance(modules, list) or not all(isinstance(word, str) for word in modules):
        raise ValueError(f"found {modules!r} as modules; expected a list of names")
    if data["verdict"] == "invalid":
        core = data["core"]
        return Core(
            level,
            tuple(int(t) for t in core["transactions"]),
            tuple((int(o), int(k)) for o, k in core["reads"]),
            tuple(modules),
            str(data.get("encoding", "")),
            proof_of(core["proof"]) if "proof" in core else None,
        )
    if data["verdict"] != "valid":
        raise ValueError(f"found the verdict {data['verdict']!r}; expected 'valid' or 'invalid'")
    reads = np.array(data.get("reads", []), np.int64).reshape(-1, 3)
    return Witness(
        level=level,
        points=int(data["points"]),
        order=np.array(data["order"], np.int64),
        initial=[(int(k), int(v)) for k, v in data["initial"]],
        read_op=reads[:, 0].copy(),
        read_key=reads[:, 1].copy(),
        read_writer=reads[:, 2].copy(),
        version_order={int(k): np.array(order, np.int64) for k, order in data.get("version-order", [])},
        modules=tuple(modules),
    )
