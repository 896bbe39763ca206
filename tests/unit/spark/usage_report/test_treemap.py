"""Rectangles as large as they are to be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.spark.usage_report.page import Box, squarify

SIZES = st.lists(st.integers(1, 10**9), min_size=1, max_size=40)
ALL = Box(0, 0, 960, 420)


@given(SIZES)
def test_each_area_is_as_large_as_its_share(sizes: list[int]) -> None:
    boxes = squarify(sizes, ALL)
    for size, box in zip(sizes, boxes, strict=True):
        assert box.area == pytest.approx(ALL.area * size / sum(sizes), rel=1e-6, abs=1e-6)


@given(SIZES)
def test_no_two_boxes_overlap_and_none_leaves_the_whole(sizes: list[int]) -> None:
    boxes = squarify(sizes, ALL)
    slack = 1e-6
    for number, box in enumerate(boxes):
        assert box.x >= -slack
        assert box.y >= -slack
        assert box.x + box.width <= ALL.width + slack
        assert box.y + box.height <= ALL.height + slack
        for other in boxes[:number]:
            apart = (
                box.x + box.width <= other.x + slack
                or other.x + other.width <= box.x + slack
                or box.y + box.height <= other.y + slack
                or other.y + other.height <= box.y + slack
            )
            assert apart, (box, other)


def test_nothing_has_no_boxes() -> None:
    assert squarify([], ALL) == []
