"""The shipped modules: what each means, compared with an enumeration of all worlds, and small stories.

Where a module's meaning is a predicate on worlds (tests/support/worlds.py), hundreds of small random traces are put to
it, to the native engine and, now and then, to Z3.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from support.histories import Absent, append, delete, end, get, history, iterator, list_, put, scan, step, txn
from support.meanings import CASES, PREPARED
from support.unexplained import Unexplained
from support.worlds import Op, Txn, build, final_writes, random_txns, valid

from boomslang import TraceBuilder, UsageError, check, module
from boomslang.modules import find_modules

LEVELS = ("ser", "rr", "rc")


@pytest.mark.parametrize("seeds", [range(150), pytest.param(range(150, 450), marks=pytest.mark.full)])
@pytest.mark.parametrize("module", CASES)
def test_the_module_means_what_all_worlds_say(module: str, seeds: range) -> None:
    means, change = CASES[module]
    asked = find_modules([module])  # by name, the installed packages are gone through each time
    found: Counter[tuple[bool, bool]] = Counter()
    for seed in seeds:
        rng = random.Random(seed)
        txns = random_txns(rng)
        change(rng, txns)
        trace, level = build(txns), LEVELS[seed % 3]
        expected = valid(txns, level, lambda w, txns=txns: means(txns, w))
        verdict = check(trace, level, modules=asked)
        assert verdict.invalid != expected, (module, seed, level, verdict)  # unknown, if nothing committed
        if seed % 10 == 0:
            assert check(trace, level, modules=asked, solver="z3").invalid != expected, (seed, level)
        plain = not Unexplained(trace).check(level).invalid
        assert plain == valid(txns, level, lambda w: True)
        found[plain, expected] += 1
        if plain and not expected:
            assert verdict.broken_by and verdict.counterexample is not None
            assert verdict.counterexample.minimal and list(verdict.counterexample.lines())
        elif not plain:
            assert not verdict.broken_by
    assert found[True, True] > 10, found
    assert found[True, False] > 5 or module in ("read-modify-writes",), found


@pytest.mark.parametrize("seeds", [range(60), pytest.param(range(60, 500), marks=pytest.mark.full)])
@pytest.mark.parametrize("module", PREPARED)
def test_modules_that_change_what_a_world_is(module: str, seeds: range) -> None:
    change, means = PREPARED[module]
    asked = find_modules([module])
    found: Counter[bool] = Counter()
    for seed in seeds:
        rng = random.Random(seed)
        txns = random_txns(rng, 3 if module.startswith("mariadb") else 4, values=(1, 2))
        change(rng, txns)
        level = LEVELS[seed % 3]
        expected = means(txns, level)
        if expected is None:
            continue
        for solver in ("native", "z3") if seed % 10 == 0 else ("native",):
            verdict = check(build(txns), level, modules=asked, solver=solver)
            assert verdict.invalid != expected, (module, seed, level, verdict)
        found[expected] += 1
    assert min(found[True], found[False]) > 5, found


@pytest.mark.parametrize("level", ["si", "prefix", "causal", "pl-2+", "ra", "cs", "strong-session-si"])
@pytest.mark.parametrize("module", CASES)
def test_at_other_levels_z3_agrees(module: str, level: str) -> None:
    asked = find_modules([module])
    for seed in range(200, 203):
        rng = random.Random(seed)
        txns = random_txns(rng)
        CASES[module][1](rng, txns)
        trace = build(txns)
        native, z3 = (check(trace, level, modules=asked, solver=s) for s in ("native", "z3"))
        assert native.status == z3.status, (module, level, seed)


# --- white boxes ---------------------------------------------------------------------------------------------


def test_change_data_capture_orders_all_that_a_transaction_wrote() -> None:
    builder = TraceBuilder()
    for name, position in (("first", [1, 7]), ("second", [1, 9])):
        with builder.transaction(name, name=name, ctx={"cdc": position}) as t:
            t.put("x", name)
    with builder.transaction("C") as t:
        t.get("x", "second")
    with builder.transaction("C") as t:
        t.get("x", "first")
    trace = builder.build()
    assert check(trace, "strong-session-ser").valid
    verdict = check(trace, "strong-session-ser", modules=["version-order"])
    assert verdict.broken_by == ("version-order",)
    assert any(
        "version-order says that T0 comes before T1" in line for line in verdict.counterexample.lines()
    )


def test_a_version_order_may_be_partial() -> None:
    builder = TraceBuilder()
    for name in ("a", "b", "c"):
        with builder.transaction(name, name=name) as t:
            t.put("x", name, **({"ctx": {"overwrites": "c"}} if name == "a" else {}))
    for seen in ("a", "c"):
        with builder.transaction("R") as t:
            t.get("x", seen)
    trace = builder.build()
    assert check(trace, "strong-session-ser").valid
    assert check(trace, "strong-session-ser", modules=["version-order"]).invalid


def test_a_position_must_be_numbers() -> None:
    builder = TraceBuilder()
    for _ in range(2):
        with builder.transaction() as t:
            t.put("x", 1, ctx={"version": "new"})
    with pytest.raises(UsageError, match="version-order: found 'new' as 'version'"):
        check(builder.build(), "ser", modules=["version-order"])


def test_snapshots_are_taken_at_their_timestamps() -> None:
    def trace(start: int) -> Any:
        builder = TraceBuilder()
        with builder.transaction(ctx={"start": 1, "commit": 5}) as t:
            t.put("x", 1)
        with builder.transaction(ctx={"start": start, "commit": 9}) as t:
            t.get("x", Absent)
        return builder.build()

    assert check(trace(4), "si", modules=["commit-timestamps"]).valid
    assert check(trace(5), "si", modules=["commit-timestamps"]).broken_by == ("commit-timestamps",)
    assert check(trace(5), "si").valid


@pytest.mark.parametrize("level", ["ser", "si"])
def test_hints_of_what_never_happened_say_nothing(level: str) -> None:
    """It cannot have begun after its commit, nor be older and newer than another; so it did not happen."""
    builder = TraceBuilder()
    with builder.transaction(ctx={"start": 1, "commit": 5}, name="one") as t:
        t.put("x", 1, ctx={"version": 4})
    with builder.transaction(outcome="unknown", ctx={"start": 9, "commit": 3, "overwrites": "one"}) as t:
        t.put("x", 2, ctx={"version": 3})
    trace = builder.build()
    for modules in (["commit-timestamps"], ["version-order"], ["commit-timestamps", "version-order"]):
        for solver in ("native", "z3"):
            assert check(trace, level, modules=modules, solver=solver).valid, (modules, solver)


@pytest.mark.parametrize("level", ["ser", "rc", "si", "causal"])
def test_a_timestamp_of_what_never_happened_orders_nobody(level: str) -> None:
    """Its session puts it after one that its timestamp puts it before; so it did not happen."""
    builder = TraceBuilder()
    with builder.transaction("A", ctx={"cts": 5}) as t:
        t.put("x", 1)
    with builder.transaction("A", outcome="unknown", ctx={"cts": 1}) as t:
        t.put("y", 1)
    trace, modules = builder.build(), ["commit-timestamps", "session-order"]
    for solver in ("native", "z3", "clingo"):
        assert check(trace, level, modules=modules, solver=solver).valid
    with builder.transaction("B") as t:
        t.get("y", 1)
    for solver in ("native", "z3", "clingo"):
        assert check(builder.build(), level, modules=modules, solver=solver).invalid


# --- assumptions of earlier checkers ---------------------------------------------------------------------------


def test_unique_values_are_asserted_and_checked() -> None:
    unique = history(txn("A", put("x", 1)), txn("B", put("x", 2), put("y", 1)))
    assert check(unique, "ser", modules=["unique-values"]).valid
    twice = history(txn("A", put("x", 1)), txn("B", put("x", 1)))
    with pytest.raises(UsageError, match="T0 and T1 both wrote 1 to 'x'"):
        check(twice, "ser", modules=["unique-values"])
    hidden = history(txn("A", put("x", 1)), txn("B", put("x", 1), put("x", 2)))
    with pytest.raises(UsageError, match="not unique"):
        check(hidden, "ser", modules=["unique-values"])
    initial = history(txn("A", put("x", 1)), initial={"x": 1})
    with pytest.raises(UsageError, match="the initial state and T0"):
        check(initial, "ser", modules=["unique-values"])


def test_tombstones_tell_who_deleted() -> None:
    trace = history(
        txn("A", put("x", 1)),
        txn("B", put("x", "tombstone 1")),
        txn("C", put("x", "tombstone 2")),
        txn("D", scan("a", "z", {"x": "tombstone 1"})),
        txn("D", get("x", Absent)),
        txn("D", scan("a", "z", {"x": "tombstone 2"})),
    )
    assert check(trace, "strong-session-ser").invalid  # x was written, and then it is absent
    assert check(trace, "strong-session-ser", modules=["tombstones"]).valid
    back = history(
        txn("A", put("x", "gone 1")),
        txn("A", put("x", "gone 2")),
        txn("B", scan("a", "z", {"x": "gone 2"})),
        txn("B", scan("a", "z", {"x": "gone 1"})),
    )
    module = "tombstones:prefix=gone"
    assert check(back, "ser", modules=[module]).valid
    assert check(back, "strong-session-ser", modules=[module]).invalid
    own = history(txn("A", put("x", "gone 1"), get("x", Absent)), initial={"x": "gone 0"})
    assert check(own, "ser").invalid and check(own, "ser", modules=[module]).valid


# --- own writes ------------------------------------------------------------------------------------------------


def policies(trace: Any, level: str = "ser") -> list[str]:
    return [
        p
        for p in ("must", "external", "either")
        if check(trace, level, modules=[f"read-own-writes:policy={p}"]).valid
    ]


def test_three_policies_on_one_trace() -> None:
    """A wrote x and reads it again: its own value, the one before, or first the one and then the other."""
    own = history(txn("A", put("x", 1), get("x", 1)), initial={"x": 0})
    assert policies(own) == ["must", "either"]
    old = history(txn("A", put("x", 1), get("x", 0)), initial={"x": 0})
    assert policies(old) == ["external", "either"]
    mixed = history(txn("A", put("x", 1), get("x", 1), get("x", 0)), initial={"x": 0})
    assert policies(mixed) == ["either"]
    wrong = history(txn("A", put("x", 1), get("x", 2)), initial={"x": 0})
    assert policies(wrong) == []


def test_the_policy_that_a_trace_fits() -> None:
    def fits(*ops: Any) -> str:
        trace = history(txn("A", *ops), initial={"x": 0})
        (note,) = check(trace, "ser", modules=["read-own-writes:policy=inferred"]).notes
        return note

    assert "fits `must`" in fits(put("x", 1), get("x", 1))
    assert "fits `external`" in fits(put("x", 1), get("x", 0))
    assert "fits `either`" in fits(put("x", 1), get("x", 0), get("x", 1))
    assert "every policy fits" in fits(get("x", 0), put("x", 1))


def test_the_policy_holds_key_by_key_and_for_deletes() -> None:
    state = {"x": 0, "y": 0}
    assert policies(history(txn("A", put("x", 1), scan("a", "z", {"x": 1, "y": 0})), initial=state)) == [
        "must",
        "either",
    ]
    assert policies(history(txn("A", put("x", 1), scan("a", "z", {"x": 0, "y": 0})), initial=state)) == [
        "external",
        "either",
    ]
    assert policies(history(txn("A", delete("x"), scan("a", "z", {"y": 0})), initial=state)) == [
        "must",
        "either",
    ]
    assert policies(history(txn("A", delete("x"), get("x", 0)), initial=state)) == ["external", "either"]
    stepped = (put("x", 1), iterator(1), step(1, "x", 0), step(1, "y", 0), end(1))
    assert policies(history(txn("A", *stepped), initial=state)) == ["external", "either"]
    open_then = (iterator(1), put("x", 1), step(1, "x", 0), step(1, "y", 0), end(1))
    assert policies(history(txn("A", *open_then), initial=state)) == ["must", "external", "either"]
    assert policies(history(txn("A", append("l", 1), list_("l", [1])))) == ["must", "either"]
    assert policies(history(txn("A", append("l", 1), list_("l", [])))) == ["external", "either"]


def test_modules_that_prepare_come_in_the_right_order() -> None:
    """The policy reads the trace anew; what others changed must not be lost, whoever is named first."""
    trace = history(
        txn("A", put("x", "tombstone 1"), get("x", 7)), txn("B", get("x", Absent)), initial={"x": 7}
    )
    both = ["tombstones", "read-own-writes:policy=external"]
    assert check(trace, "strong-session-rc", modules=both[:1]).invalid
    assert check(trace, "strong-session-rc", modules=both[1:]).invalid
    for modules in (both, both[::-1]):
        verdict = check(trace, "strong-session-rc", modules=modules)
        assert verdict.valid and len(verdict.modules) == 2

    def nothing(asg, ir, hints):  # type: ignore[no-untyped-def]
        """Nothing."""

    other = module(name="other", prepare=lambda asg, hints: asg, anew=True)(nothing)
    with pytest.raises(UsageError, match="read-own-writes and other each read the trace anew"):
        check(trace, "rc", modules=[both[1], other])


# --- two levels in one trace ------------------------------------------------------------------------------------


def test_a_dirty_read_tells_nothing_of_the_initial_state() -> None:
    """The initial value is open, and only who is above PL-1 can fix it."""
    builder = TraceBuilder("unknown")
    with builder.transaction(ctx={"level": "PL-1"}) as t:
        t.get("x", 7)
    with builder.transaction() as t:
        t.get("x", 8)
    trace = builder.build()
    assert check(trace, "ser").invalid
    assert check(trace, "ser", modules=["mixed-isolation"]).valid


def dirty_lists(*lists: list[int], level: str = "PL-1", last: Any = None) -> Any:
    """Two append to l, one each; others read these lists at a level."""
    builder = TraceBuilder()
    with builder.transaction("A") as t:
        t.append("l", 1)
        t.put("x", 1)
    with builder.transaction("B") as t:
        t.append("l", 2)
        t.get("x", Absent if last is None else last)
    for i, elements in enumerate(lists):
        with builder.transaction(f"R{i}", ctx={"level": level}) as t:
            t.list("l", elements)
    return builder.build()


def test_what_dirty_lists_show_is_an_order_of_overwrites() -> None:
    """No PL-1 transaction is wrong for what it read, but there is only one order of the appends."""
    mixed = ["mixed-isolation"]
    for solver in ("native", "z3"):
        assert check(dirty_lists([1], [2]), "ser", modules=mixed, solver=solver).valid
        assert check(dirty_lists([2, 7, 1], [7]), "ser", modules=mixed, solver=solver).valid
        verdict = check(dirty_lists([1, 2], [2, 1]), "ser", modules=mixed, solver=solver)
        assert verdict.invalid and verdict.counterexample is not None
        # B wrote after A, so it cannot have missed A's x; and before A it cannot have seen it.
        assert check(dirty_lists([1, 2]), "ser", modules=mixed, solver=solver).invalid
        assert check(dirty_lists([2, 1]), "ser", modules=mixed, solver=solver).valid
        assert check(dirty_lists([2, 1], last=1), "rc", modules=mixed, solver=solver).invalid
        assert check(dirty_lists([1, 2], last=1), "ser", modules=mixed, solver=solver).valid
    assert check(dirty_lists([2, 7, 1], level="PL-2"), "ser", modules=mixed).invalid
    # With every transaction at PL-1 it is read uncommitted.
    for lists in ([[1, 2], [2, 1]], [[1, 2], [1]], [[1, 2, 1]], [[3, 1], [1, 2]]):
        trace = dirty_lists(*lists)
        everyone = TraceBuilder()
        for t in trace.transactions():
            with everyone.transaction(t.session, ctx={"level": "PL-1"}) as made:
                for o in t.operations:
                    if o.kind.name == "LIST":
                        made.list("l", list(o.elements))
                    elif o.kind.name != "GET":
                        getattr(made, o.kind.name.lower())(o.key, o.value)
        assert check(everyone.build(), "ser", modules=mixed).status == check(trace, "ru").status, lists


def test_other_levels_cannot_be_mixed() -> None:
    builder = TraceBuilder()
    with builder.transaction(ctx={"level": "snapshot isolation"}) as t:
        t.put("x", 1)
    with pytest.raises(UsageError, match="only these can be mixed"):
        check(builder.build(), "ser", modules=["mixed-isolation"])
    with pytest.raises(UsageError, match="snapshot-isolation cannot be mixed"):
        check(history(txn("A", put("x", 1))), "si", modules=["mixed-isolation"])


# --- MariaDB ----------------------------------------------------------------------------------------------------


def locked(*parts: Any) -> Any:
    """x and y are 0. A takes its snapshot; B overwrites; A goes on as told."""
    builder = TraceBuilder({"x": 0, "y": 0})
    with builder.transaction("A", begin=0, end=30) as a:
        for kind, key, value in parts:
            if kind == "put":
                a.put(key, value)
            else:
                a.get(key, value, **({"ctx": {"lock": "update"}} if kind == "lock" else {}))
    with builder.transaction("B", begin=10, end=20) as b:
        b.put("x", 1)
        b.put("y", 1)
    return builder.build()


def test_mariadb_lets_a_locking_read_see_the_newest_state() -> None:
    """SELECT x; (B commits) SELECT x FOR UPDATE; UPDATE x: plain repeatable read rejects it."""
    trace = locked(("get", "x", 0), ("lock", "x", 1), ("put", "x", 2), ("get", "y", 0))
    assert check(trace, "rr").invalid and check(trace, "si").invalid
    verdict = check(trace, "rr", modules=["mariadb-repeatable-read"])
    assert verdict.valid and verdict.modules == ("mariadb-repeatable-read:locks=released",)
    assert check(trace, "rr", modules=["mariadb-repeatable-read:locks=held"]).valid


def test_a_genuine_violation_stays_one() -> None:
    """Both reads are plain: a snapshot holds all of B or nothing of it."""
    trace = locked(("get", "x", 0), ("lock", "x", 1), ("get", "y", 1))
    assert check(trace, "rr").invalid
    verdict = check(trace, "rr", modules=["mariadb-repeatable-read"])
    assert verdict.invalid and not verdict.broken_by and verdict.counterexample is not None
    # The explanation is of the snapshot's two reads, not of the locking one, which is allowed.
    told = "\n".join(verdict.counterexample.lines())
    assert "get 'y' -> 1" in told and "get 'x' -> 0" in told and "get 'x' -> 1" not in told


def test_held_locks_are_a_tighter_check() -> None:
    """A locks x = 0 and then increments it, and yet B's write of 1 comes in between: a lost update."""
    builder = TraceBuilder({"x": 0})
    for session in ("A", "B"):
        with builder.transaction(session) as t:
            t.get("x", 0, ctx={"lock": "update"})
            t.put("x", 1)
    trace = builder.build()
    assert check(trace, "rr").invalid
    assert check(trace, "rr", modules=["mariadb-repeatable-read"]).valid
    assert check(trace, "rr", modules=["mariadb-repeatable-read:locks=held"]).invalid


def test_a_delete_is_not_part_of_the_snapshot_that_is_taken_later() -> None:
    """Seen on MariaDB: A deletes x and reads y = 0; B overwrites y; C sees B's y and, as A has not committed, x."""
    builder = TraceBuilder({"x": "0", "y": "0"})
    a = builder.transaction("A")
    a.delete("x", True)
    a.get("y", "0")
    with builder.transaction("B") as b:
        b.put("y", "1")
    with builder.transaction("C") as c:
        c.get("y", "1")
        c.get("x", "0")
    a.commit()
    trace = builder.build()
    for level in ("rr", "ser", "si"):
        assert check(trace, level, modules=["mariadb-repeatable-read"]).valid, level


def test_a_list_with_an_own_append_is_the_newest_one() -> None:
    """A's snapshot is older than B, but its append goes to the end of B's; a list without own appends stays the old."""
    for own, allowed in ((True, True), (False, False)):
        builder = TraceBuilder()
        a = builder.transaction("A")
        a.list("y", [])
        a.list("x", [])
        with builder.transaction("B") as b:
            b.append("x", 1)
            b.append("y", 1)
        if own:
            a.append("x", 2)
        a.list("x", [1, 2] if own else [1])
        a.commit()
        trace = builder.build()
        assert check(trace, "si").invalid
        assert check(trace, "si", modules=["mariadb-repeatable-read"]).valid == allowed


def test_the_parts_of_a_doubtful_transaction_happen_together() -> None:
    """D shows that A's commit happened; then A's snapshot counts, too."""
    builder = TraceBuilder({"x": 0, "y": 0})
    with builder.transaction("A", outcome="unknown") as t:
        t.get("x", 7)
        t.put("y", 2)
    with builder.transaction("D") as t:
        t.get("y", 2)
    assert check(builder.build(), "rc", modules=["mariadb-repeatable-read"]).invalid
    builder = TraceBuilder({"x": 0, "y": 0})
    with builder.transaction("A", outcome="unknown") as t:
        t.get("x", 0)
        t.put("y", 2)
    with builder.transaction("D") as t:
        t.get("y", 2)
    assert check(builder.build(), "rc", modules=["mariadb-repeatable-read"]).valid


def test_final_writes_stay_final() -> None:
    """An intermediate write of a split transaction is still one."""
    builder = TraceBuilder({"x": 0})
    with builder.transaction("A") as t:
        t.put("x", 1)
        t.get("y", Absent, ctx={"lock": True})
        t.put("x", 2)
    with builder.transaction("B") as t:
        t.get("x", 1)
    verdict = check(builder.build(), "rr", modules=["mariadb-repeatable-read"])
    assert verdict.invalid and final_writes(Txn("A", [Op("put", "x", 2)])) == {"x": 2}
