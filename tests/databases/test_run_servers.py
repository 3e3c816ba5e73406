"""Faults on real servers: killed clients, cut connections, a killed server. What is unknown stays unknown.

Most of it is long, so only `make test-full` runs it; where no server can be started it is skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.commands import command

from boomslang import check, read_trace
from boomslang.databases import Database, find_database
from boomslang.errors import UsageError
from boomslang.run import Plan, parse_faults, run
from boomslang.trace import Outcome
from boomslang.workloads import find_workload


@pytest.fixture(scope="module", params=["postgres", "mariadb"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    try:
        opened = find_database(request.param)
    except UsageError as missing:
        pytest.skip(str(missing))
    with opened:
        yield opened


@pytest.mark.full
@pytest.mark.parametrize("fault", ["kill-client=4", "cut=8", "kill-server=2"])
@pytest.mark.parametrize("workload", ["list-append", "filesystem"])
def test_the_verdict_is_right_whatever_breaks(
    database: Database, workload: str, fault: str, tmp_path: Path
) -> None:
    if database.name == "mariadb" and workload == "list-append":
        # There a list that one has appended to is read in its newest state, not in that of one's snapshot: the
        # promise (a module) does not say so, and faults are the subject here.
        workload = "bank"
    made = find_workload(workload).with_settings(sessions=8, seed=3)
    level = database.level(None)
    ran = run(Plan(database, made, level, 600, faults=parse_faults([fault])), tmp_path / "t")
    assert ran.problems == [] and len(ran.faults) == int(fault[-1])
    trace = read_trace(tmp_path / "t")
    verdict = check(trace, level.promises, modules=level.modules)
    assert verdict.valid, verdict
    committed = int((trace.txn_outcome == Outcome.COMMITTED).sum())
    assert abs(committed - ran.committed) <= len(ran.faults), "a client may die before it could count"
    assert ran.committed > 200


def test_a_hunt_kills_its_server_and_goes_on(tmp_path: Path) -> None:
    """Each run has options of its own, so a copy of the database: it must know the server that was started. Clients
    that wait for it when the time is up have not given up."""
    try:
        find_database("postgres").close()
    except UsageError as missing:
        pytest.skip(str(missing))
    words = ("--db", "postgres", "--workload", "bank", "--txns", 150, "--sessions", 4, "--pause", 0)
    found = command(
        "hunt", *words, "--fault", "kill-server=1", "--for", "4s", "--json", "--out", tmp_path / "h"
    )
    assert found.code == 0, found.err
    told = json.loads(found.out)
    assert told["problems"] == [] and told["invalid"] == told["unknown"] == [] and told["committed"]
    assert told["tried"] and all(tried["run"]["made_faults"] == ["kill-server"] for tried in told["tried"])
