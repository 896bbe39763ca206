"""What S3 calls ACLs, as permissions of HDFS say it.

An owner has all rights, and the world some: what everybody may is what HDFS lets others do, who
are neither the owner nor in the group. Rights of the group, and further entries of HDFS's ACLs,
are neither shown nor changed. Grants to single users are refused: HDFS's own ACLs give them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from howdah.fs.acl import AclEntry, AclStatus
from howdah.fs.status import FileStatus
from howdah.gateway.s3.protocol.documents import Child, Element, parsed
from howdah.gateway.s3.protocol.refusals import Refused

HEADER: Final = "x-amz-acl"
MAX_DOCUMENT_BYTES: Final = 64 << 10
_GROUPS: Final = "http://acs.amazonaws.com/groups/global/"
_ALL: Final = f"{_GROUPS}AllUsers"
_AUTHENTICATED: Final = f"{_GROUPS}AuthenticatedUsers"
_GRANTEE: Final = 'Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type='
_OTHERS_BITS: Final = 0o007


@dataclass(frozen=True, slots=True)
class Others:
    """What everybody may do with an object, or with a bucket."""

    read: bool = False
    write: bool = False

    def mode(self, mode: int, *, is_directory: bool) -> int:
        """Return a mode with these rights in the place of what others have.

        >>> oct(Others(read=True).mode(0o640, is_directory=False))
        '0o644'
        """
        bits = 0o4 * self.read | 0o2 * self.write
        if bits and is_directory:
            # What is in a directory is reached through it.
            bits |= 0o5
        return mode & ~_OTHERS_BITS | bits


def entries_beside(acl: AclStatus, maker: str) -> list[AclEntry]:
    """Return the ACL of a directory of `maker` in which everybody may do what they may in a
    directory that has this one, whoever owns that.

    >>> acl = AclStatus("ann", "staff", False, 0o775, (AclEntry("group", None, 5),))
    >>> [str(entry) for entry in entries_beside(acl, "bob")]
    ['user::rwx', 'user:ann:rwx', 'group::r-x', 'other::r-x']
    """
    bound = acl.permission >> 3 & 7
    access = [entry for entry in acl.entries if not entry.default]
    # The mask is put into the entries: that of the new list has to let an owner have more.
    rights = {(entry.kind, entry.name): entry.permission & bound for entry in access}
    rights.setdefault(("group", None), bound)
    own = acl.permission >> 6 & 7
    if maker != acl.owner:
        rights["user", acl.owner] = own
        own = 7
    rights["user", None] = own
    rights["other", None] = acl.permission & 7
    order = ("user", "group", "other")
    return [
        AclEntry(kind, name, permission)
        for (kind, name), permission in sorted(
            rights.items(), key=lambda item: (order.index(item[0][0]), item[0][1] or "")
        )
    ]


_CANNED: Final = {
    "private": Others(),
    "public-read": Others(read=True),
    "public-read-write": Others(read=True, write=True),
}
_NO_CHANGE: Final = frozenset({"bucket-owner-full-control", "bucket-owner-read"})
"""The owner of a bucket has what HDFS lets him have."""
_AUTHENTICATED_READ: Final = "authenticated-read"


def others_of(headers: Mapping[str, str], *, knows_everybody: bool = True) -> Others | None:
    """Return what a request lets others do; None where it says nothing. `knows_everybody`: no
    request comes without a name. Raises Refused."""
    wanted = headers.get(HEADER)
    if wanted is None or wanted in _NO_CHANGE:
        return None
    if wanted == _AUTHENTICATED_READ and knows_everybody:
        return Others(read=True)
    if wanted not in _CANNED:
        raise Refused(
            "NotImplemented",
            f"{HEADER}: {wanted[:40]} is not supported: permissions are those of HDFS, for an "
            "owner, a group and others",
        )
    return _CANNED[wanted]


def others_of_document(document: bytes, owner: str) -> Others:
    """Return what an AccessControlPolicy lets others do. Raises Refused for grants to anybody but
    the owner and all."""
    policy = parsed(document, "AccessControlPolicy")
    for element in policy.all("Owner"):
        _check_owner(element, owner)
    read = write = False
    for grants in policy.all("AccessControlList"):
        for grant in grants.all("Grant"):
            right = grant.value("Permission") or ""
            grantee = next(grant.all("Grantee"), None)
            if grantee is None:
                raise Refused("MalformedACLError", "a Grant has a Grantee")
            group = grantee.value("URI")
            if group is None:
                _check_owner(grantee, owner)
                continue
            if group not in (_ALL, _AUTHENTICATED) or right not in ("READ", "WRITE"):
                raise Refused(
                    "NotImplemented",
                    f"{right[:20]} for {group[:80]} is not supported: others read and write",
                )
            read |= right == "READ"
            write |= right == "WRITE"
    return Others(read, write)


def _check_owner(element: Element, owner: str) -> None:
    name = element.value("ID")
    if name != owner:
        raise Refused(
            "NotImplemented",
            f"a grant to {(name or 'nobody')[:60]} is not supported, who is not the owner: the "
            "ACLs of HDFS give rights to single users",
        )


def children(status: FileStatus, *, knows_everybody: bool) -> list[Child]:
    """Return the ACL of a file or directory."""
    owner: list[Child] = [("ID", status.owner), ("DisplayName", status.owner)]
    grants: list[Child] = [
        (
            "Grant",
            [(f'{_GRANTEE}"CanonicalUser"', owner), ("Permission", "FULL_CONTROL")],
        )
    ]
    group: list[Child] = [("URI", _AUTHENTICATED if knows_everybody else _ALL)]
    for right, bit in (("READ", 0o4), ("WRITE", 0o2)):
        if status.permission & bit:
            grants.append(("Grant", [(f'{_GRANTEE}"Group"', group), ("Permission", right)]))
    return [("Owner", owner), ("AccessControlList", grants)]
