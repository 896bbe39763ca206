"""Calls of administrators about images: saveNamespace (pure). Part of Hadoop's `FSImage`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from howdah import errors
from howdah.namenode.calls.core import Core
from howdah.proto import client_namenode_pb2 as pb
from howdah.rpc.service import Caller, Deferred


class Images(Protocol):
    """Who writes images."""

    def is_recent(self, window_ms: int, gap: int) -> bool:
        """True if the newest image is at most so old, and lacks at most so many edits."""

    def save(self, done: Callable[[errors.HowdahError | None], None]) -> None:
        """Make an image of what is committed by now, and then call `done`."""


class ImageCalls:
    """The call; `images` is None where nothing is kept on disk."""

    def __init__(self, core: Core, images: Images | None) -> None:
        self._core = core
        self._images = images

    def _required(self) -> Images:
        if self._images is None:
            raise errors.UnsupportedOperation("this namenode keeps no images")
        return self._images

    def save_namespace(
        self, request: pb.SaveNamespaceRequestProto, caller: Caller
    ) -> pb.SaveNamespaceResponseProto | Deferred:
        """In safe mode only. With a window or a gap: unless the newest image will do."""
        core = self._core
        core.permissions.check_superuser(core.identity(caller), "save the namespace")
        if not core.safe_mode.on:
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
