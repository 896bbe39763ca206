"""What requests to S3 carry besides, by the configuration: encryption, access lists,
storage classes, who pays.

A request gets the fields that its operation knows, in botocore's names. The key of SSE-C goes
with whatever reads or writes the bytes of an object, its source's in a copy as well; keys of
KMS, access lists and classes go with what makes an object.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Collection, Mapping
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys

_KEY_BYTES: Final = 32
_KMS: Final = {"SSE-KMS": "aws:kms", "DSSE-KMS": "aws:kms:dsse"}
_OWN_KEY: Final = "SSE-C"
_CLASS: Final = "StorageClass"
_OF_READING: Final = ("CopySource", "RequestPayer")
_WORD: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|_")


class Additions:
    """Fields by their names. What is in them may be a secret: neither printed nor compared by
    accident."""

    __slots__ = ("_fields",)

    def __init__(self, fields: Mapping[str, str]) -> None:
        self._fields = dict(fields)

    def __repr__(self) -> str:
        return f"Additions({', '.join(sorted(self._fields))})"

    def __bool__(self) -> bool:
        return bool(self._fields)

    def read_like(self, other: Additions) -> bool:
        """Whether what is read with these is read with the others as well."""
        return self._of_reading() == other._of_reading()

    def _of_reading(self) -> dict[str, str]:
        return {name: value for name, value in self._fields.items() if name.startswith(_OF_READING)}

    def of(self, known: Collection[str], key: str) -> dict[str, str]:
        """Those of an operation that knows such fields, on that key."""
        return {
            name: value
            for name, value in self._fields.items()
            if name in known and not (name == _CLASS and key.endswith("/"))
        }


def additions_of(conf: Configuration) -> Additions:
    """Raises `InvalidConfiguration`."""
    options = _encryption(conf)
    acl = conf.get(keys.FS_S3A_ACL_DEFAULT)
    if acl:
        # Hadoop has Java's names for them: BucketOwnerFullControl.
        options["ACL"] = _WORD.sub("-", acl).lower()
    storage_class = conf.get(keys.FS_S3A_CREATE_STORAGE_CLASS)
    if storage_class:
        options[_CLASS] = storage_class.upper()
    if conf.get(keys.FS_S3A_REQUESTER_PAYS_ENABLED):
        options["RequestPayer"] = "requester"
    return Additions(options)


def _encryption(conf: Configuration) -> dict[str, str]:
    algorithm = (conf.get(keys.FS_S3A_ENCRYPTION_ALGORITHM) or "").strip()
    key = (conf.get(keys.FS_S3A_ENCRYPTION_KEY) or "").strip()
    context = (conf.get(keys.FS_S3A_ENCRYPTION_CONTEXT) or "").strip()
    name = keys.FS_S3A_ENCRYPTION_ALGORITHM.name
    if not algorithm:
        return {}
    if algorithm == "AES256":
        if key:
            raise errors.InvalidConfiguration(
                f"{name} = AES256 takes no {keys.FS_S3A_ENCRYPTION_KEY.name}: the store has the key"
            )
        return {"ServerSideEncryption": algorithm}
    if algorithm in _KMS:
        options = {"ServerSideEncryption": _KMS[algorithm]}
        if key:
            options["SSEKMSKeyId"] = key
        if context:
            options["SSEKMSEncryptionContext"] = _context(context)
        return options
    if algorithm == _OWN_KEY:
        return _own_key(key)
    raise errors.InvalidConfiguration(
        f"{name} = {algorithm} (from {conf.source(name)}) is not supported: there are AES256, "
        f"{', '.join(_KMS)} and {_OWN_KEY}"
    )


def _own_key(key: str) -> dict[str, str]:
    try:
        raw = base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != _KEY_BYTES:
        # Nothing of the key is in the message, not even its length.
        raise errors.InvalidConfiguration(
            f"{keys.FS_S3A_ENCRYPTION_KEY.name} is not Base64 of {_KEY_BYTES} bytes, as SSE-C wants"
        )
    digest = base64.b64encode(hashlib.md5(raw, usedforsecurity=False).digest()).decode()
    options: dict[str, str] = {}
    for prefix in ("SSECustomer", "CopySourceSSECustomer"):
        options |= {
            f"{prefix}Algorithm": "AES256",
            f"{prefix}Key": base64.b64encode(raw).decode(),
            f"{prefix}KeyMD5": digest,
        }
    return options


def _context(text: str) -> str:
    """Encode `a=1, b=2` as the header requires."""
    context: dict[str, str] = {}
    for pair in text.split(","):
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise errors.InvalidConfiguration(
                f"{keys.FS_S3A_ENCRYPTION_CONTEXT.name} is not NAME=VALUE, NAME=VALUE: {pair!r}"
            )
        context[name.strip()] = value.strip()
    return base64.b64encode(json.dumps(context).encode()).decode()
