"""The hunt on a cluster: the same row of runs as on one machine, in blocks of a few, each hunted where there is room.

Run 17 has the same seed and the same settings wherever it runs and however many machines there are, so
whatever is found can be hunted again on one. Each block has a database of its own, started where the block
is; so it must be one that can be: an address is somebody's one server, which a second hunt would empty
under the first. What is found travels home as the bytes of its files, and lies in the folder of the hunt as
if it had been found here.

A machine that is lost takes a block with it, which another one repeats. Blocks are handed out until the
time is over or, unless all are to be collected, something is found; what is under way then is stopped.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from boomslang.cli import load_plan
from boomslang.cli.options.workers import on_cluster
from boomslang.databases import Database, find_database
from boomslang.databases.server_database import Served
from boomslang.errors import UsageError
from boomslang.levels import Level
from boomslang.run import Hunted, Quarry, hunt, variations
from boomslang.run.hunt import made_folder
from boomslang.verdict import INVALID
from boomslang.workers import Lost
from boomslang.workloads import find_workload

RUNS = 4
"""In a block: starting a server for a single one would take longer than the run."""
EMBEDDED = ("duckdb", "rocksdb", "slatedb", "sqlite", "sqlite-shared-cache", "turso")
"""Databases that live where they are opened: without a path each is its own."""


@dataclass(frozen=True)
class Block:
    """Some runs of the row, for one worker."""

    arguments: argparse.Namespace
    level: Level
    modules: tuple[str, ...]
    number: int
    seconds: float
    """How much time is left."""


@dataclass
class Bag:
    """What came of a block."""

    hunted: Hunted
    began: float
    """Seconds after the hunt did."""
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """Of each trace that was kept, by its name: the files of its folder, and "" is its certificate."""


def refuse_shared(spec: str, database: Database) -> None:
    """Raises if several hunts at a time would meet in the database."""
    if isinstance(database, Served):
        alone = database.server is not None
    else:
        path = spec.partition(":")[2].partition("?")[0]
        alone = database.name in EMBEDDED and not path
    if not alone:
        raise UsageError(
            f"found --db {spec} with --on: every machine would empty and fill that one database; expected one that "
            "each can start for itself: no address, and no path"
        )


def hunt_on_cluster(arguments: argparse.Namespace, level: Level, modules: tuple[str, ...]) -> Hunted:
    """`boomslang.run.hunt`, with runs on the machines that `--on` names."""
    place = made_folder(arguments.out)
    hunted = Hunted()
    start = time.monotonic()

    def left() -> float:
        hunted.seconds = time.monotonic() - start
        return float(arguments.seconds) - hunted.seconds

    def over() -> bool:
        return left() <= 0 or hunted.gave_up or (bool(hunted.of(INVALID)) and not arguments.collect)

    def blocks() -> Iterator[Block]:
        number = 0
        while not over():
            yield Block(arguments, level, modules, number, max(0.1, left()))
            number += 1

    with on_cluster(arguments.on, memory=arguments.memory, waiting=1) as workers:
        if workers.obstacle:
            hunted.problems.append(workers.obstacle)
        for number, bag in workers.map(hunted_block, blocks()):
            if isinstance(bag, Lost):
                hunted.problems.append(f"runs {number * RUNS + 1} to {(number + 1) * RUNS}: {bag.reason}")
            else:
                _gather(bag, place, hunted)
            if hunted.of(INVALID) and not arguments.collect:
                break
    left()
    return hunted


def _gather(bag: Bag, place: Path, hunted: Hunted) -> None:
    """Adds what came of a block to all that came before, and puts its traces where they belong."""
    hunted.runs += bag.hunted.runs
    hunted.committed += bag.hunted.committed
    hunted.valid += bag.hunted.valid
    hunted.problems += bag.hunted.problems
    hunted.tried += [replace(tried, began=bag.began + tried.began) for tried in bag.hunted.tried]
    hunted.tried.sort(key=lambda tried: tried.number)
    hunted.gave_up |= bag.hunted.gave_up
    for quarry in bag.hunted.found:
        files = bag.files[quarry.trace.name]
        folder = place / quarry.trace.name
        folder.mkdir()
        certificate = None if quarry.certificate is None else place / quarry.certificate.name
        for name, data in files.items():
            (folder / name if name else place / str(certificate and certificate.name)).write_bytes(data)
        hunted.found.append(replace(quarry, trace=folder, certificate=certificate))


# --- where the work is done


def hunted_block(block: Block) -> Bag:
    """Runs and checks one block."""
    arguments = block.arguments
    workload = find_workload(arguments.workload)
    first = block.number * RUNS
    row = variations(workload, load_plan.given(arguments), arguments.seed)
    with (
        tempfile.TemporaryDirectory(prefix="boomslang-hunt-") as home,
        find_database(arguments.db) as database,
        load_plan.claimed(database),
    ):
        hunted = hunt(
            (load_plan.planned(arguments, database, made) for made in islice(row, first, first + RUNS)),
            Path(home) / "hunt",
            block.level,
            modules=block.modules,
            seconds=block.seconds,
            collect=arguments.collect,
            timeout=arguments.timeout,
            memory=arguments.memory,
            first=first + 1,
        )
        began = float(arguments.seconds) - block.seconds
        return Bag(hunted, began, {quarry.trace.name: _files(quarry) for quarry in hunted.found})


def _files(quarry: Quarry) -> dict[str, bytes]:
    files = {path.name: path.read_bytes() for path in quarry.trace.iterdir()}
    return files if quarry.certificate is None else {**files, "": quarry.certificate.read_bytes()}
