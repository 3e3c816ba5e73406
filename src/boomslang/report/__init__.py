"""The report: a verdict as one HTML file to look at, with no network and nothing to install.

`contents.py` gathers what is to be shown, as data; `page.py` puts it into a page beside the style and the scripts of
`assets/`, which draw it.
"""

from boomslang.report.write import render_report, write_report

__all__ = ["render_report", "write_report"]
