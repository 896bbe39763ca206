"""`howdah namenode`: run a namenode, or do something with its directories first.

Mirrors `hdfs namenode` as to arguments and exit codes. An option that names what is to be done is
in `_ACTIONS`; at most one of them may be given. Some end there, and others go on and serve.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from howdah.cli.arguments.usage import UsageError
from howdah.cli.servers import begin, check_configuration, server_arguments

if TYPE_CHECKING:
    from argparse import Namespace

    from howdah.cli.arguments.parser import Arguments
    from howdah.config import Configuration

_log = logging.getLogger(__name__)


def main(argv: list[str], conf: Configuration) -> int:
    """Run a namenode, or format its directories."""
    options = _arguments().parse_args(argv)
    action = _checked(options)
    begin(options)
    from howdah.namenode.server.nameservice.identity import place_of
    from howdah.namenode.server.security import check_namenode_protection

    # A keytab may be that of one namenode of several.
    check_configuration(conf, lambda conf: check_namenode_protection(place_of(conf).conf))
    if action is not None:
        outcome = _ACTIONS[action](options, conf)
        if isinstance(outcome, int):
            return outcome
        conf = outcome
    if options.rollingUpgrade == "rollback":
        from howdah.namenode.server.process.rolling_back import roll_back_upgrade

        roll_back_upgrade(conf)
    from howdah.namenode.server.process.server import run
    from howdah.native import compiled

    if compiled.state():
        _log.info("hot modules: %s", compiled.state())
    return run(conf, options.ready_file)


def _arguments() -> Arguments:
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
    return parser


def _checked(options: Namespace) -> str | None:
    """Return which of `_ACTIONS` is asked for, if any is. Raises UsageError for options that do
    not go together."""
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
    asked = [name for name in _ACTIONS if getattr(options, name) not in (False, None)]
    if len(asked) > 1:
        raise UsageError("only one of " + ", ".join(f"-{name}" for name in _ACTIONS))
    if options.rollingUpgrade is not None and asked:
        raise UsageError("-rollingUpgrade goes with no other option")
    return asked[0] if asked else None


def _format(options: Namespace, conf: Configuration) -> int:
    from howdah.namenode.server.process.format import format_namenode

    format_namenode(conf, cluster_id=options.clusterid, force=options.force)
    return 0


def _import(options: Namespace, conf: Configuration) -> Configuration:
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
    return conf


def _upgrade(options: Namespace, conf: Configuration) -> Configuration | int:
    from howdah.namenode.server.nameservice.identity import alone
    from howdah.namenode.server.process import upgrading

    conf = alone(
        conf,
        "an upgrade or rollback",
        "do it with this namenode alone (without dfs.ha.namenodes), finalize, share its log "
        "again with -initializeSharedEdits -force, and copy it with -bootstrapStandby",
    )
    if options.rollback:
        upgrading.roll_back(conf)
    elif options.finalize:
        upgrading.finalize_offline(conf)
    else:
        upgrading.upgrade(conf)
    return conf if options.upgrade else 0


def _bootstrap_standby(options: Namespace, conf: Configuration) -> int:
    from howdah.namenode.server.process.bootstrap import BootstrapFailed, bootstrap_standby

    try:
        bootstrap_standby(
            conf, force=options.force, checks_shared_log=not options.skipSharedEditsCheck
        )
    except BootstrapFailed as error:
        _log.critical("%s", error)
        return error.code
    return 0


def _initialize_shared_edits(options: Namespace, conf: Configuration) -> int:
    from howdah.namenode.server.process.shared_edits import initialize_shared_edits

    initialize_shared_edits(conf, force=options.force)
    return 0


_ACTIONS: Final[Mapping[str, Callable[[Namespace, Configuration], Configuration | int]]] = {
    "format": _format,
    "importCheckpoint": _import,
    "importImage": _import,
    "upgrade": _upgrade,
    "upgradeOnly": _upgrade,
    "rollback": _upgrade,
    "finalize": _upgrade,
    "bootstrapStandby": _bootstrap_standby,
    "initializeSharedEdits": _initialize_shared_edits,
}
"""By the option that asks for it. Each returns the exit code, or the configuration to serve by."""
