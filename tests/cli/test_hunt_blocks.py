"""The hunt in blocks, as a cluster gets them: the same row of runs, found traces brought home, no shared database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from support.commands import command

from boomslang.cli import hunt_blocks
from boomslang.cli.hunt_blocks import RUNS, Bag, _gather
from boomslang.run import Hunted, Tried, variations
from boomslang.workers import Lost
from boomslang.workloads import find_workload

HUNT = ("hunt", "--workload", "insert-if-none", "--txns", "200", "--on", "ray", "--json")


class Here:
    """Workers in this process; the first block is lost to them."""

    megabytes = None
    obstacle = ""

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *_: object) -> None: ...

    def map(self, function: Any, items: Any) -> Iterator[tuple[int, Any]]:
        for number, item in enumerate(items):
            yield number, function(item) if number else Lost("3 workers were lost over it")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hunt_blocks, "on_cluster", lambda *_, **__: Here())


@pytest.mark.usefixtures("here")
def test_what_is_found_elsewhere_lies_here(tmp_path: Path) -> None:
    pytest.importorskip("slatedb")
    words = ("--db", "slatedb", "--db-level", "snapshot", "--level", "ser", "--for", "60s")
    found = command(*HUNT, *words, "--out", tmp_path / "hunt")
    data = json.loads(found.out)
    assert found.code == data["exit"] == 1
    assert f"runs 1 to {RUNS}: 3 workers were lost over it" in data["problems"]
    (quarry,) = data["invalid"]
    trace = Path(quarry["trace"])
    number = int(trace.name.removeprefix("run-"))
    assert trace.parent == tmp_path / "hunt" and number > RUNS
    assert {"run.json", "initial.jsonl", "c1.jsonl"} <= {path.name for path in trace.iterdir()}
    assert command("check", trace, "--level", "ser", "-q").code == 1
    assert command("verify", trace, quarry["certificate"]).code == 0
    # It is the run that one machine would have come to.
    row = variations(find_workload("insert-if-none"), {}, 0)
    same = next(islice(row, number - 1, None)).settings
    told = quarry["run"]
    assert (told["seed"], told["keys"], told["sessions"]) == (same.seed, same.keys, same.sessions)


@pytest.mark.usefixtures("here")
def test_time_ends_it(tmp_path: Path) -> None:
    found = command(*HUNT, "--db", "sqlite", "--for", "1s", "--out", tmp_path / "hunt")
    assert found.code == 0 and json.loads(found.out)["valid"] >= 1


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("spec", ["sqlite:{}/shop.db", "sqlite:{}/shop.db?journal=delete"])
def test_a_database_that_all_would_share_is_refused(spec: str, tmp_path: Path) -> None:
    found = command(*HUNT, "--db", spec.format(tmp_path), "--out", tmp_path / "hunt")
    assert found.code == 254 and "every machine would empty and fill that one database" in found.err
    assert not (tmp_path / "hunt").exists()


def test_wrong_places() -> None:
    for word in ("spark", "ray://", "ray:6379", "http://host"):
        found = command("hunt", "--workload", "insert-if-none", "--on", word)
        assert found.code == 254 and "expected ray, or an address such as ray://host:10001" in found.err


def test_runs_of_blocks_are_told_in_their_order_and_time(tmp_path: Path) -> None:
    hunted = Hunted()
    for first, began in ((5, 10.0), (1, 2.0)):  # as they come in
        tried = [Tried(first + n, float(n), "valid", "", None, {}) for n in range(2)]
        _gather(Bag(Hunted(runs=2, valid=2, tried=tried), began), tmp_path, hunted)
    assert [(each.number, each.began) for each in hunted.tried] == [(1, 2.0), (2, 3.0), (5, 10.0), (6, 11.0)]
    assert hunted.runs == hunted.valid == 4
