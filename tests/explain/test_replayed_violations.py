"""A violation as a program: it happens again where it can, and nothing of a trace is ever more than data."""

from __future__ import annotations

import ast
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT
from support.replays import replayed, written

from boomslang import Tracer
from boomslang.cli.main import main
from boomslang.explain.replay.plan import _step
from boomslang.explain.replay.script import literal
from boomslang.record import trace_connection
from boomslang.record.sql.given import given_of
from boomslang.record.sql.text import Numbered
from boomslang.trace.statements import Executed

WRITE_SKEW = ROOT / "examples" / "write-skew.jsonl"
HOSTILE = (
    "'''\"\"\"\\",
    "'); DROP TABLE victims; --",
    "${x} {0} %s %(name)s ? :p0 $1 %%",
    "\n__import__('os').system('touch owned')\n",
    "\x1b]0;owned\x07\u202e",
    "\\N{BULLET}\\x41\\",
)


def text(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["explain", *words]) == 1
    return capsys.readouterr().out


def test_what_duckdb_allows_happens_again_and_what_sqlite_refuses_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("duckdb")
    words = ("--level", "ser", "--dialect")
    code, said = replayed(written(WRITE_SKEW, tmp_path / "duck.py", capsys, *words, "duckdb"))
    assert code == 1 and "HAPPENED AGAIN" in said, said
    code, said = replayed(written(WRITE_SKEW, tmp_path / "lite.py", capsys, *words, "sqlite"))
    assert code == 0 and "T1 was refused: OperationalError: database is locked" in said, said


def test_statements_of_an_application_happen_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At DuckDB's snapshots, recorded from SQL: rows by a condition, keys that a sequence gave."""
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("sqlglot")
    root = duckdb.connect(str(tmp_path / "shop.db"))
    root.execute("CREATE TABLE doctors (name VARCHAR PRIMARY KEY, on_call BOOLEAN, since DATE)")
    root.execute(
        "INSERT INTO doctors VALUES ('Ann', true, '2026-01-31'), ('Ben', true, NULL), ('C', false, NULL)"
    )
    tracer = Tracer(tmp_path / "trace")
    ann, ben = (trace_connection(root.cursor(), tracer, session=name) for name in ("ann", "ben"))
    for one in (ann, ben):
        one.execute("BEGIN")
        assert len(one.execute("SELECT name FROM doctors WHERE on_call = ?", [True]).fetchall()) == 2
    for one, name in ((ann, "Ann"), (ben, "Ben")):
        one.execute("UPDATE doctors SET on_call = $1 WHERE name = $2", [False, name])
        one.execute("COMMIT")
    script = written(tracer.folder, tmp_path / "replay.py", capsys, "--level", "ser")
    code, said = replayed(script, str(tmp_path / "again.db"))
    assert code == 1 and "ann" in said and "ben" in said, said
    code, said = replayed(script, str(tmp_path / "shop.db"))
    assert code == 254 and "expected none" in said
    assert "'2026-01-31'" in text(capsys, str(tracer.folder), "--level", "ser", "--as", "sql")


def hostile_trace(file: Path, bad: str) -> None:
    """A write skew whose session, table, column, statement, parameters and kinds are all made to do harm."""
    key = [f"{bad}[1].{bad}", f"{bad}[2].{bad}"]
    tables = {bad: {"key": ["id"], "columns": {"id": "integer", bad: bad}, "defaults": {bad: bad}}}
    lines: list[dict[str, Any]] = [{"boomslang": 1, "initial": {"items": [[k, bad] for k in key]}}]
    for t in (0, 1):
        note = {"sql": 1, "text": f"SELECT '{bad}'", "given": [bad, {"decimal": "1"}], "tables": tables}
        note["database"] = {"dialect": "sqlite", "isolation": bad}
        lines.append({"txn": t, "op": "begin"})
        lines.append({"txn": t, "op": "get", "key": key[t], "value": bad, "ctx": note})
        lines.append(
            {
                "txn": t,
                "op": "put",
                "key": key[1 - t],
                "value": f"{t}",
                "ctx": {"sql": 2, "text": bad, "write": True},
            }
        )
    lines += [{"txn": t, "op": "commit"} for t in (0, 1)]
    lines[1:] = [{"session": f"{bad} {line['txn']}", **line} for line in lines[1:]]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


@pytest.mark.parametrize("bad", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_trace_is_only_data(tmp_path: Path, capsys: pytest.CaptureFixture[str], bad: str) -> None:
    hostile_trace(tmp_path / "trace.jsonl", bad)
    made = text(capsys, str(tmp_path / "trace.jsonl"), "--level", "ser", "--as", "script")
    assert made.isascii()
    (plan,) = [node for node in ast.parse(made).body if is_plan(node)]
    assert ast.literal_eval(plan.value)["transactions"]["T0"]["session"] == f"{bad} 0"  # type: ignore[attr-defined]
    harmless = text(capsys, str(WRITE_SKEW), "--level", "ser", "--as", "script")
    assert without_plan(made) == without_plan(harmless), "the rest is always the same"
    script = tmp_path / "replay.py"
    script.write_text(made)
    code, said = replayed(script, str(tmp_path / "new.db"))
    assert code in (0, 2, 254) and "Traceback" not in said and not (tmp_path / "owned").exists(), said
    assert all(c.isprintable() or c == "\n" for c in said)
    pasted = text(capsys, str(tmp_path / "trace.jsonl"), "--level", "ser", "--as", "sql")
    assert all(c.isprintable() or c == "\n" for c in pasted)


def is_plan(node: ast.stmt) -> bool:
    return isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "PLAN"


def without_plan(made: str) -> str:
    tree = ast.parse(made)
    tree.body = [node for node in tree.body if not is_plan(node)]
    return ast.unparse(tree)


def test_literals_are_values_and_nothing_else() -> None:
    for bad in HOSTILE:
        assert ast.literal_eval(literal({bad: [bad, (bad, 1)], "x": 1.5})) == {bad: [bad, (bad, 1)], "x": 1.5}
    with pytest.raises(TypeError):
        literal({"x": object()})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (False, "without its parameters"),
        ("text", "expected a list or an object"),
        ([1], "found no parameter 1"),
        ([{"decimal": "x"}, 1], "found the parameter"),
        ([{"__import__": "os"}, 1], "found the parameter"),
    ],
)
def test_what_cannot_be_replayed_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: Any, said: str
) -> None:
    hostile_trace(tmp_path / "trace.jsonl", "x")
    changed = []
    for line in map(json.loads, (tmp_path / "trace.jsonl").read_text().splitlines()):
        if "given" in line.get("ctx", {}):
            line["ctx"].update(given=given, text="SELECT ?, ?")
        changed.append(json.dumps(line))
    (tmp_path / "trace.jsonl").write_text("\n".join(changed) + "\n")
    assert main(["explain", str(tmp_path / "trace.jsonl"), "--level", "ser", "--as", "script"]) == 254
    assert said in capsys.readouterr().err


def test_wrong_uses_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        (("--as", "script", "--json"), "output of its own"),
        (("--dialect", "sqlite"), "goes with --as"),
        (("--as", "script", "--level", "si"), "nothing to replay"),
    ):
        assert main(["explain", str(WRITE_SKEW), *words]) == 254
        assert said in capsys.readouterr().err


def test_sql_to_paste_is_sql(capsys: pytest.CaptureFixture[str]) -> None:
    """Each line of it, in the order in which it stands there, on SQLite; columns are told apart by where they begin."""
    made = text(capsys, str(WRITE_SKEW), "--level", "ser", "--as", "sql")
    database = sqlite3.connect(":memory:", isolation_level=None)
    begun = 0
    for line in made.splitlines():
        statement = line.split("  -- ")[0].strip()
        if statement.startswith("BEGIN") or statement == "COMMIT;":
            begun += statement.startswith("BEGIN")
        elif statement and not statement.startswith("--"):
            database.execute(statement)
    assert begun == 2 and database.execute("SELECT v FROM kv").fetchall() == [("no",), ("no",)]


def test_parameters_of_a_protocol_find_their_places() -> None:
    """`$1` and `?` that a wire carries beside the text; what looks like one in a string is none."""
    for dialect, sent in (("postgres", "SELECT $2, '$1 %', $1"), ("mysql", "SELECT ?, '? %', ?")):
        one = Executed(sent, False, False, given_of(Numbered(["a", b"\x00"])))
        step = _step(one, dialect, "here")
        swapped = dialect == "postgres"
        assert step.text.replace("  ", " ") == f"SELECT %s, '{'$1' if swapped else '?'} %%', %s"
        assert step.given == ([{"bytes": "00"}, "a"] if swapped else ["a", {"bytes": "00"}])
