"""`howdah namenode`, `datanode`, `httpfs`, `zookeeper`: one server in this process.

Mirrors `hdfs namenode` and `hdfs datanode` as to arguments and exit codes. A server runs until
SIGTERM or SIGINT, logs to stderr one record a line, and tells by `--ready-file` when it can
serve.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from howdah.cli.arguments.parser import Arguments
from howdah.cli.arguments.usage import UsageError

if TYPE_CHECKING:
    import socket
    from argparse import Namespace
    from collections.abc import Callable

    from howdah.config import Configuration
    from howdah.gateway.files import FileGateway

_log = logging.getLogger(__name__)

LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
LOG_FORMS = ("text", "json")


class _LineFormatter(logging.Formatter):
    """One line a record: the further lines of a traceback are indented."""

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).replace("\n", "\n    ")


class _JsonFormatter(logging.Formatter):
    """A JSON object a record, in a line: `time`, `level`, `logger`, `message`, `process`,
    `thread`; of an exception `error` (its class), and `traceback`."""

    def format(self, record: logging.LogRecord) -> str:
        seconds = self.formatTime(record, "%Y-%m-%dT%H:%M:%S")
        said: dict[str, object] = {
            "time": f"{seconds}.{int(record.msecs):03}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
            "thread": record.threadName,
        }
        if record.exc_info and record.exc_info[0] is not None:
            said["error"] = record.exc_info[0].__name__
            said["traceback"] = self.formatException(record.exc_info)
        return json.dumps(said)


def log_to_stderr(level: str, form: str = "text") -> None:
    """Send every record to stderr, with times in UTC; `form` is one of `LOG_FORMS`.

    Raises `UsageError` for another one, which the environment may name.
    """
    if form not in LOG_FORMS:
        raise UsageError(f"HOWDAH_LOG is {form}, and can be {' or '.join(LOG_FORMS)}")
    handler = logging.StreamHandler(sys.stderr)
    formatter = _JsonFormatter() if form == "json" else _LineFormatter(LOG_FORMAT)
    formatter.converter = time.gmtime
    formatter.default_msec_format = "%s,%03dZ"
    handler.setFormatter(formatter)
    logging.basicConfig(level=level, handlers=[handler], force=True)


def begin(options: Namespace) -> None:
    """What each server does first: log as its `server_arguments` say, and open as many files as
    the system lets it."""
    from howdah.native import loader
    from howdah.runtime.process_identity import raise_descriptor_limit

    # Who is away, a server says in lines of its own (`howdah.rpc.wait_notices`).
    logging.getLogger("howdah.rpc.wait_notices").setLevel(logging.ERROR)
    log_to_stderr(options.log_level, options.log)
    if slow := loader.warning():
        _log.warning("%s", slow)
    try:
        before, now = raise_descriptor_limit()
    except (OSError, ValueError) as error:
        _log.warning("the soft limit of open files stays as it is (ulimit -n): %s", error)
        return
    if now > before:
        _log.info("this server may open %d files: its soft limit was %d", now, before)


def check_configuration(conf: Configuration) -> None:
    """Name what an administrator has set without effect: misspelt keys, and those that howdah
    knows but does not go by. Raises InvalidConfiguration for a value that cannot be read, and
    for a protection that is not here."""
    from howdah.config import check_protection, warn_of_misspelt

    conf.check_values()
    check_protection(conf)
    warn_of_misspelt(conf)
    for name, reason in conf.set_in_vain():
        _log.warning("%s (from %s) has no effect here: %s", name, conf.source(name), reason)
    unknown = conf.unknown_to_servers()
    if unknown:
        _log.warning(
            "%d keys of Hadoop's servers are set and have no effect here: %s",
            len(unknown),
            ", ".join(sorted(unknown)),
        )


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
    parser.add_argument(
        "--log",
        choices=LOG_FORMS,
        default=os.environ.get("HOWDAH_LOG", "text"),
        help="a line of text for each record, or a JSON object (default: HOWDAH_LOG, else text)",
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
        "-importImage",
        type=Path,
        metavar="FILE",
        help="begin with an image that dfsadmin -fetchImage brought, or the newest in a directory",
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
    parser.add_argument(
        "-bootstrapStandby",
        action="store_true",
        help="copy the newest image of another namenode of the nameservice, and do not start",
    )
    parser.add_argument(
        "-skipSharedEditsCheck",
        action="store_true",
        help="with -bootstrapStandby: whatever the shared log has",
    )
    parser.add_argument(
        "-initializeSharedEdits",
        action="store_true",
        help="make the log of this namenode the shared one, and do not start",
    )
    parser.add_argument(
        "-rollingUpgrade",
        type=str.lower,
        choices=("started", "rollback"),
        help="start in the middle of a rolling upgrade; or go back to where it was prepared, "
        "and give up what came after",
    )
    parser.add_argument(
        "-nonInteractive", action="store_true", help="never ask (howdah never asks anyway)"
    )
    options = parser.parse_args(argv)
    formats = options.format or options.bootstrapStandby or options.initializeSharedEdits
    if not formats and (options.force or options.nonInteractive):
        raise UsageError(
            "-force and -nonInteractive go with -format, -bootstrapStandby and "
            "-initializeSharedEdits"
        )
    if options.clusterid and not options.format:
        raise UsageError("-clusterid goes with -format")
    if options.skipSharedEditsCheck and not options.bootstrapStandby:
        raise UsageError("-skipSharedEditsCheck goes with -bootstrapStandby")
    chosen = (
        "format",
        "importCheckpoint",
        "importImage",
        "upgrade",
        "upgradeOnly",
        "rollback",
        "finalize",
        "bootstrapStandby",
        "initializeSharedEdits",
    )
    asked = [name for name in chosen if getattr(options, name) not in (False, None)]
    if len(asked) > 1:
        raise UsageError("only one of " + ", ".join(f"-{name}" for name in chosen))
    if options.rollingUpgrade is not None and asked:
        raise UsageError("-rollingUpgrade goes with no other option")
    begin(options)
    check_configuration(conf)
    if options.upgrade or options.upgradeOnly or options.rollback or options.finalize:
        from howdah.namenode.server.nameservice.identity import alone
        from howdah.namenode.server.process import upgrading

        conf = alone(
            conf,
            "an upgrade or rollback",
            "do it with this namenode alone (without dfs.ha.namenodes), finalize, share its log "
            "again with -initializeSharedEdits -force, and copy it with -bootstrapStandby",
        )
        if options.upgrade or options.upgradeOnly:
            upgrading.upgrade(conf)
        elif options.rollback:
            upgrading.roll_back(conf)
        else:
            upgrading.finalize_offline(conf)
        if not options.upgrade:
            return 0
    if options.format:
        from howdah.namenode.server.process.format import format_namenode

        format_namenode(conf, cluster_id=options.clusterid, force=options.force)
        return 0
    if options.bootstrapStandby:
        from howdah.namenode.server.process.bootstrap import BootstrapFailed, bootstrap_standby

        try:
            bootstrap_standby(
                conf, force=options.force, checks_shared_log=not options.skipSharedEditsCheck
            )
        except BootstrapFailed as error:
            _log.critical("%s", error)
            return error.code
        return 0
    if options.initializeSharedEdits:
        from howdah.namenode.server.process.shared_edits import initialize_shared_edits

        initialize_shared_edits(conf, force=options.force)
        return 0
    if options.importCheckpoint or options.importImage is not None:
        from howdah.namenode.server.nameservice.identity import alone
        from howdah.namenode.server.process.checkpoint_import import import_checkpoint, import_image

        conf = alone(
            conf,
            "-importCheckpoint" if options.importCheckpoint else "-importImage",
            "import it with this namenode alone (without dfs.ha.namenodes), then share its log "
            "again with -initializeSharedEdits -force, and copy it with -bootstrapStandby",
        )
        if options.importCheckpoint:
            import_checkpoint(conf)
        else:
            import_image(conf, options.importImage)
    if options.rollingUpgrade == "rollback":
        from howdah.namenode.server.process.rolling_back import roll_back_upgrade

        roll_back_upgrade(conf)
    from howdah.namenode.server.process.server import run
    from howdah.native import compiled

    if compiled.state():
        _log.info("hot modules: %s", compiled.state())
    return run(conf, options.ready_file)


def datanode(argv: list[str], conf: Configuration) -> int:
    """Run a datanode."""
    parser = server_arguments("datanode")
    parser.add_argument(
        "-rollback", action="store_true", help="follow a namenode that was rolled back"
    )
    parser.add_argument("-regular", action="store_true", help="as without it")
    parser.add_argument(
        "-rollingupgrade",
        type=str.lower,
        choices=("rollback",),
        help="the same as -rollback, after a rolling upgrade: what was deleted during it is back",
    )
    options = parser.parse_args(argv)
    begin(options)
    check_configuration(conf)
    from howdah.config import keys
    from howdah.datanode.server import run

    def make_files(
        uuid: str, dial: Callable[[], socket.socket], has_read: Callable[[int], None]
    ) -> FileGateway:
        from howdah.gateway.files import FileGateway

        return FileGateway.of_datanode(conf, uuid, dial, has_read)

    rolls_back = options.rollback or options.rollingupgrade == "rollback"
    return run(
        conf,
        options.ready_file,
        rolls_back=rolls_back,
        make_files=make_files if conf.get(keys.DFS_WEBHDFS_ENABLED) else None,
    )


def zookeeper(argv: list[str], conf: Configuration) -> int:
    """Run a ZooKeeper server for trying things out, as `howdah up --zookeeper` does."""
    from howdah.config.value_types import parse_address
    from howdah.local.zookeeper import run_zookeeper

    parser = server_arguments("zookeeper")
    parser.add_argument("--dir", type=Path, required=True, metavar="DIR", help="its directory")
    parser.add_argument("--address", required=True, metavar="HOST:PORT", help="where it listens")
    options = parser.parse_args(argv)
    try:
        address = parse_address(options.address)
    except ValueError as error:
        raise UsageError(f"--address {options.address}: {error}") from error
    begin(options)
    return run_zookeeper(options.dir.absolute(), address, options.ready_file)


def httpfs(argv: list[str], conf: Configuration) -> int:
    """Run a gateway over HTTP until SIGTERM: `hdfs httpfs`, which reads `httpfs-site.xml` of the
    configuration's directory besides."""
    parser = server_arguments("httpfs")
    options = parser.parse_args(argv)
    begin(options)
    conf = conf.with_own_site_file("httpfs-site.xml")
    check_configuration(conf)
    from howdah.gateway.server import run

    return run(conf, options.ready_file)
