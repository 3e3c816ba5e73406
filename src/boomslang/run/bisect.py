"""Between which two versions a violation appears or goes, and how sure that is.

A version on which a violation was found is *broken*: there is no doubt about that. One on which none was found is only
*thought good*, and how much that is worth depends on how often the violation shows where it is known to be. So the
broken end is hunted until the violation was found several times: k times in N commits. If the version in question were
as broken, the chance of n commits without a finding would be

    (N / (N + n)) ** k

which is exp(-rate * n) averaged over what k findings in N commits tell of the rate (a gamma distribution of shape k);
it is also the chance that the next finding takes n / N times as long as the first k together. A good verdict asks for
as many commits as bring this below the doubt that is allowed. The chance that any of the good verdicts along the way is
wrong is at most their sum. All of it holds for a version that breaks as often as the one it was measured on; one in
which the violation has become rarer is not told from a good one, and nobody could.

Commits are counted in whole runs, and a run with several violations counts as one finding: the rate comes out too small
rather than too large, and more commits are asked for than needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

FINDINGS = 3
"""How often the violation is to be found before its rate is relied on."""
DOUBT = 0.05
"""The chance of a wrong good verdict that is allowed."""


@dataclass
class Asked:
    """What came of the runs on one version."""

    version: str
    findings: int = 0
    commits: int = 0
    problem: str = ""
    """Why nothing could be run on it."""

    @property
    def broken(self) -> bool:
        return self.findings > 0

    def doubt(self, measured: Asked) -> float:
        """The chance of finding nothing in as many commits, on a version as broken as the measured one."""
        return (measured.commits / (measured.commits + self.commits)) ** measured.findings

    def to_json(self) -> dict[str, Any]:
        said: dict[str, Any] = {"version": self.version, "findings": self.findings, "commits": self.commits}
        return said | ({"problem": self.problem} if self.problem else {})


def commits_wanted(measured: Asked, doubt: float = DOUBT) -> int:
    """Without a finding, for a good verdict."""
    factor: float = doubt ** (-1 / measured.findings) - 1
    return math.ceil(measured.commits * factor)


Trial = Callable[[str, int, int | None], Asked]
"""Version, findings to stop at, commits to stop at (None: as many as the time allows)."""


@dataclass
class Bisected:
    """The answer, and all that was tried for it, in that order."""

    tried: list[Asked] = field(default_factory=list)
    measured: Asked | None = None
    """The broken version that the rate was taken from."""
    good: Asked | None = None
    broken: Asked | None = None
    """Neighbours, between which it changes; None if there are no such two."""

    @property
    def doubts(self) -> dict[str, float]:
        """Of each version that is thought good."""
        if self.measured is None:
            return {}
        mine = self.measured
        return {each.version: each.doubt(mine) for each in self.tried if not each.broken and not each.problem}

    @property
    def doubt(self) -> float:
        """The chance that one of them is wrong, at most."""
        return min(1.0, sum(self.doubts.values()))

    def to_json(self) -> dict[str, Any]:
        return {
            "tried": [each.to_json() for each in self.tried],
            "measured_on": self.measured.version if self.measured else None,
            "good": self.good.version if self.good else None,
            "broken": self.broken.version if self.broken else None,
            "doubts": self.doubts,
            "doubt": self.doubt,
        }


def bisect(versions: Sequence[str], trial: Trial, *, doubt: float = DOUBT) -> Bisected:
    """Asks the oldest and the newest, then the middle of what is left between a broken and a good one."""
    answer = Bisected()
    left = list(versions)

    def ask(version: str, findings: int, commits: int | None) -> Asked:
        found = trial(version, findings, commits)
        answer.tried.append(found)
        if found.problem:
            left.remove(version)  # it cannot be had: its neighbours are each other's now
        return found

    def end(place: int, findings: int, commits: int | None) -> Asked | None:
        """The first version from one side that can be run."""
        while left:
            found = ask(left[place], findings, commits)
            if not found.problem:
                return found
        return None

    old = end(0, FINDINGS, None)
    if old is None or len(left) < 2:
        return answer
    new = end(-1, 1, commits_wanted(old, doubt)) if old.broken else end(-1, FINDINGS, None)
    if new is None or not (old.broken or new.broken):
        return answer
    answer.measured = broken = old if old.broken else new
    good = new if old.broken else old
    wanted = commits_wanted(broken, doubt)
    if good is old and good.commits < wanted:  # it was asked before anybody knew how long
        more = trial(good.version, 1, wanted - good.commits)
        good.findings, good.commits = more.findings, good.commits + more.commits
    if good.broken:
        return answer
    while abs(left.index(good.version) - left.index(broken.version)) > 1:
        middle = (left.index(good.version) + left.index(broken.version)) // 2
        found = ask(left[middle], 1, wanted)
        if found.broken:
            broken = found
        elif not found.problem:
            good = found
    answer.good, answer.broken = good, broken
    return answer
