"""Names in the staging directory of a copy."""

from __future__ import annotations

import pytest

from howdah.copy.common.staging import Staging, is_staging, key_of


def test_same_copy_finds_its_staging_directory_again() -> None:
    first = Staging.of("/dst", False, key_of(["/a", "/b"], "/dst"), "run1")
    second = Staging.of("/dst", False, key_of(["/b", "/a"], "/dst"), "run2")
    assert first.directory == second.directory
    assert first.own != second.own


def test_other_copies_have_other_staging_directories() -> None:
    assert key_of(["/a", "/b"], "/dst") != key_of(["/a"], "/dst")
    assert key_of(["/a"], "/dst") != key_of(["/a"], "/dst2")


@pytest.mark.parametrize(
    ("target", "is_file", "parent"),
    [("/t/d", False, "/t/d"), ("/t/f", True, "/t"), ("/f", True, ""), ("/", False, "")],
)
def test_staging_lies_in_the_target_or_beside_a_file(
    target: str, is_file: bool, parent: str
) -> None:
    directory = Staging.of(target, is_file, "0123456789abcdef", "run").directory
    assert directory == f"{parent}/.distcp.tmp.0123456789abcdef"
    assert is_staging(directory.rpartition("/")[2])


def test_attempts_at_a_task_do_not_meet() -> None:
    staging = Staging.of("/t", False, "k", "r")
    assert len({staging.file(p, a, n) for p in (0, 1) for a in (0, 1) for n in (0, 1)}) == 8
