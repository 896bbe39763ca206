"""Starting an object store for tests, and how to connect to it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from howdah.config import Configuration
from howdah.fs.objects.filesystem import S3FileSystem
from tests.support.objects.clouds import dotted, tune
from tests.support.objects.serving import started

ACCESS_KEY = "AKIDTESTS"
SECRET_KEY = "what-nobody-may-read"
_numbers = itertools.count(1)


@cache
def _client(endpoint: str) -> Any:
    import botocore.session
    from botocore.config import Config

    session = botocore.session.Session()
    session.set_credentials(ACCESS_KEY, SECRET_KEY)
    return session.create_client(
        "s3",
        region_name="us-east-1",
        endpoint_url=endpoint,
        config=Config(s3={"addressing_style": "path"}),
    )


@dataclass(frozen=True)
class StoreServer:
    """A store that runs; `port` is its own or a proxy's, `pid` its process's."""

    port: int
    pid: int = 0
    is_secure: bool = False

    @property
    def endpoint(self) -> str:
        return f"http{'s' if self.is_secure else ''}://127.0.0.1:{self.port}"

    def behind(self, port: int) -> StoreServer:
        """The same store, reached through a proxy."""
        return StoreServer(port, self.pid)

    def keys(self, **more: str) -> dict[str, str]:
        """Hadoop's keys to reach it; `more` are `fs.s3a.` keys with `_` for dots."""
        found = {
            "fs.s3a.endpoint": self.endpoint,
            "fs.s3a.endpoint.region": "us-east-1",
            "fs.s3a.access.key": ACCESS_KEY,
            "fs.s3a.secret.key": SECRET_KEY,
            "fs.s3a.path.style.access": "true",
            # Tests wait for no pause that nobody needs.
            "fs.s3a.retry.interval": "10ms",
            "fs.s3a.retry.throttle.interval": "10ms",
        }
        return found | dotted("fs.s3a.", more)

    def client(self) -> Any:
        """botocore's own client, one in a process: what a test looks with."""
        return _client(self.endpoint)

    def new_bucket(self, *, versioned: bool = False) -> str:
        """An empty bucket that nobody else has."""
        name = f"bucket-{next(_numbers)}"
        client = self.client()
        client.create_bucket(Bucket=name)
        if versioned:
            client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
        return name

    def connect(self, bucket: str, *, part_bytes: int | None = None, **more: str) -> S3FileSystem:
        """`part_bytes` may be less than S3 takes: this store takes any."""
        made = S3FileSystem(bucket, Configuration(self.keys(**more)))
        if part_bytes is not None:
            size = part_bytes
            tune(made, part_bytes=size, copy_part_bytes=size, copy_threshold_bytes=size)
        return made


@contextmanager
def store_server() -> Iterator[StoreServer]:
    """A store in a process of its own, for as long as the context lasts."""
    more = {"S3_UPLOAD_PART_MIN_SIZE": "1", "MOTO_S3_DEFAULT_KEY_BUFFER_SIZE": str(4 << 20)}
    with started("server", env=more) as (process, port):
        yield StoreServer(port, process.pid)


@contextmanager
def stub_server(*, is_sink: bool = False, tls: Path | None = None) -> Iterator[StoreServer]:
    """The same with a quick one that does less (`tests.support.objects.stub`); over
    TLS with a directory of certificates (`howdah.local.certificates`)."""
    words = [*(["--sink"] if is_sink else []), *(["--tls", str(tls)] if tls else [])]
    with started("stub", *words) as (process, port):
        yield StoreServer(port, process.pid, tls is not None)
