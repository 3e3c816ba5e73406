"""What a release is made of says one thing everywhere, and its files are of the forms that they claim."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from support.paths import ROOT

sys.path.insert(0, str(ROOT / "release"))
import consistent
import progress
import site_links
import wheels


def checkout(folder: Path, *, version: str = "0.2.0", changes: str = "## 0.2.0 (2026-02-03)\n") -> Path:
    (folder / "src/boomslang").mkdir(parents=True)
    (folder / "pyproject.toml").write_text('[project]\nversion = "0.2.0"\n')
    (folder / "src/boomslang/__init__.py").write_text(f'__version__ = "{version}"\n')
    (folder / "CHANGELOG.md").write_text(f"# What has changed\n\n{changes}\n- A thing.\n")
    return folder


def test_this_checkout_tells_one_number() -> None:
    told = consistent.numbers(ROOT)
    assert len(told) == 4 and len(set(told.values())) == 1 and "" not in told.values(), told


def test_a_release_that_agrees(tmp_path: Path) -> None:
    assert consistent.problems(checkout(tmp_path), ["v0.1.0"], release=True) == []


@pytest.mark.parametrize(
    ("about", "tags", "said"),
    [
        ({"version": "0.2.1"}, [], "different numbers"),
        ({"changes": "## 0.2.0\n"}, [], "different numbers"),
        ({"changes": "## Unreleased\n\n- New.\n\n## 0.2.0 (2026-02-03)\n"}, [], "under 'Unreleased'"),
        ({"changes": "## 0.2.0 (2026-02-03)\n\n## 0.1.0 (2026-03-03)\n"}, [], "newest on top"),
        ({}, ["v0.10.0"], "later tag"),
    ],
)
def test_a_release_that_does_not(tmp_path: Path, about: dict[str, str], tags: list[str], said: str) -> None:
    (problem,) = consistent.problems(checkout(tmp_path, **about), tags, release=True)
    assert said in problem


def test_between_releases_changes_wait(tmp_path: Path) -> None:
    changes = "## Unreleased\n\n- New.\n  And how.\n- Newer.\n\n## 0.2.0 (2026-02-03)\n"
    place = checkout(tmp_path, changes=changes)
    assert consistent.waiting(place) == 2
    assert consistent.problems(place, ["v0.2.0"], release=False) == []
    (problem,) = consistent.problems(place, ["v0.10.0"], release=False)
    assert "later tag" in problem


@pytest.mark.full  # it looks at every file of the checkout, the environment's too
def test_a_source_distribution_has_what_builds_and_nothing_else(tmp_path: Path) -> None:
    backend = pytest.importorskip("scikit_build_core.build")
    with contextlib.chdir(ROOT) if sys.version_info >= (3, 11) else contextlib.nullcontext():
        name = backend.build_sdist(str(tmp_path))
    wheels.look_into(tmp_path / name)
    with tarfile.open(tmp_path / "spoilt.tar.gz", "w:gz") as spoilt:
        spoilt.add(ROOT / "README.md", "x/.venv/README.md")
    with pytest.raises(wheels.Failed, match=r"\.venv"):
        wheels.look_into(tmp_path / "spoilt.tar.gz")


def test_progress_is_a_line_for_each_step() -> None:
    lines = [
        "  Installing build dependencies: started\n",
        "noise\n",
        "  [1/15] Building CXX\n",
        "  [1/15] again\n",
    ]
    assert list(progress.told([*lines, "[15/15] Linking\n", "Installing collected packages: x\n"])) == [
        "fetching what the build needs",
        "compiling: step 1 of 15",
        "compiling: step 15 of 15",
        "installing",
    ]


def test_a_build_that_fails_says_all_it_said() -> None:
    program = "import sys; print('[1/2] Building'); print('the reason'); sys.exit(3)"
    ran = subprocess.run(
        [sys.executable, ROOT / "release/progress.py", sys.executable, "-c", program],
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 3 and "step 1 of 2" in ran.stderr and "the reason" in ran.stderr
    ran = subprocess.run(
        [sys.executable, ROOT / "release/progress.py", sys.executable, "-c", "print('the reason')"],
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0 and "the reason" not in ran.stderr


def test_ways_out_of_the_site_become_paths() -> None:
    page = "[a](../examples/x.go), [b](other.md), [c](../../examples/y)\n```json file=a.json\n{}\n```\n"
    assert site_links.without_ways_out(page, "findings/badger.md") == (
        "[a](../examples/x.go), [b](other.md), c (`examples/y`)\n```json\n{}\n```\n"
    )
    assert site_links.without_ways_out("[a](../examples/x.go)", "page.md") == "a (`examples/x.go`)"


def test_the_container_gets_what_builds_and_no_more() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in lines
    kept = {line[1:] for line in lines if line.startswith("!")}
    assert kept == wheels.CONTENTS - {"PKG-INFO", "CHANGELOG.md", "CITATION.cff"}
    assert all((ROOT / name).exists() for name in kept)
