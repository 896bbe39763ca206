"""Which methods of an `HdfsFileSystem` count as operations that read or write.

The same that DistributedFileSystem of Hadoop counts in FileSystem.Statistics: an operation
counts when it begins, whatever becomes of it. A further page of a listing is a large read.
"""

from __future__ import annotations

import functools
from typing import Any, Final, Protocol, TypeVar

from howdah.client.statistics import Count, Tally

READS: Final = (
    "_open_input",
    "block_locations",
    "content_summary",
    "get_erasure_coding_codecs",
    "get_erasure_coding_policies",
    "get_erasure_coding_policy",
    "get_file_checksum",
    "get_file_link_status",
    "get_file_status",
    "get_link_target",
    "get_status",
    "get_storage_policies",
    "get_storage_policy",
    "get_xattr",
    "list_cache_directives",
    "list_cache_pools",
    "list_snapshots",
    "list_snapshottable_directories",
    "list_status_iter",
    "quota_usage",
    "snapshot_diff",
)
WRITES: Final = (
    "add_cache_directive",
    "add_cache_pool",
    "allow_snapshot",
    "append",
    "concat",
    "create",
    "create_snapshot",
    "create_symlink",
    "delete",
    "delete_known",
    "delete_snapshot",
    "disallow_snapshot",
    "mkdir",
    "mkdirs",
    "modify_acl_entries",
    "modify_cache_directive",
    "modify_cache_pool",
    "remove_acl",
    "remove_acl_entries",
    "remove_cache_directive",
    "remove_cache_pool",
    "remove_default_acl",
    "remove_xattr",
    "rename",
    "rename_in_turn",
    "rename_over",
    "rename_snapshot",
    "rename_to_trash",
    "satisfy_storage_policy",
    "set_acl",
    "set_erasure_coding_policy",
    "set_owner",
    "set_permission",
    "set_quota",
    "set_replication",
    "set_storage_policy",
    "set_times",
    "set_xattr",
    "truncate",
    "unset_erasure_coding_policy",
    "unset_storage_policy",
)


class Counted(Protocol):
    """What has a tally."""

    @property
    def _tally(self) -> Tally: ...


T = TypeVar("T", bound=type)


def counts_operations(kind: T) -> T:
    """A class whose operations add to the tally of their filesystem."""
    for names, count in ((READS, Count.READ_OPS), (WRITES, Count.WRITE_OPS)):
        for name in names:
            call = _counting(getattr(kind, name), count)
            # Where documentation looks for the docstring that the method inherits.
            call.__qualname__, call.__module__ = f"{kind.__qualname__}.{name}", kind.__module__
            setattr(kind, name, call)
    return kind


def _counting(method: Any, count: Count) -> Any:
    @functools.wraps(method)
    def call(self: Counted, *arguments: Any, **named: Any) -> Any:
        self._tally.add(count)
        return method(self, *arguments, **named)

    return call
