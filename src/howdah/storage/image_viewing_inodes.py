"""Inodes from the XML that shows them (pure)."""

from __future__ import annotations

from typing import Final

from howdah import errors
from howdah.storage.edits import (
    AclEntry,
    AclKind,
    AclScope,
    EditBlock,
    StorageKind,
    XAttr,
    XAttrNamespace,
)
from howdah.storage.image_records import (
    NO_QUOTA,
    DirectoryRecord,
    FileRecord,
    InodeRecord,
    SymlinkRecord,
)
from howdah.storage.image_viewing_elements import Element
from howdah.storage.image_viewing_xml import RWX

NO_COPY: Final = "null:null:0000"
"""The permission of a snapshot's copy of a file that is shown and is not there."""


def inode(element: Element) -> InodeRecord:
    """Raises IllegalArgument for what is missing, makes no sense, or is not known."""
    kind, inode_id = element.want("type").text, element.want("id").long()
    name = element.want("name").text
    try:
        if kind == "FILE":
            return file(element, inode_id, name)
        if kind == "DIRECTORY":
            return directory(element, inode_id, name)
        if kind == "SYMLINK":
            return _symlink(element, inode_id, name)
    except errors.IllegalArgument as error:
        raise errors.IllegalArgument(f"inode {inode_id}: {error.message}") from error
    raise errors.IllegalArgument(f"inode {inode_id} is of type {kind!r}")


def file(element: Element, inode_id: int, name: str) -> FileRecord:
    owner, group, mode = _permission(element)
    blocks = element.take("blocks")
    policy = element.take("storagePolicyId")
    record = FileRecord(
        inode_id,
        name,
        owner,
        group,
        mode,
        element.want("mtime").long(),
        element.want("atime").long(),
        element.want("replication").integer(),
        element.want("preferredBlockSize").long(),
        () if blocks is None else tuple([block(each) for each in blocks.all("block")]),
        0 if policy is None else policy.integer(),
    )
    writer = element.take("file-under-construction")
    if writer is not None:
        record.writer = writer.want("clientName").text
        record.writer_machine = writer.want("clientMachine").text
        record.truncating = writer.take("truncating") is not None
        writer.done()
    block_type = element.take("blockType")
    coding = element.take("erasureCodingPolicyId")
    if (block_type.text if block_type else "CONTIGUOUS") != ("STRIPED" if coding else "CONTIGUOUS"):
        raise errors.IllegalArgument("blockType and erasureCodingPolicyId do not fit together")
    if coding is not None:
        record.erasure_coding_policy_id = coding.integer()
    record.acl = _acl(element)
    record.xattrs = _xattrs(element)
    element.done()
    return record


def directory(element: Element, inode_id: int, name: str) -> DirectoryRecord:
    owner, group, mode = _permission(element)
    names, space = element.take("nsquota"), element.take("dsquota")
    record = DirectoryRecord(
        inode_id,
        name,
        owner,
        group,
        mode,
        element.want("mtime").long(),
        NO_QUOTA if names is None else names.long(),
        NO_QUOTA if space is None else space.long(),
        tuple([_quota(each) for each in element.all("typeQuota")]),
    )
    record.acl = _acl(element)
    record.xattrs = _xattrs(element)
    element.done()
    return record


def _symlink(element: Element, inode_id: int, name: str) -> SymlinkRecord:
    owner, group, mode = _permission(element)
    record = SymlinkRecord(
        inode_id,
        name,
        owner,
        group,
        mode,
        element.want("mtime").long(),
        element.want("atime").long(),
        element.want("target").text,
    )
    element.done()
    return record


def block(element: Element) -> EditBlock:
    return EditBlock(
        element.want("id").long(), element.want("numBytes").long(), element.want("genstamp").long()
    )


def _permission(element: Element) -> tuple[str, str, int]:
    text = element.want("permission").text
    try:
        owner, group, mode = text.rsplit(":", 2)
        return owner, group, int(mode, 8)
    except ValueError as error:
        raise errors.IllegalArgument(f"permission {text!r} makes no sense") from error


def _quota(element: Element) -> tuple[StorageKind, int]:
    name = element.want("type").text
    if name not in StorageKind.__members__:
        raise errors.IllegalArgument(f"there is no storage type {name!r}")
    quota = element.want("quota").long()
    element.done()
    return StorageKind[name], quota


def _acl(element: Element) -> tuple[AclEntry, ...]:
    acls = element.take("acls")
    if acls is None:
        return ()
    entries = tuple([_acl_entry(each.text) for each in acls.all("acl")])
    acls.done()
    return entries


def _acl_entry(text: str) -> AclEntry:
    scope, rest = AclScope.ACCESS, text
    if text.startswith("default:"):
        scope, rest = AclScope.DEFAULT, text.removeprefix("default:")
    try:
        kind, rest = rest.split(":", 1)
        name, permission = rest.rsplit(":", 1)
        return AclEntry(scope, AclKind[kind.upper()], RWX.index(permission), name or None)
    except (KeyError, ValueError) as error:
        raise errors.IllegalArgument(f"ACL entry {text!r} makes no sense") from error


def _xattrs(element: Element) -> tuple[XAttr, ...]:
    xattrs = element.take("xattrs")
    if xattrs is None:
        return ()
    found = []
    for each in xattrs.all("xattr"):
        namespace = each.want("ns").text
        if namespace not in XAttrNamespace.__members__:
            raise errors.IllegalArgument(f"there is no namespace {namespace!r}")
        value = each.take("val")
        data = each.want("valHex").hex() if value is None else value.data()
        found.append(XAttr(XAttrNamespace[namespace], each.want("name").text, data))
        each.done()
    xattrs.done()
    return tuple(found)
