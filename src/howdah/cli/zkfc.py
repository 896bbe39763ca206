"""`howdah zkfc`: the failover controller of one namenode, or the znode that it needs.

Mirrors `hdfs zkfc [-formatZK [-force] [-nonInteractive]]` with its exit codes. An election on
the journal nodes needs no ZooKeeper, and nothing has to be formatted for it.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from howdah.cli.arguments.confirm import confirm
from howdah.cli.arguments.usage import EXIT_FAILURE, UsageError
from howdah.cli.servers import begin, check_configuration, server_arguments

if TYPE_CHECKING:
    from howdah.config import Configuration

_log = logging.getLogger(__name__)


def main(argv: list[str], conf: Configuration) -> int:
    """Run a failover controller, or format its znode."""
    parser = server_arguments("zkfc")
    parser.add_argument(
        "-formatZK", action="store_true", help="make the znode of the nameservice, empty"
    )
    parser.add_argument("-force", action="store_true", help="also if it is there")
    parser.add_argument(
        "-nonInteractive", action="store_true", help="do not ask: leave it if it is there"
    )
    options = parser.parse_args(argv)
    if not options.formatZK and (options.force or options.nonInteractive):
        raise UsageError("-force and -nonInteractive go with -formatZK")
    begin(options)
    from howdah.failover.security import check_controller_protection
    from howdah.failover.server import run

    check_configuration(conf, check_controller_protection)
    if options.formatZK:
        return _format(conf, force=options.force, asks=not options.nonInteractive)
    return run(conf, options.ready_file)


def _format(conf: Configuration, *, force: bool, asks: bool) -> int:
    from howdah.errors import HowdahError
    from howdah.failover.server import (
        EXIT_FORMAT_DENIED,
        EXIT_NO_ZOOKEEPER,
        CannotStart,
        format_zookeeper,
    )
    from howdah.protocol.zookeeper import NoZooKeeper

    def may_clear(znode: str) -> bool:
        return force or (asks and _confirm_format(znode))

    try:
        if not format_zookeeper(conf, may_clear):
            return EXIT_FORMAT_DENIED
    except NoZooKeeper as error:
        _log.error("%s", error)
        return EXIT_NO_ZOOKEEPER
    except CannotStart as error:
        _log.error("%s", error)
        return error.exit_code
    except HowdahError as error:
        _log.error("%s", error)
        return EXIT_FAILURE
    return 0


def _confirm_format(znode: str) -> bool:
    rule = "=" * 47
    print(
        f"{rule}\nThe configured parent znode {znode} already exists.\n"
        "Are you sure you want to clear all failover information from\nZooKeeper?\n"
        "WARNING: Before proceeding, ensure that all HDFS services and\n"
        f"failover controllers are stopped!\n{rule}",
        file=sys.stderr,
    )
    return confirm(f"Proceed formatting {znode}?")
