"""Path handles."""

from __future__ import annotations

from dataclasses import replace

import pytest

from howdah import errors
from howdah.fs.path_handle import check_handle, make_handle
from howdah.fs.status import FileStatus

FILE = FileStatus("/f", 1, False, 1, 128, 1000, 0, 0o644, "o", "g", file_id=7)


@pytest.mark.parametrize("may_change", [True, False])
@pytest.mark.parametrize("may_move", [True, False])
def test_a_handle_is_good_for_the_file_that_it_was_made_of(
    may_change: bool, may_move: bool
) -> None:
    check_handle(make_handle(FILE, may_change=may_change, may_move=may_move), FILE)


def test_another_file_at_the_path_is_refused() -> None:
    with pytest.raises(errors.InvalidPathHandle, match="/f is another file"):
        check_handle(make_handle(FILE), replace(FILE, file_id=8))


def test_a_changed_file_is_refused_unless_it_may_change() -> None:
    changed = replace(FILE, modification_time_ms=2000)
    check_handle(make_handle(FILE), changed)
    with pytest.raises(errors.InvalidPathHandle, match="/f was changed"):
        check_handle(make_handle(FILE, may_change=False), changed)


def test_a_directory_has_no_handle() -> None:
    with pytest.raises(errors.IllegalArgument, match="/f is not a file"):
        make_handle(replace(FILE, is_directory=True))
