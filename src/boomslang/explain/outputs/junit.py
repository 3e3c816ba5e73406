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
    name = printable(relative(path))
    verdicts = [document["verdict"] for document in documents]
    counts = {
        "tests": str(len(verdicts)),
        "failures": str(verdicts.count("invalid")),
        "errors": str(verdicts.count("unknown")),
    }
    root = Element("testsuites", {"name": "boomslang", **counts})
    suite = SubElement(root, "testsuite", {"name": name, "skipped": "0", **counts})
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
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"
