"""Loads to put on a database: seeded, scalable, each a small file. `boomslang workloads` lists them."""

from __future__ import annotations

from collections.abc import Mapping

from boomslang.errors import UsageError, did_you_mean
from boomslang.workloads.bank import Bank
from boomslang.workloads.blindw import BlindW, BlindWE, BlindWRM, BlindWRW, BlindWT
from boomslang.workloads.file_system import FileSystem
from boomslang.workloads.insert_if_absent import InsertIfAbsent, InsertIfNone, InsertIfNoNext
from boomslang.workloads.list_append import ListAppend
from boomslang.workloads.locking_read import ReadThenLockingRead
from boomslang.workloads.random_mix import RandomBench, RandomRange, RandomRMWRange
from boomslang.workloads.retwis import Retwis
from boomslang.workloads.rubis import Rubis
from boomslang.workloads.same_value import SameValue
from boomslang.workloads.tpcc import TPCC
from boomslang.workloads.twitter import Twitter
from boomslang.workloads.workload import Client, Draw, GiveUp, Settings, Transaction, Workload

WORKLOADS: Mapping[str, type[Workload]] = {
    workload.name: workload
    for workload in (
        BlindW,
        BlindWRW,
        BlindWRM,
        BlindWT,
        BlindWE,
        RandomBench,
        RandomRange,
        RandomRMWRange,
        TPCC,
        Rubis,
        Twitter,
        Retwis,
        ListAppend,
        Bank,
        FileSystem,
        InsertIfAbsent,
        InsertIfNone,
        InsertIfNoNext,
        ReadThenLockingRead,
        SameValue,
    )
}


def find_workload(name: str) -> type[Workload]:
    """A workload by its name, however it is spelled."""
    plain = {known.replace("-", ""): known for known in WORKLOADS}
    found = plain.get(name.lower().replace("-", "").replace("_", "").replace(" ", ""))
    if found is None:
        meant = did_you_mean(name.lower(), WORKLOADS)
        raise UsageError(
            f"found the unknown workload {name!r}{meant}; expected one of {', '.join(WORKLOADS)} "
            "(see `boomslang workloads`)"
        )
    return WORKLOADS[found]


__all__ = [
    "WORKLOADS",
    "Client",
    "Draw",
    "GiveUp",
    "Settings",
    "Transaction",
    "Workload",
    "find_workload",
]
