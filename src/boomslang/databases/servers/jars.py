"""How the jars that hold servers are packed, and taken apart.

PostgreSQL's holds one archive, `postgres-linux-x86_64.txz`, with `bin`, `lib` and `share` in it. MariaDB's holds the
files themselves below `ch/vorburger/...`; a jar forgets which of them can be run.
"""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path


def unpack_archive_inside(jar: Path, folder: Path) -> None:
    """The one `.txz` that a jar holds."""
    with zipfile.ZipFile(jar) as outer:
        (inner,) = (name for name in outer.namelist() if name.endswith(".txz"))
        with outer.open(inner) as stream, tarfile.open(fileobj=stream, mode="r|xz") as archive:
            if hasattr(tarfile, "data_filter"):
                archive.extractall(folder, filter="data")
            else:
                archive.extractall(folder)


def unpack_files(jar: Path, folder: Path) -> None:
    """All files of a jar; programs and scripts can be run afterwards."""
    with zipfile.ZipFile(jar) as archive:
        archive.extractall(folder)  # it leaves no file outside
    for file in folder.rglob("*"):
        if file.is_file() and file.parent.name in ("bin", "scripts"):
            file.chmod(0o755)
