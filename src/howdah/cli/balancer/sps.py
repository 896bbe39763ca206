"""`howdah sps`: move blocks of marked paths to the storages of their policies, as a server.

Mirrors `hdfs sps` (ExternalStoragePolicySatisfier), which has no words of its own. The work is
`howdah.balancer.satisfier`. What differs: the options of all servers here, and `--json`.
"""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.cli.servers import begin, check_configuration, server_arguments
from howdah.runtime import serve
from howdah.runtime.process_identity import AskedToEnd

if TYPE_CHECKING:
    from howdah.balancer.state.satisfier_queue import Outcome
    from howdah.config import Configuration

log = logging.getLogger(__name__)

_AGAIN_S: Final = 3.0
"""After so long a namenode that does not answer at the start is asked again."""
EXIT_ANOTHER: Final = 255
"""As Hadoop's program ends with -1."""


def main(argv: list[str], conf: Configuration) -> int:
    """Until SIGTERM or SIGINT. 255 if another satisfier, or a mover, works on the namespace, 1
    for a configuration that cannot be used."""
    parser = server_arguments("sps")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print a JSON object for each path whose mark is taken off",
    )
    options = parser.parse_args(argv)
    begin(options)
    stop = AskedToEnd()
    serve.on_signals(stop.set)
    from howdah.balancer.namenode import AnotherOneRuns

    try:
        check_configuration(conf)
        while not stop.is_set():
            try:
                _serve(conf, stop, options.ready_file, is_json=options.json)
            except AnotherOneRuns as another:
                log.critical("%s This one ends", another)
                return EXIT_ANOTHER
            except errors.InvalidConfiguration:
                raise
            except errors.HowdahError as error:
                log.warning("no namenode to work for (%s): next try in %g s", error, _AGAIN_S)
                stop.wait(_AGAIN_S)
    except errors.InvalidConfiguration as wrong:
        log.critical("the satisfier cannot start: %s", wrong)
        return 1
    return 0


def _serve(
    conf: Configuration, stop: threading.Event, ready_file: Path | None, *, is_json: bool
) -> None:
    import howdah
    from howdah.balancer.mover import ID_PATH
    from howdah.balancer.namenode import BalancedNamenode
    from howdah.balancer.satisfier.runner import NAME, Satisfier
    from howdah.fs.hdfs.filesystem import HdfsFileSystem

    with howdah.connect(conf=conf, laid_over=False) as fs:
        if not isinstance(fs, HdfsFileSystem):
            raise errors.InvalidConfiguration(f"{fs.uri} is no HDFS: it has no datanodes")
        namenode = BalancedNamenode(fs)
        try:
            satisfier = Satisfier(fs, namenode, conf, _tell_json if is_json else _tell_nobody)
            # A mover and a satisfier would undo what the other one does.
            with namenode.alone(ID_PATH, NAME):
                log.info("the storage policy satisfier of %s works from now on", fs.uri)
                serve.write_ready_file(ready_file, "sps")
                satisfier.run(stop)
            log.info("the storage policy satisfier of %s ends", fs.uri)
        finally:
            namenode.close()


def _tell_nobody(mark: int, outcome: Outcome) -> None:
    """The log has it."""


def _tell_json(mark: int, outcome: Outcome) -> None:
    print(
        json.dumps(
            {
                "inode": mark,
                "satisfied": not outcome.given_up,
                "files": outcome.files,
                "moved": outcome.moved,
                "bytesMoved": outcome.moved_bytes,
                "failed": outcome.failed,
                "givenUp": outcome.given_up,
            }
        ),
        flush=True,
    )
