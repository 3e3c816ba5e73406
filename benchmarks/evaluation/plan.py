"""How a cell is measured: once, in a fresh process, with a limit; and how much there is to measure.

Kinds of cells: a trace through the phases of the pipeline (`phases`), a whole `boomslang check` of a trace that is a
file (`check`), the same of a trace that is recorded first, from a database that is started for it (`recorded`), and
another checker's answer (`checked_by`). Seconds are CPU seconds, user and system, as a busy machine tells nothing by
the clock, and the limit is one of CPU seconds too; by the clock a cell may take ten times as long. Where a smaller
size was over the limit, a larger one is not asked. Servers are started when they are needed first and ended with the
figure.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import peers
import phases
from simulate import DATA, SOURCE, History, stored

from evaluation.answers import Answers
from evaluation.checkers import MEMORY, Checkers
from evaluation.tagged import Tagged

LONGEST = 300.0
"""Seconds by the clock that a recording may take: what was done by then is checked, and its size is told."""
PAPERS_LIMIT = 600.0
"""Seconds that the paper gives a cell."""
OVER = ("unknown", "did not end")
"""What a cell says that came to its limit."""
RECORDINGS = DATA / "evaluation"


@dataclass(frozen=True)
class Recording:
    """A workload on a database, as `boomslang run` takes it."""

    database: str
    level: str
    workload: str
    transactions: int
    sessions: int = 24
    retries: int = 10
    """What the database aborts is tried again, so that about as many transactions commit as were asked for."""
    settings: dict[str, Any] = field(default_factory=dict)
    seconds: float | None = None
    """If given, it ends after so long, whatever was done by then."""
    tagged: bool = False
    """Every value that is written gets an id, as Cobra's library does it (tagged.py)."""

    def told(self) -> dict[str, Any]:
        """All that makes it what it is."""
        return {name: value for name, value in asdict(self).items() if name != "tagged" or value}

    def folder(self) -> Path:
        name = hashlib.sha256(json.dumps(self.told(), sort_keys=True).encode()).hexdigest()[:8]
        return RECORDINGS / f"{self.database.partition(':')[0]}-{self.workload}-{self.transactions}-{name}"


@dataclass
class Plan:
    """How much is measured."""

    answers: Answers
    checkers: Checkers
    quick: bool = False
    limit: float = 60.0
    divide: int = 1
    """All sizes by this: for tests."""
    measure: bool = True
    """Or is the page written from what is kept?"""
    used: list[dict[str, Any]] = field(default_factory=list)
    """Answers that the figure in the making rests on."""
    _stack: ExitStack = field(default_factory=ExitStack)
    _databases: dict[str, Any] = field(default_factory=dict)

    def size(self, paper: int, quick: int | None = None) -> int:
        """So many transactions; quickly a tenth, unless it is said otherwise."""
        wanted = (paper // 10 if quick is None else quick) if self.quick else paper
        return max(20, wanted // self.divide)

    def close(self) -> None:
        """Ends the servers."""
        self._databases.clear()
        self._stack.close()

    # --- cells

    def cell(self, question: dict[str, Any], make: Any) -> dict[str, Any] | None:
        """The answer: kept, or made now and kept. What has a `problem` is not kept: another time it may work."""
        kept = self.answers.find(question, any_program=not self.measure)
        if kept is None and self.measure:
            answer = make()
            if answer.get("problem"):
                return dict(answer)
            kept = self.answers.keep(question, answer)
            told = answer.get("seconds")
            print(
                f"  {question.get('what', '')}: {answer.get('status', '')} {told if told is None else round(told, 2)}",
                flush=True,
            )
        if kept is None:
            return None
        self.used.append(kept)
        return dict(kept["answer"])

    def phases(
        self,
        history: History | Path,
        way: phases.Way,
        limit: float | None = None,
        smaller: dict[str, Any] | None = None,
    ) -> dict[str, Any] | None:
        """A trace through the phases of the pipeline. `smaller` is what came of a smaller trace."""
        limit = self.limit if limit is None else limit
        if smaller is not None and (smaller["status"] in OVER or smaller["seconds"] > limit):
            return {"status": "unknown", "seconds": 0.0, "limit": limit, "asked": False}
        way = replace(way, timeout=limit, clock="cpu", memory=MEMORY)
        trace = history.name if isinstance(history, Path) else asdict(history)
        question = {
            "kind": "phases",
            "trace": trace,
            "way": {**asdict(way), "passes": way.passes if way.passes is None else list(way.passes)},
            "simulator": hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:12],
            "what": f"{way.level} {way.encoding or way.solver} {'+'.join(way.passes or ())}",
        }

        def make() -> dict[str, Any]:
            path = history if isinstance(history, Path) else stored(history)
            found = phases.run(path, way)
            rounded = {name: round(value, 4) for name, value in found.seconds.items()}
            return {
                "status": found.status,
                "seconds": round(found.total, 4),
                "phases": rounded,
                "megabytes": round(found.megabytes),
                "superpositions": found.superpositions,
                "left": found.left,
                "limit": limit,
            }

        return self.cell(question, make)

    def check(
        self, path: Path, name: str, level: str, *extra: str, about: dict[str, Any] | None = None
    ) -> dict[str, Any] | None:
        """A whole command. `name` stands for the trace."""
        question = {"kind": "check", "trace": name, "level": level, "extra": list(extra), "limit": self.limit}
        question["what"] = f"{name} {level} {' '.join(extra)}".strip()
        return self.cell(question, lambda: {**self._checked(path, level, extra), **(about or {})})

    def recorded(self, recording: Recording, level: str, *extra: str) -> dict[str, Any] | None:
        """The same of a trace that is recorded first, if it is not there. With `problem` if it cannot be."""
        question = {
            "kind": "recorded",
            "recording": recording.told(),
            "level": level,
            "extra": list(extra),
            "limit": self.limit,
            "what": f"{recording.database} {recording.workload} {level} {' '.join(extra)}".strip(),
        }

        def make() -> dict[str, Any]:
            told = self.record(recording)
            if told.get("problem"):
                return told
            return {**told, **self._checked(recording.folder(), level, extra)}

        return self.cell(question, make)

    def checked_by(self, name: str, trace: Path | Recording, level: str, label: str) -> dict[str, Any] | None:
        """What another checker says of a trace, which it gets in its own format."""
        tool = self.checkers.tool(name)
        question = {
            "kind": "other",
            "checker": name,
            "trace": trace.told() if isinstance(trace, Recording) else trace.stem,
            "level": level,
            "limit": self.limit,
            "arguments": _without_folders(tool.words(Path("HISTORY"), tool.levels.get(level, ""))),
            "what": f"{name} {label} {level}",
        }
        if isinstance(trace, Recording) and tool.format != "jepsen-edn":
            question["names"] = "numbers"  # convert --plain

        def make() -> dict[str, Any]:
            if level not in tool.levels:
                return {"status": f"does not check {level}", "seconds": 0.0}
            if isinstance(trace, Recording):
                told = self.record(trace)
                if told.get("problem"):
                    return told
            path = self.converted(name, trace)
            if isinstance(path, str):
                return {"status": f"cannot be asked: {path}", "seconds": 0.0}
            return self.checkers.run(name, path, level, self.limit)

        return self.cell(question, make)

    def converted(self, name: str, trace: Path | Recording) -> Path | str:
        """The trace in the format of another checker; or why it cannot be had in it."""
        path = trace.folder() if isinstance(trace, Recording) else trace
        return self.checkers.converted(name, path, RECORDINGS / f"{path.stem}-converted")

    def _checked(self, path: Path, level: str, extra: tuple[str, ...]) -> dict[str, Any]:
        words = [*peers.OURS, "check", str(path), "--level", level, "--json"]
        words += ["--timeout", f"{phases.PATIENCE * self.limit:g}", "--memory", str(MEMORY), *extra]
        cost = peers.once(words, self.limit)
        answer: dict[str, Any] = {"seconds": round(cost.seconds, 3), "megabytes": round(cost.megabytes)}
        answer["status"] = "unknown" if cost.over else peers.by_exit_code(cost.code, "")
        if cost.over:
            return {**answer, **_counted(path)}
        begin = cost.output.find("{\n")
        if begin < 0:
            last = (cost.output.strip().splitlines() or [answer["status"]])[-1]
            return {**answer, "status": "failed", "problem": last}
        told, _ = json.JSONDecoder().raw_decode(cost.output[begin:])
        answer["transactions"] = told["trace"]["committed"]
        answer["operations"] = told["trace"]["operations"]
        example = told["levels"][0].get("counterexample") or {}
        if anomaly := example.get("anomaly"):
            answer["anomaly"] = f"{anomaly['code']} ({anomaly['name']})"
            answer["core"] = len(example.get("transactions", []))
        return answer

    # --- recording

    def record(self, recording: Recording) -> dict[str, Any]:
        """What is told of a recording: the database's version, how long it took; or a problem."""
        from boomslang.databases import DatabaseError
        from boomslang.errors import UsageError
        from boomslang.run import Plan as RunPlan
        from boomslang.run import run
        from boomslang.workloads import find_workload

        folder = recording.folder()
        if not (folder / "run.json").exists():
            shutil.rmtree(folder, ignore_errors=True)
            print(f"  recording {recording.workload} on {recording.database} ...", flush=True)
            try:
                opened = self._database(recording.database)
                settings = {"sessions": recording.sessions, "seed": 1, **recording.settings}
                workload = find_workload(recording.workload).with_settings(**settings)
                workload = Tagged(workload) if recording.tagged else workload
                level = opened.level(recording.level)
                plan = RunPlan(opened, workload, level, recording.transactions, recording.retries)
                ran = run(plan, folder, seconds=recording.seconds or LONGEST)
            except (UsageError, DatabaseError, OSError) as problem:
                shutil.rmtree(folder, ignore_errors=True)
                self._databases.pop(recording.database, None)
                return {"problem": " ".join(str(problem).split()), "status": "failed"}
            if ran.gave_up:
                shutil.rmtree(folder, ignore_errors=True)
                return {"problem": "; ".join(ran.problems) or "no client came to its end", "status": "failed"}
        told = json.loads((folder / "run.json").read_text())
        return {
            "version": told["version"],
            "collected": round(told["seconds"], 2),
            "aborted": told["aborted"],
        }

    def _database(self, spec: str) -> Any:
        from boomslang.databases import find_database

        if spec not in self._databases:
            self._databases[spec] = self._stack.enter_context(find_database(spec))
        return self._databases[spec]


def _without_folders(words: list[str]) -> list[str]:
    """No folder of a machine is kept, as settings may lie in one."""
    return [Path(word).name if word.startswith("/") else word for word in words]


def _counted(path: Path) -> dict[str, int]:
    """How large a trace is that nobody came to the end of."""
    words = [*peers.OURS, "stats", str(path), "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=peers.environment())
    if done.returncode != 0:
        return {"transactions": 0, "operations": 0}
    told = json.loads(done.stdout)
    return {"transactions": told["transactions"]["committed"], "operations": told["operations"]["total"]}
