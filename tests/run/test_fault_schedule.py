"""Faults of nodes: how a schedule is said, what is refused, and that it is kept."""

from __future__ import annotations

import time

import pytest

from boomslang.databases import find_database
from boomslang.databases.server_database import chosen_nodes, split_hosts
from boomslang.databases.servers.forwarder import owner
from boomslang.errors import UsageError
from boomslang.run.fault_schedule import Scheduled, Trouble, check_schedule, parse_schedule


def test_a_schedule_is_read_and_said_again() -> None:
    text = "at 10s pause node2 for 500ms;  at 2s kill node1 for 1.5m ;"
    faults = parse_schedule(text)
    assert faults == (Scheduled("kill", 0, 2.0, 90.0), Scheduled("pause", 1, 10.0, 0.5))
    assert parse_schedule("; ".join(map(str, faults))) == faults and parse_schedule(" ") == ()


@pytest.mark.parametrize(
    "text", ["pause node2", "at 10 pause node2 for 5s", "at 1s burn node1 for 1s", "at 1s cut node0 for 1s"]
)
def test_what_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises(
        UsageError, match=r"in --faults; expected 'at TIME pause\|slow\|kill\|cut nodeN for TIME'"
    ):
        parse_schedule(text)


def test_a_database_without_nodes_cannot_have_them() -> None:
    with find_database("sqlite") as database, pytest.raises(UsageError, match="has no nodes"):
        check_schedule(parse_schedule("at 1s pause node1 for 1s"), database)


class Noted:
    """A cluster that writes down what is done to it."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def __getattr__(self, name: str):
        return lambda node: self.done.append(f"{name} {node}")

    def healthy(self) -> bool:
        return True


def test_each_fault_ends_and_what_is_left_is_ended_with_the_run() -> None:
    cluster = Noted()
    trouble = Trouble(
        parse_schedule("at 10ms pause node2 for 20ms; at 250ms kill node1 for 1m; at 5m cut node3 for 1s"),
        cluster,
    )
    trouble.begin()
    time.sleep(0.6)
    trouble.heal()
    assert cluster.done == ["pause 1", "resume 1", "kill 0", "restart 0"]
    assert [what for _, what in trouble.happened][-1] == "whole again"
    assert trouble.problems == ["a fault was not made: at 300s cut node3 for 1s: the run was over"]


def test_several_hosts_are_nodes() -> None:
    assert split_hosts("mariadb://u:p@a:1,b:2/db?x=1") == (
        "mariadb://u:p@a:1/db?x=1",
        "mariadb://u:p@b:2/db?x=1",
    )
    assert split_hosts("etcd://a:1") == ("etcd://a:1",)
    assert chosen_nodes("", 3) == (0, 1, 2) and chosen_nodes("3,1", 3) == (2, 0)
    for said in ("0", "4", "x", "1,"):
        with pytest.raises(UsageError, match=r"expected numbers from 1 to 3, as in nodes=1,3"):
            chosen_nodes(said, 3)
    with find_database("mariadb://u:p@h1:3401,h2:3402,h3:3403/test?nodes=1,3") as database:
        assert database.nodes == ("node1", "node3") and not database.fails_over
    with find_database("mariadb://u:p@h1:3401,h2:3402/test?failover=yes") as database:
        assert database.nodes == ("node1", "node2") and database.fails_over


def test_who_is_at_the_other_end_of_a_connection() -> None:
    import os
    import socket

    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen()
        with socket.create_connection(door.getsockname()) as caller:
            assert owner(caller.getsockname()[1], [1, os.getpid()]) == 1
            assert owner(caller.getsockname()[1], [None]) is None
