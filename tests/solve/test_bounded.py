"""What is said of a level that ends unknown: up to which bound of real time it is broken, or what would help.

The engine decides small traces at once, so here it is made to give up: on plain levels, and on bounds that are longer
than a test wants them to be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from support.histories import get, history, put, txn

from boomslang import Trace, Verdict, check, checker
from boomslang.bounded import Bounded
from boomslang.certify.replay import replay
from boomslang.ir.model import IR
from boomslang.solve.solution import Limits, Solution
from boomslang.solve.strategy import solve

Asked = list[tuple[str, float | None]]


@pytest.fixture
def gives_up(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Asked]:
    """The engine gives up where the level is plain or its bound longer than this; what it was asked is noted."""

    def patch(longest: int = 10**18, *, reason: str = "time") -> Asked:
        asked: Asked = []

        def engine(ir: IR, limits: Limits) -> Solution:
            asked.append((ir.level.name, limits.seconds))
            if not ir.level.needs_times or ir.level.slack > longest:
                return Solution("unknown", reason=reason)
            return solve(ir, limits)

        monkeypatch.setattr(checker, "solve_with_engine", engine)
        return asked

    return patch


def lost(unit: str = "ns", times: bool = True) -> Trace:
    """Two take from the same stock, and the count comes out wrong whoever is first; somebody looks much later."""
    at = {"time": (0, 20_000)} if times else {}
    late = {"time": (9_000_000_000, 9_000_020_000)} if times else {}
    trace = history(
        txn("a", get("x", 2), put("x", 1), **at),
        txn("b", get("x", 2), put("x", 1), **at),
        txn("c", get("x", 1), **late),
        initial={"x": 2},
    )
    return replace(trace, unit=unit)


def stale(apart: int) -> Trace:
    """Serializable, by an order far from real time."""
    trace = history(
        txn("a", put("x", 1), time=(0, 20)),
        txn("b", get("x", 0), time=(20 + apart, 40 + apart)),
        txn("c", get("x", 1), time=(100 * apart, 100 * apart + 20)),
        initial={"x": 0},
    )
    return replace(trace, unit="ms")


def unknown(verdict: Verdict) -> tuple[str, Bounded | None]:
    assert verdict.status == "unknown"
    return verdict.reason, verdict.bounded


def test_a_broken_level_is_broken_within_bounds_up_to_the_length_of_the_trace(
    gives_up: Callable[..., Asked],
) -> None:
    asked = gives_up()
    verdict = check(lost(), "ser")
    assert unknown(verdict) == (
        "the time limit was reached; but it is not serializable within 2 s of real time "
        "(boomslang check --level ser --within 2s shows why)",
        Bounded(2_000_000_000, "ns"),
    )
    assert verdict.to_json()["bounded"] == {"refuted_within": 2_000_000_000, "unit": "ns"}
    assert [name for name, _ in asked] == [
        "serializable",
        *(f"serializable-within-{x}" for x in ("0s", "20us", "200us", "2ms", "20ms", "200ms", "2s")),
    ]
    assert check(lost(), "ser", within="2s").invalid


@pytest.mark.parametrize(
    ("level", "longest", "says"),
    [
        ("ser", 0, "it is not strict serializable (boomslang check --level ser --within 0s shows why)"),
        ("si", 0, "it is not strong snapshot isolation (boomslang check --level si --within 0s shows why)"),
        (
            "pl-2+",
            0,
            "it is not forward consistent view (boomslang check --level pl-2+ --within 0s shows why)",
        ),
        (
            "strong-session-si",
            0,
            "it is not strong session snapshot isolation within 0 ns "
            "(boomslang check --level strong-session-si --within 0s shows why)",
        ),
        ("ser", 700, "it is not serializable within 500 ns of real time "),
        ("ser", 60_000, "it is not serializable within 50 us of real time "),
    ],
)
def test_the_longest_bound_is_looked_for(
    gives_up: Callable[..., Asked], level: str, longest: int, says: str
) -> None:
    gives_up(longest)
    reason, bounded = unknown(check(lost(), level))
    assert f"the time limit was reached; but {says}" in reason
    assert bounded is not None and bounded.refuted_within <= longest


def test_an_order_within_a_bound_is_an_order(gives_up: Callable[..., Asked]) -> None:
    for level in ("ser", "si", "pl-2+"):
        gives_up()
        verdict = check(stale(1_000), level)
        assert verdict.valid and verdict.bounded is None and verdict.witness is not None
        assert verdict.level.short == level and verdict.witness.level == verdict.level.name
        assert verdict.stats["decided by"] == "an order close to real time"
        replay(stale(1_000), verdict.witness)


def test_where_even_the_strict_level_comes_to_nothing(gives_up: Callable[..., Asked]) -> None:
    asked = gives_up(-1)
    assert unknown(check(lost(), "ser")) == ("the time limit was reached", None)
    assert len(asked) == 2


def test_a_bound_that_was_asked_for_comes_to_a_shorter_one(gives_up: Callable[..., Asked]) -> None:
    gives_up(300_000_000)
    reason, bounded = unknown(check(lost(), "ser", within="1s"))
    assert bounded == Bounded(200_000_000, "ns") and "--level ser --within 200ms shows why" in reason
    asked = gives_up(0)
    unknown(check(lost(), "ser", within="30us"))
    assert [name for name, _ in asked][:3] == [
        "serializable-within-30us",
        "serializable-within-0s",
        "serializable-within-20us",
    ]


def test_a_trace_without_a_unit_is_answered_in_its_own(gives_up: Callable[..., Asked]) -> None:
    gives_up()
    reason, bounded = unknown(check(lost(""), "ser"))
    assert bounded == Bounded(2_000_000_000, "") and bounded.to_json()["unit"] is None
    assert "--within 2000000000 shows why" in reason


def test_a_part_of_the_time_is_kept(gives_up: Callable[..., Asked]) -> None:
    asked = gives_up()
    check(lost(), "ser", timeout=1_000)
    seconds = [left for _, left in asked]
    assert seconds[0] is not None and seconds[0] <= 750
    assert all(left is not None and left <= 500 for left in seconds[1:])
    for trace, level, options in (
        (lost(times=False), "ser", {}),
        (lost(), "rr", {}),
        (lost(), "ser", {"modules": ["read-latest"]}),
    ):
        asked = gives_up()
        check(trace, level, timeout=1_000, **options)  # type: ignore[arg-type]
        assert asked[0][1] is not None and asked[0][1] > 750, "nothing to keep it for"
    asked = gives_up(reason="memory")
    reason, bounded = unknown(check(lost(), "ser"))
    assert asked[0][1] is None and bounded is not None
    assert reason.startswith("the memory limit was reached; but it is not serializable within ")


def test_without_times_it_says_what_would_help(gives_up: Callable[..., Asked]) -> None:
    gives_up()
    assert unknown(check(lost(times=False), "ser")) == (
        "the time limit was reached; values repeat: times in the trace, or a version column beside them, would help "
        "(docs/record-your-database.md)",
        None,
    )
    once = history(txn("a", put("x", 1)), txn("b", get("x", 1)))
    assert unknown(check(once, "ser")) == ("the time limit was reached", None)
    assert unknown(check(lost(), "rr")) == ("the time limit was reached", None)
