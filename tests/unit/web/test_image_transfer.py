"""What is said over HTTP when images and segments move, and how fast they do."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.runtime.byte_rate import Throttle
from howdah.web.http import Request, request_of
from howdah.web.image_transfer import (
    EditsWanted,
    ImageOffered,
    ImageWanted,
    Patience,
    Transfer,
    parse_transfer,
    storage_info,
)

INFO = storage_info(-67, 17, 0, "CID-1")


def asked(method: str, target: str, md5: str | None = None) -> Request:
    headers = [] if md5 is None else [(b"x-md5-digest", md5.encode())]
    request = request_of(method.encode(), target.encode(), headers)
    assert request is not None
    return request


@pytest.mark.parametrize(
    "transfer",
    [
        ImageWanted(42, INFO),
        ImageWanted(None, None),
        EditsWanted(3, 9, INFO),
        ImageOffered(42, 1 << 33, INFO, "0" * 32),
    ],
)
def test_what_is_asked_for_is_understood(transfer: Transfer) -> None:
    is_put = isinstance(transfer, ImageOffered)
    md5 = "0" * 32 if is_put else None
    assert parse_transfer(asked("PUT" if is_put else "GET", transfer.target(), md5)) == transfer


def test_what_hadoop_asks_is_understood() -> None:
    query = f"getimage=1&txid=42&imageFile=IMAGE&storageInfo={INFO}&bootstrapstandby=true"
    assert parse_transfer(asked("GET", f"/imagetransfer?{query}")) == ImageWanted(42, INFO, True)


@pytest.mark.parametrize(
    ("method", "query"),
    [
        ("GET", ""),
        ("GET", "getimage=1"),
        ("GET", "getimage=1&txid=-1"),
        ("GET", "getimage=1&getedit=1&txid=1&startTxId=1&endTxId=1"),
        ("GET", "getedit=1&startTxId=1&endTxId=x"),
        ("GET", f"getedit=1&startTxId=1&endTxId={'9' * 5000}"),
        ("GET", "getaliasmap=1"),
        ("PUT", "txid=1&File-Length=1"),
        ("PUT", "txid=1&storageInfo=x"),
        ("PUT", "txid=1&File-Length=1&storageInfo=x&imageFile=IMAGE_NEW"),
    ],
)
def test_what_makes_no_sense_is_refused(method: str, query: str) -> None:
    with pytest.raises((errors.IllegalArgument, errors.UnsupportedOperation)):
        parse_transfer(asked(method, f"/imagetransfer?{query}"))


def test_patience_ends_and_grows_with_the_size() -> None:
    patience = Patience(81920, 0, timeout_s=60.0, now_s=5.0)
    patience.check(75.0)
    with pytest.raises(TimeoutError, match="too slow"):
        patience.check(75.1)


def test_patience_bears_the_pace_that_is_kept() -> None:
    throttle, patience = Throttle(1000), Patience(100_000, 1000, timeout_s=60.0, now_s=0.0)
    now_s = 0.0
    for _ in range(100):
        now_s += throttle.delay_s(1000, now_s)
        patience.check(now_s)


def test_patience_without_a_limit_is_endless() -> None:
    Patience(0, 0, timeout_s=0.0, now_s=0.0).check(1e12)
