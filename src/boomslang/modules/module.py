"""What a module is: a function of the ASG, the IR and the hints.

    @boomslang.module
    def session_order(asg, ir, hints):
        '''Every transaction comes after those before it in its session.'''
        ir.demand(Dependency.SO)

The function may only read the ASG; through the IR it says what it knows (`ir.know`, `ir.require`, `ir.choose`,
`ir.refine`, `ir.demand`, `ir.drop`). Its keyword-only arguments are its parameters. A module may also have a part
that works before there is an IR: `prepare` takes an ASG and gives back a changed one (transactions split, reads left
out). One that reads the trace anew (`anew`) would undo what others changed, so it comes before them, whatever the
order in which they were asked for.

To make a small counterexample the module is asked again about parts of the trace. A transaction that a part leaves
out but for its writes has no reads there, an unknown outcome and `asg.ordered` false: a module should say nothing of
it. What it says of a part must follow from what it says of the whole.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from boomslang.distinct import distinct
from boomslang.errors import UsageError, did_you_mean
from boomslang.modules.in_time import in_time
from boomslang.modules.where import at_line
from boomslang.trace.errors import LimitReached

if TYPE_CHECKING:
    from boomslang.asg.graph import ASG
    from boomslang.ir.model import IR
    from boomslang.trace.model import Trace

Function = Callable[..., object]
Prepare = Callable[["ASG", "Hints"], "ASG"]
REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True, eq=False)
class Module:
    """A module, with the parameters it was given."""

    name: str
    function: Function
    description: str
    """One line: what it says of a database."""
    owner: str
    """Whose it is: a file, an installed package, or Boomslang itself."""
    prepare: Prepare | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Its parameters and their values; REQUIRED where none was given."""
    anew: bool = False
    """Does `prepare` read the trace anew? Then it comes first."""
    selects: bool = False
    """Does it know what selects say of rows?"""

    def __call__(self, asg: ASG, ir: IR, hints: Hints) -> object:
        return self.function(asg, ir, hints, **self.parameters)

    def given(self, **values: Any) -> Module:
        """This module with these parameters."""
        for name in values:
            if name not in self.parameters:
                known, meant = ", ".join(self.parameters) or "none", did_you_mean(name, self.parameters)
                raise UsageError(f"the module {self.name} has no parameter {name!r}{meant}; it has: {known}")
        return replace(self, parameters={**self.parameters, **values})

    def ready(self) -> Module:
        """This module, if all its parameters are given."""
        missing = [name for name, value in self.parameters.items() if value is REQUIRED]
        if missing:
            raise UsageError(f"the module {self.name} needs {missing[0]}: {self.name}:{missing[0]}=...")
        return self

    @property
    def spelled(self) -> str:
        """Its name and parameters, as one writes them on the command line."""
        values = ",".join(f"{name}={_spell(value)}" for name, value in self.parameters.items())
        return f"{self.name}:{values}" if values else self.name

    def __repr__(self) -> str:
        return f"<module {self.spelled}: {self.description}>"


def _spell(value: object) -> str:
    """As it is written on the command line; in quotes if it would be read as something else there."""
    if not isinstance(value, str):
        return json.dumps(value, default=repr)
    try:
        json.JSONDecoder().raw_decode(value)
    except (ValueError, RecursionError):
        return json.dumps(value) if "," in value or not value else value
    return json.dumps(value)


@overload
def module(function: Function) -> Module: ...
@overload
def module(
    *,
    name: str | None = None,
    prepare: Prepare | None = None,
    owner: str | None = None,
    anew: bool = False,
    selects: bool = False,
) -> Callable[[Function], Module]: ...
def module(
    function: Function | None = None,
    *,
    name: str | None = None,
    prepare: Prepare | None = None,
    owner: str | None = None,
    anew: bool = False,
    selects: bool = False,
) -> Module | Callable[[Function], Module]:
    """Makes a function `(asg, ir, hints, *, parameters)` a module. Its name is the function's, with hyphens."""

    def made(f: Function) -> Module:
        text = inspect.getdoc(f)
        if not text:
            raise UsageError(f"the module {f.__name__} needs a docstring: its first line says what it means")
        arguments = list(inspect.signature(f).parameters.values())
        plain = [a for a in arguments if a.kind != inspect.Parameter.KEYWORD_ONLY]
        if len(plain) != 3:
            raise UsageError(
                f"the module {f.__name__} takes {len(plain)} arguments; expected (asg, ir, hints), "
                "and parameters after a *"
            )
        return Module(
            name or f.__name__.replace("_", "-"),
            f,
            text.splitlines()[0],
            owner or _owner(f),
            prepare,
            {a.name: a.default for a in arguments if a.kind == inspect.Parameter.KEYWORD_ONLY},
            anew,
            selects,
        )

    return made if function is None else made(function)


def _owner(f: Function) -> str:
    if (f.__module__ or "").startswith("boomslang."):
        return "boomslang"
    return f.__code__.co_filename if hasattr(f, "__code__") else repr(f)


class Hints:
    """What the trace's `ctx` holds, in the numbers of an ASG, and the parameters of the module."""

    def __init__(self, asg: ASG, parameters: Mapping[str, Any]) -> None:
        self._asg = asg
        self._read: dict[int, dict[str, Any]] = {-1: {}}
        self._names: dict[tuple[type, object], int] | None = None
        self.parameters = parameters

    def _ctx(self, column: Any, row: int) -> dict[str, Any]:
        text = -1 if column is None else int(column[row])
        if text not in self._read:
            self._read[text] = json.loads(self._asg.trace.texts.text(text))
        return self._read[text]

    def transaction(self, t: int) -> dict[str, Any]:
        """The ctx of a transaction of the ASG; empty if it has none."""
        return self._ctx(self._asg.trace.txn_ctx, int(self._asg.txn_of[t]))

    def told(self, transactions: NDArray[np.int64]) -> list[dict[str, Any]]:
        """The ctx of each of these transactions of the ASG; empty where there is none."""
        trace = self._asg.trace
        if trace.txn_ctx is None:
            return [{} for _ in transactions]
        texts = trace.txn_ctx[self._asg.txn_of[transactions]]
        new = [i for i in distinct(texts).tolist() if i not in self._read]
        if new:  # parsed as one text: each is small, and there may be a million
            contents = b",".join([trace.texts.content(i) for i in new])
            self._read.update(zip(new, json.loads(b"[" + contents + b"]"), strict=True))
        return [self._read[i] for i in texts.tolist()]

    def operation(self, row: int) -> dict[str, Any]:
        """The ctx of an operation, by its row in the trace (`asg.read_op`, `asg.write_op`); empty if it has none."""
        return self._ctx(self._asg.trace.op_ctx, row)

    def transactions(self, hint: str) -> dict[int, Any]:
        """The kept transactions whose ctx has this hint, and what it says."""
        if self._asg.trace.txn_ctx is None:
            return {}
        told = ((t, self.transaction(t)) for t in np.flatnonzero(self._asg.ordered).tolist())
        return {t: ctx[hint] for t, ctx in told if hint in ctx}

    def named(self, name: object) -> int | None:
        """The transaction of the ASG that the trace calls so; None if there is none here."""
        if self._names is None:
            trace = self._asg.trace
            names = (trace.names[int(trace.txn_name[int(t)])] for t in self._asg.txn_of)
            self._names = {(type(n), n): t for t, n in enumerate(names)}
        return self._names.get((type(name), name))


Columns = TypeVar("Columns")


def read_only(columns: Columns) -> Columns:
    """A dataclass of arrays whose arrays cannot be written to."""
    changed: dict[str, Any] = {}
    for f in fields(columns):  # type: ignore[arg-type]
        value = getattr(columns, f.name)
        if isinstance(value, np.ndarray) and value.flags.writeable:
            changed[f.name] = value.view()
            changed[f.name].flags.writeable = False
        elif isinstance(value, tuple) and value and isinstance(value[0], np.ndarray):
            views = tuple(v.view() for v in value)
            for v in views:
                v.flags.writeable = False
            changed[f.name] = views
    return replace(columns, **changed)  # type: ignore[type-var]


_TRACES: WeakKeyDictionary[Trace, Trace] = WeakKeyDictionary()
"""Of traces, what modules see of them: parts of one trace are asked about thousands of times."""


def protected(asg: ASG) -> ASG:
    """The ASG as modules see it."""
    trace = _TRACES.get(asg.trace)
    if trace is None:
        trace = _TRACES[asg.trace] = read_only(asg.trace)
    return read_only(replace(asg, trace=trace, lists=read_only(asg.lists)))


def apply(modules: tuple[Module, ...], ir: IR) -> None:
    """Lets the modules say what they know, one after the other, and keeps who said what."""
    for m in modules:
        ir.begin_module(m.spelled)
        with blamed_on(m):
            in_time(m.name, partial(m, ir.asg, ir, Hints(ir.asg, m.parameters)))
            _sensible(ir)
        ir.end_module()


def _sensible(ir: IR) -> None:
    """The engine trusts what it is given; a module may err."""
    for sources, targets, _ in ir.graph.chunks[ir.told[-1].chunks :]:
        nodes = np.concatenate([sources, targets])
        if len(sources) != len(targets) or (
            len(nodes) and not 0 <= nodes.min() <= nodes.max() < ir.graph.nodes
        ):
            raise UsageError(f"it adds an edge to a node that is not there; there are {ir.graph.nodes}")
        if (sources == targets).any():
            raise UsageError("it adds an edge from a node to itself")


def prepare(asg: ASG, modules: tuple[Module, ...]) -> ASG:
    """The ASG that these modules make of it, and which holds them for lowering."""
    deaf = [m.name for m in modules if not m.selects]
    if deaf and asg.entries is not None:
        raise UsageError(
            f"the trace has selects, and the module {deaf[0]} does not know what these say of rows; ask without it "
            "(session and real-time order are levels, too)"
        )
    anew = [m.name for m in modules if m.anew]
    if len(anew) > 1:
        raise UsageError(
            f"{' and '.join(anew)} each read the trace anew, so one would undo the other; give one of them"
        )
    for m in sorted(modules, key=lambda m: not m.anew):
        m.ready()
        if m.prepare is None:
            continue
        with blamed_on(m):
            asg = in_time(m.name, partial(m.prepare, asg, Hints(asg, m.parameters)))
    return replace(asg, modules=modules)


@contextmanager
def blamed_on(m: Module) -> Iterator[None]:
    """What goes wrong in here is told as the module's."""
    try:
        yield
    except LimitReached:
        raise
    except UsageError as problem:
        raise UsageError(f"module {m.name}{at_line(problem, ' at ')}: {problem}") from None
    except Exception as problem:
        where = at_line(problem, " at ")
        raise UsageError(f"module {m.name} failed{where}: {type(problem).__name__}: {problem}") from problem
