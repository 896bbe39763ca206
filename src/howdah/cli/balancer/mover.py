"""`howdah mover`: move replicas to the types of storage that their policies name.

Mirrors `hdfs mover` (Mover.Cli): words, lines and exit codes. The work is `howdah.balancer.mover`.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.balancer.rounds import Status
from howdah.cli.balancer.output import Output, byte_text
from howdah.cli.balancer.words import WrongWords

if TYPE_CHECKING:
    from howdah.config import Configuration

USAGE: Final = """\
Usage: howdah mover [-p <files/dirs> | -f <local file>] [--json]
\t-p <files/dirs>\tonly these paths and what is below them, apart by blanks
\t-f <local file>\tthe same, as lines of a local file
\t--json\tprint a JSON object for each iteration, and one for the end

Exit codes: 0 all replicas are where they belong, 254 some have nowhere to go, 253 moves fail \
again and again, 252 failed, 251 wrong words."""


def main(argv: list[str], conf: Configuration) -> int:
    """The exit code of `rounds.Status`."""
    if argv and argv[0] in ("-h", "-help", "--help"):
        print(USAGE)
        return 0
    is_json = "--json" in argv
    try:
        paths = parse_words([word for word in argv if word != "--json"])
    except WrongWords as error:
        print(f"mover: {error}\n{USAGE}", file=sys.stderr)
        return Status.ILLEGAL_ARGUMENTS.exit_code
    output = Output(is_json=is_json, what="Mover")
    why = ""
    try:
        status = _move(paths, conf, output)
    except errors.InvalidConfiguration as wrong:
        status, why = Status.ILLEGAL_ARGUMENTS, f"java.lang.IllegalArgumentException: {wrong}"
    except errors.HowdahError as failure:
        status = Status.IO_EXCEPTION
        why = f"{failure.java_class or 'java.io.IOException'}: {failure}"
    output.end(status, why)
    return status.exit_code


def parse_words(argv: list[str]) -> list[str]:
    """The paths to look at. Raises `WrongWords`."""
    if not argv:
        return ["/"]
    option, *values = argv
    if option == "-p" and values:
        paths = values
    elif option == "-f" and len(values) == 1:
        try:
            paths = Path(values[0]).read_text("utf-8").split()
        except (OSError, UnicodeDecodeError) as error:
            raise WrongWords(
                f"Failed to read the list of paths from {values[0]}: {error}"
            ) from error
    else:
        raise WrongWords(f"args = {argv}")
    for path in paths:
        if not path.startswith("/"):
            raise WrongWords(f"The path {path} is not absolute")
    return paths or ["/"]


def _move(paths: list[str], conf: Configuration, output: Output) -> Status:
    import howdah
    from howdah.balancer.mover import ID_PATH, Mover
    from howdah.balancer.namenode import BalancedNamenode
    from howdah.balancer.settings import BalancerSettings
    from howdah.fs.hdfs.filesystem import HdfsFileSystem

    settings = BalancerSettings.of_mover(conf)
    with howdah.connect(conf=conf) as fs:
        if not isinstance(fs, HdfsFileSystem):
            raise errors.InvalidConfiguration(f"{fs.uri} is no HDFS: it has no datanodes")
        for path in paths:
            fs.get_file_status(path)
        namenode = BalancedNamenode(fs)
        try:
            with namenode.alone(ID_PATH, "Mover"):
                mover = Mover(fs, namenode, settings, paths)
                number = 0
                while True:
                    status, found = mover.iterate()
                    output.facts(
                        f"{found.moved} replicas ({byte_text(found.moved_bytes)}) moved, "
                        f"{found.failed} failed, {found.unplaced} without a place",
                        iteration=number,
                        status=status.name,
                        moved=found.moved,
                        bytesMoved=found.moved_bytes,
                        failed=found.failed,
                        unplaced=found.unplaced,
                    )
                    if status is not Status.IN_PROGRESS:
                        break
                    number += 1
                    time.sleep(settings.pause_s)
        finally:
            namenode.close()
    output.say(
        {
            Status.SUCCESS: "Mover Successful: all blocks satisfy the specified storage policy. "
            "Exiting...",
            Status.NO_MOVE_BLOCK: "Some blocks can't be moved. Exiting...",
        }.get(
            status, f"Failed to move some blocks after {settings.mover_retries} retries. Exiting..."
        )
    )
    return status
