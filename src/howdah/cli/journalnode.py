"""`howdah journalnode`: one node of a journal quorum. Mirrors `hdfs journalnode`, which is
formatted by the namenode (`howdah namenode -format`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from howdah.cli.servers import begin, check_configuration, server_arguments

if TYPE_CHECKING:
    from howdah.config import Configuration


def main(argv: list[str], conf: Configuration) -> int:
    """Run a journal node until SIGTERM."""
    parser = server_arguments("journalnode")
    options = parser.parse_args(argv)
    begin(options)
    from howdah.journalnode.security import check_journalnode_protection
    from howdah.journalnode.server import run

    check_configuration(conf, check_journalnode_protection)

    return run(conf, options.ready_file)
