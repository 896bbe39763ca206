"""`howdah secondarynamenode`: checkpoints for a namenode, made on another machine.

Mirrors `hdfs secondarynamenode`: without a command it runs until SIGTERM, with
`-checkpoint [force]` or `-geteditsize` it does that and ends.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from howdah.cli.arguments.usage import EXIT_FAILURE, UsageError
from howdah.cli.servers import begin, check_configuration, server_arguments

if TYPE_CHECKING:
    from howdah.config import Configuration

_NO_CHECKPOINT = "no"
_IF_DUE = "if due"


def main(argv: list[str], conf: Configuration) -> int:
    """Run a secondary namenode, or one of its commands."""
    parser = server_arguments("secondarynamenode")
    command = parser.add_mutually_exclusive_group()
    command.add_argument(
        "-checkpoint",
        nargs="?",
        const=_IF_DUE,
        default=_NO_CHECKPOINT,
        metavar="force",
        help="make a checkpoint if there are edits enough for one, or in any case",
    )
    command.add_argument(
        "-geteditsize",
        action="store_true",
        help="say how many transactions of the namenode are in no checkpoint",
    )
    parser.add_argument("-format", action="store_true", help="empty the local directories first")
    options = parser.parse_args(argv)
    if options.checkpoint not in (_NO_CHECKPOINT, _IF_DUE, "force"):
        raise UsageError("-checkpoint takes no argument but force")
    begin(options)
    from howdah.namenode.server.process.secondary_security import check_secondary_protection

    check_configuration(conf, check_secondary_protection)
    if options.checkpoint == _NO_CHECKPOINT and not options.geteditsize:
        from howdah.namenode.server.process.secondary import run

        return run(conf, options.ready_file, format=options.format)
    return _command(options.checkpoint, conf, format=options.format)


def _command(checkpoint: str, conf: Configuration, *, format: bool) -> int:
    from howdah.errors import HowdahError
    from howdah.namenode.server.nameservice.identity import alone
    from howdah.namenode.server.process.secondary import SecondaryServer

    name = "geteditsize" if checkpoint == _NO_CHECKPOINT else "checkpoint"
    try:
        conf = alone(conf, "a secondary namenode", "standby namenodes make the images there")
        server = SecondaryServer(conf, format=format)
        try:
            count = server.secondary.uncheckpointed()
            if checkpoint == _NO_CHECKPOINT:
                print(f"NameNode has {count} uncheckpointed transactions")
            elif checkpoint == "force" or count > server.transactions:
                server.secondary.checkpoint()
            else:
                print(
                    f"EditLog size {count} transactions is smaller than configured "
                    f"checkpoint interval {server.transactions} transactions.\n"
                    "Skipping checkpoint.",
                    file=sys.stderr,
                )
        finally:
            server.close()
    except (HowdahError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return EXIT_FAILURE
    return 0
