"""What is installed, what is missing, and the one command that helps."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.commands import command

from boomslang.cli.commands import doctor
from boomslang.databases import ADAPTERS


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
