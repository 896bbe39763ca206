"""Conditional writes of one key at the same moment, through one gateway."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial

import pytest

from howdah.config import Configuration
from howdah.fs.memory.filesystem import MemoryFileSystem, forget
from howdah.gateway.s3.key_locks import KeyLocks
from howdah.gateway.s3.objects import Bucket, Shared
from howdah.gateway.s3.protocol.conditions import etag_of
from howdah.gateway.s3.protocol.metadata import Metadata
from howdah.gateway.s3.protocol.names import checked_key
from howdah.gateway.s3.protocol.refusals import Refused

NAME = "s3-races"
RACES = 1000
RUNNERS = 2
KEY = checked_key("dir/k")


@pytest.fixture
def fs() -> Iterator[MemoryFileSystem]:
    found = MemoryFileSystem(NAME, Configuration(), "ann")
    found.mkdirs("/b")
    yield found
    forget(NAME)


@pytest.fixture
def bucket(fs: MemoryFileSystem) -> Bucket:
    return Bucket(fs, "b", "/b", "ann", Shared(KeyLocks(), 0o022, lambda: nullcontext(fs)))


def raced(pool: ThreadPoolExecutor, put: Callable[[bytes], object]) -> list[bytes]:
    """The bodies that were put, of one race."""
    begin = threading.Barrier(RUNNERS)

    def run(body: bytes) -> bytes | None:
        begin.wait(60)
        try:
            put(body)
        except Refused as refused:
            if refused.code != "PreconditionFailed":
                raise
            return None
        return body

    bodies = [str(number).encode() * 100 for number in range(RUNNERS)]
    return [body for body in pool.map(run, bodies) if body is not None]


def put(bucket: Bucket, headers: Mapping[str, str], body: bytes) -> object:
    return bucket.put(KEY, [body], headers, Metadata)


def test_of_two_who_make_an_object_one_does(bucket: Bucket, fs: MemoryFileSystem) -> None:
    with ThreadPoolExecutor(RUNNERS) as pool:
        for _ in range(RACES):
            (winner,) = raced(pool, partial(put, bucket, {"if-none-match": "*"}))
            assert fs.read_bytes("/b/dir/k") == winner
            fs.delete("/b/dir/k")
    assert fs.list_status("/b/.howdah-s3/ann/objects") == []


def test_of_two_who_replace_an_object_one_does(bucket: Bucket, fs: MemoryFileSystem) -> None:
    etag = etag_of(bucket.put(KEY, [b"first"], {}, Metadata).status)
    with ThreadPoolExecutor(RUNNERS) as pool:
        for _ in range(RACES):
            (winner,) = raced(pool, partial(put, bucket, {"if-match": etag}))
            assert fs.read_bytes("/b/dir/k") == winner
            etag = etag_of(fs.get_file_status("/b/dir/k"))
