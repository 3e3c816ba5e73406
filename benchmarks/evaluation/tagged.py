"""A workload whose every write is one of a kind, for checkers that know a write by its value.

Cobra's client library, with which the paper's traces are recorded, adds an id to each value that is written and takes
it off again when it is read; so does this. RUBiS's ratings and Twitter's lists, which come back to what they were,
can be told to such checkers then, and reads of them name one write to us, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from boomslang.workloads.workload import Client, Draw, Transaction, Workload

MARK = "#"


class Tagged(Workload):
    """Another workload, with ids in its values."""

    about = "another workload, with ids in its values"

    def __init__(self, inner: Workload) -> None:
        super().__init__(inner.settings)
        self.inner = inner
        # As the runner looks for them in the workload.
        self.name = inner.name  # type: ignore[misc]
        self.needs = inner.needs  # type: ignore[misc]

    def initial(self) -> dict[str, str]:
        return self.inner.initial()

    def meets_within(self) -> float | None:
        return self.inner.meets_within()

    def draw(self, draw: Draw) -> Transaction:
        raise AssertionError("the workload within draws")

    def transaction(self, session: int, number: int, attempt: int = 0) -> Transaction:
        name, run = self.inner.transaction(session, number, attempt)
        return Transaction(name, lambda c: run(_Client(c, f"{session}.{number}r{attempt}")))


class _Client:
    def __init__(self, client: Client, tag: str) -> None:
        self._client, self._tag, self._made = client, tag, 0

    def get(self, key: str) -> str | None:
        return _bare(self._client.get(key))

    def get_for_update(self, key: str) -> str | None:
        return _bare(self._client.get_for_update(key))

    def put(self, key: str, value: str) -> None:
        self._made += 1
        self._client.put(key, f"{value}{MARK}{self._tag}.{self._made}")

    def delete(self, key: str) -> bool | None:
        return self._client.delete(key)

    def scan(self, lo: str | None, hi: str | None) -> list[tuple[str, str]]:
        return [(key, _bare(value) or "") for key, value in self._client.scan(lo, hi)]

    def iterator(self, lo: str | None, hi: str | None) -> Iterator[tuple[str, str]]:
        return ((key, _bare(value) or "") for key, value in self._client.iterator(lo, hi))

    def append(self, key: str, element: str) -> None:
        self._client.append(key, element)

    def list(self, key: str) -> Sequence[str]:
        return self._client.list(key)


def _bare(value: str | None) -> str | None:
    """Of the initial state, which has none, as of what was written."""
    return None if value is None else value.rsplit(MARK, 1)[0]
