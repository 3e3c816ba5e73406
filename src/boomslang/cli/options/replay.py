"""`--as`: in place of the story, the violation as something that can be run."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from boomslang.errors import UsageError
from boomslang.verdict import Verdict

DIALECTS = ("postgres", "mysql", "sqlite", "duckdb")


def add_replay(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--as",
        dest="replay",
        choices=("script", "sql"),
        help="in place of the story: a Python program that replays the violation on a database of your own and says "
        "whether it happened again (script), or its statements side by side, to paste into terminals (sql)",
    )
    parser.add_argument(
        "--dialect",
        choices=DIALECTS,
        help="of a trace that was not recorded from SQL, with --as: for which database (else sqlite)",
    )


def look_at_replay(arguments: argparse.Namespace) -> None:
    """Before anything is read."""
    if arguments.replay is None:
        if arguments.dialect is not None:
            raise UsageError("--dialect goes with --as: it says for which database a replay is written")
        return
    if arguments.output != "text" or arguments.all is not None:
        raise UsageError("--as is an output of its own: leave out --output, --json and --all")


def replay_text(arguments: argparse.Namespace, verdicts: Iterable[Verdict]) -> str:
    """The first violation of those levels that has one."""
    broken = [verdict for verdict in verdicts if verdict.counterexample is not None]
    if not broken:
        raise UsageError(
            f"{arguments.trace}: found nothing to replay: no level asked for is known to be broken; expected a "
            "violation; fix: --level with the level that it breaks"
        )
    from boomslang.explain.replay.plan import plan_of

    plan = plan_of(broken[0], arguments.dialect)
    if arguments.replay == "sql":
        from boomslang.explain.replay.terminals import terminals

        return terminals(plan)
    from boomslang.explain.replay.script import script

    return script(plan)
