"""Tags of objects: pairs of texts, as a query in a header, as XML in documents, kept as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import parse_qsl

from howdah.gateway.s3.protocol.documents import Child, Element, parsed
from howdah.gateway.s3.protocol.refusals import Refused

ATTRIBUTE: Final = "user.howdah.s3.tags"
"""Apart from what else is kept: tags change without the object, and both fit into 16 KiB."""
MAX_TAGS: Final = 10
MAX_KEY: Final = 128
MAX_VALUE: Final = 256
MAX_DOCUMENT_BYTES: Final = 64 << 10
_TEXT: Final = re.compile(r"[\w\s+\-=.:/@]*\Z")
_OF_AWS: Final = "aws:"


def tags_of_header(text: str) -> dict[str, str]:
    """Return the tags of a header `x-amz-tagging`. Raises Refused.

    >>> tags_of_header("a=1&b+c=%2F")
    {'a': '1', 'b c': '/'}
    """
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError:
        raise _invalid("the header x-amz-tagging is no query") from None
    return _checked(pairs)


def tags_of_document(document: bytes) -> dict[str, str]:
    """Return the tags of a document. Raises Refused."""
    root = parsed(document, "Tagging")
    sets = list(root.all("TagSet"))
    if len(sets) != 1:
        raise Refused("MalformedXML", "Tagging has one TagSet")
    return _checked([_pair(element) for element in sets[0].all("Tag")])


def _pair(element: Element) -> tuple[str, str]:
    key = next((child.text for child in element.all("Key")), None)
    value = next((child.text for child in element.all("Value")), None)
    if key is None or value is None:
        raise Refused("MalformedXML", "a Tag has Key and Value")
    return key, value


def _checked(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    tags: dict[str, str] = {}
    for key, value in pairs:
        if key in tags:
            raise _invalid("Cannot provide multiple Tags with the same key")
        if not 1 <= len(key) <= MAX_KEY:
            raise _invalid("The TagKey you have provided is invalid", key)
        if len(value) > MAX_VALUE:
            raise _invalid("The TagValue you have provided is invalid", key)
        if not (_TEXT.match(key) and _TEXT.match(value)) or key.lower().startswith(_OF_AWS):
            raise _invalid("tags have letters, digits, blanks and + - = . _ : / @", key)
        tags[key] = value
    if len(tags) > MAX_TAGS:
        raise _invalid(f"Object tags cannot be greater than {MAX_TAGS}")
    return tags


def _invalid(message: str, key: str = "") -> Refused:
    return Refused("InvalidTag", message, TagKey=key[:MAX_KEY])


def children(tags: Mapping[str, str]) -> list[Child]:
    """Return what a document `Tagging` has in it."""
    return [("TagSet", [("Tag", [("Key", key), ("Value", tags[key])]) for key in tags])]


def encoded(tags: Mapping[str, str]) -> bytes:
    """Return tags as the attribute has them; empty without any."""
    if not tags:
        return b""
    return json.dumps(dict(tags), ensure_ascii=False, separators=(",", ":")).encode()


def decoded(data: bytes) -> dict[str, str]:
    """Return the tags of an attribute. What is none of ours says nothing: whoever may write a file
    may set its attributes.

    >>> decoded(encoded({"a": "1"})), decoded(b"[")
    ({'a': '1'}, {})
    """
    try:
        fields = json.loads(data)
        if not isinstance(fields, dict):
            return {}
        return _checked((str(key), str(value)) for key, value in fields.items())
    except (ValueError, RecursionError, Refused):
        return {}
