"""Draws the figures of bench/: a line `[Figures: NAME](FILE.json)` of a page becomes the table that the file has, and bars of
the column that its "chart" names.

A file has "title", "columns", "rows" and perhaps "chart"; all cells are text, in Markdown, because a figure keeps its digits and
its unit. scripts/figures writes such files. tests/docs holds them to this form.
"""
import html
import json
import pathlib
import re

from sphinx.errors import ExtensionError

LINE = re.compile(r"^\[Figures: [^\]]+\]\(([^)]+\.json)\)$", re.M)


def row(cells):
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def bars(table):
    """A bar for each row whose figure is a number, labelled by the row's first cell."""
    at = table["columns"].index(table["chart"])
    figures = []
    for cells in table["rows"]:
        try:
            figures.append((cells[0], float(cells[at])))
        except ValueError:
            pass
    if not figures:
        raise ExtensionError(f"the column {table['chart']} of '{table['title']}' has no numbers to draw")
    most = max(figure for _, figure in figures)
    lines = []
    for k, (label, figure) in enumerate(figures):
        y = 18 * k
        lines.append(f'<text x="395" y="{y + 12}" text-anchor="end">{html.escape(label)}</text>'
                     f'<rect x="400" y="{y + 2}" width="{330 * figure / most:.1f}" height="13"/>'
                     f'<text x="{405 + 330 * figure / most:.1f}" y="{y + 12}">{figure:g}</text>')
    title = html.escape(f"{table['title']}: {table['chart']}")
    return (f'<figure class="bars"><svg viewBox="0 0 800 {18 * len(figures)}" role="img" aria-label="{title}">'
            + "".join(lines) + f"</svg><figcaption>{title}</figcaption></figure>")


def drawn(path):
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ExtensionError(f"{path}: no figures: {error}") from error
    lines = [row(table["columns"]), "|" + "---|" * len(table["columns"])] + [row(cells) for cells in table["rows"]]
    if "chart" in table:
        lines += ["", bars(table)]
    return "\n".join(lines)


def replace(app, docname, source):
    folder = (pathlib.Path(app.srcdir) / docname).parent
    source[0] = LINE.sub(lambda found: drawn(folder / found[1]), source[0])


def setup(app):
    app.connect("source-read", replace)
    return {"parallel_read_safe": True}
