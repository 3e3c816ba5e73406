"""What a text means, as far as it can be known before it is sent: what it may write, and how its answer will be read.

A statement that writes nothing and is not understood is left out. One that may write is asked what it could touch: the
table that it names, or, where even that is hidden (a procedure, a DO block, a text that no parser knows), everything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from boomslang.record.sql.catalogs import FAILS, ODD_MODES
from boomslang.record.sql.inserts import Insert
from boomslang.record.sql.plans import Plan, plan_of_delete, plan_of_select, plan_of_update
from boomslang.record.sql.schema import EVERYTHING, Reach, Schema, Table, all_reached
from boomslang.record.sql.scope import only, table_of
from boomslang.record.sql.selects import Select
from boomslang.record.sql.text import NotParsed, Parsed, parsed, several
from boomslang.record.sql.told import Answer, Told, taints_of
from boomslang.record.sql.writes import Delete, Update, target_of

HARMLESS = frozenset(
    [
        "set",
        "show",
        "pragma",
        "listen",
        "unlisten",
        "notify",
        "deallocate",
        "discard",
        "checkpoint",
        "lock",
        "describe",
        "desc",
        "reset",
        "kill",
        "explain",
        "declare",
        "fetch",
        "close",
        "move",
        "comment",
        "use",
        "vacuum",
        "analyze",
        "reindex",
        "grant",
        "revoke",
        "unlock",
        "flush",
        "optimize",
        "check",
        "begin",
    ]
)
"""First words of statements that read and write nothing that is recorded, whatever they do else."""
SCHEMA_CHANGES = frozenset(["create", "alter", "drop", "rename", "truncate"])
COMMITS = SCHEMA_CHANGES | frozenset(
    ["lock", "unlock", "flush", "optimize", "check", "analyze", "repair", "grant", "revoke", "reset"]
)
"""First words of statements before which MySQL commits."""
ROWS_ONLY = frozenset(("select", "insert", "update", "delete", "replace", "with", "values", "table"))
"""First words of statements that read and write rows, and do nothing else."""
CHANGES = re.compile(rf"\b({'|'.join(sorted(SCHEMA_CHANGES))})\b", re.IGNORECASE)
READS = frozenset(("select", "values", "with", "table"))
"""First words of statements that only read, unless one that writes is inside."""
WRITES = re.compile(
    r"\b(insert|update|delete|merge|replace|truncate|into|copy|call|do|execute|load)\b", re.IGNORECASE
)
CALLS = re.compile(
    r"\b(\w+)[\"`]?\s*\("
)  # \b: a long word is looked at once, not once for each of its letters
SYSTEM = re.compile(r"(?i)sqlite_|pg_|information_schema|performance_schema|duckdb_|mysql$|sys$")
"""Names of the database's own tables."""
START = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/|\()*(\w+)", re.DOTALL)
NAMES_MOVE = re.compile(r"\s*(?:use|attach|detach)\b", re.IGNORECASE)
SETTINGS = (
    "standard_conforming_strings",
    "transform_null_equals",
    "extra_float_digits",
    "default_collation",
    "sql_mode",
)
"""With another value of these, the same text means something else."""
SETS = re.compile(r"\b(?:set|set_config|reset|pragma)\b", re.IGNORECASE)
AS_USUAL = re.compile(
    r"""\b(?:standard_conforming_strings['"]?\s*(?:=|\bto\b|,)\s*['"]?(?:on|true|1)\b|"""
    r"""extra_float_digits['"]?\s*(?:=|\bto\b|,)\s*['"]?[123]\b)""",
    re.IGNORECASE,
)
OR_FAIL = re.compile(r"\bor\s+fail\b", re.IGNORECASE)
CASCADES = re.compile(r"\bcascade\b", re.IGNORECASE)
TEMPORARY = re.compile(r"\s*create\s+(?:local\s+|global\s+)?temp(?:orary)?\b", re.IGNORECASE)

CLAUSES = {
    "Insert": ("this", "expression", "conflict", "returning", "alternative", "ignore", "default", "with"),
    "Update": ("this", "expressions", "from", "where", "returning", "order", "limit", "with"),
    "Delete": ("this", "tables", "using", "where", "returning", "order", "limit", "with"),
}
"""That are known of each kind of write."""

Tell = Callable[[Any, Answer], Told]


@dataclass(frozen=True)
class Meaning:
    """Of one text."""

    tell: Tell
    """What it told, from its parameters and its answer."""
    writes: tuple[str, ...] = ()
    """The taints, if nobody ever hears what became of it."""
    is_write: bool = False
    wants_rows: bool = False
    sends: str | None = None
    """The text with RETURNING added, whose meaning this is."""
    ignored: bool = False
    """It is none of ours."""
    counts_changes: bool = False
    """It is an UPDATE, of which MySQL may count the rows that it changed in place of those that it found."""
    changes_schema: bool = False
    creates: tuple[str, ...] = ()
    """Tables that are there, and empty, once it is done."""
    commits: bool = False
    """It ends the transaction before it begins."""
    moves_names: bool = False
    """From here on names may mean other tables."""
    keeps: bool = False
    """If it fails, what it had written before stays (SQLite's OR FAIL)."""
    strangers: frozenset[str] = frozenset()
    """Tables that it names and that are not known."""
    tables: tuple[Table, ...] = ()
    """Those that are."""
    plan: Plan | None = None
    """A short way to what `tell` would say, where there is one."""
    plain: bool = False
    """It reads or writes rows, and does nothing to the transaction, the connection or the schema."""


def names_move(text: str) -> bool:
    """May names, or the text of a statement, mean something else from here on?"""
    low = text.lower()
    if "search_path" in low or NAMES_MOVE.match(text):
        return True
    found = [name for name in SETTINGS if name in low]  # most texts have none, and are many
    if not found or not SETS.search(text) or AS_USUAL.search(text):
        return False
    return found != ["sql_mode"] or ODD_MODES.search(text) is not None


def meaning_of(text: str, schema: Schema, given: Any) -> Meaning:
    made = _meaning_of(text, schema, given)
    keeps = made.is_write and schema.dialect == "sqlite" and (FAILS in schema.options or OR_FAIL.search(text))
    return replace(made, keeps=True) if keeps else made


def _meaning_of(text: str, schema: Schema, given: Any) -> Meaning:
    first = START.match(text)
    word = first[1].lower() if first else ""
    moves = names_move(text)
    calls = {name.lower() for name in CALLS.findall(text)} & schema.routines
    if several(text, schema.dialect):
        if word in READS and not calls and not WRITES.search(text) and not CHANGES.search(text):
            return _unread("several statements in one text")
        made_of = _unknown_write([Reach(EVERYTHING)], schema, "several statements in one text", moves=moves)
        return replace(made_of, changes_schema=CHANGES.search(text) is not None)
    if word in HARMLESS and not calls and not (word == "explain" and WRITES.search(text)):
        commits = schema.dialect == "mysql" and word in COMMITS
        if word == "fetch":
            return _unread("rows of a cursor")
        return Meaning(_nothing, ignored=True, commits=commits, moves_names=moves)
    if word in SCHEMA_CHANGES:
        return _schema_change(text, word, schema, given)
    if word == "replace":
        text = re.sub(r"\breplace\b(\s+into\b)?", "INSERT INTO", text, count=1, flags=re.IGNORECASE)
    try:
        made = parsed(text, schema.dialect, given)
    except NotParsed as why:
        if not WRITES.search(text) and not calls and word in READS:
            return _unread(f"not understood by the parser ({str(why).splitlines()[0][:80]})")
        return _unknown_write([Reach(EVERYTHING)], schema, "not understood by the parser")
    made_of = meaning_of_tree(made, schema, word)
    if calls or moves:
        called = f"a function of the database ({min(calls)})" if calls else "names that move"
        return _unknown_write([Reach(EVERYTHING)], schema, called, moves=moves)
    return made_of


def meaning_of_tree(made: Parsed, schema: Schema, word: str) -> Meaning:
    """Of a statement that begins with this word, and calls nothing that somebody has written."""
    named, strangers = _named(made.tree, schema)
    runs = [table.name for table in named if table.runs]
    if runs:
        return _unknown_write([Reach(EVERYTHING)], schema, f"a view that calls a function ({min(runs)})")
    found = _meaning(made, schema, word == "replace")
    plain = word in ROWS_ONLY and not found.ignored
    return replace(found, strangers=strangers, tables=named, plain=plain)


def _named(tree: Any, schema: Schema) -> tuple[tuple[Table, ...], frozenset[str]]:
    """The tables that a statement names: those that are known, and the others."""
    from sqlglot import exp

    nodes = [node for node in tree.find_all(exp.Table) if isinstance(node.this, exp.Identifier)]
    known = {node: table_of(node, schema) for node in nodes}
    strangers = {
        node.name for node, table in known.items() if table is None and not SYSTEM.match(node.db or node.name)
    }
    tables = {table.name: table for table in known.values() if table is not None}
    return tuple(tables.values()), frozenset(strangers)


def _meaning(made: Parsed, schema: Schema, replaces: bool) -> Meaning:
    from sqlglot import exp

    tree = made.tree
    hidden = [
        node for node in tree.find_all(exp.Insert, exp.Update, exp.Delete, exp.Merge) if node is not tree
    ]
    if isinstance(tree, exp.Insert | exp.Update | exp.Delete):
        table = target_of(tree, schema)
        if table is None:
            return _unknown_write([Reach(EVERYTHING)], schema, "a write to something that is no table")
        if (table.silent or "").startswith("a view"):
            return _unknown_write([Reach(EVERYTHING)], schema, "a write to a view")
        change: Insert | Update | Delete
        if isinstance(tree, exp.Insert):
            change = Insert(tree, table, schema, replaces)
        else:
            change = (
                Update(tree, table, schema) if isinstance(tree, exp.Update) else Delete(tree, table, schema)
            )
        joined = isinstance(tree, exp.Update | exp.Delete) and (
            tree.this.args.get("joins") or (isinstance(tree, exp.Delete) and tree.args.get("tables"))
        )
        if not only(tree, *CLAUSES[type(tree).__name__]):
            return _unknown_write(change.touched(), schema, "a clause that is not known", rows=change.returns)
        if hidden or joined:
            touched = {*change.touched(), *_targets(hidden, schema)}
            if joined:
                touched |= _mentioned(tree, schema)
            return _unknown_write(touched, schema, "a write of several tables", rows=change.returns)
        return Meaning(
            lambda given, answer: change.told(made.parameters(given), answer),
            writes=_taints(all_reached(schema, change.touched())),
            is_write=True,
            wants_rows=change.returns,
            counts_changes=isinstance(tree, exp.Update) and schema.dialect == "mysql",
            plan=_plan(change, made),
        )
    if isinstance(tree, exp.Query):
        if hidden or tree.find(exp.Into):
            touched = _targets(hidden, schema) if hidden else {Reach(EVERYTHING)}
            return _unknown_write(touched, schema, "a SELECT that writes")
        inner = tree.this if isinstance(tree, exp.Subquery) and only(tree, "this") else tree
        select = Select(inner, schema) if isinstance(inner, exp.Select) else None
        if select is None:
            return _unread("a set operation")
        if _only_the_systems(tree):
            return Meaning(_nothing, ignored=True)
        if select.why is not None:
            return _unread(select.why)
        return Meaning(
            lambda given, answer: select.told(made.parameters(given), answer),
            wants_rows=True,
            plan=plan_of_select(select, made),
        )
    if isinstance(tree, exp.Values) and not hidden:
        return Meaning(_nothing, ignored=True)
    if isinstance(tree, exp.Merge | exp.Copy):
        return _unknown_write(_mentioned(tree, schema), schema, f"a {type(tree).__name__.upper()}")
    return _unknown_write([Reach(EVERYTHING)], schema, "a statement that may do anything")


def _plan(change: Insert | Update | Delete, made: Parsed) -> Plan | None:
    if isinstance(change, Update):
        return plan_of_update(change, made)
    return plan_of_delete(change, made) if isinstance(change, Delete) else None


def _only_the_systems(tree: Any) -> bool:
    """No table at all, or only those that describe the database."""
    from sqlglot import exp

    return all(
        isinstance(node.this, exp.Func) or SYSTEM.match(node.db or node.name)
        for node in tree.find_all(exp.Table)
    )


def _schema_change(text: str, word: str, schema: Schema, given: Any) -> Meaning:
    """DDL. A new table is empty; of all others that are named nobody knows what they hold now."""
    from sqlglot import exp

    commits = schema.dialect == "mysql" and not TEMPORARY.match(text)
    try:
        tree = parsed(text, schema.dialect, given).tree
    except NotParsed:
        tree = None
    if (
        isinstance(tree, exp.Create)
        and str(tree.args.get("kind")).upper() == "TABLE"
        and tree.expression is None
    ):
        named = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
        table = table_of(named, schema) if isinstance(named, exp.Table) else None
        if table is None and isinstance(named, exp.Table):
            space = named.db or (schema.path[0] if schema.path else schema.home)
            creates = () if TEMPORARY.match(text) else (schema.full_name(space, named.name),)
            strangers = frozenset({named.name}) if tree.args.get("exists") else frozenset()
            return Meaning(
                _nothing,
                ignored=True,
                changes_schema=True,
                commits=commits,
                creates=creates,
                strangers=strangers,
            )
        if tree.args.get("exists") and not TEMPORARY.match(text):
            return Meaning(_nothing, ignored=True, changes_schema=True, commits=commits)
    if isinstance(tree, exp.Create) and str(tree.args.get("kind")).upper() in (
        "INDEX",
        "SCHEMA",
        "DATABASE",
        "SEQUENCE",
    ):
        return Meaning(_nothing, ignored=True, changes_schema=True, commits=commits)
    if isinstance(tree, exp.Alter) and all(
        isinstance(a, exp.AddConstraint) for a in tree.args.get("actions") or [0]
    ):
        return Meaning(_nothing, ignored=True, changes_schema=True, commits=commits)
    touched = _mentioned(tree, schema) if tree is not None else set()
    if not touched:
        known = {table.name.lower(): table.name for table in schema.tables.values()}
        words = {found.lower() for found in re.findall(r"\w+", text)}
        touched = {Reach(name) for low, name in known.items() if set(re.findall(r"\w+", low)) <= words}
    if word == "truncate" and CASCADES.search(text):
        touched |= _referring(touched, schema)
    made = _unknown_write(touched, schema, f"{word.upper()}: the schema is changed")
    return Meaning(made.tell, made.writes, is_write=True, changes_schema=True, commits=commits)


def _referring(touched: Iterable[Reach], schema: Schema) -> set[Reach]:
    """The tables that refer to these, and those that refer to them."""
    by_name = {table.name: table for table in schema.tables.values()}
    found: set[str] = set()
    ahead = [reach.table for reach in touched]
    while ahead:
        table = by_name.get(ahead.pop())
        if table is not None and table.name not in found:
            found.add(table.name)
            ahead.extend(table.referred_by)
    return {Reach(name) for name in found}


def _mentioned(tree: Any, schema: Schema) -> set[Reach]:
    from sqlglot import exp

    found = [table_of(node, schema) for node in tree.find_all(exp.Table)]
    return {Reach(table.name) for table in found if table is not None} or {Reach(EVERYTHING)}


def _targets(trees: Iterable[Any], schema: Schema) -> set[Reach]:
    touched: set[Reach] = set()
    for tree in trees:
        table = target_of(tree, schema)
        if table is None:
            return {Reach(EVERYTHING)}
        touched |= {Reach(table.name), *table.triggered, *table.on_delete, *table.on_update}
    return touched


def _nothing(given: Any, answer: Answer) -> Told:
    return Told()


def unclear(text: str, dialect: str, routines: frozenset[str]) -> Meaning:
    """A statement whose tables nobody can name."""
    why = "names that may mean any table"
    first = START.match(text)
    word = first[1].lower() if first else ""
    commits = dialect == "mysql" and word in COMMITS and not TEMPORARY.match(text)
    changes = word in SCHEMA_CHANGES or (";" in text and CHANGES.search(text) is not None)
    calls = any(name.lower() in routines for name in CALLS.findall(text))
    if changes or calls or WRITES.search(text) or word not in READS | HARMLESS:
        return Meaning(
            lambda given, answer: Told(taints=[EVERYTHING], why=why),
            writes=(EVERYTHING,),
            is_write=True,
            commits=commits,
            changes_schema=changes,
        )
    return replace(_unread(why), commits=commits)


def untold(meaning: Meaning, why: str) -> Meaning:
    """The same of a statement whose answer nobody can use."""
    taints = list(meaning.writes)
    return replace(
        meaning, tell=lambda given, answer: Told(taints=taints, why=why), wants_rows=False, plan=None
    )


def _unread(why: str) -> Meaning:
    return Meaning(lambda given, answer: Told(why=why))


def _unknown_write(
    touched: Iterable[Reach], schema: Schema, why: str, *, rows: bool = False, moves: bool = False
) -> Meaning:
    taints = _taints(all_reached(schema, touched))
    return Meaning(
        lambda given, answer: Told(taints=list(taints), why=why),
        writes=taints,
        is_write=True,
        moves_names=moves,
    )


def _taints(reaches: Iterable[Reach]) -> tuple[str, ...]:
    return tuple(sorted({taint for reach in reaches for taint in taints_of(reach)}))
