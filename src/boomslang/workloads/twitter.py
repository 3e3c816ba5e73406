"""Twitter, as Cobra's benchmarks have it on a key-value store (Tan et al., OSDI 2020).

A fifth of the transactions tweet, two fifths follow or unfollow, a tenth each show a timeline (the last tweet of up to
20 that one follows) and whom one follows, a fifth shows one's own last tweet. The one who acts is drawn with a mild
skew (exponent 0.5), the one who is followed with Zipf's (0.99). 1,000 users, who follow nobody at first; the skew
of --distribution is that of who is followed.
"""

from __future__ import annotations

from typing import ClassVar

from boomslang.workloads.workload import Client, Distribution, Draw, Settings, Transaction, Workload

SHOWN = 20
"""Of those one follows, in a timeline."""


class Twitter(Workload):
    name = "twitter"
    about = "Cobra's: tweet, follow, timeline, show followed, show tweets"
    defaults = Settings(keys=1000, distribution="zipf")
    uses = frozenset({"keys", "distribution"})
    keys_are = "users"
    mix: ClassVar = {"tweet": 20, "follow": 40, "timeline": 10, "show-followed": 10, "show-tweets": 20}

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__(settings)
        self._active = Distribution.named("zipf:0.5", self.settings.keys)

    def initial(self) -> dict[str, str]:
        users = range(self.settings.keys)
        return {f"user/{n}": f"name {n}" for n in users} | {f"follows/{n}": "" for n in users}

    def draw(self, draw: Draw) -> Transaction:
        name = draw.one_of(self.mix)
        user = self._active.draw(draw.random)
        if name == "tweet":
            return self._tweet(user, draw.new())
        if name == "follow":
            return self._follow(user, draw.key(), draw.random.random() < 0.5, draw.new())
        if name == "timeline":
            return Transaction(name, lambda c: self._timeline(c, user))
        if name == "show-followed":
            return Transaction(name, lambda c: [c.get(f"user/{n}") for n in _list(c, user)])
        return Transaction(name, lambda c: _last_tweet(c, str(user)))

    def _tweet(self, user: int, text: str) -> Transaction:
        def run(c: Client) -> None:
            c.get(f"user/{user}")
            c.put(f"tweet/{text}", f"{user}: {text}")
            c.put(f"last/{user}", text)

        return Transaction("tweet", run)

    def _follow(self, user: int, other: int, follow: bool, when: str) -> Transaction:
        def run(c: Client) -> None:
            word = "since" if follow else "until"
            c.put(f"follower/{other}/{user}", f"{word} {when}")
            c.put(f"following/{user}/{other}", f"{word} {when}")
            kept = [n for n in _list(c, user) if n != str(other)]
            c.put(f"follows/{user}", ",".join([*kept, str(other)] if follow else kept))

        return Transaction("follow", run)

    def _timeline(self, c: Client, user: int) -> None:
        for other in _list(c, user)[:SHOWN]:
            _last_tweet(c, other)


def _list(c: Client, user: int) -> list[str]:
    """Whom one follows."""
    return [n for n in (c.get(f"follows/{user}") or "").split(",") if n]


def _last_tweet(c: Client, user: str) -> None:
    last = c.get(f"last/{user}")
    if last is not None:
        c.get(f"tweet/{last}")
