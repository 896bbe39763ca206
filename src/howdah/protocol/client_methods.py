"""The methods of ClientProtocol, and what each part of howdah has to know of them (pure).

One row a method: how a namenode that is not active treats it, which observers answer it, what a
router does with it, what the audit log calls it, which operation of WebHDFS does the same. The
namenode, the client, the router and the web servers go by this table; what a row cannot say (a
category that depends on the request, a line with several paths) is beside the code that needs it.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final, NamedTuple


class Category(enum.IntEnum):
    """What a call does to the namespace: Hadoop's NameNode.OperationCategory.

    `UNCHECKED` calls are served in every role: what datanodes report, and what an
    administrator asks of this process. `JOURNAL` and `CHECKPOINT` belong to who writes the
    log.
    """

    UNCHECKED = 0
    READ = 1
    WRITE = 2
    CHECKPOINT = 3
    JOURNAL = 4


class Observer(enum.Enum):
    """Whether clients send a call to observers: the annotation ReadOnly of ClientProtocol."""

    NO = enum.auto()
    COORDINATED = enum.auto()
    """Yes, and the observer waits until it has seen what the caller has seen."""
    UNCOORDINATED = enum.auto()
    """Yes, and it is answered as it comes: it is about the namenode that is asked."""


class Route(enum.Enum):
    """What a router does with a call."""

    OWN = enum.auto()
    """It has code of its own in `howdah.router.calls`."""
    ONE = enum.auto()
    """The call goes to the first destination that knows its path."""
    EVERY = enum.auto()
    """The call goes to all destinations that have its path: a directory of an entry that spreads
    its files may be in several."""
    REFUSED = enum.auto()
    """Its ids and cookies belong to one namenode: behind a router nobody could say to which."""


class Trait(enum.Flag):
    """What else is true of a method."""

    NONE = 0
    GROWS = enum.auto()
    """It may make a directory larger: a router refuses it where a quota is reached."""
    ONCE = enum.auto()
    """A repeated call gets the first answer again: the annotation AtMostOnce of ClientProtocol.
    All other methods are idempotent. Hadoop has `truncate` among these; here it is not: a
    second cut would take away what was appended since the first."""
    SHOWS_OWNER = enum.auto()
    """Its line in the audit log shows owner, group and mode of the path."""


class Method(NamedTuple):
    """A row of the table."""

    category: Category | None
    """None where it depends on the request (`howdah.namenode.service.ha.categories`)."""
    path: str
    """The field of the request with the path that the call is about; empty if it is about none."""
    route: Route
    observer: Observer = Observer.NO
    audit: str = ""
    """The command in its line of the audit log; empty where it has none, or where the line depends
    on the request (`howdah.namenode.service.audit.calls`)."""
    webhdfs: str = ""
    """The operation of WebHDFS that does the same; empty where there is none."""
    traits: Trait = Trait.NONE


UNCHECKED, READ, WRITE = Category.UNCHECKED, Category.READ, Category.WRITE
JOURNAL: Final = Category.JOURNAL
OWN, ONE, EVERY, REFUSED = Route.OWN, Route.ONE, Route.EVERY, Route.REFUSED
NO, COORDINATED, UNCOORDINATED = Observer.NO, Observer.COORDINATED, Observer.UNCOORDINATED
GROWS, ONCE, SHOWS_OWNER = Trait.GROWS, Trait.ONCE, Trait.SHOWS_OWNER

METHODS: Final[Mapping[str, Method]] = {
    # Names and attributes.
    "getFileInfo": Method(
        READ, "src", OWN, COORDINATED, audit="getfileinfo", webhdfs="GETFILESTATUS"
    ),
    "getFileLinkInfo": Method(
        READ, "src", OWN, COORDINATED, audit="getfileinfo", webhdfs="GETFILELINKSTATUS"
    ),
    "getLocatedFileInfo": Method(READ, "src", ONE, COORDINATED, audit="open"),
    "getListing": Method(
        READ, "src", OWN, COORDINATED, audit="listStatus", webhdfs="LISTSTATUS_BATCH"
    ),
    "getBatchedListing": Method(READ, "paths", OWN, COORDINATED),
    "getLinkTarget": Method(
        READ, "path", ONE, COORDINATED, audit="getfileinfo", webhdfs="GETLINKTARGET"
    ),
    "getContentSummary": Method(
        READ, "path", OWN, COORDINATED, audit="contentSummary", webhdfs="GETCONTENTSUMMARY"
    ),
    "getQuotaUsage": Method(READ, "path", OWN, audit="quotaUsage", webhdfs="GETQUOTAUSAGE"),
    "getPreferredBlockSize": Method(READ, "filename", ONE, COORDINATED),
    "getServerDefaults": Method(READ, "", OWN, COORDINATED, webhdfs="GETSERVERDEFAULTS"),
    "getEnclosingRoot": Method(READ, "filename", ONE, COORDINATED),
    "checkAccess": Method(
        READ, "path", ONE, COORDINATED, audit="checkAccess", webhdfs="CHECKACCESS"
    ),
    "mkdirs": Method(
        WRITE, "src", OWN, audit="mkdirs", webhdfs="MKDIRS", traits=GROWS | SHOWS_OWNER
    ),
    "rename": Method(WRITE, "src", OWN, webhdfs="RENAME", traits=ONCE),
    "rename2": Method(WRITE, "src", OWN, webhdfs="RENAME", traits=ONCE),
    "delete": Method(WRITE, "src", OWN, webhdfs="DELETE", traits=ONCE),
    "createSymlink": Method(WRITE, "link", OWN, webhdfs="CREATESYMLINK", traits=GROWS | ONCE),
    "setPermission": Method(
        WRITE, "src", EVERY, audit="setPermission", webhdfs="SETPERMISSION", traits=SHOWS_OWNER
    ),
    "setOwner": Method(
        WRITE, "src", EVERY, audit="setOwner", webhdfs="SETOWNER", traits=SHOWS_OWNER
    ),
    "setTimes": Method(
        WRITE, "src", EVERY, audit="setTimes", webhdfs="SETTIMES", traits=SHOWS_OWNER
    ),
    "setReplication": Method(WRITE, "src", EVERY, webhdfs="SETREPLICATION", traits=GROWS),
    "setQuota": Method(WRITE, "path", OWN, webhdfs="SETQUOTA"),
    "getAclStatus": Method(
        READ, "src", ONE, COORDINATED, audit="getAclStatus", webhdfs="GETACLSTATUS"
    ),
    "modifyAclEntries": Method(
        WRITE,
        "src",
        EVERY,
        audit="modifyAclEntries",
        webhdfs="MODIFYACLENTRIES",
        traits=SHOWS_OWNER,
    ),
    "removeAclEntries": Method(
        WRITE,
        "src",
        EVERY,
        audit="removeAclEntries",
        webhdfs="REMOVEACLENTRIES",
        traits=SHOWS_OWNER,
    ),
    "removeDefaultAcl": Method(
        WRITE,
        "src",
        EVERY,
        audit="removeDefaultAcl",
        webhdfs="REMOVEDEFAULTACL",
        traits=SHOWS_OWNER,
    ),
    "removeAcl": Method(
        WRITE, "src", EVERY, audit="removeAcl", webhdfs="REMOVEACL", traits=SHOWS_OWNER
    ),
    "setAcl": Method(WRITE, "src", EVERY, audit="setAcl", webhdfs="SETACL", traits=SHOWS_OWNER),
    "getXAttrs": Method(READ, "src", ONE, COORDINATED, audit="getXAttrs", webhdfs="GETXATTRS"),
    "listXAttrs": Method(READ, "src", ONE, COORDINATED, audit="listXAttrs", webhdfs="LISTXATTRS"),
    "setXAttr": Method(
        WRITE, "src", EVERY, audit="setXAttr", webhdfs="SETXATTR", traits=ONCE | SHOWS_OWNER
    ),
    "removeXAttr": Method(
        WRITE, "src", EVERY, audit="removeXAttr", webhdfs="REMOVEXATTR", traits=ONCE | SHOWS_OWNER
    ),
    "getStoragePolicy": Method(READ, "path", ONE, COORDINATED, webhdfs="GETSTORAGEPOLICY"),
    "getStoragePolicies": Method(READ, "", OWN, COORDINATED, webhdfs="GETALLSTORAGEPOLICY"),
    "setStoragePolicy": Method(
        WRITE,
        "src",
        EVERY,
        audit="setStoragePolicy",
        webhdfs="SETSTORAGEPOLICY",
        traits=SHOWS_OWNER,
    ),
    "unsetStoragePolicy": Method(
        WRITE,
        "src",
        EVERY,
        audit="unsetStoragePolicy",
        webhdfs="UNSETSTORAGEPOLICY",
        traits=SHOWS_OWNER,
    ),
    "satisfyStoragePolicy": Method(
        WRITE,
        "src",
        EVERY,
        audit="satisfyStoragePolicy",
        webhdfs="SATISFYSTORAGEPOLICY",
        traits=ONCE | SHOWS_OWNER,
    ),
    # Files and blocks.
    "getBlockLocations": Method(
        READ, "src", ONE, COORDINATED, audit="open", webhdfs="GET_BLOCK_LOCATIONS"
    ),
    "isFileClosed": Method(READ, "src", ONE, COORDINATED, audit="isFileClosed"),
    "listOpenFiles": Method(READ, "path", OWN, COORDINATED, audit="listOpenFiles"),
    "create": Method(WRITE, "src", OWN, audit="create", traits=GROWS | ONCE | SHOWS_OWNER),
    "append": Method(WRITE, "src", OWN, audit="append", traits=GROWS | ONCE),
    "truncate": Method(
        WRITE, "src", ONE, audit="truncate", webhdfs="TRUNCATE", traits=GROWS | ONCE | SHOWS_OWNER
    ),
    "concat": Method(WRITE, "trg", OWN, webhdfs="CONCAT", traits=ONCE),
    "fsync": Method(WRITE, "src", OWN),
    "complete": Method(WRITE, "src", OWN),
    "renewLease": Method(WRITE, "", OWN),
    "recoverLease": Method(WRITE, "src", ONE),
    "addBlock": Method(WRITE, "src", OWN, traits=GROWS),
    "abandonBlock": Method(WRITE, "src", OWN),
    "getAdditionalDatanode": Method(WRITE, "src", OWN),
    "updateBlockForPipeline": Method(WRITE, "", OWN),
    "updatePipeline": Method(WRITE, "", OWN, traits=ONCE),
    "reportBadBlocks": Method(WRITE, "", OWN),
    # Snapshots.
    "getSnapshottableDirListing": Method(
        READ,
        "",
        OWN,
        COORDINATED,
        audit="listSnapshottableDirectory",
        webhdfs="GETSNAPSHOTTABLEDIRECTORYLIST",
    ),
    "getSnapshotListing": Method(
        READ, "snapshotRoot", OWN, COORDINATED, audit="ListSnapshot", webhdfs="GETSNAPSHOTLIST"
    ),
    "getSnapshotDiffReport": Method(
        READ, "snapshotRoot", OWN, COORDINATED, webhdfs="GETSNAPSHOTDIFF"
    ),
    "getSnapshotDiffReportListing": Method(
        READ, "snapshotRoot", OWN, COORDINATED, webhdfs="GETSNAPSHOTDIFFLISTING"
    ),
    "allowSnapshot": Method(
        WRITE, "snapshotRoot", OWN, audit="allowSnapshot", webhdfs="ALLOWSNAPSHOT"
    ),
    "disallowSnapshot": Method(
        WRITE, "snapshotRoot", OWN, audit="disallowSnapshot", webhdfs="DISALLOWSNAPSHOT"
    ),
    "createSnapshot": Method(WRITE, "snapshotRoot", OWN, webhdfs="CREATESNAPSHOT", traits=ONCE),
    "renameSnapshot": Method(WRITE, "snapshotRoot", OWN, webhdfs="RENAMESNAPSHOT", traits=ONCE),
    "deleteSnapshot": Method(WRITE, "snapshotRoot", OWN, webhdfs="DELETESNAPSHOT", traits=ONCE),
    # The cluster and this namenode.
    "getFsStats": Method(READ, "", OWN, UNCOORDINATED, webhdfs="GETSTATUS"),
    "getFsReplicatedBlockStats": Method(READ, "", OWN, UNCOORDINATED),
    "getFsECBlockGroupStats": Method(READ, "", OWN, UNCOORDINATED),
    "listCorruptFileBlocks": Method(READ, "path", ONE, COORDINATED),
    "metaSave": Method(READ, "", OWN, audit="metaSave"),
    "getDatanodeReport": Method(UNCHECKED, "", OWN, UNCOORDINATED, audit="datanodeReport"),
    "getDatanodeStorageReport": Method(
        UNCHECKED, "", OWN, UNCOORDINATED, audit="getDatanodeStorageReport"
    ),
    "getSlowDatanodeReport": Method(UNCHECKED, "", OWN, UNCOORDINATED, audit="slowDataNodesReport"),
    "setSafeMode": Method(None, "", OWN),
    "saveNamespace": Method(UNCHECKED, "", OWN, audit="saveNamespace"),
    "restoreFailedStorage": Method(UNCHECKED, "", OWN),
    "refreshNodes": Method(UNCHECKED, "", OWN, audit="refreshNodes"),
    "finalizeUpgrade": Method(UNCHECKED, "", OWN, audit="finalizeUpgrade"),
    "upgradeStatus": Method(UNCHECKED, "", OWN),
    "rollingUpgrade": Method(None, "", OWN),
    "setBalancerBandwidth": Method(WRITE, "", OWN, audit="setBalancerBandwidth"),
    "getHAServiceState": Method(UNCHECKED, "", OWN, UNCOORDINATED),
    "msync": Method(WRITE, "", OWN),
    # The log.
    "rollEdits": Method(JOURNAL, "", OWN, audit="rollEditLog"),
    "getCurrentEditLogTxid": Method(READ, "", OWN, COORDINATED),
    "getEditsFromTxid": Method(READ, "", REFUSED, COORDINATED),
    # Tokens, encryption, erasure coding, caching.
    "getDelegationToken": Method(WRITE, "", OWN, webhdfs="GETDELEGATIONTOKEN"),
    "renewDelegationToken": Method(WRITE, "", OWN, webhdfs="RENEWDELEGATIONTOKEN"),
    "cancelDelegationToken": Method(WRITE, "", OWN, webhdfs="CANCELDELEGATIONTOKEN"),
    "getDataEncryptionKey": Method(UNCHECKED, "", OWN, COORDINATED),
    "createEncryptionZone": Method(
        WRITE, "src", EVERY, audit="createEncryptionZone", traits=ONCE | SHOWS_OWNER
    ),
    "listEncryptionZones": Method(READ, "", REFUSED, COORDINATED, audit="listEncryptionZones"),
    "reencryptEncryptionZone": Method(WRITE, "zone", EVERY, traits=ONCE),
    "listReencryptionStatus": Method(
        READ, "", REFUSED, COORDINATED, audit="listReencryptionStatus"
    ),
    "getEZForPath": Method(READ, "src", ONE, COORDINATED, audit="getEZForPath", traits=SHOWS_OWNER),
    "getErasureCodingPolicy": Method(
        READ, "src", ONE, COORDINATED, audit="getErasureCodingPolicy", webhdfs="GETECPOLICY"
    ),
    "getErasureCodingPolicies": Method(
        READ, "", OWN, COORDINATED, audit="getErasureCodingPolicies", webhdfs="GETECPOLICIES"
    ),
    "getErasureCodingCodecs": Method(
        READ, "", OWN, COORDINATED, audit="getErasureCodingCodecs", webhdfs="GETECCODECS"
    ),
    "getECTopologyResultForPolicies": Method(
        UNCHECKED, "", OWN, UNCOORDINATED, audit="getECTopologyResultForPolicies"
    ),
    "setErasureCodingPolicy": Method(
        WRITE,
        "src",
        EVERY,
        audit="setErasureCodingPolicy",
        webhdfs="SETECPOLICY",
        traits=ONCE | SHOWS_OWNER,
    ),
    "unsetErasureCodingPolicy": Method(
        WRITE,
        "src",
        EVERY,
        audit="unsetErasureCodingPolicy",
        webhdfs="UNSETECPOLICY",
        traits=ONCE | SHOWS_OWNER,
    ),
    "addErasureCodingPolicies": Method(WRITE, "", OWN, traits=ONCE),
    "removeErasureCodingPolicy": Method(WRITE, "", OWN, traits=ONCE),
    "enableErasureCodingPolicy": Method(WRITE, "", OWN, webhdfs="ENABLEECPOLICY", traits=ONCE),
    "disableErasureCodingPolicy": Method(WRITE, "", OWN, webhdfs="DISABLEECPOLICY", traits=ONCE),
    "listCacheDirectives": Method(READ, "", OWN, COORDINATED),
    "addCacheDirective": Method(WRITE, "", OWN, traits=ONCE),
    "modifyCacheDirective": Method(WRITE, "", OWN, traits=ONCE),
    "removeCacheDirective": Method(WRITE, "", OWN, traits=ONCE),
    "listCachePools": Method(READ, "", OWN, COORDINATED, audit="listCachePools"),
    "addCachePool": Method(WRITE, "", OWN, traits=ONCE),
    "modifyCachePool": Method(WRITE, "", OWN, traits=ONCE),
    "removeCachePool": Method(WRITE, "", OWN, traits=ONCE),
}
"""By the names of ClientNamenodeProtocol.proto."""

OBSERVER_METHODS: Final = frozenset(m for m, row in METHODS.items() if row.observer != Observer.NO)
COORDINATED_METHODS: Final = frozenset(
    m for m, row in METHODS.items() if row.observer is Observer.COORDINATED
)
