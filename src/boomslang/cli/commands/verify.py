"""`boomslang verify`: does a certificate prove what it claims?

A witness is replayed (certify/replay.py), a core is refuted by Z3 and tried for parts that are not needed
(certify/refute.py). Neither shares code with the engine that made the certificate. What rests on modules or hints is
verified together with what these say (certify/with_modules.py, with_hints.py), and the answer tells what was
believed. A certificate in lines is verified without loading the trace (certify/lines).
Exit code 0: it proves it; 1: it does not; 2: Z3 came to no end in time, which says neither; 254: it cannot be read, or
was made for another trace.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from boomslang.certify.certificate import Core, Witness, read_certificate
from boomslang.certify.proof import StuckSessions, TooFewArrivals, TooFewVersions
from boomslang.certify.proved import fault_of_proof
from boomslang.certify.refute import CoreError, MissingSolver, Part, needless_parts, refute
from boomslang.certify.replay import ReplayError, replay
from boomslang.certify.with_hints import refute_with_hints
from boomslang.certify.with_modules import (
    needless_parts_with_modules,
    refute_with_modules,
    replay_with_modules,
)
from boomslang.cli import exit_codes
from boomslang.cli.options.jobs import add_jobs
from boomslang.cli.options.limits import positive
from boomslang.cli.options.trace_input import add_format, free_ctrl_c, load
from boomslang.cli.progress import Watch, watched
from boomslang.cli.screen import Screen
from boomslang.deadline import until
from boomslang.encodings import find_encoding
from boomslang.errors import UsageError
from boomslang.levels import Level, find_level, fitted, implies, is_shipped, known_levels
from boomslang.modules import Module, find_modules
from boomslang.modules.registry import find_recorded
from boomslang.storage import located
from boomslang.trace import Trace
from boomslang.trace.errors import LimitReached
from boomslang.trace.rows import what_was_read
from boomslang.verdict import vacuous, vacuous_count

SECONDS = 60.0
"""In which a core must be refuted, unless --timeout says otherwise."""
MINIMAL_SECONDS = 20.0
"""In which the parts of a refuted core are left out one by one."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Does a certificate prove what it claims? Exit code 0: yes; 1: no; 2: not decided in time; 254: it cannot be "
        "read, or was made for another trace. A certificate of `invalid` needs the Z3 extra (pip install "
        "'boomslang-checker[z3]'), unless it proves it by counting or by states."
    )
    parser.add_argument("trace", metavar="TRACE", help="the trace that was checked; - is standard input")
    parser.add_argument("certificate", metavar="CERTIFICATE", help="what `check --certificate` wrote")
    add_format(parser)
    add_jobs(parser)
    parser.add_argument(
        "--module",
        action="append",
        default=[],
        metavar="FILE",
        help="a Python file with a module that the certificate was made with; those that come with Boomslang are "
        "known",
    )
    parser.add_argument(
        "--level",
        metavar="FILE",
        help="a Python file with the level that the certificate was made at, if it is none of Boomslang's",
    )
    parser.add_argument(
        "--timeout",
        type=positive,
        default=SECONDS,
        metavar="S",
        help=f"let Z3 try to refute a core for S seconds ({SECONDS:g} unless given)",
    )
    parser.add_argument("--quiet", "-q", action="store_true", help="print nothing but errors and warnings")
    parser.set_defaults(run=run)


@dataclass(frozen=True)
class Finding:
    """What became of a certificate."""

    fault: str = ""
    """What is wrong with it; empty if it is right."""
    how: str = ""
    """What shows that it is right."""
    undecided: str = ""
    """What could not be shown either way in the time there was."""
    believed: tuple[str, ...] = ()
    """What had to be taken on trust."""


@dataclass(frozen=True)
class Claimed:
    """What a certificate says, and what was found."""

    status: str
    level: Level
    found: Finding
    warnings: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    path = located(arguments.certificate)
    given = find_modules(arguments.module)
    if arguments.level is not None:
        find_level(arguments.level)
    free_ctrl_c()
    try:
        if _version(path) == 2:
            claimed = watched(lambda watch: _in_lines(arguments, path, watch), quiet=arguments.quiet)
        else:
            claimed = watched(lambda watch: _whole(arguments, path, given, watch), quiet=arguments.quiet)
    except MissingSolver as missing:
        raise UsageError(str(missing)) from None
    for text in claimed.warnings:
        screen.warning(text)
    found, claim = claimed.found, f"{arguments.trace} is {claimed.status} at {claimed.level.title}"
    if claimed.modules:
        claim += f" with {' and '.join(claimed.modules)}"
    if found.fault:
        screen.line(("WRONG", "bold red"), f": {path} does not show that {claim}: {found.fault}")
        return exit_codes.INVALID
    if found.undecided:
        screen.line(("unknown", "bold yellow"), f": {path} may show that {claim}, or not: {found.undecided}")
        for text in found.believed:
            screen.line((text, "dim"), indent=2)
        return exit_codes.UNKNOWN
    screen.line(("right", "bold green"), f": {path} shows that {claim}: {found.how}")
    for text in found.believed:
        screen.line((text, "dim"), indent=2)
    return exit_codes.VALID


def _whole(arguments: argparse.Namespace, path: Path, given: tuple[Module, ...], watch: Watch) -> Claimed:
    """Version 1: the trace is loaded."""
    trace = load(arguments.trace, watch, format=arguments.format, jobs=arguments.jobs)
    watch.begin("reading the certificate")
    certificate = read_certificate(path, trace)
    level = _level(certificate.level, trace, path)
    find_recorded(certificate.modules, given)
    watch.begin("verifying")
    if isinstance(certificate, Witness):
        found = _undecidable(trace, level) or _replayed(trace, certificate, given)
        return Claimed("valid", level, found, tuple(trace.warnings), certificate.modules)
    found = _refuted(trace, certificate, given, _says_it_is_minimal(path), arguments.timeout)
    return Claimed("invalid", level, found, tuple(trace.warnings), certificate.modules)


def _in_lines(arguments: argparse.Namespace, path: Path, watch: Watch) -> Claimed:
    """Version 2: the trace is read beside the certificate, and never held."""
    from boomslang.certify.lines.files_read import FilesRead
    from boomslang.certify.lines.reader import Lines
    from boomslang.certify.lines.replay_order import replay_lines
    from boomslang.certify.lines.small_trace import small_trace
    from boomslang.cores import all_cores

    watch.begin("verifying")
    trace, jobs = located(arguments.trace), arguments.jobs
    threads = all_cores() if jobs is None else jobs
    with path.open("rb") as file:
        certificate = Lines(path, cast(BinaryIO, file))
        if not certificate.invalid:
            level = _level(certificate.level, None, path)
            with FilesRead(trace, jobs=threads) as files:
                try:
                    done = replay_lines(trace, certificate, files)
                except ReplayError as error:
                    return Claimed("valid", level, Finding(str(error)))
            lacking = _lacks(level, done.has_times, done.has_sessions)
            vacuous = vacuous_count(done.transactions, done.committed)
            how = f"its order explains all {done.operations:,} operations"
            found = lacking or (Finding(vacuous) if vacuous else Finding(how=how))
            return Claimed("valid", level, found, done.warnings)
        certificate.nothing_follows()
    try:
        small = small_trace(trace, certificate, jobs=threads)
    except CoreError as error:
        return Claimed("invalid", _level(certificate.level, None, path), Finding(str(error)))
    level = _level(certificate.level, small.trace, path)
    explanation = certificate.head.get("explanation")
    minimal = not (isinstance(explanation, dict) and explanation.get("minimal") is False)
    found = _refuted(small.trace, small.core, (), minimal, arguments.timeout)
    return Claimed("invalid", level, found, small.warnings)


def _version(path: Path) -> int:
    from boomslang.certify.lines.reader import version_of

    return version_of(path)


def _level(name: str, trace: Trace | None, path: Path) -> Level:
    """The level of that very name, as it is for this trace."""
    known = next((level for level in known_levels() if level.name == name), None)
    if known is not None:
        return known
    try:
        bounded = fitted(find_level(name), trace) if trace is not None and "-within-" in name else None
    except UsageError as problem:
        raise UsageError(f"{path}: found the level {name!r}: {problem}") from None
    if bounded is None or bounded.name != name:
        names = ", ".join(level.name for level in known_levels())
        raise UsageError(
            f"{path}: found the unknown level {name!r}; known levels: {names}; give the file that has it: "
            "--level FILE.py"
        )
    return bounded


def _undecidable(trace: Trace, level: Level) -> Finding | None:
    """A level that `check` would not say to hold of this trace is shown by no order either."""
    lacks = _lacks(level, trace.has_times, trace.has_sessions)
    if lacks:
        return lacks
    reason = vacuous(trace)
    return Finding(reason) if reason else None


def _lacks(level: Level, has_times: bool, has_sessions: bool) -> Finding | None:
    lacks = [
        word
        for word, needed, held in (
            ("times", level.needs_times, has_times),
            ("sessions", level.needs_sessions, has_sessions),
        )
        if needed and not held
    ]
    if not lacks:
        return None
    words = " and ".join(lacks)
    return Finding(f"the level speaks of {words}, and the trace has none, so nobody can say that it holds")


def _replayed(trace: Trace, witness: Witness, given: tuple[Module, ...]) -> Finding:
    explains = f"its order explains all {len(trace.op_kind):,} operations"
    try:
        level = find_level(witness.level)
        if not witness.modules and is_shipped(level):
            replay(trace, witness)
            return Finding(how=explains)
        as_ever = replay_with_modules(trace, witness, given)
        if not is_shipped(level):
            believed = (_defined(level), *((_TRUST,) if witness.modules else ()))
            return Finding(how=f"{explains}, and keeps all that the level asks", believed=believed)
    except ReplayError as error:
        return Finding(str(error))
    if as_ever:
        return Finding(how=f"{explains}, and keeps what the modules say", believed=(_TRUST,))
    return Finding(
        how="its order keeps all that is asked of the trace as the modules see it", believed=(_LESS, _TRUST)
    )


_TRUST = "believed: what the modules say of this trace, which their own code was asked again"


def _defined(level: Level) -> str:
    return f"believed: the definition of {level.name}, of {level.owner or 'this program'}: {level.citation}"


_LESS = (
    "not done: the replay that shares no code with the checker, because the modules change what the trace means or "
    "take something back that the level asks for"
)


def _refuted(
    trace: Trace, core: Core, given: tuple[Module, ...], claims_minimal: bool, seconds: float
) -> Finding:
    if core.proof is not None:
        return _proved(trace, core)
    try:
        if core.encoding:
            return _hinted(trace, core)
        with until(time.monotonic() + seconds):
            return _refuted_in_time(trace, core, given, claims_minimal)
    except CoreError as error:
        return Finding(str(error))
    except LimitReached as limit:
        why = f"in {seconds:g} s (--timeout)" if limit.reason == "time" else f"({limit.reason})"
        return Finding(undecided=f"Z3 came to no end of its {_size(core)} {why}", believed=_looked_at(core))


def _size(core: Core) -> str:
    return f"{len(core.transactions):,} transactions and {len(core.reads):,} reads"


def _looked_at(core: Core) -> tuple[str, ...]:
    """What is known of a core that was not refuted in time."""
    found = "" if core.modules else ", and has its transactions and reads"
    return (
        f"checked: the trace is the one that it was made for{found}",
        "not checked: that no order explains these, and that each of them is needed",
    )


def _hinted(trace: Trace, core: Core) -> Finding:
    title = find_encoding(core.encoding).title
    if not refute_with_hints(trace, core):
        return Finding(f"what {title} reads in the hints of its transactions closes no cycle")
    return Finding(
        how=f"what {title} reads in the hints of its {len(core.transactions)} transactions closes a cycle",
        believed=("believed: the hints; without them the trace may be valid",),
    )


def _refuted_in_time(trace: Trace, core: Core, given: tuple[Module, ...], claims_minimal: bool) -> Finding:
    level = find_level(core.level)
    as_data = bool(core.modules) or not is_shipped(level)
    if not (refute_with_modules(trace, core, given) if as_data else refute(trace, core)):
        return Finding("its transactions and reads do not break the level")
    untried = 0
    if claims_minimal:
        spare, untried = (
            needless_parts_with_modules(trace, core, given, MINIMAL_SECONDS)
            if as_data
            else needless_parts(core, lambda fewer: refute(trace, fewer), MINIMAL_SECONDS)
        )
        if spare:
            what = _name(trace, spare[0], bool(core.modules))
            return Finding(f"it is refuted, but not minimal: {what} can be left out")
    believed = (_most_needed(core, untried),) if untried else ()
    if core.modules:
        how = f"Z3 refutes its {_size(core)}, with what the modules say of them"
        return Finding(how=how, believed=(_TRUST, *believed))
    if not is_shipped(level):
        believed = (_defined(level), *believed)
    return Finding(how=f"Z3 refutes its {_size(core)}", believed=believed)


def _most_needed(core: Core, untried: int) -> str:
    """A refutation stands whether or not it could be smaller, so nobody has to wait for all of that."""
    parts = len(core.transactions) + len(core.reads)
    tried = (
        f"none of the other {parts - untried} can be left out"
        if untried < parts
        else "none was tried to the end"
    )
    return f"believed: that {untried} of its {parts} parts are needed; {tried}"


def _proved(trace: Trace, core: Core) -> Finding:
    """No solver is needed where a count, a set of states or a walk along the sessions refutes the trace."""
    proof = core.proof
    if core.modules or core.encoding:
        return Finding("a proof by counting or states takes no modules and no encoding")
    assert proof is not None
    level = find_level(core.level)
    # Whoever breaks a level breaks all that imply it.
    names = [core.level]
    if not is_shipped(level):
        names = [known.name for known in known_levels() if is_shipped(known) and implies(level, known)]
    faults = [fault_of_proof(trace, name, proof) for name in names]
    if all(faults):
        return Finding(faults[0] if faults else "no level that it speaks of is implied")
    if isinstance(proof, TooFewVersions):
        who = f"{len(proof.readers):,} transactions read {trace.keys[proof.key]!r} and overwrote it"
        return Finding(how=f"{who}, and there were fewer versions of it to overwrite")
    if isinstance(proof, TooFewArrivals):
        keys = f"{len(proof.keys)} keys" if len(proof.keys) > 1 else "a key"
        who = f"{len(proof.departures):,} transactions saw {keys} in one state and changed it"
        return Finding(how=f"{who}, and fewer can have brought that state about")
    if isinstance(proof, StuckSessions):
        ways = f"all {proof.frontiers:,} places that its sessions can come to were visited"
        return Finding(how=f"{ways}, and at most {proof.most:,} transactions are past any of them")
    states = f"nothing that happened leads out of its {len(proof.states):,} states"
    return Finding(how=f"{states}, and what T{proof.transaction} saw fits none of them")


def _says_it_is_minimal(path: Path) -> bool:
    """All cores are, but those whose shrinking ran out of time; these say so."""
    explanation = json.loads(path.read_text()).get("explanation")
    return not (isinstance(explanation, dict) and explanation.get("minimal") is False)


def _name(trace: Trace, part: Part, by_modules: bool) -> str:
    if by_modules:  # where transactions are split, the numbers are not the trace's
        return f"T{part}" if isinstance(part, int) else f"the read of operation {part[0]}, key {part[1]}"
    if isinstance(part, int):
        return f"T{part} ({trace.where(part)})"
    row, key = part
    return f"the read of {what_was_read(trace, key)!r} at {trace.operation(row).where}"
