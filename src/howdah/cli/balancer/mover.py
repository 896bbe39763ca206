"""`howdah mover`: move replicas to the types of storage that their policies name.

Mirrors `hdfs mover` (Mover.Cli): words, lines and exit codes. The work is `howdah.balancer.mover`.
"""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from howdah import errors
from howdah.balancer.state.termination import Status
from howdah.cli.balancer.args import WrongWords
from howdah.cli.balancer.login import as_mover
from howdah.cli.balancer.namespaces import paths_by_uri
from howdah.cli.balancer.output import Output
from howdah.runtime.units import byte_text

if TYPE_CHECKING:
    from howdah.balancer.mover import Mover
    from howdah.balancer.settings import BalancerSettings
    from howdah.config import Configuration

USAGE: Final = """\
Usage: howdah mover [-p <files/dirs> | -f <local file>] [--json]
\t-p <files/dirs>\tonly these paths and what is below them, apart by blanks; of several \
nameservices as hdfs://NAMESERVICE/path
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
    output = Output(is_json=is_json, operation="Mover")
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
    """The paths to look at; none is everything. Raises `WrongWords`."""
    if not argv:
        return []
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
        if not urlsplit(path).path.startswith("/"):
            raise WrongWords(f"The path {path} is not absolute")
    return paths


def _move(paths: list[str], conf: Configuration, output: Output) -> Status:
    """Move the replicas of all namespaces in turn, until each is done or one fails."""
    from howdah.balancer.settings import BalancerSettings

    settings = BalancerSettings.of_mover(conf)
    conf = as_mover(conf)
    with ExitStack() as stack:
        movers = [
            (uri, _mover(stack, uri, below, conf, settings))
            for uri, below in paths_by_uri(conf, paths).items()
        ]
        are_many = len(movers) > 1
        status, number = Status.SUCCESS, 0
        while movers:
            going_on = []
            for uri, mover in movers:
                status, totals = mover.iterate()
                output.facts(
                    (f"{uri}: " if are_many else "")
                    + f"{totals.moved} replicas ({byte_text(totals.moved_bytes)}) moved, "
                    f"{totals.failed} failed, {totals.unplaced} without a place",
                    iteration=number,
                    status=status.name,
                    moved=totals.moved,
                    bytesMoved=totals.moved_bytes,
                    failed=totals.failed,
                    unplaced=totals.unplaced,
                    **({"namenode": uri} if are_many else {}),
                )
                if status is Status.IN_PROGRESS:
                    going_on.append((uri, mover))
                elif status is not Status.SUCCESS:
                    going_on = []
                    break
            movers = going_on
            number += 1
            if movers:
                time.sleep(settings.pause_s)
    output.print_line(
        {
            Status.SUCCESS: "Mover Successful: all blocks satisfy the specified storage policy. "
            "Exiting...",
            Status.NO_MOVE_BLOCK: "Some blocks can't be moved. Exiting...",
        }.get(
            status, f"Failed to move some blocks after {settings.mover_retries} retries. Exiting..."
        )
    )
    return status


def _mover(
    stack: ExitStack,
    uri: str,
    paths: list[str],
    conf: Configuration,
    settings: BalancerSettings,
) -> Mover:
    """Of one namespace, where no other mover works until `stack` is closed."""
    import howdah
    from howdah.balancer.mover import ID_PATH, Mover
    from howdah.balancer.namenode import BalancedNamenode
    from howdah.fs.hdfs.filesystem import HdfsFileSystem

    fs = stack.enter_context(howdah.connect(uri, conf=conf, laid_over=False))
    if not isinstance(fs, HdfsFileSystem):
        raise errors.InvalidConfiguration(f"{fs.uri} is no HDFS: it has no datanodes")
    for path in paths:
        fs.get_file_status(path)
    namenode = BalancedNamenode(fs)
    stack.callback(namenode.close)
    stack.enter_context(namenode.alone(ID_PATH, "Mover"))
    return Mover(fs, namenode, settings, paths)
