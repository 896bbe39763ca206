"""Tables as Hadoop's administration commands print them (pure): its TableListing."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

LINE_WIDTH = 80


def table(columns: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str | None]]) -> str:
    """A head and rows. A column is its title, and whether it is set to the right."""
    cells = [[cell or "" for cell in row] for row in rows]
    lines = [[title for title, _ in columns], *cells]
    widths = [max(map(len, column)) + 1 for column in zip(*lines, strict=True)]
    return "".join(
        " ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, (_, to_right) in zip(line, widths, columns, strict=True)
        )
        + "\n"
        for line in lines
    )


def described(rows: Sequence[tuple[str, str]]) -> str:
    """Words and what they mean, in lines of at most 80 columns."""
    left = max(len(word) for word, _ in rows) + 1
    right = min(max(len(text) for _, text in rows) + 1, LINE_WIDTH - 2 - left)
    out = []
    for word, text in rows:
        for number, line in enumerate(textwrap.wrap(text, right) or [""]):
            out.append(f"{word if number == 0 else '':{left}} {line:{right}}\n")
    return "".join(out)
