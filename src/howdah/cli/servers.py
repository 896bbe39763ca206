"""`howdah namenode`, `howdah datanode`, `howdah getconf`: one server in this process.

Mirrors `hdfs namenode`, `hdfs datanode` and `hdfs getconf` as to arguments and
exit codes. A server runs until SIGTERM or SIGINT, logs to stderr one record a
line, and tells by `--ready-file` when it can serve.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from howdah.cli.arguments.parser import Arguments
from howdah.cli.arguments.usage import EXIT_USAGE, UsageError

if TYPE_CHECKING:
    from howdah.config import Configuration

_log = logging.getLogger(__name__)

LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


class _LineFormatter(logging.Formatter):
    """One line a record: the further lines of a traceback are indented."""

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).replace("\n", "\n    ")


def log_to_stderr(level: str) -> None:
    """Send every record to stderr, with times in UTC."""
    handler = logging.StreamHandler(sys.stderr)
    formatter = _LineFormatter(LOG_FORMAT)
    formatter.converter = time.gmtime
    formatter.default_msec_format = "%s,%03dZ"
    handler.setFormatter(formatter)
    logging.basicConfig(level=level, handlers=[handler], force=True)


def check_configuration(conf: Configuration) -> None:
    """Name what an administrator has set without effect: misspelt keys, and those that howdah
    knows but does not go by. Raises InvalidConfiguration for a value that cannot be read."""
    from howdah.config import warn_of_misspelt

    conf.check_values()
    warn_of_misspelt(conf)
    for name, reason in conf.set_in_vain():
        _log.warning("%s (from %s) has no effect here: %s", name, conf.source(name), reason)


def server_arguments(name: str) -> Arguments:
    """The options that every server has."""
    parser = Arguments(prog=f"howdah {name}", allow_abbrev=False)
    parser.add_argument(
        "--ready-file", type=Path, metavar="FILE", help="written when the server can serve"
    )
    parser.add_argument(
        "--log-level",
        choices=LOG_LEVELS,
        default=os.environ.get("HOWDAH_LOG_LEVEL", "INFO"),
        help="what is logged (default: HOWDAH_LOG_LEVEL, else INFO)",
    )
    return parser


def namenode(argv: list[str], conf: Configuration) -> int:
    """Run a namenode, or format its directories."""
    parser = server_arguments("namenode")
    parser.add_argument("-format", action="store_true", help="make new, empty directories")
    parser.add_argument("-force", action="store_true", help="erase what they hold")
    parser.add_argument("-clusterid", metavar="ID", help="the cluster's name (default: a new one)")
    parser.add_argument(
        "-importCheckpoint",
        action="store_true",
        help="begin with the image in dfs.namenode.checkpoint.dir",
    )
    parser.add_argument(
        "-upgrade", action="store_true", help="begin with directories of an older Hadoop"
    )
    parser.add_argument(
        "-upgradeOnly", action="store_true", help="upgrade the directories and do not start"
    )
    parser.add_argument(
        "-rollback", action="store_true", help="what was there before an upgrade, and do not start"
    )
    parser.add_argument(
        "-finalize", action="store_true", help="give up what was there, and do not start"
    )
    parser.add_argument("-rollingUpgrade", metavar="OPTION", help="not supported")
    parser.add_argument(
        "-nonInteractive", action="store_true", help="never ask (howdah never asks anyway)"
    )
    options = parser.parse_args(argv)
    if not options.format and (options.force or options.clusterid or options.nonInteractive):
        raise UsageError("-force, -clusterid and -nonInteractive go with -format")
    chosen = ("format", "importCheckpoint", "upgrade", "upgradeOnly", "rollback", "finalize")
    if sum(getattr(options, name) for name in chosen) > 1:
        raise UsageError("only one of " + ", ".join(f"-{name}" for name in chosen))
    if options.rollingUpgrade is not None:
        raise UsageError(
            "rolling upgrades are not supported: stop the namenode, and start it with -upgrade; "
            "one that Hadoop has begun has to be finalized or rolled back there"
        )
    log_to_stderr(options.log_level)
    check_configuration(conf)
    if options.upgrade or options.upgradeOnly or options.rollback or options.finalize:
        from howdah.namenode.process import upgrading

        if options.upgrade or options.upgradeOnly:
            upgrading.upgrade(conf)
        elif options.rollback:
            upgrading.roll_back(conf)
        else:
            upgrading.finalize_offline(conf)
        if not options.upgrade:
            return 0
    if options.format:
        from howdah.namenode.process.format import format_namenode

        format_namenode(conf, cluster_id=options.clusterid, force=options.force)
        return 0
    if options.importCheckpoint:
        from howdah.namenode.process.importing import import_checkpoint

        import_checkpoint(conf)
    from howdah.namenode.process.server import run

    return run(conf, options.ready_file)


def datanode(argv: list[str], conf: Configuration) -> int:
    """Run a datanode."""
    parser = server_arguments("datanode")
    parser.add_argument(
        "-rollback", action="store_true", help="follow a namenode that was rolled back"
    )
    parser.add_argument("-regular", action="store_true", help="as without it")
    options = parser.parse_args(argv)
    log_to_stderr(options.log_level)
    check_configuration(conf)
    from howdah.datanode.server import run

    return run(conf, options.ready_file, rolls_back=options.rollback)


def getconf(argv: list[str], conf: Configuration) -> int:
    """Print one thing that the configuration says."""
    from howdah import keys
    from howdah.config import namenode_address

    parser = Arguments(prog="howdah getconf", allow_abbrev=False)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("-confKey", metavar="KEY", help="the value of a key")
    what.add_argument("-namenodes", action="store_true", help="the namenode's host")
    what.add_argument("-nnRpcAddresses", action="store_true", help="the namenode's address")
    what.add_argument("-includeFile", action="store_true", help="the file of allowed datanodes")
    what.add_argument("-excludeFile", action="store_true", help="the file of excluded datanodes")
    options = parser.parse_args(argv)
    if options.namenodes or options.nnRpcAddresses:
        host, port = namenode_address(conf)
        print(f"{host}:{port}" if options.nnRpcAddresses else host)
        return 0
    if options.includeFile or options.excludeFile:
        key = keys.DFS_HOSTS if options.includeFile else keys.DFS_HOSTS_EXCLUDE
        return _print_value(key.name, conf.get(key) or None)
    return _print_value(options.confKey, conf.raw(options.confKey))


def _print_value(name: str, value: str | None) -> int:
    if value is None:
        print(f"Configuration {name} is missing.", file=sys.stderr)
        return EXIT_USAGE
    print(value)
    return 0
