"""What an inode is, as the rows of all tables say (pure)."""

from __future__ import annotations

from typing import Final

FILE: Final = "file"
DIRECTORY: Final = "directory"
SYMLINK: Final = "symlink"
