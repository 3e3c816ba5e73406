"""The documentation says what the program does: every example is run, every generated part is made again.

- A `console` block holds commands after `$` and what they print; times are not compared.
- A block such as `json file=NAME` is a file that later commands of the page read.
- A block with `>>>` is Python.
- What stands between `<!-- generated: NAME -->` and `<!-- end -->` is made from the code.

`make docs` (this file, run as a program) writes all of it anew.
"""

from __future__ import annotations

import argparse
import doctest
import inspect
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest
from support.anomalies import CASES
from support.capabilities import capabilities, signs
from support.commands import environment
from support.levels_apart import POOL, notation, telling
from support.paths import ROOT

import boomslang
from boomslang.cli.main import COMMANDS, Parser
from boomslang.levels import (
    LEVELS,
    Dependency,
    Level,
    find_level,
    maximal,
    minimal,
    names_of,
    neighbours,
    registry,
    strictly_stronger,
)
from boomslang.levels.names import ELSEWHERE, NOT_SUPPORTED

PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "findings").glob("*.md")),
]
BLOCK = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
PART = re.compile(r"^<!-- generated: (?P<name>[a-z-]+) -->\n(?:(?!<!-- ).*\n)*<!-- end -->$", re.MULTILINE)


# --- generated parts


def levels_table() -> Iterator[str]:
    yield "| level | short name | edges | forbids | from |"
    yield "| --- | --- | --- | --- | --- |"
    for level in LEVELS:
        yield f"| {level.title} | `{level.short}` | {edges(level)} | {level.forbids} | {level.citation} |"


def edges(level: Level) -> str:
    """wr, ww: C->B; ..."""
    grouped: dict[str, list[str]] = {}
    for kind, (source, target) in level.edges.items():
        grouped.setdefault(f"{source.value}->{target.value}", []).append(kind.value)
    if level.points == 1:
        return " ".join(kind for kinds in grouped.values() for kind in kinds) + beside(level)
    return "B->C; " + "; ".join(f"{' '.join(kinds)}: {ends}" for ends, kinds in grouped.items())


def beside(level: Level) -> str:
    """What a level forbids beside cycles of its edges."""
    if level.cursor:
        return "; rw, where the reader overwrites what it read"
    if level.once is None:
        return ""
    kinds = [kind.value for kind in Dependency if kind in level.once.kinds]
    how = "one of" if level.once.longest == 1 else "any of"
    return f"; once rw or prw, with {how} {' '.join(kinds)}{' (read earlier)' if level.once.earlier else ''}"


def names() -> Iterator[str]:
    yield "| level | name | also accepted |"
    yield "| --- | --- | --- |"
    for level in LEVELS:
        also = ", ".join(f"`{alias}`" for alias in names_of(level)[1:])
        yield f"| {level.title} | `{level.name}` | {also} |"


def elsewhere() -> Iterator[str]:
    yield "| who | says | ask here for | |"
    yield "| --- | --- | --- | --- |"
    for known in ELSEWHERE:
        here = "nothing is it" if known.level is None else f"`{find_level(known.level).short}`"
        yield f"| {known.who} | {known.name} | {here} | {known.note} |"


def not_supported() -> Iterator[str]:
    yield "| name | what it is | nearest stronger | nearest weaker |"
    yield "| --- | --- | --- | --- |"
    for known in NOT_SUPPORTED:
        also = ", ".join(f"`{name}`" for name in (known.name, *known.aliases))
        near = (
            ", ".join(f"`{find_level(name).short}`" for name in side) or "-"
            for side in (known.stronger, known.weaker)
        )
        yield f"| {also} | {known.source} | {' | '.join(near)} |"


def apart() -> Iterator[str]:
    yield "| stronger | weaker | allowed by the weaker only |"
    yield "| --- | --- | --- |"
    for stronger, weaker in neighbours():
        case = telling(stronger, weaker)
        assert case is not None
        yield f"| `{stronger.short}` | `{weaker.short}` | {case.name} |"


def histories() -> Iterator[str]:
    yield "| name | history | why | the weakest levels that reject it |"
    yield "| --- | --- | --- | --- |"
    for case in POOL:
        breaks = ", ".join(f"`{name}`" for name in case.breaks)
        yield f"| {case.name} | `{notation(case.build())}` | {case.shows} | {breaks} |"


def lattice() -> Iterator[str]:
    yield "| level | implies | is implied by |"
    yield "| --- | --- | --- |"
    for level in LEVELS:
        below = maximal(other for other in LEVELS if level in strictly_stronger(other))
        above = minimal(strictly_stronger(level))
        columns = (", ".join(f"`{other.short}`" for other in levels) or "-" for levels in (below, above))
        yield f"| `{level.short}` | {' | '.join(columns)} |"


def anomalies() -> Iterator[str]:
    columns = ["rc", "cs", "ra", "causal", "pl-2+", "rr", "prefix", "si", "ser"]
    yield f"| history | what happens | {' | '.join(columns)} | the weakest that reject it |"
    yield f"| --- | --- |{' :-: |' * len(columns)} --- |"
    for case in CASES:
        verdicts = ["yes" if case.verdicts[find_level(name).name] else "**no**" for name in columns]
        breaks = ", ".join(f"`{name}`" for name in case.breaks) or "none"
        yield f"| {case.name} | {case.shows} | {' | '.join(verdicts)} | {breaks} |"


def short_levels() -> Iterator[str]:
    yield "| ask for | level | forbids |"
    yield "| --- | --- | --- |"
    for level in LEVELS:
        if not level.needs_sessions:
            yield f"| `{level.short}` | {level.title} | {level.forbids} |"


def commands() -> Iterator[str]:
    """Every command with its options, as `--help` tells them."""
    for name, summary in COMMANDS.items():
        parser = Parser(prog=f"boomslang {name}")
        import_module(f"boomslang.cli.commands.{name}").add(parser)
        formatter = parser._get_formatter()
        yield from ("", f"## `boomslang {name}`", "", cell(parser.description or summary), "")
        yield from ("| argument | what it is |", "| --- | --- |")
        for action in parser._actions:
            if action.help in (argparse.SUPPRESS, None) or "--help" in action.option_strings:
                continue
            written = formatter._format_action_invocation(action)
            yield f"| `{cell(written)}` | {cell(formatter._expand_help(action))} |"


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def python_names() -> Iterator[str]:
    """Every public name, with the beginning of what it says of itself."""
    yield "| name | what it is |"
    yield "| --- | --- |"
    for name in boomslang.__all__:
        value = getattr(boomslang, name)
        said = VALUES.get(name) or cell((inspect.getdoc(value) or "").partition("\n\n")[0])
        assert said, f"{name} needs a docstring"
        yield f"| `{name}` | {said} |"


VALUES = {
    "Absent": "What a read found of a key that is not there.",
    "LEVELS": "Every level there is; `boomslang.levels.find_level` finds one by any of its names.",
}


PARTS: dict[str, Callable[[], Iterator[str]]] = {
    "levels": levels_table,
    "names": names,
    "lattice": lattice,
    "anomalies": anomalies,
    "elsewhere": elsewhere,
    "not-supported": not_supported,
    "apart": apart,
    "histories": histories,
    "short-levels": short_levels,
    "formats": signs,
    "capabilities": capabilities,
    "commands": commands,
    "python-names": python_names,
}


def generated(text: str) -> str:
    def make(match: re.Match[str]) -> str:
        lines = "\n".join(PARTS[match["name"]]())
        return f"<!-- generated: {match['name']} -->\n{lines}\n<!-- end -->"

    return PART.sub(make, text)


# --- examples


@dataclass
class Block:
    info: str
    body: str


def blocks(text: str) -> list[Block]:
    return [Block(match["info"].strip(), match["body"]) for match in BLOCK.finditer(text)]


def run_page(text: str, folder: Path) -> str:
    """The page, with what its commands print now."""
    for shown in ("examples", "docs"):
        (folder / shown).symlink_to(ROOT / shown)

    def again(match: re.Match[str]) -> str:
        info, body = match["info"].strip(), match["body"]
        if "file=" in info:
            (folder / info.split("file=")[1]).write_text(body)
        if info != "console":
            return match[0]
        lines = [line for line in body.splitlines() if line.startswith("$ ")]
        return "```console\n" + "".join(f"{line}\n{run(line[2:], folder)}" for line in lines) + "```"

    return BLOCK.sub(again, text)


def run(command: str, folder: Path) -> str:
    """What the command prints. `make` is not run from its own tests; its targets must be there."""
    words = shlex.split(command, comments=True)
    if words[0] == "make":
        subprocess.run(["make", "-n", *words[1:]], cwd=ROOT, check=True, capture_output=True)
        return ""
    assert words[0] == "boomslang", command
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        env={**environment(), "NO_COLOR": "1", "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    # Python itself exits with 1 when it fails, which looks like a verdict: it also complains.
    assert done.returncode in (0, 1, 2) and not done.stderr, done.stderr
    return done.stdout


def timeless(text: str) -> str:
    return re.sub(r"\b\d+\.\d+(?= s\b)", "0.00", text)


# --- tests


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_print_what_the_page_says(page: Path, tmp_path: Path) -> None:
    text = page.read_text()
    assert timeless(run_page(text, tmp_path)) == timeless(text), "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_hold(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        registry, "_registered", dict(registry._registered)
    )  # what a page adds is no other test's
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    shared: dict[str, object] = {}
    for block in blocks(page.read_text()):
        if ">>>" in block.body:
            test = parser.get_doctest(block.body, shared, page.name, str(page), 0)
            runner.run(test, clear_globs=False)
            shared = test.globs
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_generated_parts_match_the_code(page: Path) -> None:
    text = page.read_text()
    assert generated(text) == text, "run `make docs`"
    assert text.count("<!-- generated: ") == text.count("<!-- end -->") == len(PART.findall(text))


def test_the_picture_matches_the_code() -> None:
    script = ROOT / "docs" / "images" / "lattice.py"
    code = f"import runpy; print(runpy.run_path({str(script)!r})['svg'](), end='')"
    drawn = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    boxes = re.findall(r'<rect x="([^"]*)" y="([^"]*)"', drawn)
    assert len(boxes) == len(set(boxes)) == len(LEVELS), (
        "a new level needs a column in docs/images/lattice.py"
    )
    assert drawn == script.with_suffix(".svg").read_text(), "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#[^)]*)?\)", page.read_text()):
        assert not target or (page.parent / target).exists(), target


def test_every_level_is_documented() -> None:
    page = (ROOT / "docs" / "levels.md").read_text()
    for level in LEVELS:
        assert f"`{level.name}`" in page and f"`{level.short}`" in page
        assert all(f"`{alias}`" in page for alias in names_of(level))


def test_the_program_of_the_tutorial(tmp_path: Path) -> None:
    """Its database loses an update, and the trace tells."""
    page = blocks((ROOT / "docs" / "tutorial.md").read_text())
    (program,) = (block.body for block in page if block.info == "python file=till.py")
    (tmp_path / "till.py").write_text(program)
    ran = subprocess.run(
        [sys.executable, "till.py"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert any(block.body == f"$ python till.py\n{ran.stdout}" for block in page)
    verdict = boomslang.check(boomslang.read_trace(tmp_path / "till"), "snapshot-isolation")
    assert verdict.invalid and verdict.counterexample is not None
    assert "lost update" in str(verdict.counterexample).lower()


def test_every_public_name_has_an_example() -> None:
    """The examples themselves are run by `test_python_examples_hold`."""
    sections = dict(
        re.findall(
            r"^## `(\w+)`\n(.*?)(?=^## |\Z)", (ROOT / "docs/reference-python.md").read_text(), re.M | re.S
        )
    )
    assert sorted(sections) == sorted(boomslang.__all__)
    for name, text in sections.items():
        shown = "".join(block.body for block in blocks(text) if ">>>" in block.body)
        assert re.search(rf">>> .*\b{name}\b|\.\.\. .*\b{name}\b", shown), name


def test_exit_codes_are_documented() -> None:
    from boomslang.cli import exit_codes

    page = (ROOT / "docs" / "how-it-works.md").read_text()
    codes = {value for name, value in vars(exit_codes).items() if name.isupper()}
    for code in codes:
        assert f"| {code} |" in page


def test_no_speed_is_typed_by_hand() -> None:
    """Figures of speed live in docs/benchmarks*.md, which scripts write. (A bound that is asked for is none.)"""
    for page in PAGES:
        if page.name.startswith(("benchmarks", "evaluation", "reference-commands")):  # written by programs
            continue
        prose = re.sub(r"within[ =\"-]+\d+ ?m?s\b", "within", BLOCK.sub("", page.read_text()))
        assert not re.search(
            r"\b\d[\d.,]*\s*(?:s|ms|seconds|MB/s|transactions per second)\b(?! limit)", prose
        ), page


def test_the_changelog_knows_this_version() -> None:
    assert f"## {boomslang.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert f'version = "{boomslang.__version__}"' in (ROOT / "pyproject.toml").read_text()


if __name__ == "__main__":
    import runpy
    import tempfile

    runpy.run_path(str(ROOT / "docs" / "images" / "lattice.py"), run_name="__main__")
    for page in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            old = page.read_text()
            new = run_page(generated(old), Path(folder))
            if timeless(new) != timeless(old):
                page.write_text(new)
                print(f"wrote {page.relative_to(ROOT)}")
