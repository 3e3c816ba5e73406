"""Modules: what they are, where they come from, what they may do, and what becomes of their words.

The differential tests at the end let random modules say random things at every level, and put them to the native
engine and to Z3.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections import Counter
from importlib.metadata import EntryPoint
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import z3
from fuzz.traces import MIXES, SMALL, random_trace
from support.commands import command, environment
from support.constraints import kept, random_module
from support.histories import Absent, append, get, history, list_, put, scan, txn
from support.paths import ROOT

import boomslang
from boomslang import LEVELS, Checker, Module, TraceBuilder, UsageError, check, module, register_user_module
from boomslang.asg import build_asg
from boomslang.certify.refute import refute
from boomslang.certify.replay import replay
from boomslang.cli.main import main
from boomslang.explain.document import document
from boomslang.explain.outputs import write
from boomslang.explain.parts import first_broken
from boomslang.ir import lower, print_ir, verify_ir
from boomslang.ir.expression import START, Committed, Edge, Implies, InitialIs, Not, Or
from boomslang.levels import find_level
from boomslang.levels.level import Dependency
from boomslang.modules import find_modules, known_modules, registry
from boomslang.report.contents import contents
from boomslang.solve.native import solve_native
from boomslang.solve.solution import witness
from boomslang.solve.strategy import solve
from boomslang.solve.z3_solver import solve_z3
from boomslang.trace import write_trace


def stale() -> Any:
    """A session that does not see its own write."""
    return history(txn("A", put("x", 1)), txn("A", get("x", Absent)))


@module
def backwards(asg, ir, hints):  # type: ignore[no-untyped-def]
    """Whoever comes first in the trace comes last.

    Nobody wants this.
    """
    inside = [t for t in range(asg.transactions) if asg.ordered[t] and asg.state[t] == 0]
    for a, b in pairwise(inside):
        ir.know(b, a)


# --- what a module is


def test_a_function_becomes_a_module() -> None:
    assert isinstance(backwards, Module)
    assert backwards.name == "backwards" and backwards.owner == __file__
    assert backwards.description == "Whoever comes first in the trace comes last."
    assert repr(backwards) == "<module backwards: Whoever comes first in the trace comes last.>"


def test_a_module_needs_a_word_about_it_and_three_arguments() -> None:
    with pytest.raises(UsageError, match="needs a docstring"):
        module(lambda asg, ir, hints: None)

    def two(asg, ir):  # type: ignore[no-untyped-def]
        """Too few."""

    with pytest.raises(UsageError, match=r"takes 2 arguments; expected \(asg, ir, hints\)"):
        module(two)


def test_parameters_are_given_by_name() -> None:
    @module
    def limited(asg, ir, hints, *, most, why="because"):  # type: ignore[no-untyped-def]
        """Has parameters."""
        seen.append((most, why, dict(hints.parameters)))

    seen: list[Any] = []
    check(stale(), "ser", modules=[limited.given(most=3)])
    assert seen[0] == (3, "because", {"most": 3, "why": "because"})
    assert limited.given(most=3).spelled == "limited:most=3,why=because"
    with pytest.raises(UsageError, match="the module limited needs most: limited:most="):
        check(stale(), "ser", modules=[limited])
    with pytest.raises(UsageError, match="has no parameter 'least'; it has: most, why"):
        limited.given(least=1)


def test_the_asg_is_read_only() -> None:
    @module
    def vandal(asg, ir, hints):  # type: ignore[no-untyped-def]
        """Writes into the graph."""
        for array in (
            asg.state,
            asg.write_value,
            asg.internal[0],
            asg.trace.op_value,
            ir.asg.read_key,
            asg.lists.of,
        ):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0
        calls.append(1)

    calls: list[int] = []
    trace = history(txn("A", put("x", 1)), txn("B", get("x", 1), append("l", 1), list_("l", [1])))
    assert check(trace, "ser", modules=[vandal]).valid and calls


def test_hints_are_what_the_trace_says() -> None:
    builder = TraceBuilder()
    with builder.transaction("A", name="loader", ctx={"level": "rc"}) as t:
        t.put("x", 1, ctx={"lsn": 7})
    with builder.transaction("A", name=2) as t:
        t.get("x", 1)

    @module
    def curious(asg, ir, hints):  # type: ignore[no-untyped-def]
        """Looks at hints."""
        found.append([hints.transaction(t) for t in range(asg.transactions)])
        found.append([hints.operation(int(row)) for row in (asg.write_op[0], asg.read_op[0])])
        found.append([hints.transactions("level"), hints.named("loader"), hints.named(2), hints.named("2")])

    found: list[Any] = []
    check(builder.build(), "ser", modules=[curious])
    assert found == [[{"level": "rc"}, {}], [{"lsn": 7}, {}], [{0: "rc"}, 0, 1, None]]


# --- what it may do


def test_known_edges_expressions_and_superpositions() -> None:
    trace = history(txn("A", put("x", 1)), txn("B", put("x", 2)), txn("C", get("x", 1)))
    assert check(trace, "ser", modules=[backwards]).invalid  # C, B, A: and C read from A

    @module
    def b_first(asg, ir, hints):  # type: ignore[no-untyped-def]
        """B overwrote nothing."""
        if all(asg.ordered[:2]):
            ir.choose(ir.ww(1, 0, 0), ir.ww(0, 1, 0), why="either")
            ir.require(Not(ir.ww(0, 1, 0)))

    verdict = check(trace, "ser", modules=[b_first])
    assert verdict.valid and verdict.witness is not None
    order = verdict.witness.order.tolist()
    assert order.index(1) < order.index(0)
    printed = list(print_ir(lower(build_asg(trace), find_level("ser"), (b_first,))))
    assert printed[-2:] == [
        "superposition <T1 -ww('x')-> T0, T0 -ww('x')-> T1> # either",
        "expression not (T0 -ww('x')-> T1)",
    ]


def test_refined_candidates() -> None:
    trace = history(
        txn("A", put("x", 1)), txn("B", put("x", 1)), txn("C", get("x", 1)), txn("C", get("x", 1))
    )

    def only(*writers: int) -> Module:
        @module
        def told(asg, ir, hints):  # type: ignore[no-untyped-def]
            """The first read is of one of these."""
            if asg.transactions == 4 and asg.ordered[2]:
                ir.refine(0, writers)

        return told

    for writer in (0, 1):
        verdict = check(trace, "rc", modules=[only(writer)])
        assert verdict.valid and verdict.witness is not None and verdict.witness.read_writer[0] == writer
    assert check(trace, "rc", modules=[only()]).broken_by == ("told",)


def test_dropped_and_demanded_dependencies() -> None:
    skew = history(
        txn("A", get("x", 0), put("y", 1)), txn("B", get("y", 0), put("x", 1)), initial={"x": 0, "y": 0}
    )

    @module
    def no_anti_dependencies(asg, ir, hints):  # type: ignore[no-untyped-def]
        """Reads may be stale."""
        ir.drop(Dependency.RW)

    assert check(skew, "ser").invalid
    for solver in ("native", "z3"):
        assert check(skew, "ser", modules=[no_anti_dependencies], solver=solver).valid
    phantom = history(txn("A", scan("a", "z", {}), put("y", 1)), txn("B", scan("a", "z", {}), put("x", 1)))
    assert check(phantom, "ser", modules=[no_anti_dependencies]).invalid  # prw is still there

    @module
    def unheard_of(asg, ir, hints):  # type: ignore[no-untyped-def]
        """Drops what cannot be dropped."""
        ir.drop(Dependency.WR)

    with pytest.raises(UsageError, match=r"module unheard-of at .*: wr cannot be dropped"):
        check(skew, "ser", modules=[unheard_of])
    with pytest.raises(UsageError, match="rw stays"):
        check(skew, "causal", modules=[no_anti_dependencies])

    @module
    def sessions_too(asg, ir, hints):  # type: ignore[no-untyped-def]
        """Session order."""
        ir.demand(Dependency.SO)

    @module
    def no_sessions(asg, ir, hints):  # type: ignore[no-untyped-def]
        """No session order."""
        ir.drop(Dependency.SO)

    assert check(stale(), "ser", modules=[sessions_too]).invalid
    assert check(stale(), "strong-session-ser", modules=[no_sessions]).valid


def test_reads_can_be_relaxed() -> None:
    trace = history(txn("A", put("x", 1)), txn("A", get("x", Absent)))

    @module
    def lazy(asg, ir, hints):  # type: ignore[no-untyped-def]
        """No read must see the last version."""
        ir.relax(np.ones(len(asg.read_key), bool))

    assert check(trace, "strong-session-ser").invalid
    for solver in ("native", "z3"):
        assert check(trace, "strong-session-ser", modules=[lazy], solver=solver).valid
    with pytest.raises(UsageError, match="says of every read"):
        check(trace, "causal", modules=[lazy])


def test_what_the_engine_has_no_word_for_is_named() -> None:
    @module
    def odd(asg, ir, hints):  # type: ignore[no-untyped-def]
        """No session order."""
        ir.require(Not(Edge(0, 1, Dependency.SO)))

    with pytest.raises(UsageError, match=r"no word for not \(T0 -so-> T1\); use solver='z3'"):
        check(stale(), "ser", modules=[odd])
    assert check(stale(), "ser", modules=[odd], solver="z3").valid

    @module
    def initial(asg, ir, hints):  # type: ignore[no-untyped-def]
        """x held 1."""
        ir.require(InitialIs(0, 0))

    unknown = history(txn("A", get("x", 1), put("x", 1)), txn("B", put("x", 1)), initial="unknown")
    with pytest.raises(UsageError, match=r"no word for initial\('x'\) = 1; use solver='z3'"):
        check(unknown, "ser", modules=[initial])


def test_a_module_may_err() -> None:
    def errs(say: Any) -> Module:
        @module
        def wrong(asg, ir, hints):  # type: ignore[no-untyped-def]
            """Speaks of what is not there."""
            say(ir)

        return wrong

    for say, message in (
        (lambda ir: ir.know(0, 7), "module wrong: it adds an edge to a node that is not there; there are 2"),
        (lambda ir: ir.know(0, 0), "from a node to itself"),
        (lambda ir: ir.require(Edge(0, 9, Dependency.WW, 0)), "something that is not there"),
        (lambda ir: ir.require(Committed(9)), "something that is not there"),
        (lambda ir: ir.require(Edge(0, 1, Dependency.WR, 0, 99)), "something that is not there"),
        (lambda ir: ir.require(Edge(START, 1, Dependency.WW, 0)), "something that is not there"),
    ):
        with pytest.raises(UsageError, match=message):
            check(stale(), "ser", modules=[errs(say)])
    assert check(stale(), "ser", modules=[errs(lambda ir: ir.know(0, []))]).valid


def test_preparing_modules_may_err_too() -> None:
    def spoil(asg, hints):  # type: ignore[no-untyped-def]
        raise IndexError("no such thing")

    @module(prepare=spoil)
    def spoiler(asg, ir, hints):  # type: ignore[no-untyped-def]
        """Fails early."""

    with pytest.raises(
        UsageError, match=r"module spoiler failed at .*test_modules\.py:\d+: IndexError: no such thing"
    ):
        check(stale(), "ser", modules=[spoiler])


def test_an_edge_that_leaves_a_doubtful_transaction() -> None:
    """It orders; but whether that transaction happened stays open, and here it did not."""
    trace = history(txn("A", get("x", 1), outcome="unknown"), txn("B", put("x", 1)))

    @module
    def first(asg, ir, hints):  # type: ignore[no-untyped-def]
        """A comes before B."""
        if asg.transactions == 2 and asg.ordered.all():
            ir.know(0, 1)

    for level in (level for level in LEVELS if level.observes and not level.needs_times):
        ir = lower(build_asg(trace), level, (first,))
        assert solve_native(ir).status == solve_z3(ir).status == "valid", level.name


def test_a_module_that_fails_is_named() -> None:
    @module
    def hasty(asg, ir, hints):  # type: ignore[no-untyped-def]
        """Expects two transactions."""
        ir.know(1, [0, 1][asg.transactions - 2])

    with pytest.raises(UsageError, match=r"module hasty failed at .*test_modules\.py:\d+: IndexError"):
        check(history(*(txn("A", put("x", i)) for i in range(5))), "ser", modules=[hasty])
    # It fails on parts of the trace, too; then the whole is the counterexample.
    trace = history(txn("A", put("x", 1)), txn("A", get("x", 1)))
    verdict = check(trace, "ser", modules=[hasty])
    assert verdict.broken_by == ("hasty",) and verdict.counterexample is not None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("    return {}[asg.transactions]", "module hasty failed at hasty.py:{n}: KeyError: 2"),
        ("    ir.know(0, 'x')", "module hasty failed at hasty.py:{n}: ValueError"),
        ("    ir.demand(Dependency.WW)", "module hasty at hasty.py:{n}: only so and rt can be demanded"),
        ("    import json; json.loads('{{')", "module hasty failed at hasty.py:{n}: JSONDecodeError"),
        ("    ) oops", "hasty.py:{n}: cannot be run: SyntaxError"),
        ("    pass\nnowhere", "hasty.py:{n}: cannot be run: NameError"),
    ],
)
def test_an_error_names_the_line_of_the_users_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, said: str
) -> None:
    """Theirs, not the one of ours or of a library in which it shows; and no traceback."""
    lines = ["import boomslang", "from boomslang.levels.level import Dependency", "@boomslang.module"]
    lines += ["def hasty(asg, ir, hints):", "    'Fails.'", *line.replace("{{", "{").split("\n")]
    (tmp_path / "hasty.py").write_text("\n".join(lines) + "\n")
    write_trace(stale(), tmp_path / "trace.jsonl")
    monkeypatch.chdir(tmp_path)
    ran = command("check", "trace.jsonl", "--level", "ser", "--module", "hasty.py")
    assert ran.code == 254 and "Traceback" not in ran.err
    assert ran.err.startswith(f"boomslang: {said.format(n=len(lines))}")


def test_read_uncommitted_has_no_modules() -> None:
    with pytest.raises(UsageError, match="ask without modules"):
        check(stale(), "ru", modules=[backwards])


# --- where modules come from


def test_registered_modules_have_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})

    def my_order(asg, ir, hints):  # type: ignore[no-untyped-def]
        """Nothing."""

    made = register_user_module(my_order)
    assert register_user_module(made) is made
    (found,) = find_modules(["my-order"])
    assert found.function is my_order
    assert check(stale(), "ser", modules=["my-order"]).modules == ("my-order",)

    def session_order(asg, ir, hints):  # type: ignore[no-untyped-def]
        """Mine."""

    with pytest.raises(
        UsageError, match=rf"two modules are called 'session-order': one of .*{__file__}.*boomslang"
    ):
        register_user_module(session_order)
    with pytest.raises(UsageError, match="asked for twice"):
        find_modules(["my-order", "my-order"])
    with pytest.raises(
        UsageError, match=r"unknown module 'my-oder' \(did you mean my-order\?\); known modules: bounded"
    ):
        find_modules(["my-oder"])


def test_a_file_is_run_because_it_was_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "import boomslang\n"
        "@boomslang.module\n"
        "def mine(asg, ir, hints, *, times=1):\n"
        "    '''Says nothing.'''\n"
        "    ir.notes.append(f'{times} times')\n"
    )
    (found,) = find_modules([f"{path}:times=3"])
    assert found.owner == str(path) and found.parameters == {"times": 3}
    assert check(stale(), "ser", modules=[f"{path}:times=3"]).notes == ("mine:times=3: 3 times",)
    for text, message in (
        ("x = ", "cannot be run: SyntaxError"),
        ("x = 1", "found no module"),
        ("raise OSError('no')", "cannot be run: OSError: no"),
    ):
        path.write_text(text)
        with pytest.raises(UsageError, match=message):
            find_modules([str(path)])
    with pytest.raises(UsageError, match="no such file"):
        find_modules([str(tmp_path / "other.py")])


def entry(name: str, package: str) -> Any:
    loaded = module(name=name)(backwards.function) if package == "one" else backwards
    return SimpleNamespace(name=name, value=package, dist=SimpleNamespace(name=package), load=lambda: loaded)


def test_installed_packages_offer_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry("reverse", "one")])
    assert known_modules()["reverse"].owner == "the package one"
    assert check(stale(), "ser", modules=["reverse"]).modules == ("reverse",)

    def other(asg, ir, hints):  # type: ignore[no-untyped-def]
        """Another."""

    two = SimpleNamespace(name="reverse", value="x", dist=SimpleNamespace(name="two"), load=lambda: other)
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry("reverse", "one"), two])
    with pytest.raises(UsageError, match="one of the package two, one of the package one; rename one"):
        known_modules()

    def broken() -> None:
        raise ImportError("half installed")

    bad = SimpleNamespace(name="bad", value="x", dist=None, load=broken)
    monkeypatch.setattr(registry, "entry_points", lambda group: [bad])
    with pytest.raises(
        UsageError, match="the entry point x has a module 'bad' that cannot be loaded: half installed"
    ):
        known_modules()
    assert EntryPoint("a", "b", registry.GROUP).group == "boomslang.modules"


def install(folder: Path, package: str, name: str) -> None:
    """A package as an installer leaves it, which offers a module of this name."""
    (folder / f"{package}.py").write_text(
        "import boomslang\n"
        "@boomslang.module\n"
        "def quiet(asg, ir, hints):\n"
        '    """Says nothing."""\n'
        f"    ir.notes.append('{package} was here')\n"
    )
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{name} = {package}:quiet\n")


def test_a_real_plugin_on_the_command_line(path: str, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    install(folder, "acme_isolation", "acme-quiet")

    def run_it(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "boomslang", *words],
            capture_output=True,
            text=True,
            check=False,
            env=environment(folder),
        )

    done = run_it("check", path, "--level", "ser", "--module", "acme-quiet")
    assert done.returncode == 0 and "acme-quiet: acme_isolation was here" in done.stdout, done.stderr
    assert "acme-quiet (of the package acme_isolation)" in run_it("modules").stdout
    install(folder, "other_isolation", "acme-quiet")
    done = run_it("check", path, "--level", "ser", "--module", "session-order")
    assert done.returncode == 254 and "two modules are called 'acme-quiet'" in done.stderr
    assert "the package acme_isolation" in done.stderr and "the package other_isolation" in done.stderr


def test_the_tutorials_modules_are_short() -> None:
    page = ROOT / "docs" / "write-a-module.md"
    blocks = re.findall(r"```python file=\S+\n(.*?)```", page.read_text(), re.DOTALL)
    modules = [block for block in blocks if "boomslang.module" in block]
    assert len(modules) >= 2 and all(len(block.splitlines()) < 50 for block in modules)


def test_every_shipped_module_is_a_page_and_says_what_it_means() -> None:
    folder = Path(boomslang.__file__).parent / "modules" / "shipped"
    for path in folder.glob("*.py"):
        text = path.read_text()
        assert text.startswith('"""') and len(text.splitlines()) <= 90, path.name
    assert len(known_modules()) >= 15
    assert all(m.owner == "boomslang" and len(m.description) < 120 for m in registry.shipped().values())


# --- whose fault it is


def test_what_a_module_broke_is_the_modules() -> None:
    verdict = check(stale(), "ser", modules=["session-order", "monotonic-reads"])
    assert verdict.broken_by == ("session-order",)
    assert repr(verdict) == "<ser: invalid (valid without the module session-order)>"
    assert verdict.modules == ("session-order", "monotonic-reads")
    assert verdict.certificate()["modules"] == ["session-order"]  # type: ignore[index]


def test_two_modules_together() -> None:
    """Each alone is fine."""
    trace = history(txn("A", put("x", 1)), txn("B", put("x", 2)))

    def says(name: str, a: int, b: int) -> Module:
        @module(name=name)
        def order(asg, ir, hints):  # type: ignore[no-untyped-def]
            """An order."""
            if asg.transactions == 2 and asg.ordered.all():
                ir.know(a, b)

        return order

    one, two = says("one", 0, 1), says("two", 1, 0)
    assert check(trace, "ser", modules=[one]).valid and check(trace, "ser", modules=[two]).valid
    verdict = check(trace, "ser", modules=[one, two])
    assert verdict.broken_by == ("one", "two")
    assert verdict.reason == "valid without the modules one and two"


def test_a_broken_level_is_not_the_modules_fault() -> None:
    trace = history(txn("A", get("x", 1), put("y", 1)), txn("B", get("y", 1), put("x", 1)))
    verdict = check(trace, "rc", modules=["session-order", backwards])
    assert verdict.invalid and not verdict.broken_by and not verdict.reason
    assert verdict.counterexample is not None and verdict.counterexample.anomaly is not None
    assert verdict.counterexample.anomaly.code == "G1c"
    assert refute(trace, verdict.counterexample.core)  # needs no module
    assert "modules" not in verdict.certificate()  # type: ignore[operator]


def test_an_edge_of_a_module_has_its_name() -> None:
    """In the printed IR, in the argument, for Graphviz and on the page; and its kind stays what it stands for."""

    @module
    def order_of_birth(asg, ir, hints, *, elders=0):  # type: ignore[no-untyped-def]
        """The second comes first."""
        ir.know(1, 0)

    trace = history(txn("A", put("x", 1)), txn("B", get("x", 1)))
    verdict = check(trace, "ser", modules=[order_of_birth])
    assert "edge T1 -order-of-birth-> T0" in print_ir(
        lower(build_asg(trace), find_level("ser"), (order_of_birth,))
    )
    assert verdict.counterexample is not None and verdict.counterexample.argument is not None
    assert any("T1 -order-of-birth-> T0" in line for line in verdict.counterexample.lines())
    told = document(verdict)
    assert [(e["kind"], e["module"]) for e in told["edges"]] == [
        ("ww", "order-of-birth:elders=0"),
        ("wr", None),
    ]
    assert 'label="order-of-birth:elders=0"' in write("dot", "t", [told])
    (story,) = contents([verdict], "t", {})["stories"]
    assert [(e["kind"], e["word"]) for e in story["edges"]] == [("other", "order-of-birth"), ("wr", "wr")]


def test_expressions_are_told_word_for_word() -> None:
    trace = history(
        txn("W", put("x", 1)), txn("A", get("x", 1)), txn("A", get("x", Absent)), txn("B", put("y", 1))
    )
    verdict = check(trace, "rc", modules=["monotonic-reads"])
    assert verdict.broken_by == ("monotonic-reads",) and verdict.counterexample is not None
    assert verdict.counterexample.core.transactions == (1, 2) and verdict.counterexample.minimal
    lines = list(verdict.counterexample.lines())
    assert "1. monotonic-reads: not (T0 -wr('x')-> T1 and T_init -wr('x')-> T2)" in lines
    assert lines[-1] == "=> no order of these transactions is read committed and keeps monotonic-reads"


def test_strongest_asks_every_level() -> None:
    verdicts = Checker(stale(), modules=["session-order"]).strongest()
    assert "read-uncommitted" not in verdicts
    assert verdicts["serializable"].invalid and verdicts["read-committed"].valid


# --- the command line


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(words)
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def path(tmp_path: Path) -> str:
    write_trace(stale(), tmp_path / "stale.jsonl")
    return str(tmp_path / "stale.jsonl")


def test_modules_on_the_command_line(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "check", path, "--level", "ser")[0] == 0
    code, out, _ = run(capsys, "check", path, "--level", "ser", "--module", "session-order")
    assert code == 1
    assert re.search(
        r"serializable +INVALID +session order broken; valid without the module session-order", out
    )
    assert "Why it is not serializable with session-order:" in out
    code, out, _ = run(capsys, "check", path, "--level", "ser", "--module", "session-order", "--json")
    (level,) = json.loads(out)["levels"]
    assert level["broken_by"] == level["modules"] == ["session-order"] and level["notes"] == []
    code, out, _ = run(
        capsys,
        "check",
        path,
        "--level",
        "ser",
        "--module",
        "bounded-staleness:time=5",
        "--module",
        "read-latest",
    )
    assert code == 0 and "bounded-staleness:time=5: no times in the trace, so nothing was asked for" in out


def test_wrong_modules_on_the_command_line(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    for word, message in (
        ("nonsense", "unknown module 'nonsense'"),
        ("nonsense.py", "nonsense.py: no such file"),
        ("bounded-staleness", "needs time"),
        ("bounded-staleness:time=5,more", "found 'more'"),
        ("session-order:time=5", "has no parameter 'time'; it has: none"),
    ):
        code, out, err = run(capsys, "check", path, "--level", "ser", "--module", word)
        assert code == 254 and not out and message in err


def test_modules_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "modules")
    assert code == 0
    for m in known_modules().values():
        assert m.name in out
    assert "time: must be given" in out and "locks: else released" in out


def test_the_ir_shows_what_modules_say(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "ir", path, "--level", "ser", "--module", "session-order")
    assert code == 0 and "edge T0 -session-order-> T1" in out


def test_modules_are_exported(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("export", path, "-", "--level", "ser", "--to", "smtlib")
    code, plain, _ = run(capsys, *words)
    assert code == 0
    code, told, _ = run(capsys, *words, "--module", "session-order")
    assert code == 0 and set(told.splitlines()) - set(plain.splitlines()) == {"(assert (< n0 n1))"}
    for text, answer in ((plain, "sat"), (told, "unsat")):
        solver = z3.Solver()
        solver.from_string(text)
        assert str(solver.check()) == answer
    code, _, err = run(capsys, *words, "--module", "session-order", "--encoding", "cobra")
    assert code == 254 and "it takes no modules" in err


# --- every solver means the same


def compare(seed: int, mix: str, levels: int) -> Counter[tuple[str, str]]:
    trace = random_trace(seed, mix)
    asg = build_asg(trace)
    found: Counter[tuple[str, str]] = Counter()
    if first_broken(asg) is not None:
        return found
    for level in random.Random(seed).sample([level for level in LEVELS if level.observes], levels):
        ir = lower(asg, level, (random_module(seed),))
        assert verify_ir(ir) == []
        answers = {"native": solve(ir), "without hints": solve_native(ir, hints=False), "z3": solve_z3(ir)}
        status = {answer.status for answer in answers.values()}
        assert len(status) == 1, (seed, mix, level.name, answers)
        for name, answer in answers.items():
            if answer.status == "valid":
                assert kept(ir, answer), (seed, mix, level.name, name)
                replay(trace, witness(ir, answer))
        found[solve_native(lower(asg, level)).status, status.pop()] += 1
    return found


def test_native_and_z3_agree_on_what_random_modules_say() -> None:
    found: Counter[tuple[str, str]] = Counter()
    mixes = [mix for mix in MIXES if MIXES[mix].transactions[1] <= SMALL]
    for seed in range(12):
        found += compare(seed, mixes[seed % len(mixes)], levels=2)
    assert found["valid", "valid"] and found["valid", "invalid"], found


@pytest.mark.full
@pytest.mark.parametrize("mix", MIXES)
def test_native_and_z3_agree_on_many_more(mix: str) -> None:
    large = MIXES[mix].transactions[1] > SMALL
    for seed in range(10_000, 10_020 if large else 10_150):
        compare(seed, mix, levels=4)


@pytest.mark.full
@pytest.mark.parametrize("mix", ["default", "few-values", "unknown", "lists"])
def test_cores_of_random_modules_stand_on_their_own(mix: str) -> None:
    broken = 0
    for seed in range(40):
        trace = random_trace(seed, mix)
        for level in ("ser", "si", "rc"):
            verdict = check(trace, level, modules=[random_module(seed)])
            if verdict.invalid:
                assert verdict.counterexample is not None and list(verdict.counterexample.lines())
                broken += bool(verdict.broken_by)
    assert broken >= 2


def test_many_alternatives_get_names() -> None:
    """A formula whose clauses by distribution would be 3^8."""
    trace = history(*(txn(f"S{i}", put("x", i)) for i in range(5)))

    @module
    def many(asg, ir, hints):  # type: ignore[no-untyped-def]
        """One of many."""
        if asg.transactions < 5:
            return
        from boomslang.ir.expression import And

        chains = [And(tuple(ir.ww((i + k) % 5, (i + k + 1) % 5, 0) for k in range(3))) for i in range(5)]
        ir.require(Or((*chains, *chains[:3])))
        ir.require(*(Not(c) for c in chains[1:]))

    ir = lower(build_asg(trace), find_level("ser"), (many,))
    for answer in (solve_native(ir), solve_z3(ir)):
        assert answer.order is not None
        at = answer.order.tolist().index
        assert at(0) < at(1) < at(2) < at(3)


def test_an_outcome_may_be_settled_by_a_module() -> None:
    trace = history(txn("A", put("x", 1), outcome="unknown"), txn("B", get("x", Absent)))

    @module
    def it_happened(asg, ir, hints):  # type: ignore[no-untyped-def]
        """A committed, and before B."""
        if asg.transactions == 2 and asg.state[0] == 1:
            ir.require(Committed(0), Implies(Committed(0), Edge(0, 1, Dependency.SO)))

    assert START == -1
    assert check(trace, "ser").valid
    assert check(trace, "ser", modules=[it_happened]).invalid
