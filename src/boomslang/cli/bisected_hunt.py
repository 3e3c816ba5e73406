"""`boomslang hunt --bisect 'postgres:12.0..12.6'`: the same hunt on version after version of a server.

What is run is `boomslang.run.bisect`; here versions are listed, servers started and the answer put into words. Each
version has a folder of its own in `--out`, with what was found on it, and `--for` is the time for each.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path

from boomslang.cli import exit_codes, load_plan
from boomslang.cli.progress import watched
from boomslang.cli.screen import Screen
from boomslang.databases import find_database
from boomslang.errors import UsageError
from boomslang.levels import Level
from boomslang.run import Hunted, hunt, variations
from boomslang.run.bisect import Asked, Bisected, bisect, commits_wanted
from boomslang.run.hunt import made_folder
from boomslang.verdict import INVALID
from boomslang.workloads import find_workload

SPEC = re.compile(r"(?P<kind>[a-z-]+):(?P<first>[0-9][0-9.]*)\.\.(?P<last>[0-9][0-9.]*)(?P<options>\?.*)?")


def run_bisect(arguments: argparse.Namespace, level_of: Callable[[str], Level], screen: Screen) -> int:
    specs = _versions(arguments.bisect)
    place = made_folder(arguments.out)
    if not arguments.json:
        screen.line(f"{len(specs)} versions: {', '.join(specs)}")
    answer = watched(
        lambda watch: bisect(
            list(specs),
            lambda version, findings, commits: _trial(
                arguments, place, specs[version], version, level_of, findings, commits, watch.begin
            ),
        ),
        quiet=arguments.quiet,
    )
    for each in answer.tried:
        if each.problem:
            screen.warning(f"{each.version}: {each.problem}")
    code = _exit_code(answer)
    if arguments.json:
        screen.document({**answer.to_json(), "exit": code})
    else:
        for line in in_words(answer):
            screen.line(line, indent=2)
    return code


def _exit_code(answer: Bisected) -> int:
    """1 if anything was found, as for any hunt."""
    return exit_codes.INVALID if any(each.broken for each in answer.tried) else exit_codes.VALID


def _versions(spec: str) -> dict[str, str]:
    """Each version, and what `--db` would say for it."""
    from boomslang.databases.servers import VERSIONS
    from boomslang.databases.servers.versions import between

    found = SPEC.fullmatch(spec)
    if found is None or found["kind"] not in VERSIONS:
        *kinds, last = VERSIONS
        raise UsageError(
            f"found --bisect {spec!r}; expected two versions of {', '.join(kinds)} or {last}, as in "
            "'postgres:12.0..12.6'"
        )
    versions = between(VERSIONS[found["kind"]](), found["first"], found["last"])
    if len(versions) < 2:
        raise UsageError(
            f"found {len(versions)} version{'s' * (len(versions) != 1)} of {found['kind']} from {found['first']} to "
            f"{found['last']} that can be had; expected two or more"
        )
    return {each: f"{found['kind']}:{each}{found['options'] or ''}" for each in versions}


def _trial(
    arguments: argparse.Namespace,
    place: Path,
    spec: str,
    version: str,
    level_of: Callable[[str], Level],
    findings: int,
    commits: int | None,
    tell: Callable[[str], None],
) -> Asked:
    tell(f"hunting on {version}")
    workload = find_workload(arguments.workload)
    tried = Asked(version)

    def enough(hunted: Hunted) -> bool:
        return len(hunted.of(INVALID)) >= findings or (commits is not None and hunted.committed >= commits)

    try:
        with find_database(spec) as database:
            plans = (
                load_plan.planned(arguments, database, made)
                for made in variations(workload, load_plan.given(arguments), arguments.seed)
            )
            offered = database.level(arguments.db_level)
            asked, modules = load_plan.question(arguments.level, offered, arguments.module)
            folder = place / version
            hunted = hunt(
                plans,
                folder if not folder.exists() else place / f"{version}-again",
                level_of(asked),
                modules=modules,
                seconds=arguments.seconds,
                collect=True,
                timeout=arguments.timeout,
                memory=arguments.memory,
                enough=enough,
            )
    except UsageError as problem:
        tried.problem = str(problem)
        return tried
    tried.findings, tried.commits = len(hunted.of(INVALID)), hunted.committed
    return tried


def in_words(answer: Bisected) -> list[str]:
    lines = []
    for each in answer.tried:
        if each.problem:
            continue
        lines.append(f"{each.version}: {_told(each, answer)}")
    measured = answer.measured
    if measured is None:
        return [
            *lines,
            "no violation found on the oldest or the newest: there is nothing to look for in between",
        ]
    if answer.good is None or answer.broken is None:
        return [*lines, "found on the oldest and on the newest: nothing appears or goes between them"]
    old_is_good = lines and answer.tried[0].version != measured.version
    happens = "appears" if old_is_good else "goes"
    first, last = (answer.good, answer.broken) if old_is_good else (answer.broken, answer.good)
    each_commit = measured.commits / measured.findings
    return [
        *lines,
        f"it {happens} between {first.version} and {last.version}",
        f"how sure: {measured.version} shows it about once in {each_commit:,.0f} commits ({measured.findings} in "
        f"{measured.commits:,}). A version as broken as that would go through {commits_wanted(measured):,} commits "
        "without a finding once in twenty times. The chance that a version above was called good and is as broken is "
        f"at most {answer.doubt:.1%}",
    ]


def _told(each: Asked, answer: Bisected) -> str:
    if each.broken:
        return f"broken: {each.findings} in {each.commits:,} commits"
    doubt = answer.doubts.get(each.version)
    sure = "" if doubt is None else f" (if it were as broken, the chance of that is {doubt:.1%})"
    return f"nothing found in {each.commits:,} commits{sure}"
