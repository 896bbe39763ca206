"""Calls of administrators about the name directories (pure).

`dfsadmin -rollEdits`, `-restoreFailedStorage true|false|check`, `-finalizeUpgrade` and
the like. Hadoop's `NNStorage` and `FSImage`. The directories themselves belong to the
shell: `NameStorage`.
"""

from __future__ import annotations

from typing import Protocol

from howdah import errors
from howdah.namenode.calls.administration import Done
from howdah.namenode.calls.core import Core
from howdah.rpc.service import Caller


class NameStorage(Protocol):
    """The shell's part. Neither waits for a disk: the answer is held back for it."""

    def roll_edits(self) -> int: ...

    def restore_failed_storage(self, restores: bool | None) -> bool: ...

    def is_upgrade_finalized(self) -> bool: ...

    def finalize_upgrade(self, done: Done) -> None: ...


class StorageCalls:
    """Both are for the superuser alone."""

    def __init__(self, core: Core, storage: NameStorage | None) -> None:
        """`storage` is None where there is no log, as in a test of the core."""
        self._core = core
        self._storage = storage

    def roll_edits(self, caller: Caller) -> int:
        """End the segment that is being written; the next one's first transaction."""
        storage = self._checked(caller, "roll the edit log")
        self._core.safe_mode.check("Log not rolled")
        return storage.roll_edits()

    def restore_failed(self, caller: Caller, argument: str) -> bool:
        """Switch the restoring of failed directories on ("true") or off ("false"), or
        "check" it; whether it is on then."""
        storage = self._checked(caller, "restore failed storage")
        wanted = {"true": True, "false": False, "check": None}
        if argument not in wanted:
            raise errors.IllegalArgument(
                f"restoreFailedStorage takes true, false or check, not {argument!r}"
            )
        return storage.restore_failed_storage(wanted[argument])

    def finalize_upgrade(self, caller: Caller, done: Done) -> None:
        """Give up what was kept of the time before an upgrade."""
        self._checked(caller, "finalize an upgrade").finalize_upgrade(done)

    def is_upgrade_finalized(self) -> bool:
        """For anybody."""
        return self._there("ask about an upgrade").is_upgrade_finalized()

    def _checked(self, caller: Caller, what: str) -> NameStorage:
        core = self._core
        core.permissions.check_superuser(core.identity(caller), what)
        return self._there(what)

    def _there(self, what: str) -> NameStorage:
        if self._storage is None:
            raise errors.UnsupportedOperation(f"there is no edit log: cannot {what}")
        return self._storage
