"""Traces for the report's tests and pictures: a bank's small disaster, a long ring, cases, and somebody's bad jokes."""

from __future__ import annotations

from boomslang.trace import Absent, Trace, TraceBuilder


def transfers() -> Trace:
    """Two tellers take from one account at the same time, by the clock; others go on around them."""
    b = TraceBuilder(initial={"account/7": 100, "account/8": 50, "audit": 0})

    def run(session: str, begin: int, *deeds: tuple[str, str, int], step: int = 7) -> None:
        with b.transaction(session=session, begin=begin) as t:
            now = begin + 3
            for kind, key, value in deeds:
                getattr(t, kind)(key, value, invoke=now, return_=now + step)
                now += step + 2
            t.commit(invoke=now, return_=now + 4)

    run("teller-1", 1000, ("get", "account/8", 50), ("put", "account/8", 60))
    run("teller-2", 1010, ("get", "audit", 0))
    run("teller-1", 1040, ("get", "account/7", 100), ("put", "account/7", 70), step=11)
    run("teller-2", 1046, ("get", "account/7", 100), ("put", "account/7", 90), step=9)
    run("auditor", 1052, ("get", "account/8", 60), ("put", "audit", 1))
    run("teller-1", 1090, ("get", "account/7", 90))
    run("teller-2", 1092, ("get", "audit", 1))
    return b.build()


def ring(n: int, sessions: int = 7) -> Trace:
    """A cycle of n anti-dependencies, of which none can be left out."""
    b = TraceBuilder()
    for i in range(n):
        with b.transaction(session=f"client-{i % sessions}") as t:
            t.get(f"account/{i}", Absent)
            t.put(f"account/{(i + 1) % n}", i)
    return b.build()


def cases() -> Trace:
    """Three transactions wrote the value that was read: each of them is a case, and each ends in a cycle."""
    b = TraceBuilder(initial={"x": 9})
    for session, value in (("a", 0), ("b", 1), ("c", 0), ("d", 0)):
        with b.transaction(session=session) as t:
            t.put("x", value)
    with b.transaction(session="a") as t:
        t.get("x", 0)
        t.get("x", 1)
    return b.build()


JOKES = (
    "<script>document.title = 'fooled'</script>",
    "</script><script>document.title = 'fooled'</script>",
    '"><img src=x onerror="document.title = \'fooled\'">',
    "<!--<script>",
    "</style><svg/onload=document.title='fooled'>",
    "$script ${data} $$ &lt;b&gt; &amp;",
    "line\u2028break\u2029and \u202eright to left",
)


def jokes() -> Trace:
    """A write skew whose keys, values and sessions are markup."""
    one, two = JOKES[0], JOKES[1]
    b = TraceBuilder(initial={one: JOKES[2], two: JOKES[3]})
    with b.transaction(session=JOKES[1], name=JOKES[2]) as t:
        t.get(one, JOKES[2])
        t.get(two, JOKES[3])
        t.put(one, JOKES[4])
    with b.transaction(session=JOKES[2], name=JOKES[4]) as t:
        t.get(one, JOKES[2])
        t.get(two, JOKES[3])
        t.put(two, JOKES[5])
    for session in (JOKES[1], JOKES[6]):
        with b.transaction(session=session) as t:
            t.put(JOKES[6], JOKES[6])
    return b.build()
