"""Exit codes. Documented in docs/how-it-works.md; scripts rely on them."""

from __future__ import annotations

VALID = 0
INVALID = 1
UNKNOWN = 2
INTERRUPTED = 130
"""128 + SIGINT, as shells have it."""
USAGE = 254
"""Wrong use or bad input. Never 2, which argparse would say: 2 is a verdict here."""
INTERNAL = 255
