"""The reads of ClientProtocol that are answered by their bytes (pure)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from howdah.namenode.calls.core import Core
from howdah.namenode.protocols.quick import rows
from howdah.rpc.quick import Quick


class QuickReads:
    """Of one namenode. `methods` has them by their names."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._files = core.namespace.inodes.files
        self._tables = rows.tables_of(self._files)
        self.file_info_by = rows.file_info
        """The kernel's, or its twin."""
        self.methods: Final[Mapping[str, Quick]] = {"getFileInfo": self.file_info}

    def file_info(self, request: bytes, user: str, address: str) -> bytes | None:
        """As `QueryMethods.get_file_info`."""
        core = self._core
        who = core.identity_of(user)
        return self.file_info_by(
            request,
            core.namespace.known_ways(),
            user,
            who.groups,
            core.permissions.is_exempt(who),
            self._tables_now(),
        )

    def _tables_now(self) -> rows.Tables:
        files = self._core.namespace.inodes.files
        if files is not self._files:
            self._files, self._tables = files, rows.tables_of(files)
        return self._tables
