"""`dfsadmin`: bounds on how many names, and how much room, a directory may take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from howdah.cli.arguments.command_format import check_count, take_value
from howdah.cli.dfsadmin.command import Cluster, Command
from howdah.config.value_types import parse_size
from howdah.errors import IllegalArgument, PathNotFound
from howdah.fs import glob
from howdah.fs.path_expansion import named


def _set_quota(words: list[str], cluster: Cluster) -> None:
    names, paths = _number_and_paths(words)
    for path in _matching(paths, cluster):
        cluster.fs.set_quota(path, names=names)


def _clear_quota(words: list[str], cluster: Cluster) -> None:
    for path in _matching(_some(words), cluster):
        cluster.fs.set_quota(path, names=None)


def _set_space_quota(words: list[str], cluster: Cluster) -> None:
    kind, rest = _storage_type(words)
    space, paths = _number_and_paths(rest)
    for path in _matching(paths, cluster):
        cluster.fs.set_quota(path, space_bytes=space, storage_type=kind)


def _clear_space_quota(words: list[str], cluster: Cluster) -> None:
    kind, rest = _storage_type(words)
    for path in _matching(_some(rest), cluster):
        cluster.fs.set_quota(path, space_bytes=None, storage_type=kind)


def _matching(words: list[str], cluster: Cluster) -> Iterator[str]:
    """The paths that the words stand for; raises PathNotFound for a pattern without any."""
    for word in words:
        if not glob.has_wildcard(word):
            yield word
            continue
        matching = named(cluster.fs, word)
        if not matching:
            raise PathNotFound(f"`{word}': No such file or directory")
        for status in matching:
            yield status.path


def _some(words: list[str]) -> list[str]:
    check_count(words, 1)
    return words


def _storage_type(words: list[str]) -> tuple[str | None, list[str]]:
    """`-storageType` with its value may stand anywhere."""
    kind, others = take_value(words, "-storageType")
    return kind and kind.upper(), others


def _number_and_paths(words: list[str]) -> tuple[int, list[str]]:
    check_count(words, 2)
    return size(words[0]), words[1:]


def size(text: str) -> int:
    """A number with a binary prefix: `10g` is 10 times 2 to the 30th.

    Raises IllegalArgument.
    """
    try:
        return parse_size(text)
    except ValueError as error:
        raise IllegalArgument(f'"{text}" is not a valid value for a quota.') from error


COMMANDS: Final = {
    "-setQuota": Command(
        "<quota> <dirname>...<dirname>",
        "At most so many names in each directory, with all below, counting itself.",
        _set_quota,
    ),
    "-clrQuota": Command(
        "<dirname>...<dirname>", "Take that bound away, where there is one.", _clear_quota
    ),
    "-setSpaceQuota": Command(
        "<quota> [-storageType <storagetype>] <dirname>...<dirname>",
        "At most so many bytes in each directory, with all below, every replica counted; on\n"
        "storages of one type only, if that is given. `10g` is 10 GiB.",
        _set_space_quota,
    ),
    "-clrSpaceQuota": Command(
        "[-storageType <storagetype>] <dirname>...<dirname>",
        "Take that bound away, where there is one.",
        _clear_space_quota,
    ),
}
