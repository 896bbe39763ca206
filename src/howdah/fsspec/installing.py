"""Putting howdah in the place of what fsspec has for a scheme."""

from __future__ import annotations

from importlib.util import find_spec

import fsspec

from howdah.fsspec.filesystem import (
    HowdahFileSystem,
    HowdahSWebHdfsFileSystem,
    HowdahViewFileSystem,
    HowdahWebHdfsFileSystem,
)
from howdah.fsspec.object_stores import OBJECT_STORES


def install(*, object_stores: bool = False) -> None:
    """Let howdah serve `hdfs://`, `viewfs://`, `webhdfs://` and `swebhdfs://` in fsspec for the
    rest of the process; with `object_stores` also `s3://` and `s3a://`, instead of s3fs,
    Azure's schemes, instead of adlfs, and `gs://`, instead of gcsfs. Paths of universal_pathlib,
    if that is installed, keep host and port in the first four."""
    fsspec.register_implementation("hdfs", HowdahFileSystem, clobber=True)
    fsspec.register_implementation("viewfs", HowdahViewFileSystem, clobber=True)
    fsspec.register_implementation("webhdfs", HowdahWebHdfsFileSystem, clobber=True)
    fsspec.register_implementation("swebhdfs", HowdahSWebHdfsFileSystem, clobber=True)
    if find_spec("upath") is not None:
        from howdah.fsspec.upath import take_over

        take_over("hdfs", "viewfs", "webhdfs", "swebhdfs")
    if object_stores:
        for filesystem in OBJECT_STORES:
            for scheme in filesystem.protocol:
                fsspec.register_implementation(scheme, filesystem, clobber=True)
