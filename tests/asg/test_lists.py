"""Lists: what the checker says about each way in which a list can be wrong, and what it accepts.

The verdicts are worked out by hand from the definition: a version of a list is all that its writer and those before
it appended. That the solvers agree about lists is test_differential.py's and `make fuzz`'s business.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from fuzz.traces import a_third
from fuzz.traces import examine as put_to_all
from support import effort
from support.histories import Absent, Txn, append, get, history, list_, put, txn

from boomslang import LEVELS, Trace, check
from boomslang.asg import build_asg


def told(trace: Trace, level: str = "read-committed") -> tuple[str, str, str]:
    """The anomaly's code and name, and how its story ends."""
    found = check(trace, level).counterexample
    assert found is not None and found.anomaly is not None and found.argument is not None
    return found.anomaly.code, found.anomaly.name, list(found.argument.lines())[-1]


def examine(trace: Trace) -> dict[str, str]:
    """The verdicts at all levels, on which all agree. Brute force looks at every core; Z3 looks at all verdicts in the
    full run, and else at a third."""
    asked = LEVELS if effort.full else a_third(len(trace.op_kind))
    return put_to_all(trace, refuted_by_z3=effort.full, z3_at=asked)


def broken_for_all_that_look(trace: Trace) -> bool:
    """Invalid at every level; but read uncommitted sees the order of appends only."""
    verdicts = examine(trace)
    return {verdicts[level.name] for level in LEVELS if level.observes} == {"invalid"}


ONE_TWO = txn("A", append("x", 1), append("x", 2))
THREE = txn("B", append("x", 3))

WRONG_LISTS = {
    "interleaved": (
        [1, 3, 2],
        (
            "G0",
            "dirty write",
            "=> T2 read 'x' = [1, 3, 2] (operation 9), in which T1's appends stand between those of T0",
        ),
    ),
    "half a transaction": (
        [3, 1],
        (
            "G1b",
            "intermediate read",
            "=> T2 read 'x' = [3, 1] (operation 9), which lacks 2, though T0 appended it together with 1",
        ),
    ),
    "half, then another": (
        [1, 3],
        (
            "G1b",
            "intermediate read",
            "=> T2 read 'x' = [1, 3] (operation 9), which lacks 2, though T0 appended it together with 1",
        ),
    ),
    "the second half": (
        [2, 3],
        (
            "incompatible-order",
            "appends out of order",
            "=> T2 read 'x' = [2, 3] (operation 9), but T0 appended 1, then 2",
        ),
    ),
    "the wrong way round": (
        [2, 1],
        (
            "incompatible-order",
            "appends out of order",
            "=> T2 read 'x' = [2, 1] (operation 9), but T0 appended 1, then 2",
        ),
    ),
    "twice": (
        [3, 1, 2, 3],
        (
            "duplicate-elements",
            "element twice",
            "=> T2 read 'x' = [3, 1, 2, 3] (operation 9), with 3 twice, which was appended once",
        ),
    ),
    "from nowhere": (
        [3, 9],
        ("thin-air", "read from nowhere", "=> T2 read 'x' = [3, 9] (operation 9), and nobody appended 9"),
    ),
}


@pytest.mark.parametrize("name", WRONG_LISTS)
def test_a_list_that_no_order_makes(name: str) -> None:
    seen, story = WRONG_LISTS[name]
    trace = history(ONE_TWO, THREE, txn("C", list_("x", seen)))
    assert told(trace) == story
    assert broken_for_all_that_look(trace)


@pytest.mark.parametrize("seen", [[], [3], [1, 2], [1, 2, 3], [3, 1, 2]])
def test_a_list_that_some_order_makes(seen: list[int]) -> None:
    trace = history(ONE_TWO, THREE, txn("C", list_("x", seen)))
    assert "invalid" not in examine(trace).values()


def test_two_lists_of_different_orders() -> None:
    trace = history(ONE_TWO, THREE, txn("C", list_("x", [1, 2, 3])), txn("D", list_("x", [3, 1, 2])))
    assert told(trace)[:2] == ("G0", "dirty write")
    assert broken_for_all_that_look(trace)


def test_a_list_without_what_another_shows_to_be_before() -> None:
    """[3] holds all appends up to 3, and so contradicts [1, 2, 3]."""
    trace = history(ONE_TWO, THREE, txn("C", list_("x", [1, 2, 3])), txn("D", list_("x", [3])))
    assert told(trace)[2] == "=> a cycle: T1 -ww('x')-> T0 -ww('x')-> T1"
    assert broken_for_all_that_look(trace)


def test_an_aborted_append_was_read_in_the_middle() -> None:
    aborted = txn("A", append("x", 1), outcome="aborted")
    trace = history(aborted, THREE, txn("C", list_("x", [1, 3])))
    code, _, story = told(trace)
    assert (code, story) == (
        "G1a",
        "=> T2 read 'x' = [1, 3] (operation 8), part of which T0 wrote, and T0 aborted",
    )
    assert broken_for_all_that_look(trace)


def test_a_list_shows_that_an_unknown_transaction_committed() -> None:
    """... and then its own reads count: here they contradict."""
    maybe = txn("A", append("x", 1), list_("y", [9]), outcome="unknown")
    assert broken_for_all_that_look(history(maybe, THREE, txn("C", list_("x", [1, 3]))))
    assert "invalid" not in examine(history(maybe, THREE, txn("C", list_("x", [3])))).values()


def test_own_appends_end_the_list() -> None:
    mine = [append("x", 7), list_("x", [3, 7]), append("x", 8), list_("x", [3, 7, 8])]
    assert "invalid" not in examine(history(THREE, txn("C", *mine))).values()
    for seen in ([3], [7, 3], [3, 8], []):
        trace = history(THREE, txn("C", append("x", 7), list_("x", seen)))
        assert told(trace)[0] == "internal"
        assert broken_for_all_that_look(trace)


def test_what_comes_before_own_appends_was_read_from_others() -> None:
    """B reads [] before its own append, though A's came first: one anti-dependency, no lost update for a list."""
    trace = history(
        txn("A", append("x", 1)),
        txn("B", append("x", 2), list_("x", [2])),
        txn("C", list_("x", [1, 2])),
    )
    verdicts = examine(trace)
    assert verdicts["read-committed"] == "valid"
    assert verdicts["snapshot-isolation"] == verdicts["repeatable-read"] == "invalid"


def test_a_list_holds_ones_own_later_append() -> None:
    trace = history(txn("A", list_("x", [5]), append("x", 5)))
    assert told(trace)[0] == "future-read"
    assert broken_for_all_that_look(trace)


def test_a_get_of_an_absent_key_is_a_read_of_the_empty_list() -> None:
    trace = history(txn("A", append("x", 1), append("y", 1)), txn("B", get("x", Absent), list_("y", [1])))
    assert examine(trace)["serializable"] == "invalid"
    assert examine(trace)["read-committed"] == "valid"


def test_appends_that_nobody_read_come_after_the_longest_list() -> None:
    """C's append is in no list: it comes after A's and B's, so C, which saw y before A wrote it, is in a cycle."""
    trace = history(
        txn("A", append("x", 1), append("y", 1)),
        THREE,
        txn("C", append("x", 4), list_("y", [])),
        txn("D", list_("x", [1, 3])),
    )
    verdicts = examine(trace)
    assert verdicts["read-committed"] == "valid"
    assert verdicts["snapshot-isolation"] == verdicts["serializable"] == "invalid"


def in_doubt(*more: Txn) -> Trace:
    """M may have committed. Its list shows A before B; and it may be the writer of r = 1."""
    return history(
        txn("A", append("x", 1), append("y", 1)),
        txn("B", append("x", 2), list_("y", [])),
        txn("M", list_("x", [1, 2]), put("r", 1), outcome="unknown"),
        *more,
    )


def test_a_list_of_a_transaction_that_need_not_have_committed_says_nothing() -> None:
    assert examine(in_doubt(txn("C", put("r", 1)), txn("D", get("r", 1))))["serializable"] == "valid"
    assert examine(in_doubt())["serializable"] == "valid"


def test_a_list_of_a_transaction_that_must_have_committed_counts() -> None:
    verdicts = examine(in_doubt(txn("D", get("r", 1))))
    assert verdicts["serializable"] == "invalid" and verdicts["read-committed"] == "valid"


def test_long_lists_are_shown_by_their_end() -> None:
    writers = [txn(None, append("x", i)) for i in range(100)]
    trace = history(*writers, txn("C", list_("x", [*range(98), 99])), txn("D", list_("x", range(99))))
    found = check(trace, "read-committed").counterexample
    assert found is not None
    lines = list(found.lines())
    assert any("[84 more, 84, 85, " in line for line in lines), lines
    assert len(lines) < 12 and all(len(line) < 200 for line in lines), lines


def test_the_order_of_appends_is_known_without_a_single_decision() -> None:
    """Ten thousand appends to one key, seen by many reads of all lengths: linear, and nothing to search."""
    writers = [txn(None, append("x", i)) for i in range(2_000)]
    readers = [txn(None, list_("x", range(n))) for n in range(0, 2_000, 40)]
    trace = history(*writers, *readers)
    asg = build_asg(trace)
    assert list(zip(asg.list_from.tolist(), asg.list_to.tolist(), strict=True))[:1_960] == list(
        pairwise(range(1_961))
    )
    assert len(asg.lists.key) == 1 and np.count_nonzero(asg.lists.of == 0) == 49
    for level in LEVELS:
        verdict = check(trace, level)
        assert not verdict.invalid
        assert verdict.stats.get("decisions", 0) == 0, verdict.stats
