"""A real S3 server for tests: Versity's gateway over a folder of this machine, on loopback only.

It is written in Go and comes from Go's module proxy, checked against its checksum database; `go install`
builds it once, into the cache where other servers of tests are kept. `make test` uses it if it is there,
`make test-full` builds it; without Go there is none.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from boomslang.databases.servers.cache import cached
from support import effort

VERSION = "v1.8.0"
MODULE = "github.com/versity/versitygw/cmd/versitygw"
KEY, SECRET = "boomslang", "only-for-tests"


@dataclass(frozen=True)
class S3Server:
    folder: Path
    """Its buckets, as folders."""
    address: str

    def environment(self, **other: str) -> dict[str, str]:
        """What the library must be told to reach it."""
        return {
            "AWS_ENDPOINT_URL": self.address,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            **other,
        }


def binary() -> Path | str:
    """The server's program; or why there is none."""
    name = f"versitygw-{VERSION}"
    if (there := cached(name, None)) is not None:
        return there / "versitygw"
    if not effort.full:
        return "the S3 server is not here yet; make test-full builds it"
    if shutil.which("go") is None:
        return "the S3 server is built with Go, which is not installed"

    def build(folder: Path) -> None:
        environment = {**os.environ, "GOBIN": str(folder)}
        subprocess.run(
            ["go", "install", f"{MODULE}@{VERSION}"],
            env=environment,
            check=True,
            capture_output=True,
            timeout=1200,
        )

    try:
        made = cached(name, build)
    except (subprocess.SubprocessError, OSError) as problem:
        return f"the S3 server could not be built: {problem}"
    assert made is not None
    return made / "versitygw"


@contextmanager
def running(program: Path, home: Path) -> Iterator[S3Server]:
    buckets, state = home / "buckets", home / "state"
    buckets.mkdir()
    state.mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [program, "--port", f"127.0.0.1:{port}", "--access", KEY, "--secret", SECRET]
    words += ["--iam-dir", state, "posix", "--sidecar", state, buckets]
    with (home / "log").open("w") as log:
        server = subprocess.Popen([str(word) for word in words], stdout=log, stderr=log)
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if server.poll() is not None:
                raise RuntimeError((home / "log").read_text())
            time.sleep(0.05)
        yield S3Server(buckets, f"http://127.0.0.1:{port}")
    finally:
        server.terminate()
        server.wait(10)
