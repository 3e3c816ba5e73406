"""Whatever people call a level: it is found, or known and not supported, and it is never another one."""

from __future__ import annotations

import pytest

from boomslang.errors import UsageError
from boomslang.levels import LEVELS, find_level, implies, names_of
from boomslang.levels.names import ALSO, ELSEWHERE, NOT_SUPPORTED
from boomslang.modules import known_modules

ELLE = [
    "consistent-view",
    "conflict-serializable",
    "cursor-stability",
    "forward-consistent-view",
    "monotonic-snapshot-read",
    "monotonic-view",
    "read-committed",
    "read-uncommitted",
    "repeatable-read",
    "serializable",
    "snapshot-isolation",
    "strict-serializable",
    "strong-serializable",
    "update-serializable",
    "strong-session-read-uncommitted",
    "strong-session-read-committed",
    "strong-read-uncommitted",
    "strong-read-committed",
    "PL-1",
    "PL-2",
    "PL-2+",
    "PL-2L",
    "PL-2.99",
    "PL-3",
    "PL-3U",
    "PL-CS",
    "PL-FCV",
    "PL-MSR",
    "PL-SI",
    "PL-SS",
    "strong-session-PL-1",
    "strong-session-PL-2",
    "strong-PL-1",
    "strong-PL-2",
    "causal-cerone",
    "view-serializable",
    "monotonic-atomic-view",
    "parallel-snapshot-isolation",
    "update-atomic",
    "ROLA",
    "prefix",
    "read-atomic",
    "session-serializable",
    "1SR",
    "strong-session-serializable",
    "strong-session-snapshot-isolation",
    "strong-snapshot-isolation",
    "linearizable",
    "sequential",
    "causal",
    "writes-follow-reads",
    "PRAM",
    "monotonic-reads",
    "monotonic-writes",
    "read-your-writes",
]
ADYA = [
    "PL-1",
    "PL-2",
    "PL-CS",
    "PL-2L",
    "PL-MSR",
    "PL-2+",
    "PL-FCV",
    "PL-2.99",
    "PL-SI",
    "PL-3U",
    "PL-3",
    "PL-SS",
    "EPL-2",
    "EPL-2+",
    "EPL-3",
    "Degree 1",
    "Degree 2",
    "Degree 3",
]
DBCOP = [
    "committed-read",
    "atomic-read",
    "repeatable-read",
    "causal",
    "prefix",
    "snapshot-isolation",
    "serializable",
    "CommittedRead",
]
PLUME = ["RC", "RA", "TCC", "read committed", "read atomicity", "transactional causal consistency"]
ISOVISTA = [
    "READ_UNCOMMITTED",
    "READ_COMMITTED",
    "REPEATABLE_READ",
    "READ_ATOMICITY",
    "CAUSAL_CONSISTENCY",
    "SNAPSHOT_ISOLATION",
    "SERIALIZABLE",
    "SERIALIZATION",
]
AWDIT = ["read-committed", "read-atomic", "causal"]
VIPER = [
    "Adya SI",
    "GSI",
    "strong session SI",
    "strong SI",
    "generalized snapshot isolation",
    "serializability",
]


def test_where_a_module_does_it_that_is_said() -> None:
    modules = {known.module for known in NOT_SUPPORTED} - {""}
    assert modules and modules <= set(known_modules())
    for name in ("monotonic reads", "InnoDB repeatable read"):
        with pytest.raises(UsageError, match=r"the module \S+ asks for it beside a level: --module"):
            find_level(name)


@pytest.mark.parametrize("name", [*ELLE, *ADYA, *DBCOP, *PLUME, *ISOVISTA, *AWDIT, *VIPER])
def test_names_of_others_are_known(name: str) -> None:
    try:
        find_level(name)
    except UsageError as error:
        assert "is known, but not supported" in str(error)


SAME = {
    "PL-1": "ru", "PL-2": "rc", "PL-CS": "cs", "PL-2+": "pl-2+", "psi": "pl-2+", "PL-FCV": "pl-fcv", "PL-2.99": "rr",
    "PL-SI": "si", "PL-3": "ser", "PL-SS": "sser", "strong-PL-2+": "pl-fcv", "strong-session-PL-2": "strong-session-rc",
    "committed-read": "rc-be", "atomic-read": "strong-session-ra", "session-serializable": "strong-session-ser",
    "view-serializable": "ser", "causal-cerone": "causal", "gsi": "si", "strong-serializable": "sser", "ramp": "ra",
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_a_name_means_this(name: str) -> None:
    assert find_level(name).short == SAME[name]


@pytest.mark.parametrize(
    "name",
    [
        "snapshot isolation",
        "SNAPSHOT_ISOLATION",
        "SnapshotIsolation",
        " snapshot - isolation ",
        ":PL-SI",
        "pl_si",
    ],
)
def test_how_a_name_is_written_does_not_matter(name: str) -> None:
    assert find_level(name).name == "snapshot-isolation"


def test_every_name_means_one_thing() -> None:
    owners: dict[str, set[str]] = {}
    for level in LEVELS:
        for name in (*names_of(level), level.title):
            assert find_level(name) is level
            owners.setdefault(squeezed(name), set()).add(level.name)
    for known in NOT_SUPPORTED:
        for name in (known.name, *known.aliases):
            owners.setdefault(squeezed(name), set()).add(known.name)
    assert {name: who for name, who in owners.items() if len(who) > 1} == {}


def squeezed(name: str) -> str:
    return name.lower().replace("-", "").replace(" ", "").replace("_", "")


@pytest.mark.parametrize("known", NOT_SUPPORTED, ids=lambda known: known.name)
def test_what_is_not_supported_is_answered_with_its_nearest_levels(known: object) -> None:
    from boomslang.levels.names import NotSupported

    assert isinstance(known, NotSupported)
    assert known.stronger or known.weaker
    for name in (known.name, *known.aliases):
        with pytest.raises(UsageError) as raised:
            find_level(name.upper().replace("-", " "))
        for near in (*known.stronger, *known.weaker):
            assert f"{near} ({find_level(near).short})" in str(raised.value)
    for above in map(find_level, known.stronger):
        assert all(implies(above, below) for below in map(find_level, known.weaker))


def test_what_others_mean_exists_here() -> None:
    names = {level.name for level in LEVELS}
    assert set(ALSO) <= names
    assert {known.level for known in ELSEWHERE} - {None} <= names
    assert all(known.note for known in ELSEWHERE if known.level is None)


def test_a_word_that_nobody_knows() -> None:
    with pytest.raises(
        UsageError, match=r"unknown level 'serialisble' \(did you mean ser\?\); known levels: read-unc"
    ):
        find_level("serialisble")
    with pytest.raises(UsageError, match=r"\(did you mean linearizable\?\)"):
        find_level("linearizabel")
    with pytest.raises(UsageError, match=r"unknown level 'xyzzy'; known"):
        find_level("xyzzy")
