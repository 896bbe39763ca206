"""The numbers by which Hadoop's edit log names operations, and kinds of things (pure)."""

from __future__ import annotations

import enum


class Opcode(enum.IntEnum):
    """First byte of every record. The retired and the later ones are named too."""

    OP_ADD = 0
    OP_RENAME_OLD = 1
    OP_DELETE = 2
    OP_MKDIR = 3
    OP_SET_REPLICATION = 4
    OP_DATANODE_ADD = 5
    OP_DATANODE_REMOVE = 6
    OP_SET_PERMISSIONS = 7
    OP_SET_OWNER = 8
    OP_CLOSE = 9
    OP_SET_GENSTAMP_V1 = 10
    OP_SET_NS_QUOTA = 11
    OP_CLEAR_NS_QUOTA = 12
    OP_TIMES = 13
    OP_SET_QUOTA = 14
    OP_RENAME = 15
    OP_CONCAT_DELETE = 16
    OP_SYMLINK = 17
    OP_GET_DELEGATION_TOKEN = 18
    OP_RENEW_DELEGATION_TOKEN = 19
    OP_CANCEL_DELEGATION_TOKEN = 20
    OP_UPDATE_MASTER_KEY = 21
    OP_REASSIGN_LEASE = 22
    OP_END_LOG_SEGMENT = 23
    OP_START_LOG_SEGMENT = 24
    OP_UPDATE_BLOCKS = 25
    OP_CREATE_SNAPSHOT = 26
    OP_DELETE_SNAPSHOT = 27
    OP_RENAME_SNAPSHOT = 28
    OP_ALLOW_SNAPSHOT = 29
    OP_DISALLOW_SNAPSHOT = 30
    OP_SET_GENSTAMP_V2 = 31
    OP_ALLOCATE_BLOCK_ID = 32
    OP_ADD_BLOCK = 33
    OP_ADD_CACHE_DIRECTIVE = 34
    OP_REMOVE_CACHE_DIRECTIVE = 35
    OP_ADD_CACHE_POOL = 36
    OP_MODIFY_CACHE_POOL = 37
    OP_REMOVE_CACHE_POOL = 38
    OP_MODIFY_CACHE_DIRECTIVE = 39
    OP_SET_ACL = 40
    OP_ROLLING_UPGRADE_START = 41
    OP_ROLLING_UPGRADE_FINALIZE = 42
    OP_SET_XATTR = 43
    OP_REMOVE_XATTR = 44
    OP_SET_STORAGE_POLICY = 45
    OP_TRUNCATE = 46
    OP_APPEND = 47
    OP_SET_QUOTA_BY_STORAGETYPE = 48
    OP_ADD_ERASURE_CODING_POLICY = 49
    OP_ENABLE_ERASURE_CODING_POLICY = 50
    OP_DISABLE_ERASURE_CODING_POLICY = 51
    OP_REMOVE_ERASURE_CODING_POLICY = 52
    OP_INVALID = 0xFF


class RenameFlag(enum.IntEnum):
    """Options of rename2; the same numbers on the wire and on disk."""

    NONE = 0
    OVERWRITE = 1
    TO_TRASH = 2


class StorageKind(enum.IntEnum):
    """Storage types by the ordinal that quota records hold (not the wire's numbers)."""

    RAM_DISK = 0
    SSD = 1
    DISK = 2
    ARCHIVE = 3
    PROVIDED = 4
    NVDIMM = 5


class AclScope(enum.IntEnum):
    ACCESS = 0
    DEFAULT = 1


class AclKind(enum.IntEnum):
    USER = 0
    GROUP = 1
    MASK = 2
    OTHER = 3


class XAttrNamespace(enum.IntEnum):
    USER = 0
    TRUSTED = 1
    SECURITY = 2
    SYSTEM = 3
    RAW = 4
