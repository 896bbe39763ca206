"""The fsspec face: `fsspec.open("howdah://host:8020/a")`, and `hdfs://` after `install()`."""

from __future__ import annotations

from howdah.fsspec.filesystem import HowdahFileSystem, install

__all__ = ["HowdahFileSystem", "install"]
