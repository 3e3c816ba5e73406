"""The files of a part are compiled as one: no name that is meant for one file may be heard in another.

Two constants or types of one name would not compile. Two functions of one name and different arguments would: they
become overloads, and a call in one file may choose the other file's function without a word. So a file-local function
must have a name that nothing else at the level of a namespace has, in all files of its phase and in all headers.
(A part may hold files of several phases, or some of one; each phase has a namespace of its own.)
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest
from support.paths import ROOT

NATIVE = ROOT / "native"
PHASES = {
    "trace": ["trace", "trace/formats"],
    "asg": ["asg"],
    "engine": ["engine"],
    "windows": ["windows"],
    "stream": ["stream"],
    "explain": ["explain"],
    "wire": ["wire"],
    "common": ["common"],
}
BINDINGS = {NATIVE / "module.cpp", *NATIVE.glob("*/bindings.cpp")}
"""Compiled together: each in the namespace of its phase, which all have a `bind`."""
NOISE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])*'""", re.S
)
FUNCTION = re.compile(r"(?<![\w:~.>])([A-Za-z_]\w*)\s*\((?!\s*\*)")
NAMES_NO_FUNCTION = {
    "if", "for", "while", "switch", "return", "sizeof", "alignas", "decltype", "void", "bool", "int", "requires",
    "noexcept", "explicit", "static_assert", "operator", "defined", "NB_MODULE",
}  # fmt: skip


def functions(text: str) -> list[tuple[str, bool]]:
    """The functions declared or defined at the level of a namespace, and whether for this file alone."""
    text = NOISE.sub(" ", text)
    text = re.sub(r"^\s*#(?:[^\n]*\\\n)*[^\n]*", " ", text, flags=re.M)
    found: list[tuple[str, bool]] = []
    around: list[
        str
    ] = []  # of each brace that is open: "named", "nameless" (namespaces), or "" for anything else
    head = ""
    for token in re.findall(r"[{};]|[^{};]+", text):
        if token in "{;":
            if all(around):
                space = re.search(r"\bnamespace\b(\s+[\w:]+)?\s*$", head)
                own = "nameless" in around or bool(re.search(r"\bstatic\b", head))
                names = FUNCTION.findall(re.sub(r"\boperator\s*\(\s*\)|<[^<>()]*>", " ", head.split("=")[0]))
                if space is None:  # rather a name too many than one too few
                    found += [(name, own) for name in names if name not in NAMES_NO_FUNCTION]
            else:
                space = None
            if token == "{":
                around.append(("named" if space[1] else "nameless") if space else "")
            head = ""
        elif token == "}":
            around.pop()
            head = ""
        else:
            head += token
    assert not around, "found a brace that nothing closes"
    return found


def clashes(sources: dict[str, str], headers: dict[str, str]) -> list[str]:
    owners: dict[str, set[str]] = defaultdict(set)
    local: dict[str, set[str]] = defaultdict(set)
    for where, text in {**headers, **sources}.items():
        for name, its_own in functions(text):
            owners[name].add(where)
            if its_own and where in sources:
                local[name].add(where)
    return [f"{name}: {sorted(owners[name])}" for name in sorted(local) if len(owners[name]) > 1]


@pytest.mark.parametrize("phase", PHASES)
def test_file_local_functions_have_names_of_their_own(phase: str) -> None:
    files = [path for folder in PHASES[phase] for path in (NATIVE / folder).glob("*.cpp")]
    files = [path for path in files if path not in BINDINGS]
    headers = list(NATIVE.rglob("*.hpp"))
    assert files and headers

    def texts(paths: list[Path]) -> dict[str, str]:
        return {str(path.relative_to(NATIVE)): path.read_text() for path in paths}

    assert not clashes(texts(files), texts(headers))


def test_every_folder_is_looked_at() -> None:
    told = {folder for folders in PHASES.values() for folder in folders}
    sources = [path for path in NATIVE.rglob("*.cpp") if path not in BINDINGS]
    assert {str(path.parent.relative_to(NATIVE)) for path in sources} == told
    found = [name for path in sources for name, its_own in functions(path.read_text()) if its_own]
    assert len(found) > 50, found


def test_each_phase_has_a_namespace_of_its_own() -> None:
    """All are linked into one module: two types of one name would be one, and a method of either stand for both."""
    for path in (path for kind in ("*.cpp", "*.hpp") for path in NATIVE.rglob(kind)):
        phase = path.relative_to(NATIVE).parts[0]
        if phase in ("common", "module.cpp"):
            continue
        opened = re.findall(r"^namespace ([\w:]+) \{", path.read_text(), re.MULTILINE)
        assert opened and set(opened) == {f"boomslang::{phase}"}, path


def test_bindings_keep_to_the_stable_api() -> None:
    """One wheel serves Python 3.12 and later; what is spelled in capitals is a macro, which looks into an object."""
    for path in BINDINGS | set((NATIVE / "common").glob("*.hpp")):
        assert re.findall(r"\bPy[A-Z][a-z]\w*?_[A-Z]{2,}(?:_[A-Z]+)*\b", path.read_text()) == [], path


def test_an_overload_across_files_is_found() -> None:
    one = """namespace a {
        namespace {
        struct S { int f(int) const; };
        int reach(int x) { return x; }
        }
        int S::f(int x) const { return reach(x); }
    }"""
    other = """namespace a {
        static bool reach(std::span<const int> s, char c = '{') { if (s.empty()) { return g(s); } }
    }"""
    assert functions(one) == [("reach", True)]
    assert functions(other) == [("reach", True)]
    assert clashes({"one": one, "other": other}, {}) == ["reach: ['one', 'other']"]
    assert clashes({"one": one}, {"head": "namespace a { inline bool reach(char); }"}) == [
        "reach: ['head', 'one']"
    ]
    assert clashes({"one": one, "other": "namespace a { int far(int); }"}, {}) == []
