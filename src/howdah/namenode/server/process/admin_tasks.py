"""What an administrator's calls want of files and name servers (shell).

It happens on a thread beside the loop, which hears of it when it is done. The host
files are those of `dfs.hosts` and `dfs.hosts.exclude`; the log directory is
`HADOOP_LOG_DIR`, and without that `hadoop.tmp.dir`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from howdah import errors
from howdah.config import Configuration, keys
from howdah.namenode.journal.edit_events import Watching
from howdah.namenode.server.process.settings import settings_from
from howdah.namenode.service.calls.administration import Done, NodeFiles
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.protocols.refresh import RECONFIGURABLE, Reconfiguration, Values
from howdah.namenode.state.blocks.host_lists import Hosts, parse_combined, parse_hosts
from howdah.namenode.state.blocks.topology import RackMap
from howdah.namenode.state.edit_log.journal import SegmentSource
from howdah.proto import client_namenode_pb2 as pb
from howdah.runtime import background_threads, unexpected_errors
from howdah.runtime.atomic_files import replace_file

T = TypeVar("T")

log = logging.getLogger(__name__)


def read_hosts(conf: Configuration, *, at_start: bool = False) -> Hosts:
    """Both lists, or what one JSON file says instead. Raises InvalidConfiguration for a file
    that cannot be used. At the start a file that is not there is logged as an error and counts
    as empty, as in Hadoop; a later look keeps the lists that are in effect."""

    def read(path: str | None, key: str) -> str:
        if at_start and path and not Path(path).exists():
            log.error(
                "%s: %s is not there, and counts as empty. Write it, then run "
                "'howdah dfsadmin -refreshNodes'",
                key,
                path,
            )
            return ""
        return _read(path, key)

    provider = conf.get(keys.DFS_NAMENODE_HOSTS_PROVIDER_CLASSNAME).rpartition(".")[2]
    path = conf.get(keys.DFS_HOSTS)
    if provider == "CombinedHostFileManager":
        text = read(path, keys.DFS_HOSTS.name)
        return Hosts.ordered(parse_combined(text, path or "", _addresses_of))
    if provider != "HostFileManager":
        raise errors.InvalidConfiguration(
            f"{keys.DFS_NAMENODE_HOSTS_PROVIDER_CLASSNAME.name}: {provider} is neither "
            "HostFileManager nor CombinedHostFileManager"
        )
    excluded = conf.get(keys.DFS_HOSTS_EXCLUDE)
    return Hosts(
        parse_hosts(read(path, keys.DFS_HOSTS.name), path or "", _addresses_of),
        parse_hosts(read(excluded, keys.DFS_HOSTS_EXCLUDE.name), excluded or "", _addresses_of),
    )


def _read(path: str | None, key: str) -> str:
    if not path:
        return ""
    try:
        return Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise errors.InvalidConfiguration(f"{key}: {path} cannot be read: {error}") from error


def _addresses_of(name: str) -> list[str]:
    try:
        return [str(info[4][0]) for info in socket.getaddrinfo(name, None)]
    except (OSError, UnicodeError) as error:
        log.warning("the host %s has no address: %s", name, error)
        return []


class BackgroundFiles:
    """`administration.AdministrationFiles` for a namenode with a configuration."""

    def __init__(
        self,
        conf: Configuration,
        edits_directories: Callable[[], list[Path]],
        durable_txid: Callable[[], int],
        shared: SegmentSource | None = None,
        read_racks: Callable[[Configuration], RackMap] = lambda _: RackMap(),
    ) -> None:
        """`edits_directories` are those that work; `shared` is the log that other namenodes
        write as well; `read_racks` reads where datanodes are, and may raise
        InvalidConfiguration."""
        self._conf = conf
        self._read_racks = read_racks
        self._watching = Watching(
            edits_directories, conf.get(keys.DFS_NAMENODE_INOTIFY_MAX_EVENTS_PER_RPC), shared
        )
        self._durable_txid = durable_txid

    def read_node_files(self, done: Callable[[NodeFiles | errors.HowdahError], None]) -> None:
        def read() -> NodeFiles:
            # Which files these are may have changed as well.
            conf = self._conf.reloaded()
            return NodeFiles(read_hosts(conf), self._read_racks(conf))

        run_in_background(read, done)

    def read_events(
        self, from_txid: int, done: Callable[[pb.EventsListProto | errors.HowdahError], None]
    ) -> None:
        durable_txid = self._durable_txid()
        run_in_background(lambda: self._watching.events(from_txid, durable_txid), done)

    def write_log_file(self, name: str, text: str, done: Done) -> None:
        path = self.log_directory() / name

        def write() -> None:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, text.encode())
            log.info("wrote %s", path)

        run_in_background(write, done)

    def log_directory(self) -> Path:
        return Path(os.environ.get("HADOOP_LOG_DIR") or self._conf.get(keys.HADOOP_TMP_DIR))


def run_in_background(
    work: Callable[[], T], done: Callable[[T | errors.HowdahError], None]
) -> None:
    """`work` on a thread, then `done` with what came of it on the loop. Whatever that is,
    whoever waits hears of it."""

    def finished(future: asyncio.Future[T]) -> None:
        error = future.exception()
        if error is None:
            done(future.result())
        elif isinstance(error, errors.HowdahError):
            done(error)
        elif isinstance(error, OSError):
            done(errors.RemoteError(str(error)))
        else:
            assert isinstance(error, Exception)
            unexpected_errors.note(
                "work in the background", error, "whoever waits for it gets an error"
            )
            done(errors.RemoteError(f"{type(error).__name__}: {error}"))

    background_threads.pooled(work, "work in the background").add_done_callback(finished)


def reconfiguration(namesystem: Namesystem, conf: Configuration) -> Reconfiguration:
    """For `dfsadmin -reconfig namenode`: the files are read on a thread."""

    def values(of: Configuration) -> dict[str, str]:
        return {name: of.raw(name) or "" for name in RECONFIGURABLE}

    def settings_with(these: Values) -> Settings:
        return settings_from(conf.with_values(these), namesystem.settings.block_pool_id)

    return Reconfiguration(
        namesystem,
        values(conf),
        lambda done: run_in_background(lambda: values(conf.reloaded()), done),
        settings_with,
    )
