"""What is installed, what is missing, and the one command that helps."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from support.commands import command

from boomslang.cli.commands import doctor
from boomslang.databases import ADAPTERS
from boomslang.databases.servers.server import Program


def findings(ran: Any) -> dict[tuple[str, str], dict[str, Any]]:
    return {(each["about"], each["name"]): each for each in json.loads(ran.out)["findings"]}


def test_it_knows_what_is_there() -> None:
    ran = command("doctor", "--json")
    assert ran.code == 0
    found = findings(ran)
    assert found["Boomslang", "native code"]["there"]
    assert found["Extras", "z3"]["there"] and found["Databases", "sqlite"]["there"], (
        "they come with the tests"
    )
    assert {name for about, name in found if about == "Databases"} == set(ADAPTERS)
    for each in found.values():
        assert each["said"] and (not each["fix"] or not each["there"])


def test_what_is_missing_comes_with_the_command_that_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_installed", lambda name: not name.startswith("z3"))
    missing = next(each for each in doctor._extras() if each.name == "z3")
    assert not missing.there and missing.fix.endswith("-m pip install 'boomslang-checker[z3]'")


def test_without_its_native_code_it_is_not_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "NATIVE", (*doctor.NATIVE, "solve._no_such"))
    ran = command("doctor")
    assert ran.code == 254 and "without solve._no_such" in ran.out and "make demo" in ran.out


def test_for_people() -> None:
    ran = command("doctor")
    assert ran.code == 0 and "Databases" in ran.out and "Traceback" not in ran.err


def test_a_server_that_is_not_there_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever is installed here: of Galera all but its library, then all."""
    from boomslang.databases.servers import galera

    def finding() -> Any:
        return next(each for each in doctor._databases() if each.name == "galera")

    for tool in galera.TOOLS:
        (tmp_path / tool).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    program = Program(tmp_path, "10.11", "the system's", home=tmp_path)
    monkeypatch.setattr(galera, "find_mariadb", lambda *_: program)
    monkeypatch.setattr(galera, "PROVIDERS", (str(tmp_path / "libgalera_smm.so"),))
    missing = finding()
    assert not missing.there and "a Galera cluster needs libgalera_smm.so" in missing.said
    assert missing.fix == "apt install mariadb-server galera-4 rsync"
    (tmp_path / "libgalera_smm.so").touch()
    there = finding()
    assert there.there and "10.11, the system's" in there.said and not there.fix

    (tmp_path / galera.TOOLS[1]).unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    missing = finding()
    assert not missing.there and missing.fix and galera.TOOLS[1] in missing.said


@pytest.mark.parametrize("tool", [True, False])
def test_what_is_fetched_when_it_is_needed_is_not_missing(
    tool: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("pymysql")
    monkeypatch.setenv("BOOMSLANG_SERVERS", str(tmp_path / "none"))
    monkeypatch.setenv("PATH", str(tmp_path))
    if tool:
        (tmp_path / "npm").touch(mode=0o755)
    found = next(each for each in doctor._databases() if each.name == "mysql")
    assert found.there == tool and found.fix == ("" if tool else "apt install npm")
    assert "fetched when it is needed" in found.said
    assert tool == ("(server: fetched when it is needed)" in found.said)
