"""The proxy with clients of other languages, from their own registries: the trace is the Python recorder's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.recorded_sql import started
from support.wire import PROGRAM, prepare, proxied, reference, told

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
