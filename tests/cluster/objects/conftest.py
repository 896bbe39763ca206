"""Object stores for all modules here, each in a process of its own: moto's server, and Azurite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.fs.objects.filesystem import S3FileSystem
from tests.support.objects.azurite import Azurite, NoAzurite, azurite_server
from tests.support.objects.clouds import CloudServer
from tests.support.objects.google import GoogleServer, google_server
from tests.support.objects.store import StoreServer, store_server
from tests.support.objects.trouble import Proxy, proxy_before


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


_CACHE = Path(__file__).parents[3] / ".cache"
_FIRST_TIMEOUT_S = 900
CLOUDS = ["az", "gs"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test of Azurite's fetches it, once."""
    for item in items:
        needs_azurite = {"cloud", "azurite"} & set(getattr(item, "fixturenames", ()))
        if needs_azurite and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(_FIRST_TIMEOUT_S))


@pytest.fixture(scope="session")
def azurite() -> Iterator[Azurite]:
    try:
        with azurite_server(_CACHE) as started:
            yield started
    except NoAzurite as error:
        pytest.skip(error.message)


@pytest.fixture(scope="session")
def google() -> Iterator[GoogleServer]:
    with google_server() as started:
        yield started


@pytest.fixture(scope="session", params=CLOUDS)
def cloud(request: pytest.FixtureRequest) -> CloudServer:
    """Each store but S3's."""
    found: CloudServer = request.getfixturevalue({"az": "azurite", "gs": "google"}[request.param])
    return found
