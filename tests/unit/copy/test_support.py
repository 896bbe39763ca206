"""Which attributes a filesystem has is asked where the copy goes, not at its root."""

from __future__ import annotations

from typing import cast

import pytest

from howdah import errors
from howdah.copy.options import Attribute
from howdah.copy.preserving import AclsNotSupported, XAttrsNotSupported, check_support
from howdah.fs.api import FileSystem
from howdah.fs.memory.filesystem import MemoryFileSystem

BOTH = {Attribute.ACL, Attribute.XATTR}


class Asked:
    """Knows `/mounted` alone, as a router does."""

    uri = "hdfs://router"

    def __init__(self, error: errors.HowdahError | None = None) -> None:
        self.error = error
        self.asked: list[str] = []

    def get_acl_status(self, path: str) -> None:
        self.asked.append(path)
        if path == "/":
            raise errors.NoLocation("Cannot find locations for / in the mount table")
        if path != "/mounted":
            raise errors.PathNotFound(f"{path} is not there")
        if self.error is not None:
            raise self.error

    get_xattrs = get_acl_status


def ask(fs: Asked, path: str, wanted: set[Attribute]) -> None:
    check_support(cast("FileSystem", fs), path, wanted)


def test_the_lowest_directory_that_is_there_is_asked() -> None:
    fs = Asked()
    ask(fs, "/mounted/not/there", BOTH)
    assert fs.asked == ["/mounted/not/there", "/mounted/not", "/mounted"] * 2


def test_who_may_not_look_is_no_reason_against_it() -> None:
    ask(Asked(errors.AccessDenied("not for you")), "/mounted", BOTH)


def test_what_has_no_acls_or_nothing_at_all_is_named() -> None:
    without = errors.RemoteError("ACLs are off: dfs.namenode.acls.enabled is false")
    with pytest.raises(AclsNotSupported, match="hdfs://router"):
        ask(Asked(without), "/mounted", {Attribute.ACL})
    with pytest.raises(XAttrsNotSupported):
        ask(Asked(), "/elsewhere", {Attribute.XATTR})
    check_support(MemoryFileSystem(), "/nothing", set())
