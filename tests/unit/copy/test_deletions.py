"""What a copy deletes at its target, and where that goes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

import howdah
from howdah.config import Configuration
from howdah.copy.commit_tasks import DeleteTask
from howdah.copy.common.filesystems import Place
from howdah.copy.context import CopyContext
from howdah.copy.layout import InvalidInput, Source
from howdah.fs.status import ServerCopies
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


@dataclass(frozen=True)
class At:
    """A filesystem, as far as its name goes."""

    uri: str
    scheme: str = "hdfs"

    def connect(self) -> At:
        return self

    def server_copies(self, source: At) -> ServerCopies:
        return ServerCopies(False, is_same_place=source.uri == "s3://b" and self.uri == "s3a://b")


HDFS = At("hdfs://a")


@pytest.mark.parametrize(
    ("here", "source", "is_directory", "there", "target", "is_refused"),
    [
        (HDFS, "/t/x", True, HDFS, "/t", True),
        (HDFS, "/t/x/y", True, HDFS, "/t", True),
        (HDFS, "/x", True, HDFS, "/", True),
        (HDFS, "/t/x/f", False, HDFS, "/t", True),
        (At("s3://b", "s3"), "/t/x", True, At("s3a://b", "s3a"), "/t", True),
        (At("file://", "file"), "/t/.snapshot", True, At("file://", "file"), "/t", True),
        (HDFS, "/t", True, HDFS, "/t", False),
        (HDFS, "/", True, HDFS, "/t", False),
        (HDFS, "/tx/y", True, HDFS, "/t", False),
        (HDFS, "/t/f", False, HDFS, "/t", False),  # it is copied to where it is
        (HDFS, "/t/.snapshot/s1", True, HDFS, "/t", False),
        (HDFS, "/t/.snapshot/s1", True, HDFS, "/", False),
        (At("hdfs://b"), "/t/x", True, HDFS, "/t", False),
    ],
)
def test_a_source_that_would_be_deleted_is_refused(
    here: At, source: str, is_directory: bool, there: At, target: str, is_refused: bool
) -> None:
    where: Any = Source(0, source, f"{here.uri}{source}", is_directory), None
    sources = (where,)
    places, target_fs = cast(Any, (here,)), cast(Any, there)
    context = CopyContext(places, sources, target_fs, target_fs, target, None, (), False)
    if not is_refused:
        context._check_sources_stay()
        return
    with pytest.raises(InvalidInput, match=r"is within the target .* -delete would delete it"):
        context._check_sources_stay()
