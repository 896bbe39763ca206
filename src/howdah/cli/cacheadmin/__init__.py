"""`howdah cacheadmin`: cache pools and directives.

Output and exit codes are those of `hdfs cacheadmin` (CacheAdmin). Arrow: `commands -> words`.
"""

from __future__ import annotations

from typing import Final

from howdah import errors
from howdah.cli.cacheadmin.args import Nonsense, Words, Wrong
from howdah.cli.cacheadmin.commands import COMMANDS as COMMANDS
from howdah.cli.cacheadmin.commands import (
    EXIT_FAILURE,
    EXIT_USAGE,
    complain,
    error_text,
    named,
    print_usage,
)
from howdah.config import Configuration

EXIT_NONSENSE: Final = 255


def main(argv: list[str], conf: Configuration) -> int:
    """Run one of the commands of `COMMANDS`."""
    if not argv:
        print_usage()
        return EXIT_USAGE
    command = named(argv[0])
    if command is None:
        complain(f"Can't understand command '{argv[0]}'")
        if not argv[0].startswith("-"):
            complain("Command names must start with dashes.")
        print_usage()
        return EXIT_USAGE
    try:
        return command.run(Words(argv[1:]), conf)
    except Wrong as wrong:
        complain(str(wrong))
        return EXIT_USAGE
    except Nonsense as nonsense:
        complain(str(nonsense))
        return EXIT_NONSENSE
    except errors.HowdahError as error:
        complain(error_text(error))
        return EXIT_FAILURE
