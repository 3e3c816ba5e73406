"""A counterexample: the core, the argument and the anomaly's name, ready to be shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from boomslang.asg.graph import ASG, IMPOSSIBLE, OUT, PRESENT, SEVERAL
from boomslang.certify.certificate import Core
from boomslang.explain.anomalies import FUTURE, G1A, G1B, INTERNAL, THIN_AIR, Anomaly, name_anomaly
from boomslang.explain.argument import Argument, Contradiction, Step
from boomslang.explain.core import MinimalCore, shrink
from boomslang.explain.known import clashes
from boomslang.explain.likely import Likely, what_probably_happened
from boomslang.explain.lists import impossible
from boomslang.explain.modules import what_modules_said
from boomslang.explain.names import Names, listed, short
from boomslang.explain.operation_words import selected
from boomslang.explain.parts import Parts
from boomslang.explain.patience import now
from boomslang.explain.proved import Proved
from boomslang.explain.prover import PATIENCE, argue
from boomslang.explain.smallest import TOLD_IN_STEPS, smallest
from boomslang.ir.model import ambiguous_reads
from boomslang.levels import Level, minimal
from boomslang.solve.solution import Limits
from boomslang.trace.errors import LimitReached
from boomslang.trace.model import ABSENT, Flag, Kind, Operation, Outcome, Trace
from boomslang.trace.scalars import Absent, same, typed

MOST_TRANSACTIONS, MOST_OPERATIONS, MOST_LINES = 30, 8, 60
"""That a story shows: transactions, operations of each of them, and lines of the argument."""
FEW_TRANSACTIONS = 8
"""More are summed up before they are listed."""
MANY_TRANSACTIONS = 12
"""With more, what probably happened says more than the core."""
LONGEST_STORY = 14
"""Lines of a story that a person reads to its end; where values repeat, steps are told together to keep to it."""
MANY_LINES = 12
"""Of an argument where values repeat: the same."""
BRIEFLY = 60
"""Patience (see prover.py) with which a short argument is found, if there is one."""
MOMENT = 2.0
"""Seconds in which that is looked for."""
SHRINKING, GUESSING = 0.5, 0.8
"""Of the time that there is: when to stop making the core smaller, and when to stop looking for what happened."""


@dataclass(frozen=True, eq=False)
class Counterexample:
    """Why a trace breaks a level."""

    trace: Trace
    core: Core
    argument: Argument | None
    """None: refuted, but no argument of readable length was found."""
    anomaly: Anomaly | None
    minimal: bool
    candidates: tuple[int, ...] = ()
    """Transactions outside the core that the core's reads may have seen; the argument may mention them."""
    part: ASG | None = None
    """The core and those, in whose numbers the edges of the argument are; None: they are in the trace's."""
    likely: Likely | None = None
    """Of a core with many transactions: what probably happened."""
    proved: Proved | None = None
    """Of a proof by counting or states: its sentence and its numbers."""

    def transactions(self) -> Iterator[str]:
        """A line for each transaction of the core, with those of its operations that matter."""
        spoken_of = set() if self.argument is None else set(self.argument.operations())
        for _, line in self._described((*self.core.transactions, *self.candidates), spoken_of):
            yield line

    def _described(self, transactions: Iterable[int], spoken_of: set[int]) -> Iterator[tuple[int, str]]:
        keys = {key for _, key in self.core.reads}
        for t in transactions:
            view = self.trace.transaction(t)
            outcome = "" if view.outcome == Outcome.COMMITTED else f" {view.outcome.name.lower()}"
            session = "" if view.session is None else f" session {short(view.session)}"
            name = "" if view.name is None else f" transaction {short(view.name)}"
            said = [
                short(told) for note in ("node", "level") if (told := (view.ctx or {}).get(note)) is not None
            ]
            place = f" at {', '.join(said)}" if said else ""
            fine = [o for o in view.operations if o.error is None]
            told = (_describe(self.trace, o, self.core, keys, o.index in spoken_of) for o in fine)
            ops = [text for text in told if text]
            if len(ops) > MOST_OPERATIONS:
                ops = [*ops[:MOST_OPERATIONS], f"... and {len(ops) - MOST_OPERATIONS} more operations"]
            yield t, f"T{t}:{session}{name}{place}{outcome} ({view.where}): " + "; ".join(ops)

    @property
    def cut_short(self) -> bool:
        """Did time run out while it was made smaller? (A proof by counting or states holds all that it needs.)"""
        return not self.minimal and self.core.proof is None

    @cached_property
    def rules_out(self) -> list[Level]:
        """The levels that the core alone breaks."""
        from boomslang.explain.ruled_out import ruled_out

        return ruled_out(self)

    def lines(self) -> Iterator[str]:
        """The whole story."""
        if self.anomaly is not None:
            yield f"{self.anomaly.code} ({self.anomaly.name}): {self.anomaly.meaning}"
        if self.rules_out:
            titles = [level.title for level in minimal(self.rules_out)]
            these = f"{', '.join(titles[:-1])} and {titles[-1]}" if len(titles) > 1 else titles[0]
            yield f"rules out {these}, and all that imply {'one of them' if len(titles) > 1 else 'it'}"
        if self.likely is not None or self.proved is not None:
            yield from self._in_short()
            return
        inside, beside = len(self.core.transactions), len(self.candidates)
        if inside + beside > FEW_TRANSACTIONS:
            yield self._summary()
        for line in islice(self.transactions(), MOST_TRANSACTIONS):
            yield f"  {line}"
        if inside + beside > MOST_TRANSACTIONS:
            yield f"  ... and {inside + beside - MOST_TRANSACTIONS} more transactions"
        if self.argument is None:
            yield "Every order of these transactions was refuted, but the argument has too many cases to be told."
            return
        story = list(self.argument.lines())
        if self.part is not None and bool((self.part.read_writer == SEVERAL).any()):
            above = 1 + (self.anomaly is not None) + inside + beside + (inside + beside > FEW_TRANSACTIONS)
            story = self.argument.folded(LONGEST_STORY - above)
        yield from story[:MOST_LINES]
        if len(story) > MOST_LINES:
            yield f"... and {len(story) - MOST_LINES} more lines"

    def _repr_html_(self) -> str:
        """In a notebook: a graph, a timeline and the story."""
        from boomslang.report.notebook import counterexample_html

        return counterexample_html(self)

    def _in_short(self) -> Iterator[str]:
        """The proof in a sentence, and what probably happened; else a few of those that it speaks of."""
        if self.proved is not None:
            yield f"=> {self.proved.text}"
        else:
            yield self._summary()
            yield self._how_proved()
        likely = self.likely
        if likely is None:
            assert self.proved is not None
            some = self.proved.examples
            yield "Some of them:" if len(some) > 1 else "It is:"
            yield from (f"  {line}" for _, line in self._described(some, set(self.proved.operations)))
            return
        yield f"What probably happened, {likely.how}:"
        for _, line in self._described(likely.transactions, set(likely.argument.operations())):
            yield f"  {line}"
        if likely.when and not any(step.text == likely.when for step in likely.argument.steps):
            yield f"  {likely.when}"
        for step in likely.argument.steps:
            yield f"  {step.text}"
        assert likely.argument.contradiction is not None
        yield f"  => {likely.argument.contradiction.text}"

    def _how_proved(self) -> str:
        """Where the argument is that takes too many lines, if there is one."""
        if self.argument is None:
            return "Every order of these was refuted, in too many cases to be told."
        return f"Every order of these was refuted, in {self.argument.length:,} lines; --json and --report have them."

    def _summary(self) -> str:
        """One line for a core that takes many."""
        sessions = len({int(self.trace.txn_session[t]) for t in self.core.transactions})
        keys = len({key for _, key in self.core.reads})
        text = f"in short: {len(self.core.transactions)} transactions of {sessions} sessions"
        text += f", {len(self.core.reads)} reads of {keys} keys"
        if self.candidates:
            text += f"; {len(self.candidates)} more whose writes they may have read"
        end = None if self.argument is None else self.argument.contradiction
        return text if end is None else f"{text}; they end in {end.text}"

    def to_json(self) -> dict[str, Any]:
        from boomslang.trace.rows import what_was_read

        anomaly = self.anomaly
        return {
            "anomaly": None
            if anomaly is None
            else {"code": anomaly.code, "name": anomaly.name, "meaning": anomaly.meaning},
            "minimal": self.minimal,
            "transactions": [self._txn_json(t) for t in self.core.transactions],
            "reads": [
                {
                    "operation": op,
                    "key": _json(what_was_read(self.trace, key)),
                    "where": self.trace.operation(op).where,
                }
                for op, key in self.core.reads
            ],
            "argument": None if self.argument is None else self.argument.to_json(),
            "proof": None if self.proved is None else {"text": self.proved.text, **self.proved.numbers},
            "likely": None
            if self.likely is None
            else {
                "how": self.likely.how,
                "when": self.likely.when or None,
                "name": self.likely.anomaly.name,
                "transactions": [self._txn_json(t) for t in self.likely.transactions],
                **self.likely.argument.to_json(),
            },
        }

    def _txn_json(self, t: int) -> dict[str, Any]:
        view = self.trace.transaction(t)
        return {
            "index": t,
            "name": _json(view.name),
            "session": view.session,
            "outcome": view.outcome.name.lower(),
            "where": view.where,
        }


def _json(x: object) -> object:
    return {"bytes": x.hex()} if isinstance(x, bytes) else x


def _describe(trace: Trace, o: Operation, core: Core, keys: set[int], spoken_of: bool) -> str:
    """An operation, if it has to do with the core's keys, or the argument speaks of it."""
    from boomslang.trace.rows import keys_of

    mine = {k for op, k in core.reads if op == o.index}
    touches = spoken_of or any(same(o.key, trace.keys[i]) for k in keys for i in keys_of(trace, k))
    value = "absent" if o.value is Absent else short(o.value)
    if o.kind == Kind.PUT and touches:
        return f"put {short(o.key)} = {value}"
    if o.kind == Kind.DELETE and touches:
        found = "" if o.found is None else " -> found" if o.found else " -> nothing"
        return f"delete {short(o.key)}{found}"
    if o.kind == Kind.APPEND and touches:
        return f"append {value} to {short(o.key)}"
    if o.kind == Kind.GET and spoken_of:
        return f"get {short(o.key)} -> {value}"
    if not mine:
        return ""
    if o.kind == Kind.LIST:
        return f"list {short(o.key)} -> {listed(o.elements)}"
    if o.kind == Kind.GET:
        return f"get {short(o.key)} -> {value}"
    if o.kind == Kind.SELECT:
        return selected(trace, o, mine)
    what = "scan" if o.kind == Kind.SCAN else "next"
    returned: dict[object, object] = {typed(k): v for k, v in o.items}
    if o.kind == Kind.NEXT and not o.end:
        returned = {typed(o.key): o.value}
    seen = []
    for k in sorted(mine):
        key = trace.keys[k]
        seen.append(f"{short(key)} -> {short(returned[typed(key)]) if typed(key) in returned else 'absent'}")
    return f"{what}: " + ", ".join(seen)


def explain(
    asg: ASG,
    level: Level,
    found: Parts,
    seconds: float | None = None,
    *,
    smaller: bool = True,
    briefly: bool = False,
) -> Counterexample:
    """Shrinks a refuted part of a trace and says why it breaks the level. With `smaller`, looks whether another part
    needs less. With `briefly`, only for an argument of a few cases, as something else explains it as well."""
    begin = now()

    def left(share: float) -> float | None:
        """Of this share of the time, what is left."""
        return None if seconds is None else share * seconds - (now() - begin)

    made = shrink(asg, level, found, left(SHRINKING))
    rest = left(SHRINKING)
    if smaller and (rest is None or rest > 0):
        made = smallest(asg, level, made, rest)
    likely = None
    large = len(made.core.transactions) > MANY_TRANSACTIONS
    if large:  # before the argument, which may take all the time there is
        rest = left(GUESSING)
        likely = what_probably_happened(
            asg, level, made.core.transactions, MOMENT if rest is None else max(0.2, rest)
        )
    argument: Argument | None
    anomaly: Anomaly | None
    try:
        if (at_once := direct(asg, made)) is not None:
            argument, anomaly = at_once
        elif (said := what_modules_said(made.asg, level)) is not None:
            argument, anomaly = _with_cycle(made.asg, level, said)
        else:
            argument = anomaly = None
            if likely is None or len(made.core.transactions) <= TOLD_IN_STEPS:
                rest = left(1.0)
                patience = BRIEFLY if briefly or likely is not None else PATIENCE
                argument = argue(made.asg, level, None if rest is None else max(0.1, rest), patience=patience)
                anomaly = name_anomaly(level, argument)
    except LimitReached:  # a module that was asked again had no time to say it again
        argument, anomaly = None, None
    argument = argument and argument.hoisted()
    if not large and not briefly and _takes_long(made, argument):
        rest = left(1.0)
        seconds = MOMENT if rest is None else max(0.2, rest)
        likely = what_probably_happened(asg, level, made.core.transactions, seconds)
    candidates = _candidates(made, argument)
    if likely is not None:
        candidates = tuple(sorted({*candidates, *likely.transactions} - {*made.core.transactions}))
        anomaly = anomaly or likely.anomaly
    return Counterexample(asg.given, made.core, argument, anomaly, made.minimal, candidates, made.asg, likely)


def _takes_long(made: MinimalCore, argument: Argument | None) -> bool:
    """Are the values to blame for an argument that nobody reads to its end?"""
    return ambiguous_reads(made.asg) > 0 and (argument is None or argument.length > MANY_LINES)


def _with_cycle(part: ASG, level: Level, said: Argument) -> tuple[Argument, Anomaly | None]:
    """What modules said, and the cycle that it makes, if what is known shows one."""
    found = clashes(part, level, Limits(), 1).found
    if not found:
        return said, None
    return replace(said, contradiction=Contradiction(found[0].text)), found[0].anomaly


def _candidates(made: MinimalCore, argument: Argument | None) -> tuple[int, ...]:
    """Whom the core's reads may have seen, and whom else the argument speaks of."""
    trace, inside = made.asg.trace, set(made.core.transactions)
    candidates = set(made.asg.txn_of.tolist()) - inside
    spoken = set() if argument is None else {trace.owner(row) for row in argument.operations()} - inside
    if argument is not None and len(made.asg.lists.key):
        # A list may hold hundreds of transactions, and the argument speak of two.
        numbers = {int(number) for number in re.findall(r"\bT(\d+)", "\n".join(argument.lines()))}
        candidates &= numbers
    return tuple(sorted(candidates | spoken))


def direct(whole: ASG, made: MinimalCore) -> tuple[Argument, Anomaly] | None:
    """The argument where one read is enough: it contradicts its transaction, or nobody can have written it."""
    asg = made.asg
    names = Names(asg)
    if len(asg.broken):
        txn, op, key, seen, own = (int(column[asg.broken[0]]) for column in asg.internal)
        rows = (*_wrote(asg.trace, op, asg.base_key(key)), op)
        steps = _committed(asg, names, txn)
        if asg.trace.op_kind[op] == Kind.LIST:
            saw = listed(asg.trace.operation(op).elements)
            what = f"{names.txn(txn)} read {names.key(key)} = {saw}{names.at([op])}"
            text = f"{what}, which does not end with its own appends"
            return Argument(steps, Contradiction(text, (), steps, rows)), INTERNAL
        if (place := asg.entry(key)) is not None:
            text = (
                f"{names.txn(txn)} read {names.key(key)} = {names.matched(place, seen)}{names.at([op])}, "
                f"against its own writes{names.at(rows[:-1])}"
            )
            return Argument(steps, Contradiction(text, (), steps, rows)), INTERNAL
        text = (
            f"{names.txn(txn)} read {names.key(key)} = {names.value(seen)}{names.at([op])}, "
            f"though its own latest write of it was {names.value(own)}{names.at(rows[:-1])}"
        )
        return Argument(steps, Contradiction(text, (), steps, rows)), INTERNAL
    if not len(asg.orphans):
        return None
    r = int(asg.orphans[0])
    reader = int(np.searchsorted(asg.read_start, r, side="right")) - 1
    key, pattern = int(asg.read_key[r]), int(asg.read_value[r])
    row = int(asg.read_op[r])
    steps = _committed(asg, names, reader)

    def ends(text: str, *rows: int) -> Argument:
        return Argument(steps, Contradiction(text, (), steps, rows))

    seen_text = f"{names.txn(reader)} read {names.key(key)} = {names.seen(r)}{names.at([row])}"
    if pattern == IMPOSSIBLE:
        why, anomaly = impossible(asg.trace, row)
        return ends(f"{seen_text}, {why}", row), anomaly
    old_reader, old_key = int(asg.txn_of[reader]), asg.trace_key(key)
    matching = asg.writes_of(key, pattern)
    writes = dict(zip(asg.write_txn[matching].tolist(), asg.write_op[matching].tolist(), strict=True))
    writers = [w for w in writes if w != reader]
    out = [w for w in (*writers, *asg.lists.blocks(r).tolist()) if asg.state[w] == OUT]
    if out:
        w = out[0]
        why = (
            "aborted"
            if asg.outcome[w] == Outcome.ABORTED
            else "contradicts itself and so cannot have committed"
        )
        by = "part of which" if asg.trace.op_kind[row] == Kind.LIST else "which only"
        rows = (row, writes[w]) if w in writes else (row,)
        text = f"{seen_text}, {by} {names.txn(w)} wrote{names.at(rows[1:])}, and {names.txn(w)} {why}"
        return ends(text, *rows), G1A
    if reader in writes:
        text = f"{seen_text}, which only {names.txn(reader)} itself wrote, later{names.at([writes[reader]])}"
        return ends(text, row, writes[reader]), FUTURE
    txns, keys, values, written = whole.intermediate
    entry = asg.entry(key) is not None
    fits = values != ABSENT if entry and pattern == PRESENT else values == pattern
    hidden = np.flatnonzero((keys == old_key) & fits & (txns != old_reader))
    if len(hidden):
        first = int(written[hidden[0]])
        text = (
            f"{seen_text}, which T{int(txns[hidden[0]])} wrote{names.at([first])} and then overwrote itself"
        )
        return ends(text, row, first), G1B
    if len(asg.initial_by) and asg.initial_by[key] >= 0:
        first = int(asg.initial_by[key])
        other = names.value(int(asg.read_value[first]))
        text = (
            f"{seen_text}, and another read saw {other}{names.at([int(asg.read_op[first])])}; "
            "nobody wrote either, and a key has one initial value"
        )
        return ends(text, row, int(asg.read_op[first])), THIN_AIR
    if entry:
        return ends(f"{seen_text}, and no version that anybody wrote makes it one", row), THIN_AIR
    what = "which was there at first, and nobody deleted it" if pattern == ABSENT else "and nobody wrote that"
    return ends(f"{seen_text}, {what}", row), THIN_AIR


def _committed(asg: ASG, names: Names, txn: int) -> tuple[Step, ...]:
    """Why a transaction of unknown outcome must have committed: a read saw what only it wrote. Nothing, if the trace
    says that it did."""
    if asg.trace.txn_outcome[int(asg.txn_of[txn])] != Outcome.UNKNOWN or asg.forced_by[txn] < 0:
        return ()
    read = int(asg.forced_by[txn])
    row, key = int(asg.read_op[read]), int(asg.read_key[read])
    reader = names.txn(int(asg.read_txn[read]))
    text = (
        f"{reader} read {names.key(key)} = {names.seen(read)}{names.at([row])}, which only {names.txn(txn)} wrote, "
        f"so {names.txn(txn)}, whose outcome is unknown, must have committed"
    )
    return (Step(text, number=1, operations=(row,)),)


def _wrote(trace: Trace, row: int, key: int) -> tuple[int, ...]:
    """The latest write of a key that the transaction of this operation made before it."""
    before = np.arange(int(trace.txn_ops[trace.owner(row)]), row)
    kinds = np.isin(trace.op_kind[before], (Kind.PUT, Kind.DELETE, Kind.APPEND))
    fine = trace.op_flags[before] & (Flag.ERROR | Flag.NOTHING) == 0
    return tuple(before[kinds & fine & (trace.op_key[before] == key)][-1:].tolist())
