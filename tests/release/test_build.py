"""The build is configured for Pythons with and without a stable ABI, whichever Python is here. Nothing is compiled.

From 3.12 on nanobind's library has another name, so what the build says about it must find it under both.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT

PRETENDED = """
list(REMOVE_ITEM Python_FIND_COMPONENTS Development.SABIModule)
include(${CMAKE_ROOT}/Modules/FindPython.cmake)
set(Python_VERSION @version@)
if("@stable@" AND NOT TARGET Python::SABIModule)
  add_library(Python::SABIModule INTERFACE IMPORTED)
endif()
"""
"""Stands in for CMake's own FindPython: this Python, under another number."""


@pytest.mark.parametrize(
    ("version", "stable", "library"),
    [("3.11.0", "", "nanobind-static"), ("3.12.0", "yes", "nanobind-static-abi3")],
)
def test_nanobind_is_found_under_both_of_its_names(
    version: str, stable: str, library: str, tmp_path: Path
) -> None:
    pytest.importorskip("nanobind", reason="it is there where `make` built Boomslang")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    cmake = shutil.which("cmake", path=path)
    if cmake is None:
        pytest.skip("no cmake here; make installs one where the system has none")
    finder = PRETENDED.replace("@version@", version).replace("@stable@", stable)
    (tmp_path / "FindPython.cmake").write_text(finder)
    done = subprocess.run(
        [
            cmake, "-G", "Unix Makefiles", "-S", ROOT, "-B", tmp_path / "build",
            f"-DCMAKE_MODULE_PATH={tmp_path}", f"-DPython_EXECUTABLE={sys.executable}",
            *(["-DSKBUILD_SABI_COMPONENT=Development.SABIModule"] if stable else []),
        ],
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    flags = tmp_path / "build" / "CMakeFiles" / f"{library}.dir" / "flags.make"
    (line,) = (line for line in flags.read_text().splitlines() if line.startswith("CXX_FLAGS"))
    assert line.split().index("-O0") > line.split().index("-O1"), "the last one counts"
