"""Files that other programs read (the action, workflows, issue forms, the citation) keep to the published schemas.

The schemas come with check-jsonschema, so that no network is needed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT

FORMS = {
    "github-actions": ["action.yml"],
    "github-workflows": [".github/workflows/*.yml", "examples/ci/*.yml"],
    "github-issue-forms": [".github/ISSUE_TEMPLATE/*.yml"],
    "citation-file-format": ["CITATION.cff"],
}


def validate(schema: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("check_jsonschema", reason="the extra `release`; make wheels installs it")
    command = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        f"vendor.{schema}",
        *map(str, paths),
    ]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("schema", FORMS)
def test_it_keeps_to_the_schema(schema: str) -> None:
    paths = [path for pattern in FORMS[schema] for path in sorted(ROOT.glob(pattern))]
    assert len(paths) >= len(FORMS[schema])
    done = validate(schema, *paths)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_file_that_does_not_is_found(tmp_path: Path) -> None:
    spoilt = tmp_path / "action.yml"
    spoilt.write_text((ROOT / "action.yml").read_text().replace("using: composite", "using: nothing"))
    assert validate("github-actions", spoilt).returncode != 0
