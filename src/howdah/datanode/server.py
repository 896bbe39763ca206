"""`howdah datanode`: one datanode in this process and the one that it forks."""

from __future__ import annotations

import logging
from pathlib import Path

from howdah import errors
from howdah.config import Configuration
from howdah.datanode.control.control_process import AGAIN, ControlProcess
from howdah.datanode.control.pages import MakeFiles
from howdah.protocol.data_transfer import checksum

log = logging.getLogger(__name__)


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
        status = AGAIN
        while status == AGAIN:
            status = ControlProcess(
                conf, ready_file, rolls_back=rolls_back, make_files=make_files
            ).run()
        return status
    except errors.HowdahError as error:
        log.error("the datanode cannot start: %s", error)
        return 1
