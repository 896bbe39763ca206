"""Modes, owners, times, replication, ACLs, extended attributes, policies, quotas."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from howdah.formats.edits.edits import KEEP_QUOTA, AclKind, AclScope, XAttrNamespace
from howdah.model import acls
from howdah.model.attributes import ONE_WAY
from howdah.model.quotas import PLACES
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from tests.support.namespaces.histories import (
    BLOCK,
    Histories,
    directories,
    files,
    listed,
    marked,
    modes,
    paths_and_root,
    permission,
    there,
)

RESET = -1
MASK_64 = (1 << 64) - 1

# Not masks with names: of several in one list the last counts, as it does for Hadoop.
whom = st.tuples(
    st.sampled_from([acls.ACCESS, acls.DEFAULT]),
    st.sampled_from(["user", "group", "other"]),
    st.sampled_from(["", "", "ann", "bob"]),
) | st.sampled_from([(acls.ACCESS, "mask", ""), (acls.DEFAULT, "mask", "")])
acl_entries = st.dictionaries(whom, st.integers(0, 7), min_size=1, max_size=5)
# Drawn at random most lists are none.
sound_acls = st.builds(
    lambda base, named, scope: {
        (scope, kind, name): bits for (kind, name), bits in (base | named).items()
    },
    st.fixed_dictionaries({(kind, ""): st.integers(0, 7) for kind in acls.BASE}),
    st.dictionaries(
        st.tuples(st.sampled_from(["user", "group"]), st.sampled_from(["ann", "bob"])),
        st.integers(0, 7),
        max_size=2,
    ),
    st.sampled_from([acls.ACCESS, acls.DEFAULT]),
)
MARK = "user.hdfs.sps"
"""Of the storage policy satisfier."""
xattr_names = st.sampled_from(
    ["user.a", "user.b", "user.ü €", MARK, "trusted.a", "trusted.b", ONE_WAY, "system.a", "raw.a"]
)
xattr_values = st.sampled_from([b"", b"", b"1", b"\x00\xff" * 20])
policies = st.sampled_from([*PLACES, ""])
# Bounds that are met: on few names, and on few blocks.
name_bounds = st.integers(1, 6) | st.sampled_from([RESET, KEEP_QUOTA])
space_bounds = st.integers(0, 6 * BLOCK) | st.sampled_from([RESET, KEEP_QUOTA])
kinds = st.sampled_from(["DISK", "SSD", "ARCHIVE"])


def acl_message(entries: acls.Acl) -> list[types_pb2.AclEntryProto]:
    scopes = {acls.ACCESS: AclScope.ACCESS, acls.DEFAULT: AclScope.DEFAULT}
    return [
        types_pb2.AclEntryProto(
            scope=int(scopes[scope]),  # type: ignore[arg-type]
            type=int(AclKind[kind.upper()]),  # type: ignore[arg-type]
            permissions=bits,  # type: ignore[arg-type]
            name=name,
        )
        for (scope, kind, name), bits in entries.items()
    ]


def xattr_message(name: str, value: bytes = b"") -> types_pb2.XAttrProto:
    space, _, rest = name.partition(".")
    return types_pb2.XAttrProto(
        namespace=int(XAttrNamespace[space.upper()]),  # type: ignore[arg-type]
        name=rest,
        value=value or None,
    )


def bounds_of(**counts: int) -> dict[str, int | None]:
    """As the model takes it."""
    return {
        what: None if count == RESET else count
        for what, count in counts.items()
        if count != KEEP_QUOTA
    }


class AttributeHistories(Histories):
    """Operations on one path that is there."""

    @rule(path=there, mode=modes)
    def set_permission(self, path: str, mode: int) -> None:
        request = pb.SetPermissionRequestProto(src=path, permission=permission(mode))

        real = self.do("setPermission", request)
        self.both(real, lambda: self.model.set_mode(path, mode))

    @rule(
        path=paths_and_root, owner=st.sampled_from(["", "alice"]), group=st.sampled_from(["", "g"])
    )
    def set_owner(self, path: str, owner: str, group: str) -> None:
        request = pb.SetOwnerRequestProto(src=path, username=owner, groupname=group)

        real = self.do("setOwner", request)
        self.both(real, lambda: self.model.set_owner(path, owner, group))

    @rule(path=there, mtime=st.integers(-5, 5), atime=st.integers(-5, 5))
    def set_times(self, path: str, mtime: int, atime: int) -> None:
        mask = (1 << 64) - 1
        request = pb.SetTimesRequestProto(src=path, mtime=mtime & mask, atime=atime & mask)

        real = self.do("setTimes", request)
        self.both(real, lambda: self.model.set_times(path, mtime, atime))

    @rule(path=files, replication=st.integers(1, 5))
    def set_replication(self, path: str, replication: int) -> None:
        request = pb.SetReplicationRequestProto(src=path, replication=replication)
        self.both(
            lambda: self.call("setReplication", request).result,
            lambda: self.model.set_replication(path, replication),
        )

    # Access control lists.

    @rule(path=there, entries=acl_entries)
    def modify_acl(self, path: str, entries: acls.Acl) -> None:
        request = types_pb2.ModifyAclEntriesRequestProto(src=path, aclSpec=acl_message(entries))
        self.both(
            self.do("modifyAclEntries", request), lambda: self.model.modify_acl(path, entries)
        )

    @rule(path=there, entries=acl_entries | sound_acls)
    def set_acl(self, path: str, entries: acls.Acl) -> None:
        request = types_pb2.SetAclRequestProto(src=path, aclSpec=acl_message(entries))
        self.both(self.do("setAcl", request), lambda: self.model.replace_acl(path, entries))

    @rule(path=listed, entries=acl_entries)
    def remove_acl_entries(self, path: str, entries: acls.Acl) -> None:
        request = types_pb2.RemoveAclEntriesRequestProto(src=path, aclSpec=acl_message(entries))
        self.both(
            self.do("removeAclEntries", request), lambda: self.model.reduce_acl(path, set(entries))
        )

    @rule(path=listed)
    def remove_default_acl(self, path: str) -> None:
        request = types_pb2.RemoveDefaultAclRequestProto(src=path)
        self.both(self.do("removeDefaultAcl", request), lambda: self.model.remove_default_acl(path))

    @rule(path=listed)
    def remove_acl(self, path: str) -> None:
        request = types_pb2.RemoveAclRequestProto(src=path)
        self.both(self.do("removeAcl", request), lambda: self.model.remove_acl(path))

    # Extended attributes.

    @rule(
        path=marked,
        name=xattr_names,
        value=xattr_values,
        flags=st.sampled_from([(True, True), (True, False), (False, True), (False, False)]),
    )
    def set_xattr(self, path: str, name: str, value: bytes, flags: tuple[bool, bool]) -> None:
        create, replaces = flags
        flag = create * types_pb2.XATTR_CREATE | replaces * types_pb2.XATTR_REPLACE
        request = types_pb2.SetXAttrRequestProto(
            src=path, xAttr=xattr_message(name, value), flag=flag
        )
        self.both(
            self.do("setXAttr", request),
            lambda: self.model.set_xattr(path, name, value, create=create, replaces=replaces),
        )

    @rule(path=marked, name=xattr_names)
    def remove_xattr(self, path: str, name: str) -> None:
        request = types_pb2.RemoveXAttrRequestProto(src=path, xAttr=xattr_message(name))
        self.both(self.do("removeXAttr", request), lambda: self.model.remove_xattr(path, name))

    # Storage policies and quotas.

    @rule(path=there, policy=policies)
    def set_policy(self, path: str, policy: str) -> None:
        if policy:
            real = self.do(
                "setStoragePolicy", pb.SetStoragePolicyRequestProto(src=path, policyName=policy)
            )
        else:
            real = self.do("unsetStoragePolicy", pb.UnsetStoragePolicyRequestProto(src=path))
        self.both(real, lambda: self.model.set_policy(path, policy))

    @rule(path=directories | there, count=name_bounds, space=space_bounds)
    def set_quota(self, path: str, count: int, space: int) -> None:
        request = pb.SetQuotaRequestProto(
            path=path, namespaceQuota=count & MASK_64, storagespaceQuota=space & MASK_64
        )
        bounds = bounds_of(names=count, space=space)
        self.both(self.do("setQuota", request), lambda: self.model.set_bounds(path, bounds))

    @rule(path=directories | there, kind=kinds, space=space_bounds)
    def set_quota_by_type(self, path: str, kind: str, space: int) -> None:
        request = pb.SetQuotaRequestProto(
            path=path,
            namespaceQuota=KEEP_QUOTA,
            storagespaceQuota=space & MASK_64,
            storageType=kind,
        )
        bounds = bounds_of(**{kind: space})
        self.both(self.do("setQuota", request), lambda: self.model.set_bounds(path, bounds))


class BoundedHistories(AttributeHistories):
    """Where bounds are met soon: two directories have them from the start."""

    @initialize(
        path=st.sampled_from(["/", "/b"]),
        policy=policies,
        count=st.integers(2, 8),
        space=st.sampled_from([KEEP_QUOTA, 2 * BLOCK, 3 * BLOCK]),
        ssd=st.sampled_from([KEEP_QUOTA, BLOCK, 2 * BLOCK]),
    )
    def bound(self, path: str, policy: str, count: int, space: int, ssd: int) -> None:
        self.grow(0)
        self.set_policy("/b", policy)
        self.set_quota("/b", count, space)
        self.set_quota_by_type(path, "SSD", ssd)
