"""Recorders in Java, Go and TypeScript (examples/recorders), and ours: each writes what the test vectors say."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from support.paths import ROOT

from boomslang import check, read_trace
from boomslang.record.session import Session
from boomslang.trace import Absent
from boomslang.trace.scalars import Unbounded

RECORDERS = ROOT / "examples" / "recorders"
VECTORS = sorted((RECORDERS / "vectors").glob("*.program"))

Play = Callable[[Path, Path], None]


def run(*words: object, cwd: Path) -> str:
    done = subprocess.run([str(w) for w in words], cwd=cwd, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def needs(*tools: str) -> None:
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"found no {tool} on this machine")


def python(folder: Path) -> Play:
    """Ours, with times as they are given."""

    def value(word: str) -> Any:
        kind, _, rest = word.partition(":")
        made: dict[str, Callable[[str], Any]] = {
            "s": unquote,
            "i": int,
            "f": float,
            "b": lambda text: text == "true",
            "x": bytes.fromhex,
        }
        return made[kind](rest) if kind in made else Absent if word == "absent" else None

    def play(program: Path, out: Path) -> None:
        session = Session(out.stem, out, '{"boomslang":1,"clock":"test","unit":"ns"')
        for n, line in enumerate(program.read_text().splitlines()):
            op, *words = line.split("\t")
            error = None
            if op == "failed":
                op, *words, why = words
                error = value(why)
            args = [value(word) for word in words]
            result = None
            if op == "scan":
                bounds = [Unbounded if bound is None else bound for bound in args[:2]]
                result, args = list(zip(args[2::2], args[3::2], strict=True)), bounds
            elif op == "delete":
                result, args = {"found": True, "nothing": False}.get(words[1]), args[:1]
            elif op == "get":
                result, args = args[1], args[:1]
            elif op not in ("put", "scan"):
                args = []
            session.log(op, args, result, invoke=2 * n + 1, returned=2 * n + 2, error=error)
            if op == "commit" and error is not None:
                session.leave()
        session.close()

    return play


def java(folder: Path) -> Play:
    needs("javac", "java")
    run("javac", "-d", folder, *(RECORDERS / "java").glob("*.java"), cwd=folder)
    return lambda program, out: void(run("java", "-cp", folder, "Vectors", program, out, cwd=folder))


def go(folder: Path) -> Play:
    needs("go")
    run("go", "build", "-o", folder / "vectors", "./vectors", cwd=RECORDERS / "go")
    return lambda program, out: void(run(folder / "vectors", program, out, cwd=folder))


def typescript(folder: Path) -> Play:
    """With its types taken away by node, or, where that is too old, checked and compiled by TypeScript."""
    needs("node")
    version = [int(part) for part in re.findall(r"\d+", run("node", "--version", cwd=folder))[:2]]
    if version >= [22, 6]:
        script = [RECORDERS / "typescript" / "vectors.ts"]
        return lambda program, out: void(
            run("node", "--experimental-strip-types", *script, program, out, cwd=folder)
        )
    needs("npm")
    for file in (RECORDERS / "typescript").glob("*.ts"):
        shutil.copy(file, folder)
    words = ("npm", "install", "--no-audit", "--no-fund", "typescript@5.9", "@types/node@20")
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=200)
    if done.returncode != 0:
        pytest.skip("found no TypeScript: node is older than 22.6, and npm could not install it")
    (folder / "package.json").write_text('{"type": "module"}')
    options = ("--strict", "--target", "es2022", "--module", "nodenext", "--rewriteRelativeImportExtensions")
    run("node_modules/.bin/tsc", *options, "--types", "node", "vectors.ts", cwd=folder)
    return lambda program, out: void(run("node", folder / "vectors.js", program, out, cwd=folder))


def void(_: str) -> None:
    return None


@pytest.mark.parametrize(
    "language", [python, *(pytest.param(one, marks=pytest.mark.full) for one in (java, go, typescript))]
)
def test_a_recorder_writes_what_the_vectors_say(language: Callable[[Path], Play], tmp_path: Path) -> None:
    play = language(tmp_path)
    for program in VECTORS:
        out = tmp_path / f"{program.stem}.jsonl"
        play(program, out)
        said, expected = (
            [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
            for file in (out, program.with_suffix(".jsonl"))
        )
        assert said == expected, program.stem


def test_the_vectors_are_traces(tmp_path: Path) -> None:
    """A file of a folder is a session."""
    assert len(VECTORS) == 4
    for program in VECTORS:
        folder = tmp_path / program.stem
        folder.mkdir()
        shutil.copy(program.with_suffix(".jsonl"), folder / "client.jsonl")
        held = '{"items":[["stock",5]]}' if program.stem == "lost-update" else '"empty"'
        (folder / "initial.jsonl").write_text(f'{{"boomslang":1,"initial":{held}}}\n')
        trace = read_trace(folder)
        assert len(trace) and not trace.warnings
        assert check(trace, level="sser").valid


def test_the_recorders_are_short() -> None:
    """The page says some 60 lines; comments and blank ones aside."""
    for file in ("java/Recorder.java", "go/recorder/recorder.go", "typescript/recorder.ts"):
        lines = [line.strip() for line in (RECORDERS / file).read_text().splitlines()]
        assert len([line for line in lines if line and not line.startswith(("//", "/*", "*"))]) <= 100, file
