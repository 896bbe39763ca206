"""Copies at the store's side, and renames made of them (shell).

A rename is a copy of every object and then the removal of the old ones: it costs as much as
there are objects, and who looks meanwhile sees both. If it fails the old objects are all
there, and some of the new ones may be.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from functools import partial

from howdah import errors
from howdah.client.workers import Workers
from howdah.fs import paths
from howdah.fs.objects.names import key_of, path_of, prefix_of
from howdah.fs.objects.parts import pieces
from howdah.fs.objects.store import NotAsExpected, ObjectInfo, ObjectStore, Stored
from howdah.fs.objects.tree import Found, Tree
from howdah.fs.objects.tuning import Tuning


class Copying:
    """Copies objects of one bucket."""

    def __init__(self, store: ObjectStore, settings: Tuning, workers: Workers) -> None:
        self._store = store
        self._settings = settings
        self._workers = workers

    def copy(self, source: ObjectInfo, key: str) -> Stored:
        """An object under another key; raises `FileChanged` if it was replaced meanwhile."""
        try:
            if source.length > self._settings.copy_threshold_bytes:
                return self._copy_in_parts(source, key)
            return self._store.copy(source, key)
        except NotAsExpected as error:
            raise errors.FileChanged(
                f"{path_of(source.key)} was replaced while it was copied"
            ) from error

    def _copy_in_parts(self, source: ObjectInfo, key: str) -> Stored:
        upload_id = self._store.begin_upload(key, exclusive=False, writer=source.writer)
        flying = [
            self._workers.submit(
                partial(
                    self._store.copy_part,
                    *(source, key, upload_id, piece.number, piece.start, piece.end),
                )
            )
            for piece in pieces(source.length, self._settings.copy_part_bytes)
        ]
        try:
            parts = [each.result() for each in flying]
            return self._store.complete_upload(key, upload_id, parts, exclusive=False)
        except BaseException:
            for each in flying:
                each.cancel()
            for each in flying:
                if not each.cancelled():
                    each.exception()
            self._store.abort_upload(key, upload_id)
            raise

    def copy_below(self, tree: Tree, source: str, target: str) -> list[str]:
        """Every object below a directory, several at a time; the old keys."""
        old, new = prefix_of(source), prefix_of(target)
        flying: deque[Future[Stored]] = deque()
        done: list[str] = []
        limit = min(self._settings.threads, self._settings.connections)
        try:
            for page in tree.below(source):
                for each in page.objects:
                    done.append(each.key)
                    if len(flying) >= limit:
                        flying.popleft().result()
                    flying.append(self._begin(each, new + each.key.removeprefix(old)))
            while flying:
                flying.popleft().result()
        finally:
            for waiting in flying:
                waiting.cancel()
        return done

    def _begin(self, source: ObjectInfo, key: str) -> Future[Stored]:
        # Parts are copied by the same threads, which must not wait for each other.
        if source.length > self._settings.copy_threshold_bytes:
            ready: Future[Stored] = Future()
            ready.set_result(self.copy(self._store.head(source.key), key))
            return ready
        return self._workers.submit(lambda: self.copy(source, key))


def rename(tree: Tree, copying: Copying, source: str, target: str, *, overwrite: bool) -> None:
    """Raises `PathNotFound`, `PathExists`, `ParentNotDirectory`, `DirectoryNotEmpty`."""
    if paths.SEPARATOR in (source, target):
        raise errors.RemoteError("neither end of a rename can be the root")
    found = tree.find(source)
    if source == target:
        raise errors.PathExists(f"The source and destination {target} are the same")
    if paths.is_under(target, source):
        raise errors.RemoteError(f"Rename destination {target} is under source {source}")
    _check_target(tree, found, target, overwrite=overwrite)
    if found.info is not None:
        copying.copy(found.info, key_of(target))
        tree.delete_file(source)
    else:
        old = copying.copy_below(tree, source, target)
        refused = tree.store.delete_many(old)
        if refused:
            raise type(refused[0].error)(
                f"{source} was copied to {target}, but {len(refused)} of its objects could not be "
                f"removed, the first is {path_of(refused[0].key)}: {refused[0].error}"
            )
    if paths.parent_of(source) != paths.parent_of(target):
        tree.keep(paths.parent_of(source))


def _check_target(tree: Tree, source: Found, target: str, *, overwrite: bool) -> None:
    there: Found | None = None
    try:
        there = tree.find(target)
    except errors.PathNotFound:
        parent = paths.parent_of(target) or paths.SEPARATOR
        if not tree.find(parent).is_directory:
            raise errors.ParentNotDirectory(f"{parent} is a file, and no directory") from None
        return
    if not overwrite:
        raise errors.PathExists(f"rename destination {target} already exists")
    if there.is_directory != source.is_directory:
        raise errors.RemoteError(
            f"Source {source.path} and destination {target} must both be directories, or files"
        )
    if there.is_directory and tree.has_entries(target):
        raise errors.DirectoryNotEmpty(f"rename destination {target} is not empty")
