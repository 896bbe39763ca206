"""What a name that is not there is called here: `fs.listdir`, `status.size` (pure).

Every operation has one name, that of Hadoop's interface, and those of everyday one more, that of
the shell and of Python's `os` (`howdah.fs.pythonic`). Whoever types another name, by the habits of
another library, gets an AttributeError that says the right one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

_OPEN_TO_WRITE: Final = 'open(path, "wb")'
_TREE_REMOVED: Final = "rm(path, recursive=True)"

FILESYSTEM: Final[Mapping[str, str]] = {
    # os, os.path, shutil, pathlib
    "listdir": "ls(path)",
    "scandir": "list_status(path)",
    "iterdir": "list_status(path)",
    "rglob": "path(directory).rglob(pattern)",
    "is_dir": "isdir(path)",
    "lexists": "exists(path)",
    "getsize": "stat(path).length",
    "getmtime": "stat(path).modification_time_ms",
    "lstat": "get_file_link_status(path)",
    "makedirs": "mkdirs(path)",
    "remove": "rm(path)",
    "unlink": "rm(path)",
    "rmdir": "rm(path)",
    "rmtree": _TREE_REMOVED,
    "replace": "rename(old, new, overwrite=True)",
    "readlink": "get_link_target(path)",
    "symlink": "create_symlink(target, link)",
    "utime": "set_times(path, mtime_ms, atime_ms)",
    "statvfs": "get_status()",
    "disk_usage": "get_status()",
    "copyfile": "copy(old, new)",
    "copy2": "copy(old, new)",
    "copytree": "copy(old, new, recursive=True)",
    "cwd": "working_directory()",
    "getcwd": "working_directory()",
    "home": "home_directory()",
    "joinpath": "path(directory) / name",
    # fsspec
    "info": "stat(path)",
    "find": "walk(path)",
    "cat": "read_bytes(path)",
    "cat_file": "read_bytes(path)",
    "cat_ranges": "open(path).read_vectored(ranges)",
    "head": "open(path).read(size)",
    "tail": "open(path).pread(offset, length), or howdah.fs.tail",
    "pipe": "write_bytes(path, data)",
    "pipe_file": "write_bytes(path, data)",
    "cp": "copy(old, new)",
    "cp_file": "copy(old, new)",
    "mv": "move(old, new)",
    "put_file": "put(local, path)",
    "get_file": "get(path, local)",
    "upload": "put(local, path)",
    "download": "get(path, local)",
    "rm_file": "rm(path)",
    "rm_rf": _TREE_REMOVED,
    "size": "stat(path).length",
    "modified": "stat(path).modification_time_ms",
    "checksum": "get_file_checksum(path)",
    "unstrip_protocol": "qualify(path)",
    "expand_path": "glob(pattern)",
    # pyarrow.fs, and Hadoop clients of Python
    "get_file_info": "stat(path)",
    "create_dir": "mkdirs(path)",
    "delete_dir": _TREE_REMOVED,
    "delete_dir_contents": _TREE_REMOVED,
    "delete_file": "rm(path)",
    "open_input_stream": "open(path)",
    "open_input_file": "open(path)",
    "open_output_stream": _OPEN_TO_WRITE,
    "open_append_stream": 'open(path, "ab")',
    "normalize_path": "resolve(path)",
    "type_name": "scheme",
    "list": "ls(path)",
    "status": "stat(path)",
    "content": "content_summary(path)",
    "count": "content_summary(path)",
    "read": "read_bytes(path)",
    "write": "write_bytes(path, data)",
    "acl_status": "get_acl_status(path)",
    "df": "get_status()",
    "chgrp": "chown(path, group=name)",
    "setrep": "set_replication(path, replicas)",
    "expunge": "howdah.fs.trash",
    # Hadoop's own names that have no twin in snake_case
    "copy_from_local_file": "put(local, path)",
    "copy_from_local": "put(local, path)",
    "copy_to_local_file": "get(path, local)",
    "copy_to_local": "get(path, local)",
    "move_from_local_file": "put(local, path)",
    "list_files": "walk(path)",
    "list_located_status": "list_status(path)",
    "get_file_block_locations": "block_locations(path)",
    "get_content_summary": "content_summary(path)",
    "get_quota_usage": "quota_usage(path)",
    "get_home_directory": "home_directory()",
    "get_server_defaults": "server_defaults()",
    "get_uri": "uri",
    "make_qualified": "qualify(path)",
    "delete_on_exit": "delete(path), or a with block of your own",
}
FILE_STATUS: Final[Mapping[str, str]] = {
    "size": "length",
    "st_size": "length",
    "len": "length",
    "st_mtime": "modification_time_ms",
    "mtime": "modification_time_ms",
    "modified": "modification_time_ms",
    "modification_time": "modification_time_ms",
    "st_atime": "access_time_ms",
    "atime": "access_time_ms",
    "access_time": "access_time_ms",
    "mode": "permission",
    "st_mode": "permission",
    "permissions": "permission",
    "user": "owner",
    "uid": "owner",
    "st_uid": "owner",
    "gid": "group",
    "st_gid": "group",
    "is_dir": "is_directory",
    "isdir": "is_directory",
    "isfile": "is_file",
    "islink": "is_symlink",
    "type": "is_directory, is_file or is_symlink",
    "blocksize": "block_size",
    "target": "symlink",
    "st_ino": "file_id",
    "path_suffix": "name",
    "base_name": "name",
}
MODULE: Final[Mapping[str, str]] = {
    "Client": "connect(uri)",
    "InsecureClient": "connect(uri)",
    "KerberosClient": "connect(uri)",
    "HDFileSystem": "connect(uri)",
    "HadoopFileSystem": "connect(uri)",
    "HdfsFileSystem": "connect(uri)",
    "HowdahFileSystem": "howdah.fsspec.HowdahFileSystem",
    "client": "connect(uri)",
    "filesystem": "connect(uri)",
    "get_filesystem": "connect(uri)",
    "hdfs": "connect(uri)",
    "Filesystem": "FileSystem",
    "UPath": "Path",
    "PurePath": "Path",
    "MiniCluster": "howdah.testing.MiniCluster",
    "Error": "HowdahError",
    "exceptions": "howdah.errors",
}


class WrongName(AttributeError):
    """An attribute that `owner` does not have. Its text says what `owner` has instead, and is
    made when it is read: most of these errors are caught by `hasattr`."""

    def __init__(
        self, owner: str, name: str, known: Callable[[], Iterable[str]], habits: Mapping[str, str]
    ) -> None:
        # With its name Python looks for none itself.
        super().__init__(f"{owner} has no {name!r}", name=name)
        self._known = known
        self._habits = habits

    def __reduce__(self) -> tuple[type[AttributeError], tuple[str]]:
        """Elsewhere it is an AttributeError of the same text."""
        return AttributeError, (str(self),)

    def __str__(self) -> str:
        text, name = str(self.args[0]), str(self.name)
        if name.startswith("_"):
            return text
        known = [each for each in self._known() if not each.startswith("_")]
        answer = _answer(name, known, self._habits)
        if answer:
            return f"{text}: it is {answer}"
        import difflib  # not for those who only ask

        near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
        return f"{text}: did you mean {near[0]}?" if near else text


def _answer(name: str, known: Collection[str], habits: Mapping[str, str]) -> str | None:
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower() if name[:1].islower() else name
    for guess in (name, snake, snake.removeprefix("get_")):
        if guess in habits:
            return habits[guess]
        for twin in (guess, f"{guess}_ms"):
            if twin in known:
                return twin
    return None
