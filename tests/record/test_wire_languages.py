"""The proxy with clients of other languages, from their own registries: the trace is the Python recorder's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from support.mysql_clients import built
from support.recorded_sql import started
from support.wire import PROGRAM, prepare, proxied, reference, told

from boomslang import check, read_trace

CLIENTS = Path(__file__).parent.parent / "support" / "wire_clients"
pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    with started("postgres") as running:
        yield running


@pytest.fixture(scope="module")
def node_pg(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which node finds `pg`."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("no node and npm here")
    folder = tmp_path_factory.mktemp("node")
    (folder / "package.json").write_text('{"name": "clients", "private": true}')
    fetched = subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund", "pg@8"], cwd=folder, capture_output=True, text=True
    )
    if fetched.returncode:
        pytest.skip(f"npm cannot fetch pg: {fetched.stderr.strip()[-200:]}")
    return folder


@pytest.mark.parametrize("how", ["unnamed", "named"])
def test_node(server: Any, node_pg: Path, tmp_path: Path, how: str) -> None:
    expected = reference(server.dsn, tmp_path / "python", PROGRAM)
    prepare(server.dsn)
    (tmp_path / "program.json").write_text(json.dumps(PROGRAM))
    with proxied(f"postgres://127.0.0.1:{server.port}", tmp_path / "wire") as (port, wrong):
        address = str(server.dsn).replace(f":{server.port}/", f":{port}/")
        ran = subprocess.run(
            ["node", CLIENTS / "node_pg.js", address, tmp_path / "program.json", how],
            env={**os.environ, "NODE_PATH": str(node_pg / "node_modules")},
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, ran.stderr
        assert not wrong
    assert told(tmp_path / "wire") == expected


def others(server: Any, tmp_path: Path, command: list[Any], *, literals: bool = False) -> None:
    """The whole program by a client: its trace is the one that Python's is."""
    expected = reference(server.dsn, tmp_path / "python", PROGRAM, literals=literals)
    with_client(server, tmp_path, command)
    assert told(tmp_path / "wire") == expected


def with_client(server: Any, tmp_path: Path, command: list[Any]) -> None:
    prepare(server.dsn)
    (tmp_path / "program.json").write_text(json.dumps(PROGRAM))
    with proxied(f"postgres://127.0.0.1:{server.port}", tmp_path / "wire") as (port, wrong):
        parts = urlsplit(str(server.dsn))
        words = {
            "address": str(server.dsn).replace(f":{server.port}/", f":{port}/"),
            "place": f"127.0.0.1:{port}{parts.path}",
            "user": parts.username,
            "password": parts.password,
            "program": tmp_path / "program.json",
        }
        ran = subprocess.run(
            [str(words.get(word, word)) for word in command], capture_output=True, text=True, timeout=120
        )
        assert ran.returncode == 0, ran.stderr
        assert not wrong


@pytest.mark.parametrize("how", ["cache", "exec", "simple"])
def test_pgx(server: Any, tmp_path: Path, how: str) -> None:
    command = built("go", "postgres")
    others(server, tmp_path, [*command, how, "address", "program"], literals=how == "simple")


@pytest.mark.parametrize(
    ("mode", "threshold"),
    [("extended", 0), ("extended", 1), ("extendedForPrepared", 5), ("extendedCacheEverything", 1)],
)
def test_pgjdbc(server: Any, tmp_path: Path, mode: str, threshold: int) -> None:
    command = built("java", "postgres")
    words = [mode, threshold, "place", "user", "password", "program"]
    others(server, tmp_path, [*command, *words])


def test_pgjdbc_without_parameters(server: Any, tmp_path: Path) -> None:
    """Values stand in the text, as `('1'::int4)`: other texts than those of Python, and the same operations."""
    command = [*built("java", "postgres"), "simple", 0, "place", "user", "password", "program"]
    expected = reference(server.dsn, tmp_path / "python", PROGRAM, literals=True)
    with_client(server, tmp_path, command)
    assert told(tmp_path / "wire") == expected
    assert check(read_trace(tmp_path / "wire"), "ser").status != "invalid"
