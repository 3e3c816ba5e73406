"""The frame of the pages that need no script: stats, hunts and comparisons.

Everything that comes from a trace or a database is escaped by `text`, where it becomes a part of the page. Should that
fail one day, the page's security policy allows its own style sheet and nothing else: no script, no network.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from string import Template

import boomslang
from boomslang.report.page import asset, hash_of, head_of, style_of
from boomslang.report.values import printable


def static_page(title: str, subject: str, body: Iterable[str]) -> str:
    """The page: `title` and `subject` as text, `body` as pieces of HTML."""
    style = style_of("plots")
    generator = text(f"Boomslang {boomslang.__version__}")
    return Template(asset("static.html")).substitute(
        head=head_of(
            title=text(f"{title} · Boomslang"),
            generator=generator,
            policy=f"default-src 'none'; style-src '{hash_of(style)}'; base-uri 'none'; form-action 'none'",
            style=style,
        ),
        generator=generator,
        subject=text(subject),
        brand=asset("brand.html"),
        body="\n".join(body),
    )


def text(said: object) -> str:
    """Anything as text of a page."""
    return escape(printable(str(said)))


def counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def facts(said: Mapping[str, object]) -> list[str]:
    """A list of names and what is said of each."""
    rows = [f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in said.items()]
    return ['<dl class="card about">', *rows, "</dl>"] if rows else []


def tiles(rows: Iterable[tuple[str, str, str]]) -> list[str]:
    """Numbers that are seen first: a label, the number, a note."""
    made = [
        f'<div class="tile"><dt>{text(label)}</dt><dd>{text(number)}<small>{text(note)}</small></dd></div>'
        for label, number, note in rows
    ]
    return ['<dl class="tiles">', *made, "</dl>"]


def items(title: str, said: Iterable[str], *, kind: str = "card") -> list[str]:
    """A list with a heading; nothing if there is nothing to say."""
    rows = [f"<li>{text(each)}</li>" for each in said]
    return (
        [f'<section class="{kind}"><h2>{text(title)}</h2><ul class="plain">', *rows, "</ul></section>"]
        if rows
        else []
    )


def table(
    title: str,
    heads: Iterable[str],
    rows: Iterable[Iterable[object]],
    *,
    words: Iterable[int] = (),
    note: str = "",
) -> list[str]:
    """A table that scrolls by itself where the page is narrow. Columns are numbers, but for the first and `words`."""
    wordy = {0, *words}

    def of(n: int) -> str:
        return ' class="words"' if n in wordy else ' class="number"'

    made = []
    for row in rows:
        cells = [
            f'<th scope="row">{text(cell)}</th>' if not n else f"<td{of(n)}>{text(cell)}</td>"
            for n, cell in enumerate(row)
        ]
        made.append(f"<tr>{''.join(cells)}</tr>")
    if not made:
        return []
    head = "".join(f'<th scope="col"{of(n)}>{text(name)}</th>' for n, name in enumerate(heads))
    return [
        f'<section class="card"><h2>{text(title)}</h2>',
        f'<div class="scroll" tabindex="0" role="region" aria-label="{text(title)}"><table class="figures">',
        f"<thead><tr>{head}</tr></thead><tbody>",
        *made,
        "</tbody></table></div>",
        f'<p class="hint">{text(note)}</p>' if note else "",
        "</section>",
    ]
