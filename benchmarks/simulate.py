"""Histories of known verdict and any size, from a simulated database.

A checker's speed is measured on histories that somebody must be able to make again: this command
runs the seeded multi-version database of `simulate.cpp` (compiled on first use, kept in
`bench-data/`) and writes a trace. What that database promises (`--level`: ser, rr, si or rc; see the
C++ file for how each is kept) is what the checker must find, as are the anomalies that the
level lets happen and the one violation that `--plant` adds. The order in which the database let
transactions begin and commit can be kept beside the trace (`--witness`), so that a test can
replay it without any checker.

    python benchmarks/simulate.py trace.jsonl --transactions 100000 --level si --seed 7
    python benchmarks/simulate.py trace.jsonl --workload randombench --plant lost-update

The workloads are the published ones: BlindW (Tan et al., "Cobra", OSDI 2020) reads and writes
10K keys blindly, half and half; RandomBench uses every operation on 1,000 keys and 100 values.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "bench-data"
SOURCE = HERE / "simulate.cpp"
FLAGS = ["-std=c++20", "-O2"]

LEVELS = ("ser", "rr", "si", "rc")
PLANTS = (
    "none",
    "lost-update",
    "write-skew",
    "read-skew",
    "long-fork",
    "stale-read",
    "aborted-read",
    "intermediate-read",
    "thin-air",
)


def option(default: Any, text: str) -> Any:
    """A field that is an option of the command line as well."""
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class History:
    """Everything that determines a history: equal fields, equal bytes. The defaults are BlindW."""

    level: str = option("ser", f"what the database promises: {', '.join(LEVELS)}")
    transactions: int = option(10_000, "how many shall commit")
    operations: int = option(8, "operations of a transaction")
    sessions: int = option(24, "clients that run at the same time")
    keys: int = option(10_000, "keys, all absent at first")
    theta: float = option(0.0, "skew of the keys: 0 uniform, else the exponent of a Zipf law (0.99)")
    writes: float = option(0.5, "share of puts; what all shares leave are gets")
    deletes: float = option(0.0, "share of deletes")
    scans: float = option(0.0, "share of scans")
    iterators: float = option(0.0, "share of iterators, each with its calls of next")
    rmw: float = option(0.0, "share of read-modify-writes: a get and a put of one key")
    values: int = option(0, "distinct values a key can have; 0: each value is written once")
    span: int = option(100, "ranges cover 1 to this many keys")
    take: int = option(10, "iterators take 1 to this many items")
    times: bool = option(False, "record invoke and return times")
    folder: bool = option(False, "write a folder of one file a session, without an order between them")
    unknown: float = option(0.0, "share of commits whose answer is lost")
    plant: str = option("none", f"add a violation: {', '.join(PLANTS[1:])}")
    plant_at: float = option(0.5, "where in the history (0 to 1) it is planted")
    seed: int = option(1, "another seed, another history")

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise ValueError(f"unknown level {self.level!r}; known are {', '.join(LEVELS)}")
        if self.plant not in PLANTS:
            raise ValueError(f"cannot plant {self.plant!r}; known are {', '.join(PLANTS)}")
        for name in ("transactions", "operations", "sessions", "keys", "span", "take"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        shares = (self.writes, self.deletes, self.scans, self.iterators, self.rmw)
        if min(shares) < 0 or sum(shares) > 1 + 1e-9:
            raise ValueError(f"the shares of operations must add up to 1 at most, not {sum(shares):g}")
        if not (0 <= self.unknown < 1 and 0 <= self.plant_at <= 1):
            raise ValueError("unknown and plant_at are shares: 0 to 1")

    def short_name(self) -> str:
        """A file name that tells the essentials and differs between any two histories."""
        code = hashlib.sha256((json.dumps(asdict(self)) + SOURCE.read_text()).encode()).hexdigest()[:8]
        return f"{self.level}-{self.transactions}-{code}"


BLINDW = History()
RANDOMBENCH = History(keys=1_000, values=100, writes=0.25, deletes=0.05, scans=0.10, iterators=0.10, rmw=0.25)
WORKLOADS = {"blindw": BLINDW, "randombench": RANDOMBENCH}


def compiler() -> str:
    """The system's C++ compiler; the package's own native half needs one as well."""
    for name in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        if name and shutil.which(name):
            return name
    raise SystemExit("benchmarks need a C++20 compiler (for example: apt install g++), or CXX set to one")


def simulator() -> Path:
    """The compiled simulator: built when there is none for this source, compiler and flags."""
    command = [compiler(), *FLAGS]
    code = hashlib.sha256(SOURCE.read_bytes() + " ".join(command).encode()).hexdigest()[:12]
    program = DATA / f"simulate-{code}"
    if not program.exists():
        DATA.mkdir(exist_ok=True)
        fresh = program.with_suffix(f".{os.getpid()}")  # renamed when whole: two may build at once
        subprocess.run([*command, "-o", str(fresh), str(SOURCE)], check=True)
        fresh.rename(program)
    return program


def command(history: History, out: Path, witness: Path | None = None) -> list[str]:
    """What writes the history to `out`."""
    parameters = {name: int(v) if isinstance(v, bool) else v for name, v in asdict(history).items()}
    words = [f"{name}={value}" for name, value in parameters.items()]
    return [str(simulator()), *words, f"out={out}", f"witness={witness or ''}"]


def generate(history: History, out: Path, witness: Path | None = None) -> dict[str, int]:
    """Write the history to `out`; the counts of what it holds.

    `witness` gets a line `begin N` or `commit N` (N: the transaction's number in the trace) for each
    begin and each commit that took place, in the order in which they did.
    """
    done = subprocess.run(command(history, out, witness), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    counts: dict[str, int] = json.loads(done.stdout)
    return counts


def stored(history: History) -> Path:
    """The history's place in `bench-data/`, made there if it is missing."""
    path = DATA / (history.short_name() + ("" if history.folder else ".jsonl"))
    if not path.exists():
        DATA.mkdir(exist_ok=True)
        fresh = path.with_name(f"{path.name}.{os.getpid()}.part")
        generate(history, fresh)
        fresh.rename(path)
    return path


def parse(arguments: list[str]) -> tuple[History, argparse.Namespace]:
    parser = argparse.ArgumentParser(
        prog="simulate.py", description="Simulate a database and record what its clients saw."
    )
    parser.add_argument("out", type=Path, help="the trace to write (a folder with --folder)")
    parser.add_argument("--workload", choices=WORKLOADS, default="blindw", help="sets the defaults")
    parser.add_argument("--witness", type=Path, help="also write the order of begins and commits here")
    for item in fields(History):
        kind = type(item.default)
        flag = "--" + item.name.replace("_", "-")
        text = item.metadata["help"]
        if kind is bool:
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, default=None, help=text)
        else:
            defaults = [f"{name} {getattr(preset, item.name)}" for name, preset in WORKLOADS.items()]
            parser.add_argument(flag, type=kind, help=f"{text} ({', '.join(defaults)})")
    given = parser.parse_args(arguments)
    changes = {f.name: v for f in fields(History) if (v := getattr(given, f.name)) is not None}
    try:
        return replace(WORKLOADS[given.workload], **changes), given
    except ValueError as error:
        parser.error(str(error))


def main(arguments: list[str]) -> int:
    history, given = parse(arguments)
    print(json.dumps(generate(history, given.out, given.witness)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
