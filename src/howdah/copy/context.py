"""What a copy finds before it begins (Hadoop's DistCpContext): sources, target, lists, filters."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Final

from howdah.config import Configuration, keys
from howdah.copy.common.arrow_rows import decode
from howdah.copy.common.failures import SourceGone
from howdah.copy.common.filesystems import (
    Place,
    behind_view,
    for_each,
    located,
    sources_behind_views,
    status_of,
)
from howdah.copy.layout import InvalidInput, Source
from howdah.copy.listing.entries import Found, found_of
from howdah.copy.options import Attribute, InvalidOptions, Options
from howdah.copy.preserving import check_support
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.path_expansion import named
from howdah.fs.registry import connect
from howdah.fs.status import FileStatus
from howdah.protocol.raw_paths import RESERVED_RAW, is_raw

_TRASH_SCHEMES: Final = ("hdfs",)
_SNAPSHOT_SCHEMES: Final = ("hdfs", "webhdfs", "swebhdfs")
_SNAPSHOTS: Final = ".snapshot"


@dataclass(frozen=True, slots=True)
class CopyContext:
    """Holds the sources with their statuses, and the target."""

    places: tuple[Place, ...]
    sources: tuple[tuple[Source, FileStatus], ...]
    target: Place
    target_fs: FileSystem
    target_path: str
    target_status: FileStatus | None
    filters: tuple[str, ...]
    has_trash: bool

    @classmethod
    def read(
        cls,
        names: Sequence[str],
        target: str,
        options: Options,
        conf: Configuration,
        user: str | None,
    ) -> CopyContext:
        """Read the statuses. Raises InvalidInput for a source that does not exist."""
        if options.source_listing is not None:
            names = [line for line in _lines(options.source_listing, conf, user) if line.strip()]
        if not names:
            raise InvalidInput("There is nothing to copy")
        names = sources_behind_views(names, conf, user)
        target = behind_view(target, conf, user)
        place = Place.of(located(target), conf, user)
        fs = place.connect()
        path = fs.resolve(target)
        places, sources = _look_at_sources(names, conf, user)
        context = cls(
            places,
            sources,
            place,
            fs,
            path,
            status_of(fs, path),
            _filters(options.filters_file, conf, user),
            fs.scheme in _TRASH_SCHEMES and _trash_is_on(fs, path, conf),
        )
        if options.delete:
            context._check_sources_stay()
        return context

    def _check_sources_stay(self) -> None:
        """Raise InvalidInput for a source within the target: it is something that only the target
        has, and so would be deleted. A snapshot of HDFS is in no listing, and a file may be in its
        place already."""
        for source, _ in self.sources:
            above = paths.parent_of(source.path)
            if above is None or not paths.is_under(above, self.target_path):
                continue
            if above == self.target_path and not source.is_directory:
                continue
            fs = self.places[source.filesystem].connect()
            below = source.path[len(self.target_path) :].split(paths.SEPARATOR)
            if _SNAPSHOTS in below and fs.scheme in _SNAPSHOT_SCHEMES:
                continue
            if fs.uri == self.target_fs.uri or self.target_fs.server_copies(fs).is_same_place:
                raise InvalidInput(
                    f"The source {source.uri} is within the target {self.target_uri}: -delete "
                    "would delete it"
                )

    def as_is(self, options: Options) -> Options:
        """The options with which cipher text below `/.reserved/raw` is copied as it is, with the
        attributes that belong to it. Raises InvalidInput unless all paths are there, or none."""
        to_raw = is_raw(self.target_path)
        for source, _ in self.sources:
            if is_raw(source.path) != to_raw:
                first, second = ("target", "source") if to_raw else ("source", "target")
                named = {"source": source.uri, "target": self.target_uri}
                raise InvalidInput(
                    f"The {first} path '{named[first]}' starts with {RESERVED_RAW} but the "
                    f"{second} path '{named[second]}' does not. Either all or none of the paths "
                    "must have this prefix."
                )
        if not to_raw:
            return options
        return replace(options, preserve=options.preserve | {Attribute.RAW})

    def check_attributes(self, wanted: Set[Attribute]) -> None:
        """Raise AclsNotSupported or XAttrsNotSupported unless all filesystems have the attributes
        that are to be preserved."""
        of_sources = {source.filesystem: source.path for source, _ in self.sources}
        for number, path in of_sources.items():
            check_support(self.places[number].connect(), path, wanted)
        check_support(self.target_fs, self.target_path, wanted)

    def again(self) -> CopyContext:
        """The context with the target's present status."""
        return replace(self, target_status=status_of(self.target_fs, self.target_path))

    def check_roots(self) -> None:
        """Raise `SourceGone` unless every source directory is still the same inode."""
        roots = (source for source in self.sources if source[0].is_directory)
        for_each(lambda root: self._check_root(*root), roots)

    def _check_root(self, source: Source, status: FileStatus) -> None:
        now = status_of(self.places[source.filesystem].connect(), source.path)
        if now is None:
            raise SourceGone(f"{source.uri} is gone since it was listed; nothing is deleted")
        if not now.is_directory or now.file_id != status.file_id:
            raise SourceGone(f"{source.uri} was replaced since it was listed; nothing is deleted")

    @property
    def target_state(self) -> Found:
        return found_of(self.target_status)

    @property
    def target_uri(self) -> str:
        return self.target_fs.uri + self.target_path

    def is_filtered(self, uri: str) -> bool:
        return any(re.fullmatch(pattern, uri, re.DOTALL) for pattern in self.filters)


def _look_at_sources(
    names: Sequence[str], conf: Configuration, user: str | None
) -> tuple[tuple[Place, ...], tuple[tuple[Source, FileStatus], ...]]:
    numbers: dict[tuple[str, str], int] = {}
    places: dict[str, Place] = {}
    for name in names:
        location = paths.parse(name)
        whose = (location.scheme, location.authority)
        if whose not in numbers:
            place = Place.of(located(name), conf, user)
            places.setdefault(place.uri, place)
            numbers[whose] = list(places).index(place.uri)
    listed = tuple(places.values())

    def statuses_of(name: str) -> list[tuple[Source, FileStatus]]:
        location = paths.parse(name)
        number = numbers[location.scheme, location.authority]
        fs = listed[number].connect()
        statuses = named(fs, name)
        if not statuses:
            raise InvalidInput(f"{name} doesn't exist")
        return [
            (Source(number, status.path, fs.uri + status.path, status.is_directory), status)
            for status in statuses
        ]

    return listed, tuple(chain.from_iterable(for_each(statuses_of, names)))


def _filters(name: str | None, conf: Configuration, user: str | None) -> tuple[str, ...]:
    """The patterns of a filters file: a local file, or one that a URI names."""
    if name is None:
        return ()
    if paths.parse(name).is_qualified:
        lines = _lines(name, conf, user)
    else:
        try:
            lines = _split(Path(name).read_bytes())
        except OSError as error:
            raise InvalidOptions(f"Can't find filters file {name}: {error}") from error
    for pattern in lines:
        try:
            re.compile(pattern)
        except re.error as error:
            raise InvalidOptions(f"{pattern!r} is not a pattern: {error}") from error
    return tuple(lines)


def _lines(name: str, conf: Configuration, user: str | None) -> list[str]:
    fs = connect(located(name), conf=conf, user=user)
    with fs, fs.open(name) as stream:
        return _split(stream.read())


def _split(data: bytes) -> list[str]:
    """Lines with their blanks, which may be part of a name, as may other characters that
    Unicode takes for line ends."""
    return [decode(line) for line in data.splitlines()]


def _trash_is_on(fs: FileSystem, path: str, conf: Configuration) -> bool:
    if conf.get(keys.FS_TRASH_INTERVAL) > 0:
        return True
    return fs.server_defaults(path).trash_interval_minutes > 0
