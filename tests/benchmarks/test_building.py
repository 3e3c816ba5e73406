"""The measuring of a build: what the launcher notes down, and how a compilation is named and repeated with less."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import building

COMPILER = ["c++", "-O1", "-O3", "-MD", "-MT", "a.o", "-MF", "a.d", "-o"]


def test_a_launcher_runs_what_it_measures(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert building.launch(str(log), [sys.executable, "-c", "raise SystemExit(3)"]) == 3
    seconds, place, command = json.loads(log.read_text())
    assert seconds > 0 and place == str(Path.cwd()) and command[0] == sys.executable


def test_names() -> None:
    def name(output: str) -> str:
        return building.name_of([*COMPILER, output, "-c", "a.cpp"])

    assert name("CMakeFiles/engine.dir/Unity/unity_0_cxx.cxx.o") == "engine"
    assert name("CMakeFiles/_analyse.dir/native/asg/link.cpp.o") == "asg/link.cpp"


def test_the_same_with_less(tmp_path: Path) -> None:
    (tmp_path / "c++").write_text(
        f"#!{sys.executable}\nimport sys\nopen('said', 'w').write(' '.join(sys.argv[1:]))\n"
    )
    (tmp_path / "c++").chmod(0o755)
    assert (
        building.less(["-O0"], [str(tmp_path / "c++"), *COMPILER[1:], "a.o", "-c", "a.cpp"], str(tmp_path))
        > 0
    )
    assert (tmp_path / "said").read_text() == "-c a.cpp -O0 -o /dev/null"


def test_the_page_adds_up() -> None:
    steps = dict(zip(building.STEPS, (1.0, 2.0, 3.0), strict=True))
    told = building.page(steps, [("engine", 10.0, 5.0, 2.5), ("asg/link.cpp", 4.0, 3.0, 1.0)])
    assert "| compiling | 14.0 |\n| all | 20.0 |" in told
    assert told.endswith("| all | 14.0 | 8.0 | 3.5 |\n")
