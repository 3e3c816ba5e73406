"""The action's own commands do what it promises; what GitHub does with their files cannot be tried here."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from support.paths import ROOT


def step(text: str, name: str) -> str:
    """The script of a step of action.yml, by its id."""
    found = re.search(rf"- id: {name}\n.*?\n( +)run: \|\n((?:\1  [^\n]*\n)+)", text, re.DOTALL)
    assert found, name
    return textwrap.dedent(found[2])


@pytest.mark.parametrize(
    ("trace", "code", "level"), [("valid.jsonl", 0, "none"), ("write-skew.jsonl", 1, "error")]
)
def test_the_check_of_the_action(trace: str, code: int, level: str, tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / trace, tmp_path / "recorded.jsonl")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "TRACES": "record*.jsonl",
        "LEVEL": "serializable",
        "OPTIONS": "--timeout 60",
        "GITHUB_OUTPUT": str(tmp_path / "outputs"),
    }
    script = step((ROOT / "action.yml").read_text(), "check")
    subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "outputs").read_text() == f"code={code}\n"
    assert "<html" in (tmp_path / "boomslang-out/report.html").read_text()
    (run,) = json.loads((tmp_path / "boomslang-out/boomslang.sarif").read_text())["runs"]
    assert [result["level"] for result in run["results"]] == [level]


def test_words_of_the_inputs_are_not_run() -> None:
    """An input reaches the shell as the value of a variable, never as a part of a script."""
    text = (ROOT / "action.yml").read_text()
    scripts = re.findall(r"run: \|\n((?: {8}.*\n)+)|run: ((?!\|).+)\n", text)
    assert len(scripts) == 4 and not any("${{" in script for pair in scripts for script in pair)
