"""Values that are long, and differ where a story would cut them, are told apart in stories, graphs and reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.commands import command

from boomslang.explain.names import LONGEST, short
from boomslang.report.values import _brief

BASE = "0123456789abcdef" * 5
ALIKE = [BASE + "0", BASE + "1", "f" + BASE[1:] + "0", BASE[:40] + "--" + BASE[42:] + "0"]
"""They differ at the end, at the beginning, and in the middle."""


def test_long_texts_are_never_cut_to_the_same() -> None:
    shown = [short(text) for text in ALIKE]
    assert len(set(shown)) == len(ALIKE)
    assert all(len(text) <= LONGEST + 4 for text in shown), shown
    assert shown[0].endswith("f0' (#" + shown[0].partition("#")[2]) and "'0123" in shown[0]
    assert short("x" * 58) == repr("x" * 58)
    assert short(10**100).startswith("1000") and "101 characters" in short(10**100)


@pytest.mark.parametrize("longest", [9, 14])
def test_labels_show_both_ends(longest: int) -> None:
    shown = [_brief(text, longest) for text in ALIKE[:3]]
    assert len(set(shown)) == 3 and all(len(text) == longest for text in shown)
    assert _brief("short", longest) == "short"


def test_a_story_and_a_graph_of_two_values_that_differ_at_their_end(tmp_path: Path) -> None:
    old, new = ALIKE[:2]
    lines = [{"boomslang": 1, "initial": {"items": [["x", old]]}}]
    for session, seen in (("a", old), ("b", old)):
        lines += [
            {"op": "begin", "session": session},
            {"op": "get", "session": session, "key": "x", "value": seen},
            {"op": "put", "session": session, "key": "x", "value": new + session},
            {"op": "commit", "session": session},
        ]
    trace = tmp_path / "t.jsonl"
    trace.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for words in (
        ["check", str(trace), "--level", "si"],
        ["explain", str(trace), "--level", "si", "--output", "dot"],
    ):
        told = command(*words).out
        assert all(short(value) in told for value in (old, new + "a", new + "b")), told
