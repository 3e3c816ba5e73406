"""What an operation did and what came of it, in a few words: "get 'x' -> 1"."""

from __future__ import annotations

from boomslang.explain.names import short
from boomslang.trace.model import Kind, Operation, Trace
from boomslang.trace.scalars import Absent, Unbounded, typed

ITEMS = 20
"""Items of one scan, or elements of one list, that are shown."""


def deed(o: Operation) -> str:
    """What was done, and what came of it."""
    key = "" if o.key is Absent else f" {short(o.key)}"
    value = "" if o.value is Absent else short(o.value)
    came = o.error is None
    match o.kind:
        case Kind.PUT:
            return f"put{key} = {value}" if value else f"put{key}"
        case Kind.APPEND:
            return f"append{key} + {value}" if value else f"append{key}"
        case Kind.GET:
            return f"get{key}" + (f" -> {value or 'absent'}" if came or value else "")
        case Kind.DELETE:
            return f"delete{key}" + ("" if o.found is None else " -> found" if o.found else " -> nothing")
        case Kind.LIST:
            return f"list{key}" + (
                f" -> [{_several(list(map(short, o.elements)))}]" if came or o.elements else ""
            )
        case Kind.SCAN:
            pairs = [f"{short(k)} = {short(v)}" for k, v in o.items]
            return f"scan {_range(o)}" + (f" -> {_several(pairs) or 'nothing'}" if came or pairs else "")
        case Kind.SELECT:
            pairs = [f"{short(k)} = {short(v)}" for k, v in o.items]
            return f"select{asked(o)}" + (f" -> {_several(pairs) or 'nothing'}" if came or pairs else "")
        case Kind.ITERATOR:
            return f"iterator {o.iterator} over {_range(o)}"
        case Kind.NEXT:
            of = f" of iterator {o.iterator}" if o.iterator >= 0 else ""
            result = " -> end" if o.end else f" ->{key} = {value}" if key and value else ""
            return f"next{of}{result}"
        case _:
            return o.kind.name.lower()


def asked(o: Operation) -> str:
    """What a select asked: " from doctors where on_call = true"."""
    if o.asked is None:
        return ""
    from boomslang.trace.conditions import in_words, parse

    condition = parse(o.asked)
    return f" from {condition.table} {in_words(condition)}".rstrip()


def selected(trace: Trace, o: Operation, reads: set[int]) -> str:
    """A select, and what came of these of its reads."""
    from boomslang.trace.rows import row_of, what_was_read

    returned = {typed(k): v for k, v in o.items}
    seen = []
    for number in sorted(reads):
        name = what_was_read(trace, number)
        if number < len(trace.keys):
            seen.append(f"{short(name)} -> {short(returned.get(typed(name)))}")
        else:
            row = row_of(trace, number)
            seen.append(f"{row} -> {'matched' if typed(row) in returned else 'no match'}")
    return f"select{asked(o)}: " + ", ".join(dict.fromkeys(seen))


def _range(o: Operation) -> str:
    if o.lo is Unbounded and o.hi is Unbounded:
        return "everything"
    return f"[{'...' if o.lo is Unbounded else short(o.lo)}, {'...' if o.hi is Unbounded else short(o.hi)})"


def _several(texts: list[str]) -> str:
    left = len(texts) - ITEMS
    return ", ".join(texts[:ITEMS]) + (f", ... and {left:,} more" if left > 0 else "")
