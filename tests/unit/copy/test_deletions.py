"""What a copy deletes at its target, and where that goes."""

from __future__ import annotations

import time
from pathlib import Path

import howdah
from howdah.config import Configuration
from howdah.copy.commit_tasks import DeleteTask
from howdah.copy.common.filesystems import Place
from howdah.fs.trash import Trash


def test_what_is_in_the_trash_already_stays_there(tmp_path: Path) -> None:
    """It was promised that the trash keeps it, whether or not the trash lies in the target."""
    fs = howdah.connect("file:///", conf=Configuration())
    for name in (".Trash/Current/old", "gone"):
        fs.mkdirs(f"{tmp_path}/{name}")
    trash = Trash(fs, now=time.time, root=f"{tmp_path}/.Trash")
    task = DeleteTask(Place("file:///"), str(tmp_path), to_trash=True, ignore_failures=False)
    assert task._delete(fs, trash, f"{tmp_path}/gone")
    for path in (".Trash", ".Trash/Current", ".Trash/Current/old"):
        assert not task._delete(fs, trash, f"{tmp_path}/{path}")
    assert fs.exists(f"{tmp_path}/.Trash/Current/old")
    assert fs.exists(f"{tmp_path}/.Trash/Current{tmp_path}/gone")
