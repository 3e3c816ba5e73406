"""Workers on a real Ray cluster: two machines, as far as Ray can tell, of which one is killed in the middle.

Ray is a download of some 80 MB and takes 250 MB of disk, so it is no part of what `make test` installs;
`make test-full` asks for it, and where it cannot be had these tests are skipped. `Cluster`, which Ray's own
tests use, starts each machine as processes of its own.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.commands import PROGRAM, Ran, command, environment, program
from support.paths import ROOT
from support.streams import whole_witness
from support.work import doubled, dying, failing, held_megabytes, other_version, sleeping

from boomslang import read_trace
from boomslang.certify.replay import replay
from boomslang.errors import UsageError
from boomslang.workers import TRIES, Lost

pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore"),  # Ray's own, of which there are many
]
ray = pytest.importorskip("ray", reason="Ray, the extra `ray`, is not installed")
cluster_utils = pytest.importorskip("ray.cluster_utils")

VALID, SKEW = ROOT / "examples" / "valid.jsonl", ROOT / "examples" / "write-skew.jsonl"
MEGABYTES = 700


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head that works on nothing, and two machines with a core each."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    some = {"object_store_memory": 80 << 20, "include_dashboard": False}
    made = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **some})
    try:
        made.workers = [made.add_node(num_cpus=1, memory=MEGABYTES << 20, **some) for _ in range(2)]
        made.wait_for_nodes()
        monkeypatch.setenv("RAY_ADDRESS", made.address)
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


def test_work_on_two_machines(cluster: Any, tmp_path: Path) -> None:
    from boomslang.workers.ray_cluster import MARGIN, RayCluster

    with RayCluster(None) as workers:
        assert workers.megabytes == pytest.approx(MEGABYTES / MARGIN, rel=0.01)  # a core's share
        assert workers.obstacle == ""
        assert dict(workers.map(doubled, range(5))) == {n: 2 * n for n in range(5)}
        again = dict(workers.map(dying, [(str(tmp_path / "once"), 1), (str(tmp_path / "always"), TRIES)]))
        assert again[0] == 2  # the second worker came to an end
        assert isinstance(again[1], Lost) and again[1].reason.startswith("3 workers were lost over it")
        assert (tmp_path / "always").read_text() == "x" * TRIES
        with pytest.raises(ZeroDivisionError):
            list(workers.map(failing, [1]))
        with pytest.raises(UsageError, match=r"expected 0\.0\.0, as here"):
            list(other_version(workers))
        # A process is used once: what one item held, the next does not.
        first, second = (held for _, held in workers.map(held_megabytes, [300, 0]))
        assert min(first, second) < 250 < max(first, second)
    with RayCluster(None, megabytes=10 * MEGABYTES) as large:
        assert "no machine of the cluster has a core and 7,700 MB" in large.obstacle


def test_a_machine_is_killed_in_the_middle(cluster: Any, tmp_path: Path) -> None:
    from boomslang.workers.ray_cluster import RayCluster

    items = [(str(tmp_path / f"pid-{n}"), 1.5) for n in range(4)]
    with RayCluster(None) as workers:
        results = workers.map(sleeping, items)
        found = dict([next(results)])
        deadline = time.monotonic() + 60
        while sum(Path(path).exists() for path, _ in items) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        cluster.remove_node(cluster.workers[1], allow_graceful=False)
        found |= dict(results)
    assert sorted(found) == [0, 1, 2, 3] and all(isinstance(pid, int) for pid in found.values())


def test_a_check_outlives_a_machine_and_answers_as_one_machine_does(cluster: Any, tmp_path: Path) -> None:
    """Two traces come through pipes, so both machines are at work when one of them goes; its trace is read again."""
    pipes = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    for pipe in pipes:
        os.mkfifo(pipe)
    proofs = tmp_path / "cluster"
    proofs.mkdir()
    words = ["check", *pipes, VALID, SKEW, "--level", "ser,si", "--json", "--on", "ray"]
    process = subprocess.Popen(
        [*PROGRAM, *map(str, words), "--certificate", str(proofs / "p.json")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    try:
        ends = {pipe: opened(pipe) for pipe in pipes}
        cluster.remove_node(cluster.workers[1], allow_graceful=False)
        (lost,) = [pipe for pipe in pipes if torn(ends[pipe])]
        (kept,) = [pipe for pipe in pipes if pipe != lost]
        fill(ends[kept])
        os.close(ends[lost])
        fill(opened(lost))
        out, err = process.communicate(timeout=180)
    finally:
        process.kill()
    assert process.returncode == 1, err
    answers = json.loads(out)["traces"]
    assert [answer["exit"] for answer in answers] == [1, 1, 0, 1]
    here = tmp_path / "here"
    here.mkdir()
    alone = command("check", VALID, SKEW, "--level", "ser,si", "--json", "--certificate", here / "p.json")
    for there, one in zip(answers[2:], json.loads(alone.out)["traces"], strict=True):
        assert told(there) == told(one)
    for name in ("p.valid.ser.json", "p.valid.si.json", "p.write-skew.ser.json", "p.write-skew.si.json"):
        assert (proofs / name).read_bytes() == (here / name).read_bytes()
    for pipe in pipes:
        made = proofs / f"p.{pipe.stem}.si.json"
        assert made.read_bytes() == (here / "p.write-skew.si.json").read_bytes()
        assert command("verify", SKEW, made).code == 0


def told(answer: dict[str, Any]) -> list[tuple[Any, ...]]:
    fields = ("level", "status", "reason", "counterexample", "explanation")
    return [tuple(level[name] for name in fields) for level in answer["levels"]]


def opened(pipe: Path) -> int:
    """The writing end, once somebody reads."""
    for _ in range(1200):
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as nobody:
            assert nobody.errno == errno.ENXIO
            time.sleep(0.05)
    raise AssertionError("no worker opened the pipe")


def torn(end: int, seconds: float = 5.0) -> bool:
    """Is its reader gone, or does it go soon?"""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        try:
            os.write(end, b"\n")  # which says nothing in a trace
        except BrokenPipeError:
            return True
        time.sleep(0.1)
    return False


def fill(end: int) -> None:
    os.write(end, SKEW.read_bytes())
    os.close(end)


def test_a_cluster_that_it_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a limit of memory, a trace that is not there, and one trace alone."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    found = program("check", SKEW, "nowhere", "--level", "ser", "--on", "ray", "--memory", "2000")
    assert found.code == 254 and "1 invalid, 1 could not be read" in found.out
    assert "nowhere: found no such file" in found.err and "must reach it" in found.err
    alone = program("check", VALID, "--level", "ser", "--on", "ray", "--memory", "10")
    assert alone.code == 2 and "memory limit" in alone.out and "traces" not in alone.out


def test_nobody_else_gives_orders_to_a_cluster_that_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray listens to the network, so it is started with a secret."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    script = """
import os, subprocess, sys
from boomslang.workers.ray_cluster import RayCluster
with RayCluster(None) as ours:
    join = f"import ray; ray.init({ours.ray.get_runtime_context().gcs_address!r})"
    stranger = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    for who in (stranger, dict(os.environ)):
        print(subprocess.run([sys.executable, "-c", join], capture_output=True, env=who).returncode)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment(), timeout=300
    )
    assert done.stdout.split() == ["1", "0"], done.stderr


def test_a_cluster_by_its_address(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As from outside of it: through the port for clients, of a server that Ray's head starts."""
    monkeypatch.delenv("RAY_ADDRESS")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [
        "-m",
        "ray.util.client.server",
        "--address",
        cluster.address,
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen([sys.executable, *words], stdout=log, stderr=log, env=environment())
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        found = program("check", VALID, SKEW, "--level", "ser", "--on", f"ray://127.0.0.1:{port}")
    finally:
        server.terminate()
        server.wait(20)
    assert found.code == 1, found.err
    assert found.out.endswith("2 traces: 1 valid, 1 invalid\n")


def test_no_cluster_there() -> None:
    found: Ran = program("check", VALID, "--level", "ser", "--on", "ray://127.0.0.1:9")
    assert found.code == 254 and "Traceback" not in found.err
    assert "no Ray cluster could be reached at ray://127.0.0.1:9" in found.err
    assert len(found.err.splitlines()) == 1, found.err  # and no warning of Ray's own


def test_a_hunt_on_two_machines_of_which_one_is_killed(cluster: Any, tmp_path: Path) -> None:
    pytest.importorskip("slatedb")
    words = [
        "hunt",
        "--workload",
        "insert-if-none",
        "--txns",
        "200",
        "--db",
        "slatedb",
        "--db-level",
        "snapshot",
    ]
    words += [
        "--level",
        "ser",
        "--for",
        "25s",
        "--collect",
        "--on",
        "ray",
        "--json",
        "--out",
        str(tmp_path / "hunt"),
    ]
    process = subprocess.Popen(
        [*PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )
    try:
        for _ in range(600):
            if any((tmp_path / "hunt").glob("run-*.json")):
                break
            time.sleep(0.1)
        cluster.remove_node(cluster.workers[1], allow_graceful=False)
        out, err = process.communicate(timeout=180)
    finally:
        process.kill()
    assert process.returncode == 1, err
    found = json.loads(out)
    assert len(found["tried"]) == found["runs"] > 0
    assert found["invalid"] and len({quarry["trace"] for quarry in found["invalid"]}) == len(found["invalid"])
    for quarry in found["invalid"][:2]:
        assert command("verify", quarry["trace"], quarry["certificate"]).code == 0


@pytest.mark.parametrize("plant", ["none", "lost-update"])
def test_stretches_of_one_trace_on_two_machines_of_which_one_is_killed(
    cluster: Any, tmp_path: Path, plant: str
) -> None:
    """The answer and what is told of it are those of one machine, and certificates verify."""
    from simulate import History, generate

    from boomslang import check, read_trace
    from boomslang.levels import find_level
    from boomslang.stream.taken import Taken
    from boomslang.stretches.check import Sizes, check_in_stretches
    from boomslang.workers.ray_cluster import RayCluster

    path = tmp_path / "trace.jsonl"
    generate(
        History(transactions=6000, sessions=8, keys=400, operations=6, times=True, level="si", plant=plant),
        path,
    )
    total, level = path.stat().st_size, find_level("si")
    killed: list[str] = []

    def progress(what: str, done: int, _: int) -> None:
        if what == "stretches decided" and done == 1 and not killed:
            killed.append(what)
            cluster.remove_node(cluster.workers[1], allow_graceful=False)

    taken: list[Taken] = []
    with RayCluster(None) as workers:
        found, cost = check_in_stretches(
            path,
            level,
            workers,
            take=taken.append,
            progress=progress,
            sizes=Sizes(total // 6, total // 40, 40),
        )
    assert killed and cost.seams >= 4
    trace = read_trace(path)
    alone = check(trace, level)
    assert found.status == alone.status == ("valid" if plant == "none" else "invalid")
    if found.status == "valid":
        replay(trace, whole_witness(trace, level, taken))
    else:
        assert found.verdict is not None and found.verdict.counterexample is not None
        assert alone.counterexample is not None
        assert found.verdict.counterexample.anomaly == alone.counterexample.anomaly


def test_the_command_spreads_one_long_trace(cluster: Any, tmp_path: Path) -> None:
    from simulate import History, generate

    path, proof = tmp_path / "trace.jsonl", tmp_path / "proof.jsonl"
    generate(
        History(transactions=60_000, sessions=16, keys=5000, operations=8, times=True, level="ser"), path
    )
    words = ["--level", "ser", "--on", "ray", "--memory", "300", "--stats", "--certificate", str(proof)]
    found = program("check", path, *words)
    assert found.code == 0, found.err
    assert "slices" in found.err and f"{len(read_trace(path)):,} transactions" in found.out
    assert command("verify", path, proof).code == 0
    lists = program(
        "check", ROOT / "examples" / "on-call.jsonl", "--level", "rc", "--on", "ray", "--memory", "300"
    )
    assert "checked as one task: read committed is not decided by an order" in lists.err
