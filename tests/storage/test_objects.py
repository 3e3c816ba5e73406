"""Objects behind the face of paths: on the library's own store in memory, with slices of a few bytes.

What a real server answers is test_s3.py's.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.commands import command, environment
from support.paths import ROOT

from boomslang.errors import UsageError
from boomslang.storage import download, is_address, located, matching, object_path
from boomslang.storage.download import slices
from boomslang.trace import TraceError, read_trace

obstore = pytest.importorskip("obstore", reason="obstore, the extra `cloud`, is not installed")

VALID, SKEW = ROOT / "examples" / "valid.jsonl", ROOT / "examples" / "write-skew.jsonl"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """s3://bucket, in memory; each object in many slices."""
    store = obstore.store.MemoryStore()
    monkeypatch.setattr(object_path, "store_of", lambda scheme, name: store)
    monkeypatch.setattr(download, "SMALLEST", 16)
    monkeypatch.setattr(download, "LARGEST", 64)
    yield store


def put(store: Any, key: str, data: bytes | Path) -> str:
    obstore.put(store, key, data.read_bytes() if isinstance(data, Path) else data)
    return f"s3://bucket/{key}"


# --- addresses


def test_what_is_an_address() -> None:
    assert is_address("s3://bucket/key") and is_address("gs://b/k") and is_address("az://c/k")
    assert not any(map(is_address, ("trace.jsonl", "/tmp/s3://x", "c://x", "-", "file:///tmp/x", "a:b")))


def test_a_file_s_address_is_its_path(tmp_path: Path) -> None:
    assert located("file:///tmp/a%20b.jsonl") == Path("/tmp/a b.jsonl")
    code, out, _ = command("check", VALID.as_uri(), "--level", "ser")
    assert code == 0 and out.startswith("file:///")


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("http://host/trace.jsonl", "expected s3://, gs://, az:// or file://"),
        ("S4://bucket/key", "expected s3://"),
        ("s3:///key", "expected a bucket in it: s3://bucket/key"),
        ("file://trace.jsonl", "expected an absolute path after file://"),
    ],
)
def test_addresses_that_lead_nowhere(address: str, message: str) -> None:
    code, out, err = command("check", address, "--level", "ser")
    assert (code, out) == (254, "") and message in err and "Traceback" not in err
    with pytest.raises(UsageError):
        located(address)


def test_slices() -> None:
    assert list(slices(0)) == []
    for size in (1, download.SMALLEST, download.SMALLEST + 1, 50_000_001):
        cut = list(slices(size))
        assert cut[0][0] == 0 and cut[-1][1] == size
        assert all(a[1] == b[0] for a, b in pairwise(cut))
        assert all(0 < end - start <= download.LARGEST for start, end in cut)


# --- reading


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_trace_is_read_as_from_a_file(bucket: Any, pack: Any) -> None:
    here = command("check", SKEW, "--level", "ser,si", "--json")
    address = put(bucket, "runs/skew.jsonl", pack(SKEW.read_bytes()))
    there = command("check", address, "--level", "ser,si", "--json")
    assert there.code == here.code == 1
    a, b = json.loads(here.out), json.loads(there.out)
    assert a["trace"] == b["trace"] and b["path"] == address
    assert [level["status"] for level in a["levels"]] == [level["status"] for level in b["levels"]]
    assert f"{address}:2" in b["levels"][0]["counterexample"]["transactions"][0]["where"]


def test_a_folder_of_sessions(bucket: Any) -> None:
    for name in ("c10", "c2"):
        lines = [{"txn": name, "op": "begin"}, {"txn": name, "op": "put", "key": name, "value": 1}]
        data = "".join(json.dumps(line) + "\n" for line in [*lines, {"txn": name, "op": "commit"}])
        put(bucket, f"run/{name}.jsonl", data.encode())
    put(bucket, "run/run.json", b"{}")
    for address in ("s3://bucket/run", "s3://bucket/run/"):
        trace = read_trace(address)
        assert trace.sessions == ["c2", "c10"]
        assert trace.files == ["s3://bucket/run/c2.jsonl", "s3://bucket/run/c10.jsonl"]


@pytest.mark.parametrize("suffix", [".arrow", ".parquet", ".txt"])
def test_other_formats(bucket: Any, tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"t{suffix}"
    if suffix == ".txt":
        file.write_text("w(1,1,0,1)\nr(1,1,1,2)\n")
    else:
        pytest.importorskip("pyarrow")
        assert command("convert", VALID, file).code == 0
    found = command("check", put(bucket, file.name, file), "--level", "ser")
    assert found.code == 0 and "serializable  valid" in found.out


def test_what_is_not_there(bucket: Any) -> None:
    code, _, err = command("check", "s3://bucket/nothing.jsonl", "--level", "ser")
    assert code == 254 and err.startswith("boomslang: s3://bucket/nothing.jsonl: found no such")


def test_an_object_that_is_no_trace_is_named(bucket: Any) -> None:
    code, _, err = command(
        "check", put(bucket, "x.jsonl", b'{"txn": 1, "op": "begin"}\n{"op": 5}\n'), "--level", "ser"
    )
    assert code == 254 and err.startswith("boomslang: s3://bucket/x.jsonl:2: found")


def test_an_empty_object(bucket: Any) -> None:
    code, _, err = command("check", put(bucket, "x.jsonl", b""), "--level", "ser")
    assert code == 254 and "found nothing in it" in err


def test_only_the_start_is_fetched_if_that_is_all_that_is_read(
    bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "SMALLEST", 1 << 18)
    path = located(put(bucket, "large", b"x" * (20 << 20)))
    asked = []
    whole = type(path).slice  # type: ignore[attr-defined]
    monkeypatch.setattr(type(path), "slice", lambda self, a, b: (asked.append(b - a), whole(self, a, b))[1])
    with path.open("rb", buffering=0) as file:
        assert file.read(10) == b"x" * 10
    time.sleep(0.05)
    assert sum(asked) <= 1 << 18


def trace_of(transactions: int) -> bytes:
    lines = []
    for n in range(transactions):
        lines += [{"txn": n, "op": "begin"}, {"txn": n, "op": "put", "key": "x", "value": n}]
        lines.append({"txn": n, "op": "commit"})
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_slice_that_cannot_be_had_is_never_the_end_of_a_trace(
    bucket: Any, pack: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lines before it would make a trace of their own."""
    data = trace_of(300)
    path = located(put(bucket, "t.jsonl", pack(data)))
    whole = type(path).slice  # type: ignore[attr-defined]
    size = path.stat().st_size

    def torn(self: Any, start: int, end: int) -> bytes:
        if end > size * 2 // 3:
            raise OSError(5, "the network went away", str(self))
        found: bytes = whole(self, start, end)
        return found

    monkeypatch.setattr(type(path), "slice", torn)
    with pytest.raises(TraceError, match="the network went away"):
        read_trace("s3://bucket/t.jsonl", format="jsonl")


def test_an_object_that_changes_while_it_is_read(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    address = put(bucket, "t.jsonl", trace_of(300))
    kind = type(located(address))
    whole = kind.slice  # type: ignore[attr-defined]
    changed: list[int] = []

    def changing(self: Any, start: int, end: int) -> bytes:
        if start > 2000 and not changed:
            changed.append(start)
            put(bucket, "t.jsonl", trace_of(300).replace(b'"x"', b'"y"'))
        found: bytes = whole(self, start, end)
        return found

    monkeypatch.setattr(kind, "slice", changing)
    with pytest.raises(TraceError, match="it was changed while it was read"):
        read_trace(address)


# --- writing


def test_results_are_written_back(bucket: Any) -> None:
    address = put(bucket, "runs/skew.jsonl", SKEW)
    proof, page = "s3://bucket/out/proof.json", "s3://bucket/out/page.html"
    code, out, _ = command("check", address, "--level", "ser,si", "--certificate", proof, "--report", page)
    assert code == 1 and "certificate of serializable: s3://bucket/out/proof.ser.json" in out
    keys = [one["path"] for one in obstore.list(bucket, "out").collect()]
    assert sorted(keys) == ["out/page.html", "out/proof.ser.json", "out/proof.si.json"]
    assert obstore.get(bucket, "out/page.html").bytes().to_bytes().startswith(b"<!")
    verified = command("verify", address, "s3://bucket/out/proof.si.json")
    assert verified.code == 0 and verified.out.startswith("right: s3://bucket/out/proof.si.json shows")


def test_large_results_go_in_parts(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_path, "PIECE", 10)
    path: Any = located("s3://bucket/large")
    path.write_pieces("0123456" for _ in range(50))
    assert path.read_text() == "0123456" * 50


def test_the_trace_is_not_written_over(bucket: Any) -> None:
    address = put(bucket, "t.jsonl", VALID)
    code, _, err = command("check", address, "--level", "ser", "--certificate", address)
    assert code == 254 and "it is the trace" in err


def test_a_result_needs_a_name(bucket: Any) -> None:
    code, _, err = command("check", VALID, "--level", "ser", "--certificate", "s3://bucket/")
    assert code == 254 and "an object needs a name" in err


# --- several


def test_a_star_stands_for_what_is_there(bucket: Any) -> None:
    for name in ("run-10.jsonl", "run-9.jsonl", "other.txt"):
        put(bucket, f"runs/{name}", VALID)
    put(bucket, "runs/run-11/a.jsonl", VALID)
    found = ["s3://bucket/runs/run-9.jsonl", "s3://bucket/runs/run-10.jsonl", "s3://bucket/runs/run-11"]
    assert matching("s3://bucket/runs/run-*") == found
    assert matching("runs/*") == ["runs/*"]  # a shell's business
    code, _, err = command("check", "s3://bucket/none/*", "--level", "ser")
    assert code == 254 and "found nothing that s3://bucket/none/* stands for" in err


# --- without the library


def test_without_the_library() -> None:
    code = (
        "import sys; sys.modules['obstore'] = None; from boomslang.cli.main import main; "
        "sys.exit(main(['check', 's3://bucket/x', '--level', 'ser']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment())
    assert done.returncode == 254
    fix = "fix: pip install 'boomslang-checker[cloud]'\n"
    assert done.stderr.endswith(f"expected the package obstore to reach it; {fix}")
