"""`boomslang doctor`: what is installed here, what can be recorded, what is missing, and the one command that helps."""

from __future__ import annotations

import argparse
import platform
import re
import shutil
import sys
from importlib import metadata
from importlib.util import find_spec
from typing import Any, NamedTuple

import boomslang
from boomslang.cli import exit_codes
from boomslang.cli.screen import Screen
from boomslang.extras import DISTRIBUTION, how_to_install

NATIVE = (
    "trace._reader",
    "asg._analyse",
    "solve._engine",
    "windows._windows",
    "stream._live",
    "explain._known",
)
WORTH = {
    "z3": "a second solver, which verifies counterexamples",
    "clingo": "another solver",
    "arrow": "Arrow and Parquet files",
    "zstd": "files packed with zstd",
    "sql": "applications recorded by their SQL",
    "cloud": "traces on object storage",
    "ray": "checks and hunts on many machines",
}
"""What an extra is for. Drivers of databases are told with their databases."""
PROGRAMS = {
    "chromium": "opens reports in the tests",
    "mvn": "brings other versions of PostgreSQL and MariaDB",
    "npm": "brings other versions of PostgreSQL and MySQL",
}


class Finding(NamedTuple):
    """One thing that was looked at."""

    about: str
    name: str
    there: bool
    said: str
    fix: str = ""
    """The one command that helps; empty: nothing is missing, or no command does."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Looks at what is installed: Boomslang itself, extras, databases that can be recorded here, programs. Says "
        "what is missing, and the one command that helps. Fetches nothing. Exit code 0 if Boomslang itself is whole."
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    found = [*_itself(), *_extras(), *_databases(), *_programs()]
    whole = all(each.there for each in found if each.about == "Boomslang")
    if arguments.json:
        screen.document({"boomslang": boomslang.__version__, "findings": [each._asdict() for each in found]})
        return exit_codes.VALID if whole else exit_codes.USAGE
    about = ""
    for each in found:
        if each.about != about:
            if about:
                screen.line()
            about = each.about
            screen.line((about, "bold"))
        mark = ("ok       ", "green") if each.there else ("missing  ", "yellow")
        screen.line(mark, (f"{each.name:22}", "cyan"), each.said, indent=2, hang=31)
        if each.fix:
            screen.line(f"fix: {each.fix}", indent=33)
    return exit_codes.VALID if whole else exit_codes.USAGE


def _itself() -> list[Finding]:
    made = [
        Finding(
            "Boomslang",
            "version",
            True,
            f"{boomslang.__version__}, Python {platform.python_version()}, {platform.machine()}",
        )
    ]
    absent = [name for name in NATIVE if find_spec(f"boomslang.{name}") is None]
    said = "all there" if not absent else f"without {', '.join(absent)}"
    fix = "make demo (or pip install . in a checkout)" if absent else ""
    return [*made, Finding("Boomslang", "native code", not absent, said, fix)]


def _extras() -> list[Finding]:
    wanted = _required()
    found = []
    for extra, use in WORTH.items():
        absent = [name for name in wanted.get(extra, ()) if not _installed(name)]
        fix = how_to_install(extra).replace("pip", _pip(), 1) if absent else ""
        found.append(Finding("Extras", extra, not absent, use, fix))
    return found


def _required() -> dict[str, list[str]]:
    """Of each extra, what it asks for on this machine."""
    found: dict[str, list[str]] = {}
    try:
        asked = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return found
    for line in asked:
        package, _, condition = line.partition(";")
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", condition)
        needless = re.search(r"python_version < ['\"]3\.(\d+)['\"]", condition)
        if extra and not (needless and sys.version_info >= (3, int(needless[1]))):
            found.setdefault(extra[1], []).append(package.strip())
    return found


def _installed(requirement: str) -> bool:
    name = re.split(r"[\[<>=!~ ]", requirement, maxsplit=1)[0]
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _pip() -> str:
    return f"{sys.executable} -m pip"


def _databases() -> list[Finding]:
    from boomslang.cli.commands.db import describe
    from boomslang.databases import ADAPTERS

    found = []
    for name in sorted(ADAPTERS):
        told: dict[str, Any] = describe(name)
        levels = ", ".join(level["name"] for level in told["levels"])
        problem, _, command = (told["driver"] or "").partition("; install it with: pip")
        later = told["server_state"] == "later"
        server = "fetched when it is needed" if later else told["server"] or ""
        here = not problem and told["server_state"] != "missing"
        where = f"{levels}" + (f" (server: {server})" if server and here else "")
        fix = f"{_pip()}{command}" if command else re.sub("^pip ", f"{_pip()} ", told["fix"])
        fix = "" if here else fix
        found.append(Finding("Databases", name, here, where if here else problem or server, fix))
    return found


def _programs() -> list[Finding]:
    return [
        Finding(
            "Programs", name, (path := shutil.which(name)) is not None, f"{use}{f': {path}' if path else ''}"
        )
        for name, use in PROGRAMS.items()
    ]
