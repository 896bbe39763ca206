"""Names of buckets and keys, and the paths that they stand for.

A key is judged before any path is made of it: paths are normalised, so that `../other/x` would
leave its bucket, and `a//b` would be another key than it says. What HDFS cannot hold is refused,
and no name is escaped: an escape would change the order of keys, which clients rely on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from howdah.gateway.s3.protocol.refusals import Refused

VERSIONS: Final = ".howdah-s3-versions"
"""The directory beside objects in which their older versions are."""
STAGING: Final = ".howdah-s3"
"""The directory within a bucket in which objects are until they are whole."""
MAX_KEY_BYTES: Final = 1024
MAX_SEGMENT_BYTES: Final = 255
_BUCKET: Final = re.compile(
    r"(?!\d+\.\d+\.\d+\.\d+\Z)[a-z0-9](?:[a-z0-9-]|\.(?!\.)){1,61}[a-z0-9]\Z"
)
_RESERVED: Final = ".reserved"


@dataclass(frozen=True, slots=True)
class Key:
    """A key that has a path. `path` is relative to the bucket, without a slash at either end."""

    text: str
    path: str
    is_directory: bool
    """Whether it ends in a slash: it stands for a directory."""


def is_bucket_name(name: str) -> bool:
    """Whether S3 allows a bucket to be called so.

    >>> is_bucket_name("my-data.2026"), is_bucket_name("Data_1"), is_bucket_name("10.0.0.1")
    (True, False, False)
    """
    return _BUCKET.match(name) is not None


def checked_key(text: str) -> Key:
    """Return the key of this text. Raises Refused where no path may be made of it.

    >>> checked_key("a/b")
    Key(text='a/b', path='a/b', is_directory=False)
    >>> checked_key("a/")
    Key(text='a/', path='a', is_directory=True)
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAX_KEY_BYTES:
        raise Refused(
            "KeyTooLongError", f"a key has at most {MAX_KEY_BYTES} bytes in UTF-8", Key=text
        )
    why = unstorable(text)
    if why:
        raise Refused(
            "InvalidArgument", f"a key of this gateway is a path in HDFS: {why}", Key=text
        )
    path = text.removesuffix("/")
    if any(len(segment.encode()) > MAX_SEGMENT_BYTES for segment in path.split("/")):
        raise Refused(
            "KeyTooLongError",
            f"between two slashes of a key there are at most {MAX_SEGMENT_BYTES} bytes",
            Key=text,
        )
    return key_of_listing(text)


def key_of_listing(text: str) -> Key:
    """Return the key of what a listing has found: it may be longer than one that is asked for.

    >>> key_of_listing("a/b")
    Key(text='a/b', path='a/b', is_directory=False)
    """
    return Key(text, text.removesuffix("/"), text.endswith("/"))


def unstorable(text: str) -> str:
    """Return why HDFS has no path for a key; empty where it may have one.

    >>> unstorable("day=1/12:00.csv")
    'it cannot hold a colon'
    """
    segments = text.removesuffix("/").split("/")
    if not text or "" in segments:
        return "it has no empty names between slashes, or before the first one"
    if "." in segments or ".." in segments:
        return "it has no files called . or .."
    if ":" in text:
        return "it cannot hold a colon"
    if "\0" in text:
        return "it cannot hold NUL"
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "names are UTF-8"
    if is_hidden(text):
        return f"{STAGING}, {VERSIONS} and {_RESERVED} are not for objects"
    return ""


def is_hidden(path: str) -> bool:
    """Return whether a path within a bucket is not for clients. A bucket may have others in it,
    with what is staged there, and each directory has its older versions.

    >>> is_hidden(".howdah-s3/uploads"), is_hidden("a/.howdah-s3"), is_hidden("a/.reserved")
    (True, True, False)
    """
    segments = path.split("/")
    return STAGING in segments or VERSIONS in segments or segments[0] == _RESERVED
