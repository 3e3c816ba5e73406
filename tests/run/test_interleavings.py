"""The player of scripts, on toy databases whose isolation is known."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import pytest
from support.interleavings import SCRIPTS, Played, Script, play, script

from boomslang.databases import Aborted, Connection, Database, Failed, Lost, Offered


class ToyConnection(Connection):
    """Writes at once, for all to see; an abort puts back what was there."""

    def __init__(self, toy: Toy) -> None:
        self.toy = toy
        self.undo: list[tuple[str, str | None]] = []

    def begin(self, level: str) -> None:
        if level == "one at a time":
            self.toy.turn.acquire()
        elif level == "no waiting" and not self.toy.turn.acquire(blocking=False):
            raise Aborted("somebody else is busy")
        self.level = level
        self.undo = []

    def get(self, key: str) -> str | None:
        return self.toy.data.get(key)

    def get_for_update(self, key: str) -> str | None:
        return self.get(key)

    def _set(self, key: str, value: str | None) -> None:
        self.undo.append((key, self.toy.data.get(key)))
        if value is None:
            self.toy.data.pop(key, None)
        else:
            self.toy.data[key] = value

    def put(self, key: str, value: str) -> None:
        if value == "too-much":
            raise Failed("does not fit")
        self._set(key, value)

    def append(self, key: str, element: str) -> None:
        old = self.get(key)
        self._set(key, element if old is None else f"{old},{element}")

    def delete(self, key: str) -> bool:
        found = key in self.toy.data
        self._set(key, None)
        return found

    def scan(self, lo: str | None, hi: str | None) -> list[tuple[str, str]]:
        return sorted((k, v) for k, v in self.toy.data.items() if (lo or "") <= k and (hi is None or k < hi))

    def iterator(self, lo: str | None, hi: str | None) -> Iterator[tuple[str, str]]:
        while found := self.scan(lo, hi):
            yield found[0]
            lo = found[0][0] + "\0"

    def commit(self) -> None:
        if self.level == "cut at commit":
            raise Lost("gone")
        self._end()

    def abort(self) -> None:
        for key, value in reversed(self.undo):
            self._set(key, value)
        self._end()

    def _end(self) -> None:
        if self.level in ("one at a time", "no waiting"):
            self.toy.turn.release()

    def close(self) -> None:
        pass


class Toy(Database):
    name = "toy"
    title = "Toy"
    levels: ClassVar[Mapping[str, Offered]] = {
        "none": Offered("none", "ru"),
        "one at a time": Offered("one at a time", "sser"),
        "no waiting": Offered("no waiting", "sser"),
        "cut at commit": Offered("cut at commit", "ru"),
    }
    default_level = "none"
    one_process = True
    capabilities = frozenset({"locking", "iterator", "append"})

    def __init__(self) -> None:
        self.data: dict[str, str] = {}
        self.turn = threading.Lock()

    def prepare(self, initial: Mapping[str, str]) -> None:
        self.data = dict(initial)

    def connect(self) -> Connection:
        return ToyConnection(self)

    def version(self) -> str:
        return "toy 1"


def played(script: Script, level: str, folder: Path) -> Played:
    return play(Toy(), script, level, folder / "trace", patience=0.05)


@pytest.mark.parametrize("name", SCRIPTS)
def test_without_isolation_every_script_leads_to_what_it_is_named_for(name: str, tmp_path: Path) -> None:
    done = played(SCRIPTS[name], "none", tmp_path)
    assert done.happened, str(done)
    assert done.summary == "happens"


@pytest.mark.parametrize("name", ["lost update", "dirty write", "aborted read"])
def test_one_transaction_at_a_time_makes_the_second_wait(name: str, tmp_path: Path) -> None:
    done = played(SCRIPTS[name], "one at a time", tmp_path)
    assert done.summary == "B waits"
    assert done.holds("ser")
    assert [r.step for r in done.results if r.waited] == [("B", "begin")]


def test_an_insert_looks_at_what_was_read(tmp_path: Path) -> None:
    done = played(SCRIPTS["insert if absent"], "one at a time", tmp_path)
    assert done.returned("B", "get") == ["a"]
    assert done.outcomes == {"A": "committed", "B": "committed"}
    assert done.holds("ser")


def test_who_is_refused_skips_the_rest(tmp_path: Path) -> None:
    done = played(SCRIPTS["write skew"], "no waiting", tmp_path)
    assert done.outcomes == {"A": "committed", "B": "aborted"}
    assert done.summary == "B aborts"
    assert {r.ended for r in done.results if r.step[0] == "B"} == {"aborted", "skipped"}


def test_a_transaction_with_a_failed_operation_is_rolled_back(tmp_path: Path) -> None:
    line = "A begin, A put x 1, A put y too-much, A commit, A begin, A get x, A commit"
    done = played(script("full", line, breaks="rc"), "none", tmp_path)
    assert done.outcomes == {"A": "aborted", "A2": "committed"}
    assert done.returned("A", "get") == ["0"]
    assert done.holds("ser")


def test_a_connection_lost_at_commit_leaves_the_outcome_open(tmp_path: Path) -> None:
    line = "A begin, A put x 1, A commit, A begin, B begin none, B get x, B commit"
    done = played(script("cut", line, breaks="rc"), "cut at commit", tmp_path)
    assert done.outcomes == {"A": "unknown", "B": "committed"}
    assert [r.ended for r in done.results[:4]] == ["ok", "ok", "lost", "skipped"]
    assert done.returned("B", "get") == ["1"]
    assert done.holds("ser")
