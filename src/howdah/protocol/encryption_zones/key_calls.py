"""Calls of key servers, as JSON over HTTP (pure): Hadoop's KMS, `/kms/v1`.

Bytes are in base64 for addresses, without padding at Hadoop's and with or without it here. What
servers and clients read is checked here: sizes, kinds and names.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote

from howdah import errors
from howdah.protocol.encryption_zones.messages import EncryptedKey

VERSION: Final = "/v1"
CONTENT_TYPE: Final = "application/json"
MAX_ANSWER_BYTES: Final = 4 << 20
TOKEN_HEADER: Final = "X-Hadoop-Delegation-Token"
ENCRYPTED: Final = "EEK"
"""The name of the version in an encrypted key."""
DECRYPTED: Final = "EK"
_EXCEPTION: Final = "RemoteException"
_USUAL_ALPHABET: Final = bytes.maketrans(b"-_", b"+/")


class TokenCall(StrEnum):
    """What is asked about delegation tokens, by the parameter `op`. Hadoop:
    DelegationTokenOperation."""

    GET = "GETDELEGATIONTOKEN"
    RENEW = "RENEWDELEGATIONTOKEN"
    CANCEL = "CANCELDELEGATIONTOKEN"

    @property
    def method(self) -> str:
        return "GET" if self is TokenCall.GET else "PUT"


_NAMES: Final[Mapping[str, type[errors.HowdahError]]] = {
    "org.apache.hadoop.security.AccessControlException": errors.AccessDenied,
    "org.apache.hadoop.security.authorize.AuthorizationException": errors.AccessDenied,
    "org.apache.hadoop.security.authentication.client.AuthenticationException": (
        errors.AuthenticationFailed
    ),
}


def encode(data: bytes) -> str:
    """Return bytes as they are written in messages.

    >>> encode(b"\\xff\\xfe")
    '__4'
    """
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text: object, what: str) -> bytes:
    """Return the bytes of a text. Raises ProtocolViolation, which names `what` it is."""
    if not isinstance(text, str):
        raise errors.ProtocolViolation(f"{what} is no text")
    try:
        # Hadoop's reader takes both alphabets.
        plain = text.rstrip("=").encode("ascii").translate(_USUAL_ALPHABET)
        return binascii.a2b_base64(plain + b"=" * (-len(plain) % 4), strict_mode=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise errors.ProtocolViolation(f"{what} is not in base64") from error


def text_of(fields: Mapping[str, Any], name: str) -> str:
    """Return a field that is a text. Raises ProtocolViolation."""
    value = fields.get(name)
    if not isinstance(value, str) or not value:
        raise errors.ProtocolViolation(f"the field {name!r} is missing")
    return value


def object_of(data: bytes) -> Mapping[str, Any]:
    """Return the fields of a body. Raises ProtocolViolation."""
    value = json_of(data)
    if not isinstance(value, dict):
        raise errors.ProtocolViolation("the body is no object of JSON")
    return value


def list_of(data: bytes) -> Sequence[Any]:
    """Return the entries of a body. Raises ProtocolViolation."""
    value = json_of(data)
    if not isinstance(value, list):
        raise errors.ProtocolViolation("the body is no list of JSON")
    return value


def json_of(data: bytes) -> object:
    """Return the value of a body. Raises ProtocolViolation."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise errors.ProtocolViolation("the body is not in JSON") from error


def encrypted_key_fields(key: EncryptedKey) -> dict[str, Any]:
    """Return an encrypted key as servers answer it. Hadoop: KMSUtil.toJSON."""
    return {
        "versionName": key.version_name,
        "iv": encode(key.iv),
        "encryptedKeyVersion": {
            "name": key.key_name,
            "versionName": ENCRYPTED,
            "material": encode(key.material),
        },
    }


def encrypted_key_from(fields: object, key_name: str) -> EncryptedKey:
    """Return the key that a server made. Raises ProtocolViolation."""
    if not isinstance(fields, dict) or not isinstance(fields.get("encryptedKeyVersion"), dict):
        raise errors.ProtocolViolation("an encrypted key lacks its parts")
    inner = fields["encryptedKeyVersion"]
    key = EncryptedKey(
        key_name,
        text_of(fields, "versionName"),
        decode(fields.get("iv"), "the initialization vector"),
        decode(inner.get("material"), "the key"),
    )
    key.check()
    return key


def decrypt_target(key: EncryptedKey) -> str:
    """Return the address, below `/v1`, at which a key is decrypted."""
    return _decrypt_target(key.version_name)


@lru_cache(maxsize=256)
def _decrypt_target(version_name: str) -> str:
    return f"/keyversion/{quote(version_name, safe='')}/_eek?eek_op=decrypt"


def decrypt_body(key: EncryptedKey) -> bytes:
    """Return the body of the request to decrypt a key."""
    return json.dumps(
        {"name": key.key_name, "iv": encode(key.iv), "material": encode(key.material)}
    ).encode()


def generate_target(key_name: str, count: int) -> str:
    """Return the address, below `/v1`, at which `count` keys are made by one."""
    return f"/key/{quote(key_name, safe='')}/_eek?eek_op=generate&num_keys={count}"


def reencrypt_target(key_name: str) -> str:
    """Return the address, below `/v1`, at which keys are encrypted anew by the last version."""
    return f"/key/{quote(key_name, safe='')}/_reencryptbatch"


def error_of(status: int, body: bytes, about: str, reason: str = "") -> errors.HowdahError:
    """Return the error that a server's refusal stands for. `about` says who refuses what; `reason`
    is what stands behind the status, where Hadoop says why a token is refused."""
    name, words = "", ""
    try:
        fields = object_of(body).get(_EXCEPTION)
    except errors.ProtocolViolation:
        fields = None
    if isinstance(fields, dict):
        name, words = str(fields.get("javaClassName", "")), str(fields.get("message", ""))
    kind = _NAMES.get(name)
    if kind is None:
        kind = errors.AccessDenied if status == 403 else errors.RemoteError
    return kind(f"{about}: {words or f'status {status} {reason}'.rstrip()}")


def error_fields(java_class: str, message: str) -> dict[str, Any]:
    """Return a refusal as servers answer it. Hadoop: HttpExceptionUtils."""
    return {
        _EXCEPTION: {
            "message": message,
            "exception": java_class.rpartition(".")[2],
            "javaClassName": java_class,
        }
    }
