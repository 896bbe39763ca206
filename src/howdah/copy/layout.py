"""Where each source goes at the target, by Hadoop's rules (pure).

1. One file: to the target's own path if that is absent or a file; into the directory that is
   there, under the file's name, otherwise.
2. One directory, target absent: the target becomes its copy (FS-160). Target exists: the
   directory is copied into it, under its name (FS-162).
3. Several sources: each into the target under its name (FS-161).
4. With `-update` or `-overwrite` the content of directories goes directly into the target, for
   any number of sources and whether it exists or not (FS-163, FS-164). The attributes of the
   target's own directory stay, unless `-updateRoot` is given.
5. The root directory has no name, so its content always goes directly into the target.

A place is a path relative to the target: empty for the target itself, else it starts with a
slash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from howdah.copy.listing.entries import Found
from howdah.copy.options import Options
from howdah.errors import HowdahError


class InvalidInput(HowdahError, ValueError):
    """Sources and target that do not go together, or do not exist."""

    java_class = "org.apache.hadoop.tools.CopyListing$InvalidInputException"


@dataclass(frozen=True, slots=True)
class Source:
    """One file or directory to copy. `filesystem` is its index in `CopyContext.places`."""

    filesystem: int
    path: str
    uri: str
    is_directory: bool


@dataclass(frozen=True, slots=True)
class Placed:
    """A source and its place. With `skips_itself` a directory gets no row, only its content."""

    source: Source
    relative: str
    skips_itself: bool


def lay_out(
    sources: Sequence[Source], target: Found, target_uri: str, options: Options
) -> list[Placed]:
    """The place of each source. Raises InvalidInput."""
    if target is Found.FILE:
        if len(sources) > 1:
            raise InvalidInput(f"Multiple source being copied to a file: {target_uri}")
        if sources[0].is_directory:
            raise InvalidInput(f"Cannot copy {sources[0].uri}, which is not a file to {target_uri}")
    if options.atomic and target is not Found.ABSENT:
        raise InvalidInput(
            f"Target path for atomic-commit already exists: {target_uri}. "
            "Cannot atomic-commit to pre-existing target-path."
        )
    content_only = options.update or options.overwrite
    return [
        _lay_out_source(source, len(sources), target, content_only, options) for source in sources
    ]


def _lay_out_source(
    source: Source, count: int, target: Found, content_only: bool, options: Options
) -> Placed:
    name = source.path.rpartition("/")[2]
    if not source.is_directory:
        alone = count == 1 and target is not Found.DIRECTORY
        return Placed(source, "" if alone else f"/{name}", False)
    becomes_target = content_only or (count == 1 and target is Found.ABSENT) or not name
    return Placed(
        source,
        "" if becomes_target else f"/{name}",
        skips_itself=becomes_target and content_only and not options.update_root,
    )
