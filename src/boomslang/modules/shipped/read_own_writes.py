"""What a read sees of its own transaction's earlier writes: databases differ.

    must      its own latest write: the textbook's
    external  what others wrote, as if it had not written: writes are kept aside until the commit
    either    both are fine
    inferred  the verdict of `either`, and which policy the trace fits

It holds key by key inside scans and iterators, and for own deletes. (An own write made while an iterator is open is
`either` for that iterator under every policy.)
"""

from dataclasses import replace

from boomslang.asg.graph import ASG, OWN_WRITES, build_asg
from boomslang.errors import UsageError
from boomslang.ir.model import IR
from boomslang.modules.module import Hints, module


def read_again(asg: ASG, hints: Hints) -> ASG:
    """The ASG under the policy."""
    policy = hints.parameters["policy"]
    if policy not in (*OWN_WRITES, "inferred"):
        raise UsageError(f"unknown policy {policy!r}; known: {', '.join((*OWN_WRITES, 'inferred'))}")
    if policy != "inferred":
        return build_asg(asg.trace, own_writes=policy)
    made = build_asg(asg.trace, own_writes="either")
    return replace(made, notes=(f"read-own-writes: {_fit(*made.own_reads)}",))


def _fit(own: int, other: int) -> str:
    if not own and not other:
        return "no read comes after an own write of its key, so every policy fits"
    fits = "either" if own and other else "must" if own else "external"
    return f"the trace fits `{fits}`: after an own write {own} reads saw it and {other} did not"


@module(prepare=read_again, anew=True)
def read_own_writes(asg: ASG, ir: IR, hints: Hints, *, policy: str) -> None:
    """Reads after own writes: policy=must, external, either or inferred."""
