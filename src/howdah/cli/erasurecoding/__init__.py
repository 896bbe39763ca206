"""`howdah ec`: erasure coding policies, and which directories have them.

Output and exit codes are those of `hdfs ec` (ECAdmin). Arrow: `commands -> policy_file`.
"""

from __future__ import annotations

from typing import Final

from howdah import errors
from howdah.cli.cacheadmin.args import Nonsense, Words, Wrong
from howdah.cli.erasurecoding.commands import (
    COMMANDS,
    complain,
    error_text,
    help_of,
    named,
    print_usage,
)
from howdah.config import Configuration

EXIT_USAGE: Final = 1
EXIT_NONSENSE: Final = 255


def main(argv: list[str], conf: Configuration) -> int:
    """Run one of the commands of `COMMANDS`."""
    if not argv:
        print_usage()
        return EXIT_USAGE
    if argv[0] == "-help":
        return help_of(argv[1:])
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
        return command.failure


__all__ = ["COMMANDS", "main"]
