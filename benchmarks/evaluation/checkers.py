"""Other checkers, from executables whose paths are in one small file (`benchmarks/checkers.toml` tells how).

Nothing of the others is here. A checker gets the trace in its own format, written by `boomslang convert`, and is run in
a fresh process with a limit; what it says is found by a pattern. How those that `peers.py` knows are called, it knows;
Cobra, Viper and Elle are here. Of Cobra the file has to say where its settings are.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import peers

NAMES = ("Cobra", "PolySI", "Viper", "VeriStrong", "Elle", "Emme", "TimeKiller", "AWDIT", "Plume", "dbcop")
NEVER = {"Emme": "Emme's sources, which are not public (the paper made its own)"}
KEYS = {"command", "arguments", "format", "file", "levels", "valid", "invalid", "note"}
MEMORY = 8_000
"""Megabytes that a cell may take."""


def called(words: str) -> Callable[[Path, str], list[str]]:
    """Arguments from a text with {history}, {folder} and {level}."""

    def made(path: Path, level: str) -> list[str]:
        place = {"{history}": str(path), "{folder}": str(path.parent), "{level}": level}
        return [re.sub(r"\{\w+\}", lambda m: place.get(m[0], m[0]), word) for word in shlex.split(words)]

    return made


def viper(path: Path, _: str) -> list[str]:
    """Viper looks for logs in a folder below the one that its settings name; two other folders of the settings it
    empties, so they must not be the trace's.
    """
    place = path.with_name(f"{path.name}-viper")
    words = ["--config_file", str(place / "config.yaml"), "--strong-session", "--sub_dir", path.name]
    if path.is_dir():
        place.mkdir(exist_ok=True)
        folders = {"LOG_DIR": path.parent, "GRAPH_DIR": place / "graphs", "ANALYSIS_DIR": place / "analysis"}
        settings = {name: str(folder.resolve()) for name, folder in folders.items()}
        # With 6 it prunes and guesses, which its authors measured as Viper. All of JSON is YAML.
        (place / "config.yaml").write_text(json.dumps({**settings, "HASFINAL": False, "ALGO": 6}))
    return [*words, "--perf_file", os.devnull, "--exp_name", path.name]


MORE = (
    peers.Tool(
        "Cobra", "cobra", "history", {"strong-session-ser": "ser"}, called("mono audit cobra.conf {history}"),
        peers.said(r"\[ ACCEPT \]", r"\[ REJECT \]"),
    ),
    peers.Tool(
        "Viper", "viper", "history", {"strong-session-si": "si"}, viper, peers.said("^sat: True$", "^sat: False$"),
    ),
    peers.Tool(
        "Elle", "jepsen-edn", "history.edn", {"ser": "serializable", "si": "snapshot-isolation"},
        called("--model list-append --consistency-models {level} {history}"),
        peers.said(r"\strue\s*$", r"\sfalse\s*$"),
    ),
)  # fmt: skip
TOOLS = {tool.name.lower(): tool for tool in (*peers.TOOLS, *MORE)}


@dataclass(frozen=True)
class Checkers:
    """Those that are there, and traces that the file names."""

    tools: dict[str, tuple[peers.Tool, list[str]]] = field(default_factory=dict)
    """Name, in small letters -> what it is, and the words that start it."""
    traces: dict[str, Path] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    """Name, in small letters -> what a reader of its figures should know of this executable."""

    @classmethod
    def read(cls, path: Path) -> Checkers:
        if not path.exists():
            return cls()
        data = toml(path)
        traces = {name: (path.parent / place).resolve() for name, place in data.pop("traces", {}).items()}
        tools, notes = {}, {}
        for name, entry in data.items():
            tool = TOOLS.get(name.lower())
            if tool is None:
                raise SystemExit(f"{path}: found [{name}]; expected one of {', '.join(NAMES)}, or traces")
            if unknown := set(entry) - KEYS:
                raise SystemExit(
                    f"{path}: [{name}] has {', '.join(sorted(unknown))}; known are {', '.join(sorted(KEYS))}"
                )
            if command := entry.get("command"):
                tools[name.lower()] = with_entry(tool, entry), peers.executable(command)
                notes[name.lower()] = entry.get("note", "")
        return cls(tools, traces, {name: note for name, note in notes.items() if note})

    def missing(self, name: str) -> str:
        """What it would take; empty: it is there."""
        if name.lower() in self.tools:
            words = self.tools[name.lower()][1]
            return "" if shutil.which(words[0]) else f"{name}: there is no {Path(words[0]).name}"
        return NEVER.get(name, f"{name}'s executable")

    def noted(self, names: Iterable[str]) -> list[str]:
        """Paragraphs for below a table in which these are."""
        told: list[str] = []
        for name in names:
            about = [] if self.missing(name) else [self.tool(name).note, self.notes.get(name.lower(), "")]
            if words := " ".join(filter(None, about)):
                told += ["", f"{name}: {words}"]
        return told

    def tool(self, name: str) -> peers.Tool:
        return self.tools[name.lower()][0] if name.lower() in self.tools else TOOLS[name.lower()]

    def converted(self, name: str, trace: Path, folder: Path) -> Path | str:
        """The trace in the checker's format, below that folder; or why it cannot be."""
        tool = self.tool(name)
        path = folder / tool.format / tool.file
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            words = [*peers.OURS, "convert", str(trace), str(path), "--to", tool.format, "--lossy"]
            # Lists and timestamps are said as they are; whoever knows registers alone gets numbers.
            words += [] if tool.timed or tool.format == "jepsen-edn" else ["--plain"]
            done = subprocess.run(words, capture_output=True, text=True, check=False, env=peers.environment())
            if done.returncode != 0:
                told = done.stderr.strip().splitlines()
                # The last line says that without what is named before it would be another history.
                return "; ".join(line.strip() for line in told[1:-1] or told) or "it cannot be converted"
        return path

    def run(self, name: str, path: Path, level: str, limit: float) -> dict[str, Any]:
        """What it says of a trace in its format, in how many CPU seconds."""
        tool, words = self.tools[name.lower()]
        cost = peers.once([*words, *tool.words(path, tool.levels[level])], limit, MEMORY)
        status = "unknown" if cost.over else tool.verdict(cost.code, cost.output)
        if cost.full or re.search(r"OutOfMemoryError|^MemoryError|bad_alloc", cost.output, re.MULTILINE):
            status = "out of memory"
        return {"status": status, "seconds": round(cost.seconds, 3), "megabytes": round(cost.megabytes)}


def with_entry(tool: peers.Tool, entry: dict[str, Any]) -> peers.Tool:
    """The tool, with what the file says otherwise."""
    changes: dict[str, Any] = {key: entry[key] for key in ("format", "file", "levels") if key in entry}
    if "arguments" in entry:
        changes["words"] = called(entry["arguments"])
    if "valid" in entry and "invalid" in entry:
        changes["verdict"] = peers.said(entry["valid"], entry["invalid"])
    return replace(tool, **changes)


def toml(path: Path) -> dict[str, Any]:
    try:
        import tomllib
    except ImportError:
        raise SystemExit(f"{path}: to read it takes Python 3.11 or newer") from None
    try:
        return tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as problem:
        raise SystemExit(f"{path}: {problem}") from None
