"""`boomslang verify`: does a certificate prove what it claims?

A witness is replayed (certify/replay.py), a core is refuted by Z3 and tried for parts that are not needed
(certify/refute.py). Neither shares code with the engine that made the certificate. Exit code 0: it proves it;
1: it does not; 254: it cannot be read, or was made for another trace.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from boomslang.certify.certificate import Core, Witness, read_certificate
from boomslang.certify.refute import CoreError, MissingSolver, Part, minimal, refute
from boomslang.certify.replay import ReplayError, replay
from boomslang.cli import exits
from boomslang.cli.loading import add_format, free_ctrl_c, load
from boomslang.cli.screen import Screen
from boomslang.cli.watch import Watch, watched
from boomslang.errors import UsageError
from boomslang.levels import LEVELS
from boomslang.trace import Trace

if TYPE_CHECKING:
    from boomslang.cli.main import Commands


def add(commands: Commands) -> None:
    parser = commands.add_parser(
        "verify",
        help="check a certificate",
        description="Does a certificate prove what it claims? Exit code 0: yes; 1: no; 254: it cannot be "
        "read, or was made for another trace. A certificate of `invalid` needs the Z3 extra: "
        "pip install z3-solver.",
    )
    parser.add_argument("trace", metavar="TRACE", help="the trace that was checked")
    parser.add_argument("certificate", metavar="CERTIFICATE", help="what `check --certificate` wrote")
    add_format(parser)
    parser.add_argument("--quiet", "-q", action="store_true", help="print nothing but errors and warnings")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    path = Path(arguments.certificate)

    def work(watch: Watch) -> tuple[Witness | Core, str, Trace]:
        trace = load(arguments.trace, watch, format=arguments.format)
        watch.begin("reading the certificate")
        certificate = read_certificate(path, trace)
        if certificate.level not in {level.name for level in LEVELS}:
            known = ", ".join(level.name for level in LEVELS)
            raise UsageError(f"{path}: found the unknown level {certificate.level!r}; known levels: {known}")
        watch.begin("verifying")
        if isinstance(certificate, Witness):
            return certificate, _replayed(trace, certificate), trace
        return certificate, _refuted(trace, certificate, path), trace

    free_ctrl_c()
    try:
        certificate, fault, trace = watched(work, quiet=arguments.quiet)
    except MissingSolver as missing:
        raise UsageError(str(missing)) from None
    for text in trace.warnings:
        screen.warning(text)
    title = next(level.title for level in LEVELS if level.name == certificate.level)
    claim = f"{arguments.trace} is {'valid' if isinstance(certificate, Witness) else 'invalid'} at {title}"
    if fault:
        screen.line(("WRONG", "bold red"), f": {path} does not show that {claim}: {fault}")
        return exits.INVALID
    how = (
        f"its order explains all {len(trace.op_kind):,} operations"
        if isinstance(certificate, Witness)
        else f"Z3 refutes its {len(certificate.transactions)} transactions and {len(certificate.reads)} reads"
    )
    screen.line(("right", "bold green"), f": {path} shows that {claim}: {how}")
    return exits.VALID


def _replayed(trace: Trace, witness: Witness) -> str:
    """What is wrong with a witness."""
    try:
        replay(trace, witness)
    except ReplayError as error:
        return str(error)
    return ""


def _refuted(trace: Trace, core: Core, path: Path) -> str:
    """What is wrong with a core."""
    try:
        if not refute(trace, core):
            return "its transactions and reads do not break the level"
        if _says_it_is_minimal(path) and (spare := minimal(trace, core)):
            return f"it is refuted, but not minimal: {_name(trace, spare[0])} can be left out"
    except CoreError as error:
        return str(error)
    return ""


def _says_it_is_minimal(path: Path) -> bool:
    """All cores are, but those whose shrinking ran out of time; these say so."""
    explanation = json.loads(path.read_text()).get("explanation")
    return not (isinstance(explanation, dict) and explanation.get("minimal") is False)


def _name(trace: Trace, part: Part) -> str:
    if isinstance(part, int):
        return f"T{part} ({trace.where(part)})"
    row, key = part
    return f"the read of {trace.keys[key]!r} at {trace.operation(row).where}"
