"""The other namenodes of a nameservice (shell): asked to roll the log, and sent images.

Hadoop: EditLogTailer.MultipleNameNodeProxy, StandbyCheckpointer.doCheckpoint. All of it waits
for the network, and belongs on a thread.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys, namenode_address
from howdah.config.value_types import Address
from howdah.formats.version import NamenodeVersion
from howdah.namenode.journal.checkpoints.primary import Primary
from howdah.runtime.tls.client import ClientTls
from howdah.runtime.tls.http_policy import Place, among_servers
from howdah.storage.image_files import WrittenImage

_ANY_HOST: Final = ("0.0.0.0", "::", "")

log = logging.getLogger(__name__)


class Peers:
    """Calls the other namenodes, by their names; there are none where a namenode is alone."""

    def __init__(self, others: Mapping[str, Configuration], user: str | None = None) -> None:
        """`others` have the keys of each namenode plain. They are called as `user`, by default as
        the process."""
        self._others = dict(others)
        self._user = user

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._others)

    @property
    def confs(self) -> list[Configuration]:
        return list(self._others.values())

    def send_image(self, version: NamenodeVersion, written: WrittenImage) -> None:
        """Give an image to each that has an older one. Other standbys refuse it, as they make
        their own. Raises CheckpointFailed when that fails with all of them."""
        path = written.directories[0] / written.name
        failures = []
        for name, conf in self._others.items():
            with contextlib.closing(primary_of(conf, self._user)) as primary:
                try:
                    if primary.image_txid() < written.txid and primary.send_image(
                        version, written.txid, path, written.md5, rollback=written.rollback
                    ):
                        log.info("%s has the image of transaction %d", name, written.txid)
                except (OSError, errors.HowdahError) as error:
                    log.warning("%s does not get the image: %s", name, error)
                    failures.append(f"{name}: {error}")
        if failures and len(failures) == len(self._others):
            raise errors.CheckpointFailed("; ".join(failures))

    def roll_active(self) -> None:
        """Have whoever is active begin a new segment. Raises RemoteError if nobody does."""
        failures = []
        for name, conf in self._others.items():
            with contextlib.closing(primary_of(conf, self._user)) as primary:
                try:
                    signature = primary.roll()
                except (OSError, errors.HowdahError) as error:
                    failures.append(f"{name}: {error}")
                    continue
            log.info("%s began a segment with transaction %d", name, signature.segment_txid)
            return
        raise errors.RemoteError("; ".join(failures) or "there is no other namenode")


def primary_of(conf: Configuration, user: str | None) -> Primary:
    """A namenode by its configuration, called as `user`, or as the process."""
    return Primary(
        service_address(conf),
        web_place(conf),
        tls=ClientTls(conf),
        bytes_per_s=conf.get(keys.DFS_IMAGE_TRANSFER_BANDWIDTHPERSEC),
        timeout_s=conf.get(keys.DFS_IMAGE_TRANSFER_TIMEOUT),
        go_on=lambda: None,
        call_timeout_s=conf.get(keys.DFS_HA_TAIL_EDITS_ROLLEDITS_TIMEOUT),
        user=user,
    )


def web_place(conf: Configuration) -> Place:
    """Where a namenode has its images. Where that is not set, or a host that stands for all,
    it is at the host of its calls."""
    is_secure = among_servers(conf)
    key = keys.DFS_NAMENODE_HTTPS_ADDRESS if is_secure else keys.DFS_NAMENODE_HTTP_ADDRESS
    host, port = conf.get(key)
    is_own = conf.is_set(key) and host not in _ANY_HOST
    return Place(is_secure, host if is_own else namenode_address(conf)[0], port)


def service_address(conf: Configuration) -> Address:
    """Where a namenode answers other servers."""
    return conf.get(keys.DFS_NAMENODE_SERVICERPC_ADDRESS) or namenode_address(conf)
