"""`howdah sync`: a mirror of files and trees, by processes of this machine.

The arguments are those of `howdah distcp`, as far as they make sense without Spark. Exit codes
are those of distcp.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from howdah.copy.options import InvalidOptions
from howdah.errors import HowdahError
from howdah.sync import options as words

if TYPE_CHECKING:
    from howdah.config import Configuration

EXIT_INVALID = 255


def main(argv: list[str], conf: Configuration) -> int:
    """Mirror; the exit code."""
    if not argv or argv[0] in ("-help", "--help", "-h"):
        print(words.usage(), file=sys.stderr)
        return 0 if argv else EXIT_INVALID
    try:
        arguments, has_count = words.read(argv)
    except InvalidOptions as error:
        print(f"Invalid arguments: {error}\n{words.usage()}", file=sys.stderr)
        return EXIT_INVALID
    from howdah.copy.outcome import exit_code
    from howdah.sync.job import sync

    try:
        outcome = sync(
            arguments.sources,
            arguments.target,
            options=arguments.options,
            processes=arguments.options.max_maps if has_count else None,
            conf=conf,
            warn=lambda text: print(f"howdah sync: {text}", file=sys.stderr),
            shows_progress=sys.stderr.isatty(),
        )
    except HowdahError as error:
        print(f"howdah sync: {error}", file=sys.stderr)
        return exit_code(error) & 0xFF
    if arguments.as_json:
        print(outcome.to_json())
    elif not arguments.options.dry_run:
        for line in outcome.lines():
            print(line)
    return 0
