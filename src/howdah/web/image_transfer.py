"""Images and finished segments over HTTP: what is asked for and what is offered (pure).

Mirrors Hadoop's `/imagetransfer`:

    GET ?getimage=1&txid=N&storageInfo=S       an image; `txid=latest` is the newest
    GET ?getedit=1&startTxId=A&endTxId=B&storageInfo=S      a segment
    PUT ?txid=N&imageFile=IMAGE&File-Length=L&storageInfo=S     an image, as the body; with
                                        IMAGE_ROLLBACK one to go back to from a rolling upgrade

An answer to GET, and a PUT, carry the length and the sum (`X-MD5-Digest`), where
there is one. `storageInfo` says of which filesystem: another one's is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias
from urllib.parse import urlencode

from howdah import errors
from howdah.web.http import Request

PATH: Final = "/imagetransfer"
MD5_HEADER: Final = "X-MD5-Digest"
FILE_NAME_HEADER: Final = "X-Image-Edits-Name"
_LATEST: Final = "latest"
_KIND: Final = "IMAGE"
_ROLLBACK_KIND: Final = "IMAGE_ROLLBACK"


@dataclass(frozen=True, slots=True)
class ImageWanted:
    """The image of a transaction; of the newest, if `txid` is None."""

    txid: int | None
    storage_info: str | None = None
    to_new_standby: bool = False

    def target(self) -> str:
        query: dict[str, object] = {"getimage": 1}
        query["txid"] = _LATEST if self.txid is None else self.txid
        if self.to_new_standby:
            query["bootstrapstandby"] = "true"
        return _target(query, self.storage_info)


@dataclass(frozen=True, slots=True)
class EditsWanted:
    """A finished segment, by its first and last transaction."""

    first_txid: int
    last_txid: int
    storage_info: str | None = None

    def target(self) -> str:
        return _target(
            {"getedit": 1, "startTxId": self.first_txid, "endTxId": self.last_txid},
            self.storage_info,
        )


@dataclass(frozen=True, slots=True)
class ImageOffered:
    """An image that is in the body of the request. `md5` is None where it is not said."""

    txid: int
    size_bytes: int
    storage_info: str
    md5: str | None
    rollback: bool = False

    def target(self) -> str:
        kind = _ROLLBACK_KIND if self.rollback else _KIND
        return _target(
            {"txid": self.txid, "imageFile": kind, "File-Length": self.size_bytes},
            self.storage_info,
        )


Transfer: TypeAlias = ImageWanted | EditsWanted | ImageOffered


def storage_info(layout_version: int, namespace_id: int, ctime_ms: int, cluster_id: str) -> str:
    """A filesystem's identity in one word."""
    return f"{layout_version}:{namespace_id}:{ctime_ms}:{cluster_id}"


def parse_transfer(request: Request) -> Transfer:
    """Raises IllegalArgument for what makes no sense, UnsupportedOperation for what is
    not done."""
    query = request.query
    info = query.get("storageInfo") or None
    if request.method == "PUT":
        kind = query.get("imageFile", _KIND)
        if kind not in (_KIND, _ROLLBACK_KIND):
            raise errors.UnsupportedOperation(f"an upload of {kind} is not supported")
        if info is None:
            raise errors.IllegalArgument("an upload has to say storageInfo")
        return ImageOffered(
            _number(request, "txid"),
            _number(request, "File-Length"),
            info,
            request.headers.get(MD5_HEADER.lower()),
            kind == _ROLLBACK_KIND,
        )
    kinds = [kind for kind in ("getimage", "getedit", "getaliasmap") if kind in query]
    if len(kinds) != 1:
        raise errors.IllegalArgument("a transfer is of one thing: getimage or getedit")
    if kinds == ["getedit"]:
        return EditsWanted(_number(request, "startTxId"), _number(request, "endTxId"), info)
    if kinds == ["getaliasmap"]:
        raise errors.UnsupportedOperation("there are no provided storages, and no alias map")
    txid = None if query.get("txid") == _LATEST else _number(request, "txid")
    return ImageWanted(txid, info, query.get("bootstrapstandby", "").lower() == "true")


_MOST_DIGITS: Final = 19
"""Of 64 bits."""


def _number(request: Request, name: str) -> int:
    text = request.query.get(name, "")
    if not text.isascii() or not text.isdigit() or len(text) > _MOST_DIGITS:
        raise errors.IllegalArgument(f"{name} has to be a number, not {text[:50]!r}")
    return int(text)


def _target(values: dict[str, object], info: str | None) -> str:
    if info is not None:
        values["storageInfo"] = info
    return f"{PATH}?{urlencode(values)}"


_SLOWEST_BYTES_PER_S: Final = 8192


class Patience:
    """How long a transfer may take in all: one that trickles would keep others away."""

    def __init__(self, size_bytes: int, bytes_per_s: int, timeout_s: float, now_s: float) -> None:
        """`bytes_per_s` is the limit that is kept, 0 for none; with `timeout_s` 0 it waits
        for ever."""
        slowest = min(_SLOWEST_BYTES_PER_S, bytes_per_s / 2 or _SLOWEST_BYTES_PER_S)
        self._end_s = now_s + timeout_s + size_bytes / slowest if timeout_s else float("inf")

    def check(self, now_s: float) -> None:
        """Raises TimeoutError when it is at an end."""
        if now_s > self._end_s:
            raise TimeoutError("the transfer is too slow")
