"""Completion, in the real shells: what is offered when the tab key is pressed."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from support.commands import command

from boomslang.cli.completion.words import commands, names
from boomslang.cli.main import COMMANDS


def script(shell: str, folder: Path) -> Path:
    made = command("completion", shell)
    assert made.code == 0
    path = folder / f"completion.{shell}"
    path.write_text(made.out)
    return path


def need(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here: its completion was not tried (Debian: apt install {shell})")


OFFERED = [
    ("boomslang st", ["stats"], ["watch", "--help"]),
    ("boomslang ch", ["check"], ["watch"]),
    ("boomslang check --lev", ["--level"], ["--report"]),
    ("boomslang check --level ser", ["ser"], ["si"]),
    ("boomslang run --db po", ["postgres"], ["sqlite"]),
    ("boomslang hunt --workload list", ["list-append"], ["bank"]),
    ("boomslang convert --to time", ["timekiller"], ["elle"]),
    ("boomslang check --module mono", ["monotonic-reads", "monotonic-writes"], ["tombstones"]),
    ("boomslang db st", ["start"], ["list"]),
    ("boomslang db start ma", ["mariadb"], ["mysql"]),
    ("boomslang check trace-of", ["trace-of-mine.jsonl"], ["--level"]),
]


@pytest.mark.parametrize(("line", "there", "not_there"), OFFERED)
def test_bash(line: str, there: list[str], not_there: list[str], tmp_path: Path) -> None:
    need("bash")
    (tmp_path / "trace-of-mine.jsonl").touch()
    program = (
        f"source {script('bash', tmp_path)}\nCOMP_WORDS=({line})\nCOMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n"
        '_boomslang\nprintf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    offered = done.stdout.split()
    assert set(there) <= set(offered) and not set(not_there) & set(offered) and not done.stderr


@pytest.mark.parametrize(("line", "there", "not_there"), OFFERED)
def test_fish(line: str, there: list[str], not_there: list[str], tmp_path: Path) -> None:
    need("fish")
    (tmp_path / "trace-of-mine.jsonl").touch()
    program = f"source {script('fish', tmp_path)}; complete -C '{line}'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "HOME": str(tmp_path)},
    )  # fmt: skip
    offered = [row.split("\t")[0] for row in done.stdout.splitlines()]
    assert set(there) <= set(offered) and not set(not_there) & set(offered) and not done.stderr


def test_zsh_in_a_terminal(tmp_path: Path) -> None:
    """zsh completes in a terminal only, so it gets one."""
    need("zsh")
    need("tmux")
    (tmp_path / "trace-of-mine.jsonl").touch()
    (tmp_path / ".zshrc").write_text(
        f"PS1='ready> '; autoload -U compinit; compinit -u; source {script('zsh', tmp_path)}\n"
    )
    name = f"boomslang-{os.getpid()}"

    def tmux(*words: str) -> str:
        return subprocess.run(
            ["tmux", "-L", name, *words], capture_output=True, text=True, check=False
        ).stdout

    def until(text: str) -> str:
        end = time.monotonic() + 20
        while text not in (screen := tmux("capture-pane", "-p")):
            assert time.monotonic() < end, screen
            time.sleep(0.1)
        return screen

    subprocess.run(
        ["tmux", "-L", name, "-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "40", "zsh", "-i"],
        cwd=tmp_path, check=True, env={**os.environ, "ZDOTDIR": str(tmp_path), "HOME": str(tmp_path)},
    )  # fmt: skip
    try:
        until("ready>")
        for typed, completed in (
            ("boomslang ch", "boomslang check"),
            ("boomslang check --lev", "boomslang check --level="),
            ("boomslang run --db=post", "boomslang run --db=postgres"),
            ("boomslang hunt --workload list", "boomslang hunt --workload list-append"),
            ("boomslang db start mar", "boomslang db start mariadb"),
            ("boomslang check trace-of", "boomslang check trace-of-mine.jsonl"),
        ):
            tmux("send-keys", "-l", typed)
            tmux("send-keys", "Tab")
            until(completed)
            tmux("send-keys", "C-u")
    finally:
        tmux("kill-server")


def test_every_command_option_and_name_is_known() -> None:
    known = commands()
    assert set(known) == set(COMMANDS)
    assert {"--level", "--certificate", "--report"} <= set(known["check"].options)
    assert known["check"].options["--quiet"] is None and known["db"].actions["start"].words
    for about in known["check"].about.values():
        assert len(about) < 120
    assert {"ser", "si"} <= set(names()["level"]) and "jsonl" in names()["format"]


def test_a_shell_that_is_not_known() -> None:
    ran = command("completion", "basch")
    assert ran.code == 254 and "did you mean" in ran.err and "bash, zsh, fish" in ran.err
