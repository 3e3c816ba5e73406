"""The report: what is on the page, that it stays small, and that it works in a real browser.

The first half needs none: it reads the page as a parser does, and its data as the scripts do. The second half opens
pages in Chromium and uses them as a person would, with the mouse and without; where there is no Chromium it is skipped.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from support.anomalies import CASES, Case
from support.browser import Browser, opened_browser
from support.commands import command
from support.paths import ROOT
from support.report_samples import JOKES, cases, jokes, ring, transfers

import boomslang
from boomslang import Checker
from boomslang.errors import UsageError
from boomslang.explain.counterexample import explain
from boomslang.explain.parts import Parts
from boomslang.record.tracer import clock_name
from boomslang.report import render_report, write_report
from boomslang.report.contents import contents, headline
from boomslang.report.neighbours import MOST as MOST_NEIGHBOURS
from boomslang.report.neighbours import neighbours
from boomslang.report.page import ASSETS, as_json
from boomslang.report.story import MOST
from boomslang.trace import Absent, Trace, TraceBuilder
from boomslang.verdict import UNKNOWN, Verdict

SKEW = ROOT / "examples" / "write-skew.jsonl"
VOID = {"meta", "link", "br", "img", "input"}

Json = dict[str, Any]


class Parsed(HTMLParser):
    """A page as a browser's parser sees it."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.comments: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.append((self.open[-1], data))

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def text(self, tag: str) -> list[str]:
        return [text for name, text in self.texts if name == tag]

    @property
    def data(self) -> Json:
        found: Json = json.loads(self.text("script")[0])
        return found


def check(trace: Trace, *levels: str) -> list[Verdict]:
    checker = Checker(trace)
    return [checker.check(level) for level in levels]


def story_of(trace: Trace, level: str = "ser") -> Json:
    story: Json = contents(check(trace, level), "t", {})["stories"][0]
    return story


# --- without a browser


def test_json_cannot_end_its_element() -> None:
    data = {"</script>": ["<!--", "&amp;", "\u2028\u2029", "\ud800", *JOKES]}
    text = as_json(data)
    assert not set("<>&") & set(text)
    assert text.isascii()
    assert json.loads(text) == data


def test_a_page_is_well_formed_and_has_one_script_whatever_the_trace_says() -> None:
    plain = Parsed(render_report(check(boomslang.read_trace(SKEW), "ser")))
    fooled = Parsed(render_report(check(jokes(), "ser"), trace_path=JOKES[1], about={JOKES[0]: JOKES[2]}))
    for page in (plain, fooled):
        assert page.open == [] and page.comments == []
    assert fooled.elements[:5] == plain.elements[:5]
    assert [tag for tag, _ in fooled.elements] == [tag for tag, _ in plain.elements]
    assert JOKES[1] in "".join(fooled.text("title"))
    assert JOKES[0] in "".join(fooled.text("pre"))
    assert fooled.data["path"] == JOKES[1]


def test_the_policy_allows_the_two_things_on_the_page_and_nothing_else() -> None:
    page = Parsed(render_report(check(jokes(), "ser")))
    meta = next(a for tag, a in page.elements if "http-equiv" in a)
    assert meta["http-equiv"] == "Content-Security-Policy"
    policy = dict(part.strip().split(" ", 1) for part in str(meta["content"]).split(";"))
    assert policy["default-src"] == "'none'"
    for name, tag, which in (("script-src", "script", 1), ("style-src", "style", 0)):
        digest = hashlib.sha256(page.text(tag)[which].encode()).digest()
        assert policy[name] == f"'sha256-{base64.b64encode(digest).decode()}'"
    assert not [a for _, a in page.elements if {"src", "style", "onclick", "onload"} & set(a)]
    assert all(str(a["href"]).startswith("#") for _, a in page.elements if "href" in a)


def test_what_is_not_printable_is_spelled_out() -> None:
    data = json.dumps(contents(check(jokes(), "ser"), "\x1b[2J \u202e", {}), ensure_ascii=False)
    for letter in "\x1b\u2028\u2029\u202e":
        assert letter not in data
    assert r"\\u202e" in data


def test_a_page_is_the_same_each_time() -> None:
    verdicts = check(transfers(), "ser", "si")
    assert render_report(verdicts, trace_path="t") == render_report(verdicts, trace_path="t")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_all_that_a_story_speaks_of_is_there(case: Case) -> None:
    verdicts = check(case.build(), *(case.breaks or ("ser",)))
    data = contents(verdicts, case.name, {})
    assert len(data["levels"]) == len(verdicts)
    assert bool(data["stories"]) == any(v.invalid for v in verdicts)
    assert bool(data["witnesses"]) == any(v.witness is not None and len(v.witness.order) for v in verdicts)
    for level in data["levels"]:
        assert (level["story"] is not None) == (level["status"] == "invalid")
    for story in data["stories"]:
        drawn = {t["id"] for t in story["transactions"]}
        operations = {o["id"] for t in story["transactions"] for o in t["operations"]}
        edges = {e["id"]: e for e in story["edges"]}
        steps = {s["id"] for s in story["steps"]}
        assert all({e["source"], e["target"]} <= drawn for e in edges.values())
        for step in story["steps"]:
            assert step["edge"] is None or step["edge"] in edges
            assert set(step["cycle"]) <= set(edges) and set(step["because"]) <= steps
            assert set(step["operations"]) <= operations
        assert story["leaves"]
        for leaf in story["leaves"]:
            assert set(leaf["cycle"]) <= set(leaf["edges"]) <= set(edges)
            assert set(leaf["steps"]) <= steps and set(leaf["operations"]) <= operations
        for t in story["transactions"]:
            times = [t["from"], *(x for o in t["operations"] for x in (o["from"], o["to"])), t["to"]]
            assert times == sorted(times)


def test_steps_point_at_the_operations_they_speak_of() -> None:
    trace = boomslang.read_trace(SKEW)
    story = story_of(trace)
    edges = {e["id"]: e for e in story["edges"]}
    assert len(edges) == 2
    for step in story["steps"]:
        if step["edge"] is not None:
            reader, writer = (int(edges[step["edge"]][end][1:]) for end in ("source", "target"))
            kinds = {(trace.owner(row), trace.operation(row).kind.name) for row in step["operations"]}
            assert kinds == {(reader, "SCAN"), (writer, "PUT")}


def test_a_timeline_has_the_order_of_the_clock() -> None:
    trace = transfers()
    story = story_of(trace)
    assert story["axis"]["kind"] == "time"
    everybody = [*story["transactions"], *story["neighbours"]]
    assert len(everybody) == len(trace)
    for a in everybody:
        for b in everybody:
            one, two = (trace.transaction(int(t["id"][1:])) for t in (a, b))
            assert one.end is not None and two.begin is not None
            assert (a["to"] < b["from"]) == (one.end < two.begin)


def test_a_timeline_without_times_goes_by_the_lines_or_claims_nothing(tmp_path: Path) -> None:
    assert story_of(ring(3))["axis"]["kind"] == "line"
    for n, (key, other) in enumerate((("x", "y"), ("y", "x"))):
        lines = [
            {"session": f"s{n}", "txn": n, "op": "begin"},
            {"session": f"s{n}", "txn": n, "op": "get", "key": key, "absent": True},
            {"session": f"s{n}", "txn": n, "op": "put", "key": other, "value": n},
            {"session": f"s{n}", "txn": n, "op": "commit"},
        ]
        text = "\n".join(json.dumps(line) for line in ({"boomslang": 1}, *lines))
        (tmp_path / f"s{n}.jsonl").write_text(text + "\n")
    story = story_of(boomslang.read_trace(tmp_path))
    assert story["axis"]["kind"] == "none"
    assert {t["from"] for t in story["transactions"]} == {0}


def test_a_large_core_is_summarised() -> None:
    story = story_of(ring(MOST + 15))
    assert len(story["transactions"]) == MOST
    assert any("large core" in note and "45 transactions" in note for note in story["notes"])
    drawn = {t["id"] for t in story["transactions"]}
    assert story["edges"] and all({e["source"], e["target"]} <= drawn for e in story["edges"])
    listed = story["argument"]["steps"]
    assert len(listed) == MOST + 15 < len(story["steps"])


def test_a_page_stays_small_and_long_values_are_shortened_with_their_length() -> None:
    huge, long = "v" * 3_000_000, "w" * 5_000
    b = TraceBuilder(initial={"x": huge, "y": long})
    for session, read, value, wrote in (("a", "x", huge, "y"), ("b", "y", long, "x")):
        with b.transaction(session=session) as t:
            for i in range(3_000):
                t.put(f"other/{session}/{i}", i)
            t.get(read, value)
            t.put(wrote, session)
    for i in range(500):
        with b.transaction(session="a") as t:
            t.put("z", huge[: 100_000 + i])
    trace = b.build()
    page = render_report(check(trace, "ser", "si"))
    assert len(page) < 1_000_000
    operations = [o for t in Parsed(page).data["stories"][0]["transactions"] for o in t["operations"]]
    matter = {o["text"]: o["full"] for o in operations if o["matters"] and o["does"] == "read"}
    shortened = next(text for text in matter if "3000002 characters" in text)
    assert matter[shortened] is None
    assert next(full for full in matter.values() if full is not None) == f"'y' = '{long}'"
    assert all(len(o["label"]) < 40 and len(o["text"]) < 400 for o in operations)


def test_a_page_stays_small_where_transactions_are_long() -> None:
    items = [(f"scanned/{i:03}", "v" * 50) for i in range(22)]
    b = TraceBuilder(initial=dict(items))
    for i in range(70):
        with b.transaction(session=f"s{i % 30}") as t:
            for _ in range(8):
                t.scan("scanned/", "scanned0", items)
            for n in range(90):
                t.put(f"other/{i}/{n}", "w" * 50)
            if 30 <= i < 60:
                t.get(f"x{i}", Absent)
                t.put(f"x{30 + (i + 1) % 30}", i)
    page = render_report(check(b.build(), "ser"))
    story = Parsed(page).data["stories"][0]
    assert len(story["transactions"]) == 30 and len(story["neighbours"]) > 20
    assert all(t["more"] > 0 for t in story["transactions"])
    assert len(page) < 3_000_000


def test_long_names_are_shortened_with_their_length() -> None:
    b = TraceBuilder(clock="c" * 5_000)
    for i in range(2):
        with b.transaction(session=f"{i}{'s' * 5_000}", name=f"{i}{'n' * 5_000}", begin=i, end=9) as t:
            t.get(f"{i}", Absent)
            t.put(f"{1 - i}", i)
    story = story_of(b.build())
    for t in story["transactions"]:
        assert "5001 characters" in t["session"] and "5003 characters" in t["name"]
    assert "5000 characters" in story["axis"]["clock"]
    assert len(json.dumps(story)) < 20_000


def test_neighbours_are_close_and_few() -> None:
    trace = ring(200, sessions=20)
    assert neighbours(trace, [100]) == [60, 80, 120, 140]
    assert len(neighbours(trace, list(range(0, 200, 7)))) == MOST_NEIGHBOURS
    timed = transfers()
    assert set(neighbours(timed, [2, 3])) <= set(range(len(timed))) - {2, 3}
    assert 4 in neighbours(timed, [2, 3])  # at the same time, in another session


def test_headlines() -> None:
    trace = boomslang.read_trace(SKEW)
    ser, si, sser = check(trace, "ser", "si", "sser")
    assert headline([ser]) == "Not serializable: write skew"
    assert headline([si]) == "Valid: it is snapshot isolation"
    assert headline([ser, si, sser]) == "Not serializable, but snapshot isolation"
    lost = Verdict(trace, ser.level, UNKNOWN, "the time limit was reached")
    assert headline([lost]) == "Unknown whether it is serializable: the time limit was reached"
    assert headline([lost, si]) == "Valid: it is snapshot isolation (1 level unknown)"


def test_further_violations_of_a_level_are_further_stories() -> None:
    b = TraceBuilder()
    for i in range(6):
        with b.transaction() as t:
            t.get(f"x{i}", Absent)
            t.put(f"x{i ^ 1}", i)
    checker = Checker(b.build())
    verdict = checker.check("ser")
    assert verdict.counterexample is not None
    other = next(t for t in (0, 2, 4) if t not in verdict.counterexample.core.transactions)
    reads = list(range(int(checker.asg.read_start[other]), int(checker.asg.read_start[other + 2])))
    found = explain(checker.asg, verdict.level, Parts.of([other, other + 1], reads, []))
    data = contents([verdict, replace(verdict, counterexample=found)], "t", {})
    assert data["headline"] == "Not serializable: write skew"
    assert len(data["levels"]) == 1
    assert [story["tab"] for story in data["stories"]] == [
        "Not serializable: write skew",
        "Further: write skew",
    ]
    drawn = [{t["id"] for t in story["transactions"]} for story in data["stories"]]
    assert drawn[1] == {f"T{other}", f"T{other + 1}"} and not drawn[0] & drawn[1]


def test_reports_are_of_one_trace(tmp_path: Path) -> None:
    one, two = check(ring(3), "ser")[0], check(ring(3), "ser")[0]
    with pytest.raises(UsageError, match="several traces"):
        write_report([one, two], tmp_path / "r.html")
    with pytest.raises(UsageError, match="no verdict"):
        write_report([], tmp_path / "r.html")
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_a_report(tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    ran = command("check", SKEW, "--level", "ser,si", "--report", page)
    assert ran.code == 1 and f"report: {page}" in ran.out
    data = Parsed(page.read_text(encoding="utf-8")).data
    assert [level["status"] for level in data["levels"]] == ["invalid", "valid"]
    assert data["path"] == str(SKEW)
    assert list(tmp_path.iterdir()) == [page]


def test_the_command_writes_a_report_beside_json(tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    ran = command("check", SKEW, "--level", "strongest", "--json", "--report", page)
    assert ran.code == 0 and json.loads(ran.out)["strongest"]
    assert len(Parsed(page.read_text(encoding="utf-8")).data["levels"]) > 10


def test_where_no_report_can_be_written_is_said_before_the_work(tmp_path: Path) -> None:
    ran = command("check", tmp_path / "missing", "--level", "ser", "--report", tmp_path / "none" / "r.html")
    assert ran.code == 254 and "cannot write the report: there is no folder" in ran.err
    ran = command("check", SKEW, "--level", "ser", "--report", SKEW)
    assert ran.code == 254 and "it is the trace" in ran.err


def test_no_answer_no_report(tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    ran = command("check", SKEW, "--level", "ser", "--timeout", "1e-9", "--report", page)
    assert ran.code == 2
    assert "no report was written" in ran.err if not page.exists() else "Unknown" in page.read_text()


def test_colours_have_contrast() -> None:
    """Text and lines can be told from what they stand on, in light and in dark (WCAG 2: 4.5 for text, 3 for lines)."""
    found = re.findall(
        r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", (ASSETS / "look.css").read_text(encoding="utf-8")
    )
    assert len(found) > 20
    for which in (1, 2):
        colour = {row[0]: row[which] for row in found}
        texts = ["ink", "soft", "brand", "good", "bad", "open", *(c for c in colour if c.startswith("k-"))]
        for text in texts:
            for ground in ("paper", "card", "sunk"):
                assert contrast(colour[text], colour[ground]) >= 4.5, (text, ground, which)
        for ground in ("lit", "read", "write", "other"):
            assert contrast(colour["ink"], colour[ground]) >= 4.5
        for line in ("read-line", "write-line", "other-line"):
            assert contrast(colour[line], colour["card"]) >= 3


def contrast(one: str, two: str) -> float:
    def light(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    a, b = sorted((light(one), light(two)))
    return (b + 0.05) / (a + 0.05)


def test_times_that_we_recorded_have_a_unit() -> None:
    """Those of others are in whatever unit they are in."""
    units = []
    for clock in ("host/01234567-89ab-cdef-0123-456789abcdef/4026531834", "mine", clock_name()):
        b = TraceBuilder(initial={"x": 0}, clock=clock)
        for session in "AB":
            with b.transaction(session=session, begin=1_000_000) as t:
                t.get("x", 0, invoke=1_000_001, return_=1_000_002)
                t.put("x", session, invoke=1_000_003, return_=1_000_004)
                t.commit(invoke=1_000_005, return_=1_000_006)
        units.append(story_of(b.build())["axis"]["unit"])
    assert units == ["ns", None, "ns"]


@pytest.mark.parametrize("unit", ["ns", "us", "ms", "s"])
def test_times_whose_unit_the_trace_says_have_it(unit: str) -> None:
    b = TraceBuilder(initial={"x": 0}, clock="mine", unit=unit)
    for session in "AB":
        with b.transaction(session=session, begin=1, end=7) as t:
            t.get("x", 0)
            t.put("x", session)
    assert story_of(b.build())["axis"]["unit"] == unit


MARIADB = "mariadb-repeatable-read"


def locking(after: int) -> Trace:
    """One that reads, locks what another wrote meanwhile, and writes: two or three views of the data. What is locked
    in the second one is `after`, so that 2 is right; more transactions than the trace has make parts that it has not.
    """
    b = TraceBuilder(initial={"x": 0, "y": 0})
    with b.transaction(session="A") as t:
        t.get("x", 0)
        t.get("x", after, ctx={"lock": "update"})
        t.put("x", 3)
    with b.transaction(session="B") as t:
        t.get("y", 0)
        t.get("y", 0, ctx={"lock": "update"})
        t.put("x", 2)
    return b.build()


def test_a_witness_of_transactions_that_a_module_split() -> None:
    """Its numbers are those of the parts, of which there are more than transactions."""
    verdict = Checker(locking(2), modules=[MARIADB]).check("si")
    assert verdict.valid
    made = Parsed(render_report(verdict)).data["witnesses"][0]
    assert made["split"] and made["total"] > 2 * len(verdict.trace)
    assert {row["id"] for row in made["order"]} == {"T0.1", "T0.2", "T0.3", "T1.1", "T1.2", "T1.3"}
    of = {(row["id"], row["point"]): row["text"] for row in made["order"]}
    assert of["T0.1", "begin"] == "get 'x' -> 0" and of["T0.2", "begin"] == "get 'x' -> 2"
    assert of["T0.3", "commit"] == "put 'x' = 3" and of["T1.3", "commit"] == "put 'x' = 2"


def test_a_story_of_transactions_that_a_module_split() -> None:
    """It draws the parts that it speaks of, not the transactions that have their numbers."""
    verdict = Checker(locking(7), modules=[MARIADB]).check("si")
    assert verdict.invalid and verdict.counterexample is not None
    story = Parsed(render_report(verdict)).data["stories"][0]
    (drawn,) = story["transactions"]
    (read,) = [o for o in drawn["operations"] if o["matters"]]
    assert read["text"] == "get 'x' -> 7" and drawn["id"] == f"T{verdict.counterexample.core.transactions[0]}"


# --- in a browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from opened_browser("the report was", (1280, 900))


def show(browser: Browser, tmp_path: Path, trace: Trace, *levels: str, name: str = "r.html") -> Json:
    """Opens the report of a trace, and returns its data."""
    page = write_report(check(trace, *(levels or ("ser",))), tmp_path / name, trace_path=name)
    browser.open(page)
    quiet(browser, page)
    return Parsed(page.read_text(encoding="utf-8")).data


def quiet(browser: Browser, page: Path) -> None:
    assert browser.complaints == []
    assert browser.requests == [page.resolve().as_uri()]


def marked(browser: Browser, selector: str, attribute: str) -> set[str]:
    query = f"[...document.querySelectorAll({json.dumps(selector)})].map((n) => n.dataset.{attribute})"
    return set(browser.js(query))


def number(browser: Browser, selector: str) -> int:
    return int(browser.js(f"document.querySelectorAll({json.dumps(selector)}).length"))


def test_graph_timeline_and_argument_are_there(browser: Browser, tmp_path: Path) -> None:
    data = show(browser, tmp_path, boomslang.read_trace(SKEW), "ser", "si")
    story = data["stories"][0]
    assert marked(browser, ".graph .edge", "edge") == {e["id"] for e in story["edges"]}
    assert marked(browser, ".graph .node", "node") == {"T0", "T1"}
    assert marked(browser, ".timeline .bar", "txn") == {"T0", "T1"}
    rows = {str(o["id"]) for t in story["transactions"] for o in t["operations"]}
    assert marked(browser, ".timeline .op", "op") == rows
    assert number(browser, "[role=treeitem][data-step]") == len(story["argument"]["steps"])
    assert (
        browser.js("document.querySelector('h1').textContent") == "Not serializable, but snapshot isolation"
    )
    assert number(browser, ".witness tbody tr") == 6
    assert number(browser, ".legend li") == 1
    # Nothing of the graph lies outside of its frame.
    assert browser.js(
        "(() => { const f = document.querySelector('.graph svg').getBoundingClientRect();"
        "return [...document.querySelectorAll('.node, .label')].every((n) => { const b = n.getBoundingClientRect();"
        "return b.left >= f.left && b.right <= f.right && b.top >= f.top && b.bottom <= f.bottom; }); })()"
    )


def test_a_step_lights_up_its_operations_and_its_edge(browser: Browser, tmp_path: Path) -> None:
    data = show(browser, tmp_path, transfers())
    story = data["stories"][0]
    assert story["steps"]
    for step in story["steps"]:
        if step["id"] not in story["argument"]["steps"]:
            continue
        browser.click(f"[data-step={step['id']}] .text")
        assert marked(browser, ".op.lit", "op") == {str(row) for row in step["operations"]}
        assert marked(browser, ".edge.lit", "edge") == ({step["edge"]} if step["edge"] else set())
        assert marked(browser, "[aria-selected=true]", "step") == {step["id"]}
        shown = browser.js("document.querySelector('.inspector').textContent")
        texts = {o["id"]: o["text"] for t in story["transactions"] for o in t["operations"]}
        assert all(texts[row] in shown for row in step["operations"])
    browser.click("[data-cycle] .text")
    assert marked(browser, ".edge.lit", "edge") == set(story["leaves"][0]["cycle"])
    browser.key("Escape")
    assert number(browser, ".lit") == 0
    assert browser.complaints == []


def test_a_derived_step_shows_the_cycle_its_contrary_would_close(browser: Browser, tmp_path: Path) -> None:
    story = show(browser, tmp_path, cases())["stories"][0]
    listed = story["argument"]["cases"][0]["argument"]["steps"]
    step = next(s for s in story["steps"] if s["id"] in listed and s["cycle"])
    browser.click(f"[data-case='1.'] [data-step={step['id']}] > .row > .twist")
    browser.click(f"[data-case='1.'] [data-contrary={step['id']}] .text")
    assert marked(browser, ".edge.lit:not([hidden])", "edge") == set(step["cycle"])
    supposed = {e["id"] for e in story["edges"] if e["supposed"]}
    assert set(step["cycle"]) & supposed


def test_an_edge_shows_its_step_and_an_operation_its_edges(browser: Browser, tmp_path: Path) -> None:
    story = show(browser, tmp_path, boomslang.read_trace(SKEW))["stories"][0]
    edge = story["edges"][-1]
    x, y = browser.js(
        f"(() => {{ const p = document.querySelector('[data-edge={edge['id']}] .line');"
        "p.scrollIntoView({block: 'center'}); const m = p.getPointAtLength(p.getTotalLength() * 0.25);"
        "const s = new DOMPoint(m.x, m.y).matrixTransform(p.getScreenCTM()); return [s.x, s.y]; })()"
    )
    for kind in ("mousePressed", "mouseReleased"):
        browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    browser.settle()
    assert marked(browser, ".edge.lit", "edge") == {edge["id"]}
    assert edge["step"] in marked(browser, "[role=treeitem].lit", "step")
    row = next(o["id"] for t in story["transactions"] for o in t["operations"] if o["does"] == "write")
    browser.click(f"[data-op='{row}'] rect")
    resting = {s["edge"] for s in story["steps"] if row in s["operations"] and s["edge"]}
    assert marked(browser, ".edge.lit", "edge") == resting
    assert marked(browser, ".op.lit", "op") == {str(row)}


def test_the_keyboard_is_enough(browser: Browser, tmp_path: Path) -> None:
    story = show(browser, tmp_path, boomslang.read_trace(SKEW), "ser")["stories"][0]

    def focus() -> Any:
        return browser.js("(() => { const n = document.activeElement; return n.id || n.className.baseVal || "
                          "n.className || n.dataset.step || n.dataset.cycle || n.tagName; })()")  # fmt: skip

    browser.key("Tab")
    assert focus() == "skip"
    browser.key("Enter")
    browser.key("Tab")
    steps = story["argument"]["steps"]
    assert focus() == steps[0]
    browser.key("ArrowDown")
    browser.key("Enter")
    chosen = next(s for s in story["steps"] if s["id"] == steps[1])
    assert marked(browser, ".op.lit", "op") == {str(row) for row in chosen["operations"]}
    assert "Marked: " in browser.js("document.getElementById('said').textContent")
    # A derived step is opened, and what it was derived from can be chosen.
    assert chosen["because"]
    browser.key("ArrowRight")
    assert number(browser, f"[data-step={chosen['id']}][aria-expanded=true] [role=group] [data-step]") >= 1
    browser.key("ArrowRight")
    browser.key("Enter")
    assert marked(browser, "[aria-selected=true]", "step") == {chosen["because"][0]}
    browser.key("ArrowLeft")
    browser.key("ArrowLeft")
    assert number(browser, f"[data-step={chosen['id']}][aria-expanded=false]") == 1
    # On to the graph, in it, and to the timeline.
    browser.key("Tab")
    assert str(focus()).startswith("edge")
    assert browser.js("!document.getElementById('tip').hidden")
    browser.key("ArrowRight")
    browser.key("Enter")
    assert number(browser, ".edge.lit") == 1
    for _ in range(6):
        browser.key("Tab")
        if str(focus()).startswith("bar"):
            break
    assert str(focus()).startswith("bar")
    browser.key("ArrowRight")
    assert str(focus()).startswith("op")
    browser.key("Enter")
    assert number(browser, ".op.lit") == 1
    assert browser.complaints == []


def test_what_is_focusable_has_a_name(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, transfers(), "ser", "si", "rc")
    unnamed = browser.js(
        "[...document.querySelectorAll('button, [tabindex], summary, a')].filter((n) =>"
        "!(n.getAttribute('aria-label') || n.textContent.trim())).length"
    )
    assert unnamed == 0
    roles = "[...document.querySelectorAll('[role=treeitem]')].every((n) => n.parentElement.closest('[role=tree]'))"
    assert browser.js(roles)
    assert browser.js("document.querySelectorAll('h1').length") == 1
    assert browser.js("document.documentElement.lang") == "en"
    assert number(browser, ".as-table tbody tr") == number(browser, ".edge")


def test_jokes_stay_text(browser: Browser, tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>.html"
    data = show(browser, tmp_path, jokes(), "ser", "si", name=name)
    for selector in ("[data-step] .text", "[data-edge]", ".label"):
        browser.js(f"document.querySelectorAll('{selector}').forEach((n) => n.dispatchEvent("
                   "new MouseEvent('click', {bubbles: true})))")  # fmt: skip
    browser.js("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    browser.js("document.querySelectorAll('.op, .bar, .edge, .node').forEach((n) => n.dispatchEvent("
               "new PointerEvent('pointerenter')))")  # fmt: skip
    browser.click(".neighbours")
    browser.settle()
    quiet(browser, tmp_path / name)
    assert "fooled" not in browser.js("document.title")
    assert number(browser, "img, iframe, object, embed") == 0
    assert number(browser, "script") == 2
    seen = browser.js("document.body.innerText")
    for session in {t["session"] for t in data["stories"][0]["transactions"]}:
        assert session in seen
    assert JOKES[0] in seen and name in seen


def test_neighbours_come_on_demand(browser: Browser, tmp_path: Path) -> None:
    story = show(browser, tmp_path, transfers())["stories"][0]
    core = {t["id"] for t in story["transactions"]}
    around = {t["id"] for t in story["neighbours"]}
    assert marked(browser, ".bar", "txn") == core and around
    browser.click(".neighbours")
    assert marked(browser, ".bar", "txn") == core | around
    browser.click(".tools button")
    assert marked(browser, ".bar", "txn") == core | around
    # By the clock, what is twice as long is drawn twice as long.
    widths = browser.js("[...document.querySelectorAll('.op')].map((n) => [Number(n.dataset.op),"
                        "n.querySelector('rect').width.baseVal.value])")  # fmt: skip
    length = {
        o["id"]: o["to"] - o["from"]
        for t in (*story["transactions"], *story["neighbours"])
        for o in t["operations"]
    }
    ratios = [width / length[row] for row, width in widths if width > 5]
    assert max(ratios) / min(ratios) < 1.05


def test_cases_are_drawn_one_at_a_time(browser: Browser, tmp_path: Path) -> None:
    story = show(browser, tmp_path, cases())["stories"][0]
    assert len(story["leaves"]) == len(story["argument"]["cases"]) > 1
    for n, leaf in enumerate(story["leaves"]):
        browser.click(f"[aria-label='Case that is drawn'] button:nth-of-type({n + 1})")
        assert marked(browser, ".edge:not([hidden])", "edge") == set(leaf["edges"])
        assert marked(browser, ".edge.round", "edge") == set(leaf["cycle"])
    # A step of another case brings its case along.
    browser.click("[data-case='1.'] > [role=group] > [data-step] .text")
    assert marked(browser, ".edge:not([hidden])", "edge") >= set(story["leaves"][0]["edges"])
    browser.click("[data-case='1.'] > .row .twist")
    assert browser.js("document.querySelector(\"[data-case='1.']\").getAttribute('aria-expanded')") == "false"


def test_several_stories_are_tabs(browser: Browser, tmp_path: Path) -> None:
    case = next(c for c in CASES if c.name == "read skew, the new first")
    data = show(browser, tmp_path, case.build(), *case.breaks)
    assert number(browser, "[role=tab]") == len(data["stories"]) > 1
    browser.click("#tab-1")
    assert number(browser, ".story:not([hidden]) .timeline .bar") > 0
    assert number(browser, ".story:not([hidden])") == 1
    browser.key("ArrowLeft")
    assert browser.js("document.activeElement.id") == "tab-0"
    assert browser.complaints == []


@pytest.mark.parametrize("name", ["long fork", "thin air", "dirty write of lists", "timestamp inversion"])
def test_other_anomalies_are_drawn(browser: Browser, tmp_path: Path, name: str) -> None:
    case = next(c for c in CASES if c.name == name)
    data = show(browser, tmp_path, case.build(), *case.breaks)
    assert number(browser, ".timeline .bar") >= len(data["stories"][0]["transactions"])
    browser.click("[data-cycle] .text")
    assert number(browser, ".op.lit") > 0


def test_thirty_transactions_do_not_overlap(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, ring(30))
    boxes = browser.js(
        "[...document.querySelectorAll('.node rect, .label rect')].map((n) => { const b = n.getBBox();"
        "return [b.x, b.y, b.width, b.height]; })"
    )
    assert len(boxes) == 60
    for i, (x, y, w, h) in enumerate(boxes):
        for u, v, a, b in boxes[i + 1 :]:
            assert x + w <= u or u + a <= x or y + h <= v or v + b <= y


def test_an_order_on_a_telephone_is_not_a_letter_wide(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, boomslang.read_trace(SKEW), "si")
    try:
        browser.window(360, 740)
        wide = "Math.min(...[...document.querySelectorAll('.witness .does-what')].map((c) => c.clientWidth))"
        assert 150 < browser.js(wide) < 1000
        assert browser.js("document.documentElement.scrollWidth") <= 360
    finally:
        browser.window(1280, 900)


def test_narrow_dark_and_on_paper(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, transfers(), "ser", "si")
    try:
        browser.window(360, 740)
        assert browser.js("document.documentElement.scrollWidth") <= 360
        browser.window(1280, 900)
        ground = "getComputedStyle(document.documentElement).backgroundColor"
        light = browser.js(ground)
        browser.colours("dark")
        dark = browser.js(ground)
        assert dark != light
        browser.click("#theme")
        assert browser.js(ground) == light
        browser.click("#theme")
        browser.colours("light")
        assert browser.js(ground) == dark
        browser.colours("light", media="print")
        assert browser.js("getComputedStyle(document.querySelector('#theme')).display") == "none"
        browser.colours("light")
        assert browser.paper().startswith(b"%PDF")
        assert browser.js("[...document.querySelectorAll('details')].every((d) => d.open)")
        assert browser.complaints == []
    finally:
        browser.window(1280, 900)
        browser.colours("light")


def test_without_scripts_there_is_the_text(browser: Browser, tmp_path: Path) -> None:
    page = write_report(check(jokes(), "ser"), tmp_path / "r.html")
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.load(page)
        root = browser.call("DOM.getDocument", depth=0)["root"]["nodeId"]
        found = browser.call("DOM.querySelector", nodeId=root, selector="noscript pre")["nodeId"]
        text = browser.call("DOM.getOuterHTML", nodeId=found)["outerHTML"]
        assert "Why" not in text and "&lt;/script&gt;" in text and "=&gt; a cycle" in text
        assert browser.call("DOM.querySelectorAll", nodeId=root, selector="script, img")["nodeIds"][2:] == []
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_faults_are_bands_over_the_lanes(browser: Browser, tmp_path: Path) -> None:
    """What was done to nodes while the transactions of a story ran, by name; what was before or after is not shown."""
    lines = [
        '{"boomslang":1,"clock":"here","unit":"ns","initial":{"items":[["x",0]]}}',
        '{"session":"a","op":"begin","invoke":100}',
        '{"op":"put","session":"a","key":"x","value":1}',
        '{"op":"commit","session":"a","return":200}',
        '{"session":"b","op":"begin","invoke":300}',
        '{"op":"get","session":"b","key":"x","value":0}',
        '{"op":"commit","session":"b","return":400}',
    ]
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "log.jsonl").write_text("\n".join(lines) + "\n")
    spans = {"cut node2": (150, 350), "pause node1": (10, 20), "<b>slow</b> node3": (390, 900)}
    told = [{"what": what, "clock": "here", "from": a, "to": b} for what, (a, b) in spans.items()]
    (folder / "run.json").write_text(json.dumps({"fault_times": told}))
    page = tmp_path / "r.html"
    assert command("check", folder, "--level", "sser", "--report", page).code == 1
    browser.open(page)
    quiet(browser, page)
    shown = "[...document.querySelectorAll('.timeline g.fault')].map((n) => n.getAttribute('aria-label'))"
    assert browser.js(shown) == ["fault: cut node2", "fault: <b>slow</b> node3"]
    order = "[...document.querySelectorAll('.timeline .picture > *')].map((n) => n.getAttribute('class'))"
    drawn = [str(name).split()[0] for name in browser.js(order)]
    last_lane = len(drawn) - 1 - drawn[::-1].index("lane")
    assert last_lane < drawn.index("fault") < drawn.index("bar")
