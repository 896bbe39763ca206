"""Uploads that nobody ended: what a killed writer leaves at a store (shell).

Their parts are paid for and seen by nobody. An upload that is old enough is no writer's any
more; how old that is, the caller says.
"""

from __future__ import annotations

from dataclasses import dataclass

from howdah.fs import paths
from howdah.fs.objects.names import key_of, path_of
from howdah.fs.objects.store import ObjectStore, Upload, UploadLost


@dataclass(frozen=True, slots=True)
class UnfinishedUpload:
    """One of them: the file that it was to be, and when it began."""

    path: str
    upload_id: str
    started_ms: int


def _below(store: ObjectStore, path: str) -> list[Upload]:
    key = key_of(path)
    return [
        each for each in store.uploads(key) if paths.is_under(path_of(each.key), path) or not key
    ]


def unfinished(store: ObjectStore, path: str) -> list[UnfinishedUpload]:
    return [
        UnfinishedUpload(path_of(each.key), each.upload_id, each.started_ms)
        for each in _below(store, path)
    ]


def abort_uploads(store: ObjectStore, path: str, before_ms: int) -> list[UnfinishedUpload]:
    """Abort those that began before a time; what was aborted."""
    aborted: list[UnfinishedUpload] = []
    for each in _below(store, path):
        if each.started_ms >= before_ms:
            continue
        try:
            store.abort_upload(each.key, each.upload_id)
        except UploadLost:
            continue  # somebody has ended it just now
        aborted.append(UnfinishedUpload(path_of(each.key), each.upload_id, each.started_ms))
    return aborted
