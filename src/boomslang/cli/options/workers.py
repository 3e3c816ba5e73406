"""`--jobs` and `--on`: how many pieces of work are done at a time, and where."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from boomslang.cli.options.jobs import add_jobs
from boomslang.storage import is_address

if TYPE_CHECKING:
    from boomslang.workers import Workers

RAY = "ray"


def add_workers(parser: argparse.ArgumentParser) -> None:
    add_jobs(parser, "threads that work at a time or, of several traces, processes")
    add_on(parser, "check on a cluster: stretches of a long trace, or each of several traces, as a task")


def add_on(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "--on",
        type=_where,
        metavar="WHERE",
        help=f"{what}: ray://HOST:PORT, or ray (where RAY_ADDRESS says, else one that is started here); "
        "see docs/many-machines.md",
    )


def several(arguments: argparse.Namespace) -> bool:
    """Is there more than one piece of work, or somebody else to do it?"""
    star = is_address(arguments.traces[0]) and "*" in arguments.traces[0]
    return len(arguments.traces) > 1 or arguments.on is not None or star


def one_on_cluster(arguments: argparse.Namespace) -> bool:
    """Is it one trace, for a cluster?"""
    return arguments.on is not None and len(arguments.traces) == 1 and "*" not in arguments.traces[0]


def find_workers(arguments: argparse.Namespace, count: int, *, preload: str) -> Workers:
    """Who does so many pieces of work; `preload` names the module of the function."""
    if arguments.on is not None:
        return on_cluster(arguments.on, memory=arguments.memory, jobs=arguments.jobs)
    from boomslang.cores import all_cores
    from boomslang.workers.processes import Processes

    return Processes(min(arguments.jobs or all_cores(), count), preload=preload)


def on_cluster(on: str, *, memory: float | None, jobs: int | None = None, waiting: int = 2) -> Workers:
    """The workers that `--on` names."""
    from boomslang.workers.ray_cluster import RayCluster

    return RayCluster(None if on == RAY else on, megabytes=memory, most=jobs, waiting=waiting)


def _where(text: str) -> str:
    if text != RAY and not re.fullmatch(r"ray://[^/\s]+", text):
        raise argparse.ArgumentTypeError(
            f"found {text!r}; expected ray, or an address such as ray://host:10001"
        )
    return text
