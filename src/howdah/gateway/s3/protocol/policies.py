"""Who lets a browser upload by a form, and what it may upload: a policy, which is signed.

The policy is a document of JSON in base64: until when it counts, and conditions that fields have
to fulfil. Each field of a form has a condition, or the form is refused. The signature is that of
version 4, or of version 2, which botocore makes unless it is told otherwise: either signs the whole
policy, and nothing else.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
from calendar import timegm
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from howdah.fs.objects.amazon.signing import ALGORITHM, Scope
from howdah.gateway.s3.protocol.refusals import Refused
from howdah.gateway.s3.protocol.signatures import credential_of

FILE_NAME: Final = "${filename}"
_NOT_CHECKED: Final = frozenset(
    {"policy", "signature", "x-amz-signature", "awsaccesskeyid", "file", "x-amz-credential"}
    | {"x-amz-algorithm", "x-amz-date", "bucket"}
)
"""Fields that need no condition, and have their own check."""
_IGNORED: Final = ("x-ignore-", "x-amz-checksum-", "x-amz-sdk-checksum-")
"""How the names of others begin: a sum only asks for more."""
_TIMES: Final = ("%Y-%m-%dT%H:%M:%S.%fZ", "%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class SignedForm:
    """What a form says of its signature. Fields have their names in lower case."""

    access_key: str
    policy: str
    signature: str
    when: str = ""
    scope: Scope | None = None
    """None: of version 2."""


def signed_form(fields: Mapping[str, str]) -> SignedForm:
    """Return what a form says of its signature. Raises Refused."""
    if "policy" not in fields:
        raise Refused("AccessDenied", "Access Denied: a form has a policy, and its signature")
    policy = fields["policy"]
    if "x-amz-signature" in fields or "x-amz-algorithm" in fields:
        for name in ("x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-signature"):
            if name not in fields:
                raise _missing(name)
        if fields["x-amz-algorithm"] != ALGORITHM:
            raise Refused("InvalidRequest", f"x-amz-algorithm is {ALGORITHM}")
        when = fields["x-amz-date"]
        access_key, scope = credential_of(fields["x-amz-credential"], when, "InvalidRequest")
        return SignedForm(access_key, policy, fields["x-amz-signature"], when, scope)
    for name in ("awsaccesskeyid", "signature"):
        if name not in fields:
            raise _missing(name)
    return SignedForm(fields["awsaccesskeyid"], policy, fields["signature"])


def check_form_signature(signed: SignedForm, secret_key: str) -> None:
    """Raises Refused unless the policy was signed by the secret."""
    if signed.scope is not None:
        expected = signed.scope.signature_of(secret_key, signed.when, signed.policy)
    else:
        digest = hmac.digest(secret_key.encode(), signed.policy.encode(), "sha1")
        expected = base64.b64encode(digest).decode()
    if not hmac.compare_digest(expected.encode(), signed.signature.encode()):
        raise Refused(
            "SignatureDoesNotMatch",
            "The request signature we calculated does not match the signature you provided. Check "
            "your key and signing method.",
            AWSAccessKeyId=signed.access_key[:128],
        )


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long a file may be."""

    least_bytes: int = 0
    most_bytes: int | None = None

    def check(self, count: int) -> None:
        """Raises Refused for a file that is longer."""
        if self.most_bytes is not None and count > self.most_bytes:
            raise Refused(
                "EntityTooLarge",
                "Your proposed upload exceeds the maximum allowed size",
                ProposedSize=str(count),
                MaxSizeAllowed=str(self.most_bytes),
            )

    def check_whole(self, count: int) -> None:
        """Raises Refused for a file that is shorter."""
        if count < self.least_bytes:
            raise Refused(
                "EntityTooSmall",
                "Your proposed upload is smaller than the minimum allowed size",
                ProposedSize=str(count),
                MinSizeAllowed=str(self.least_bytes),
            )


def check_policy(policy: str, fields: Mapping[str, str], bucket: str, now_s: float) -> Lengths:
    """Return how long the file may be. Raises Refused for a policy that has ended, or does not
    allow these fields."""
    document = _document(policy)
    expiration, conditions = document.get("expiration"), document.get("conditions")
    if not isinstance(expiration, str) or not isinstance(conditions, list) or not conditions:
        raise _invalid("it has expiration, and conditions")
    if now_s > _seconds(expiration):
        raise Refused("AccessDenied", "Invalid according to Policy: Policy expired.")
    checked: set[str] = set()
    lengths = Lengths()
    values = {**fields, "bucket": bucket}
    for condition in conditions:
        kind, name, wanted = _condition(condition)
        if kind == "content-length-range":
            lengths = _lengths(name, wanted)
            continue
        if not isinstance(name, str) or not isinstance(wanted, str):
            raise _invalid("a condition has the name of a field and a text")
        name = name.lower()
        value = values.get(name, "")
        checked.add(name)
        if not (value == wanted if kind == "eq" else value.startswith(wanted)):
            raise Refused(
                "AccessDenied",
                f"Invalid according to Policy: Policy Condition failed: {kind} ${name}",
            )
    for name in fields:
        if name not in checked and name not in _NOT_CHECKED and not name.startswith(_IGNORED):
            raise Refused(
                "AccessDenied", f"Invalid according to Policy: Extra input fields: {name}"
            )
    if "bucket" not in checked:
        raise Refused("AccessDenied", "Invalid according to Policy: it is for no bucket")
    return lengths


def fields_of_form(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a form with the file's name where its key has a place for it. Raises
    Refused for a form without a key."""
    if "key" not in fields:
        raise _missing("key")
    return {**fields, "key": fields["key"].replace(FILE_NAME, fields.get("file", ""))}


def headers_of_form(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a form as the headers that another request would have."""
    # As headers come: bytes of UTF-8 that were read as another encoding.
    found = {name: value.encode().decode("latin-1") for name, value in fields.items()}
    if "acl" in found:
        found["x-amz-acl"] = found.pop("acl")
    return found


def redirection(fields: Mapping[str, str], bucket: str, key: str, etag: str) -> str:
    """Return where a form wants its browser to go afterwards; empty where it does not."""
    wanted = fields.get("success_action_redirect") or fields.get("redirect", "")
    if not wanted or not wanted.isascii() or not wanted.isprintable() or " " in wanted:
        return ""
    try:
        parts = urlsplit(wanted)
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return ""
    told = urlencode({"bucket": bucket, "key": key, "etag": etag}, quote_via=quote)
    return urlunsplit(parts._replace(query=f"{parts.query}&{told}" if parts.query else told))


def _document(policy: str) -> dict[str, object]:
    try:
        found = json.loads(base64.b64decode(policy, validate=True))
    except (binascii.Error, ValueError, RecursionError):
        raise _invalid("it is JSON, in base64") from None
    if not isinstance(found, dict):
        raise _invalid("it is an object")
    return found


def _condition(condition: object) -> tuple[str, object, object]:
    if isinstance(condition, dict) and len(condition) == 1:
        ((name, value),) = condition.items()
        return "eq", name, value
    if isinstance(condition, list) and len(condition) == 3 and isinstance(condition[0], str):
        kind, name, value = condition
        kind = kind.lower()
        if kind == "content-length-range":
            return kind, name, value
        if kind in ("eq", "starts-with") and isinstance(name, str) and name.startswith("$"):
            return kind, name[1:], value
    raise _invalid(
        "a condition is {NAME: VALUE}, [eq, $NAME, VALUE], [starts-with, $NAME, VALUE] "
        "or [content-length-range, LEAST, MOST]"
    )


def _lengths(least: object, most: object) -> Lengths:
    try:
        found = Lengths(int(str(least)), int(str(most)))
    except ValueError:
        raise _invalid("content-length-range has two numbers") from None
    if found.least_bytes < 0 or found.most_bytes is None or found.most_bytes < 0:
        raise _invalid("content-length-range has two numbers")
    return found


def _seconds(text: str) -> int:
    for form in _TIMES:
        try:
            return timegm(datetime.strptime(text, form).timetuple())
        except ValueError:
            continue
    raise _invalid("expiration is a time such as 2026-11-26T16:19:56Z")


def _missing(name: str) -> Refused:
    return Refused(
        "InvalidArgument", f"Bucket POST must contain a field named '{name}'", ArgumentName=name
    )


def _invalid(why: str) -> Refused:
    return Refused("InvalidPolicyDocument", f"Invalid Policy: {why}")
