"""Object storage as it really answers: a check of traces in buckets of a real S3 server (see support/s3_server.py)."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from simulate import History, generate
from support.commands import command, environment, program
from support.paths import ROOT
from support.s3_server import S3Server, binary, running
from support.streams import whole_witness
from support.work import Here

from boomslang.certify.replay import replay
from boomslang.levels import find_level
from boomslang.storage import download, located
from boomslang.storage.object_path import ObjectPath
from boomslang.stream.taken import Taken
from boomslang.stretches import check as stretches_module
from boomslang.stretches.check import Sizes, check_in_stretches
from boomslang.stretches.slices import PROBE
from boomslang.trace import read_trace

pytest.importorskip("obstore", reason="obstore, the extra `cloud`, is not installed")

VALID, SKEW = ROOT / "examples" / "valid.jsonl", ROOT / "examples" / "write-skew.jsonl"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    found = binary()
    if isinstance(found, str):
        pytest.skip(found)
    with running(found, tmp_path_factory.mktemp("s3")) as started:
        (started.folder / "traces" / "runs").mkdir(parents=True)
        for path in (VALID, SKEW):
            (started.folder / "traces" / "runs" / path.name).write_bytes(path.read_bytes())
        yield started


def test_traces_in_a_bucket_and_results_back_into_it(server: S3Server) -> None:
    words = [
        "check",
        "s3://traces/runs/*",
        "--level",
        "ser,si",
        "--certificate",
        "s3://traces/out/proof.json",
    ]
    code, out, err = program(*words, "--report", "s3://traces/out/page.html", **server.environment())
    assert (code, err) == (1, "")
    assert out.endswith("2 traces: 1 valid, 1 invalid\n")
    written = server.folder / "traces" / "out"
    assert sorted(path.name for path in written.iterdir()) == [
        "page.valid.html",
        "page.write-skew.html",
        "proof.valid.ser.json",
        "proof.valid.si.json",
        "proof.write-skew.ser.json",
        "proof.write-skew.si.json",
    ]
    for trace, level in ((VALID, "ser"), (SKEW, "si"), (SKEW, "ser")):
        assert command("verify", trace, written / f"proof.{trace.stem}.{level}.json").code == 0


def test_a_trace_of_many_slices(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 4 MB each byte counts."""
    monkeypatch.setattr(download, "SMALLEST", 1 << 12)
    monkeypatch.setattr(download, "LARGEST", 1 << 18)
    rng = random.Random(1)
    lines = []
    for n in range(20_000):
        lines.append(json.dumps({"txn": n, "op": "begin"}))
        lines.append(json.dumps({"txn": n, "op": "put", "key": rng.randrange(1000), "value": rng.random()}))
        lines.append(json.dumps({"txn": n, "op": "commit", "ctx": {"note": "x" * 60}}))
    file = server.folder / "traces" / "large.jsonl"
    file.write_text("\n".join(lines) + "\n")
    assert file.stat().st_size > 3 << 20
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    here, there = read_trace(file), read_trace("s3://traces/large.jsonl")
    assert len(here) == len(there) == 20_000
    assert (here.op_key == there.op_key).all() and (here.op_value == there.op_value).all()
    assert list(here.values) == list(there.values)


READ = """
import re, sys
from pathlib import Path
from boomslang.storage import located
with located(sys.argv[1]).open("rb") as file:
    size = sum(iter(lambda: len(file.read(1 << 20)), 0))
peak = re.search(r"VmHWM:\\s*([0-9]+) kB", Path("/proc/self/status").read_text())
print(size >> 20, int(peak[1]) >> 10)
"""


@pytest.mark.full
def test_memory_does_not_grow_with_the_object(server: S3Server) -> None:
    """53 MB were measured, for 256 MB and for 768 MB alike. (Not ru_maxrss, which begins with that of pytest.)"""
    if not Path("/proc/self/status").exists():
        pytest.skip("only Linux tells the peak of a process without that of the one it was forked off")
    with (server.folder / "traces" / "huge").open("wb") as file:
        file.truncate(300 << 20)
    done = subprocess.run(
        [sys.executable, "-c", READ, "s3://traces/huge"],
        capture_output=True,
        text=True,
        check=True,
        env=environment(**server.environment()),
    )
    size, peak = map(int, done.stdout.split())
    assert size == 300 and peak < 100


def test_stretches_of_an_object_are_read_as_ranges_of_it(
    server: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nobody opens it as a whole, no request is for more than a window, and each byte is asked for a few times."""
    file = server.folder / "traces" / "long.jsonl"
    generate(History(transactions=4000, sessions=8, keys=500, operations=6, times=True, level="ser"), file)
    total, asked = file.stat().st_size, list[tuple[int, int]]()
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    ranged = ObjectPath.slice

    def noted(path: ObjectPath, start: int, end: int) -> bytes:
        asked.append((start, end))
        return ranged(path, start, end)

    monkeypatch.setattr(ObjectPath, "slice", noted)
    monkeypatch.setattr(ObjectPath, "read_bytes", lambda path: pytest.fail("all of it was read"))
    monkeypatch.setattr(ObjectPath, "open", lambda path, *_: pytest.fail("it was opened as a whole"))
    window = total // 40
    monkeypatch.setattr(
        stretches_module, "BYTES", window
    )  # of a survey, which else reads more at a time than this has
    taken: list[Taken] = []
    found, cost = check_in_stretches(
        located("s3://traces/long.jsonl"),
        find_level("ser"),
        Here(),
        take=taken.append,
        sizes=Sizes(total // 5, window, 40, 1000),
    )
    assert found.status == "valid" and cost.seams >= 3, cost
    assert max(end - start for start, end in asked) <= max(window, PROBE)
    assert total < sum(end - start for start, end in asked) < 4 * total
    monkeypatch.undo()
    trace = read_trace(file)
    replay(trace, whole_witness(trace, find_level("ser"), taken))


@pytest.mark.parametrize(
    ("words", "other", "message"),
    [
        (["s3://traces/none.jsonl"], {}, "s3://traces/none.jsonl: found no such"),
        (["s3://nowhere/none.jsonl"], {}, "s3://nowhere/none.jsonl: found no bucket of that name"),
        (
            ["s3://traces/runs/valid.jsonl"],
            {"AWS_SECRET_ACCESS_KEY": "wrong"},
            "no permission, or no credentials",
        ),
    ],
)
def test_errors(server: S3Server, words: list[str], other: dict[str, str], message: str) -> None:
    code, out, err = program("check", *words, "--level", "ser", **server.environment(**other))
    assert (code, out) == (254, "")
    assert message in err and "Traceback" not in err and len(err.splitlines()) == 1


def test_a_server_that_is_not_there(server: S3Server) -> None:
    gone = server.environment(AWS_ENDPOINT_URL="http://127.0.0.1:9")
    code, _, err = program("check", "s3://traces/runs/valid.jsonl", "--level", "ser", **gone)
    assert code == 254 and "s3://traces/runs/valid.jsonl: Generic S3 error" in err and "Traceback" not in err


def test_a_place_where_nothing_can_be_written_is_told(server: S3Server, tmp_path: Path) -> None:
    code, out, err = program(
        "check", VALID, "--level", "ser", "--certificate", "s3://nowhere/proof.json", **server.environment()
    )
    assert code == 254 and "serializable  valid" in out
    assert "s3://nowhere/proof.json: cannot write the certificate" in err
