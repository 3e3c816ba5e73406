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
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import peers

NAMES = ("Cobra", "PolySI", "Viper", "VeriStrong", "Elle", "Emme", "TimeKiller", "AWDIT", "Plume", "dbcop")
NEVER = {"Emme": "Emme's sources, which are not public (the paper made its own)"}
KEYS = {"command", "arguments", "format", "file", "levels", "valid", "invalid"}


def called(words: str) -> Callable[[Path, str], list[str]]:
    """Arguments from a text with {history}, {folder} and {level}."""

    def made(path: Path, level: str) -> list[str]:
        place = {"{history}": str(path), "{folder}": str(path.parent), "{level}": level}
        return [re.sub(r"\{\w+\}", lambda m: place.get(m[0], m[0]), word) for word in shlex.split(words)]

    return made


def viper(path: Path, _: str) -> list[str]:
    """Viper opens only logs whose names begin with J, in a folder below the one that its settings name; two other
    folders of the settings it empties, so they must not be the trace's: it gets logs and settings of its own.
    """
    place = path.with_name(f"{path.name}-viper")
    words = ["--config_file", str(place / "config.yaml"), "--strong-session", "--sub_dir", path.name]
    if path.is_dir():
        logs = place / "logs" / path.name
        logs.mkdir(parents=True, exist_ok=True)
        for log in path.glob("*.log"):
            if not (named := logs / f"J{log.name}").exists():
                named.hardlink_to(log)
        folders = {"LOG_DIR": "logs", "GRAPH_DIR": "graphs", "ANALYSIS_DIR": "analysis"}
        settings = {name: str((place / folder).resolve()) for name, folder in folders.items()}
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


AFTER_VALUES = 2**40
"""The least key for Cobra: the write of a key's first value goes by the key's number there, other writes by their
value's, and no two may be one."""


def numbered(trace: Path, fresh: Path, first_key: int) -> Path | str:
    """The same history in plainer words, for the formats that know registers alone: numbers for keys and values, of
    which no two writes share one; rows of the initial state are not there yet; without what was
    aborted, whose values nobody may read anyway. What has more than puts and gets, in which order or presence of keys
    matters, or what has numbers already, stays as it is. Or, in words, why nobody else can be asked.
    """
    from boomslang.trace import read_trace
    from boomslang.trace.model import ABSENT, Flag, Initial, Kind, Outcome
    from boomslang.trace.scalars import INT

    read = read_trace(trace)
    committed = read.txn_outcome == Outcome.COMMITTED
    numbers = all((names.type == INT).all() for names in (read.keys, read.values))
    if numbers and committed.all() and read.initial_mode == Initial.EMPTY and first_key == 1:
        return trace
    initial = set(zip(read.initial_key.tolist(), read.initial_value.tolist(), strict=True))
    loaded = {key for key, _ in initial}
    rows = list(
        zip(
            read.op_kind.tolist(),
            read.op_key.tolist(),
            read.op_value.tolist(),
            read.op_flags.tolist(),
            strict=True,
        )
    )
    kept = [t for t in range(len(committed)) if committed[t]]
    there = [row for t in kept for row in rows[int(read.txn_ops[t]) : int(read.txn_ops[t + 1])]]
    if (read.txn_outcome == Outcome.UNKNOWN).any() or read.initial_mode == Initial.UNKNOWN:
        return trace
    writes = Counter(initial)
    writes.update((key, value) for kind, key, value, _ in there if kind == Kind.PUT)
    for kind, key, value, flags in there:
        if kind not in (Kind.PUT, Kind.GET) or flags & Flag.ERROR:
            return trace
        if kind == Kind.GET and (key in loaded if value == ABSENT else not writes[key, value]):
            return trace  # out of thin air, or aborted: some would take it for the initial value
    several = sum(kind == Kind.GET and writes[key, value] > 1 for kind, key, value, _ in there)
    if several:
        return f"{several:,} reads are of values that were written more than once"
    values: dict[tuple[int, int], int] = {}
    numbers_from_one = count(1)  # 0 would be "nothing is there" in some formats
    for kind, key, value, _ in there:
        if kind == Kind.PUT and writes[key, value] == 1:
            values[key, value] = next(numbers_from_one)
    with fresh.open("w") as file:
        file.write('{"boomslang":1}\n')
        for n, t in enumerate(kept, 1):
            head = f'{{"session":"c{int(read.txn_session[t])}","txn":{n},"op"'
            file.write(f'{head}:"begin"}}\n')
            for kind, key, value, _ in rows[int(read.txn_ops[t]) : int(read.txn_ops[t + 1])]:
                if kind == Kind.PUT:  # what is written more than once is read by nobody
                    said = f'"value":{values.get((key, value)) or next(numbers_from_one)}'
                else:
                    found = values.get((key, value))
                    said = f'"value":{found}' if found else '"absent":true'
                word = "put" if kind == Kind.PUT else "get"
                file.write(f'{head}:"{word}","key":{first_key + key},{said}}}\n')
            file.write(f'{head}:"commit"}}\n')
    return fresh


@dataclass(frozen=True)
class Checkers:
    """Those that are there, and traces that the file names."""

    tools: dict[str, tuple[peers.Tool, list[str]]] = field(default_factory=dict)
    """Name, in small letters -> what it is, and the words that start it."""
    traces: dict[str, Path] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Checkers:
        if not path.exists():
            return cls()
        data = toml(path)
        traces = {name: (path.parent / place).resolve() for name, place in data.pop("traces", {}).items()}
        tools = {}
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
        return cls(tools, traces)

    def missing(self, name: str) -> str:
        """What it would take; empty: it is there."""
        if name.lower() in self.tools:
            words = self.tools[name.lower()][1]
            return "" if shutil.which(words[0]) else f"{name}: there is no {Path(words[0]).name}"
        return NEVER.get(name, f"{name}'s executable")

    def tool(self, name: str) -> peers.Tool:
        return self.tools[name.lower()][0] if name.lower() in self.tools else TOOLS[name.lower()]

    def converted(self, name: str, trace: Path, folder: Path) -> Path | str:
        """The trace in the checker's format, below that folder; or why it cannot be."""
        tool = self.tool(name)
        path = folder / tool.format / tool.file
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            first_key = AFTER_VALUES if tool.format == "cobra" else 1
            plainer = path.with_name("numbered.jsonl")
            source = trace if tool.timed else numbered(trace, plainer, first_key)
            if isinstance(source, str):
                return source
            words = [*peers.OURS, "convert", str(source), str(path), "--to", tool.format, "--lossy"]
            done = subprocess.run(words, capture_output=True, text=True, check=False, env=peers.environment())
            plainer.unlink(missing_ok=True)
            if done.returncode != 0:
                told = done.stderr.strip().splitlines()
                # The last line says that without what is named before it would be another history.
                return "; ".join(line.strip() for line in told[1:-1] or told) or "it cannot be converted"
        return path

    def run(self, name: str, path: Path, level: str, limit: float) -> dict[str, Any]:
        """What it says of a trace in its format, in how many CPU seconds."""
        tool, words = self.tools[name.lower()]
        cost = peers.once([*words, *tool.words(path, tool.levels[level])], limit)
        status = "unknown" if cost.over else tool.verdict(cost.code, cost.output)
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
