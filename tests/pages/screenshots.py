"""Makes the pictures of the report that the documentation shows: PYTHONPATH=tests python -m pages.screenshots

Needs Chromium. The pictures are of the pages that `boomslang check ... --report` writes, with a step selected.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from support.browser import Browser, find_chromium
from support.paths import ROOT
from support.report_samples import cases, transfers

from boomslang import Checker, Trace, read_trace
from boomslang.report import write_report

IMAGES = ROOT / "docs" / "images"
MOST = 200_000
"""Bytes of a picture."""


def main() -> int:
    program = find_chromium()
    if program is None:
        print("found no Chromium; install it (Debian: apt install chromium)", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder, Browser(program) as browser:

        def page(name: str, trace: Trace, path: str, *levels: str) -> Path:
            checker = Checker(trace)
            return write_report([checker.check(a) for a in levels], Path(folder) / name, trace_path=path)

        def take(name: str) -> None:
            picture = browser.picture()
            assert browser.complaints == [] and len(picture) < MOST, (name, browser.complaints, len(picture))
            (IMAGES / name).write_bytes(picture)
            print(f"docs/images/{name}: {len(picture):,} bytes")

        skew = page(
            "skew.html",
            read_trace(ROOT / "examples/write-skew.jsonl"),
            "examples/write-skew.jsonl",
            "ser",
            "si",
        )
        for colours in ("light", "dark"):
            browser.window(1180, 1080)
            browser.colours(colours)
            browser.open(skew)
            browser.click("[aria-expanded][data-step] .text")
            # Down to the end of the timeline: what is cut looks broken.
            end = browser.js(
                "(scrollTo(0, 0), document.querySelector('.timeline').closest('.card').getBoundingClientRect().bottom)"
            )
            browser.window(1180, round(end) + 16)
            take(f"report-{colours}.png")
        browser.colours("light")
        browser.open(page("bank.html", transfers(), "bank/run-17.jsonl", "ser", "rc"))
        browser.click("[data-cycle] .text")
        browser.click(".neighbours")
        browser.js("document.querySelector('.timeline').closest('.card').scrollIntoView()")
        browser.window(1180, 520)
        take("report-timeline.png")
        browser.window(1180, 700)
        browser.open(page("cases.html", cases(), "run.jsonl", "si"))
        browser.click("[data-cycle] .text")
        browser.js("document.querySelector('.tree').scrollTop = 0")
        browser.js("document.querySelector('.pair').scrollIntoView()")
        take("report-cases.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
