"""The explanation as a document: as its schema says, and true to itself.

Whoever draws it or points at it relies on more than types: every id that is spoken of is there, every step rests on
steps before it, every cycle closes, and what matters is marked.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from fuzz.traces import random_trace
from support.anomalies import CASES, Case
from support.explanations import VALIDATOR, examine
from support.histories import append, get, history, list_, put, txn

from boomslang import LEVELS, Checker, Trace, check
from boomslang.explain.document import MOST_OPERATIONS, document, undecided
from boomslang.levels import find_level

Json = dict[str, Any]

every_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


@every_case
def test_documents_of_the_textbook(case: Case) -> None:
    checker = Checker(case.build())
    for level in map(find_level, dict.fromkeys((*case.breaks, "rc", "pl-2+", "si", "ser", "sser"))):
        data = examine(checker.check(level))
        if data["verdict"] != "invalid":
            continue
        broken = {name for name, holds in case.verdicts.items() if not holds}
        assert level.name in data["anomaly"]["rules_out"]
        assert set(data["anomaly"]["rules_out"]) <= broken


@pytest.mark.parametrize("case", [c for c in CASES if len(c.breaks) > 1], ids=lambda c: c.name)
def test_the_core_of_an_anomaly_rules_out_all_that_the_anomaly_does(case: Case) -> None:
    """The textbook's histories are their own cores, at the weakest levels at least."""
    broken = {name for name, holds in case.verdicts.items() if not holds}
    data = document(check(case.build(), case.breaks[0]))
    assert set(data["anomaly"]["rules_out"]) == broken


@pytest.mark.parametrize("mix", ["crowd-of-twins", "few-values"])
@pytest.mark.parametrize("seed", range(6))
def test_documents_with_many_cases(seed: int, mix: str) -> None:
    checker = Checker(random_trace(seed, mix))
    for level in ("rc", "pl-2+", "si", "strong-session-ser"):
        examine(checker.check(level))


def test_a_list_and_its_appends() -> None:
    trace = history(
        txn("A", append("x", 1), append("y", 1)),
        txn("B", append("x", 2), append("y", 2)),
        txn("C", list_("x", [1, 2])),
        txn("D", list_("y", [2, 1])),
    )
    for level in ("ru", "rc", "ser"):
        data = examine(check(trace, level))
        assert [edge["kind"] for edge in data["edges"]] == ["ww", "ww"]
        assert len(data["anomaly"]["rules_out"]) == len(LEVELS)
        assert {o["kind"] for t in data["transactions"] for o in t["operations"] if o["matters"]} == {
            "append",
            "list",
        }


def test_with_two_points_edges_say_which() -> None:
    data = examine(check(next(c for c in CASES if c.name == "long fork").build(), "si"))
    ends = {(e["kind"], e["source_point"], e["target_point"]) for e in data["edges"]}
    assert ends == {("wr", "commit", "begin"), ("rw", "begin", "commit")}


def lost_update(key: Any, value: Any, more: int = 0) -> Trace:
    noise = [put(f"n{i}", i) for i in range(more)]
    return history(
        txn("A", get(key, value), *noise, put(key, 1)),
        txn("B", get(key, value), put(key, 2)),
        initial={key: value},
    )


def test_long_values_are_shortened_everywhere() -> None:
    data = examine(check(lost_update("k" * 5_000, "v" * 5_000), "si"))
    assert len(json.dumps(data)) < 12_000


def test_of_a_long_transaction_what_matters_is_kept() -> None:
    data = examine(check(lost_update("x", 0, more=1_000), "si"))
    first = data["transactions"][0]
    assert len(first["operations"]) == MOST_OPERATIONS + 2
    assert first["operations_left_out"] == 1_000 - MOST_OPERATIONS
    assert [o["text"] for o in first["operations"] if o["matters"]] == ["get 'x' -> 0", "put 'x' = 1"]


@pytest.mark.parametrize(
    "evil", ["<script>alert(1)</script>", "\x1b[2J", b"\x00\xff", 10**40, None, True, "\ud7ff"]
)
def test_whatever_keys_and_values_are_the_document_is_json(evil: object) -> None:
    examine(check(lost_update(evil, evil), "si"))


def test_what_holds_has_nothing_to_explain() -> None:
    data = examine(check(history(txn("A", put("x", 1))), "ser"))
    assert data["anomaly"] is None and data["argument"] is None and data["transactions"] == []
    VALIDATOR.validate(undecided(find_level("ser"), "the time limit was reached"))
