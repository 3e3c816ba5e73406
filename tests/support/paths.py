"""Where things are: the repository, and the public histories beside it."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path(os.environ.get("BOOMSLANG_CORPUS", ROOT.parent / "shared" / "corpus"))
