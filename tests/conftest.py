"""What all tests share: random tests that are the same each time.

A test suite that fails one run in fifty is soon ignored, so Hypothesis draws the same examples in every run
here; looking for new ones is what `make fuzz` is for. Without the native extensions nothing can be tested,
and this says so once instead of in a hundred tracebacks.

Files that take long come first: workers get whole files, and the last one to end is the one that all wait for.
"""

from __future__ import annotations

import importlib
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from support import effort

LONGEST = (
    "databases/test_servers_mysql.py",
    "databases/test_record_orm.py",
    "conformance/test_conformance.py",
    "differential/test_differential.py",
    "conformance/test_corpus.py",
    "levels/test_anomalies.py",
    "cli/test_cli.py",
    "modules/test_modules_shipped.py",
    "solve/test_engine.py",
    "trace/test_packed.py",
    "databases/test_embedded.py",
    "laws/test_laws.py",
    "documents/test_docs.py",
    "databases/test_servers_postgres.py",
    "explain/test_explain.py",
    "record/test_record_readable.py",
    "trace/test_format_jepsen.py",
    "trace/test_format_timekiller.py",
    "solve/test_backends.py",
    "differential/test_crowds.py",
    "asg/test_lists.py",
    "solve/test_encodings.py",
    "trace/test_formats_roundtrip.py",
    "trace/test_fuzz_formats.py",
    "levels/test_within.py",
    "databases/test_servers.py",
    "explain/test_smallest.py",
    "run/test_workloads.py",
    "report/test_report.py",
    "benchmarks/test_benchmarks.py",
    "trace/test_format_cobra.py",
    "differential/test_parts.py",
)
"""The files that take longest, roughly in that order; the others come after them."""

NATIVE = ("boomslang.trace._reader", "boomslang.asg._analyse", "boomslang.solve._engine")


def pytest_configure(config: pytest.Config) -> None:
    effort.full = config.option.markexpr != "not full"
    settings.register_profile(
        "same-each-time",
        derandomize=True,
        deadline=None,
        print_blob=True,
        max_examples=effort.examples(100),
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.filter_too_much,
        ],
    )
    settings.load_profile("same-each-time")
    # Processes that a test starts find tests/support as the test does.
    given = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(Path(__file__).parent), given)))
    # A shell that starts something in the background lets it ignore Ctrl-C, and so would all that it starts.
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in NATIVE:
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise pytest.UsageError(
                f"{name} cannot be imported ({error}): run the tests with `make test`"
            ) from None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """For xdist, which hands out files in the order in which they come (`--no-loadscope-reorder`)."""
    tests = Path(__file__).parent
    place = {tests / name: at for at, name in enumerate(LONGEST)}
    if missing := [str(path) for path in place if not path.exists()]:
        raise pytest.UsageError(f"LONGEST in tests/conftest.py names files that are not there: {missing}")
    items.sort(key=lambda item: place.get(item.path, len(place)))
