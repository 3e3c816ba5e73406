"""Between which versions a violation appears or goes: the search, and what is said of how sure it is."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from boomslang.cli.bisected_hunt import in_words
from boomslang.cli.main import main
from boomslang.databases.servers.versions import between, fits, near, newest, numbers
from boomslang.errors import UsageError
from boomslang.run.bisect import DOUBT, Asked, Bisected, bisect, commits_wanted

VERSIONS = [f"12.{n}" for n in range(9)]


def simulated(
    broken: set[str], rng: random.Random, *, every: int = 500, time: int = 20_000, missing: str = ""
) -> Callable[[str, int, int | None], Asked]:
    """A database whose broken versions show it in each commit with the chance 1 / every."""

    def trial(version: str, findings: int, commits: int | None) -> Asked:
        tried = Asked(version, problem="not to be had" if version == missing else "")
        while not tried.problem and tried.findings < findings:
            if tried.commits >= min(time, commits if commits is not None else time):
                break
            tried.commits += 1
            tried.findings += version in broken and rng.random() < 1 / every
        return tried

    return trial


@pytest.mark.parametrize("first_good", range(1, 9))
def test_the_version_in_which_it_goes(first_good: int) -> None:
    broken = set(VERSIONS[:first_good])
    answer = bisect(VERSIONS, simulated(broken, random.Random(f"a{first_good}")))
    assert answer.good and answer.broken and answer.measured
    assert (answer.broken.version, answer.good.version) == (VERSIONS[first_good - 1], VERSIONS[first_good])
    assert 0 < answer.doubt <= DOUBT * sum(not each.broken for each in answer.tried)
    assert any("it goes between" in line for line in in_words(answer))


def test_the_version_in_which_it_appears_and_one_that_cannot_be_had() -> None:
    broken = set(VERSIONS[5:])
    answer = bisect(VERSIONS, simulated(broken, random.Random(3), missing="12.4"))
    assert answer.good and answer.broken
    assert (answer.good.version, answer.broken.version) == ("12.3", "12.5")
    assert any("it appears between 12.3 and 12.5" in line for line in in_words(answer))


def test_nothing_between_two_that_are_alike() -> None:
    for broken, words in ((set(), "no violation found"), (set(VERSIONS), "nothing appears or goes")):
        answer = bisect(VERSIONS, simulated(broken, random.Random(1), time=5000))
        assert answer.good is None and answer.broken is None
        assert words in in_words(answer)[-1]
    assert bisect(VERSIONS[:1], simulated(set(), random.Random(1))).good is None


def test_the_doubt_is_what_it_says() -> None:
    """Of many versions that are as broken as the measured one, so many go through without a finding."""
    rng = random.Random(5)
    trial = simulated({"a", "b"}, rng, every=40, time=10**9)
    missed = 0
    rounds = 2000
    for _ in range(rounds):
        measured = trial("a", 3, None)
        missed += not trial("b", 1, commits_wanted(measured)).broken
    assert 0.6 * DOUBT < missed / rounds < 1.5 * DOUBT
    assert Asked("b", 0, commits_wanted(measured)).doubt(measured) == pytest.approx(DOUBT, rel=0.05)


def test_words_and_json_say_the_same() -> None:
    answer = Bisected([Asked("1", 3, 3000), Asked("2", 0, 9000)], Asked("1", 3, 3000))
    answer.broken, answer.good = answer.tried
    assert answer.to_json()["doubts"] == {"2": pytest.approx(0.25**3)}
    assert "1: broken: 3 in 3,000 commits" in in_words(answer)
    assert (
        "nothing found in 9,000 commits (if it were as broken, the chance of that is 1.6%)"
        in in_words(answer)[1]
    )


def test_version_numbers() -> None:
    assert numbers("16.1.1-beta.9") == (16, 1, 1) and numbers("x") == ()
    assert fits("12.3.0", "12.3") and not fits("12.30.0", "12.3") and fits("15.3", "15.3")
    assert newest(["12.9.0", "12.10.0", "9.6.1"]) == "12.10.0"
    known = ["12.0.0", "12.2.0", "12.10.0", "13.1.0"]
    assert (
        near("12.5", known) == "near ones are 12.0.0, 12.2.0, 12.10.0, 13.1.0"
        and near("1", []) == "it has none"
    )
    assert between(["12.10", "12.2", "13.1", "11.9"], "12.1", "12.10") == ["12.2", "12.10"]
    assert between(["12.10", "12.2", "13.1"], "12", "12") == ["12.2", "12.10"]
    with pytest.raises(UsageError, match=r"found the versions x\.\.12"):
        between([], "x", "12")


@pytest.mark.parametrize("spec", ["postgres", "sqlite:1..2", "postgres:12.0-12.6", "postgres:..12"])
def test_what_is_no_row_of_versions_is_refused(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hunt", "--bisect", spec, "--workload", "bank"]) == 254
    assert "expected two versions of postgres, mariadb or h2, as in" in capsys.readouterr().err
