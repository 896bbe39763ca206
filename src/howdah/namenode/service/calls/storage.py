"""Calls of administrators about the name directories and the images in them (pure).

`dfsadmin -rollEdits`, `-saveNamespace`, `-restoreFailedStorage true|false|check`,
`-finalizeUpgrade` and the like. Hadoop's `NNStorage` and `FSImage`. The directories themselves
belong to the shell: `NameStorage`, and `Images`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from howdah import errors
from howdah.namenode.service.calls.administration import Done
from howdah.namenode.service.namesystem import Namesystem
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Deferred


class NameStorage(Protocol):
    """The shell's part. Neither waits for a disk: the answer is held back for it."""

    def roll_edits(self) -> int: ...

    def restore_failed_storage(self, restores: bool | None) -> bool: ...

    def is_upgrade_finalized(self) -> bool: ...

    def is_shared(self) -> bool: ...

    def finalize_upgrade(self, done: Done) -> None: ...


class StorageCalls:
    """Both are for the superuser alone."""

    def __init__(self, namesystem: Namesystem, storage: NameStorage | None) -> None:
        """`storage` is None where there is no log, as in a test of the namesystem."""
        self._namesystem = namesystem
        self._storage = storage

    def roll_edits(self, caller: Caller) -> int:
        """End the segment that is being written; the next one's first transaction."""
        storage = self._checked(caller, "roll the edit log")
        self._namesystem.safe_mode.check("Log not rolled")
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

    def _checked(self, caller: Caller, action: str) -> NameStorage:
        namesystem = self._namesystem
        namesystem.permissions.check_superuser(namesystem.identities.of(caller.user), action)
        return self._there(action)

    def _there(self, action: str) -> NameStorage:
        if self._storage is None:
            raise errors.UnsupportedOperation(f"there is no edit log: cannot {action}")
        return self._storage


class Images(Protocol):
    """Who writes images."""

    def is_recent(self, window_ms: int, gap: int) -> bool:
        """True if the newest image is at most so old, and lacks at most so many edits."""

    def save(
        self,
        done: Callable[[errors.HowdahError | None], None],
        *,
        rollback_begun: Callable[[], None] | None = None,
    ) -> None:
        """Make an image of what is committed by now, and then call `done`. With
        `rollback_begun` it is one to go back to from a rolling upgrade, and that is called
        when the namespace is frozen, before anybody else has a turn."""

    def make_rollback_image(self) -> bool:
        """Begin the image to go back to, if there is none and no other one is being made; it
        begins a segment of the log. Whether it was begun; if not, the next image is it."""
        ...

    @property
    def has_rollback_image(self) -> bool:
        """Whether there is an image to go back to from a rolling upgrade."""
        ...


class ImageCalls:
    """The call; `images` is None where nothing is kept on disk."""

    def __init__(self, namesystem: Namesystem, images: Images | None) -> None:
        self._namesystem = namesystem
        self._images = images

    def _required(self) -> Images:
        if self._images is None:
            raise errors.UnsupportedOperation("this namenode keeps no images")
        return self._images

    def save_namespace(
        self, request: pb.SaveNamespaceRequestProto, caller: Caller
    ) -> pb.SaveNamespaceResponseProto | Deferred:
        """In safe mode only. With a window or a gap: unless the newest image will do."""
        namesystem = self._namesystem
        namesystem.permissions.check_superuser(
            namesystem.identities.of(caller.user), "save the namespace"
        )
        if not namesystem.safe_mode.on:
            raise errors.CheckpointFailed(
                "Safe mode should be turned ON in order to create namespace image."
            )
        images = self._required()
        window_ms = request.timeWindow * 1000
        if (window_ms or request.txGap) and images.is_recent(window_ms, request.txGap):
            return pb.SaveNamespaceResponseProto(saved=False)
        answer = Deferred()
        images.save(
            answer.fed_by("saveNamespace", lambda _: pb.SaveNamespaceResponseProto(saved=True))
        )
        return answer
