"""The same calls on a view of ours and on one of Hadoop's ViewFileSystem, for comparison.

`Ours` and `Theirs` have the same methods; what a call comes to is a plain value, or the class
of its error with the operation that a directory of the view refuses.
"""

from __future__ import annotations

import re
from typing import Any

from howdah import errors
from howdah.config import Configuration
from howdah.fs.acl import parse_acl
from howdah.fs.api import FileSystem

Outcome = object
NOT_FOUND = "java.io.FileNotFoundException"
_LONG_AGO_MS = 10_000_000


def named(name: str, message: str) -> Outcome:
    """An error by its class, with the operation that a directory of the view refuses."""
    refused = re.search(r"operation (\w+) not permitted", message)
    return (name, refused[1]) if refused else name


class Ours:
    """Calls on our view, with Java's names and plain outcomes."""

    def __init__(self, fs: FileSystem) -> None:
        self.fs = fs

    def __call__(self, name: str, *arguments: Any) -> Outcome:
        try:
            return getattr(self, name)(*arguments)
        except errors.HowdahError as error:
            return named(error.remote_class, error.message)

    @staticmethod
    def _shown(status: Any) -> Outcome:
        return {
            "path": status.path,
            "kind": "d" if status.is_directory else "l" if status.is_symlink else "-",
            "length": status.length,
            "mode": status.permission,
            "owner": status.owner,
            "group": status.group,
            "link": status.symlink,
            "time": min(status.modification_time_ms, _LONG_AGO_MS),
            "replication": status.replication,
            "block": status.block_size,
        }

    def status(self, path: str) -> Outcome:
        return self._shown(self.fs.get_file_status(path))

    def link_status(self, path: str) -> Outcome:
        return self._shown(self.fs.get_file_link_status(path))

    def listing(self, path: str) -> Outcome:
        return sorted(map(self._shown, self.fs.list_status(path)), key=str)

    def glob(self, pattern: str) -> Outcome:
        return sorted(each.path for each in self.fs.glob_status(pattern))

    def create(self, path: str, overwrite: bool = False) -> Outcome:
        with self.fs.create(path, overwrite=overwrite) as out:
            out.write(b"text")
        return True

    def create_plain(self, path: str) -> Outcome:
        self.fs.create(path, create_parent=False).close()
        return True

    def append(self, path: str) -> Outcome:
        with self.fs.append(path) as out:
            out.write(b" more")
        return True

    def read(self, path: str) -> Outcome:
        with self.fs.open(path) as stream:
            return bytes(stream.read())

    def mkdirs(self, path: str) -> Outcome:
        return self.fs.mkdirs(path)

    def delete(self, path: str) -> Outcome:
        return self.fs.delete(path, recursive=True)

    def rename(self, source: str, target: str) -> Outcome:
        """True, or False where Java's rename says that and ours why."""
        try:
            self.fs.rename(source, target)
        except (errors.PathExists, errors.ParentNotDirectory, errors.InvalidPath):
            return False
        except errors.PathNotFound as error:
            return NOT_FOUND if "File/Directory does not exist" in error.message else False
        return True

    def truncate(self, path: str) -> Outcome:
        self.fs.truncate(path, 0)
        return True

    def set_permission(self, path: str) -> Outcome:
        self.fs.set_permission(path, 0o711)
        return None

    def set_owner(self, path: str) -> Outcome:
        self.fs.set_owner(path, "someone", "some")
        return None

    def set_times(self, path: str) -> Outcome:
        self.fs.set_times(path, 1000, 2000)
        return None

    def set_replication(self, path: str) -> Outcome:
        return self.fs.set_replication(path, 2)

    def access(self, path: str, mode: str) -> Outcome:
        self.fs.access(path, sum({"r": 4, "w": 2, "x": 1}[letter] for letter in mode))
        return None

    def acl(self, path: str) -> Outcome:
        found = self.fs.get_acl_status(path)
        return found.owner, found.group, found.permission, sorted(map(str, found.entries))

    def set_acl(self, path: str) -> Outcome:
        self.fs.set_acl(path, parse_acl("user::rwx,group::r-x,other::---,user:bob:r--"))
        return None

    def remove_acl(self, path: str) -> Outcome:
        self.fs.remove_acl(path)
        return None

    def set_xattr(self, path: str) -> Outcome:
        self.fs.set_xattr(path, "user.colour", b"red")
        return None

    def xattr(self, path: str) -> Outcome:
        return self.fs.get_xattr(path, "user.colour")

    def xattrs(self, path: str) -> Outcome:
        return sorted(self.fs.list_xattrs(path))

    def remove_xattr(self, path: str) -> Outcome:
        self.fs.remove_xattr(path, "user.colour")
        return None

    def summary(self, path: str) -> Outcome:
        found = self.fs.content_summary(path)
        return found.length, found.file_count, found.directory_count

    def usage(self, path: str) -> Outcome:
        found = self.fs.quota_usage(path)
        return found.names, found.space_consumed, found.quota, found.space_quota

    def room(self, path: str | None = None) -> Outcome:
        return self.fs.get_status(path).capacity

    def policy(self, path: str) -> Outcome:
        return self.fs.get_storage_policy(path).name

    def set_policy(self, path: str) -> Outcome:
        self.fs.set_storage_policy(path, "COLD")
        return None

    def unset_policy(self, path: str) -> Outcome:
        self.fs.unset_storage_policy(path)
        return None

    def satisfy_policy(self, path: str) -> Outcome:
        self.fs.satisfy_storage_policy(path)
        return None

    def snapshot(self, path: str) -> Outcome:
        return self.fs.create_snapshot(path, "s1")  # type: ignore[attr-defined]

    def rename_snapshot(self, path: str) -> Outcome:
        self.fs.rename_snapshot(path, "s1", "s2")  # type: ignore[attr-defined]
        return None

    def delete_snapshot(self, path: str) -> Outcome:
        self.fs.delete_snapshot(path, "s2")  # type: ignore[attr-defined]
        return None

    def link_target(self, path: str) -> Outcome:
        return self.fs.get_link_target(path)

    def resolve(self, path: str) -> Outcome:
        fs, there = self.fs.resolve_path(path)
        return (fs.uri if fs is not self.fs else "") + there

    def home(self) -> Outcome:
        return self.fs.home_directory()

    def trash(self, path: str) -> Outcome:
        return self.fs.trash_place(path)[2]

    def checksum(self, path: str) -> Outcome:
        found = self.fs.get_file_checksum(path)
        return found and found.bytes

    def blocks(self, path: str) -> Outcome:
        return [(each.offset, each.length) for each in self.fs.block_locations(path)]

    def block_size(self, path: str) -> Outcome:
        return self.fs.server_defaults(path).block_size

    def capability(self, path: str) -> Outcome:
        return self.fs.has_path_capability(path, "fs.capability.paths.append")

    def children(self) -> Outcome:
        return sorted(each.uri for each in self.fs.child_filesystems())


class Theirs:
    """The same calls on Hadoop's view."""

    def __init__(self, spark: Any, uri: str, conf: Configuration) -> None:
        self.jvm = spark._jvm
        self.hadoop = self.jvm.org.apache.hadoop
        self.conf = self.hadoop.conf.Configuration(spark._jsc.hadoopConfiguration())
        for key, value in conf.items():
            if key.startswith("fs.") or key == "dfs.replication":
                self.conf.set(key, str(value))
        # newInstance: get() would find one in its cache, with other settings.
        self.fs = self.hadoop.fs.FileSystem.newInstance(self.jvm.java.net.URI(uri), self.conf)

    def __call__(self, name: str, *arguments: Any) -> Outcome:
        from py4j.protocol import Py4JJavaError
        from pyspark.errors.exceptions.captured import CapturedException

        try:
            return getattr(self, name)(*arguments)
        except (Py4JJavaError, CapturedException) as error:
            # Some of Java's exceptions PySpark takes for its own.
            thrown: Any = (
                error._origin if isinstance(error, CapturedException) else error.java_exception
            )
            kind = str(thrown.getClass().getName())
            if kind == "org.apache.hadoop.ipc.RemoteException":
                kind = str(thrown.getClassName())
            return named(kind, str(thrown.getMessage()))

    def path(self, path: str) -> Any:
        return self.hadoop.fs.Path(path)

    @staticmethod
    def _plain(path: Any) -> str:
        return str(path.toUri().getPath())

    def _shown(self, status: Any) -> Outcome:
        mode = int(status.getPermission().toShort())
        return {
            "path": self._plain(status.getPath()),
            "kind": "d" if status.isDirectory() else "l" if status.isSymlink() else "-",
            "length": status.getLen(),
            "mode": mode,
            "owner": status.getOwner(),
            "group": status.getGroup(),
            "link": status.getSymlink().toString() if status.isSymlink() else None,
            "time": min(status.getModificationTime(), _LONG_AGO_MS),
            "replication": status.getReplication(),
            "block": status.getBlockSize(),
        }

    def status(self, path: str) -> Outcome:
        return self._shown(self.fs.getFileStatus(self.path(path)))

    def link_status(self, path: str) -> Outcome:
        return self._shown(self.fs.getFileLinkStatus(self.path(path)))

    def listing(self, path: str) -> Outcome:
        return sorted(map(self._shown, self.fs.listStatus(self.path(path))), key=str)

    def glob(self, pattern: str) -> Outcome:
        found = self.fs.globStatus(self.path(pattern)) or ()
        return sorted(self._plain(each.getPath()) for each in found)

    def create(self, path: str, overwrite: bool = False) -> Outcome:
        # Those without numbers first ask for defaults, which a directory of the view hasn't.
        out = self.fs.create(self.path(path), overwrite, 4096, 1, 1 << 27)
        out.write(b"text")
        out.close()
        return True

    def create_plain(self, path: str) -> Outcome:
        self.fs.createNonRecursive(self.path(path), False, 4096, 1, 1 << 27, None).close()
        return True

    def append(self, path: str) -> Outcome:
        out = self.fs.append(self.path(path))
        out.write(b" more")
        out.close()
        return True

    def read(self, path: str) -> Outcome:
        stream = self.fs.open(self.path(path))
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()

    def mkdirs(self, path: str) -> Outcome:
        return self.fs.mkdirs(self.path(path))

    def delete(self, path: str) -> Outcome:
        return self.fs.delete(self.path(path), True)

    def rename(self, source: str, target: str) -> Outcome:
        return self.fs.rename(self.path(source), self.path(target))

    def truncate(self, path: str) -> Outcome:
        self.fs.truncate(self.path(path), 0)
        return True

    def set_permission(self, path: str) -> Outcome:
        mode = self.hadoop.fs.permission.FsPermission("711")
        return self.fs.setPermission(self.path(path), mode)

    def set_owner(self, path: str) -> Outcome:
        return self.fs.setOwner(self.path(path), "someone", "some")

    def set_times(self, path: str) -> Outcome:
        return self.fs.setTimes(self.path(path), 1000, 2000)

    def set_replication(self, path: str) -> Outcome:
        return self.fs.setReplication(self.path(path), 2)

    def access(self, path: str, mode: str) -> Outcome:
        letters = "".join(each if each in mode else "-" for each in "rwx")
        action = self.hadoop.fs.permission.FsAction.getFsAction(letters)
        return self.fs.access(self.path(path), action)

    def acl(self, path: str) -> Outcome:
        found = self.fs.getAclStatus(self.path(path))
        mode = found.getPermission()
        bits = 0o555 if mode is None else int(mode.toShort())
        entries = [str(each.toString()) for each in found.getEntries()]
        # Of a directory of the view Hadoop's answer has the mode as entries.
        entries = [] if mode is None else entries
        return found.getOwner(), found.getGroup(), bits, sorted(entries)

    def set_acl(self, path: str) -> Outcome:
        entries = self.hadoop.fs.permission.AclEntry.parseAclSpec(
            "user::rwx,group::r-x,other::---,user:bob:r--", True
        )
        return self.fs.setAcl(self.path(path), entries)

    def remove_acl(self, path: str) -> Outcome:
        return self.fs.removeAcl(self.path(path))

    def set_xattr(self, path: str) -> Outcome:
        return self.fs.setXAttr(self.path(path), "user.colour", b"red")

    def xattr(self, path: str) -> Outcome:
        return bytes(self.fs.getXAttr(self.path(path), "user.colour"))

    def xattrs(self, path: str) -> Outcome:
        return sorted(map(str, self.fs.listXAttrs(self.path(path))))

    def remove_xattr(self, path: str) -> Outcome:
        return self.fs.removeXAttr(self.path(path), "user.colour")

    def summary(self, path: str) -> Outcome:
        found = self.fs.getContentSummary(self.path(path))
        return found.getLength(), found.getFileCount(), found.getDirectoryCount()

    def usage(self, path: str) -> Outcome:
        found = self.fs.getQuotaUsage(self.path(path))
        names, space = found.getFileAndDirectoryCount(), found.getSpaceConsumed()
        return names, space, found.getQuota(), found.getSpaceQuota()

    def room(self, path: str | None = None) -> Outcome:
        found = self.fs.getStatus(self.path(path)) if path else self.fs.getStatus()
        return found.getCapacity()

    def policy(self, path: str) -> Outcome:
        return self.fs.getStoragePolicy(self.path(path)).getName()

    def set_policy(self, path: str) -> Outcome:
        return self.fs.setStoragePolicy(self.path(path), "COLD")

    def unset_policy(self, path: str) -> Outcome:
        return self.fs.unsetStoragePolicy(self.path(path))

    def satisfy_policy(self, path: str) -> Outcome:
        return self.fs.satisfyStoragePolicy(self.path(path))

    def snapshot(self, path: str) -> Outcome:
        return self._plain(self.fs.createSnapshot(self.path(path), "s1"))

    def rename_snapshot(self, path: str) -> Outcome:
        return self.fs.renameSnapshot(self.path(path), "s1", "s2")

    def delete_snapshot(self, path: str) -> Outcome:
        return self.fs.deleteSnapshot(self.path(path), "s2")

    def link_target(self, path: str) -> Outcome:
        return str(self.fs.getLinkTarget(self.path(path)).toString())

    def resolve(self, path: str) -> Outcome:
        return str(self.fs.resolvePath(self.path(path)).toString())

    def home(self) -> Outcome:
        return self._plain(self.fs.getHomeDirectory())

    def trash(self, path: str) -> Outcome:
        return self._plain(self.fs.getTrashRoot(self.path(path)))

    def checksum(self, path: str) -> Outcome:
        found = self.fs.getFileChecksum(self.path(path))
        return found and bytes(found.getBytes())

    def blocks(self, path: str) -> Outcome:
        status = self.fs.getFileStatus(self.path(path))
        found = self.fs.getFileBlockLocations(status, 0, status.getLen())
        return [(each.getOffset(), each.getLength()) for each in found]

    def block_size(self, path: str) -> Outcome:
        return self.fs.getServerDefaults(self.path(path)).getBlockSize()

    def capability(self, path: str) -> Outcome:
        return self.fs.hasPathCapability(self.path(path), "fs.capability.paths.append")

    def children(self) -> Outcome:
        return sorted(str(each.getUri().toString()) for each in self.fs.getChildFileSystems())
