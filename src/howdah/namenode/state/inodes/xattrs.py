"""Lists of extended attributes of an inode (pure). Each name is in a list once at most.

Hadoop's `XAttrFeature` and `XAttrStorage`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from howdah.formats.edits.edits import XAttr, XAttrNamespace

UNREADABLE_BY_SUPERUSER: Final = (XAttrNamespace.SECURITY, "hdfs.unreadable.by.superuser")
"""On a file: its bytes are not for the superuser, who may do all else with it."""
SATISFY_STORAGE_POLICY: Final = (XAttrNamespace.USER, "hdfs.sps")
"""The mark of what a storage policy satisfier is to look at. As in Hadoop it is in the namespace
of users: the satisfier takes it off by a call like any other."""
ENCRYPTION_ZONE: Final = (XAttrNamespace.RAW, "hdfs.crypto.encryption.zone")
"""Of directories: the key of the zone (ZoneEncryptionInfoProto)."""
ENCRYPTED_FILE: Final = (XAttrNamespace.RAW, "hdfs.crypto.file.encryption.info")
"""Of files in a zone: their own key, encrypted (PerFileEncryptionInfoProto)."""
ERASURE_CODING: Final = (XAttrNamespace.SYSTEM, "hdfs.erasurecoding.policy")
"""Of directories: an erasure coding policy by its name, which stands behind its length."""


def with_set(have: Sequence[XAttr], new: Sequence[XAttr]) -> tuple[XAttr, ...]:
    """The attributes of an inode that is given `new` ones, which come first."""
    names = {name_of(xattr) for xattr in new}
    return (*new, *(xattr for xattr in have if name_of(xattr) not in names))


def without(have: Sequence[XAttr], unwanted: Sequence[XAttr]) -> tuple[XAttr, ...]:
    names = {name_of(xattr) for xattr in unwanted}
    return tuple(xattr for xattr in have if name_of(xattr) not in names)


def is_marked(have: Sequence[XAttr]) -> bool:
    """Whether a satisfier is to look at the inode, or at what is below it."""
    return any(name_of(xattr) == SATISFY_STORAGE_POLICY for xattr in have)


def full_name(xattr: XAttr) -> str:
    """With its namespace: `user.mark`."""
    return f"{xattr.namespace.name.lower()}.{xattr.name}"


def name_of(xattr: XAttr) -> tuple[XAttrNamespace, str]:
    return xattr.namespace, xattr.name
