"""Workloads: the same each time, mixed as published, and right about what they keep.

Each is run here by one client over a store that runs one transaction at a time, so every count is exact.
"""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from support.memory_store import Memory
from support.paths import ROOT

from boomslang.errors import UsageError
from boomslang.workloads import WORKLOADS, GiveUp, Settings, Workload, find_workload
from boomslang.workloads.workload import Distribution, after

ALL = sorted(WORKLOADS)


class Notebook:
    """A client that notes what is done, transaction by transaction."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.store = Memory()
        self.store.prepare(workload.initial())
        self.connection = self.store.connect()
        self.names: Counter[str] = Counter()
        self.transactions: list[list[tuple[Any, ...]]] = []
        self.gave_up = 0

    def run(self, transactions: int, sessions: int = 4) -> Notebook:
        for number in range(transactions):
            for session in range(sessions):
                self._one(self.workload.transaction(session, number))
        return self

    def _one(self, transaction: Any) -> None:
        self.names[transaction.name] += 1
        self.transactions.append([])
        self.connection.begin("serializable")
        try:
            transaction.run(self)
            self.connection.commit()
        except GiveUp:
            self.gave_up += 1
            self.connection.abort()

    def __getattr__(self, op: str) -> Any:
        def call(*arguments: Any) -> Any:
            self.transactions[-1].append((op, *arguments))
            return getattr(self.connection, op)(*arguments)

        return call

    def list(self, key: str) -> list[str]:
        self.transactions[-1].append(("list", key))
        return (self.connection.get(key) or "").split(",")

    def iterator(self, lo: str, hi: str) -> Iterator[tuple[str, str]]:
        mine = self.transactions[-1]
        at = len(mine)
        mine.append(("iterator", lo, hi, 0))
        for taken, pair in enumerate(self.connection.iterator(lo, hi), 1):
            mine[at] = ("iterator", lo, hi, taken)
            yield pair

    @property
    def operations(self) -> list[tuple[Any, ...]]:
        return [op for ops in self.transactions for op in ops]


def noted(name: str, transactions: int = 50, **settings: Any) -> Notebook:
    return Notebook(find_workload(name).with_settings(**{"sessions": 4, **settings})).run(transactions)


def near(found: int, total: int, percent: float) -> bool:
    """Within four standard deviations."""
    expected = total * percent / 100
    return abs(found - expected) <= 4 * (expected * (1 - percent / 100)) ** 0.5 + 1


@pytest.mark.parametrize("name", ALL)
def test_a_seed_makes_the_same_streams_and_another_makes_others(name: str) -> None:
    first, again, other = noted(name, seed=7), noted(name, seed=7), noted(name, seed=8)
    assert first.transactions == again.transactions
    assert first.transactions != other.transactions
    assert first.store.committed == again.store.committed
    assert all(first.transactions) and len(first.transactions) == 200


@pytest.mark.parametrize("name", ALL)
def test_a_transaction_is_drawn_before_it_runs(name: str) -> None:
    """What the database answers, and what was drawn in between, changes nothing."""
    workload = find_workload(name).with_settings(sessions=4, seed=3)
    same = pickle.loads(pickle.dumps(workload))
    late = [same.transaction(1, n) for n in reversed(range(20))][::-1]
    one, other = Notebook(workload), Notebook(same)
    for n in range(20):
        one._one(workload.transaction(1, n))
        other._one(late[n])
    assert one.transactions == other.transactions


@pytest.mark.parametrize("name", ["randombench", "blindw-rw", "list-append", "retwis", "insert-if-absent"])
def test_new_values_are_new_even_when_a_transaction_is_tried_again(name: str) -> None:
    workload = find_workload(name).with_settings(
        **({"values": 0} if name in ("randombench", "retwis") else {})
    )
    book = Notebook(workload)
    for session in range(3):
        for number in range(30):
            for attempt in range(3):
                book._one(workload.transaction(session, number, attempt))
    written = [op[2] for op in book.operations if op[0] in ("put", "append")]
    assert len(written) > 30 and len(set(written)) == len(written)


MIXES = {
    name: workload.mix
    for name, workload in WORKLOADS.items()
    if hasattr(workload, "mix") and not name.startswith("random")
}


@pytest.mark.parametrize("name", sorted(MIXES))
def test_transactions_are_mixed_as_published(name: str) -> None:
    workload = find_workload(name).with_settings(sessions=4, seed=1)
    names = Counter(workload.transaction(session, n).name for n in range(500) for session in range(4))
    drawn = {kind: n for kind, n in names.items() if kind != "new-inodes"}
    assert sum(MIXES[name].values()) == 100 and drawn.keys() == MIXES[name].keys()
    for kind, percent in MIXES[name].items():
        assert near(drawn[kind], sum(drawn.values()), percent), (kind, drawn)


@pytest.mark.parametrize(
    ("name", "mix"),
    [
        # A read-modify-write is a get and a put: 25 % + 25 %, 25 % + 25 % of the operations, counted before splitting.
        ("randombench", {"get": 50, "put": 50, "delete": 5, "scan": 10, "iterator": 10}),
        ("randomrange", {"get": 50, "put": 50, "delete": 5, "scan": 20}),
        ("randomrmwrange", {"get": 90, "put": 90, "scan": 20}),
        ("blindw", {"get": 50, "put": 50}),
        ("blindw-t", {"get": 50, "put": 50}),
    ],
)
def test_operations_are_mixed_as_published(name: str, mix: dict[str, int]) -> None:
    book = noted(name, 250, seed=2)
    drawn = len(book.transactions) * WORKLOADS[name].defaults.ops
    found = Counter(op[0] for op in book.operations)
    assert found.keys() == mix.keys()
    for kind, percent in mix.items():
        doubled = 2 if name == "randomrmwrange" and kind == "scan" else 1  # each after a scan of everything
        assert near(found[kind] // doubled, drawn, percent / doubled), (kind, found)


def test_ranges_and_iterators_have_their_published_lengths() -> None:
    book = noted("randombench", 250, values=50)
    for _, lo, hi, *_ in (op for op in book.operations if op[0] in ("scan", "iterator")):
        assert 1 <= int(hi[1:]) - int(lo[1:]) <= 100 and len(hi) == len(lo)
    taken = [op[3] for op in book.operations if op[0] == "iterator"]
    assert max(taken) == 10
    assert {op[2] for op in book.operations if op[0] == "put"} == {str(n) for n in range(50)}


def test_a_scan_of_randomrmwrange_follows_a_scan_of_everything() -> None:
    for ops in noted("randomrmwrange").transactions:
        scans = [op for op in ops if op[0] == "scan"]
        assert all(op == ("scan", None, None) for op in scans[::2]) and len(scans) % 2 == 0
        assert all(before[1] == put[1] for before, put in pairwise(ops) if put[0] == "put")


@pytest.mark.parametrize(
    ("name", "reading", "ops"), [("blindw-rw", 50, 8), ("blindw-rm", 90, 8), ("blindw-e", 90, 5)]
)
def test_some_blindw_transactions_only_read_or_only_write(name: str, reading: int, ops: int) -> None:
    book = noted(name, 250)
    kinds = [{op[0] for op in transaction} for transaction in book.transactions]
    assert all(kind in ({"get"}, {"put"}) for kind in kinds)
    assert near(kinds.count({"get"}), len(kinds), reading)
    assert all(
        len({op[1] for op in transaction}) == len(transaction) == ops for transaction in book.transactions
    )


@pytest.mark.parametrize("sessions", [1, 4, 24])
def test_lists_stay_short_however_long_the_run(sessions: int) -> None:
    workload = find_workload("list-append").with_settings(sessions=sessions)
    book = Notebook(workload).run(1200 // sessions, sessions)
    lengths = Counter(op[1] for op in book.operations if op[0] == "append")
    whole = sorted(lengths)[10:-10]  # those that were in use for their whole time
    assert max(lengths.values()) < 100
    assert 16 <= sum(lengths[key] for key in whole) / len(whole) <= 64


def test_the_bank_keeps_its_money() -> None:
    book = noted("bank", 200)
    assert sum(map(int, book.store.committed.values())) == 100
    assert len(book.store.committed) == 8 and all(int(v) >= 0 for v in book.store.committed.values())
    assert len(set(book.store.committed.values()) | {"0"}) > 1, "nothing was moved"


def test_each_of_24_tpcc_clients_has_a_warehouse_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every payment writes its warehouse's row: clients that share one mostly abort each other."""
    made = find_workload("tpcc").with_settings(sessions=24)
    homes: dict[int, set[int]] = {}
    monkeypatch.setattr(
        type(made), "_payment", lambda self, draw, w, d: homes.setdefault(draw.session, set()).add(w)
    )
    for session in range(24):
        for number in range(20):
            made.transaction(session, number)
    assert len(homes) == 24 and all(len(home) == 1 for home in homes.values())
    assert len(set().union(*homes.values())) == 24


def test_tpcc_keeps_its_consistency_conditions() -> None:
    """Conditions 1 to 4 of the specification's clause 3.3.2, and all five transactions did something."""
    book = noted("tpcc", 250, keys=2)
    rows = {key: json.loads(value) for key, value in book.store.committed.items() if value.startswith("{")}
    assert 0 < book.gave_up < 0.05 * book.names["new-order"]  # the wrong items
    for w in range(2):
        districts = [rows[f"district/{w}/{d}"] for d in range(10)]
        assert rows[f"warehouse/{w}"]["ytd"] == sum(row["ytd"] for row in districts) > 0
        for d, district in enumerate(districts):
            orders = [key for key in rows if key.startswith(f"order/{w}/{d}/")]
            waiting = [key for key in book.store.committed if key.startswith(f"new-order/{w}/{d}/")]
            numbers = sorted(int(key[-8:]) for key in orders)
            assert numbers == list(range(1, district["next"]))
            open_ones = sorted(int(key[-8:]) for key in waiting)
            assert open_ones == numbers[len(numbers) - len(open_ones) :], "the oldest are delivered first"
            assert [n for n in numbers if rows[f"order/{w}/{d}/{n:08d}"]["carrier"] is None] == open_ones
            lines = [key for key in rows if key.startswith(f"line/{w}/{d}/")]
            assert len(lines) == sum(rows[key]["lines"] for key in orders)
    assert any(row.get("carrier") for row in rows.values())
    assert {"history", "orders-of", "by-name"} <= {key.partition("/")[0] for key in book.store.committed}


def test_the_file_system_stays_a_tree() -> None:
    book = noted("filesystem", 500, keys=80)
    held = book.store.committed
    inodes = {
        key[1:-2]: json.loads(value)
        for key, value in held.items()
        if key.startswith("A") and key.endswith("/I")
    }
    entries = {key: value for key, value in held.items() if key.startswith("A") and "/D" in key}
    names = Counter(entry[1:] for entry in entries.values())
    for inode, attributes in inodes.items():
        if attributes["kind"] == "f":
            assert attributes["links"] == names[inode], "a file has as many links as names"
        else:
            inside = sum(key.startswith(f"A{inode}/D") and value[0] == "d" for key, value in entries.items())
            assert attributes["links"] == 2 + inside, "a directory has a link of each directory in it"
            assert names[inode] == (inode != "1")
    assert set(names) <= set(inodes), "an entry leads to an inode"
    kinds = Counter(op[0] for op in book.operations)
    assert (
        kinds["iterator"]
        and kinds["delete"]
        and max(a["links"] for a in inodes.values() if a["kind"] == "f") > 1
    )
    assert any(key.startswith("D") for key in held), "a file was forgotten"
    assert int(held["C/nextInode"]) == 10 + 100 * 4 * 5


def test_inserts_are_single_where_one_runs_at_a_time() -> None:
    ranges = Counter(key.partition("/")[0] for key in noted("insert-if-none", 100).store.committed)
    assert max(ranges.values()) == 1 and len(ranges) > 90
    book = noted("insert-if-absent", 100)
    written = [op[1] for op in book.operations if op[0] == "put"]
    assert len(set(written)) == len(written) > 90


def test_a_locking_read_comes_between_plain_reads() -> None:
    for ops in noted("read-then-locking-read").transactions:
        kinds = [op[0] for op in ops]
        assert kinds == ["get"] * 3 + ["get_for_update", "put"] + ["get"] * 3
        assert ops[3][1] == ops[4][1] and ops[3][1] in {op[1] for op in ops[:3]}


def test_keys_are_set_to_a_few_values_and_read_before_and_after() -> None:
    book = noted("same-value", 100)
    for ops in book.transactions:
        keys = [op[1] for op in ops[:2]]
        assert [op[:2] for op in ops] == [(op, key) for op in ("get", "put", "get") for key in keys]
        assert keys == sorted(keys), "in one order, or they deadlock"
    values = Counter(op[2] for op in book.operations if op[0] == "put")
    assert values.keys() == {"0", "1"} and near(values["0"], sum(values.values()), 50)
    assert set(book.store.committed) == {f"k{n:03}" for n in range(8)}


def test_keys_are_distributed_as_asked() -> None:
    import random

    def share(spec: str, hot: int) -> float:
        rng, keys = random.Random(1), Distribution.named(spec, 100)
        drawn = [keys.draw(rng) for _ in range(5000)]
        assert min(drawn) >= 0 and max(drawn) <= 99
        return sum(n < hot for n in drawn) / len(drawn)

    assert abs(share("uniform", 10) - 0.1) < 0.02
    assert abs(share("hotspot", 10) - 0.9) < 0.02
    assert abs(share("hotspot:0.2:0.5", 20) - 0.5) < 0.03
    weights = [(n + 1) ** -0.99 for n in range(100)]
    assert abs(share("zipf", 1) - weights[0] / sum(weights)) < 0.02
    assert abs(share("zipf:0", 10) - 0.1) < 0.02
    assert Distribution.named("hotspot", 1).draw(random.Random(1)) == 0


def test_different_keys_are_drawn_though_the_distribution_is_steep() -> None:
    workload = find_workload("blindw-rw").with_settings(keys=9, distribution="zipf:10", ops=8)
    assert all(len({op[1] for op in ops}) == 8 for ops in Notebook(workload).run(5).transactions)
    few = find_workload("blindw-rw").with_settings(keys=3, ops=8)
    assert all(len(ops) == 3 for ops in Notebook(few).run(5).transactions)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"keys": 0}, "found keys = 0; expected 1 or more"),
        ({"values": -1}, "found values = -1; expected 0 or more"),
        ({"distribution": "normal"}, "found the key distribution 'normal'; expected uniform"),
        ({"distribution": "zipf:x"}, "found the key distribution 'zipf:x'"),
        ({"distribution": "hotspot:0.1"}, "found the key distribution 'hotspot:0.1'"),
        ({"distribution": "hotspot:1:1"}, "found the key distribution 'hotspot:1:1'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as problem:
        Settings(**settings)
    assert said in str(problem.value)


def test_names_are_found_however_they_are_spelled() -> None:
    assert find_workload("Blind_W-RW").name == "blindw-rw"
    with pytest.raises(UsageError, match="did you mean randombench"):
        find_workload("randombensh")
    with pytest.raises(UsageError, match="bank has no use for ops; it uses distribution, keys"):
        find_workload("bank").with_settings(ops=3)


def test_every_workload_says_what_it_is() -> None:
    for workload in WORKLOADS.values():
        assert workload.about and workload.uses <= {
            "keys",
            "ops",
            "values",
            "distribution",
            "reads",
            "appends",
            "width",
        }
        assert workload.needs <= {"iterator", "locking", "append"}
    assert after("a/") == "a0" and after("x") == "y"


def test_the_page_lists_every_workload_with_its_defaults() -> None:
    page = (ROOT / "docs" / "run-and-hunt.md").read_text()
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| `")]
    keys = {cells[0].strip("| `"): cells[1] for cells in rows}
    for name, workload in WORKLOADS.items():
        assert keys[name].split()[0] == f"{workload.defaults.keys:,}", name
