"""The commands of `howdah dfs` as a table: name, where it lives, how it is called.

This table is all that a call loads before it knows which command it runs; the
command's own module is imported when the command is used and not before, so
`howdah dfs -ls /` costs what `-ls` needs. Names and synopses are those of
Hadoop's FsShell (`hadoop fs -usage`), since scripts and fingers know them; `-abortUploads`
is ours.
"""

from __future__ import annotations

from typing import NamedTuple

_THREADS = "[-t <thread count>] [-q <thread pool queue size>]"


class Entry(NamedTuple):
    """One command: its module in `howdah.cli.dfs`, its class there, its arguments."""

    module: str
    factory: str
    synopsis: str
    json: bool = False
    replaced_by: str = ""


COMMANDS: dict[str, Entry] = {
    "abortUploads": Entry(
        "commands.uploads", "AbortUploads", "[-list] [-age <duration>] <path> ...", json=True
    ),
    "appendToFile": Entry("copying.merge", "AppendToFile", "[-n] <localsrc> ... <dst>"),
    "cat": Entry("commands.show", "Cat", "[-ignoreCrc] <src> ..."),
    "checksum": Entry("commands.show", "Checksum", "[-v] <src> ...", json=True),
    "chgrp": Entry("commands.attributes", "Chgrp", "[-R] GROUP PATH..."),
    "chmod": Entry("commands.attributes", "Chmod", "[-R] <MODE[,MODE]... | OCTALMODE> PATH..."),
    "chown": Entry("commands.attributes", "Chown", "[-R] [OWNER][:[GROUP]] PATH..."),
    "concat": Entry("commands.lengths", "Concat", "<target path> <src path> <src path> ..."),
    "copyFromLocal": Entry(
        "copying.copies", "Put", f"[-f] [-p] [-l] [-d] {_THREADS} <localsrc> ... <dst>"
    ),
    "copyToLocal": Entry(
        "copying.copies", "Get", f"[-f] [-p] [-crc] [-ignoreCrc] {_THREADS} <src> ... <localdst>"
    ),
    "count": Entry(
        "commands.count",
        "Count",
        "[-q] [-h] [-v] [-t [<storage type>]] [-u] [-x] [-e] [-s] <path> ...",
        json=True,
    ),
    "cp": Entry("copying.copies", "Cp", f"[-f] [-p | -p[topax]] [-d] {_THREADS} <src> ... <dst>"),
    "createSnapshot": Entry(
        "commands.snapshots", "CreateSnapshot", "<snapshotDir> [<snapshotName>]"
    ),
    "deleteSnapshot": Entry("commands.snapshots", "DeleteSnapshot", "<snapshotDir> <snapshotName>"),
    "df": Entry("commands.space", "Df", "[-h] [<path> ...]", json=True),
    "du": Entry("commands.space", "Du", "[-s] [-h] [-v] [-x] <path> ...", json=True),
    "dus": Entry("commands.space", "Dus", "", replaced_by="du -s"),
    "expunge": Entry("commands.remove", "Expunge", "[-immediate] [-fs <path>]"),
    "find": Entry("commands.find", "Find", "<path> ... <expression> ..."),
    "get": Entry(
        "copying.copies", "Get", f"[-f] [-p] [-crc] [-ignoreCrc] {_THREADS} <src> ... <localdst>"
    ),
    "getfacl": Entry("commands.acls_and_xattrs", "GetFacl", "[-R] <path>"),
    "getfattr": Entry("commands.acls_and_xattrs", "GetFattr", "[-R] {-n name | -d} [-e en] <path>"),
    "getmerge": Entry("copying.merge", "GetMerge", "[-nl] [-skip-empty-file] <src> <localdst>"),
    "head": Entry("commands.show", "Head", "<file>"),
    "help": Entry("commands.help", "Help", "[cmd ...]"),
    "ls": Entry(
        "commands.ls",
        "Ls",
        "[-C] [-d] [-h] [-q] [-R] [-t] [-S] [-r] [-u] [-e] [<path> ...]",
        json=True,
    ),
    "lsr": Entry("commands.ls", "Lsr", "", replaced_by="ls -R"),
    "mkdir": Entry("commands.create", "Mkdir", "[-p] <path> ..."),
    "moveFromLocal": Entry(
        "copying.copies", "MoveFromLocal", "[-f] [-p] [-l] [-d] <localsrc> ... <dst>"
    ),
    "moveToLocal": Entry("copying.copies", "MoveToLocal", "<src> <localdst>"),
    "mv": Entry("copying.copies", "Mv", "<src> ... <dst>"),
    "put": Entry("copying.copies", "Put", f"[-f] [-p] [-l] [-d] {_THREADS} <localsrc> ... <dst>"),
    "renameSnapshot": Entry(
        "commands.snapshots", "RenameSnapshot", "<snapshotDir> <oldName> <newName>"
    ),
    "rm": Entry("commands.remove", "Rm", "[-f] [-r|-R] [-skipTrash] [-safely] <src> ..."),
    "rmdir": Entry("commands.remove", "Rmdir", "[--ignore-fail-on-non-empty] <dir> ..."),
    "rmr": Entry("commands.remove", "Rmr", "", replaced_by="-rm -r"),
    "setfacl": Entry(
        "commands.acls_and_xattrs",
        "SetFacl",
        "[-R] [{-b|-k} {-m|-x <acl_spec>} <path>]|[--set <acl_spec> <path>]",
    ),
    "setfattr": Entry(
        "commands.acls_and_xattrs", "SetFattr", "{-n name [-v value] | -x name} <path>"
    ),
    "setrep": Entry("commands.attributes", "SetRep", "[-R] [-w] <rep> <path> ..."),
    "stat": Entry("commands.status", "Stat", "[format] <path> ...", json=True),
    "tail": Entry("commands.show", "Tail", "[-f] [-s <sleep interval>] <file>"),
    "test": Entry("commands.status", "Test", "-[defswrz] <path>"),
    "text": Entry("commands.show", "Text", "[-ignoreCrc] <src> ..."),
    "touch": Entry(
        "commands.create", "Touch", "[-a] [-m] [-t TIMESTAMP (yyyyMMdd:HHmmss) ] [-c] <path> ..."
    ),
    "touchz": Entry("commands.create", "Touchz", "<path> ..."),
    "truncate": Entry("commands.lengths", "Truncate", "[-w] <length> <path> ..."),
    "usage": Entry("commands.help", "Usage", "[cmd ...]"),
}
