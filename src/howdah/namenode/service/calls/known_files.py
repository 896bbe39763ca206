"""Changes that are for a file as a client has seen it, and for no other one (pure).

Hadoop has nothing like it. A gateway for S3 needs it for `If-Match`: what it has compared may be
replaced by others before it asks.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from howdah import errors
from howdah.namenode.service.calls.resolved_path import Resolved
from howdah.namenode.state.inodes.files import File
from howdah.proto import client_namenode_pb2 as pb


class KnownFile(NamedTuple):
    """What tells a file from the one that was there before, and from itself before a change."""

    file_id: int
    modification_time_ms: int
    length_bytes: int


def known_in(message: pb.KnownFileProto) -> KnownFile:
    return KnownFile(message.fileId, message.modificationTime, message.length)


NOTHING: Final = KnownFile(0, 0, 0)
"""There was no file."""


def check_known(resolved: Resolved, known: KnownFile) -> None:
    """Raises NotTheKnownFile unless a path leads to this file."""
    inode = resolved.inode
    if not isinstance(inode, File) or (inode.inode_id, inode.mtime_ms, inode.length_bytes) != known:
        raise errors.NotTheKnownFile(
            f"{resolved.path} is not the file {known.file_id} of {known.length_bytes} bytes any "
            "more that is to be changed"
        )
