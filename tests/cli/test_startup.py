"""A command loads what it needs and nothing else: the names it offers are known without the things they name."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.commands import environment
from support.paths import ROOT

import boomslang
from boomslang import encodings, passes, trace
from boomslang.cli.main import COMMANDS
from boomslang.solve.backends import EAGER
from boomslang.solve.names import ENCODINGS, NATIVE, PASSES, SOLVERS
from boomslang.trace import formats

VALID, SKEW = ROOT / "examples" / "valid.jsonl", ROOT / "examples" / "write-skew.jsonl"
NOT_FOR_A_CHECK = {
    "boomslang.databases", "boomslang.encodings", "boomslang.explain.counterexample", "boomslang.ir.expression",
    "boomslang.levels.names", "boomslang.modules", "boomslang.passes", "boomslang.record", "boomslang.report",
    "boomslang.run", "boomslang.solve.backends", "boomslang.trace.builder", "boomslang.trace.formats.viper",
    "boomslang.storage.object_path", "boomslang.trace.writer", "boomslang.workers", "boomslang.workloads", "difflib",
    "importlib.metadata", "multiprocessing", "numpy.ma", "obstore", "ray", "rich", "shutil",
}  # fmt: skip


def loaded(*words: str) -> set[str]:
    """The modules that are there when the command has run."""
    code = f"import sys; from boomslang.cli.main import main; main({list(words)!r}); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment()
    )
    return set(done.stdout.splitlines()[-1].split())


def test_a_check_loads_no_other_command_and_no_other_solver() -> None:
    found = loaded("check", str(VALID), "--level", "ser,si")
    assert not found & NOT_FOR_A_CHECK
    assert {name for name in found if name.startswith("boomslang.cli.commands.")} == {
        "boomslang.cli.commands.check"
    }


def test_what_is_invalid_loads_what_explains_it() -> None:
    assert "boomslang.explain.counterexample" in loaded("check", str(SKEW), "--level", "ser", "--quiet")


def test_no_threads_for_matrices_are_started() -> None:
    """NumPy's turn idly for a while. It asks the environment when it is loaded; whoever has set that is asked first."""
    code = (
        f"import os, sys; sys.argv = ['boomslang', 'check', {str(VALID)!r}, '--level', 'ser']; "
        "from boomslang.cli.main import run; early = 'numpy' in sys.modules; "
        "os._exit = lambda code: print(early, 'numpy' in sys.modules, os.environ['OPENBLAS_NUM_THREADS']); run()"
    )
    clean = {name: value for name, value in environment().items() if "NUM_THREADS" not in name}
    for given, expected in (({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=clean | given
        )
        assert done.stdout.splitlines()[-1].split() == ["False", "True", expected]


def test_a_long_trace_waits_for_next_to_nothing() -> None:
    """What is imported before a trace begins to be read, beyond what Python imports of itself."""
    told = "print(*sys.modules); sys.exit()"
    code = (
        "import sys; sys.argv = ['boomslang', 'check', 'trace.jsonl']; from boomslang.trace import begun; "
        f"begun.begin = lambda words: exec({told!r}); from boomslang.cli.entry import run; run()"
    )

    def modules(program: str) -> set[str]:
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment()
        )
        return set(done.stdout.split())

    found = modules(code) - modules(f"import sys; {told}")
    assert "boomslang.trace.begun" in found
    assert not found & {"argparse", "boomslang.cli.main", "numpy", "pathlib", "re", "typing"}


def test_names_that_are_known_beforehand_are_the_names_there_are() -> None:
    assert (NATIVE, *EAGER) == SOLVERS
    assert tuple(passes.PASSES) == PASSES
    assert tuple(encodings.ENCODINGS) == ENCODINGS
    assert tuple(format.name for format in formats.FORMATS) == formats.NAMES


@pytest.mark.parametrize("package", [boomslang, trace, boomslang.ir], ids=lambda package: package.__name__)
def test_every_name_of_a_package_can_be_had(package: object) -> None:
    for name in package.__all__:  # type: ignore[attr-defined]
        assert getattr(package, name) is not None and name in dir(package)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        package.nonsense  # type: ignore[attr-defined]  # noqa: B018


def test_check_stays_a_function_whatever_is_imported() -> None:
    import boomslang.checker

    assert callable(boomslang.check) and boomslang.check is boomslang.checker.check


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    from boomslang.cli.main import main

    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0 and capsys.readouterr().out.startswith(f"usage: boomslang {command}")
