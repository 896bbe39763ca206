"""`howdah datanode`: one datanode in this process and the one that it forks."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.value_types import Address, Key
from howdah.datanode.control.control_process import AGAIN, ControlProcess
from howdah.datanode.control.pages import MakeFiles
from howdah.datanode.settings import SECURE_USER
from howdah.protocol.data_transfer import checksum
from howdah.runtime.privileges import HeldPorts, become, is_privileged
from howdah.runtime.tls.http_policy import is_http_served

log = logging.getLogger(__name__)


def _take_ports(conf: Configuration) -> HeldPorts:
    """Bind the ports below 1024, and then be the user of `HDFS_DATANODE_SECURE_USER`, if there is
    one. Raises InvalidConfiguration."""
    held = HeldPorts()
    user = os.environ.get(SECURE_USER)
    if not user:
        return held
    wanted: list[Key[Address]] = [keys.DFS_DATANODE_ADDRESS]
    if is_http_served(conf):
        wanted.append(keys.DFS_DATANODE_HTTP_ADDRESS)
    for key in wanted:
        host, port = conf.get(key)
        if not is_privileged(port):
            continue
        try:
            held.hold(host, port)
        except OSError as error:
            raise errors.InvalidConfiguration(f"{key.name}: {host}:{port}: {error}") from error
    become(user, SECURE_USER)
    log.info("the datanode runs as %s from now on (%s)", user, SECURE_USER)
    return held


def run(
    conf: Configuration,
    ready_file: Path | None = None,
    *,
    rolls_back: bool = False,
    make_files: MakeFiles | None = None,
) -> int:
    """Run a datanode until SIGTERM or SIGINT; the exit status.

    Writes `ready_file` (JSON: pid, role, data, ipc, uuid) once it has registered
    and its first block report is taken. With `rolls_back` its directories follow a
    namenode that was rolled back. `make_files` makes what answers WebHDFS.
    """
    slower = checksum.without_kernel()
    if slower:
        log.warning("%s", slower)
    try:
        held = _take_ports(conf)
        status = AGAIN
        while status == AGAIN:
            status = ControlProcess(
                conf, ready_file, rolls_back=rolls_back, make_files=make_files, held=held
            ).run()
        return status
    except errors.HowdahError as error:
        log.error("the datanode cannot start: %s", error)
        return 1
