"""A checker for the command line: its time is for all its levels together, and it says what it is doing."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

from boomslang.checker import Checker
from boomslang.cli.options import solver as solver_options
from boomslang.cli.progress import Watch
from boomslang.levels import Level, find_level, fitted
from boomslang.trace import Trace
from boomslang.verdict import UNKNOWN, Verdict

OUT_OF_TIME = "the time limit was reached"


class WatchedChecker(Checker):
    """A checker whose time is for all its levels together, and that says what it is doing."""

    def __init__(
        self, trace: Trace, arguments: argparse.Namespace, deadline: float | None, watch: Watch
    ) -> None:
        super().__init__(
            trace,
            memory=arguments.memory,
            progress=watch.solving,
            modules=arguments.module,
            explaining=getattr(arguments, "explaining", None),  # only `hunt` says so
            **solver_options.options(arguments),
        )
        self.deadline = deadline
        self.watch = watch

    def check(self, level: str | Level) -> Verdict:
        level = fitted(find_level(level), self.trace)
        self.watch.begin(f"checking {level.title}")
        if self.deadline is not None:
            left = self.deadline - time.monotonic()
            if left <= 0:
                return Verdict(self.trace, level, UNKNOWN, OUT_OF_TIME)
            self.limits = replace(self.limits, seconds=left)
        return super().check(level)
