"""A watch beside real databases: seconds in `make test`; ten minutes, with clients and servers that die, in `make
test-full`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.commands import command
from support.servers import opened

from boomslang.databases import Database, find_database
from boomslang.levels import find_level
from boomslang.record.rules import ROTATED
from boomslang.run import Plan, Ran, Speed, run
from boomslang.stream.beside import Beside, Told
from boomslang.stream.tally import Status
from boomslang.workloads import find_workload

MINUTES = float(os.environ.get("SOAK_MINUTES", "10"))
"""Of a long one."""

EMBEDDED = [("sqlite", "deferred"), ("rocksdb", "snapshot"), ("slatedb", "snapshot")]


@pytest.mark.parametrize(("name", "level"), EMBEDDED)
def test_a_second_beside_an_embedded_database(name: str, level: str, tmp_path: Path) -> None:
    words = (
        "--db",
        name,
        "--db-level",
        level,
        "--workload",
        "blindw-rw",
        "--sessions",
        4,
        "--txns",
        1_000_000,
        "--for",
        "1s",
    )
    ran = command("run", *words, "--out", tmp_path / "t", "--watch", "--json", "--check", "si")
    answer = json.loads(ran.out)
    assert ran.code == 0 and answer["levels"][0]["status"] == "valid", (ran, answer)
    about = json.loads((tmp_path / "t" / "run.json").read_text())
    assert answer["watch"]["committed"] == about["committed"] > 0
    assert command("check", tmp_path / "t", "--level", "si").code == 0


class Soak:
    """A load and a watch for ten minutes, looked at all the time. Some of the load is deleted as it is checked."""

    def __init__(self, database: Database, level: str, folder: Path, **faults: int) -> None:
        offered = database.level(level)
        workload = find_workload("blindw-rw").with_settings(sessions=8, keys=2000, seed=1)
        kinds = {name.replace("_", "-"): count for name, count in faults.items()}
        # More transactions than there is time for: time ends the run, and says when faults come.
        self.plan = Plan(database, workload, offered, txns=10**9, faults=kinds)
        self.level, self.folder = find_level(offered.promises), folder
        self.seen: list[Status] = []

    def run(self, keep: float | None = None) -> tuple[Ran, Told]:
        with Beside(self.folder, self.level, idle=5.0, keep=keep) as beside:

            def look(speed: Speed) -> None:
                beside.listen()
                if not self.seen or beside.status.seconds > self.seen[-1].seconds + 0.9:
                    self.seen.append(beside.status)

            ran = run(
                self.plan,
                self.folder,
                seconds=60.0 * MINUTES,
                until=beside.found,
                progress=look,
                rotate=None if keep is None else keep * ROTATED,
            )
            beside.end()
            return ran, beside.answer()

    def check(self, ran: Ran, told: Told) -> None:
        assert told.status == "valid", told
        assert told.last.committed == ran.committed > 10_000
        assert ran.seconds > 0.95 * 60 * MINUTES, "it was over before its time"
        assert ran.faults or not self.plan.faults, ran.problems
        # Where all sessions go on it is at most a few seconds behind; one that died holds it up until it is idle.
        lags = sorted(seen.lag for seen in self.seen if seen.lag is not None)
        assert lags[len(lags) // 2] < 5.0 and lags[-1] < 30.0, lags[-5:]
        half = len(self.seen) // 2
        early, late = (max(s.megabytes for s in part) for part in (self.seen[:half], self.seen[half:]))
        assert late < 1.3 * early + 50, (early, late)
        made = ", ".join(ran.faults) or "none"
        print(f"{ran.committed:,} committed in {ran.seconds:.0f} s; faults: {made}")
        print(
            f"behind: median {lags[len(lags) // 2]:.1f} s, most {lags[-1]:.1f} s; memory {early:.0f}, {late:.0f} MB"
        )
        print(f"on the disk {self.seen[-1].recorded >> 20} MB, deleted {told.last.deleted >> 20} MB")


@pytest.mark.full
def test_ten_minutes_beside_rocksdb(tmp_path: Path) -> None:
    with find_database("rocksdb") as database:
        soak = Soak(database, "snapshot", tmp_path / "t", kill_client=4)
        soak.check(*soak.run(keep=6.0 * MINUTES))
        half = len(soak.seen) // 2
        early, late = (max(s.recorded for s in part) for part in (soak.seen[:half], soak.seen[half:]))
        assert soak.seen[-1].deleted > late and late < 2 * early, (early, late, soak.seen[-1])


@pytest.mark.full
def test_ten_minutes_beside_postgresql(tmp_path: Path) -> None:
    for database in opened("postgres"):
        soak = Soak(database, "serializable", tmp_path / "t", kill_client=4, kill_server=2)
        soak.check(*soak.run())
