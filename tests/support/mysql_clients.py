"""Clients in other languages, built from tests/record/wire_clients with their own tools; and how MySQL's are run.

They are built once for each version of their sources, beside the servers that tests fetch; where a tool or a package
cannot be had, the test is skipped with a word.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from boomslang.databases.servers.cache import cache_folder, locked
from support.mysql_work import WORK, is_text_only

SOURCES = Path(__file__).parent.parent / "record" / "wire_clients"
TOOLS = {"node": ["npm", "node"], "go": ["go"], "java": ["mvn", "java"]}
BUILDS = {
    "node": ["npm", "install", "--no-audit", "--no-fund", "--silent"],
    "go": ["go", "build", "-o", "client", "."],
    "java": ["mvn", "-q", "-B", "package"],
}


def built(language: str, protocol: str = "mysql") -> list[str]:
    """The command that runs a client; skips where it cannot be built."""
    missing = [tool for tool in TOOLS[language] if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"no {' and '.join(missing)} here, so no client in {language}")
    source = SOURCES / protocol / language
    files = sorted(path for path in source.rglob("*") if path.is_file())
    named = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]
    place = cache_folder() / f"{protocol}-client-{language}-{named}"
    with locked(place.with_suffix(".lock")):
        if not place.exists():
            _build(language, source, place)
    return {
        "node": ["node", str(place / "client.js")],
        "go": [str(place / "client")],
        "java": ["java", "-cp", f"{place}/target/classes:{place}/target/dependency/*", "Client"],
    }[language]


def _build(language: str, source: Path, place: Path) -> None:
    part = place.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(source, part)
    done = subprocess.run(
        BUILDS[language], cwd=part, capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode:
        why = (done.stderr or done.stdout).strip().splitlines()
        pytest.skip(f"the client in {language} could not be built: {why[-1] if why else done.returncode}")
    part.rename(place)


def run_client(command: list[str], mode: list[str], connect: dict[str, Any], folder: Path) -> None:
    """The whole work, by a client of another language."""
    work = folder / "work.json"
    work.write_text(json.dumps([(text, given, is_text_only(text)) for text, given in WORK]), "utf-8")
    where = [str(connect[name]) for name in ("host", "port", "user", "password", "database")]
    done = subprocess.run(
        [*command, *mode, str(work), *where], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
