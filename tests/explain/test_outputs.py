"""Answers for programs: Graphviz, SARIF and JUnit XML, each read back by whoever can, and held against what its
standard demands."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator
from support.anomalies import CASES
from support.commands import command
from support.histories import get, history, put, txn
from support.paths import ROOT

from boomslang import Trace, check
from boomslang.explain.document import document
from boomslang.explain.outputs import OUTPUTS
from boomslang.explain.outputs.dot import dot
from boomslang.explain.outputs.junit import junit
from boomslang.explain.outputs.sarif import sarif

Json = dict[str, Any]

EVIL = '"; } <script>&amp;]]>\\ \x1b[2J \n\x00é\u202e'
"""What a format may take for its own."""


@pytest.fixture(autouse=True)
def beside_the_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def documents(trace: Trace, *levels: str) -> list[Json]:
    return [document(check(trace, level)) for level in levels]


def textbook(name: str) -> Trace:
    return next(case for case in CASES if case.name == name).build()


def evil() -> Trace:
    ops = (get(EVIL, EVIL), put(EVIL, 1)), (get(EVIL, EVIL), put(EVIL, 2))
    return history(txn(EVIL, *ops[0]), txn("B", *ops[1]), initial={EVIL: EVIL})


EXAMPLES = [
    *(
        pytest.param(case.build, levels, id=case.name)
        for case in CASES
        for levels in [(*case.breaks, "ser", "sser")]
    ),
    pytest.param(evil, ("si", "ser", "rc"), id="evil"),
]
every_example = pytest.mark.parametrize(("build", "levels"), EXAMPLES)


# --- SARIF: what section 3 of the standard (OASIS, version 2.1.0) demands of what is written here

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
LOCATION = {
    "type": "object",
    "required": ["physicalLocation"],
    "additionalProperties": False,
    "properties": {
        "message": TEXT,
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation"],
            "additionalProperties": False,
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "required": ["uri"],
                    "properties": {
                        "uri": {"type": "string", "pattern": r"^[A-Za-z0-9%/:._~!$&'()*+,;=@-]+$"}
                    },
                },
                "region": {
                    "type": "object",
                    "required": ["startLine"],
                    "properties": {"startLine": {"type": "integer", "minimum": 1}},
                },
            },
        },
    },
}
FLOW = {
    "type": "object",
    "required": ["threadFlows"],
    "properties": {
        "threadFlows": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["locations"],
                "properties": {
                    "locations": {
                        "type": "array",
                        "minItems": 1,
                        "items": {"type": "object", "properties": {"location": LOCATION}},
                    }
                },
            },
        }
    },
}
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "additionalProperties": False,
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {
                                    "name": {"type": "string"},
                                    "version": {"type": "string"},
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "required": ["id"],
                                            "additionalProperties": False,
                                            "properties": {
                                                "id": {"type": "string"},
                                                "name": {"type": "string"},
                                                "shortDescription": TEXT,
                                            },
                                        },
                                    },
                                },
                            }
                        },
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message"],
                            "additionalProperties": False,
                            "properties": {
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "kind": {"enum": ["pass", "open", "fail"]},
                                "level": {"enum": ["none", "error"]},
                                "message": TEXT,
                                "locations": {"type": "array", "items": LOCATION},
                                "codeFlows": {"type": "array", "items": FLOW},
                                "partialFingerprints": {
                                    "type": "object",
                                    "additionalProperties": {"type": "string"},
                                },
                                "properties": {"type": "object"},
                            },
                        },
                    },
                },
            },
        },
    },
}


@every_example
def test_sarif_is_what_the_standard_demands(build: Any, levels: tuple[str, ...]) -> None:
    told = documents(build(), *levels)
    data = json.loads(sarif("a folder/trace é.jsonl", told))
    Draft202012Validator(SARIF).validate(data)
    run = data["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for result, document_of in zip(run["results"], told, strict=True):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        # A result that is no failure has the level "none" (3.27.9, 3.27.10).
        assert (
            (result["kind"] == "fail")
            == (document_of["verdict"] == "invalid")
            == (result["level"] == "error")
        )
        assert all(line.isprintable() for line in result["message"]["text"].split("\n"))


def test_sarif_points_at_the_lines_of_the_trace() -> None:
    ran = command("check", "examples/write-skew.jsonl", "--level", "ser", "--output", "sarif")
    result = json.loads(ran.out)["runs"][0]["results"][0]
    where = result["locations"][0]["physicalLocation"]
    assert where == {
        "artifactLocation": {"uri": "examples/write-skew.jsonl", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 4},
    }
    flow = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["location"]["physicalLocation"]["region"]["startLine"] for step in flow] == [
        4,
        4,
        7,
        5,
        5,
        6,
    ]


# --- JUnit


@every_example
def test_junit_is_xml_with_a_case_for_each_level(build: Any, levels: tuple[str, ...]) -> None:
    told = documents(build(), *levels)
    root = ElementTree.fromstring(junit("trace.jsonl", told))
    assert root.tag == "testsuites"
    cases = root.findall("./testsuite/testcase")
    assert [case.get("name") for case in cases] == [d["level"]["title"] for d in told]
    for case, document_of in zip(cases, told, strict=True):
        tags = [child.tag for child in case]
        assert tags == {"valid": [], "invalid": ["failure"], "unknown": ["error"]}[document_of["verdict"]]
        assert all(child.get("message") and child.text for child in case)
    for part in (root, root[0]):
        assert part.get("tests") == str(len(told))
        assert part.get("failures") == str(len(root.findall(".//failure")))
        assert part.get("errors") == str(len(root.findall(".//error")))


# --- DOT

TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|->|[A-Za-z_][A-Za-z0-9_]*|[0-9.]+|[{}\[\]=;,])')


def parse_dot(text: str) -> list[tuple[set[str], list[tuple[str, str]]]]:
    """Of each graph: its nodes and edges. Raises if the text is not of the language (the part of it used here)."""
    words: list[str] = []
    at = 0
    while text[at:].strip():
        match = TOKEN.match(text, at)
        assert match is not None, f"not a token: {text[at : at + 40]!r}"
        words.append(match[1])
        at = match.end()
    graphs = []
    words.reverse()

    def take(*expected: str) -> str:
        word = words.pop()
        assert not expected or word in expected, f"found {word}, expected {expected}"
        return word

    def attributes() -> None:
        take("[")
        while True:
            name = take()
            assert re.fullmatch("[a-z]+", name)
            take("=")
            take()
            if take(",", "]") == "]":
                return

    while words:
        take("digraph")
        take()
        take("{")
        nodes: set[str] = set()
        edges: list[tuple[str, str]] = []
        while (word := take()) != "}":
            if words[-1] == "=":
                take("=")
                take()
            elif words[-1] == "->":
                take("->")
                edges.append((word, take()))
                attributes()
            else:
                if word not in ("node", "edge"):
                    nodes.add(word)
                attributes()
            take(";")
        graphs.append((nodes, edges))
    return graphs


@every_example
def test_dot_is_a_graph_for_each_level(build: Any, levels: tuple[str, ...]) -> None:
    told = documents(build(), *levels)
    graphs = parse_dot(dot("trace.jsonl", told))
    assert len(graphs) == len(told)
    for (nodes, edges), document_of in zip(graphs, told, strict=True):
        assert nodes == {f'"{txn["id"]}"' for txn in document_of["transactions"]}
        assert len(edges) == len(document_of["edges"])
        assert all(a in nodes and b in nodes for a, b in edges)


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_draws_it() -> None:
    for trace in (textbook("long fork"), evil()):
        text = dot("trace.jsonl", documents(trace, "si"))
        done = subprocess.run(
            ["dot", "-Tsvg"], input=text, capture_output=True, text=True, check=True, timeout=60
        )
        assert "<svg" in done.stdout


# --- at the command line


@pytest.mark.parametrize("output", sorted(OUTPUTS))
@pytest.mark.parametrize(
    "words", [("check", "--level", "ser,si"), ("explain",), ("explain", "--level", "ser")]
)
def test_every_command_has_every_output(words: tuple[str, ...], output: str) -> None:
    ran = command(words[0], "examples/write-skew.jsonl", *words[1:], "--output", output)
    assert ran.code == 1 and not ran.err
    assert "write skew" in ran.out


def test_json_is_an_output_and_its_old_option_stays() -> None:
    words = ("check", "examples/write-skew.jsonl", "--level", "ser")
    one, two = (json.loads(command(*words, *more).out) for more in (("--json",), ("--output", "json")))
    for data in (one, two):
        data["seconds"] = data["levels"][0]["stats"] = None
    assert one == two
    assert one["levels"][0]["explanation"]["anomaly"]["name"] == "write skew"


def test_an_unknown_output_is_refused() -> None:
    ran = command("check", "examples/write-skew.jsonl", "--level", "ser", "--output", "pdf")
    assert ran.code == 254 and "dot" in ran.err and "sarif" in ran.err


@pytest.mark.parametrize("output", sorted(OUTPUTS))
def test_a_limit_is_an_answer_in_every_output(output: str) -> None:
    ran = command(
        "check", "examples/write-skew.jsonl", "--level", "ser", "--timeout", "1e-9", "--output", output
    )
    assert ran.code == 2 and "limit" in ran.out


@pytest.mark.parametrize("given", ["absolute", "relative", "from a folder below"])
def test_files_are_named_from_the_root_of_the_checkout(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the trace was called on the command line, and wherever: a code host looks for it in its checkout."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "my traces").mkdir()
    trace = tmp_path / "my traces" / "skew.jsonl"
    trace.write_text((ROOT / "examples" / "write-skew.jsonl").read_text())
    monkeypatch.chdir(trace.parent if given == "from a folder below" else tmp_path)
    path = {"absolute": str(trace), "relative": "my traces/skew.jsonl"}.get(given, "skew.jsonl")
    told = json.loads(command("explain", path, "--level", "ser", "--output", "sarif").out)
    (result,) = told["runs"][0]["results"]
    file = {"uri": "my%20traces/skew.jsonl", "uriBaseId": "%SRCROOT%"}
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == file
    flow = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["location"]["message"]["text"][:3] for step in flow][:2] == ["1. ", "2. "]
    assert str(tmp_path) not in json.dumps(told)
    xml = command("explain", path, "--level", "ser", "--output", "junit").out
    assert 'classname="my traces/skew.jsonl"' in xml and str(tmp_path) not in xml
    assert "1. T0 read" in xml and "[from 1]" in xml
