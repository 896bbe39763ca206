"""`howdah datanode`, `httpfs`, `zookeeper`, and what all servers' commands have in common.

Mirrors `hdfs datanode` as to arguments and exit codes. A server runs until
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
    from howdah.config.value_types import Address
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


def check_configuration(
    conf: Configuration, check: Callable[[Configuration], None] | None = None
) -> None:
    """Name what an administrator has set without effect: misspelt keys, and those that howdah
    knows but does not go by. Raises InvalidConfiguration for a value that cannot be read, and
    for a protection that is not here; `check` looks at that for a server that has some."""
    from howdah.config import check_protection, warn_of_misspelt

    conf.check_values()
    (check or check_protection)(conf)
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
    from howdah.config import keys
    from howdah.datanode.server import run
    from howdah.datanode.settings import check_datanode_protection

    check_configuration(conf, check_datanode_protection)

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
    from howdah.local.zookeeper import run_zookeeper

    return _run_there("zookeeper", argv, run_zookeeper)


def kdc(argv: list[str], conf: Configuration) -> int:
    """Run the KDC that a local cluster has made, as `howdah up --secure` does."""
    from howdah.local.kdc import run_kdc

    return _run_there("kdc", argv, run_kdc)


def _run_there(name: str, argv: list[str], run: Callable[[Path, Address, Path | None], int]) -> int:
    """Run another project's server, which has a directory and an address."""
    from howdah.config.value_types import parse_address

    parser = server_arguments(name)
    parser.add_argument("--dir", type=Path, required=True, metavar="DIR", help="its directory")
    parser.add_argument("--address", required=True, metavar="HOST:PORT", help="where it listens")
    options = parser.parse_args(argv)
    try:
        address = parse_address(options.address)
    except ValueError as error:
        raise UsageError(f"--address {options.address}: {error}") from error
    begin(options)
    return run(options.dir.absolute(), address, options.ready_file)


def kms(argv: list[str], conf: Configuration) -> int:
    """Run a key server until SIGTERM: `hadoop kms`, which reads `kms-site.xml` and `kms-acls.xml`
    of the configuration's directory besides."""
    parser = server_arguments("kms")
    options = parser.parse_args(argv)
    begin(options)
    from howdah.kms.security import with_plain_keys
    from howdah.kms.server import check_kms_protection, run

    conf = with_plain_keys(conf)
    check_configuration(conf, check_kms_protection)

    return run(conf, options.ready_file)


def httpfs(argv: list[str], conf: Configuration) -> int:
    """Run a gateway over HTTP until SIGTERM: `hdfs httpfs`, which reads `httpfs-site.xml` of the
    configuration's directory besides."""
    parser = server_arguments("httpfs")
    options = parser.parse_args(argv)
    begin(options)
    from howdah.gateway.security import check_gateway_protection, with_plain_keys
    from howdah.gateway.server import run

    conf = with_plain_keys(conf.with_own_site_file("httpfs-site.xml"))
    check_configuration(conf, check_gateway_protection)

    return run(conf, options.ready_file)
