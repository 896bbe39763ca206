"""Directories of a bucket that others change at the same moment."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from howdah import errors
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.paths import PathLike
from howdah.fs.status import FileStatus
from howdah.gateway.s3.key_locks import KeyLocks
from howdah.gateway.s3.objects import Bucket, Shared
from howdah.gateway.s3.protocol.conditions import check_reading, etag_of, http_time, iso_time
from howdah.gateway.s3.protocol.metadata import FOR_KEYS, MADE, Metadata
from howdah.gateway.s3.protocol.names import checked_key
from howdah.gateway.s3.protocol.refusals import Refused


class Directories:
    """A filesystem that has directories and their attributes, and prunes one behind a caller."""

    uri = "test://"

    def __init__(self, *paths: str, pruned: str = "") -> None:
        self.ids = {path: number for number, path in enumerate(("/b", *paths), 1)}
        self.marked: set[str] = set()
        self._pruned = pruned

    def get_file_status(self, path: str) -> FileStatus:
        if path not in self.ids:
            raise errors.PathNotFound(path)
        file_id = self.ids[path]
        return FileStatus(path, 0, True, 0, 0, 0, 0, 0o755, "ann", "staff", file_id=file_id)

    def has_path_capability(self, path: str, capability: str) -> bool:
        return True

    def mkdirs(self, path: str, mode: int) -> bool:
        self.ids.pop(self._pruned, None)
        parts = path.split("/")
        for count in range(2, len(parts) + 1):
            self.ids.setdefault("/".join(parts[:count]), 100 + count)
        return True

    def set_xattr(self, path: str, name: str, value: bytes, *, replace: bool) -> None:
        assert (name, value, replace) == (MADE, FOR_KEYS, False)
        self.marked.add(path)


def bucket_on(fs: Any) -> Bucket:
    return Bucket(fs, "b", "/b", "ann", Shared(KeyLocks(), 0o022, lambda: nullcontext(fs)))


@pytest.mark.parametrize(
    ("there", "pruned", "marked"),
    [
        ((), "", {"/b/d", "/b/d/e"}),
        (("/b/d",), "", {"/b/d/e"}),
        (("/b/d", "/b/d/e"), "", set()),
        # What was seen is pruned before the rest is made, and comes back as another one.
        (("/b/d",), "/b/d", {"/b/d", "/b/d/e"}),
        (("/b/d", "/b/d/e"), "/b/d/e", {"/b/d/e"}),
    ],
)
def test_each_directory_that_is_made_is_marked(
    there: tuple[str, ...], pruned: str, marked: set[str]
) -> None:
    fs = Directories(*there, pruned=pruned)
    bucket_on(fs).make_directory("/b/d/e")
    assert fs.marked == marked


class OfHadoop(HdfsFileSystem):
    """A namenode that cannot compare: it replaces nothing, or deletes whatever is there."""

    def __init__(self, refusal: errors.HowdahError) -> None:
        self.refusal = refusal
        self.renamed: list[tuple[str, str, bool]] = []

    @property
    def uri(self) -> str:
        return "hdfs://old"

    def rename_over(self, src: PathLike, dst: PathLike, known: FileStatus | None) -> None:
        raise self.refusal

    def rename(self, src: PathLike, dst: PathLike, *, overwrite: bool = False) -> None:
        self.renamed.append((str(src), str(dst), overwrite))

    def get_file_status(self, path: PathLike) -> FileStatus:
        return FileStatus(str(path), 3, False, 1, 1, 7, 0, 0o644, "ann", "staff", file_id=5)


@pytest.mark.parametrize(
    "refusal", [errors.PathExists("it is there"), errors.UnsupportedOperation("no such thing")]
)
def test_a_gateway_says_once_that_others_are_not_looked_at(
    caplog: pytest.LogCaptureFixture, refusal: errors.HowdahError
) -> None:
    fs = OfHadoop(refusal)
    bucket, key = bucket_on(fs), checked_key("k")
    headers = {"if-match": etag_of(fs.get_file_status("/b/k"))}
    for number in range(2):
        bucket.publish(f"/staged-{number}", key, headers)
    assert fs.renamed == [("/staged-0", "/b/k", True), ("/staged-1", "/b/k", True)]
    assert caplog.text.count("among the requests of this gateway only") == 1
    with pytest.raises(Refused, match="pre-conditions"):
        bucket.publish("/staged-2", key, {"if-match": '"another"'})


class WithZone(HdfsFileSystem):
    """Has an encryption zone below the bucket."""

    def __init__(self) -> None:
        pass

    def trash_root(self, path: PathLike) -> str:
        return f"{'/b/z' if str(path).startswith('/b/z/') else '/user/ann'}/.Trash"


def test_nothing_is_staged_in_plain_for_a_zone_below_the_bucket() -> None:
    bucket = bucket_on(WithZone())
    came = iter([b"plain text"])
    with pytest.raises(Refused, match="is in an encryption zone that is a part of its bucket"):
        bucket.put(checked_key("z/a"), came, {}, Metadata)
    assert next(came) == b"plain text"
    bucket.check_zone(checked_key("y/a"))


@pytest.mark.parametrize("time_ms", [1 << 63, 253_402_300_800_000])
def test_a_time_that_no_calendar_has_is_shown_as_the_last_one(time_ms: int) -> None:
    assert iso_time(time_ms) == "9999-12-31T23:59:59.000Z"
    assert http_time(time_ms) == "Fri, 31 Dec 9999 23:59:59 GMT"
    status = FileStatus("/b/k", 0, False, 1, 1, time_ms, 0, 0o644, "ann", "staff")
    assert check_reading({"if-modified-since": http_time(time_ms)}, status)
    assert not check_reading({"if-unmodified-since": http_time(time_ms)}, status)
