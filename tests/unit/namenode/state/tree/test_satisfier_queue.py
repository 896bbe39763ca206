"""The index of marked inodes: what waits, and who was told what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.formats.edits.edits import XAttr, XAttrNamespace
from howdah.namenode.state.inodes.inodes import Directory
from howdah.namenode.state.tree.satisfier_queue import SatisfierQueue

pytestmark = pytest.mark.req("FS-184")

MARK = XAttr(XAttrNamespace.USER, "hdfs.sps")


def inode(number: int, *, is_marked: bool = True) -> Directory:
    directory = Directory(number, str(number), "", "", 0o755, 0)
    if is_marked:
        directory.xattrs = (XAttr(XAttrNamespace.USER, "other"), MARK)
    return directory


def marks_of(*numbers: int) -> SatisfierQueue:
    marks = SatisfierQueue()
    for number in numbers:
        marks.follow(inode(number))
    return marks


def told(marks: SatisfierQueue, asks: bytes = b"one") -> list[int]:
    return list(iter(lambda: marks.next(asks, lambda _: True), None))


def test_the_attribute_of_another_name_is_no_mark() -> None:
    marks = SatisfierQueue()
    other = inode(7, is_marked=False)
    other.xattrs = (XAttr(XAttrNamespace.TRUSTED, "hdfs.sps"), XAttr(XAttrNamespace.USER, "sps"))
    marks.follow(other)
    assert len(marks) == marks.waiting == 0


def test_what_was_told_is_told_again_when_it_is_marked_again() -> None:
    marks = marks_of(7)
    assert told(marks) == [7]
    assert marks.waiting == 0
    marks.follow(inode(7))
    assert told(marks) == [7]


def test_a_mark_that_is_gone_waits_no_more() -> None:
    marks = marks_of(7, 8)
    marks.follow(inode(7, is_marked=False))
    assert 7 not in marks
    assert told(marks) == [8]


def test_marks_that_are_retired_do_not_wait_until_all_start_over() -> None:
    marks = marks_of(7, 8)
    marks.retire()
    assert list(marks.retired) == [7, 8]
    assert marks.waiting == 0
    marks.start_over()
    assert not marks.retired
    assert told(marks) == [7, 8]


@given(st.lists(st.tuples(st.sampled_from("msnabr"), st.integers(1, 6)), max_size=60))
def test_every_mark_is_told_until_it_is_taken_off(steps: list[tuple[str, int]]) -> None:
    """Against a plain list: `m`ark, `s`top, `n`o inode, `a` and `b` ask, `r`ole changes."""
    marks, there, waiting, last = SatisfierQueue(), dict[int, None](), list[int](), ""
    for step, number in steps:
        match step:
            case "m":
                marks.follow(inode(number))
                there.setdefault(number)
                if number not in waiting:
                    waiting.append(number)
            case "s" | "n":
                marks.discard(number)
                there.pop(number, None)
                waiting = [each for each in waiting if each != number]
            case "r":
                marks.start_over()
                waiting, last = list(there), ""
            case _:
                if step != last:
                    waiting += [each for each in there if each not in waiting]
                last = step
                expected = waiting.pop(0) if waiting else None
                assert marks.next(step.encode(), lambda _: True) == expected
        assert marks.waiting == len(waiting)
        assert len(marks) == len(there)
