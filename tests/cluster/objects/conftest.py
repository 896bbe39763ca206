"""One object store for all modules here: moto's server, in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from howdah.fs.objects.filesystem import S3FileSystem
from howdah.testing.internal.objects.store import StoreServer, store_server
from howdah.testing.internal.objects.trouble import Proxy, proxy_before


@pytest.fixture(scope="session")
def store() -> Iterator[StoreServer]:
    with store_server() as started:
        yield started


@pytest.fixture(scope="module")
def proxy(store: StoreServer) -> Iterator[Proxy]:
    with proxy_before(store.port) as made:
        yield made


@pytest.fixture
def bucket(store: StoreServer) -> str:
    """An empty one."""
    return store.new_bucket()


@pytest.fixture
def fs(store: StoreServer, bucket: str) -> Iterator[S3FileSystem]:
    """A filesystem in a bucket of its own, with the smallest parts that S3 takes."""
    with store.connect(bucket, multipart_size="5M", multipart_threshold="5M") as made:
        yield made
