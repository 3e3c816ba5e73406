"""The builder: a history written down in Python."""

from __future__ import annotations

import pytest

from boomslang.trace import Absent, Initial, Kind, Outcome, TraceBuilder, TraceError, Unbounded, typed


def test_every_operation() -> None:
    b = TraceBuilder(initial={"x": 0})
    with b.transaction(session="a", begin=1, end=9, ctx={"app": "test"}) as t:
        t.put("x", 1, invoke=2, return_=3, ctx={"n": 1})
        t.get("x", 1)
        t.get("y", Absent)
        t.delete("x", found=True)
        t.delete("x", found=False)
        t.delete("x")
        t.scan("a", "m", [("b", 2)])
        it = t.iterator("a", Unbounded)
        it.next("b", 2)
        it.failed("cursor lost")
        it.end()
        t.failed("put", key="k", value=3, error="boom")
        t.failed("scan", lo="a", hi="b", error="boom")
        t.failed("commit", error="retry")
    trace = b.build()
    [t1] = trace.transactions()
    assert (t1.session, t1.outcome, t1.begin, t1.end, t1.ctx) == (
        "a",
        Outcome.COMMITTED,
        1,
        9,
        {"app": "test"},
    )
    kinds = "put get get delete delete delete scan iterator next next next put scan commit"
    assert " ".join(o.kind.name.lower() for o in t1.operations) == kinds
    assert [o.error for o in t1.operations[-3:]] == ["boom", "boom", "retry"]
    assert (t1.operations[-2].lo, t1.operations[-2].hi) == ("a", "b")
    assert (t1.operations[0].invoke, t1.operations[0].return_, t1.operations[0].ctx) == (2, 3, {"n": 1})
    assert t1.operations[2].value is Absent
    assert t1.where == "operation 1" and t1.operations[0].where == "operation 2"
    assert trace.initial() == [("x", 0)]


def test_outcomes() -> None:
    b = TraceBuilder("unknown")
    with b.transaction("a"):
        pass
    with b.transaction("a", outcome="aborted"):
        pass
    with b.transaction("a", outcome="unknown"):
        pass
    with b.transaction("a") as t:
        t.abort()
    with b.transaction("a") as t:
        t.unknown()
    with pytest.raises(ZeroDivisionError), b.transaction("a"):
        _ = 1 / 0
    b.transaction("a")
    trace = b.build()
    committed, aborted, unknown = Outcome
    assert trace.txn_outcome.tolist() == [committed, aborted, unknown, aborted, unknown, unknown, unknown]
    assert trace.initial_mode == Initial.UNKNOWN


def test_transactions_may_be_interleaved() -> None:
    b = TraceBuilder()
    t, u = b.transaction("a"), b.transaction("b")
    t.put("x", 1)
    u.get("x", Absent)
    t.put("y", 1)
    u.commit()
    t.commit()
    assert [[o.kind for o in v.operations] for v in b.build().transactions()] == [
        [Kind.PUT, Kind.PUT],
        [Kind.GET],
    ]


def test_names() -> None:
    b = TraceBuilder()
    for name in (None, 2, None, "2", None):
        with b.transaction(name=name):
            pass
    assert [t.name for t in b.build().transactions()] == [1, 2, 3, "2", 4]


def test_nothing_at_all_is_a_trace() -> None:
    trace = TraceBuilder().build()
    assert len(trace) == 0 and len(trace.op_kind) == 0 and trace.txn_ops.tolist() == [0]


def test_building_twice_gives_two_traces() -> None:
    b = TraceBuilder()
    with b.transaction() as t:
        t.put(1, 1)
    first = b.build()
    with b.transaction() as t:
        t.put(1, 2)
    assert (len(first), len(b.build())) == (1, 2)


def test_all_scalars() -> None:
    scalars = [
        None,
        True,
        False,
        0,
        1,
        -(10**30),
        10**5000,
        1.0,
        -2.5e-300,
        1e16,
        "",
        'é😀\0"\\\n',
        b"",
        b"\x00\xff",
    ]
    b = TraceBuilder(initial=[(x, x) for x in scalars])
    with b.transaction() as t:
        for x in scalars:
            t.get(x, x)
    trace = b.build()
    assert [typed(o.key) for o in trace.transaction(0).operations] == [typed(x) for x in scalars]
    assert [typed(o.value) for o in trace.transaction(0).operations] == [typed(x) for x in scalars]
    assert [typed(k) for k, _ in trace.initial()] == [typed(x) for x in scalars]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [1], (1,), object()])
def test_what_is_no_scalar_is_refused_at_once(value: object) -> None:
    t = TraceBuilder().transaction()
    with pytest.raises((TypeError, ValueError)):
        t.put("x", value)  # type: ignore[arg-type]


def test_mistakes_name_the_operation() -> None:
    b = TraceBuilder()
    with b.transaction() as t:
        t.scan("a", "b", [("c", 1)])
    with pytest.raises(TraceError, match=r"^operation 2: found the key \"c\" returned by a scan"):
        b.build()
    b = TraceBuilder()
    t = b.transaction("a")
    b.transaction("a")
    t.put(1, 1)
    with pytest.raises(TraceError, match=r"^operation 3: .* which the session has left"):
        b.build()
    b = TraceBuilder()
    b.transaction("a", name=1)
    b.transaction("a", name=1)
    with pytest.raises(TraceError, match=r"^operation 2: .* the first is at operation 1; expected"):
        b.build()
    with pytest.raises(TraceError, match=r'^found the key "x" twice in the initial state'):
        TraceBuilder(initial=[("x", 1), ("x", 2)]).build()
    b = TraceBuilder()
    with b.transaction() as t:
        t.put("\ud800", 1)
    with pytest.raises(TraceError, match=r"^operation 2: found a lone surrogate"):
        b.build()


def test_wrong_use() -> None:
    b = TraceBuilder()
    with pytest.raises(ValueError, match="expected committed, aborted or unknown"):
        b.transaction(outcome="done")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unknown field 'kye'"):
        b.transaction().failed("put", error="e", kye=1)
