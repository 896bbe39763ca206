"""Which keys only servers of Hadoop's have, that no server here knows."""

from __future__ import annotations

from typing import Final

from howdah.config import keys
from howdah.config.keys.names.hadoop_names import HADOOP_NAMES

_OF_SERVERS: Final = (
    *("dfs.", "hadoop.http.", "hadoop.security.", "hadoop.ssl.", "hadoop.zk."),
    *("hadoop.prometheus.", "ipc.server.", "ipc.backoff.", "ipc.callqueue.", "ipc.scheduler."),
    *("net.topology.", "nfs.", "fs.trash."),
)
_OF_CLIENTS: Final = ("dfs.client.", "dfs.http.client.", "dfs.webhdfs.oauth2.", "dfs.pipeline.")


def is_of_servers(name: str) -> bool:
    """Return whether a server of Hadoop's goes by the key, or by one that it extends with the name
    of a nameservice, and none here does.

    >>> is_of_servers("dfs.namenode.fslock.fair"), is_of_servers("dfs.replication")
    (True, False)
    """
    if not name.startswith(_OF_SERVERS) or name.startswith(_OF_CLIENTS):
        return False
    parts = name.split(".")
    extended = [".".join(parts[:count]) for count in range(len(parts), 1, -1)]
    for candidate in extended:
        if candidate in keys.KNOWN or candidate in keys.DEPRECATED:
            return False
        if candidate in HADOOP_NAMES:
            return True
    return False
