"""What was measured, kept in one small file: a run that was interrupted goes on, and the page can be written again.

An answer belongs to a question (a dictionary of all that determines it), to a machine and to a program. It is taken
again only on the same machine and for the same program, which is a hash of its sources: figures of different versions
side by side would compare what nobody can run. For writing the page alone, whatever is kept is shown.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import platform
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 1_000_000


@cache
def program() -> str:
    """Which program: a hash of what is compiled and what is run."""
    found = hashlib.sha256()
    for folder, suffixes in (("src/boomslang", {".py"}), ("native", {".cpp", ".hpp"})):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in suffixes:
                found.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:12]


@cache
def machine_name() -> str:
    """Which machine: what does not change from day to day."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next(
        (line.split(":", 1)[1].strip() for line in lines if "model name" in line), platform.machine()
    )
    return f"{os.cpu_count()} cores ({model}), Python {platform.python_version()}"


class Answers:
    """The file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._kept: dict[str, dict[str, Any]] = {}
        if path.exists():
            self._kept = json.loads(path.read_text())["answers"]

    @staticmethod
    def key(question: dict[str, Any]) -> str:
        return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()[:16]

    def find(self, question: dict[str, Any], *, any_program: bool = False) -> dict[str, Any] | None:
        kept = self._kept.get(self.key(question))
        if kept is None:
            return None
        fits = kept["program"] == program() and kept["machine"] == machine_name()
        return kept if fits or any_program else None

    def keep(self, question: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
        kept = {
            "question": question,
            "answer": answer,
            "program": program(),
            "machine": machine_name(),
            "date": datetime.date.today().isoformat(),
            "load": round(os.getloadavg()[0], 1),
        }
        self._kept[self.key(question)] = kept
        self._save()
        return kept

    def forget(self) -> None:
        self._kept.clear()
        self._save()

    def _save(self) -> None:
        """One answer a line, so that a version control system can show what changed."""
        rows = [
            f"{json.dumps(key)}: {json.dumps(self._kept[key], sort_keys=True)}" for key in sorted(self._kept)
        ]
        text = '{"answers": {\n' + ",\n".join(rows) + "\n}}\n"
        if len(text) > MOST_BYTES:
            raise SystemExit(
                f"{self.path} would be larger than {MOST_BYTES:,} bytes; --fresh forgets what is there"
            )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(".part")
        fresh.write_text(text)
        fresh.rename(self.path)
