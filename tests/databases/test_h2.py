"""H2 through PostgreSQL's protocol: what its levels allow, that they keep what they promise, and that it comes back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.server_levels import H2
from support.servers import scripts, see

from boomslang import check, read_trace
from boomslang.databases import DriverMissing, find_database
from boomslang.databases.servers import ServerMissing, find_server
from boomslang.run import Plan, parse_faults, run
from boomslang.workloads import find_workload


@pytest.fixture(scope="module")
def h2() -> Iterator[Any]:
    try:
        database = find_database("h2")
    except (ServerMissing, DriverMissing) as problem:
        pytest.skip(str(problem))
    with database:
        yield database


def test_without_java_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServerMissing, match="apt install default-jre-headless"):
        find_server("h2")


@pytest.mark.full
@pytest.mark.parametrize(("level", "name", "expected"), scripts(H2))
def test_what_levels_allow(h2: Any, level: str, name: str, expected: str, tmp_path: Path) -> None:
    see(h2, name, level, expected, tmp_path)


@pytest.mark.full
def test_operations(h2: Any) -> None:
    h2.prepare({"a": "1", "b": "2"})
    one = h2.connect()
    one.begin("serializable")
    assert one.get("a") == "1" and one.get("x") is None and one.get_for_update("b") == "2"
    one.put("c", "3")
    one.append("l", "p")
    one.append("l", "q")
    assert one.delete("b") is True and one.delete("b") is False
    assert one.scan("a", None) == [("a", "1"), ("c", "3"), ("l", "p,q")] and one.scan("b", "c") == []
    one.abort()
    one.begin("read committed")
    assert one.scan(None, None) == [("a", "1"), ("b", "2")]
    one.commit()
    one.close()
    assert h2.version().startswith("H2 2")


@pytest.mark.full
@pytest.mark.parametrize("level", H2)
@pytest.mark.parametrize("workload", ["list-append", "blindw", "insert-if-absent"])
def test_random_load_keeps_the_promise(h2: Any, level: str, workload: str, tmp_path: Path) -> None:
    offered = h2.level(level)
    unique = {"values": 0} if workload == "blindw" else {}
    made = find_workload(workload).with_settings(sessions=6, seed=3, **unique)
    ran = run(Plan(h2, made, offered, 300), tmp_path / "t")
    assert ran.committed > 50 and not ran.problems
    assert check(read_trace(tmp_path / "t"), offered.promises, timeout=60).valid


@pytest.mark.full
def test_serializable_is_not(h2: Any, tmp_path: Path) -> None:
    made = find_workload("list-append").with_settings(sessions=6, seed=3)
    run(Plan(h2, made, h2.level("serializable"), 500), tmp_path / "t")
    assert check(read_trace(tmp_path / "t"), "ser").invalid


@pytest.mark.full
def test_a_commit_is_there_after_the_process_was_killed_again_and_again(h2: Any) -> None:
    h2.prepare({"x": "0"})
    for n in range(3):
        one = h2.connect()
        one.begin("snapshot")
        assert one.get("x") == str(n)
        one.put("x", str(n + 1))
        one.commit()
        h2.server.kill()
        one.close()
        h2.server.restart()


@pytest.mark.full
def test_what_it_confirmed_survives_kill(h2: Any, tmp_path: Path) -> None:
    faults = parse_faults(["kill-server=2", "kill-client=2", "cut=2"])
    made = find_workload("bank").with_settings(sessions=6, seed=3)
    ran = run(Plan(h2, made, h2.level("snapshot"), 600, faults=faults), tmp_path / "t")
    assert ran.problems == [] and len(ran.faults) == 6 and ran.committed > 100
    assert check(read_trace(tmp_path / "t"), "si", timeout=60).valid
