"""The numbers of FUSE's protocol, as `linux/fuse.h` has them (pure)."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Final

ROOT_ID: Final = 1
"""The node of the directory that is mounted."""


class Operation(IntEnum):
    """What the kernel asks for."""

    LOOKUP = 1
    FORGET = 2
    GETATTR = 3
    SETATTR = 4
    READLINK = 5
    SYMLINK = 6
    MKNOD = 8
    MKDIR = 9
    UNLINK = 10
    RMDIR = 11
    RENAME = 12
    LINK = 13
    OPEN = 14
    READ = 15
    WRITE = 16
    STATFS = 17
    RELEASE = 18
    FSYNC = 20
    SETXATTR = 21
    GETXATTR = 22
    LISTXATTR = 23
    REMOVEXATTR = 24
    FLUSH = 25
    INIT = 26
    OPENDIR = 27
    READDIR = 28
    RELEASEDIR = 29
    FSYNCDIR = 30
    GETLK = 31
    SETLK = 32
    SETLKW = 33
    ACCESS = 34
    CREATE = 35
    INTERRUPT = 36
    BMAP = 37
    DESTROY = 38
    IOCTL = 39
    POLL = 40
    NOTIFY_REPLY = 41
    BATCH_FORGET = 42
    FALLOCATE = 43
    READDIRPLUS = 44
    RENAME2 = 45
    LSEEK = 46
    COPY_FILE_RANGE = 47
    SETUPMAPPING = 48
    REMOVEMAPPING = 49
    SYNCFS = 50
    TMPFILE = 51
    STATX = 52


class Feature(IntFlag):
    """What both sides can do, of the flags of INIT."""

    ASYNC_READ = 1 << 0
    ATOMIC_O_TRUNC = 1 << 3
    BIG_WRITES = 1 << 5
    AUTO_INVAL_DATA = 1 << 12
    DO_READDIRPLUS = 1 << 13
    PARALLEL_DIROPS = 1 << 18
    MAX_PAGES = 1 << 22
    HANDLE_KILLPRIV_V2 = 1 << 28
    """A write takes the rights of setuid, setgid and `security.capability` from a file, without the
    kernel's asking for them before each. No file has such rights here."""


class SetAttribute(IntFlag):
    """Which fields of a SETATTR count."""

    MODE = 1 << 0
    UID = 1 << 1
    GID = 1 << 2
    SIZE = 1 << 3
    ATIME = 1 << 4
    MTIME = 1 << 5
    FH = 1 << 6
    ATIME_NOW = 1 << 7
    MTIME_NOW = 1 << 8
    KILL_SUIDGID = 1 << 11


class RenameFlag(IntFlag):
    """How a RENAME2 treats what is there already."""

    NOREPLACE = 1 << 0
    EXCHANGE = 1 << 1
    WHITEOUT = 1 << 2


class OpenAnswer(IntFlag):
    """How the kernel treats a file that was opened."""

    DIRECT_IO = 1 << 0
    KEEP_CACHE = 1 << 1


class AttributeFlag(IntFlag):
    """How SETXATTR treats an attribute that is there already."""

    CREATE = 1 << 0
    REPLACE = 1 << 1


GETATTR_FH: Final = 1
"""Whether a GETATTR names an open file."""
