"""Which call a request is, and its answer (pure but for the service).

POST   keys                                     GET    keys/names, keys/metadata?key=...
POST   key/K, key/K/_invalidatecache            DELETE key/K
GET    key/K, key/K/_metadata, key/K/_currentversion, key/K/_versions
GET    key/K/_eek?eek_op=generate&num_keys=N    POST   key/K/_reencryptbatch
GET    keyversion/K%40N                         POST   keyversion/K%40N/_eek?eek_op=decrypt

and about delegation tokens, by `op` at any address:

GET    GETDELEGATIONTOKEN (renewer, service)    PUT    RENEWDELEGATIONTOKEN, CANCELDELEGATIONTOKEN
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

from howdah import errors
from howdah.formats.tokens.token import Token
from howdah.kms.call_audit import note
from howdah.kms.service import KeyService
from howdah.protocol.encryption_zones import key_calls
from howdah.protocol.encryption_zones.messages import EncryptedKey
from howdah.security.server_tokens import ServerTokens

MAX_BODY_BYTES: Final = 8 << 20
"""Of ten thousand keys that are encrypted anew, each with a name of the longest."""
_MOST_FIELDS: Final = 1024
_MOST_KNOWN_CHARACTERS: Final = 512
_ACTING: Final = "doas"
_GENERATE: Final = "generate"
_DECRYPT: Final = "decrypt"
_REENCRYPT: Final = "reencrypt"
_MOST_REENCRYPTED: Final = 10_000


class NoSuchCall(errors.HowdahError):
    """A request that is none of a key server's."""


@dataclass(frozen=True, slots=True)
class KeyRequest:
    """A request below `/kms/v1`, by the parts of its path."""

    method: str
    parts: tuple[str, ...]
    query: tuple[tuple[str, str], ...] = field(repr=False)

    @classmethod
    def of(cls, method: str, target: str, prefix: str) -> KeyRequest:
        """Raises NoSuchCall for what is not below the prefix, and IllegalArgument for a query of
        too many fields, or a path that is not in UTF-8."""
        if len(target) <= _MOST_KNOWN_CHARACTERS:
            return _known_request(method, target, prefix)
        return cls.parse(method, target, prefix)

    @classmethod
    def parse(cls, method: str, target: str, prefix: str) -> KeyRequest:
        """As `of`, which remembers short ones: clients ask for the same again and again."""
        path, _, query = target.partition("?")
        if not path.startswith(f"{prefix}/"):
            raise NoSuchCall(f"there is no {path} here: all calls are below {prefix}")
        try:
            parts = tuple(
                unquote(part, errors="strict") for part in path[len(prefix) + 1 :].split("/")
            )
            fields = tuple(
                parse_qsl(
                    query, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"
                )
            )
        except ValueError as error:
            raise errors.IllegalArgument(f"the address is no proper one: {error}") from None
        return cls(method, parts, fields)

    def value(self, name: str) -> str:
        """Return the first value of a field of the query; "" if there is none."""
        return next((value for key, value in self.query if key == name), "")

    @property
    def acts_for(self) -> str:
        """For whom it is made; "" for who asks. Hadoop's clients write `doAs`, and its servers take
        it in any case: with another rule a call for one user would be answered by the rights of
        who makes it."""
        return next((value for key, value in self.query if key.lower() == _ACTING), "")


@lru_cache(maxsize=256)
def _known_request(method: str, target: str, prefix: str) -> KeyRequest:
    return KeyRequest.parse(method, target, prefix)


def answer(
    service: KeyService, user: str, request: KeyRequest, body: bytes
) -> tuple[int, object | None]:
    """Return the status and what is answered as JSON; None for nothing.

    Raises NoSuchCall, AccessDenied, IllegalArgument, ProtocolViolation, PathNotFound, RemoteError.
    """
    match request.method, *request.parts:
        case "POST", "keys":
            return 201, _create(service, user, key_calls.object_of(body))
        case "GET", "keys", "names":
            return 200, service.names(user)
        case "GET", "keys", "metadata":
            names = [value for key, value in request.query if key == "key"]
            return 200, service.metadata(user, names)
        case "GET", "key", name if name:
            return 200, service.metadata(user, [name])[0]
        case "POST", "key", name if name:
            material = _material(key_calls.object_of(body))
            return 200, service.roll(user, name, material)
        case "DELETE", "key", name if name:
            service.delete(user, name)
            return 200, None
        case "GET", "key", name, "_metadata" if name:
            return 200, service.metadata(user, [name])[0]
        case "GET", "key", name, "_currentversion" if name:
            return 200, service.current_version(user, name)
        case "GET", "key", name, "_versions" if name:
            return 200, service.versions(user, name)
        case "POST", "key", name, "_invalidatecache" if name:
            service.invalidate_cache(user, name)
            return 200, None
        case "GET", "key", name, "_eek" if name:
            return 200, _generate(service, user, name, request)
        case "POST", "key", name, "_reencryptbatch" if name:
            return 200, _reencrypt_all(service, user, name, key_calls.list_of(body))
        case "GET", "keyversion", version if version:
            return 200, service.version(user, version)
        case "POST", "keyversion", version, "_eek" if version:
            return 200, _of_encrypted(service, user, version, request, body)
    raise NoSuchCall(f"there is no call {request.method} /{'/'.join(request.parts)}")


def token_call(request: KeyRequest) -> key_calls.TokenCall | None:
    """Return what a request asks about a delegation token; None for one about keys."""
    operation = request.value("op")
    if not operation:
        return None
    try:
        return key_calls.TokenCall(operation.upper())
    except ValueError:
        return None


def answer_about_token(
    tokens: ServerTokens,
    user: str,
    real_user: str,
    call: key_calls.TokenCall,
    request: KeyRequest,
) -> object | None:
    """Return what is answered as JSON; None for nothing. `real_user` asks for the user, unless
    that is empty.

    Raises AccessDenied, InvalidToken, AuthenticationFailed, IllegalArgument.
    """
    if request.method != call.method:
        raise errors.IllegalArgument(
            f"Wrong HTTP method [{request.method}] for operation [{call}], it should be "
            f"[{call.method}]"
        )
    if call is key_calls.TokenCall.GET:
        made = tokens.issue(user, request.value("renewer"), real_user, request.value("service"))
        note("OK", call, "*", user)
        return {"Token": {"urlString": made.url_string}}
    text = request.value("token")
    if not text:
        raise errors.IllegalArgument(f"Operation [{call}] requires the parameter [token]")
    token = Token.from_url_string(text)
    try:
        if call is key_calls.TokenCall.RENEW:
            until_ms = tokens.renew(token, user)
            note("OK", call, "*", user)
            return {"long": until_ms}
        tokens.cancel(token, user)
    except errors.AccessDenied:
        note("UNAUTHORIZED", call, "*", user)
        raise
    note("OK", call, "*", user)
    return None


def _create(service: KeyService, user: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    attributes = fields.get("attributes") or {}
    length = fields.get("length") or 0
    if not isinstance(attributes, dict) or not isinstance(length, int):
        raise errors.ProtocolViolation("the attributes or the length of a key are malformed")
    return service.create(
        user,
        key_calls.text_of(fields, "name"),
        cipher=_optional_text(fields, "cipher"),
        length_bits=length,
        material=_material(fields),
        description=_optional_text(fields, "description") or "",
        attributes={str(name): str(value) for name, value in attributes.items()},
    )


def _optional_text(fields: Mapping[str, Any], name: str) -> str | None:
    return None if fields.get(name) is None else key_calls.text_of(fields, name)


def _material(fields: Mapping[str, Any]) -> bytes | None:
    given = fields.get("material")
    return None if given is None else key_calls.decode(given, "the key")


def _generate(
    service: KeyService, user: str, name: str, request: KeyRequest
) -> list[dict[str, Any]]:
    if request.value("eek_op") != _GENERATE:
        raise errors.IllegalArgument(f"Wrong eek_op value, it must be {_GENERATE} or {_DECRYPT}")
    count = request.value("num_keys") or "1"
    if not (count.isascii() and count.isdigit() and len(count) < 10):
        raise errors.IllegalArgument(f"num_keys={count} is no number of keys")
    made = service.generate(user, name, int(count))
    return [key_calls.encrypted_key_fields(key) for key in made]


def _of_encrypted(
    service: KeyService, user: str, version: str, request: KeyRequest, body: bytes
) -> dict[str, Any]:
    fields = key_calls.object_of(body)
    key = EncryptedKey(
        key_calls.text_of(fields, "name"),
        version,
        key_calls.decode(fields.get("iv"), "the initialization vector"),
        key_calls.decode(fields.get("material"), "the key"),
    )
    operation = request.value("eek_op")
    if operation == _DECRYPT:
        return service.decrypt(user, key)
    if operation == _REENCRYPT:
        return key_calls.encrypted_key_fields(service.reencrypt(user, [key])[0])
    raise errors.IllegalArgument(f"Wrong eek_op value, it must be {_GENERATE} or {_DECRYPT}")


def _reencrypt_all(service: KeyService, user: str, name: str, entries: Any) -> list[dict[str, Any]]:
    if len(entries) > _MOST_REENCRYPTED:
        raise errors.IllegalArgument(
            f"at most {_MOST_REENCRYPTED} keys are encrypted anew at a time"
        )
    wanted = [key_calls.encrypted_key_from(entry, name) for entry in entries]
    return [key_calls.encrypted_key_fields(key) for key in service.reencrypt(user, wanted)]


_CLASSES: Final[Mapping[type[errors.HowdahError], tuple[int, str]]] = {
    errors.AccessDenied: (403, "org.apache.hadoop.security.authorize.AuthorizationException"),
    errors.AuthorizationFailed: (
        403,
        "org.apache.hadoop.security.authorize.AuthorizationException",
    ),
    errors.AuthenticationFailed: (
        403,
        "org.apache.hadoop.security.authentication.client.AuthenticationException",
    ),
    errors.InvalidToken: (403, errors.InvalidToken.java_class),
    errors.IllegalArgument: (400, "java.lang.IllegalArgumentException"),
    errors.ProtocolViolation: (400, "java.lang.IllegalArgumentException"),
    NoSuchCall: (404, "java.io.FileNotFoundException"),
}


def refusal(error: errors.HowdahError) -> tuple[int, dict[str, Any]]:
    """Return the status and the JSON of an error. Hadoop: KMSExceptionsProvider."""
    status, java_class = _CLASSES.get(type(error), (500, "java.io.IOException"))
    return status, key_calls.error_fields(java_class, error.message)


def as_json(value: object) -> bytes:
    """Return the body of an answer."""
    return json.dumps(value).encode()
