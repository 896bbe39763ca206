"""What an inode is, as the rows of all tables say (pure)."""

from __future__ import annotations

from typing import Final

FILE: Final = "file"
DIRECTORY: Final = "directory"
SYMLINK: Final = "symlink"

LAST_MS: Final = 253_402_300_799_999
"""The end of the year 9999, the last that a timestamp of Spark has. Whoever owns a file of HDFS
gives it any time of 64 bits."""
