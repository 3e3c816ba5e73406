"""`boomslang convert`: from one format to another, and never less than was there without saying so.

A format that cannot say all that the trace does names what would be lost. Some of it may go if the user agrees
(--lossy); some may not, as what is left would be another history; labels, such as the names of transactions, go with
no more than a word. The output is written under another name and moved to its place when it is whole.
"""

from __future__ import annotations

import argparse
import os
import shutil
from pathlib import Path

from boomslang.cli import exit_codes
from boomslang.cli.options.trace_input import TRACE, load
from boomslang.cli.progress import Watch, watched
from boomslang.cli.screen import Screen
from boomslang.errors import UsageError
from boomslang.trace import Trace
from boomslang.trace.formats import FORMATS, Format, Loss, find
from boomslang.trace.formats.plain import plain

SUFFIXES = {
    ".jsonl": "jsonl",
    ".jsonl.gz": "jsonl",
    ".jsonl.xz": "jsonl",
    ".jsonl.bz2": "jsonl",
    ".arrow": "arrow",
    ".parquet": "parquet",
    ".bincode": "dbcop-bincode",
    ".hist": "dbcop-hist",
    ".edn": "jepsen-edn",
}
"""What the name of a file tells about its format."""
AMBIGUOUS = {
    ".json": ("dbcop-json", "jepsen-json", "timekiller"),
    ".txt": ("text", "awdit"),
}


def add(parser: argparse.ArgumentParser) -> None:
    targets = ", ".join(format.name for format in FORMATS if format.write is not None)
    parser.description = (
        "Writes a trace in another format. What that format cannot say is refused, or left out with --lossy."
    )
    parser.add_argument("input", metavar="IN", help=TRACE)
    parser.add_argument("output", metavar="OUT", help="the file or folder to write; it must not exist")
    parser.add_argument("--to", metavar="FORMAT", help=f"OUT's format, if its name does not tell: {targets}")
    parser.add_argument(
        "--from", metavar="FORMAT", dest="source", help="IN's format, if its content does not tell"
    )
    parser.add_argument("--lossy", action="store_true", help="leave out what the format cannot say")
    parser.add_argument(
        "--plain",
        action="store_true",
        help="the same history in numbers, for checkers that know registers alone (docs: formats)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    source = None if arguments.source is None else find(arguments.source).name
    output = Path(arguments.output)
    target = target_format(output, arguments.to)
    _check_place(output, Path(arguments.input))
    temporary = output.with_name(f".{os.getpid()}.{output.name}")

    def work(watch: Watch) -> tuple[Trace, list[Loss]]:
        trace = load(arguments.input, watch, format=source)
        trace, changed = plain(trace) if arguments.plain else (trace, [])
        _refuse(changed, "--plain", lossy=arguments.lossy)
        lost = [*changed, *target.losses(trace)]
        _refuse(lost, target.name, lossy=arguments.lossy)
        watch.begin(f"writing {target.name}")
        _write(target, trace, temporary)
        return trace, lost

    try:
        trace, lost = watched(work)
        if output.exists():
            raise UsageError(_exists(output))
        temporary.rename(output)
    finally:
        _remove(temporary)  # also after Ctrl-C, which leaves the worker behind
    for warning in trace.warnings:
        screen.warning(warning)
    for loss in lost:
        screen.warning(f"lost: {loss.what}")
    screen.line(f"{arguments.output}: {len(trace):,} transactions as {target.name}")
    return exit_codes.VALID


def target_format(output: Path, name: str | None) -> Format:
    """The format to write: as asked for, or as the name of the file tells."""
    if name is not None:
        format = find(name)
        if format.write is None:
            raise UsageError(f"{format.name} can be read but not written; {_writable()}")
        return format
    low = output.name.lower()
    for suffix, known in SUFFIXES.items():
        if low.endswith(suffix):
            return target_format(output, known)
    for suffix, several in AMBIGUOUS.items():
        if low.endswith(suffix):
            raise UsageError(f"{output}: {suffix} may be {' or '.join(several)}; say which with --to")
    raise UsageError(f"{output}: its name does not tell a format; say which with --to; {_writable()}")


def _writable() -> str:
    return "one of: " + ", ".join(format.name for format in FORMATS if format.write is not None)


def _check_place(output: Path, source: Path) -> None:
    if output.exists() or output.is_symlink():
        raise UsageError(_exists(output))
    if not output.parent.is_dir():
        raise UsageError(f"{output}: there is no folder {output.parent}")
    if source.is_dir() and output.parent.resolve().is_relative_to(source.resolve()):
        raise UsageError(f"{output}: the folder of the trace holds its files and nothing else")
    if not os.access(output.parent, os.W_OK):
        raise UsageError(f"{output}: no permission to write into the folder {output.parent}")


def _exists(output: Path) -> str:
    return f"{output}: it exists, and nothing is overwritten; remove it, or choose another name"


def _refuse(lost: list[Loss], who: str, *, lossy: bool) -> None:
    """Raises if something is lost that must not be."""
    fatal = [loss for loss in lost if loss.fatal]
    if fatal:
        raise UsageError(
            f"{who} cannot say what this trace does:\n"
            + "".join(f"  {loss.what}\n" for loss in fatal)
            + "Without it, what is left would be another history."
        )
    grave = [loss for loss in lost if not loss.minor]
    if grave and not lossy:
        raise UsageError(
            f"{who} cannot say all that this trace does. Lost would be:\n"
            + "".join(f"  {loss.what}\n" for loss in grave)
            + "If that is all right: --lossy"
        )


def _write(target: Format, trace: Trace, path: Path) -> None:
    assert target.write is not None
    try:
        target.write(trace, path)
    except ValueError as problem:
        raise UsageError(f"{target.name} cannot say what this trace does: {problem}") from None


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
