"""JUnit XML, as CI servers read it: a level is a test case, a violation its failure, and unknown an error.

There is no standard, but a common ground (testsuites, testsuite, testcase, failure, error), and this stays on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from boomslang.explain.outputs.plain import headline, printable, relative, story

Json = dict[str, Any]


def junit(path: str, documents: Sequence[Json]) -> str:
    """A test suite for the trace."""
    return junit_of_several([(path, documents, "")])


def junit_of_several(traces: Sequence[tuple[str, Sequence[Json], str]]) -> str:
    """A test suite for each trace. One that could not be read has a single test, which is an error."""
    verdicts = [
        [document["verdict"] for document in documents] + ["unread"] * bool(error)
        for _, documents, error in traces
    ]
    root = Element("testsuites", {"name": "boomslang", **_counts([v for some in verdicts for v in some])})
    for (path, documents, error), some in zip(traces, verdicts, strict=True):
        name = printable(relative(path))
        suite = SubElement(root, "testsuite", {"name": name, "skipped": "0", **_counts(some)})
        if error:
            case = SubElement(suite, "testcase", {"classname": name, "name": "reading the trace"})
            told = SubElement(case, "error", {"message": printable(error), "type": "bad input"})
            told.text = printable(error)
        _add_cases(suite, name, documents)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _counts(verdicts: Sequence[str]) -> dict[str, str]:
    return {
        "tests": str(len(verdicts)),
        "failures": str(verdicts.count("invalid")),
        "errors": str(verdicts.count("unknown") + verdicts.count("unread")),
    }


def _add_cases(suite: Element, name: str, documents: Sequence[Json]) -> None:
    for document in documents:
        names = {"classname": name, "name": document["level"]["title"]}
        case = SubElement(suite, "testcase", names)
        if document["verdict"] == "valid":
            continue
        anomaly = document["anomaly"]
        what = "failure" if document["verdict"] == "invalid" else "error"
        kind = "unknown" if what == "error" else "violation" if anomaly is None else anomaly["code"]
        told = SubElement(case, what, {"message": printable(headline(document)), "type": kind})
        told.text = "\n".join(printable(line) for line in story(document)) or printable(headline(document))
