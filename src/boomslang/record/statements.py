"""Which SQL statement is which operation: what only the application knows, written down as a table.

    STATEMENTS = {
        "SELECT balance FROM accounts WHERE id = %s": get(),
        "UPDATE accounts SET balance = %s WHERE id = %s": put(key=1, value=0),
        "DELETE FROM accounts WHERE id = %s": delete(),
        "SELECT id, balance FROM accounts WHERE id >= %s AND id < %s": scan(lo=0, hi=1),
        "SELECT now()": ignore(),
    }

What an SQL text reads and writes cannot be derived from it in general, so it is not guessed: a statement is looked up
as it is, spaces aside, and one that is not in the table is refused before it is sent. A parameter is named by its
position or its name, a column of the result too; a function of all parameters makes a key of several.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from boomslang.errors import UsageError
from boomslang.record.found_rows import NOBODY_KNOWS
from boomslang.trace.scalars import Absent

Which = int | str | Callable[[Any], Any]
"""A parameter: its position, its name, or a function of all of them."""
Column = int | str


class Record(NamedTuple):
    """An operation as it will be in the trace."""

    op: str
    args: tuple[Any, ...]
    result: Any = None
    ctx: Mapping[str, Any] | None = None


class Unsuited(Exception):
    """The database's answer shows that a statement is not the operation it was said to be."""


Change = Callable[[Any], Any]
"""Makes keys, or values, comparable: 10, Decimal("10.0") and "10" are three."""


@dataclass(frozen=True)
class Statement:
    """What a statement is. Made by the functions below."""

    op: str
    wants_rows = False
    ahead = False
    """It is a write that its parameters tell all of: it can be recorded before it is sent."""

    def before(self, parameters: Any, key: Change, value: Change) -> Record | None:
        """What is known before it is sent: an operation with its arguments."""
        raise NotImplementedError

    def after(
        self, parameters: Any, rows: Sequence[Any], count: int, key: Change, value: Change
    ) -> Iterable[Record]:
        """What it was. `count`: the rows that were found, -1 if the driver does not say; see found_rows.py."""
        raise NotImplementedError


def parameter(parameters: Any, which: Which) -> Any:
    if callable(which):
        return which(parameters)
    try:
        return parameters[which]
    except (LookupError, TypeError):
        raise UsageError(f"found no parameter {which!r} of a statement in {parameters!r}") from None


def column(row: Any, which: Column) -> Any:
    if isinstance(row, Mapping) and isinstance(which, int):
        return list(row.values())[which]
    if isinstance(which, str) and isinstance(row, tuple):
        return getattr(row, which)
    return row[which]


@dataclass(frozen=True)
class Get(Statement):
    key: Which
    value: Column
    ctx: Mapping[str, Any] | None
    wants_rows = True

    def before(self, parameters: Any, key: Change, value: Change) -> Record:
        return Record("get", (key(parameter(parameters, self.key)),), ctx=self.ctx)

    def after(
        self, parameters: Any, rows: Sequence[Any], count: int, key: Change, value: Change
    ) -> Iterable[Record]:
        if len(rows) > 1:
            raise Unsuited(f"found {len(rows)} rows for one key; expected one at most")
        result = value(column(rows[0], self.value)) if rows else Absent
        yield self.before(parameters, key, value)._replace(result=result)


@dataclass(frozen=True)
class Put(Statement):
    key: Which
    value: Which | None
    returned: Column | None
    none_means_absent: bool
    one_row: bool

    @property
    def ahead(self) -> bool:  # type: ignore[override]
        return self.value is not None

    @property
    def wants_rows(self) -> bool:  # type: ignore[override]
        return self.returned is not None

    def before(self, parameters: Any, key: Change, value: Change) -> Record:
        put = None if self.value is None else value(parameter(parameters, self.value))
        return Record("put", (key(parameter(parameters, self.key)), put))

    def after(
        self, parameters: Any, rows: Sequence[Any], count: int, key: Change, value: Change
    ) -> Iterable[Record]:
        record = self.before(parameters, key, value)
        count = len(rows) if self.returned is not None else count
        if self.one_row and count > 1:
            raise Unsuited(f"found {count} rows changed by one put; expected one at most")
        if count == NOBODY_KNOWS:
            return
        if count == 0:
            if self.none_means_absent:
                yield Record("get", record.args[:1], Absent, {"lock": "update"})
        elif self.returned is not None:
            yield record._replace(args=(record.args[0], value(column(rows[0], self.returned))))
        else:
            yield record


@dataclass(frozen=True)
class Delete(Statement):
    key: Which
    ahead = True

    def before(self, parameters: Any, key: Change, value: Change) -> Record:
        return Record("delete", (key(parameter(parameters, self.key)),))

    def after(
        self, parameters: Any, rows: Sequence[Any], count: int, key: Change, value: Change
    ) -> Iterable[Record]:
        if count > 1:
            raise Unsuited(f"found {count} rows deleted for one key; expected one at most")
        yield self.before(parameters, key, value)._replace(result=None if count < 0 else count == 1)


CHOOSES = re.compile(r"\b(WHERE|HAVING)\b", re.IGNORECASE)
LEAVES_OUT = re.compile(r"\b(LIMIT|OFFSET|FETCH)\b", re.IGNORECASE)
"""Clauses of a SELECT that may leave rows out: if no bounds were told, and in any case."""


@dataclass(frozen=True)
class Scan(Statement):
    lo: Which | None
    hi: Which | None
    key: Column
    value: Column
    ctx: Mapping[str, Any] | None
    all_keys: bool
    wants_rows = True

    def before(self, parameters: Any, key: Change, value: Change) -> Record:
        self._account_for(parameters)
        lo, hi = (None if b is None else key(parameter(parameters, b)) for b in (self.lo, self.hi))
        return Record("scan", (lo, hi), ctx=self.ctx)

    def look_at(self, text: str) -> None:
        """A key in the range that was not returned counts as absent. A clause may have hidden it."""
        clause = LEAVES_OUT.search(text) or (
            CHOOSES.search(text) if self.lo is None and self.hi is None else None
        )
        if clause is not None and not self.all_keys:
            raise UsageError(
                f"found {clause[0].upper()} in the scan {text!r}; whatever is in the range and not returned counts as "
                "absent; fix: scan(lo=..., hi=...) with the bounds of the keys (parameters, or functions such as "
                "lambda p: 'a'); if it leaves no key of the range out, all_keys=True; else custom()"
            )

    def _account_for(self, parameters: Any) -> None:
        """Nor must a parameter that is no bound have hidden a key."""
        named = [bound for bound in (self.lo, self.hi) if bound is not None]
        if self.all_keys or any(callable(bound) for bound in named):
            return
        given = len(parameters) if isinstance(parameters, Sequence | Mapping) else 0
        if given > len(set(named)):
            said = ", ".join(repr(bound) for bound in named) or "none of them"
            raise UsageError(
                f"found a scan with {given} parameters, of which {said} was said to be a bound; whatever is in the "
                "range and not returned counts as absent, so all that chooses rows must be known; fix: "
                "scan(lo=..., hi=...) with the parameters that bound the keys (or functions of them all); if the "
                "others leave no key out, all_keys=True; else custom()"
            )

    def after(
        self, parameters: Any, rows: Sequence[Any], count: int, key: Change, value: Change
    ) -> Iterable[Record]:
        items = [(key(column(row, self.key)), value(column(row, self.value))) for row in rows]
        yield self.before(parameters, key, value)._replace(result=items)


@dataclass(frozen=True)
class Custom(Statement):
    function: Callable[[Any, Sequence[Any], int], Iterable[tuple[Any, ...]]]
    wants_rows: bool

    def before(self, parameters: Any, key: Change, value: Change) -> None:
        return None

    def after(
        self, parameters: Any, rows: Sequence[Any], count: int, key: Change, value: Change
    ) -> Iterable[Record]:
        return [Record(*record) for record in self.function(parameters, rows, count)]


@dataclass(frozen=True)
class Ignored(Statement):
    pass


LOCK: Mapping[str, Any] = {"lock": "update"}


def get(key: Which = 0, value: Column = 0, *, lock: bool = False) -> Statement:
    """A read of one key: the parameter that is the key, the column that is its value. No row: absent.

    `lock`: it is a SELECT ... FOR UPDATE, which some databases treat differently."""
    return Get("get", key, value, LOCK if lock else None)


def put(
    key: Which = 0,
    value: Which | None = 1,
    *,
    returned: Column | None = None,
    none_means_absent: bool = False,
    one_row: bool = True,
) -> Statement:
    """A write of one key: INSERT, UPDATE, or both. If the statement computes the value, let it return it, and give its
    column: "UPDATE ... SET n = n + 1 ... RETURNING n" is put(returned=0).

    If the database says that no row was found, nothing was written. `none_means_absent`: then there was no such key (an
    UPDATE with nothing but the key in its WHERE). MySQL counts changed rows, and found ones only with the flag
    FOUND_ROWS: what is recorded without it is in found_rows.py. `one_row=False`: more than one row changed does not
    mean more than one key (MySQL counts INSERT ... ON DUPLICATE KEY UPDATE so)."""
    return Put("put", key, None if returned is not None else value, returned, none_means_absent, one_row)


def delete(key: Which = 0) -> Statement:
    """A delete of one key, with nothing but the key in its WHERE."""
    return Delete("delete", key)


def scan(
    lo: Which | None = None,
    hi: Which | None = None,
    *,
    key: Column = 0,
    value: Column = 1,
    lock: bool = False,
    all_keys: bool = False,
) -> Statement:
    """A read of all keys from `lo` up to but not including `hi` (None: no bound): those it does not return are absent.

    So nothing else may choose among the rows: a statement with parameters that are no bounds is refused, and one with a
    LIMIT, or with a WHERE and no bounds. `all_keys`: these leave no key of the range out."""
    return Scan("scan", lo, hi, key, value, LOCK if lock else None, all_keys)


def custom(
    function: Callable[[Any, Sequence[Any], int], Iterable[tuple[Any, ...]]], *, rows: bool = True
) -> Statement:
    """Anything else: `function(parameters, rows, count)` tells the operations, such as ("get", (key,), value) and
    ("put", (key, value)). `rows`: False if the statement returns none. Not for autocommit mode."""
    return Custom("custom", function, rows)


def ignore() -> Statement:
    """A statement that touches nothing that is recorded."""
    return Ignored("ignore")


class Table:
    """The statements, by their text."""

    def __init__(self, statements: Mapping[str, Statement]) -> None:
        for text, statement in statements.items():
            if not isinstance(statement, Statement):
                raise UsageError(
                    f"found {statement!r} for the statement {text!r}; expected get(), put(), ..."
                )
            if isinstance(statement, Scan):
                statement.look_at(text)
        self._known = {squeezed(text): statement for text, statement in statements.items()}

    def __contains__(self, text: str) -> bool:
        return text in self._known

    def find(self, text: str) -> Statement:
        found = self._known.get(text)
        if found is None:
            raise UsageError(
                f"found the statement {text!r}, which is not in the table of statements; nobody knows what it reads "
                "and writes; fix: add it as get(), put(), delete(), scan(), custom(), or as ignore() if it "
                "touches nothing that is recorded"
            )
        return found


def squeezed(text: str) -> str:
    """Without the spaces that do not matter."""
    return " ".join(text.split()).rstrip("; ")
