"""getBatchedListing: several directories in one call (pure).

The answer has a part for each path, in their order, until the parts have
`dfs.ls.limit` entries together; a path that cannot be listed has the reason in its
part, and does not keep the others from being listed. Where the next call goes on
is in the cookie, with a sum of the paths: it is of use with the same ones only.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb

ListOne = Callable[[pb.GetListingRequestProto], pb.GetListingResponseProto]


def batched_listing(
    request: pb.GetBatchedListingRequestProto, list_one: ListOne, *, limit: int
) -> pb.GetBatchedListingResponseProto:
    """One page. Raises IllegalArgument for a cookie of other paths."""
    paths = list(request.paths)
    first, start_after = _read_cookie(request.startAfter, paths)
    answer = pb.GetBatchedListingResponseProto(hasMore=False, startAfter=b"")
    count = 0
    for index in range(first, len(paths)):
        part = answer.listings.add(parentIdx=index)
        remaining = 0
        try:
            page = list_one(
                pb.GetListingRequestProto(
                    src=paths[index],
                    startAfter=start_after,
                    needLocation=request.needLocation,
                )
            )
            if not page.HasField("dirList"):
                raise errors.PathNotFound(f"Path {paths[index]} does not exist")
        except errors.HowdahError as error:
            part.exception.className = error.remote_class
            part.exception.message = error.message
        else:
            part.partialListing.extend(page.dirList.partialListing)
            remaining = page.dirList.remainingEntries
        start_after = b""
        count += len(part.partialListing)
        if remaining and part.partialListing:
            last = part.partialListing[-1].path
            return _continued(answer, _cookie(index, last, paths))
        if count >= limit and index + 1 < len(paths):
            return _continued(answer, _cookie(index + 1, b"", paths))
    return answer


def _continued(
    answer: pb.GetBatchedListingResponseProto, cookie: bytes
) -> pb.GetBatchedListingResponseProto:
    answer.hasMore = True
    answer.startAfter = cookie
    return answer


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
