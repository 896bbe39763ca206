"""Calls of a client of which the audit log has lines, in an order; by two users.

`tests/cluster/hadoop_audit_lines.txt` has what Hadoop's namenode (3.5.0, with `VALUES`) logs of
them. To record it again, run them against one whose log4j.properties send
`org.apache.hadoop.hdfs.server.namenode.FSNamesystem.audit` to a file, and pass its lines through
`comparable`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.fs.acl import parse_acl
from howdah.proto import client_namenode_pb2 as pb

VALUES: Final = {
    "hadoop.caller.context.enabled": "true",
    "dfs.namenode.audit.log.with.remote.port": "true",
    "dfs.namenode.acls.enabled": "true",
    "fs.permissions.umask-mode": "022",
}
RECORDED_OWNER: Final = "root"
"""Who had started the namenode that was recorded."""


def comparable(line: str) -> str:
    """A line without what differs from run to run: its time, ports, and names of snapshots."""
    text = line.split("audit: ", 1)[1].rstrip("\n")
    text = re.sub(r"clientPort:\d+", "clientPort:N", text)
    return re.sub(r"/\.snapshot/s\d{8}-\d{6}\.\d{3}", "/.snapshot/sTIME", text)


def run(conf: Configuration, owner: str = RECORDED_OWNER) -> None:
    """All calls, on an empty namenode; `owner` has started it."""
    with howdah.connect(conf=conf, user=owner) as fs, howdah.connect(conf=conf, user="eve") as eve:
        for call in _OWN:
            _try(call, fs)
        for call in _DENIED:
            _try(call, eve)


def _try(call: Callable[[Any], object], fs: Any) -> None:
    try:
        call(fs)
    except (errors.HowdahError, OSError):
        return  # what fails has a line or has none


def _old_rename(fs: Any, src: str, dst: str) -> None:
    request = pb.RenameRequestProto(src=src, dst=dst)
    fs.client.namenode.call("rename", request, pb.RenameResponseProto)


_OWN: Final[tuple[Callable[[Any], object], ...]] = (
    lambda fs: fs.mkdirs("/a/b"),
    lambda fs: fs.mkdirs('/w"e\\i\tr/é😀'),
    lambda fs: fs.create("/a/f").close(),
    lambda fs: fs.create("/a/g").close(),
    lambda fs: fs.create("/a/f"),
    lambda fs: fs.get_file_status("/a/f"),
    lambda fs: fs.get_file_link_status("/a/f"),
    lambda fs: fs.get_file_status("/gone"),
    lambda fs: fs.list_status("/a"),
    lambda fs: fs.list_status("/gone"),
    lambda fs: fs.open("/a/f").read(),
    lambda fs: fs.open("/gone"),
    lambda fs: fs.set_permission("/a/f", 0o1640),
    lambda fs: fs.set_permission("/a/b", 0o1777),
    lambda fs: fs.set_permission("/gone", 0o700),
    lambda fs: fs.set_owner("/a/f", "ann", "staff"),
    lambda fs: fs.set_times("/a/f", 5, 5),
    lambda fs: fs.set_replication("/a/f", 2),
    lambda fs: fs.set_replication("/a", 2),
    lambda fs: fs.content_summary("/a"),
    lambda fs: fs.rename("/a/g", "/a/h"),
    lambda fs: fs.rename("/a/h", "/a/f", overwrite=True),
    lambda fs: fs.rename("/gone", "/x"),
    lambda fs: _old_rename(fs, "/a/f", "/a/i"),
    lambda fs: _old_rename(fs, "/a/i", "/a/f"),
    lambda fs: _old_rename(fs, "/gone", "/x"),
    lambda fs: fs.delete("/gone"),
    lambda fs: fs.delete("/a/b", recursive=True),
    lambda fs: fs.access("/a/f", 4),
    lambda fs: fs.set_quota("/a", names=100),
    lambda fs: fs.set_quota("/a", space_bytes=1 << 40),
    lambda fs: fs.set_quota("/a", names=None),
    lambda fs: fs.set_quota("/a", space_bytes=None),
    lambda fs: fs.allow_snapshot("/a"),
    lambda fs: fs.create_snapshot("/a", "s1"),
    lambda fs: fs.create_snapshot("/a"),
    lambda fs: fs.rename_snapshot("/a", "s1", "s2"),
    lambda fs: fs.list_snapshots("/a"),
    lambda fs: fs.snapshot_diff("/a", "s2", ""),
    lambda fs: fs.list_snapshottable_directories(),
    lambda fs: fs.delete_snapshot("/a", "s2"),
    lambda fs: fs.disallow_snapshot("/a"),
    lambda fs: fs.get_acl_status("/a"),
    lambda fs: fs.modify_acl_entries("/a/f", parse_acl("user:bob:r--")),
    lambda fs: fs.remove_acl_entries("/a/f", parse_acl("user:bob:r--")),
    lambda fs: fs.remove_acl("/a/f"),
    lambda fs: fs.set_xattr("/a", "user.x", b"1"),
    lambda fs: fs.get_xattr("/a", "user.x"),
    lambda fs: fs.get_xattrs("/a"),
    lambda fs: fs.list_xattrs("/a"),
    lambda fs: fs.remove_xattr("/a", "user.x"),
    lambda fs: fs.set_storage_policy("/a", "HOT"),
    lambda fs: fs.unset_storage_policy("/a"),
    lambda fs: fs.is_file_closed("/a/f"),
    lambda fs: fs.append("/a/f").close(),
    lambda fs: fs.truncate("/a/f", 0),
    lambda fs: fs.datanode_report(),
    lambda fs: fs.set_safe_mode("get"),
    lambda fs: fs.set_safe_mode("enter"),
    lambda fs: fs.mkdirs("/safe"),
    lambda fs: fs.set_safe_mode("leave"),
    lambda fs: fs.concat("/a/f", ["/a/gone"]),
    lambda fs: fs.list_open_files(),
    lambda fs: fs.set_permission("/a", 0o700),
)
_DENIED: Final[tuple[Callable[[Any], object], ...]] = (
    lambda fs: fs.get_file_status("/a/f"),
    lambda fs: fs.mkdirs("/x"),
    lambda fs: fs.create("/x"),
    lambda fs: fs.open("/a/f"),
    lambda fs: fs.delete("/a"),
    lambda fs: fs.rename("/a/f", "/x"),
    lambda fs: _old_rename(fs, "/a/f", "/x"),
    lambda fs: fs.set_safe_mode("enter"),
    lambda fs: fs.list_status("/a"),
    lambda fs: fs.allow_snapshot("/a"),
    lambda fs: fs.create_snapshot("/a", "z"),
    lambda fs: fs.delete_snapshot("/a", "z"),
    lambda fs: fs.set_quota("/a", names=1),
    lambda fs: fs.set_replication("/a/f", 3),
    lambda fs: fs.access("/a", 4),
    lambda fs: fs.set_owner("/a", "eve"),
    lambda fs: fs.set_permission("/a", 0o777),
    lambda fs: fs.content_summary("/a"),
    lambda fs: fs.datanode_report(),
    lambda fs: fs.append("/a/f"),
    lambda fs: fs.concat("/a/f", ["/a/g"]),
    lambda fs: fs.get_acl_status("/a/f"),
    lambda fs: fs.set_xattr("/a", "user.x", b"1"),
    lambda fs: fs.list_open_files(),
)
