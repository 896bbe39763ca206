"""`howdah router`: several namespaces behind one address. Mirrors `hdfs dfsrouter`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from howdah.cli.servers import begin, check_configuration, server_arguments

if TYPE_CHECKING:
    from howdah.config import Configuration


def main(argv: list[str], conf: Configuration) -> int:
    """Run a router until SIGTERM."""
    parser = server_arguments("router")
    options = parser.parse_args(argv)
    begin(options)
    from howdah.router.security import check_router_protection
    from howdah.router.server import run

    check_configuration(conf, check_router_protection)
    return run(conf, options.ready_file)
