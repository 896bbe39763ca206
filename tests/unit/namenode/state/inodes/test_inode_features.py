"""The rare facts of inodes: one slot, shared by all that have none."""

from __future__ import annotations

from typing import Any

from howdah.formats.edits.edits import XAttr, XAttrNamespace
from howdah.namenode.state.inodes.files import lone_file
from howdah.namenode.state.inodes.inode_features import NO_FEATURES, Quota
from howdah.namenode.state.inodes.inodes import Directory, File

MARK = XAttr(XAttrNamespace.USER, "mark", b"1")


def new_file() -> File:
    return lone_file(17000, "f", "root", "staff", 0o644, 0, replication=1, block_size_bytes=1024)


def test_a_closed_file_has_no_features_of_its_own(client: Any, nodes: Any) -> None:
    assert client.write("/f", 10).features is NO_FEATURES


def test_a_feature_that_is_taken_away_leaves_nothing_behind() -> None:
    file = new_file()
    file.xattrs = (MARK,)
    file.storage_policy_id = 7
    assert (file.xattrs, file.storage_policy_id) == ((MARK,), 7)
    file.xattrs = ()
    file.storage_policy_id = 0
    assert file.features is NO_FEATURES


def test_features_of_one_inode_are_not_those_of_another() -> None:
    one, other = new_file(), new_file()
    one.xattrs = (MARK,)
    assert other.xattrs == ()
    assert NO_FEATURES.is_empty


def test_a_directory_without_bounds_has_no_quota() -> None:
    directory = Directory(17000, "d", "root", "staff", 0o755, 0)
    assert directory.quota is None
    directory.quota = Quota(namespace=3)
    assert directory.quota.is_set
    directory.quota = None
    assert directory.features is NO_FEATURES
