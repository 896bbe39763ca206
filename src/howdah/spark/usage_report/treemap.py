"""A treemap: rectangles with given areas, none of them too thin (pure).

A row is filled along the shorter side as long as that makes its rectangles squarer (Bruls,
Huizing, van Wijk: Squarified Treemaps).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


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
