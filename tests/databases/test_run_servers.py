"""Faults on real servers: killed clients, cut connections, a killed server. What is unknown stays unknown.

Long, so only `make test-full` runs it; where no server can be started it is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from boomslang import check, read_trace
from boomslang.databases import Database, find_database
from boomslang.errors import UsageError
from boomslang.run import Plan, parse_faults, run
from boomslang.trace import Outcome
from boomslang.workloads import find_workload

pytestmark = pytest.mark.full


@pytest.fixture(scope="module", params=["postgres", "mariadb"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    try:
        opened = find_database(request.param)
    except UsageError as missing:
        pytest.skip(str(missing))
    with opened:
        yield opened


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
