"""The namespaces that balancer and mover work on, by the configuration (shell).

DFSUtil.getInternalNsRpcUris, and Mover.Cli.getNameNodePathsToMove, in Hadoop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from howdah.config.nameservices import internal_nameservices
from howdah.errors import InvalidConfiguration
from howdah.runtime.running_cluster import default_filesystem

if TYPE_CHECKING:
    from howdah.config import Configuration


def uris(conf: Configuration) -> list[str]:
    """All nameservices, where the default filesystem is one of them, or a view, which is over
    them; else that alone. Raises InvalidConfiguration where none is named."""
    default = default_filesystem(conf)
    names = internal_nameservices(conf)
    parts = urlsplit(default)
    if names and (parts.scheme == "viewfs" or parts.netloc in names):
        return [f"hdfs://{name}" for name in names]
    return [default]


def paths_by_uri(conf: Configuration, paths: Sequence[str]) -> dict[str, list[str]]:
    """Group paths by the URI of their namespace. Without paths, return the root of every namespace.

    Raises InvalidConfiguration for a path that does not name its namespace, or names an unknown
    one.
    """
    namespaces = uris(conf)
    if not paths:
        return {uri: ["/"] for uri in namespaces}
    chosen: dict[str, list[str]] = {}
    for path in paths:
        parts = urlsplit(path)
        if not parts.path.startswith("/"):
            raise InvalidConfiguration(f"The path {path} is not absolute")
        uri = f"{parts.scheme}://{parts.netloc}"
        if len(namespaces) == 1 and (not parts.netloc or uri == namespaces[0].rstrip("/")):
            uri = namespaces[0]
        elif not parts.scheme or not parts.netloc:
            raise InvalidConfiguration(
                f"The path {path} does not contain scheme and authority thus cannot identify its "
                "name service"
            )
        elif uri not in namespaces:
            raise InvalidConfiguration(
                f"Cannot resolve the path {path}. The namenode services specified in the "
                f"configuration: [{', '.join(namespaces)}]"
            )
        chosen.setdefault(uri, []).append(parts.path)
    return chosen
