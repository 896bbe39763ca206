"""Source and target of a mirror, as it looks at them and changes them (shell)."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from howdah import errors
from howdah.config import Configuration
from howdah.copy.common.filesystems import (
    Place,
    behind_view,
    is_object_store,
    located,
    prefix,
    status_of,
)
from howdah.copy.common.staging import MIRROR_PREFIX, is_mirror_state, is_staging
from howdah.copy.locks.tree_lock import is_lock
from howdah.copy.options import Attribute
from howdah.copy.snapshots.following import snapshots_of
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.mirror.state.names import REVERTED, UNCHECKED, own
from howdah.mirror.state.planner import Side
from howdah.mirror.state.record import Record
from howdah.protocol.raw_paths import RESERVED_RAW, is_raw

_LONGEST_NAME_BYTES: Final = 200


class Refused(errors.HowdahError, ValueError):
    """A mirror cannot go on; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Directory:
    """One side of a mirror."""

    place: Place
    path: str
    uri: str

    @classmethod
    def of(cls, name: str, conf: Configuration, user: str | None) -> Directory:
        """A directory by its URI, or by its path on the default filesystem."""
        name = behind_view(name, conf, user)
        place = Place.of(located(name), conf, user)
        fs = place.connect()
        path = fs.resolve(name)
        return cls(place, path, fs.uri + path)

    @property
    def fs(self) -> FileSystem:
        return self.place.connect()

    @property
    def hdfs(self) -> HdfsFileSystem:
        return snapshots_of(self.fs)

    @property
    def has_snapshots(self) -> bool:
        return isinstance(self.fs, HdfsFileSystem)

    @property
    def state_path(self) -> str:
        """Where the state file lies: beside the directory, so no snapshot of it has the file."""
        parent = paths.parent_of(self.path)
        if parent is None:
            return paths.join(self.path, MIRROR_PREFIX)
        name = paths.name_of(self.path)
        encoded = name.encode("utf-8", "surrogateescape")
        if len(encoded) > _LONGEST_NAME_BYTES:
            name = hashlib.sha256(encoded).hexdigest()
        return paths.join(parent, f"{MIRROR_PREFIX}.{name}")

    # -- looking ---------------------------------------------------------------------

    def inspect(self, key: str) -> Side:
        """What is there. Raises Refused for a file."""
        status = status_of(self.fs, self.path)
        if status is not None and not status.is_directory:
            raise Refused(f"{self.uri} is a file, and directories are mirrored")
        names = self.snapshot_names() if status is not None and self.has_snapshots else None
        return Side(
            uri=self.uri,
            exists=status is not None,
            is_empty=status is None or next(self._entries(), None) is None,
            has_snapshots=self.has_snapshots,
            is_snapshottable=names is not None,
            snapshots=own(names or (), key),
            unchecked=own(names or (), key, UNCHECKED),
            reverted=own(names or (), key, REVERTED),
            record=self.read_record(),
        )

    def snapshot_names(self) -> tuple[str, ...] | None:
        """The names of all snapshots; None if there may be none."""
        try:
            found = self.fs.list_status(f"{prefix(self.path)}/.snapshot")
        except (errors.PathNotFound, errors.SnapshotError):
            return None
        return tuple(status.name for status in found)

    def snapshot_path(self, name: str) -> str:
        return f"{prefix(self.path)}/.snapshot/{name}"

    def _entries(self) -> Iterator[str]:
        for status in self.fs.list_status_iter(self.path):
            name = status.name
            if not (is_lock(name) or is_staging(name) or is_mirror_state(name)):
                yield name

    # -- the state file ----------------------------------------------------------------

    def read_record(self) -> Record | None:
        """The state file; None if there is none. Raises InvalidRecord."""
        try:
            data = self.fs.read_bytes(self.state_path)
        except (errors.PathNotFound, errors.ParentNotDirectory):
            return None
        return Record.of_json(data, self.fs.uri + self.state_path)

    def write_record(self, record: Record) -> None:
        """Replace the state file in one step."""
        fs, path = self.fs, self.state_path
        if is_object_store(fs):
            fs.write_bytes(path, record.to_json())
            return
        fs.mkdirs(paths.parent_of(path) or paths.SEPARATOR)
        temporary = f"{path}.{uuid.uuid4().hex[:12]}"
        try:
            fs.write_bytes(temporary, record.to_json())
            fs.rename(temporary, path, overwrite=True)
        except (errors.HowdahError, OSError):
            fs.delete(temporary)
            raise


def attributes_of(source: FileSystem, target: FileSystem) -> frozenset[Attribute]:
    """The attributes that both filesystems have. Checksum types are not among them: to find that
    of a file costs a call for each."""
    if isinstance(source, HdfsFileSystem) and isinstance(target, HdfsFileSystem):
        return frozenset(Attribute) - {Attribute.CHECKSUM_TYPE, Attribute.RAW}
    if target.scheme == "file":
        return frozenset({Attribute.PERMISSION, Attribute.TIMES})
    return frozenset()


# -- encryption zones ------------------------------------------------------------------


def check_zones(source: Directory, target: Directory, decrypts: bool) -> None:
    """Raise Refused where encryption zones make it unclear what a mirror is to do."""
    for side in (source, target):
        if is_raw(side.path):
            raise Refused(
                f"{side.uri} is cipher text, which is not mirrored: name the directory without "
                f"{RESERVED_RAW}"
            )
    below_target = [zone for zone in _zones(target) if zone != target.path]
    if below_target:
        raise Refused(
            f"{target.uri} has encryption zones below it ({', '.join(below_target)}): entries "
            "cannot be renamed across their borders. Mirror each zone by itself"
        )
    found = _zones(source)
    if found and not decrypts and not is_encrypted(target):
        raise Refused(
            f"{source.uri} has encrypted files ({', '.join(found)}), which would be plain files at "
            f"{target.uri}. Make an encryption zone of that, or say --decrypt"
        )


def _zones(side: Directory) -> list[str]:
    """The encryption zones that a directory is in, or has below it."""
    fs = side.fs
    if not isinstance(fs, HdfsFileSystem):
        return []
    inside = [side.path] if is_encrypted(side) else []
    try:
        below = [
            zone.path
            for zone in fs.list_encryption_zones()
            if zone.path.startswith(f"{prefix(side.path)}/") and zone.path != side.path
        ]
    except errors.AccessDenied:
        return inside  # only the superuser may list zones
    except errors.UnsupportedOperation:
        return inside
    return inside + below


def is_encrypted(side: Directory) -> bool:
    """Whether a directory is in an encryption zone, or will be when it is made."""
    fs = side.fs
    if not isinstance(fs, HdfsFileSystem):
        return False
    try:
        return fs.get_encryption_zone(side.path) is not None
    except errors.PathNotFound:
        parent = paths.parent_of(side.path)
        return parent is not None and is_encrypted(replace(side, path=parent))
