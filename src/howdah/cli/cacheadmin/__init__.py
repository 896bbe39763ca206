"""`howdah cacheadmin`: cache pools and directives.

Output and exit codes are those of `hdfs cacheadmin` (CacheAdmin). Arrow: `commands -> args`.
"""

from __future__ import annotations

from howdah.cli.arguments.admin_commands import Program
from howdah.cli.cacheadmin.commands import COMMANDS as COMMANDS
from howdah.config import Configuration


def main(argv: list[str], conf: Configuration) -> int:
    """Run one of the commands of `COMMANDS`."""
    return Program("cacheadmin", COMMANDS).run(argv, conf)
