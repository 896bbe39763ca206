"""The commands of `howdah dfs`: name, where it lives, how it is called.

This table is all that a call loads before it knows which command it runs; the
command's own module is imported when the command is used and not before, so
`howdah dfs -ls /` costs what `-ls` needs. Names and synopses are those of
Hadoop's FsShell (`hadoop fs -usage`), since scripts and fingers know them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from howdah.cli.dfs.command import Command

_THREADS = "[-t <thread count>] [-q <thread pool queue size>]"


class Entry(NamedTuple):
    """One command: its module, its class there, the synopsis of its arguments."""

    module: str
    factory: str
    synopsis: str
    json: bool = False
    replaced_by: str = ""


COMMANDS: dict[str, Entry] = {
    "appendToFile": Entry("merge", "AppendToFile", "[-n] <localsrc> ... <dst>"),
    "cat": Entry("show", "Cat", "[-ignoreCrc] <src> ..."),
    "checksum": Entry("show", "Checksum", "[-v] <src> ...", json=True),
    "chgrp": Entry("attributes", "Chgrp", "[-R] GROUP PATH..."),
    "chmod": Entry("attributes", "Chmod", "[-R] <MODE[,MODE]... | OCTALMODE> PATH..."),
    "chown": Entry("attributes", "Chown", "[-R] [OWNER][:[GROUP]] PATH..."),
    "concat": Entry("lengths", "Concat", "<target path> <src path> <src path> ..."),
    "copyFromLocal": Entry("upload", "Put", f"[-f] [-p] [-l] [-d] {_THREADS} <localsrc> ... <dst>"),
    "copyToLocal": Entry(
        "download", "Get", f"[-f] [-p] [-crc] [-ignoreCrc] {_THREADS} <src> ... <localdst>"
    ),
    "count": Entry(
        "count",
        "Count",
        "[-q] [-h] [-v] [-t [<storage type>]] [-u] [-x] [-e] [-s] <path> ...",
        json=True,
    ),
    "cp": Entry("upload", "Cp", f"[-f] [-p | -p[topax]] [-d] {_THREADS} <src> ... <dst>"),
    "createSnapshot": Entry("snapshots", "CreateSnapshot", "<snapshotDir> [<snapshotName>]"),
    "deleteSnapshot": Entry("snapshots", "DeleteSnapshot", "<snapshotDir> <snapshotName>"),
    "df": Entry("space", "Df", "[-h] [<path> ...]", json=True),
    "du": Entry("space", "Du", "[-s] [-h] [-v] [-x] <path> ...", json=True),
    "dus": Entry("space", "Dus", "", replaced_by="du -s"),
    "expunge": Entry("remove", "Expunge", "[-immediate] [-fs <path>]"),
    "find": Entry("find", "Find", "<path> ... <expression> ..."),
    "get": Entry(
        "download", "Get", f"[-f] [-p] [-crc] [-ignoreCrc] {_THREADS} <src> ... <localdst>"
    ),
    "getfacl": Entry("lists", "GetFacl", "[-R] <path>"),
    "getfattr": Entry("lists", "GetFattr", "[-R] {-n name | -d} [-e en] <path>"),
    "getmerge": Entry("merge", "GetMerge", "[-nl] [-skip-empty-file] <src> <localdst>"),
    "head": Entry("show", "Head", "<file>"),
    "help": Entry("help", "Help", "[cmd ...]"),
    "ls": Entry(
        "ls", "Ls", "[-C] [-d] [-h] [-q] [-R] [-t] [-S] [-r] [-u] [-e] [<path> ...]", json=True
    ),
    "lsr": Entry("ls", "Lsr", "", replaced_by="ls -R"),
    "mkdir": Entry("create", "Mkdir", "[-p] <path> ..."),
    "moveFromLocal": Entry("upload", "MoveFromLocal", "[-f] [-p] [-l] [-d] <localsrc> ... <dst>"),
    "moveToLocal": Entry("unsupported", "MoveToLocal", "<src> <localdst>"),
    "mv": Entry("move", "Mv", "<src> ... <dst>"),
    "put": Entry("upload", "Put", f"[-f] [-p] [-l] [-d] {_THREADS} <localsrc> ... <dst>"),
    "renameSnapshot": Entry("snapshots", "RenameSnapshot", "<snapshotDir> <oldName> <newName>"),
    "rm": Entry("remove", "Rm", "[-f] [-r|-R] [-skipTrash] [-safely] <src> ..."),
    "rmdir": Entry("remove", "Rmdir", "[--ignore-fail-on-non-empty] <dir> ..."),
    "rmr": Entry("remove", "Rmr", "", replaced_by="-rm -r"),
    "setfacl": Entry(
        "lists",
        "SetFacl",
        "[-R] [{-b|-k} {-m|-x <acl_spec>} <path>]|[--set <acl_spec> <path>]",
    ),
    "setfattr": Entry("lists", "SetFattr", "{-n name [-v value] | -x name} <path>"),
    "setrep": Entry("attributes", "SetRep", "[-R] [-w] <rep> <path> ..."),
    "stat": Entry("status", "Stat", "[format] <path> ...", json=True),
    "tail": Entry("show", "Tail", "[-f] [-s <sleep interval>] <file>"),
    "test": Entry("status", "Test", "-[defswrz] <path>"),
    "text": Entry("show", "Text", "[-ignoreCrc] <src> ..."),
    "touch": Entry(
        "create", "Touch", "[-a] [-m] [-t TIMESTAMP (yyyyMMdd:HHmmss) ] [-c] <path> ..."
    ),
    "touchz": Entry("create", "Touchz", "<path> ..."),
    "truncate": Entry("lengths", "Truncate", "[-w] <length> <path> ..."),
    "usage": Entry("help", "Usage", "[cmd ...]"),
}


def load(name: str) -> type[Command]:
    """The class of a command; its module is imported now."""
    entry = COMMANDS[name]
    module = import_module(f"howdah.cli.dfs.{entry.module}")
    return cast("type[Command]", getattr(module, entry.factory))
