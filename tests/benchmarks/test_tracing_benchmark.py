"""The benchmark of the recorder measures what it says: small runs, whose traces it counts back itself."""

from __future__ import annotations

import pytest
import tracing


@pytest.mark.parametrize("store", ["a dict", "SQLite in memory"])
def test_costs(store: str) -> None:
    cost = tracing.cost(store, 0.02, rounds=2)
    assert cost.store == store and cost.bare > 0 and cost.recorded > 0 and 50 < cost.bytes < 300


def test_the_page() -> None:
    cost = tracing.Cost("a dict", 2.0, 5.0, 1.5, 4.0, 90.0)
    page = tracing.report([cost], {1: tracing.rate(1, 0.02)}, "a machine")
    assert "| a dict | 2.0 | 5.0 | 3.0 | 2.5 | 150 % | 90 |" in page
    table = [line for line in page.splitlines() if line.startswith("| ")][:3]
    assert len({line.count("|") for line in table}) == 1
