"""What do many traces cost in one command, on a cluster, and from object storage?

Several histories are checked in turn by a command each, by one command with one and with all cores, and as
tasks of Ray on a cluster of this machine, which is started for it. Then as many of the smallest size, where
nothing but the cost of each task is left. Then one long history is read from the disk and from a real S3
server on this machine (that of the tests), to see what a network would have to bring, and that memory does
not grow with what is fetched. CPU time is that of all processes that a command leaves behind, too: this
process adopts them (Linux).

    python benchmarks/machines.py               all of it
    python benchmarks/machines.py --write       ... into docs/benchmarks-machines.md
    python benchmarks/machines.py --small       a few seconds, to see that it works
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from run import machine
from simulate import HERE, History, generate

ROOT = HERE.parent
REPORT = ROOT / "docs" / "benchmarks-machines.md"
PR_SET_CHILD_SUBREAPER = 36
GLANCE = 0.05
"""Seconds between two looks at processes; so much of each one's time is missed at most."""
LEVEL = "si"
READ = """
import json, resource, sys, time
from boomslang.trace import read_trace
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start, busy = time.perf_counter(), time.process_time()
trace = read_trace(sys.argv[1])
took = time.perf_counter() - start, time.process_time() - busy
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
print(json.dumps({"seconds": took[0], "cpu": took[1], "peak": peak, "transactions": len(trace)}))
"""


@dataclass
class Cost:
    seconds: float
    cpu: float


def adopt_orphans() -> None:
    """What a command started and did not wait for becomes our child, and its time ours to see."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def cost_of(commands: list[list[str]], *, sampled: bool = False) -> Cost:
    """Runs commands one after the other. `sampled`: their time is read off /proc while they run."""
    mark = f"BOOMSLANG_MEASURED={uuid.uuid4()}"
    name, _, value = mark.partition("=")
    seen: dict[int, float] = {}
    over = threading.Event()
    sampler = threading.Thread(target=_sample, args=(mark.encode(), seen, over))
    if sampled:
        sampler.start()
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    try:
        for words in commands:
            done = subprocess.run(
                words, capture_output=True, text=True, check=False, env={**os.environ, name: value}
            )
            if done.returncode != 0:
                raise RuntimeError(f"{words}: {done.stdout[-500:]} {done.stderr[-500:]}")
        seconds = time.perf_counter() - start
    finally:
        over.set()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            break
        if not pid:
            time.sleep(0.05)
    if sampled:
        sampler.join()
        return Cost(seconds, sum(seen.values()))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def _sample(mark: bytes, seen: dict[int, float], over: threading.Event) -> None:
    """The time of each process with that mark in its environment, as it was last seen. Ray does not wait for its
    workers, and the system then tells nobody what they took."""
    tick = os.sysconf("SC_CLK_TCK")
    others: set[int] = set()
    while not over.wait(GLANCE):
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit() or (pid := int(folder.name)) in others:
                continue
            try:
                if pid not in seen and mark not in (folder / "environ").read_bytes():
                    if time.time() - folder.stat().st_mtime > 1:  # a younger one may not have its own yet
                        others.add(pid)
                    continue
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                seen[pid] = max(seen.get(pid, 0.0), (int(fields[11]) + int(fields[12])) / tick)
            except OSError:  # it is gone
                continue


def ways(traces: list[Path]) -> Iterator[tuple[str, Cost]]:
    """Each way to check them all."""
    check = [sys.executable, "-m", "boomslang", "check", "--level", LEVEL, "--quiet"]
    paths = [str(path) for path in traces]
    yield "a command each", cost_of([[*check, path] for path in paths])
    yield "one command, `--jobs 1`", cost_of([[*check, *paths, "--jobs", "1"]])
    yield "one command, all cores", cost_of([[*check, *paths]])
    if find_spec("ray") is not None:
        yield (
            "`--on ray`, started for it",
            cost_of([[*check, *paths, "--on", "ray", "--memory", "2000"]], sampled=True),
        )


def table(traces: list[Path]) -> Iterator[str]:
    yield "| how | seconds | CPU seconds | CPU ms a trace |"
    yield "| --- | ---: | ---: | ---: |"
    for name, cost in ways(traces):
        yield f"| {name} | {cost.seconds:.1f} | {cost.cpu:.1f} | {1000 * cost.cpu / len(traces):,.0f} |"


def reading(paths: list[Path], folder: Path) -> Iterator[str]:
    """The same traces from the disk and from a server."""
    sys.path.insert(0, str(ROOT / "tests"))
    from support.s3_server import binary, running

    yield "| from | seconds | CPU seconds | peak memory |"
    yield "| --- | ---: | ---: | ---: |"
    for path in paths:
        yield _read(f"a file of {_size(path)}", str(path), {})
    program = binary()
    if isinstance(program, str):
        yield f"| an S3 server | {program} | | |"
        return
    with running(program, folder) as server:
        bucket = server.folder / "traces"
        bucket.mkdir()
        for path in paths:
            os.link(path, bucket / path.name)
            where = f"an S3 server on this machine, {_size(path)}"
            yield _read(where, f"s3://traces/{path.name}", server.environment())


def _size(path: Path) -> str:
    return f"{path.stat().st_size / 2**20:,.0f} MB"


def _read(name: str, place: str, environment: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-c", READ, place],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    found = json.loads(done.stdout)
    return f"| {name} | {found['seconds']:.2f} | {found['cpu']:.2f} | {found['peak']:.0f} MB |"


def disk(package: str) -> str:
    """How much of the disk a package takes, without what it needs."""
    try:
        files = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        return f"| {package} | not installed |"
    size = sum(
        Path(str(file.locate())).stat().st_size for file in files if Path(str(file.locate())).is_file()
    )
    return f"| {package} | {size / 2**20:,.0f} MB |"


def page(small: bool) -> str:
    adopt_orphans()
    about = machine()
    each, count, long = (200, 2, 2_000) if small else (20_000, 12, 100_000)
    tiny = 2 if small else 24
    with tempfile.TemporaryDirectory(prefix="boomslang-machines-") as name:
        folder = Path(name)
        many = [folder / f"run-{n}.jsonl" for n in range(count)]
        for n, path in enumerate(many):
            generate(History(level=LEVEL, transactions=each, times=True, seed=n), path)
        least = [folder / f"small-{n}.jsonl" for n in range(tiny)]
        for n, path in enumerate(least):
            generate(History(level=LEVEL, transactions=20, times=True, seed=n), path)
        lengths = [long, 2 * long]
        ones = [folder / f"long-{length}.jsonl" for length in lengths]
        for length, path in zip(lengths, ones, strict=True):
            generate(History(level=LEVEL, transactions=length, times=True), path)
        home = folder / "server"
        home.mkdir()
        return "\n".join(
            [
                "# Many traces, a cluster and object storage: what they cost",
                "",
                f"Measured by `python benchmarks/machines.py --write` on {about}.",
                "",
                "On a busy machine the CPU time says more than the clock. It is that of all processes that a command",
                "starts. Ray's, its own included, is sampled while it runs, so a little of each process is missed.",
                "How to use all of this: [many machines](many-machines.md).",
                "",
                f"{count} traces of {each:,} transactions, each checked at snapshot isolation:",
                "",
                *table(many),
                "",
                f"{tiny} traces of 20 transactions, where only what each trace costs by itself is left. A task of Ray",
                "has a fresh process, which loads Python, Ray and Boomslang:",
                "",
                *table(least),
                "",
                f"Reading a trace of {long:,} transactions, and one twice as long (JSON Lines):",
                "",
                *reading(ones, home),
                "",
                "What the extras take of the disk, without what they need in turn:",
                "",
                "| package | size |",
                "| --- | ---: |",
                disk("obstore"),
                disk("ray"),
                "",
            ]
        )


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"write docs/{REPORT.name}")
    parser.add_argument("--small", action="store_true", help="a few seconds, to see that it works")
    arguments = parser.parse_args(words)
    text = page(arguments.small)
    print(text)
    if arguments.write:
        REPORT.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
