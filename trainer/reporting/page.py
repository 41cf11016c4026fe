"""Blocks as one self-contained HTML page: no script, no other file, all text escaped. Pure."""

from collections.abc import Sequence
from html import escape

from perftui.trainer.reporting.blocks import (
    Block,
    Code,
    Heading,
    Items,
    Paragraph,
    ShareBars,
    Table,
    as_table,
    percent_or_never,
    shown,
)

_STYLE = """
:root { color-scheme: light dark; --quiet: #667; --line: #8884; --back: #8881; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin-bottom: .3rem; }
.quiet { color: var(--quiet); font-size: .9rem; }
pre { background: var(--back); padding: .7rem; white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: .7rem 0; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .2rem .9rem .2rem 0; overflow-wrap: anywhere; }
th { color: var(--quiet); font-weight: 500; } tr + tr td { border-top: 1px solid var(--line); }
.figure { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bar { display: flex; height: 1.1rem; margin: .2rem 0; background: var(--back); }
.bar span { display: block; } .label { margin: .6rem 0 0; font-size: .9rem; }
"""
_COLOURS = ("#d9822b", "#8a6fc9", "#3f7fd0", "#2f9e76", "#7fae3c", "#c2504e", "#9aa0a8")
_QUIET = ' class="quiet"'
_FIGURE = ' class="figure"'
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page_of(blocks: Sequence[Block]) -> str:
    """Return a page that ends in a line feed; its title is the first heading."""
    title = next((block.text for block in blocks if isinstance(block, Heading)), "perftui")
    body = "\n".join(_written(block) for block in blocks)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _written(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"<h{level}>{_text(text)}</h{level}>"
        case Paragraph(text, quiet):
            return f"<p{_QUIET if quiet else ''}>{_text(text)}</p>"
        case Code(text):
            return f"<pre>{_text(text)}</pre>"
        case Items(texts):
            return "<ul>\n" + "\n".join(f"<li>{_text(text)}</li>" for text in texts) + "\n</ul>"
        case Table():
            return _table(block)
        case ShareBars():
            return _bars(block) + "\n" + _table(as_table(block))


def _table(table: Table) -> str:
    head = _row("th", table.headings, table.right) + "\n" if any(table.headings) else ""
    return "<table>\n" + head + "\n".join(_row("td", row, table.right) for row in table.rows) + "\n</table>"


def _row(tag: str, cells: Sequence[str], right: frozenset[int]) -> str:
    written = (
        f"<{tag}{_FIGURE if at in right else ''}>{_text(cell)}</{tag}>" for at, cell in enumerate(cells)
    )
    return f"<tr>{''.join(written)}</tr>"


def _bars(bars: ShareBars) -> str:
    return "\n".join(
        f'<p class="label">{_text(label)}</p>\n<div class="bar">{"".join(map(_part, parts, _COLOURS))}</div>'
        for label, parts in bars.rows
    )


def _part(part: tuple[str, float | None], colour: str) -> str:
    name, share = part
    if not share:
        return ""
    style = f"width:{100 * share:.2f}%;background:{colour}"
    return f'<span style="{style}" title="{_text(name)} {percent_or_never(share)}"></span>'


def _text(text: str) -> str:
    return escape(shown(text))
