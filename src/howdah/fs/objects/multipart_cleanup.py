"""Uploads that nobody ended: what a killed writer leaves at a store (shell).

Their parts are paid for and seen by nobody. An upload that is old enough is no writer's any
more; how old that is, the caller says. The time of its beginning is the store's: with an age of
0 it goes however the clocks differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from howdah.fs import paths
from howdah.fs.objects.names import key_of, path_of
from howdah.fs.objects.store import ObjectStore, Upload, UploadLost
from howdah.fs.paths import PathLike


@dataclass(frozen=True, slots=True)
class UnfinishedUpload:
    """One of them: the file that it was to be, and when it began."""

    path: str
    upload_id: str
    started_ms: int


@runtime_checkable
class HasUploads(Protocol):
    """A filesystem on an object store, whatever its scheme."""

    def unfinished_uploads(self, path: PathLike = ...) -> list[UnfinishedUpload]: ...
    def abort_uploads(
        self, path: PathLike = ..., *, older_than_ms: int, now_ms: int
    ) -> Sequence[UnfinishedUpload]: ...


def _below(store: ObjectStore, path: str) -> list[Upload]:
    key = key_of(path)
    return [
        upload
        for upload in store.uploads(key)
        if paths.is_under(path_of(upload.key), path) or not key
    ]


def unfinished(store: ObjectStore, path: str) -> list[UnfinishedUpload]:
    return [
        UnfinishedUpload(path_of(upload.key), upload.upload_id, upload.started_ms)
        for upload in _below(store, path)
    ]


def abort_uploads(
    store: ObjectStore, path: str, older_than_ms: int, now_ms: int
) -> list[UnfinishedUpload]:
    """Abort uploads that are old enough, or all of them for an age of 0, and return those aborted.
    An upload with an unknown start counts as young."""
    aborted: list[UnfinishedUpload] = []
    for upload in _below(store, path):
        is_young = not upload.started_ms or upload.started_ms >= now_ms - older_than_ms
        if older_than_ms and is_young:
            continue
        try:
            store.abort_upload(upload.key, upload.upload_id)
        except UploadLost:
            continue  # somebody has ended it just now
        aborted.append(UnfinishedUpload(path_of(upload.key), upload.upload_id, upload.started_ms))
    return aborted
