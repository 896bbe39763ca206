"""`howdah routeradmin -initViewFsToMountTable`: links of ViewFs become mount points of a router.

HDFS-16008 in Hadoop. Links `fs.viewfs.mounttable.NAME.link./path` are added, of one table or of
all of them; other kinds of link (nfly, fallback, merge, by pattern) have no counterpart in a
router's mount table, and are named and left out.

Better than Hadoop, which takes `host:port` of a link's target for the name of a nameservice:
the address of a namenode is that of the nameservice which the configuration has it in.
"""

from __future__ import annotations

import contextlib
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.config import nameservices
from howdah.fs import paths
from howdah.fs.viewfs.links import GLOBAL_KEYS, PREFIX

if TYPE_CHECKING:
    from howdah.config import Configuration
    from howdah.router.administration import Administration
    from howdah.router.state.table.mount_table import MountEntry

ALL_CLUSTERS: Final = "allClusters"
_KEY: Final = re.compile(rf"{re.escape(PREFIX)}\.(?P<rest>.+)", re.DOTALL)
_LINK: Final = ".link./"


@dataclass(frozen=True, slots=True)
class ViewFsLink:
    """One link: the path of the mount point, and the URI that it leads to."""

    key: str
    mount: str
    target: str


def links_of(conf: Configuration, cluster: str) -> tuple[list[ViewFsLink], list[str]]:
    """Return the links of one mount table, or of all, by path; and the keys of links of other
    kinds."""
    links: list[ViewFsLink] = []
    others: list[str] = []
    for key, _ in conf.items():
        matched = _KEY.fullmatch(key)
        if matched is None or key in GLOBAL_KEYS:
            continue
        name, is_link, path = matched["rest"].partition(_LINK)
        if is_link and cluster in (ALL_CLUSTERS, name):
            links.append(ViewFsLink(key, f"/{path}", (conf.raw(key) or "").strip()))
        elif ".link" in key and (
            cluster == ALL_CLUSTERS or matched["rest"].startswith(f"{cluster}.link")
        ):
            others.append(key)
    return sorted(links, key=lambda link: (link.mount, link.key)), sorted(others)


def nameservice_of(conf: Configuration, authority: str) -> str:
    """The nameservice that `hdfs://authority` is."""
    known = nameservices.nameservices(conf)
    if authority not in known:
        for name in known:
            for host, port in nameservices.rpc_addresses(conf, name).values():
                if authority == f"{host}:{port}":
                    return name
    return authority


def add_links(administration: Administration, words: list[str], conf: Configuration) -> int:
    """The exit code; what is wrong with single links is said, and the others are added."""
    (cluster,) = words
    links, others = links_of(conf, cluster)
    for key in others:
        print(f"Only plain links become mount points: {key} is left out", file=sys.stderr)
    if not links:
        print("There is no ViewFs mapping to initialize.")
        return 0
    failed = False
    for link in links:
        try:
            entry = _entry(administration, link, conf)
            _put(administration, entry)
        except errors.HowdahError as error:
            problem = error.message.splitlines()[0]
            print(f"Added Mount Point failed {link.key}: {problem}", file=sys.stderr)
            failed = True
        else:
            print(f"Added mount point {entry.source}")
    if failed:
        return 255
    print(f"Successfully init ViewFs mapping to router {cluster}")
    return 0


def _entry(administration: Administration, link: ViewFsLink, conf: Configuration) -> MountEntry:
    """Owner, group and mode are those of the target, where it can be asked and is there."""
    from howdah.router.state.table.mount_table import Destination, MountEntry, normalised

    target = paths.parse(link.target)
    if target.scheme != "hdfs" or not target.authority:
        raise errors.UnsupportedOperation(f"Only supports HDFS, and it leads to {link.target}")
    destination = Destination(nameservice_of(conf, target.authority), paths.normalize(target.path))
    entry = MountEntry(
        normalised(link.mount),
        (destination,),
        owner=administration.user,
        group=administration.group,
    )
    return _with_attributes_of_target(entry, target, conf)


def _with_attributes_of_target(
    entry: MountEntry, target: paths.Location, conf: Configuration
) -> MountEntry:
    from dataclasses import replace

    from howdah.fs.registry import connect

    uri = f"hdfs://{target.authority}"
    try:
        with contextlib.closing(connect(uri, conf=conf, laid_over=False)) as fs:
            status = fs.get_file_status(entry.destinations[0].path)
    except FileNotFoundError:
        return entry
    except (errors.HowdahError, OSError) as error:
        print(
            f"{entry.source} gets the owner {entry.owner} and mode {entry.mode:o}, for "
            f"{uri} cannot be asked for those of its directory: {error}",
            file=sys.stderr,
        )
        return entry
    return replace(entry, owner=status.owner, group=status.group, mode=status.permission)


def _put(administration: Administration, entry: MountEntry) -> None:
    """Add it, or its destination to the entry that is there: as `-add` does."""
    from dataclasses import replace

    known = administration.entry(entry.source)
    if known is None:
        done = administration.add(entry)
    else:
        new = tuple(
            destination
            for destination in entry.destinations
            if destination not in known.destinations
        )
        done = administration.update(
            replace(entry, destinations=(*known.destinations, *new), quota=known.quota)
        )
    if not done:
        raise errors.IllegalArgument(f"Cannot add mount point {entry.source}")
