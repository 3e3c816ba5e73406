"""Run a build, and say how far it is in one line, instead of nothing for two minutes or a thousand lines.

`python release/progress.py pip install -v ...`: of what the command prints only its stages and ninja's counts are
shown. If it fails, all that it printed follows.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator

STAGES = {
    "installing build dependencies": "fetching what the build needs",
    "preparing editable metadata": "preparing",
    "preparing metadata": "preparing",
    "configuring cmake": "configuring",
    "installing collected packages": "installing",
}
COUNT = re.compile(r"^\s*\[(\d+)/(\d+)\]\s")


def told(lines: Iterable[str]) -> Iterator[str]:
    """What is worth a word, without repetitions."""
    last = ""
    for line in lines:
        counted = COUNT.match(line)
        if counted:
            now = f"compiling: step {counted[1]} of {counted[2]}"
        else:
            low = line.lower()
            now = next((words for sign, words in STAGES.items() if sign in low), last)
        if now != last:
            yield now
        last = now


def main(command: list[str]) -> int:
    if not command:
        print("found no command; expected one to run, such as: pip install -v .", file=sys.stderr)
        return 2
    printed: list[str] = []

    def keep(lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            printed.append(line)
            yield line

    screen = sys.stderr.isatty()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as running:
        assert running.stdout is not None
        for words in told(keep(running.stdout)):
            print(
                f"\r\x1b[K  {words}" if screen else f"  {words}", end="" if screen else "\n", file=sys.stderr
            )
            sys.stderr.flush()
    if screen:
        print("\r\x1b[K", end="", file=sys.stderr)
    if running.returncode:
        sys.stderr.writelines(printed)
    return running.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
