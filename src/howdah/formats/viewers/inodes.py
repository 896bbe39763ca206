"""Inodes from the XML that shows them (pure)."""

from __future__ import annotations

from typing import Final

from howdah import errors
from howdah.formats.edits.edits import (
    AclEntry,
    AclKind,
    AclScope,
    EditBlock,
    StorageKind,
    XAttr,
    XAttrNamespace,
)
from howdah.formats.image.records import (
    NO_QUOTA,
    DirectoryRecord,
    FileRecord,
    InodeRecord,
    SymlinkRecord,
)
from howdah.formats.viewers.image_xml import Element
from howdah.formats.viewers.text import RWX

NO_COPY: Final = "null:null:0000"
"""The permission of a snapshot's copy of a file that is shown and is not there."""
_CONTIGUOUS: Final = "CONTIGUOUS"


def inode(element: Element) -> InodeRecord:
    """Raises IllegalArgument for what is missing, makes no sense, or is not known."""
    kind, inode_id = element.want_text("type"), element.want_long("id")
    name = element.want_text("name")
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
    blocks = element.find("blocks")
    record = FileRecord(
        inode_id,
        name,
        owner,
        group,
        mode,
        element.want_long("mtime"),
        element.want_long("atime"),
        element.want_integer("replication"),
        element.want_long("preferredBlockSize"),
        () if blocks is None else tuple([block(child) for child in blocks.all("block")]),
        element.find_integer("storagePolicyId") or 0,
    )
    writer = element.find("file-under-construction")
    if writer is not None:
        record.writer = writer.want_text("clientName")
        record.writer_machine = writer.want_text("clientMachine")
        record.truncating = writer.has("truncating")
        source = writer.find("source")
        if source is not None:
            (record.source,) = map(block, source.want("blocks").all("block"))
            source.done()
        record.complete_blocks = writer.find_integer("complete-blocks") or 0
        record.last_committed = writer.has("last-committed")
        writer.done()
    coding = record.erasure_coding_policy_id = element.find_integer("erasureCodingPolicyId")
    block_type = element.find_text("blockType") or _CONTIGUOUS
    if block_type != (_CONTIGUOUS if coding is None else "STRIPED"):
        raise errors.IllegalArgument("blockType and erasureCodingPolicyId do not fit together")
    record.acl = _acl(element)
    record.xattrs = _xattrs(element)
    element.done()
    return record


def directory(element: Element, inode_id: int, name: str) -> DirectoryRecord:
    owner, group, mode = _permission(element)
    names, space_bytes = element.find_long("nsquota"), element.find_long("dsquota")
    record = DirectoryRecord(
        inode_id,
        name,
        owner,
        group,
        mode,
        element.want_long("mtime"),
        NO_QUOTA if names is None else names,
        NO_QUOTA if space_bytes is None else space_bytes,
        tuple([_quota(child) for child in element.all("typeQuota")]),
        atime_ms=element.find_long("atime") or 0,
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
        element.want_long("mtime"),
        element.want_long("atime"),
        element.want_text("target"),
    )
    element.done()
    return record


def block(element: Element) -> EditBlock:
    return EditBlock(
        element.want_long("id"), element.want_long("numBytes"), element.want_long("genstamp")
    )


def _permission(element: Element) -> tuple[str, str, int]:
    text = element.want_text("permission")
    try:
        owner, group, mode = text.rsplit(":", 2)
        return owner, group, int(mode, 8)
    except ValueError as error:
        raise errors.IllegalArgument(f"permission {text!r} makes no sense") from error


def _quota(element: Element) -> tuple[StorageKind, int]:
    name = element.want_text("type")
    if name not in StorageKind.__members__:
        raise errors.IllegalArgument(f"there is no storage type {name!r}")
    quota = element.want_long("quota")
    element.done()
    return StorageKind[name], quota


def _acl(element: Element) -> tuple[AclEntry, ...]:
    acls = element.find("acls")
    if acls is None:
        return ()
    entries = tuple([_acl_entry(child.text) for child in acls.all("acl")])
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
    xattrs = element.find("xattrs")
    if xattrs is None:
        return ()
    attributes = []
    for child in xattrs.all("xattr"):
        namespace = child.want_text("ns")
        if namespace not in XAttrNamespace.__members__:
            raise errors.IllegalArgument(f"there is no namespace {namespace!r}")
        text = child.find_text("val")
        data = child.want_hex("valHex") if text is None else text.encode("utf-8", "surrogatepass")
        attributes.append(XAttr(XAttrNamespace[namespace], child.want_text("name"), data))
        child.done()
    xattrs.done()
    return tuple(attributes)
