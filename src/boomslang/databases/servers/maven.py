"""Servers out of Maven's registry: an artifact is named by its group and its name, and a version of it is a jar.

Maven's own client fetches it (`mvn dependency:get`), from wherever its settings say. Its plug-in and what it fetches
are kept in a repository of our own in the cache, so that nothing of the user's is touched; the jar is taken out of it.
With BOOMSLANG_MAVEN set to the address of a repository (`https://...`, `file:///...`) no client is needed. Either way
the jar is compared with the checksum that the repository has for it.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import re
import shutil
import tarfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from boomslang.databases.servers.cache import cache_folder, cached, locked
from boomslang.databases.servers.packages import PATIENCE, ServerMissing, call, not_here_yet
from boomslang.databases.servers.versions import fits, near, newest

ADDRESS = "BOOMSLANG_MAVEN"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get"
NO_VERSION = "[0,0.0.1)"
"""A range without a version: to find that out Maven fetches the list of all there are."""


@dataclass(frozen=True)
class Artifact:
    """What a jar is a version of."""

    group: str
    name: str

    def __str__(self) -> str:
        return f"Maven's {self.group}:{self.name}"

    @property
    def below(self) -> str:
        """Where it is in a repository."""
        return f"{self.group.replace('.', '/')}/{self.name}"

    def jar(self, version: str) -> str:
        return f"{self.below}/{version}/{self.name}-{version}.jar"


def versions_here(artifact: Artifact) -> list[str]:
    """Those that have been fetched and unpacked."""
    begin = f"{artifact.name}-"
    return [
        folder.name.removeprefix(begin) for folder in cache_folder().glob(f"{begin}[0-9]*") if folder.is_dir()
    ]


def versions_there(artifact: Artifact) -> list[str]:
    """All that the registry has."""
    if address := os.environ.get(ADDRESS):
        listed = _read(f"{address}/{artifact.below}/maven-metadata.xml").decode(errors="replace")
        return re.findall(r"<version>([^<]+)</version>", listed)
    with _client() as repository:
        place = repository / artifact.below
        refused = ""
        try:
            _get(repository, f"{artifact.group}:{artifact.name}:{NO_VERSION}", transitive=True)
        except ServerMissing as problem:
            refused = str(problem)  # as it must be; what counts is the list
        texts = [file.read_text(errors="replace") for file in place.glob("maven-metadata-*.xml")]
    found = [version for text in texts for version in re.findall(r"<version>([^<]+)</version>", text)]
    if not found:
        raise ServerMissing(f"{artifact}: {refused or 'its versions are not listed'}")
    return list(dict.fromkeys(found))


def artifact_folder(
    artifact: Artifact, version: str, unpack: Callable[[Path, Path], None], *, fetch: bool = True
) -> tuple[str, Path]:
    """The version that is meant and the folder that its jar was unpacked into, by `unpack(jar, folder)`."""
    here = [each for each in versions_here(artifact) if fits(each, version)]
    if not here and not fetch:
        can = ADDRESS in os.environ or shutil.which("mvn") is not None
        raise not_here_yet(f"{artifact} {version}", can_be_fetched=can, fix="apt install maven")
    there = [] if here else versions_there(artifact)
    fitting = here or [each for each in there if fits(each, version)]
    if not fitting:
        raise ServerMissing(f"{artifact} has no version {version}: {near(version, there)}")
    chosen = newest(fitting)

    def make(folder: Path) -> None:
        jar = folder / "fetched.jar"
        _fetch(artifact, chosen, jar)
        try:
            unpack(jar, folder)
        except (
            zipfile.BadZipFile,
            tarfile.TarError,
            lzma.LZMAError,
            OSError,
            EOFError,
            ValueError,
        ) as problem:
            raise ServerMissing(f"{artifact}:{chosen} cannot be unpacked: {problem}") from None
        jar.unlink()

    place = cached(f"{artifact.name}-{chosen}", make)
    assert place is not None
    return chosen, place


def _fetch(artifact: Artifact, version: str, to: Path) -> None:
    """The jar, if it is what the repository says it is."""
    if address := os.environ.get(ADDRESS):
        to.write_bytes(_read(f"{address}/{artifact.jar(version)}"))
        said = _read(f"{address}/{artifact.jar(version)}.sha1").decode(errors="replace")
    else:
        with _client() as repository:
            _get(repository, f"{artifact.group}:{artifact.name}:{version}", transitive=False)
            jar = repository / artifact.jar(version)
            said = jar.with_name(f"{jar.name}.sha1").read_text() if jar.exists() else ""
            if jar.exists():
                shutil.move(jar, to)
            shutil.rmtree(jar.parent, ignore_errors=True)
    if not to.exists() or hashlib.sha1(to.read_bytes()).hexdigest() != said.strip().split(" ")[0].lower():
        raise ServerMissing(f"{artifact}:{version} is not what its checksum says; it was not kept")


class _client:
    """Our repository for Maven's client, for one at a time."""

    def __enter__(self) -> Path:
        if shutil.which("mvn") is None:
            raise ServerMissing(
                f"mvn is not installed (apt install maven; or set {ADDRESS} to the address of a Maven repository)"
            )
        repository = cache_folder() / ".maven"
        repository.mkdir(exist_ok=True)
        self._lock = locked(cache_folder() / ".maven.lock")
        self._lock.__enter__()
        return repository

    def __exit__(self, *_: object) -> None:
        self._lock.__exit__(None, None, None)


def _get(repository: Path, what: str, *, transitive: bool) -> None:
    call(
        *("mvn", "--batch-mode", "--quiet", "--strict-checksums", PLUGIN, f"-Dartifact={what}"),
        *(f"-Dtransitive={str(transitive).lower()}", f"-Dmaven.repo.local={repository}"),
        folder=repository,
    )


def _read(address: str) -> bytes:
    try:
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            return bytes(answer.read())
    except (urllib.error.URLError, OSError, ValueError) as problem:
        raise ServerMissing(f"{ADDRESS}: {address.rpartition('/')[2]}: {problem}") from None
