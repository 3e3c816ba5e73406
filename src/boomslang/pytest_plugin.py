"""The pytest plugin: record what a test's clients saw, and assert the isolation they were promised.

    @pytest.mark.isolation_trace(initial={"x": 0})
    def test_transfers(isolation_tracer, assert_isolation):
        run_my_application(isolation_tracer)
        assert_isolation(isolation_tracer, "snapshot isolation")

`isolation_tracer` is a `boomslang.record.Tracer` that writes into the test's temporary folder; the marker's arguments
are its. `assert_isolation` is `boomslang.assertion.assert_isolation`, and leaves the report of a violation beside the
trace. The recorder and the report are imported when a test asks for them.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from boomslang.record import Tracer

MARK = "isolation_trace"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARK}(initial=..., clock=...): how `isolation_tracer` records; initial: what the database holds before, "
        "'empty', 'unknown' (if nothing is said) or a mapping",
    )


@pytest.fixture
def isolation_tracer(request: pytest.FixtureRequest, tmp_path: Path) -> Tracer:
    """Records the transactions of a test. Nothing is assumed of what the database held before, unless a marker says."""
    from boomslang.record import Tracer

    options: dict[str, Any] = {"initial": "unknown"}
    for mark in reversed(list(request.node.iter_markers(MARK))):
        if mark.args:
            raise pytest.UsageError(
                f"found @pytest.mark.{MARK}{mark.args!r}; expected named arguments: initial=..."
            )
        options |= mark.kwargs
    return Tracer(tmp_path / "isolation-trace", **options)


@pytest.fixture
def assert_isolation(tmp_path: Path) -> Any:
    """`assert_isolation(trace, level)`: fails with the story of what is wrong, and leaves a report in `tmp_path`."""
    from boomslang.assertion import assert_isolation

    return partial(assert_isolation, report=tmp_path / "isolation-report.html")
