"""`howdah ec`: erasure coding policies, and which directories have them.

Output and exit codes are those of `hdfs ec` (ECAdmin). Arrow: `commands -> policy_file`.
"""

from __future__ import annotations

from howdah.cli.arguments.admin_commands import Program
from howdah.cli.erasurecoding.commands import COMMANDS as COMMANDS
from howdah.config import Configuration


def main(argv: list[str], conf: Configuration) -> int:
    """Run one of the commands of `COMMANDS`."""
    return Program("ec", COMMANDS).run(argv, conf)
