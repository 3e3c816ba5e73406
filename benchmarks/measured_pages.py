"""Which command wrote which page, and all of them again.

A page with measured figures says in its third line what measured it. This reads those lines: it lists them, or runs
the commands, one after the other, so that no figure grows older than the others, and draws their plots again
(`page_plots.py`). What compares with other
checkers (`peers.py`) needs their executables, and is run by hand.

    python benchmarks/measured_pages.py                what there is
    python benchmarks/measured_pages.py loc scaling    write these pages again
    python benchmarks/measured_pages.py all            all but those that need something else; takes hours
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import page_plots

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
WRITTEN = re.compile(r"^(?:Measured|Written) by `python (benchmarks/\w+\.py)([^`]*)`", re.MULTILINE)
BY_HAND = {"benchmarks-peers"}


def pages(docs: Path = DOCS) -> dict[str, tuple[str, list[str]]]:
    """Of each page with figures: the script, and its arguments."""
    found = {}
    for path in sorted(docs.glob("*.md")):
        if match := WRITTEN.search(path.read_text()):
            found[path.stem] = match[1], shlex.split(match[2])
    return found


def main(names: list[str]) -> int:
    there = pages()
    if unknown := set(names) - set(there) - {"all"}:
        print(f"no page {', '.join(sorted(unknown))}; there are {', '.join(there)}", file=sys.stderr)
        return 2
    if not names:
        for name, (script, words) in there.items():
            print(f"docs/{name}.md: {shlex.join(['python', script, *words])}")
        return 0
    failed = 0
    for name in [name for name in there if name not in BY_HAND] if "all" in names else names:
        script, words = there[name]
        print(f"docs/{name}.md", flush=True)
        failed += (
            subprocess.run([sys.executable, script, *words], cwd=HERE.parent, check=False).returncode != 0
        )
    drawn = {plot.page for plot in page_plots.PLOTS}
    if again := [name for name in (there if "all" in names else names) if name in drawn]:
        failed += page_plots.main(again) != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
