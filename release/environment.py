"""A virtual environment with pip, for a second of CPU: `python release/environment.py FOLDER`.

`python -m venv` runs pip out of its wheel to install it, and compiles all of it and of setuptools: eight seconds. The
wheel that comes with Python has only to be unpacked; what of it is used is compiled when it is. Where the wheel is not
found, Python's own way is taken.
"""

from __future__ import annotations

import ensurepip
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

PIP = """#!/bin/sh
exec "$(dirname "$0")/python" -m pip "$@"
"""


def pip_wheel() -> Path | None:
    """The wheel of pip that belongs to this Python: its own, or the system's in place of it."""
    places = [sysconfig.get_config_var("WHEEL_PKG_DIR"), Path(ensurepip.__file__).parent / "_bundled"]
    found = [wheel for place in places if place for wheel in sorted(Path(place).glob("pip-*.whl"))]
    return found[0] if found else None


def make(folder: Path) -> None:
    venv.EnvBuilder(symlinks=True).create(folder)
    binaries = folder / "bin"
    wheel = pip_wheel()
    if wheel is None:
        subprocess.run([binaries / "python", "-m", "ensurepip", "--default-pip"], check=True)
        return
    base = str(folder)
    packages = sysconfig.get_path("purelib", "posix_prefix", {"base": base, "platbase": base})
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(packages)
    for name in ("pip", "pip3"):
        script = binaries / name
        script.write_text(PIP)
        script.chmod(0o755)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"found {len(sys.argv) - 1} arguments; expected the folder of the environment")
    make(Path(os.path.abspath(sys.argv[1])))  # noqa: PTH100  (a link stays one)
