"""A mount table from Hadoop's keys, `fs.viewfs.mounttable.NAME.…` (pure).

Mirrors org.apache.hadoop.fs.viewfs.InodeTree's constructor and Constants. What is
wrong is told with the whole name of the key. `linkMerge`, which Hadoop's documents call not
implemented, is refused; so is whatever else is no entry of a mount table.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from howdah import errors
from howdah.fs import paths
from howdah.fs.paths import Location
from howdah.fs.viewfs import patterns
from howdah.fs.viewfs.mount_table import Link, MountTable, Nfly, PatternLink

PREFIX: Final = "fs.viewfs.mounttable"
GLOBAL_KEYS: Final = frozenset(
    f"{PREFIX}.{name}"
    for name in (
        "config.loader.impl",
        "default.name.key",
        "nested.mount.point.supported",
        "path",
    )
)
"""Keys that begin like those of a table and are of none."""
_LINK: Final = "link."
_FALLBACK: Final = "linkFallback"
_MERGE: Final = "linkMerge."
_MERGE_SLASH: Final = "linkMergeSlash"
_NFLY: Final = "linkNfly"
_REGEX: Final = "linkRegex."
_HOMEDIR: Final = "homedir"


def parse(name: str, entries: Iterable[tuple[str, str]], *, nested: bool = True) -> MountTable:
    """Read the table `name` from all keys and values of a configuration; ignore the others.

    Raises InvalidConfiguration, PathExists for conflicting links, and UnsupportedOperation for
    an unsupported kind of link.
    """
    links: list[Link] = []
    by_pattern: list[PatternLink] = []
    single: dict[str, Link] = {}
    home = "/user"
    prefix = f"{PREFIX}.{name}."
    for key, value in sorted(entries):
        if not key.startswith(prefix) or key in GLOBAL_KEYS:
            continue
        entry = key.removeprefix(prefix)
        if entry.startswith(_LINK):
            mount = _mount(key, entry.removeprefix(_LINK))
            links.append(Link(mount, (_target(key, value),), key))
        elif entry in (_FALLBACK, _MERGE_SLASH):
            single[entry] = Link(paths.SEPARATOR, (_target(key, value),), key)
        elif entry.startswith((_FALLBACK, _MERGE_SLASH)):
            kind = _FALLBACK if entry.startswith(_FALLBACK) else _MERGE_SLASH
            raise errors.InvalidConfiguration(
                f"ViewFs: Mount points initialization error. Invalid {kind} entry in config: {key}"
            )
        elif entry.startswith(_MERGE):
            raise errors.UnsupportedOperation(
                f"{key}: links that merge directories (linkMerge) are not supported; Hadoop has "
                f"none either. A mount point with several targets is {_NFLY}SETTINGS./PATH"
            )
        elif entry.startswith(_NFLY):
            links.append(_nfly(key, entry.removeprefix(_NFLY), value))
        elif entry.startswith(_REGEX):
            by_pattern.append(patterns.parse(key, entry.removeprefix(_REGEX), value.strip()))
        elif entry == _HOMEDIR:
            home = _home(key, value)
        else:
            raise errors.InvalidConfiguration(
                f"ViewFs: Cannot initialize: Invalid entry in Mount table in config: {key}"
            )
    table = MountTable(
        name,
        fallback=single.get(_FALLBACK),
        merge_slash=single.get(_MERGE_SLASH),
        patterns=tuple(by_pattern),
        home_prefix=home,
        nested=nested,
    )
    if table.merge_slash is not None and (links or by_pattern or table.fallback):
        other = (*links, *by_pattern, table.fallback)[0]
        assert other is not None
        raise errors.InvalidConfiguration(
            f"Mount table {name} has already been configured with a merge slash link. A regular "
            f"link should not be added: {other.key} beside {table.merge_slash.key}"
        )
    # By path, so that a link is there before what lies below it.
    for link in sorted(links, key=lambda link: (link.mount.split(paths.SEPARATOR), link.key)):
        table.add(link)
    return table


def _mount(key: str, text: str) -> str:
    """The path of a mount point."""
    if text == paths.SEPARATOR:
        raise errors.InvalidConfiguration(
            f"Unexpected mount table link entry '{key}'. Use {_MERGE_SLASH} instead!"
        )
    if not text.startswith(paths.SEPARATOR):
        raise errors.InvalidConfiguration(f"ViewFs: Non absolute mount name in config:{key}")
    names = text[1:].rstrip(paths.SEPARATOR).split(paths.SEPARATOR)
    if any(name in ("", ".", "..") for name in names):
        raise errors.InvalidConfiguration(
            f"{key}: {text!r} is no path of a mount point: a name in it is empty, `.` or `..`"
        )
    return paths.SEPARATOR + paths.SEPARATOR.join(names)


def _target(key: str, text: str) -> Location:
    """The URI that a link leads to."""
    try:
        location = paths.parse(text.strip())
        if not location.is_qualified:
            raise errors.InvalidPath("it has no scheme")
        path = paths.normalize(location.path)
    except errors.InvalidPath as error:
        raise errors.InvalidConfiguration(
            f"{key} = {text!r} is no URI of a filesystem, such as hdfs://nameservice/path: {error}"
        ) from error
    return Location(location.scheme, location.authority, path)


def _home(key: str, text: str) -> str:
    value = text.strip()
    if not value.startswith(paths.SEPARATOR):
        raise errors.InvalidConfiguration(f"{key}: Home dir should start with `/`: {value}")
    return paths.normalize(value)


def _nfly(key: str, written: str, value: str) -> Link:
    """Read the link `.SETTINGS./path` = several URIs with commas between them."""
    settings, point, path = written.removeprefix(".").partition(".")
    if not written.startswith(".") or not point:
        raise errors.InvalidConfiguration(
            f"{key}: a link of several targets is {_NFLY}.SETTINGS./path; no settings is "
            f"{_NFLY}../path"
        )
    targets = tuple(_target(key, uri) for uri in value.split(",") if uri.strip())
    nfly = _nfly_settings(key, settings)
    if len(targets) < nfly.min_replication:
        raise errors.InvalidConfiguration(
            f"{key} = {value!r}: there are {len(targets)} targets, and minReplication is "
            f"{nfly.min_replication}"
        )
    if len(set(targets)) < len(targets):
        raise errors.InvalidConfiguration(f"{key} = {value!r}: a target is named twice")
    return Link(_mount(key, path), targets, key, nfly)


def _nfly_settings(key: str, text: str) -> Nfly:
    least, flags = 2, {"readMostRecent": False, "repairOnRead": False}
    for pair in filter(None, text.split(",")):
        name, _, value = pair.partition("=")
        if name == "minReplication" and value.isascii() and value.isdigit() and int(value) > 0:
            least = int(value)
        elif name in flags and value.lower() in ("true", "false"):
            flags[name] = value.lower() == "true"
        else:
            raise errors.InvalidConfiguration(
                f"{key}: {pair!r} is no setting: there are minReplication=N, "
                "readMostRecent=true|false and repairOnRead=true|false"
            )
    return Nfly(least, flags["readMostRecent"], flags["repairOnRead"])
