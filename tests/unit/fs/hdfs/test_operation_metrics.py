"""Every method for users is counted, or named as one that is not."""

from __future__ import annotations

from typing import Final

import pytest

from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.hdfs.operation_metrics import READS, WRITES
from howdah.fs.viewfs.filesystem import ViewFileSystem

MADE_OF_OTHERS: Final = {
    *("bulk_delete", "copy_from", "create_file", "du", "exists", "glob_status", "is_directory"),
    *("is_file", "list_status", "ls", "multipart_uploader", "open", "open_file"),
    *("open_path_handle", "read_bytes", "read_text", "rm", "server_copies", "walk"),
    *("write_bytes", "write_text"),
    *("chmod", "chown", "copy", "get", "glob", "isdir", "isfile", "move", "put", "stat", "touch"),
}
"""They count by what they call."""
NOT_COUNTED: Final = {
    *("access", "get_acl_status", "get_path_handle", "get_xattrs", "inotify", "is_file_closed"),
    *("list_corrupt_files", "list_open_files", "list_with_writers", "list_xattrs", "msync"),
    *("datanode_report", "recover_lease", "server_defaults", "set_safe_mode"),
    *("cancel_delegation_token", "get_delegation_token", "get_key_server_token"),
    "renew_delegation_token",
    *("create_encryption_zone", "get_encryption_zone", "list_encryption_zones"),
    *("list_reencryption", "reencrypt_zone"),
    *("get_file_encryption_info", "provision_encryption_zone_trash", "trash_root"),
}
"""As in DistributedFileSystem, or what only this client has."""
NO_OPERATION: Final = {
    *("behind_links", "child_filesystems", "close", "has_path_capability", "home_directory"),
    *("path", "path_capabilities", "qualify", "resolve", "resolve_path", "statistics"),
    *("supports_symlinks", "trash_place", "working_directory"),
}
"""They ask nobody, or of no path."""
NOT_IN_VIEWS: Final = {"create_symlink", "datanode_report", "multipart_uploader"}


def methods(kind: type) -> set[str]:
    return {name for name in dir(kind) if name[0] != "_" and callable(getattr(kind, name))}


def test_every_method_is_counted_or_named() -> None:
    groups = (set(READS), set(WRITES), MADE_OF_OTHERS, NOT_COUNTED, NO_OPERATION)
    named = [name for group in groups for name in group if name[0] != "_"]
    assert sorted(named) == sorted(methods(HdfsFileSystem))


@pytest.mark.parametrize("name", sorted(methods(FileSystem)))
def test_a_view_offers_what_its_filesystems_do(name: str) -> None:
    """What is not overridden there says that a view does not offer it."""
    offered = getattr(FileSystem, name)
    if "_unsupported" in offered.__code__.co_names:
        is_left_out = getattr(ViewFileSystem, name) is offered
        assert is_left_out is (name in NOT_IN_VIEWS)
