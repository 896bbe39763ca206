"""Which calls of ClientProtocol an observer may answer (pure).

The annotation ReadOnly of Hadoop 3.5's ClientProtocol. Clients send these calls to observers;
a namenode lets those that are coordinated wait until it has seen what the caller has seen.
The others are about the namenode that is asked, and are answered as they come. `msync` and
`getQuotaUsage` are read-only, and for the active alone.
"""

from __future__ import annotations

from typing import Final

COORDINATED: Final = frozenset(
    (
        "checkAccess",
        "getAclStatus",
        "getBatchedListing",
        "getBlockLocations",
        "getContentSummary",
        "getCurrentEditLogTxid",
        "getDataEncryptionKey",
        "getEZForPath",
        "getEditsFromTxid",
        "getEnclosingRoot",
        "getErasureCodingCodecs",
        "getErasureCodingPolicies",
        "getErasureCodingPolicy",
        "getFileInfo",
        "getFileLinkInfo",
        "getLinkTarget",
        "getListing",
        "getLocatedFileInfo",
        "getPreferredBlockSize",
        "getServerDefaults",
        "getSnapshotDiffReport",
        "getSnapshotDiffReportListing",
        "getSnapshotListing",
        "getSnapshottableDirListing",
        "getStoragePolicies",
        "getStoragePolicy",
        "getXAttrs",
        "isFileClosed",
        "listCacheDirectives",
        "listCachePools",
        "listCorruptFileBlocks",
        "listEncryptionZones",
        "listOpenFiles",
        "listReencryptionStatus",
        "listXAttrs",
    )
)
"""What is read is as new as what the caller has seen."""

OBSERVER_CALLS: Final = COORDINATED | {
    "getDatanodeReport",
    "getDatanodeStorageReport",
    "getECTopologyResultForPolicies",
    "getFsECBlockGroupStats",
    "getFsReplicatedBlockStats",
    "getFsStats",
    "getHAServiceState",
    "getSlowDatanodeReport",
}
"""All that clients send to observers."""
