"""What all tests share: random tests that are the same each time.

A test suite that fails one run in fifty is soon ignored, so Hypothesis draws the same examples in every run
here; looking for new ones is what `make fuzz` is for. Without the native extensions nothing can be tested,
and this says so once instead of in a hundred tracebacks.
"""

from __future__ import annotations

import importlib
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "same-each-time",
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
settings.load_profile("same-each-time")

NATIVE = ("boomslang.trace._reader", "boomslang.asg._analyse", "boomslang.solve._engine")


def pytest_configure(config: pytest.Config) -> None:
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
