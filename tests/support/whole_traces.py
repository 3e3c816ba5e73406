"""Random traces that use everything a trace can hold, and all that one says: for tests of what is written and read."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from boomslang.trace import Trace, TraceBuilder, typed

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
floats = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), floats, text, st.binary(max_size=4))
bounds = st.one_of(st.integers(-5, 5), text, st.binary(max_size=2))
hints = st.none() | st.dictionaries(
    text, st.recursive(scalars.filter(lambda x: not isinstance(x, bytes)), st.lists, max_leaves=3), max_size=2
)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    initial: Any = draw(
        st.sampled_from([None, "unknown", []])
        | st.lists(st.tuples(scalars, scalars), max_size=3, unique_by=lambda kv: typed(kv[0]))
    )
    clock_name, unit = (
        draw(st.sampled_from(["", "host/1"])),
        draw(st.sampled_from(["", "", "ns", "us", "ms", "s"])),
    )
    b = TraceBuilder(initial, clock=clock_name, unit=unit)
    timed = draw(st.booleans())
    clock = 0

    def tick() -> int | None:
        nonlocal clock
        clock += draw(st.integers(0, 3))
        return clock if timed and draw(st.booleans()) else None

    def extra() -> dict[str, Any]:
        return {"invoke": tick(), "return_": tick(), "ctx": draw(hints)}

    for n in range(draw(st.integers(0, 4))):
        session = draw(st.sampled_from([None, "a", "b", "é"]))
        name = f"{draw(text)}/{n}" if draw(st.booleans()) else None
        t = b.transaction(session, name=name, begin=tick(), ctx=draw(hints))
        for _ in range(draw(st.integers(0, 4))):
            match draw(st.integers(0, 6)):
                case 0:
                    t.put(draw(scalars), draw(scalars), **extra())
                case 1:
                    t.get(draw(scalars), draw(scalars), **extra())
                case 2:
                    t.delete(draw(scalars), draw(st.sampled_from([None, True, False])), **extra())
                case 3:
                    t.failed(
                        draw(st.sampled_from(["put", "get", "delete", "next", "commit", "abort"])),
                        error=draw(text),
                        **extra(),
                    )
                case 4:
                    t.failed(
                        "scan",
                        lo=draw(bounds),
                        hi=draw(bounds),
                        items=[(draw(scalars), draw(scalars))],
                        error="e",
                        **extra(),
                    )
                case 5:
                    t.scan(
                        None,
                        None,
                        draw(
                            st.lists(
                                st.tuples(scalars, scalars), max_size=3, unique_by=lambda kv: typed(kv[0])
                            )
                        ),
                        **extra(),
                    )
                case _:
                    keys = sorted(set(draw(st.lists(st.integers(-9, 9), max_size=3))))
                    it = t.iterator(
                        draw(st.sampled_from([None, -9])), draw(st.sampled_from([None, 10])), **extra()
                    )
                    for key in keys:
                        it.next(key, draw(scalars), **extra())
                    if draw(st.booleans()):
                        it.end(**extra())
        match draw(st.integers(0, 2)):
            case 0:
                t.commit(return_=tick(), ctx=draw(st.just(None) | st.just({"the end": 1})))
            case 1:
                t.abort(return_=tick())
            case _:
                t.unknown()
    return b.build()


def story(trace: Trace) -> Any:
    """All that a trace says, without where it said it and how its ranges are numbered."""

    def plain(x: Any) -> Any:
        return [plain(y) for y in x] if isinstance(x, list | tuple) else typed(x)

    told = []
    for t in trace.transactions():
        ranges: dict[int, int] = {}
        ops = []
        for o in t.operations:
            ranges.setdefault(o.iterator, len(ranges))
            o = replace(o, index=0, where="", iterator=ranges[o.iterator])
            ops.append([plain(v) for k, v in vars(o).items() if k != "ctx"] + [json.dumps(o.ctx)])
        told.append(
            [(plain(v)) for k, v in vars(replace(t, operations=(), where="", ctx=None)).items()]
            + [json.dumps(t.ctx), ops]
        )
    return trace.initial_mode, plain(trace.initial()), trace.unit, told
