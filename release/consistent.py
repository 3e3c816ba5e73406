"""Do all places that tell a release's number tell the same? The first step of `make release-check`.

The number is in pyproject.toml, in the package, in CITATION.cff and on top of the changelog, with a date. A tag
`v<number>`, if there is one already, must stand on this commit; a number that a later tag has passed is not released
again.
"""

from __future__ import annotations

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


def problems(root: Path, tags: list[str]) -> list[str]:
    """What a release must not go out with; tags are all there are."""
    told = numbers(root)
    wrong = []
    if len(set(told.values())) > 1:
        wrong.append(f"found different numbers: {told}; expected one; fix: write the same everywhere")
    changes = (root / "CHANGELOG.md").read_text()
    dates = [date for _, date in RELEASE.findall(changes)]
    if dates != sorted(dates, reverse=True):
        wrong.append(f"found releases dated {dates} in CHANGELOG.md; expected the newest on top")
    unreleased = changes.partition("## Unreleased\n")[2].partition("\n## ")[0].strip()
    if unreleased:
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


def main() -> int:
    listed = subprocess.run(["git", "tag"], cwd=ROOT, capture_output=True, text=True)
    wrong = problems(ROOT, listed.stdout.split())
    version = numbers(ROOT)["pyproject.toml"]
    if f"v{version}" in listed.stdout.split():
        commits = [
            subprocess.run(
                ["git", "rev-list", "-n1", name], cwd=ROOT, capture_output=True, text=True
            ).stdout.strip()
            for name in (f"v{version}", "HEAD")
        ]
        if commits[0] != commits[1]:
            wrong.append(
                f"found the tag v{version} on another commit; expected a new number for what came after it"
            )
    for line in wrong:
        print(line, file=sys.stderr)
    if not wrong:
        print(f"{version}: package, changelog, citation and tags agree")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
