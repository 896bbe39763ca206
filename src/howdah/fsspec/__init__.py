"""The fsspec face: `fsspec.open("howdah://host:8020/a")`, and views by `viewfs://NAME/a`.

`install()` takes over `hdfs://` and `webhdfs://` as well.
"""

from __future__ import annotations

from howdah.fsspec.filesystem import (
    HowdahFileSystem,
    HowdahViewFileSystem,
    HowdahWebHdfsFileSystem,
    install,
)

__all__ = ["HowdahFileSystem", "HowdahViewFileSystem", "HowdahWebHdfsFileSystem", "install"]
