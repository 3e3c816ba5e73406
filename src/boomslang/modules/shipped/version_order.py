"""A known version order, as a white box knows it: from the log, change-data capture, or version numbers.

In `ctx`, on a put or delete: `version`, its place among the versions of that key; on a transaction, for all it wrote:
`cdc`, its position in the change log, or `commit`, its commit timestamp (modules/version_hints.py). On either:
`overwrites`, the name of a transaction (or a list) whose versions are older. What has no such hint stays open: the
order may be partial. (The order of lists is known without any hint.)
"""

import numpy as np

from boomslang.asg.graph import ASG
from boomslang.ir.model import IR
from boomslang.modules.module import Hints, module
from boomslang.modules.version_hints import SCALES, Place, places
from boomslang.modules.version_relations import in_order, put_before


@module
def version_order(asg: ASG, ir: IR, hints: Hints) -> None:
    """Versions are in the order that ctx tells: `version`, `cdc`, `commit` or `overwrites`."""
    said = 0
    for key in np.flatnonzero(np.diff(asg.key_start) > 1).tolist():
        ranked: dict[str, list[tuple[Place, int]]] = {scale: [] for scale in SCALES}
        writers = ir.writers(key)
        for i in range(int(asg.key_start[key]), int(asg.key_start[key + 1])):
            t = int(asg.write_txn[i])
            if t not in writers or not asg.ordered[t]:
                continue
            operation, transaction = hints.operation(int(asg.write_op[i])), hints.transaction(t)
            for scale, place in places(operation, transaction).items():
                ranked[scale].append((place, t))
            for ctx in (operation, transaction):
                names = ctx.get("overwrites", [])
                for name in names if isinstance(names, list) else [names]:
                    older = hints.named(name)
                    if older in writers and older != t and asg.ordered[older]:
                        put_before(ir, key, older, t)
                        said += 1
        for positions in ranked.values():
            in_order(ir, key, positions)
            said += len(positions)
    if not said:
        ir.notes.append("no transaction or operation has such a hint")
