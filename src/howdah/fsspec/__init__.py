"""The fsspec face: `fsspec.open("howdah://host:8020/a")`, and views by `viewfs://NAME/a`.

`install()` takes over `hdfs://`, `webhdfs://` and `swebhdfs://` as well, and `s3://` if it is
told to.
"""

from __future__ import annotations

from howdah.fsspec.filesystem import (
    HowdahFileSystem,
    HowdahS3FileSystem,
    HowdahSWebHdfsFileSystem,
    HowdahViewFileSystem,
    HowdahWebHdfsFileSystem,
    install,
)

__all__ = [
    "HowdahFileSystem",
    "HowdahS3FileSystem",
    "HowdahSWebHdfsFileSystem",
    "HowdahViewFileSystem",
    "HowdahWebHdfsFileSystem",
    "install",
]
