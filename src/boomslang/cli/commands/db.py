"""`boomslang db`: which databases can be recorded here, and a server of one's own for as long as the command runs."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import signal
import time
from pathlib import Path
from typing import Any

from boomslang.cli import exit_codes
from boomslang.cli.screen import Screen
from boomslang.databases import ADAPTERS, DriverMissing

STARTED = ("etcd", "galera", "h2", "mariadb", "mysql", "postgres", "postgres-replica")
"""Servers that can be started. What is needed to start them is imported when one is."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Lists the databases that can be recorded here, or starts a server for as long as it runs."
    )
    parser.set_defaults(run=lambda *_: parser.error("list or start?"))
    actions: Any = parser.add_subparsers(metavar="ACTION", dest="action")

    listing = actions.add_parser(
        "list",
        help="what there is: drivers, servers, levels",
        description="Lists every database: is its driver installed, can its server be had, which levels it offers and "
        "what they promise. Looks only at what is on this machine; fetches nothing.",
    )
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.set_defaults(run=run_list)

    starting = actions.add_parser(
        "start",
        help="start a server, until Ctrl-C",
        description="Starts a server with an empty database of its own, on this machine's loopback and not as root, "
        "and prints its address. It is stopped, and its data removed, when the command ends.",
    )
    starting.add_argument("server", metavar="SERVER", choices=STARTED, help=", ".join(STARTED))
    starting.add_argument("--version", metavar="V", help="this version (15, 15.3); may be fetched")
    starting.add_argument("--binaries", metavar="FOLDER", type=Path, help="where its programs are")
    starting.add_argument("--port", metavar="N", type=_port, help="listen on this port (default: a free one)")
    starting.add_argument("--durable", action="store_true", help="wait for the disk at each commit")
    starting.set_defaults(run=run_start)


def _port(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError(f"found {text!r}; expected a port, 1 to 65535")
    return int(text)


def run_start(arguments: argparse.Namespace, screen: Screen) -> int:
    from boomslang.databases.servers import ServerFailed, start_server

    with _ended_by(signal.SIGTERM), contextlib.suppress(KeyboardInterrupt):
        server = start_server(
            arguments.server,
            version=arguments.version,
            binaries=arguments.binaries,
            port=arguments.port,
            durable=arguments.durable,
        )
        with server:
            program = server.program
            screen.line(server.dsn)
            screen.line(f"{server.title} {program.version} ({program.source}) runs until Ctrl-C")
            screen.flush()
            while server.running:
                time.sleep(0.2)
            raise ServerFailed(f"{server.title} has ended by itself")
    return exit_codes.VALID


@contextlib.contextmanager
def _ended_by(number: int) -> Any:
    """Takes a signal for Ctrl-C."""
    before = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def describe(name: str) -> dict[str, Any]:
    """What `db list` tells of a database."""
    told: dict[str, Any] = {"name": name, "title": name, "driver": None, "server": None, "levels": []}
    told |= {"server_state": "there", "fix": ""}
    where, _, attribute = ADAPTERS[name].partition(":")
    try:
        adapter = getattr(importlib.import_module(where), attribute)
        told["title"] = adapter.title
        told["levels"] = [
            {
                "name": offered.name,
                "default": offered.name == adapter.default_level,
                "promises": offered.promises,
                "modules": list(offered.modules),
                "note": offered.note,
            }
            for offered in adapter.levels.values()
        ]
        if hasattr(adapter, "server_kind"):  # those that are embedded have none
            told |= _server(adapter.server_kind)
        if driver := getattr(adapter, "driver_must_be_there", None):
            driver()
    except DriverMissing as problem:
        told["driver"] = str(problem)
    return told


def _server(kind: str | None) -> dict[str, Any]:
    from boomslang.databases.servers import ServerMissing, find_server

    if kind is None:
        return {"server": "yours, by its address"}
    try:
        found = find_server(kind, fetch=False)
        return {"server": f"{found.version}, {found.source}"}
    except ServerMissing as problem:
        return {
            "server": str(problem),
            "server_state": "later" if problem.later else "missing",
            "fix": problem.fix,
        }


def run_list(arguments: argparse.Namespace, screen: Screen) -> int:
    told = [describe(name) for name in sorted(ADAPTERS)]
    if arguments.json:
        screen.document({"databases": told})
        return exit_codes.VALID
    for each in told:
        screen.line((each["name"], "bold cyan"), f" ({each['title']})")
        facts = [("driver", each["driver"] or "there"), ("server", each["server"] or "")]
        for level in each["levels"]:
            promise = f"promises {level['promises']}"
            promise += "".join(f" with {module}" for module in level["modules"])
            facts.append((level["name"], promise + (", the default" if level["default"] else "")))
        for fact, text in facts:
            if text:
                screen.line((f"{fact:28}", "dim"), text, indent=2, hang=28)
    return exit_codes.VALID
