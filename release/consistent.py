"""Do all places that tell a release's number tell the same? The first step of `make release-check`.

The number is in pyproject.toml, in the package, in CITATION.cff and on top of the changelog, with a date. A number that
a later tag has passed is not released again.

More is asked of a commit that is to be a release: one that has the tag `v<number>`, or any with `--release`
(`make release-check RELEASE=1`). Its changes stand under its number, none under "Unreleased", and the tag, if there is
one, is on it. Between releases both are as they should be, and are only told.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RELEASE = re.compile(r"^## (\d+\.\d+\.\d+) \((\d{4}-\d{2}-\d{2})\)$", re.M)


def _one(pattern: str, path: Path) -> str:
    found = re.search(pattern, path.read_text(), re.M)
    return found[1] if found else ""


def numbers(root: Path) -> dict[str, str]:
    """Each place and the number that it tells."""
    releases = RELEASE.findall((root / "CHANGELOG.md").read_text())
    told = {
        "pyproject.toml": _one(r'^version = "(.*)"$', root / "pyproject.toml"),
        "src/boomslang/__init__.py": _one(r'^__version__ = "(.*)"$', root / "src/boomslang/__init__.py"),
        "CHANGELOG.md": releases[0][0] if releases else "",
    }
    if (root / "CITATION.cff").exists():
        told["CITATION.cff"] = _one(r"^version: (.*)$", root / "CITATION.cff")
    return told


def waiting(root: Path) -> int:
    """How many changes stand under "Unreleased"."""
    changes = (root / "CHANGELOG.md").read_text()
    return len(re.findall(r"^- ", changes.partition("## Unreleased\n")[2].partition("\n## ")[0], re.M))


def problems(root: Path, tags: list[str], *, release: bool) -> list[str]:
    """What a checkout must not have, and with `release` what a release must not go out with; tags are all there are."""
    told = numbers(root)
    wrong = []
    if len(set(told.values())) > 1:
        wrong.append(f"found different numbers: {told}; expected one; fix: write the same everywhere")
    dates = [date for _, date in RELEASE.findall((root / "CHANGELOG.md").read_text())]
    if dates != sorted(dates, reverse=True):
        wrong.append(f"found releases dated {dates} in CHANGELOG.md; expected the newest on top")
    if release and waiting(root):
        wrong.append(
            "found changes under 'Unreleased' in CHANGELOG.md; expected them under the number and date of the release"
        )
    version = told["pyproject.toml"]
    released = [tuple(map(int, tag[1:].split("."))) for tag in tags if re.fullmatch(r"v\d+\.\d+\.\d+", tag)]
    if re.fullmatch(r"\d+\.\d+\.\d+", version) and any(
        each > tuple(map(int, version.split("."))) for each in released
    ):
        wrong.append(f"found the number {version} and a later tag among {tags}; expected a larger number")
    return wrong


def _commit(name: str) -> str:
    asked = ["git", "rev-list", "-n1", name]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(description="compare the places that tell a release's number")
    parser.add_argument("--release", action="store_true", help="this commit is to be the release")
    listed = subprocess.run(["git", "tag"], cwd=ROOT, capture_output=True, text=True)
    tags = listed.stdout.split()
    version = numbers(ROOT)["pyproject.toml"]
    tagged = f"v{version}" in tags
    here = tagged and _commit(f"v{version}") == _commit("HEAD")
    release = here or parser.parse_args().release
    wrong = problems(ROOT, tags, release=release)
    if release and tagged and not here:
        wrong.append(
            f"found the tag v{version} on another commit; expected a new number for what came after it"
        )
    for line in wrong:
        print(line, file=sys.stderr)
    if not wrong:
        print(f"{version}: package, changelog, citation and tags agree")
        if not release and waiting(ROOT):
            since = "wait for the next release" if tagged else "get its number with the release"
            print(f"not a release yet: {waiting(ROOT)} changes under 'Unreleased' in CHANGELOG.md {since}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
