"""A namespace as one HTML page: space by directory, sizes and ages of files (pure).

The page is self-contained: drawings are SVG, nothing is loaded from elsewhere. It is made of the
small frames of `namespace_reports`, so its size does not depend on that of the namespace.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from howdah.runtime.units import byte_text

# A treemap: rectangles with given areas, none of them too thin.
#
# A row is filled along the shorter side as long as that makes its rectangles squarer (Bruls,
# Huizing, van Wijk: Squarified Treemaps).


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle: the corner nearest to the origin, and the sides."""

    x: float
    y: float
    width: float
    height: float

    @property
    def area(self) -> float:
        return self.width * self.height


def squarify(sizes: Sequence[float], within: Box) -> list[Box]:
    """A box for each size, in their order; together they fill `within`.

    Sizes must be above 0. Largest first gives the squarest boxes.

    >>> squarify([1, 1], Box(0, 0, 4, 2))
    [Box(x=0, y=0, width=2.0, height=2.0), Box(x=2.0, y=0, width=2.0, height=2.0)]
    """
    if not sizes:
        return []
    scale = within.area / sum(sizes)
    areas = [size * scale for size in sizes]
    boxes: list[Box] = []
    free = within
    row: list[float] = []
    for area in areas:
        side = min(free.width, free.height)
        if row and _worst([*row, area], side) > _worst(row, side):
            placed, free = _fill(row, free)
            boxes += placed
            row = []
        row.append(area)
    placed, _ = _fill(row, free)
    return boxes + placed


def _worst(row: Sequence[float], side: float) -> float:
    """The largest aspect ratio of the boxes of a row along `side`."""
    total = sum(row)
    if side <= 0 or total <= 0:
        return float("inf")
    return max(
        max(side * side * area / (total * total), total * total / (side * side * area))
        for area in row
    )


def _fill(row: Sequence[float], free: Box) -> tuple[list[Box], Box]:
    """The boxes of one row along the shorter side, and the rest of the area."""
    total = sum(row)
    boxes = []
    if free.width >= free.height:
        thick = total / free.height if free.height else 0.0
        y = free.y
        for area in row:
            high = area / thick if thick else 0.0
            boxes.append(Box(free.x, y, thick, high))
            y += high
        return boxes, Box(free.x + thick, free.y, max(free.width - thick, 0.0), free.height)
    thick = total / free.width if free.width else 0.0
    x = free.x
    for area in row:
        wide = area / thick if thick else 0.0
        boxes.append(Box(x, free.y, wide, thick))
        x += wide
    return boxes, Box(free.x, free.y + thick, free.width, max(free.height - thick, 0.0))


WIDTH: Final = 960
_MAP_HEIGHT: Final = 420
_BARS_HEIGHT: Final = 220
_COLOURS: Final = ("#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#76b7b2", "#edc948", "#e15759")
# The room that a letter and a line of a label take.
_LETTER: Final = 7
_LINE: Final = 16

_STYLE: Final = """\
body { font: 15px/1.45 system-ui, sans-serif; color: #222; max-width: 980px; margin: 2em auto; }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2em }
table { border-collapse: collapse } td, th { padding: .15em .9em .15em 0; text-align: left }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
tr + tr { border-top: 1px solid #e4e4e4 } svg { width: 100%; height: auto }
svg text { font: 12px system-ui, sans-serif; fill: #fff } svg .axis { fill: #444 }
"""


@dataclass(frozen=True, slots=True)
class Used:
    """A directory, with the sums of the files below it."""

    path: str
    files: int
    length: int
    space: int


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a chart: its label, the number of files, their bytes."""

    label: str
    files: int
    length: int


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under headings; the columns `numbers` are set flush right."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()


def page(
    title: str,
    summary: str,
    space: Sequence[Used],
    sizes: Sequence[Bar],
    ages: Sequence[Bar],
    tables: Iterable[Table],
    charts: Iterable[tuple[str, Sequence[Bar]]] = (),
) -> str:
    """Return the whole page. The directories in `space` are of one level, so they do not
    overlap. `charts` are more bar charts, with their titles."""
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1><p>{escape(summary)}</p>",
        "<h2>What takes the space</h2>",
        treemap(space),
        "<h2>How large files are</h2>",
        bars(sizes),
        "<h2>How long nobody used them</h2>",
        bars(ages),
        *(f"<h2>{escape(title)}</h2>\n{bars(shown)}" for title, shown in charts),
        *(table(content) for content in tables),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def treemap(space: Sequence[Used]) -> str:
    """Draw a treemap: an area for each directory, in proportion to its space."""
    shown = sorted(
        (directory for directory in space if directory.space > 0),
        key=lambda directory: -directory.space,
    )
    if not shown:
        return "<p>Nothing takes any space.</p>"
    boxes = squarify([directory.space for directory in shown], Box(0, 0, WIDTH, _MAP_HEIGHT))
    drawn = [
        _area(box, directory, _COLOURS[number % len(_COLOURS)])
        for number, (box, directory) in enumerate(zip(boxes, shown, strict=True))
    ]
    return _svg(_MAP_HEIGHT, drawn)


def _area(box: Box, used: Used, colour: str) -> str:
    tooltip = f"{used.path}: {byte_text(used.space)} in {used.files} files"
    room = int(box.width // _LETTER) - 1
    label = ""
    if room > 3 and box.height > _LINE:
        name = used.path if len(used.path) <= room else used.path[: room - 1] + "…"
        label = _text(box.x + 5, box.y + _LINE, name)
        if box.height > 2 * _LINE:
            label += _text(box.x + 5, box.y + 2 * _LINE, byte_text(used.space)[:room])
    return (
        f'<g><title>{escape(tooltip)}</title><rect x="{box.x:.1f}" y="{box.y:.1f}" '
        f'width="{box.width:.1f}" height="{box.height:.1f}" fill="{colour}" stroke="#fff"/>'
        f"{label}</g>"
    )


def bars(shown: Sequence[Bar]) -> str:
    """A bar chart: the height of a bar is the number of files."""
    if not shown:
        return "<p>There are no files.</p>"
    highest = max(bar.files for bar in shown) or 1
    step = WIDTH / len(shown)
    room = _BARS_HEIGHT - 3 * _LINE
    drawn = []
    for number, bar in enumerate(shown):
        high = room * bar.files / highest
        x, y = number * step, _LINE + room - high
        tooltip = f"{bar.label}: {bar.files} files, {byte_text(bar.length)}"
        drawn.append(
            f'<g><title>{escape(tooltip)}</title><rect x="{x + 2:.1f}" y="{y:.1f}" '
            f'width="{max(step - 4, 1):.1f}" height="{high:.1f}" fill="{_COLOURS[0]}"/>'
            + _text(x + 4, y - 4, str(bar.files), axis=True)
            + _text(x + 4, _BARS_HEIGHT - _LINE, bar.label, axis=True)
            + "</g>"
        )
    return _svg(_BARS_HEIGHT, drawn)


def table(shown: Table) -> str:
    def cells(tag: str, values: Sequence[str]) -> str:
        kinds = [' class="n"' if n in shown.numbers else "" for n in range(len(values))]
        return "".join(
            f"<{tag}{kind}>{escape(value)}</{tag}>"
            for kind, value in zip(kinds, values, strict=True)
        )

    rows = "\n".join(f"<tr>{cells('td', row)}</tr>" for row in shown.rows)
    return (
        f"<h2>{escape(shown.title)}</h2>\n<table><tr>{cells('th', shown.headings)}</tr>\n"
        f"{rows}</table>"
    )


def _svg(height: int, parts: Iterable[str]) -> str:
    inside = "\n".join(parts)
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img">\n{inside}\n</svg>'


def _text(x: float, y: float, text: str, *, axis: bool = False) -> str:
    kind = ' class="axis"' if axis else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{kind}>{escape(text)}</text>'
