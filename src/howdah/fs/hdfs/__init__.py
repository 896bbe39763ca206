"""HDFS as a FileSystem: its interface as calls of a DFS client.

`filesystem` is the class; `namespace` is what it has in common with `webhdfs://`: all that a
namenode answers, without streams. `links` follows symbolic links, `walk` lists trees, and
`administration` is for administrators. `status`, `attributes`, `snapshot_records` and `caching`
make records of protocol messages; `operation_metrics` counts operations; `renames` is for two that
shall reach the namenode in one piece.
Arrows: `filesystem -> namespace -> links, records -> status -> the client`.
"""

from __future__ import annotations

from howdah.lazy_names import import_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howdah.fs.hdfs.filesystem import HdfsFileSystem as HdfsFileSystem

__all__ = ["HdfsFileSystem"]

# What needs the status of a file alone shall not load the client, too.
_HOME = {
    "HdfsFileSystem": "howdah.fs.hdfs.filesystem",
}


def __getattr__(name: str) -> object:
    return import_name(__name__, _HOME, name)
