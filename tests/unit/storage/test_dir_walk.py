"""A tree is walked as a whole, or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from howdah.storage.dir_walk import all_below


def test_what_cannot_be_listed_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "f").touch()
    assert [names for _, _, names in all_below(tmp_path)] == [[], ["f"], []]
    list_one = os.scandir

    def scandir(path: str) -> object:
        if path.endswith("b"):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return list_one(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(OSError, match="Input/output error"):
        list(all_below(tmp_path))


def test_below_what_is_not_there_is_nothing(tmp_path: Path) -> None:
    assert list(all_below(tmp_path / "none")) == []
