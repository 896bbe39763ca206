"""Which filesystem is meant where nobody names one, and the cluster of `howdah up` (shell).

One rule, for `howdah.connect`, the command line, fsspec and jobs on Spark:

1. `fs.defaultFS` of the configuration: files (`HADOOP_CONF_DIR`, `--conf`), `-fs`, `-D`, code.
   What a program configures without it lies above the files of `HADOOP_CONF_DIR`.
2. Else, if the configuration names no namenode at all, the cluster that `howdah up` started in
   its usual directory, while a namenode of it runs: as if its `conf` were `HADOOP_CONF_DIR`, with
   what else is configured above it. A filesystem that is named by its address is not that
   cluster, and gets nothing of its settings.
3. Else an error that says what to do. The local disk is meant only by `file:///`.

Files of that cluster that are damaged, or that this user may not read, are an error only where the
default filesystem is needed: `howdah oiv`, or a filesystem that is named, goes without them.

DIR/conf/                 core-site.xml and hdfs-site.xml for clients
DIR/run/processes.json    {server: [process number, start time]} of those that were started
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from howdah.config import Configuration, keys
from howdah.config.nameservices import nameservices
from howdah.config.value_types import Key
from howdah.errors import InvalidConfiguration
from howdah.runtime.process_identity import start_time

WHAT_TO_DO: Final = (
    "set it in the core-site.xml of HADOOP_CONF_DIR, or name the filesystem (-fs hdfs://HOST:PORT, "
    "or hdfs://HOST:PORT/PATH; file:///PATH is the local disk), or start a cluster here with "
    "`howdah up`"
)


def default_dir() -> Path:
    """Where `howdah up` has its cluster by default."""
    return Path.home() / ".howdah" / "default"


def processes_path(base: Path) -> Path:
    """The file that says which servers of the cluster in `base` were started."""
    return base / "run" / "processes.json"


def running_servers(base: Path) -> dict[str, int]:
    """The servers that were started for the cluster in `base` and still run, by name.

    Raises InvalidConfiguration where the file that names them is damaged.
    """
    import json  # commands that find a configuration do without

    path = processes_path(base)
    try:
        facts = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise InvalidConfiguration(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InvalidConfiguration(f"{path} is damaged: {error}") from error
    try:
        return {
            name: pid
            for name, (pid, since) in facts.items()
            if since is not None and start_time(int(pid)) == since
        }
    except (AttributeError, TypeError, ValueError) as error:
        raise InvalidConfiguration(
            f"{path} is damaged: it does not name processes and when they started"
        ) from error


def default_cluster_conf() -> Configuration | None:
    """What a client of the cluster in `default_dir` needs; None unless a namenode of it runs."""
    try:
        base = default_dir()
    except RuntimeError:
        return None  # a user without a home directory has no cluster in it
    if not any(name.startswith("namenode") for name in running_servers(base)):
        return None
    return Configuration.load(base / "conf")


def with_running_cluster(conf: Configuration) -> Configuration:
    """The configuration itself if it names a namenode or a default filesystem; else over that of
    the cluster of `howdah up`, while one runs. Raises InvalidConfiguration."""
    if _names_one(conf):
        return _beside_its_address(conf)
    if conf.directory is None and os.environ.get("HADOOP_CONF_DIR"):
        # Made by a program, which set something else.
        installed = Configuration.load()
        if _names_one(installed):
            return conf.laid_over(installed)
    cluster = _readable_cluster()
    return conf if cluster is None else conf.laid_over(cluster)


def _readable_cluster() -> Configuration | None:
    """As `default_cluster_conf`; None as well if its files cannot be read, which
    `default_filesystem` says to who needs them."""
    try:
        return default_cluster_conf()
    except InvalidConfiguration:
        return None


def _beside_its_address(conf: Configuration) -> Configuration:
    """A configuration that has nothing but the address of the running cluster (`-fs`, `-D`) gets
    the rest from it: where its web pages are, and its nameservices."""
    if conf.directory is not None or any(map(conf.is_set, _OF_NAMENODES)):
        return conf
    scheme, _, authority = conf.get(keys.FS_DEFAULTFS).partition("://")
    authority = authority.partition("/")[0]
    if scheme != "hdfs" or not authority:
        return conf
    cluster = _readable_cluster()
    return conf.laid_over(cluster) if cluster and authority in _authorities(cluster) else conf


def _authorities(cluster: Configuration) -> set[str]:
    own = cluster.get(keys.FS_DEFAULTFS).partition("://")[2].rstrip("/")
    return {own, *nameservices(cluster)}


def _names_one(conf: Configuration) -> bool:
    return any(map(conf.is_set, _NAMING))


def of_authority(conf: Configuration, scheme: str, authority: str) -> Configuration:
    """Return the configuration for `SCHEME://AUTHORITY`: with the settings of the running cluster
    if that is it, and otherwise without them. Raises InvalidConfiguration."""
    if scheme in _OVER_HTTP:
        return conf  # by its certificates a cluster is known at any of its addresses
    if scheme != "hdfs":
        return conf.without_borrowed() if conf.is_borrowed else conf
    if ":" in authority and not conf.is_borrowed:
        return conf  # most name an address: nobody has to look for a cluster
    with_cluster = with_running_cluster(conf)
    if not with_cluster.is_borrowed:
        return with_cluster
    return (
        with_cluster if authority in _authorities(with_cluster) else with_cluster.without_borrowed()
    )


def default_filesystem(conf: Configuration) -> str:
    """Return the URI of `fs.defaultFS`, by the rule above.

    Raises InvalidConfiguration, with what to do, if there is none.
    """
    with_cluster = with_running_cluster(conf)
    if not with_cluster.is_set(keys.FS_DEFAULTFS):
        running = "" if _names_one(with_cluster) else f", and {_why_no_cluster()}"
        raise InvalidConfiguration(
            f"{keys.FS_DEFAULTFS.name} is not configured{running}: {WHAT_TO_DO}"
        )
    return with_cluster.get(keys.FS_DEFAULTFS)


def _why_no_cluster() -> str:
    try:
        default_cluster_conf()
    except InvalidConfiguration as error:
        return str(error)
    return "no cluster of `howdah up` runs"


_OVER_HTTP: Final = ("webhdfs", "swebhdfs")
_OF_NAMENODES: Final[tuple[Key[Any], ...]] = (keys.DFS_NAMESERVICES, keys.DFS_NAMENODE_RPC_ADDRESS)
_NAMING: Final[tuple[Key[Any], ...]] = (
    keys.FS_DEFAULTFS,
    keys.DFS_NAMESERVICES,
    keys.DFS_NAMENODE_RPC_ADDRESS,
)
