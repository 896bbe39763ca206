"""Object stores in fsspec's terms: one bucket or container an object of these classes.

Paths begin below the bucket, unlike those of s3fs, adlfs and gcsfs. fsspec's own classes for these
schemes stay, unless `install(object_stores=True)` puts these in their place.
"""

from __future__ import annotations

from typing import Any

from howdah.fs import paths
from howdah.fsspec.filesystem import HowdahFileSystem


class HowdahS3FileSystem(HowdahFileSystem):
    """`s3://bucket/` and `s3a://bucket/` with Hadoop's keys `fs.s3a.*`."""

    protocol = ("s3", "s3a")
    _scheme = "s3"
    _own_protocol = "s3"


class HowdahAzureFileSystem(HowdahFileSystem):
    """`az://container@account/`, and the same container by Hadoop's schemes, over TLS, with
    Hadoop's keys `fs.azure.*`. `host` is the container with its account."""

    protocol = ("az", "abfs", "abfss", "wasb", "wasbs")
    _scheme = "az"
    _own_protocol = "az"

    @staticmethod
    def _get_kwargs_from_urls(path: str) -> dict[str, Any]:
        # What is before the `@` is the container, and no user.
        authority = paths.parse(path).authority
        return {"host": authority} if authority else {}


class HowdahGoogleFileSystem(HowdahFileSystem):
    """`gs://bucket/` with Hadoop's keys `fs.gs.*`."""

    protocol = ("gs", "gcs")
    _scheme = "gs"
    _own_protocol = "gs"


OBJECT_STORES = (HowdahS3FileSystem, HowdahAzureFileSystem, HowdahGoogleFileSystem)
