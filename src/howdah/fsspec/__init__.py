"""The fsspec face: `fsspec.open("howdah://host:8020/a")`, and views by `viewfs://NAME/a`.

`install()` takes over `hdfs://`, `webhdfs://` and `swebhdfs://` as well, and the schemes of object
stores if it is told to.
"""

from __future__ import annotations

from howdah.fsspec.filesystem import (
    HowdahFileSystem,
    HowdahSWebHdfsFileSystem,
    HowdahViewFileSystem,
    HowdahWebHdfsFileSystem,
)
from howdah.fsspec.installing import install
from howdah.fsspec.object_stores import (
    HowdahAzureFileSystem,
    HowdahGoogleFileSystem,
    HowdahS3FileSystem,
)

__all__ = [
    "HowdahAzureFileSystem",
    "HowdahFileSystem",
    "HowdahGoogleFileSystem",
    "HowdahS3FileSystem",
    "HowdahSWebHdfsFileSystem",
    "HowdahViewFileSystem",
    "HowdahWebHdfsFileSystem",
    "install",
]
