"""The data directories of a datanode: found, locked, formatted, checked.

DataStorage in Hadoop.

A directory's `current/VERSION` ties it to a cluster and to this datanode's uuid;
a block pool's own VERSION ties it to a namespace. A new directory gets its storage
id at once, and its VERSION when a namenode has said which cluster this is.

A directory that can't be used counts as a failed volume. One that belongs to
somebody else (another cluster, another datanode, a running process) stops the
start: to go on with the others would hide a mistake.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from howdah import errors
from howdah.datanode.control import pool_upgrade
from howdah.datanode.control.reports import Namespace
from howdah.datanode.replicas import trash
from howdah.datanode.state.volumes.choosing import ChoosingPolicy
from howdah.datanode.state.volumes.reserve import Reserve
from howdah.datanode.volumes.volumes import (
    DISK_FULL,
    NO_RESERVE,
    ROUND_ROBIN_POLICY,
    Volume,
    VolumeSet,
    is_about_the_disk,
)
from howdah.formats.version import (
    BlockPoolVersion,
    DatanodeVersion,
    new_datanode_uuid,
    new_storage_id,
)
from howdah.protocol.data_transfer.blocks import StorageType
from howdah.storage.layout import (
    CURRENT_NAME,
    PREVIOUS_NAME,
    StorageDirectory,
    StorageLock,
    StorageState,
)

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Directory:
    storage: StorageDirectory
    volume: Volume
    version: DatanodeVersion | None


class DataDirectories:
    """All data directories, locked for as long as the control process lives."""

    def __init__(
        self,
        directories: list[_Directory],
        locks: list[StorageLock],
        unusable: list[str],
        *,
        policy: ChoosingPolicy = ROUND_ROBIN_POLICY,
        rolls_back: bool = False,
    ) -> None:
        self._rolls_back = rolls_back
        self._went_back = False
        self.when_rolled_back: Callable[[], None] = lambda: None
        """Told when slices were rolled back that may have been looked at before."""
        self._formatting = threading.Lock()
        self._owners: dict[str, str] = {}
        self._directories = directories
        self._locks_of = {
            directory.volume: lock for directory, lock in zip(directories, locks, strict=True)
        }
        self.unusable = unusable
        """Directories that failed before they became volumes, with the reason."""
        for directory in directories:
            self._check_storage_id(directory)
        self.volumes = VolumeSet([directory.volume for directory in directories], policy)
        self.uuid = self._common_uuid()

    @classmethod
    def open(
        cls,
        paths: Sequence[tuple[str, Path]],
        *,
        reserve: Callable[[str, Path], Reserve] = lambda kind, path: NO_RESERVE,
        policy: ChoosingPolicy = ROUND_ROBIN_POLICY,
        tolerated: int = 0,
        rolls_back: bool = False,
    ) -> DataDirectories:
        """Find and lock `paths`, each with the name of its storage type. `reserve` says what
        is left to others there.

        With `rolls_back` they follow a namenode that was rolled back.

        Raises `StorageLocked` or `InconsistentStorage`; the latter also when more
        directories than `tolerated` can't be used (-1: when none can).
        """
        directories: list[_Directory] = []
        locks: list[StorageLock] = []
        unusable: list[str] = []
        try:
            for kind, path in paths:
                storage = StorageDirectory(path)
                try:
                    directories.append(_find(storage, StorageType[kind], reserve(kind, path)))
                    locks.append(storage.lock())
                except errors.HowdahError:
                    raise
                except OSError as error:
                    directories[:] = [d for d in directories if d.storage is not storage]
                    unusable.append(f"{path}: {error.strerror or error}")
                    log.error("data directory %s cannot be used: %s", path, error)
            allowed = len(paths) - 1 if tolerated < 0 else tolerated
            if not directories or len(unusable) > allowed:
                raise errors.InconsistentStorage(
                    f"{len(unusable)} of {len(paths)} data directories cannot be used, and "
                    f"dfs.datanode.failed.volumes.tolerated is {tolerated}: {'; '.join(unusable)}"
                )
            return cls(directories, locks, unusable, policy=policy, rolls_back=rolls_back)
        except BaseException:
            for lock in locks:
                lock.release()
            raise

    def _common_uuid(self) -> str:
        uuids = {d.version.datanode_uuid for d in self._directories if d.version is not None}
        if len(uuids) > 1:
            raise errors.InconsistentStorage(
                "the data directories belong to different datanodes: "
                + ", ".join(
                    f"{d.volume.path} to {d.version.datanode_uuid}"
                    for d in self._directories
                    if d.version is not None
                )
            )
        return uuids.pop() if uuids else new_datanode_uuid(secrets.randbelow)

    def _check_storage_id(self, directory: _Directory) -> None:
        """Namenodes and this datanode know a volume by its storage ID. A directory that was copied
        has that of another one."""
        for other in tuple(self._directories):
            if other is not directory and other.volume.storage_id == directory.volume.storage_id:
                raise errors.InconsistentStorage(
                    f"{directory.volume.path} and {other.volume.path} have the same storage ID, "
                    f"{directory.volume.storage_id}: one of them is a copy of the other. Take it "
                    "out of dfs.datanode.data.dir"
                )

    def claim_pool(self, pool_id: str, nameservice: str) -> None:
        """Raises `InconsistentStorage` if another nameservice has this block pool."""
        with self._formatting:
            owner = self._owners.setdefault(pool_id, nameservice)
        if owner != nameservice:
            raise errors.InconsistentStorage(
                f"block pool {pool_id} belongs to nameservice {owner}: two nameservices name "
                "the same namespace"
            )

    def release_pool(self, pool_id: str) -> None:
        """Its nameservice is served no more; another one may have it."""
        with self._formatting:
            self._owners.pop(pool_id, None)

    def join(self, namespace: Namespace) -> list[tuple[Volume, str]]:
        """Format what is new for the namenode's cluster, check what isn't, make its pool.

        Several nameservices may join at a time, each with a pool of its own; the first one
        says which cluster this is. Returns the volumes for which the disk did not let it,
        and why. Raises `InconsistentStorage` when a directory belongs to another cluster, or
        was rolled back, and the `OSError` of a process that has no descriptors or memory left.
        """
        failed: list[tuple[Volume, str]] = []

        def attempt(directory: _Directory, step: Callable[[_Directory, Namespace], None]) -> None:
            volume = directory.volume
            if volume.failure is not None or any(volume is other for other, _ in failed):
                return
            try:
                step(directory, namespace)
            except errors.HowdahError:
                raise
            except OSError as error:
                if not is_about_the_disk(error) and error.errno not in DISK_FULL:
                    raise
                log.error("%s cannot join %s: %s", volume, namespace.pool_id, error)
                failed.append((volume, f"it cannot join {namespace.pool_id}: {error}"))

        with self._formatting:
            directories = tuple(self._directories)
            for directory in directories:
                attempt(directory, self._tie_to_cluster)
        for directory in directories:
            attempt(directory, self._make_pool)
        if self._went_back:
            self.when_rolled_back()
            raise errors.InconsistentStorage(
                f"{namespace.pool_id} was rolled back, and its replicas are looked at again"
            )
        return failed

    def add(
        self, kind: str, path: Path, reserve: Reserve, namespaces: Iterable[Namespace]
    ) -> Volume:
        """One more, while the datanode runs. It joins the `namespaces` that are served.

        Raises `StorageLocked`, `InconsistentStorage` or the disk's `OSError`; then it is as
        if nobody had tried.
        """
        storage = StorageDirectory(path)
        directory = _find(storage, StorageType[kind], reserve)
        version = directory.version
        if version is not None and version.datanode_uuid != self.uuid:
            raise errors.InconsistentStorage(
                f"{path} belongs to datanode {version.datanode_uuid}, and this is {self.uuid}"
            )
        self._check_storage_id(directory)
        lock = storage.lock()
        try:
            for namespace in namespaces:
                with self._formatting:
                    self._tie_to_cluster(directory, namespace)
                self._make_pool(directory, namespace)
        except BaseException:
            lock.release()
            raise
        with self._formatting:
            self._directories.append(directory)
            self._locks_of[directory.volume] = lock
        return directory.volume

    def remove(self, volume: Volume) -> None:
        """Nothing is done there any more; another process may have it."""
        with self._formatting:
            gone = [directory for directory in self._directories if directory.volume is volume]
            self._directories = [
                directory for directory in self._directories if directory.volume is not volume
            ]
            lock = self._locks_of.pop(volume, None)
        if gone and lock is not None:
            lock.release()

    def _tie_to_cluster(self, directory: _Directory, namespace: Namespace) -> None:
        if directory.version is None:
            self._format(directory, namespace)
        elif directory.version.cluster_id != namespace.cluster_id:
            raise errors.InconsistentStorage(
                f"Incompatible clusterIDs in {directory.volume.path}: "
                f"namenode clusterID = {namespace.cluster_id}; "
                f"datanode clusterID = {directory.version.cluster_id}"
            )

    def _format(self, directory: _Directory, namespace: Namespace) -> None:
        version = DatanodeVersion(directory.volume.storage_id, namespace.cluster_id, self.uuid)
        directory.storage.write_version(version, _now_ms())
        directory.version = version
        log.info("formatted %s for cluster %s", directory.volume, namespace.cluster_id)

    def _make_pool(self, directory: _Directory, namespace: Namespace) -> None:
        volume, pool_id = directory.volume, namespace.pool_id
        if not directory.storage.version_file.exists():
            # Unplugged since the start: nothing is made on its mount point.
            log.error("%s has lost its VERSION; it is left alone", volume)
            return
        slice_ = StorageDirectory(Path(volume.pool_path(pool_id)))
        if slice_.root.exists():
            went_back = pool_upgrade.follow(slice_, namespace, rolls_back=self._rolls_back)
            # A namenode that is not older than the slice went back no further than the beginning
            # of a rolling upgrade, whatever is kept from before an earlier one.
            if went_back or (self._rolls_back and trash.restore(slice_.root)):
                self._went_back = True
        volume.make_pool_directories(pool_id)
        if slice_.version_file.exists():
            return
        slice_.write_version(
            BlockPoolVersion(namespace.namespace_id, pool_id, namespace.ctime_ms), _now_ms()
        )

    def finalize_upgrade(self, pool_id: str) -> None:
        """Give up what was kept of the time before an upgrade of the namenode."""
        for volume in self.volumes.working():
            try:
                pool_upgrade.finalize(StorageDirectory(Path(volume.pool_path(pool_id))))
            except OSError as error:
                # The namenode says in each heartbeat that the upgrade is final.
                if not is_about_the_disk(error):
                    raise
                log.error("the upgrade of %s is not final yet: %s", volume, error)

    def settle_trash(self) -> None:
        """What was deleted during a rolling upgrade is back in all pools, if these directories
        follow a namenode that was rolled back. No replica was looked at yet.

        Of a pool that keeps a state from before an upgrade the namenode has to say how far back it
        is (`join`)."""
        for volume in self.volumes.working():
            try:
                pools = sorted(Path(volume.path, CURRENT_NAME).glob("BP-*"))
            except OSError as error:
                # The scan of the replicas finds the same, and removes the volume.
                if not is_about_the_disk(error):
                    raise
                log.error("the trash of %s stays for now: %s", volume, error)
                continue
            for pool in pools:
                try:
                    trash.end_clearing(pool)
                    if self._rolls_back and not (pool / PREVIOUS_NAME).exists():
                        trash.restore(pool)
                except OSError as error:
                    if not is_about_the_disk(error) and error.errno not in DISK_FULL:
                        raise
                    log.error("the trash of %s stays for now: %s", pool, error)

    def close(self) -> None:
        for lock in self._locks_of.values():
            lock.release()


def _find(storage: StorageDirectory, kind: StorageType, reserve: Reserve) -> _Directory:
    with contextlib.suppress(FileNotFoundError):
        # A disk that can't be read is a failed volume; what `state` refuses is a mistake.
        os.listdir(storage.root)
    state = storage.state()
    version = None
    match state:
        case StorageState.UNFINISHED:
            raise errors.InconsistentStorage(
                f"Data directory {storage.root} is {state.value}; finish or roll that back with "
                "the software that began it"
            )
        case StorageState.NORMAL:
            version = storage.read_version(DatanodeVersion)
        case StorageState.NOT_FORMATTED if not _is_blank(storage):
            raise errors.InconsistentStorage(
                f"Data directory {storage.root} is not empty and has no {storage.version_file}; "
                "it is not touched"
            )
        case _:
            storage.create()
    storage_id = version.storage_id if version else new_storage_id(secrets.randbelow)
    return _Directory(storage, Volume(str(storage.root), storage_id, kind, reserve), version)


def _is_blank(storage: StorageDirectory) -> bool:
    """A start that never met a namenode leaves an empty `current`, and no more."""
    names = {path.name for path in storage.root.iterdir()}
    return names <= {storage.current.name, storage.lock_file.name, "lost+found"} and not any(
        storage.current.iterdir()
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
