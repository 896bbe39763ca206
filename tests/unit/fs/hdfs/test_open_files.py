"""A listing says which files are open, however many pages it has."""

from __future__ import annotations

from typing import Any

import pytest

from howdah import errors
from howdah.fs.hdfs.filesystem import list_with_writers
from howdah.proto import types_pb2


class Pages:
    """A namenode with one directory, whose pages have two entries."""

    def __init__(self, entries: dict[str, bool | None]) -> None:
        self.entries = entries

    def get_listing(
        self, path: str, start_after: bytes, *, need_location: bool = False
    ) -> types_pb2.DirectoryListingProto | None:
        assert need_location
        if path != "/d":
            return None
        left = [name for name in sorted(self.entries) if name.encode() > start_after]
        page = types_pb2.DirectoryListingProto(remainingEntries=len(left[2:]))
        for name in left[:2]:
            status = page.partialListing.add(path=name.encode())
            is_open = self.entries[name]
            if is_open is None:
                status.fileType = types_pb2.HdfsFileStatusProto.IS_DIR
            else:
                status.fileType = types_pb2.HdfsFileStatusProto.IS_FILE
                status.locations.underConstruction = is_open
        return page


def listed(entries: dict[str, bool | None], path: str = "/d") -> dict[str, bool]:
    namenode: Any = Pages(entries)
    return {status.path: is_open for status, is_open in list_with_writers(namenode, path)}


def test_files_that_are_open_are_told_on_every_page() -> None:
    entries = {"a": False, "b": True, "c": None, "d": False, "e": True}
    wanted = {f"/d/{name}": bool(is_open) for name, is_open in entries.items()}
    assert listed(entries) == wanted
    assert listed({}) == {}


def test_directory_that_is_gone_is_told() -> None:
    with pytest.raises(errors.PathNotFound, match="/none"):
        listed({}, "/none")
