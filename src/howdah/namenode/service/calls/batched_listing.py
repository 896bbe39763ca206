"""getBatchedListing: several directories in one call (pure).

The answer has a part for each path, in their order, until the parts have
`dfs.ls.limit` entries together; a path that cannot be listed has the reason in its
part, and does not keep the others from being listed. Where the next call goes on
is in the cookie, with a sum of the paths: it is of use with the same ones only.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.service import Encoded
from howdah.protocol.varint import encode_field, encode_varint


@dataclass(frozen=True, slots=True)
class Entries:
    """Entries of a directory as the bytes of fields `partialListing`, how many they are, the name
    of the last one, and how many come after it."""

    data: bytes
    count: int
    last: bytes
    remaining: int


ListOne = Callable[[pb.GetListingRequestProto], Entries | None]
"""None where nothing is at the path."""


def batched_listing(
    request: pb.GetBatchedListingRequestProto, list_one: ListOne, *, limit: int
) -> Encoded:
    """One page. Raises IllegalArgument for a cookie of other paths."""
    paths = list(request.paths)
    first, start_after = _read_cookie(request.startAfter, paths)
    parts: list[bytes] = []
    count = 0
    for index in range(first, len(paths)):
        listed = Entries(b"", 0, b"", 0)
        reason = b""
        try:
            found = list_one(
                pb.GetListingRequestProto(
                    src=paths[index],
                    startAfter=start_after,
                    needLocation=request.needLocation,
                )
            )
            if found is None:
                raise errors.PathNotFound(f"Path {paths[index]} does not exist")
        except errors.HowdahError as error:
            exception = types_pb2.RemoteExceptionProto(
                className=error.remote_class, message=error.message
            )
            reason = encode_field(b"\x1a", exception.SerializeToString())
        else:
            listed = found
        # BatchedDirectoryListingProto, with the path's place behind its entries.
        part = listed.data + b"\x10" + encode_varint(index) + reason
        parts.append(encode_field(b"\x0a", part))
        start_after = b""
        count += listed.count
        if listed.remaining and listed.count:
            return _answer(parts, _cookie(index, listed.last, paths))
        if count >= limit and index + 1 < len(paths):
            return _answer(parts, _cookie(index + 1, b"", paths))
    return _answer(parts, b"")


def _answer(parts: list[bytes], cookie: bytes) -> Encoded:
    """GetBatchedListingResponseProto; with a cookie there is more."""
    has_more = b"\x10\x01" if cookie else b"\x10\x00"
    return Encoded(b"".join((*parts, has_more, encode_field(b"\x1a", cookie))))


def _cookie(index: int, start_after: bytes, paths: Sequence[str]) -> bytes:
    return b"%d %08x %s" % (index, _sum(paths), start_after)


def _read_cookie(cookie: bytes, paths: Sequence[str]) -> tuple[int, bytes]:
    if not cookie:
        return 0, b""
    index, _, rest = cookie.partition(b" ")
    check, _, start_after = rest.partition(b" ")
    if not index.isdigit() or check != b"%08x" % _sum(paths):
        raise errors.IllegalArgument(
            f"{cookie!r} does not say where a listing of these {len(paths)} paths goes on"
        )
    return int(index), start_after


def _sum(paths: Sequence[str]) -> int:
    return zlib.crc32("\0".join(paths).encode())
