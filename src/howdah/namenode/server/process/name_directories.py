"""The name and edits directories as protocols ask for them (shell): roll, upgrade, segments.

Mirrors what Hadoop's NameNodeRpcServer asks of FSImage and NNStorage. Whatever waits for a
disk runs on a thread, and calls back on the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from howdah import errors
from howdah.config import Configuration, keys
from howdah.namenode.journal.checkpoints.checkpoint import Checkpoints
from howdah.namenode.journal.directories import Directories, DirectorySet, directory_set
from howdah.namenode.journal.manifest import finished_since
from howdah.namenode.server.ha.log_writer import LogWriter
from howdah.namenode.server.process.admin_tasks import run_in_background
from howdah.namenode.server.process.settings import required_directories
from howdah.namenode.server.process.upgrading import finalize
from howdah.namenode.service.protocols.namenode import FirstAndLast
from howdah.storage.image_files import list_readable_images
from howdah.storage.layout import CURRENT_NAME, PREVIOUS_NAME


class EditsDirectories:
    """Makes the journal of the edits directories, each time that this namenode begins to write."""

    def __init__(self, conf: Configuration, currents: Sequence[Path]) -> None:
        self._currents = currents
        self._required = [root / CURRENT_NAME for root in required_directories(conf)]
        self._minimum = conf.get(keys.DFS_NAMENODE_EDITS_DIR_MINIMUM)
        self.restores: bool = conf.get(keys.DFS_NAMENODE_NAME_DIR_RESTORE)
        """Whether directories that fail are tried again when the log is rolled."""

    def journal(self, on_restored: Callable[[], None]) -> DirectorySet:
        return directory_set(
            self._currents,
            on_restored=on_restored,
            required=self._required,
            minimum=self._minimum,
            restores=self.restores,
        )


class NameDirectories:
    """`calls.storage.NameStorage`, and `protocols.namenode.CheckpointSource`."""

    def __init__(
        self,
        roots: Sequence[Path],
        directories: Directories,
        log_writer: LogWriter,
        checkpoints: Checkpoints,
        edits: EditsDirectories,
        *,
        shared: bool,
    ) -> None:
        """`roots` are all directories that the namenode was started with; `shared`: other
        namenodes follow the log."""
        self._shared = shared
        self._roots = list(roots)
        self._directories = directories
        self._log = log_writer
        self._checkpoints = checkpoints
        self._edits = edits
        self._upgrade_finalized = not any((root / PREVIOUS_NAME).exists() for root in roots)

    def roll_edits(self) -> int:
        """Begin a new segment of the log; its first transaction."""
        return self._log.roll()

    def image_txid(self) -> int:
        """The transaction of the newest image."""
        return self._checkpoints.image_txid

    def is_shared(self) -> bool:
        """Whether other namenodes follow the log."""
        return self._shared

    def newest_image(
        self, rollback: bool, callback: Callable[[int | errors.HowdahError | None], None]
    ) -> None:
        """Tell the transaction of the newest image to go back to from a rolling upgrade, or of
        the newest other one; None where there is none."""

        def find() -> int | None:
            images = list_readable_images(self._directories.images())
            return next((image.txid for image in images if image.rollback is rollback), None)

        run_in_background(find, callback)

    def is_upgrade_finalized(self) -> bool:
        """Whether no directory keeps what was there before an upgrade. Every block report
        asks: no directory is looked at here, as one may hang."""
        return self._upgrade_finalized

    def finalize_upgrade(self, done: Callable[[errors.HowdahError | None], None]) -> None:
        """Delete that, on a thread: it may be much."""

        def finished(outcome: bool | errors.HowdahError) -> None:
            if isinstance(outcome, errors.HowdahError):
                why = outcome.message
                done(errors.RemoteError(f"the upgrade is not finalized everywhere: {why}"))
            else:
                self._upgrade_finalized = True
                done(None)

        run_in_background(lambda: finalize(self._roots), finished)

    def list_finished(
        self,
        since_txid: int,
        callback: Callable[[Sequence[FirstAndLast] | errors.HowdahError], None],
    ) -> None:
        """Tell the finished segments that hold `since_txid` and what follows."""

        def find() -> list[FirstAndLast]:
            segments = finished_since(self._directories.edits(), since_txid)
            return [(s.first_txid, s.last_txid) for s in segments if s.last_txid is not None]

        run_in_background(find, callback)

    def restore_failed_storage(self, restores: bool | None) -> bool:
        """Whether failed directories are tried again at the next roll; None leaves it. It holds
        for the log that is written, and for those that this namenode begins later."""
        if restores is not None:
            self._edits.restores = restores
            if self._log.journal is not None:
                self._log.journal.restores = restores
        return self._edits.restores
