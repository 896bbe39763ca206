"""What the Blob service reads and writes: listings, lists of blocks, errors (pure)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from urllib.parse import unquote
from xml.etree import ElementTree as xml
from xml.sax.saxutils import escape

from howdah import errors


@dataclass(frozen=True, slots=True)
class Blob:
    """One of a listing."""

    name: str
    length: int
    modified_ms: int
    etag: str
    metadata: Mapping[str, str]
    is_directory: bool
    """Of an account whose namespace is hierarchical."""


@dataclass(frozen=True, slots=True)
class Listing:
    """`marker` asks for the next page; empty at the end."""

    blobs: tuple[Blob, ...]
    prefixes: tuple[str, ...]
    marker: str


def _parsed(body: bytes, description: str) -> xml.Element:
    try:
        return xml.fromstring(body)
    except xml.ParseError as error:
        raise errors.ProtocolViolation(f"{description} is no XML: {error}") from None


def _name(element: xml.Element) -> str:
    name = element.find("Name")
    if name is None or name.text is None:
        raise errors.ProtocolViolation("a listing has an entry without a name")
    return unquote(name.text) if name.get("Encoded") == "true" else name.text


def _number(text: str) -> int:
    if not text.isdecimal():
        raise errors.ProtocolViolation(f"a listing has the length {text!r}")
    return int(text)


def milliseconds(text: str | None) -> int:
    """A time as HTTP writes it; 0 for none.

    >>> milliseconds("Thu, 01 Jan 1970 00:00:02 GMT")
    2000
    """
    if not text:
        return 0
    try:
        return int(parsedate_to_datetime(text).timestamp() * 1000)
    except ValueError as error:
        raise errors.ProtocolViolation(f"{text!r} is no time: {error}") from error


def listing(body: bytes) -> Listing:
    """Raises `ProtocolViolation`."""
    root = _parsed(body, "a listing")
    blobs: list[Blob] = []
    prefixes: list[str] = []
    for element in root.iterfind("Blobs/*"):
        if element.tag == "BlobPrefix":
            prefixes.append(_name(element))
            continue
        properties = element.find("Properties")
        if element.tag != "Blob" or properties is None:
            continue
        metadata = element.find("Metadata")
        blobs.append(
            Blob(
                _name(element),
                _number(properties.findtext("Content-Length") or "0"),
                milliseconds(properties.findtext("Last-Modified")),
                (properties.findtext("Etag") or "").strip('"'),
                {} if metadata is None else {one.tag: one.text or "" for one in metadata},
                properties.findtext("ResourceType") == "directory",
            )
        )
    return Listing(tuple(blobs), tuple(prefixes), root.findtext("NextMarker") or "")


def block_list(ids: Iterable[str]) -> bytes:
    """Build the document that commits blocks in this order. Blocks that are already committed count
    too, so that a request can be repeated when its answer was lost."""
    entries = "".join(f"<Latest>{escape(block_id)}</Latest>" for block_id in ids)
    return f'<?xml version="1.0" encoding="utf-8"?><BlockList>{entries}</BlockList>'.encode()


def refusal(body: bytes) -> tuple[str, str]:
    """Code and first line of the message of an error; empty where there is none. What follows
    the first line names the request, and may show what was signed."""
    try:
        root = xml.fromstring(body)
    except xml.ParseError:
        return "", ""
    message = (root.findtext("Message") or "").strip()
    return root.findtext("Code") or "", message.splitlines()[0] if message else ""
