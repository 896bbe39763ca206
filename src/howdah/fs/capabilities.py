"""The names by which streams and filesystems are asked what they can do (OS-099) (pure).

Mirrors Hadoop's StreamCapabilities and CommonPathCapabilities. Rules: the case of a
name doesn't matter (OS-100), a name that nobody knows is answered with false
(OS-101), a probe never raises because a stream is closed (OS-103). Names of one
filesystem alone begin with `fs.SCHEME.` (OS-114). Pure.
"""

from __future__ import annotations

import re

# --- streams --------------------------------------------------------------------------

HFLUSH = "hflush"
HSYNC = "hsync"
DROP_BEHIND = "dropbehind"
ABORTABLE_STREAM = "fs.capability.outputstream.abortable"
READAHEAD = "in:readahead"
UNBUFFER = "in:unbuffer"
READ_BYTE_BUFFER = "in:readbytebuffer"
PREAD_BYTE_BUFFER = "in:preadbytebuffer"
READ_VECTORED = "in:readvectored"

OUTPUT_CAPABILITIES = frozenset((HFLUSH, HSYNC, DROP_BEHIND, ABORTABLE_STREAM))
INPUT_CAPABILITIES = frozenset(
    (READAHEAD, UNBUFFER, READ_BYTE_BUFFER, PREAD_BYTE_BUFFER, READ_VECTORED, DROP_BEHIND)
)

# --- paths ----------------------------------------------------------------------------

ACLS = "fs.capability.paths.acls"
APPEND = "fs.capability.paths.append"
CHECKSUMS = "fs.capability.paths.checksums"
CONCAT = "fs.capability.paths.concat"
LIST_CORRUPT_FILE_BLOCKS = "fs.capability.paths.list-corrupt-file-blocks"
PATH_HANDLES = "fs.capability.paths.pathhandles"
PERMISSIONS = "fs.capability.paths.permissions"
READ_ONLY_CONNECTOR = "fs.capability.paths.read-only-connector"
SNAPSHOTS = "fs.capability.paths.snapshots"
STORAGE_POLICY = "fs.capability.paths.storagepolicy"
SYMLINKS = "fs.capability.paths.symlinks"
TRUNCATE = "fs.capability.paths.truncate"
XATTRS = "fs.capability.paths.xattrs"
BATCH_LISTING = "fs.capability.batch.listing"
BULK_DELETE = "fs.capability.bulk.delete"
ETAGS_AVAILABLE = "fs.capability.etags.available"
LEASE_RECOVERABLE = "fs.capability.lease.recoverable"
MULTIPART_UPLOADER = "fs.capability.multipart.uploader"
VIRTUAL_BLOCK_LOCATIONS = "fs.capability.virtual.block.locations"

PATH_CAPABILITIES = frozenset(
    (
        ACLS,
        APPEND,
        CHECKSUMS,
        CONCAT,
        LIST_CORRUPT_FILE_BLOCKS,
        PATH_HANDLES,
        PERMISSIONS,
        READ_ONLY_CONNECTOR,
        SNAPSHOTS,
        STORAGE_POLICY,
        SYMLINKS,
        TRUNCATE,
        XATTRS,
        BATCH_LISTING,
        BULK_DELETE,
        ETAGS_AVAILABLE,
        LEASE_RECOVERABLE,
        MULTIPART_UPLOADER,
        VIRTUAL_BLOCK_LOCATIONS,
    )
)

_STANDARD = OUTPUT_CAPABILITIES | INPUT_CAPABILITIES | PATH_CAPABILITIES
_OWN = re.compile(r"fs\.([a-z][a-z0-9+.\-]*?)\.[^.].*")


def canonical(name: str) -> str:
    """The name as it is compared: case is left out of account, in no language's manner.

    >>> canonical("HSync")
    'hsync'
    """
    return name.lower()


def is_well_named(name: str, scheme: str) -> bool:
    """Return whether a filesystem of `scheme` may answer true to `name`, which must be a common
    name or one of its own.

    >>> is_well_named("fs.hdfs.sync.flags", "hdfs"), is_well_named("sync.flags", "hdfs")
    (True, False)
    """
    known = canonical(name)
    if known in _STANDARD:
        return True
    match = _OWN.fullmatch(known)
    return match is not None and known.startswith(f"fs.{scheme}.")
