"""Jepsen's and Elle's histories: every rule by hand, the public ones, and what was written read back."""

from __future__ import annotations

import gzip
import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.document_histories import (
    anything,
    check_damage,
    corpus,
    histories,
    order,
    parse,
    sample,
    seen,
    told,
    well_formed,
)
from support.effort import examples

from boomslang import check
from boomslang.trace import Absent, Kind, Outcome, Trace, TraceBuilder, TraceError
from boomslang.trace.formats import dbcop_json, jepsen_edn, jepsen_json, timekiller
from boomslang.trace.formats.format import Format

EDN, JSON = jepsen_edn.FORMAT, jepsen_json.FORMAT


# --- one rule each ---


def test_a_transaction_of_lists(tmp_path: Path) -> None:
    trace = parse(
        EDN,
        """; a comment
        {:type :invoke, :f :txn, :value [[:append 1 5] [:r 1 nil]], :process 3, :time 10, :index 7}
        {:type :ok, :f :txn, :value [[:append 1 5] [:r 1 [4 5]] [:r 2 nil] [:r 2 []]], :process 3, :time 25, :index 9}
        """,
        tmp_path,
    )
    t = trace.transaction(0)
    assert (t.name, t.session, t.begin, t.end, t.clock) == (7, "3", 7, 9, "jepsen index")
    assert t.ctx == {"time": [10, 25]} and t.where.endswith("history:2")
    assert seen(trace) == [
        ("3", "committed", [("append", 1, 5), ("list", 1, [4, 5]), ("list", 2, []), ("list", 2, [])])
    ]
    assert t.operations[0].where.endswith("history:3")


def test_a_transaction_of_registers(tmp_path: Path) -> None:
    trace = parse(
        JSON,
        '[{"type":"invoke","f":"txn","value":[["w","x",2],["r","y",null]],"process":0},\n'
        '{"type":"ok","f":"txn","value":[["w","x",2],["r","y",null],["r","x",2]],"process":0}]',
        tmp_path,
    )
    assert seen(trace) == [("0", "committed", [("put", "x", 2), ("get", "y", Absent), ("get", "x", 2)])]
    assert (trace.transaction(0).begin, trace.transaction(0).end) == (0, 1)
    assert trace.txn_ctx is None


def test_outcomes(tmp_path: Path) -> None:
    trace = parse(
        EDN,
        """{:type :invoke :process 0 :value [[:w 1 1] [:r 1 nil]]}
        {:type :invoke :process 1 :value [[:w 1 2] [:r 1 nil]]}
        {:type :invoke :process 2 :value [[:w 1 3] [:r 1 7]], :time 5}
        {:type :invoke :process 3 :value [[:w 1 4]]}
        {:type :invoke :process 4 :value nil}
        {:type :fail :process 0 :value [[:w 1 1] [:r 1 nil] [:r 1 9]]}
        {:type :info :process 1 :value [[:w 1 2] [:r 1 nil] [:r 1 8]] :error :timeout}
        {:type :fail :process 3 :error [:no "client"]}
        {:type :info :process 9 :value [[:w 1 5]]}
        {:type :ok :process 8 :value []}
        {:type :invoke :process 1 :value [[:w 1 6]]}""",
        tmp_path,
    )
    assert seen(trace) == [
        (
            "0",
            "aborted",
            [("put", 1, 1), ("get", 1, 9)],
        ),  # a nil that nobody learnt anything from is left out
        ("1", "unknown", [("put", 1, 2), ("get", 1, 8)]),
        ("3", "aborted", [("put", 1, 4)]),  # from the invocation
        ("9", "unknown", [("put", 1, 5)]),
        ("8", "committed", []),
        ("2", "unknown", [("put", 1, 3)]),  # never completed: only what it wrote
        ("4", "unknown", []),
        ("1", "unknown", [("put", 1, 6)]),
    ]
    times = [(t.begin, t.end) for t in trace.transactions()]
    assert times == [(0, 5), (1, None), (3, 7), (None, None), (None, 9), (2, None), (4, None), (10, None)]
    assert trace.transaction(5).ctx == {"time": [5]}


def test_without_invocations_there_are_no_times(tmp_path: Path) -> None:
    trace = parse(
        EDN, "{:type :ok :process 1 :value [[:w 1 1]]}{:type :ok :process 1 :value [[:r 1 1]]}", tmp_path
    )
    assert not trace.has_times and [t.end for t in trace.transactions()] == [None, None]
    assert [t.name for t in trace.transactions()] == [0, 1]


def test_without_processes_there_are_no_sessions(tmp_path: Path) -> None:
    text = "{:type :invoke :value [[:w 1 1]]}{:type :ok :value [[:w 1 1]]}{:type :ok :process nil :value [[:r 1 1]]}"
    trace = parse(EDN, text, tmp_path)
    assert [(t.session, t.begin, t.end) for t in trace.transactions()] == [(None, 0, 1), (None, None, 2)]


def test_the_nemesis_and_other_functions_are_skipped(tmp_path: Path) -> None:
    trace = parse(
        EDN,
        """{:type :info :f :leave :value "n1" :process :nemesis}
        {:process :nemesis :type :info :value ["n1" {:a #{1 2}}]}
        {:type :info :f :txn-like :value 3 :process 4}
        {:type :invoke :value [[1 2] :x] :f [:odd {}] :process 4}
        {:type :ok :value [[:w 1 1]] :f :txn :process 4}""",
        tmp_path,
    )
    assert seen(trace) == [("4", "committed", [("put", 1, 1)])]
    assert trace.transaction(0).name == 4  # its place in the file
    with pytest.raises(TraceError, match="2 operations, none of them a transaction"):
        parse(JSON, '[{"type":"ok","f":"cas","value":[1,2]},{"type":"info","process":"nemesis"}]', tmp_path)


def test_the_marks_of_edn(tmp_path: Path) -> None:
    trace = parse(
        EDN,
        r"""[ ; all in one vector
        #jepsen.history.Op{:type :ok, :process 0, #_ :f #_ :other :node #inst "2020", [:odd #{:key}] (1 2 \a \newline),
           :more {1/2 1.5M, +3 foo.bar/baz'qux}, :x ##NaN #_#_ 1 [2 #_ 3], :extra #_#t #_ {:a 1} 3 #_4 5,
           :value ([:w :k +5] [:w "s" -0] [:w [1 ,, "a\"" :b] 7N] [:w nil 1.5] [:w 1 true] [:w 2 "a\nb\u00e9\\"]
                   [:w 3 1e3] [:w 4 123456789012345678901234567890] [:w 5 -2.0] [:w :a/b :c] [:w 6 "two
lines"])} #_ {:type :broken}
        ]""",
        tmp_path,
    )
    (t,) = trace.transactions()
    assert [(o.key, o.value) for o in t.operations] == [
        (":k", 5), ("s", 0), ('[1 "a\\"" :b]', 7), (None, 1.5), (1, True), (2, "a\nbé\\"), (3, 1000.0),
        (4, 123456789012345678901234567890), (5, -2.0), (":a/b", ":c"), (6, "two\nlines"),
    ]  # fmt: skip
    assert [int(o.where.rsplit(":", 1)[1]) for o in t.operations][-2:] == [5, 5]


def test_a_line_inside_a_string_counts(tmp_path: Path) -> None:
    text = '{:type :ok :error "a\nb\n" :value [[:w 1 1]]}\n{:type :ok :value [[:w 1 1/2]]}'
    with pytest.raises(TraceError) as caught:
        parse(EDN, text, tmp_path)
    assert caught.value.line == 4


def test_json_may_also_be_one_object_a_line(tmp_path: Path) -> None:
    text = '{"type":"ok","process":1,"value":[["append",1,2]]}\n{"type":"ok","process":2,"value":[["r",1,[2]]]}\n'
    assert len(parse(JSON, text, tmp_path)) == 2
    assert JSON.recognise(sample(text))


def test_nil_reads_where_lists_and_registers_mix(tmp_path: Path) -> None:
    trace = parse(
        EDN, "{:type :ok :value [[:w 1 1] [:append 2 1] [:r 1 nil] [:r 2 nil] [:r 3 nil]]}", tmp_path
    )
    kinds = [o.kind for o in trace.transaction(0).operations][2:]
    assert kinds == [Kind.GET, Kind.LIST, Kind.GET]


def test_gzip(tmp_path: Path) -> None:
    packed = gzip.compress(b"{:type :ok :value [[:w 1 1]]}")
    assert len(parse(EDN, packed, tmp_path)) == 1
    for damaged in (packed[:-9], packed[:12] + b"\xff" + packed[13:]):
        with pytest.raises(TraceError, match="gzip"):
            parse(EDN, damaged, tmp_path)


BAD_EDN = [
    ("{:type :ok :value [[:w 1 1]]", 1, "the rest of an open bracket"),
    ("{:type :ok :value [[:w 1 1]}", 1, "another closing bracket"),
    ("{:type :ok\n:value}", 2, "a value for the last key of the map"),
    ("]", 1, "']'"),
    ("3", 1, "3 in place of an operation"),
    ("[{:type :ok :value [[:w 1 1]]}] {}", 1, "after the end of the history"),
    ("{:type :ok :type :ok :value []}", 1, "the field :type twice"),
    ("{:type :done :value []}", 1, "found :done as :type; expected invoke, ok, fail or info"),
    ("{:value []}", 1, "an operation without :type"),
    ("{:type :ok}", 1, "an ok without :value"),
    ("{:type :ok :value nil}", 1, "an ok without :value"),
    ("{:type :ok :value 3}", 1, "found 3 as a transaction's :value"),
    ("{:type :ok :value [:w 1 1]}", 1, "each operation in brackets of its own"),
    ("{:type :ok :value [[]]}", 1, "an empty operation"),
    ("{:type :ok :value [[:w]]}", 1, "expected a key"),
    ("{:type :ok :value [[:w 1]]}", 1, "expected a value after the key"),
    ("{:type :ok :value [[:w 1 1 1]]}", 1, "expected a closing bracket after the value"),
    ("{:type :ok :value\n[[:w 1 1]\n[:cas 1 1]]}", 3, "found the operation :cas; expected :r, :w or :append"),
    ("{:type :ok :value [[:rp :true {:x 1}]]}", 1, "found :rp, an operation of Elle's closed-predicate workload"),
    ("{:type :ok :f :txn :value [[:insert 1 1]]}", 1, "closed-predicate"),
    ("{:type :invoke :f :init :value {:x 1}}", 1, "closed-predicate"),
    ("{:type :ok :value [[:w 1 nil]]}", 1, "a write of nil"),
    ("{:type :ok :value [[:w 1 [2]]]}", 1, "a vector or list as a value"),
    ("{:type :ok :value [[:w 1 1/2]]}", 1, "found 1/2 as a value"),
    ("{:type :ok :value [[:w 1 1.5M]]}", 1, "found 1.5M as a value"),
    ("{:type :ok :value [[:w 1 \\a]]}", 1, "found \\a as a value"),
    ("{:type :ok :value [[:w foo 1]]}", 1, "found foo as a key"),
    ("{:type :ok :value [[:w {1 2} 1]]}", 1, "found a map as a key"),
    ("{:type :ok :value [[:w #{1} 1]]}", 1, "found a set as a key"),
    ("{:type :ok :value [[:r 1 #{1 2}]]}", 1, "a set as what was read"),
    ("{:type :ok :value [[:r 1 [[1]]]]}", 1, "as an element of a list"),
    ("{:type :ok :value [[:w 1 007]]}", 1, "leading zeros"),
    ("{:type :ok :value [[:w 1 1x]]}", 1, "the end of the number"),
    ("{:type :ok :value [[:w 1 1e999]]}", 1, "a 64-bit float can hold"),
    ('{:type :ok :value [[:w 1 "a\\q"]]}', 1, "an escape such as"),
    ('{:type :ok :value [[:w 1 "a]]}', 1, "a closing quote"),
    ('{:type :ok :value [[:w 1 "\\ud800"]]}', 1, "surrogate"),
    (b'{:type :ok :value [[:w 1 "\xff"]]}', 1, "invalid UTF-8 (byte 0xff)"),
    (b"{:type :ok :value [[:w 1 :\xc3]]}", 1, "invalid UTF-8"),
    (b"{:type :ok :value [[:w 1 \x00 1]]}", 1, "byte 0x00"),
    ("{:type :ok :value [[:w :x 1] [:w \":x\" 1]]}", 1, "both as a string and as a keyword"),
    ('{:type :ok :value [[:w [1] 1] [:w "[1]" 1]]}', 1, "both as a string and as a vector"),
    ("{:type :ok :value " + "[" * 70 + "]" * 70 + "}", 1, "nesting deeper than 64"),
    ("{:type :ok :value [[:w 1 1] #_]}", 1, "a value after #_"),
    ("{:type :ok :value [] :x #tag}", 1, "a value after the tag"),
    ("{:type :ok :value [[:w 1 1]] :process [1]}", 1, "as :process"),
    ("{:type :ok :value [[:w 1 1]] :index 1.5}", 1, "found 1.5 as :index"),
    ("{:type :ok :value [[:w 1 1]] :time 99999999999999999999}", 1, "as :time"),
    ("{:index 4 :type :ok :value []}\n{:index 4 :type :ok :value []}", 2, ":index 4 after 4"),
    ("{:index 4 :type :ok :value []}\n{:type :ok :value []}", 2, "an operation without :index"),
    (
        "{:type :invoke :process 1 :value []}\n{:type :invoke :process 1 :value []}",
        2,
        "a second invocation by process 1, whose first, at line 1, has not completed",
    ),
    ("{:type :ok :value [[:append 1 1] [:append 1 1]]}", 1, "a second append of 1"),
    ("{:type :ok :value [[:append 1 1] [:w 1 1]]}", 1, "which holds a list"),
    ("", 0, "found no transaction"),
    ("[]", 0, "found no transaction"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "words"), BAD_EDN)
def test_mistakes_in_edn(text: str | bytes, line: int, words: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError) as caught:
        parse(EDN, text, tmp_path)
    assert words in str(caught.value) and caught.value.line == line
    assert all(word in str(caught.value) for word in ("found ", "; expected ", "; fix: "))


BAD_JSON = [
    ('[{"type":"ok","value":[["w",1,1]]}', "found the end of the file; expected ',' or ']'"),
    ('[{"type":"ok","value":[["w",1,1],]}]', "a JSON value"),
    ('[{"type":"ok","value":[["w",1 1]]}]', "',' or ']' after an element"),
    ('[{"type":"ok" "value":[["w",1,1]]}]', "',' or '}' after a field"),
    ('[{"type" "ok"}]', "':' after the name of a field"),
    ('[{type:"ok"}]', "the name of a field, in double quotes"),
    ('[{"type":"ok","value":[["w",1,01]]}]', "leading zeros"),
    ('[{"type":"ok","value":[["w",1,1.]]}]', "a digit after the decimal point"),
    ('[{"type":"ok","value":[["w",1,1e]]}]', "a digit in the exponent"),
    ('[{"type":"ok","value":[["w",1,tru]]}]', "a JSON value"),
    ('[{"type":"ok","value":[["w",1,"a\nb"]]}]', "a closing quote"),
    ('[{"type":"ok","value":[["w",1,"a\tb"]]}]', "no raw control character"),
    ('[{"type":"ok","value":[["w",1,"\\x"]]}]', "an escape such as"),
    ('[{"type":"ok","value":[["w",1,"\\u12g4"]]}]', "four hexadecimal digits"),
    ('[{"type":"ok","value":[["cas",1,2]]}]', 'the operation "cas"; expected "r", "w" or "append"'),
    ('[{"type":"ok","value":[["w",1,null]]}]', "a write of null"),
    ('[{"type":"ok","value":[["w",1,{}]]}]', "an object as a value"),
    ('[{"type":"ok","value":[["w",{},1]]}]', "an object as a key"),
    ('[{"type":"ok","value":[["delete",1,1]]}]', "closed-predicate"),
    ('[{"type":"ok","value":[]}] []', "after the end of the history"),
    ('[{"type":"ok","value":[],}]', "the name of a field"),
    ("[" * 100, "in place of an operation"),
]


@pytest.mark.parametrize(("text", "words"), BAD_JSON)
def test_mistakes_in_json(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError) as caught:
        parse(JSON, text, tmp_path)
    assert words in str(caught.value)


# --- recognising ---


def test_recognising() -> None:
    edn = "; T1\n{:index 10, :time 0, :type :invoke, :process 2, :f :txn, :value [[:append 9 2]]}"
    for text in (edn, f"[{edn}]", "#jepsen.history.Op{:type :ok :value []}", "\n,({:process 1, :type :info"):
        assert EDN.recognise(sample(text)) and not JSON.recognise(sample(text)), text
    for text in ('[{"type":"ok","value":[]}]', '\n[\n {"process": 1, "type" : "invoke"'):
        assert JSON.recognise(sample(text)) and not EDN.recognise(sample(text)), text
    ours = '{"op":"begin","txn":1,"ctx":{"type":"ok","value":1}}'
    others = [
        "",
        "[]",
        "{}",
        "{:a 1}",
        '[{"a": 1}]',
        '[{"type": "x", "value": 1}]',
        "r(1,2,3,4)",
        ours,
        "\x00S",
    ]
    others += ['[{"tid":1,"sid":1,"sts":{"p":1,"l":0},"ops":[]}]', '[[{"events":[],"committed":true}]]']
    for text in others:
        assert not EDN.recognise(sample(text)) and not JSON.recognise(sample(text)), text


# --- public histories ---


def outline(path: Path) -> dict[str, int]:
    """Counted by regular expressions, a line at a time."""
    counts = dict.fromkeys(("invoke", "ok", "fail", "info"), 0) | {"append": 0, "r": 0, "w": 0}
    for line in path.read_text().splitlines():
        line = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line.split(";")[0])
        if ":nemesis" in line or not (kind := re.search(r":type :(\w+)", line)):
            continue
        counts[kind[1]] += 1
        if kind[1] == "ok":
            for name in ("append", "r", "w"):
                counts[name] += len(re.findall(rf"\[\s*:{name} ", line))
    return counts


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("elle/huge-scc.edn", marks=pytest.mark.full),
        "elle/paper-example.edn", "elle/si-without-g-single.edn",
        "elle-cli/list-append-gh-30.edn", "elle-cli/paper-example.edn", "elle-cli/rw-register.edn",
    ],
)  # fmt: skip
def test_public_histories(name: str, tmp_path: Path) -> None:
    path = corpus(name)
    trace = EDN.read(path, lambda: None)
    counts = outline(path)
    outcomes = [int((trace.txn_outcome == o).sum()) for o in Outcome]
    assert len(trace) == counts["invoke"] and not trace.warnings
    assert outcomes == [counts["ok"], counts["fail"], counts["invoke"] - counts["ok"] - counts["fail"]]
    committed = [o.kind for t in trace.transactions() if t.outcome == Outcome.COMMITTED for o in t.operations]
    assert committed.count(Kind.APPEND) == counts["append"] and committed.count(Kind.PUT) == counts["w"]
    assert committed.count(Kind.LIST) + committed.count(Kind.GET) == counts["r"]
    with path.open("rb") as file:
        assert EDN.recognise(sample(file.read(1 << 16)))
    for target in (EDN, JSON):
        assert target.losses(trace) == [] and target.write is not None
        target.write(trace, tmp_path / target.name)
        again = target.read(tmp_path / target.name, lambda: None)
        assert whole(again) == whole(trace)


def whole(trace: Trace) -> list[Any]:
    """All there is to a trace read from Jepsen, in an order of its own."""
    found = zip(seen(trace), trace.transactions(), strict=True)
    return sorted((t.name, repr(short), t.begin, t.end, t.clock, repr(t.ctx)) for short, t in found)  # type: ignore[type-var]


@pytest.mark.parametrize("name", ["paper-example", "rw-register"])
def test_public_histories_in_json(name: str) -> None:
    path = corpus(f"elle-cli/{name}.json")
    trace = JSON.read(path, lambda: None)
    ops = json.loads(path.read_text())
    assert len(trace) == sum(op["type"] == "ok" for op in ops)
    assert len(trace.op_kind) == sum(len(op["value"]) for op in ops if op["type"] == "ok")
    twin = EDN.read(corpus(f"elle-cli/{name}.edn"), lambda: None)
    assert seen(trace) == json_keys(seen(twin))


def json_keys(story: list[Any]) -> list[Any]:
    """Keywords, as JSON has them."""
    return [
        (s, o, [(k, key[1:] if isinstance(key, str) else key, v) for k, key, v in ops]) for s, o, ops in story
    ]


# --- writing and reading back ---


@settings(max_examples=examples(300), deadline=None)
@given(histories(), st.sampled_from([EDN, JSON]))
def test_what_was_written_is_read_back(trace: Trace, target: Format) -> None:
    lost = target.losses(trace)
    assert not any(loss.fatal for loss in lost) and target.write is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history"
        target.write(trace, path)
        assert target.recognise(sample(path.read_bytes()))
        again = target.read(path, lambda: None)
        before, after = told(trace, initial=False), told(again)
        numbered = any(loss.what.startswith("the names of sessions") for loss in lost)
        now: dict[Any, Any] = {}
        for mark, (session, *rest) in before.items():
            assert list(after[mark][1:]) == rest
            if session is not None:  # one of its own says nothing
                now.setdefault(session, after[mark][0] if numbered else session)
                assert after[mark][0] == now[session] == str(int(now[session]))
        assert len(set(now.values())) == len(now), "two sessions have become one"
        sessions, real = order(trace)
        assert {pair for pair in order(again)[0] if pair in sessions} == sessions
        if not any(word in loss.what for loss in lost for word in ("times of", "end time", "begin")):
            assert order(again)[1] == real
        # By now all is settled.
        assert [loss for loss in target.losses(again) if not loss.minor] == []
        target.write(again, Path(folder) / "again")
        twice = target.read(Path(folder) / "again", lambda: None)
        assert told(twice) == told(again)
        if not target.losses(again):  # not even names
            assert whole(twice) == whole(again)


def test_times_become_an_order_and_are_kept(tmp_path: Path) -> None:
    b = TraceBuilder(clock="host/1")
    first, second = b.transaction("a", begin=100), b.transaction("b", begin=200)
    first.put(1, 1)
    first.commit(return_=200)
    second.get(1, 1)
    second.abort(return_=350)
    EDN.write(trace := b.build(), path := tmp_path / "history")  # type: ignore[misc]
    assert path.read_text().splitlines() == [
        "{:index 0, :type :invoke, :process 0, :time 100, :f :txn, :value [[:w 1 1]]}",
        "{:index 1, :type :invoke, :process 1, :time 200, :f :txn, :value [[:r 1 nil]]}",
        "{:index 2, :type :ok, :process 0, :time 200, :f :txn, :value [[:w 1 1]]}",
        "{:index 3, :type :fail, :process 1, :time 350, :f :txn, :value [[:r 1 1]]}",
    ]
    assert [loss.what for loss in EDN.losses(trace)] == [
        "2 transactions' names",
        "the names of sessions: they are numbered",
    ]


def test_what_cannot_be_written() -> None:
    b = TraceBuilder(initial={"x": 0, "y": 1})
    with b.transaction("s", name="n", ctx={"k": 1}) as t:
        t.get("x", 0)
        t.delete("z")
        t.scan(None, None, [])
        t.failed("put", key="x", error="e")
        t.put("y", 2, invoke=3, ctx={"c": 1})
    with b.transaction("s", outcome="aborted") as t:
        t.get("w", Absent)
    found = {loss.what: loss.fatal for loss in EDN.losses(b.build())}
    assert found == {
        "the initial value of 2 keys: a read of it becomes a read of nothing": False,
        "1 failed operation": False,
        "1 delete": False,
        "1 scan": False,
        "1 operation's own times": False,
        "1 operation's hints": False,
        "1 read of nothing in a transaction that did not commit": False,
        "1 transaction's name": False,
        "1 transaction's hints": False,
        "the names of sessions: they are numbered": False,
    }


def fatal(trace: Trace) -> list[str]:
    return [loss.what for loss in EDN.losses(trace) if loss.fatal]


def test_what_must_not_be_written() -> None:
    b = TraceBuilder("unknown")
    with b.transaction("nemesis") as t:
        t.put(b"k", None)
        t.put(1, b"v")
    assert fatal(b.build()) == [
        "that the initial state is unknown",
        "1 key of bytes, in Jepsen and Elle histories in EDN",
        "1 value of bytes, in Jepsen and Elle histories in EDN",
        "1 null as a value, which stands for nothing in Jepsen and Elle histories in EDN",
    ]
    b = TraceBuilder(initial={"x": 0, "y": 0})
    with b.transaction() as t:
        t.put("x", 0)
        t.get("y", Absent)
    assert fatal(b.build()) == ["the initial value of 2 keys, which is also written, or also read as absent"]


@pytest.mark.parametrize("target", [EDN, JSON])
def test_sessions_are_written_as_numbers(target: Format, tmp_path: Path) -> None:
    """Elle takes a transaction whose process is no number for none of a client, and finds nothing to check."""
    b = TraceBuilder()
    for n, session in enumerate(("c1", "7", "nemesis", "c1")):
        with b.transaction(session) as t:
            t.append("x", n)
    assert target.write is not None
    target.write(b.build(), tmp_path / "history")
    again = target.read(tmp_path / "history", lambda: None)
    assert [t.session for t in again.transactions()] == ["0", "1", "2", "0"]
    assert re.findall(r'process"?[ :]+(\S+?),', (tmp_path / "history").read_text()) == list("0120")
    c = TraceBuilder()
    for session in ("7", "3"):
        c.transaction(session).commit()
    target.write(c.build(), tmp_path / "numbers")
    kept = target.read(tmp_path / "numbers", lambda: None)
    assert [t.session for t in kept.transactions()] == ["7", "3"]
    assert not any("sessions" in loss.what for loss in target.losses(c.build()))


def test_times_that_cannot_be_written(tmp_path: Path) -> None:
    b = TraceBuilder()
    b.transaction("a", begin=1).commit(return_=5)
    b.transaction("a", begin=5).commit(return_=5)
    b.transaction("b", begin=5).commit()
    trace = b.build()
    assert [loss.what for loss in EDN.losses(trace)] == [
        "1 transaction's lack of an end time: it would be given one",
        "1 transaction that begins at the time at which another of its session ends: it would be later",
        "3 transactions' names",
        "the names of sessions: they are numbered",
    ]
    b = TraceBuilder()
    b.transaction("a", begin=1).unknown()
    assert "the times of 1 transaction: there are only begins, or only ends" in [
        x.what for x in EDN.losses(b.build())
    ]


# --- damage ---

SMALL = rb"""{:index 0 :type :invoke, :process 1 :value [[:append :k 1] [:r 2 nil]] :time 5}
;c
{:index 3 :type :ok, :f :txn :process 1 :value [[:append :k 1] [:r 2 [1 "a\u00e9\n"]]] :error #t #{\a 1.5 2N}}
{:index 4 :type :info :process :nemesis :value #_ x {:a [nil true]}}
{:index 7 :type :invoke :value [[:append [3] -4]]}
"""


def test_damaged_edn(tmp_path: Path) -> None:
    check_damage(EDN, SMALL, tmp_path, 1000, well_formed)


def test_damaged_json(tmp_path: Path) -> None:
    b = TraceBuilder()
    with b.transaction("1", begin=1, end=2) as t:
        t.append("k", 1.5)
        t.list("é\\", [True, "\n"])
    b.transaction("x", begin=3).put(1, -7)
    JSON.write(b.build(), path := tmp_path / "whole")  # type: ignore[misc]
    check_damage(JSON, path.read_bytes(), tmp_path, 1000, well_formed)


@pytest.mark.parametrize("mark", ["[", "{", "(", "#{", "#_", "#a ", "#_#a", "{[", '"\\', "\\", ":", "[#_["])
def test_a_million_of_one_mark(mark: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError):
        parse(EDN, mark * (1 << 20), tmp_path)
    with pytest.raises(TraceError):
        parse(EDN, "{:type :ok :x " + mark * (1 << 20), tmp_path)


def test_other_formats_are_refused(tmp_path: Path) -> None:
    others = [
        '[[{"events":[],"committed":true}]]',
        '[{"tid":1,"ops":[]}]',
        "r(1,2,3,4)\n",
        '{"op":"begin","txn":1}',
    ]
    for text in others:
        for format in (EDN, JSON):
            with pytest.raises(TraceError):
                parse(format, text, tmp_path)
    for format in (timekiller.FORMAT, dbcop_json.FORMAT):
        with pytest.raises(TraceError):
            parse(format, SMALL, tmp_path)


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(anything, min_size=1, max_size=8))
def test_every_scalar_survives_edn(values: list[Any]) -> None:
    b = TraceBuilder()
    with b.transaction() as t:
        for n, value in enumerate(values):
            t.put(n, value)
    with tempfile.TemporaryDirectory() as folder:
        EDN.write(b.build(), path := Path(folder) / "history")  # type: ignore[misc]
        again = [o.value for o in EDN.read(path, lambda: None).transaction(0).operations]
    assert [(type(v), v) for v in again] == [(type(v), v) for v in values]


# --- workloads whose operations are no :txn


def ops(*lines: str) -> str:
    """Invocations, which need no value, and completions: "0 ok :read #{1 2}"."""
    text = []
    for line in lines:
        process, type, f, *value = line.split(" ", 3)
        text.append(f"{{:process {process}, :type :{type}, :f {f}, :value {value[0] if value else 'nil'}}}")
    return "\n".join(text)


def verdicts(trace: Any, *levels: str) -> list[str]:
    return [check(trace, level).status for level in levels]


def test_long_fork(tmp_path: Path) -> None:
    text = ops(
        "0 invoke :write [[:w 1 1]]",
        "1 invoke :write [[:w 2 1]]",
        "2 invoke :read [[:r 1 nil] [:r 2 nil]]",
        "3 invoke :read [[:r 1 nil] [:r 2 nil]]",
        "0 ok :write [[:w 1 1]]",
        "1 ok :write [[:w 2 1]]",
        "2 ok :read [[:r 1 1] [:r 2 nil]]",
        "3 ok :read [[:r 2 1] [:r 1 nil]]",
        "4 invoke :read [[:r 1 nil]]",
        "4 info :read [[:r 1 nil]]",
    )
    trace = parse(EDN, text, tmp_path)
    assert seen(trace)[2] == ("2", "committed", [("get", 1, 1), ("get", 2, Absent)])
    assert seen(trace)[4] == ("4", "unknown", [])
    assert verdicts(trace, "ser", "si", "psi") == ["invalid", "invalid", "valid"]


SET = (
    "0 invoke :add 1",
    "1 invoke :add 2",
    "2 invoke :add 3",
    "0 ok :add 1",
    "1 info :add 2",
    "2 fail :add 3",
    "0 invoke :read",
)


@pytest.mark.parametrize("f", [":add", ":write"])
def test_sets_and_comments(f: str, tmp_path: Path) -> None:
    for found, strict in (("#{1}", "valid"), ("[2 1]", "valid"), ("#{}", "invalid"), ("(2)", "invalid")):
        text = ops(*SET, f"0 ok :read {found}").replace(":add", f)
        trace = parse(EDN, text, tmp_path)
        assert seen(trace)[:3] == [
            ("0", "committed", [("put", 1, 1)]),
            ("1", "unknown", [("put", 2, 2)]),
            ("2", "aborted", [("put", 3, 3)]),
        ]
        assert verdicts(trace, "sser", "ser", "rc") == [strict, "valid", "valid"], found
    for found in ("#{3}", "#{4}"):  # what failed, and what nobody added
        assert verdicts(parse(EDN, ops(*SET, f"0 ok :read {found}").replace(":add", f), tmp_path), "rc") == [
            "invalid"
        ]
    fork = ("3 invoke :read", "4 invoke :read", "3 ok :read #{1}", "4 ok :read #{2}")
    fork = ("0 invoke :add 1", "1 invoke :add 2", *fork, "0 ok :add 1", "1 ok :add 2")
    assert verdicts(parse(EDN, ops(*fork).replace(":add", f), tmp_path), "ser", "psi") == ["invalid", "valid"]
    text = (
        '[{"type":"ok","process":0,"f":"add","value":"a"},{"type":"ok","process":1,"f":"read","value":["a"]}]'
    )
    assert verdicts(parse(JSON, text.replace("add", f[1:]), tmp_path), "ser") == ["valid"]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            ("0 invoke :transfer {:from 0 :to 1 :amount 5}",),
            "line|:transfer, as in the workload bank.*which balances",
        ),
        (("0 ok :read {0 10, 1 20}",), "a map as what was read, as in the workload bank"),
        (
            ("0 ok :write 3", "0 ok :read 3"),
            "3 as what was read; expected a set or vector.*register or counter",
        ),
        (("0 ok :add 1", "0 ok :read 1"), "1 as what was read"),
        (("0 ok :add 1", "0 ok :remove 1"), "neither adds nor reads"),
        (("0 ok :add [1 2]",), "several values as what was added.*split it"),
        (("0 ok :read [0 #{1}]",), "a list among the elements.*split it"),
        (("0 ok :add 1", "0 ok :write 1"), "operations of two workloads"),
        (("0 ok :add 1", "0 ok :txn [[:w 1 1]]"), "operations of two workloads"),
        (("0 ok :read #{1}", "0 ok :read [[:r 1 1]]"), "operations of two workloads"),
        (("0 ok :add 1", "0 ok :read [1 1]"), "twice in one scan"),
        (("0 ok :add {:a 1}",), "as an element"),
        (("0 ok :read",), "an ok without :value"),
        (("0 ok :write [[:w 1 1] 5]",), "brackets of its own"),
    ],
)
def test_workloads_that_do_not_say_enough(lines: tuple[str, ...], words: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=words):
        parse(EDN, ops(*lines), tmp_path)
