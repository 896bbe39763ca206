"""`howdah dfsadmin`: what an administrator asks of and changes in a running cluster.

A table of commands over the modules beside this one; names, words, output and exit
codes are those of `hdfs dfsadmin`.
"""

from __future__ import annotations

import sys
from typing import Final

from howdah.cli.arguments.administered import administered
from howdah.cli.arguments.usage import UsageError
from howdah.cli.dfsadmin import (
    datanodes,
    image,
    namenode,
    quotas,
    reconfiguration,
    report,
    snapshots,
    upgrade,
)
from howdah.cli.dfsadmin.command import EXIT_FAILURE, Cluster, Command, Failed
from howdah.config import Configuration
from howdah.errors import HowdahError
from howdah.fs.hdfs.filesystem import HdfsFileSystem

COMMANDS: Final[dict[str, Command]] = {
    **report.COMMANDS,
    **namenode.COMMANDS,
    **image.COMMANDS,
    **upgrade.COMMANDS,
    **quotas.COMMANDS,
    **snapshots.COMMANDS,
    **datanodes.COMMANDS,
    **reconfiguration.COMMANDS,
}


def main(argv: list[str], conf: Configuration) -> int:
    """Run one of the commands of `COMMANDS`."""
    if not argv:
        _print_usage()
        return EXIT_FAILURE
    name, *words = argv
    if name in ("-help", "--help"):
        return _help(words)
    command = COMMANDS.get(name)
    if command is None:
        print(f"{name.removeprefix('-')}: Unknown command", file=sys.stderr)
        _print_usage()
        return EXIT_FAILURE
    try:
        if not command.least_words <= len(words) <= command.most_words:
            raise UsageError
        if command.everywhere is not None and "-all" in words:
            command.everywhere([word for word in words if word != "-all"], conf)
            return 0
        with administered(conf) as fs:
            if not isinstance(fs, HdfsFileSystem):
                raise UsageError(
                    f"FileSystem {fs.uri} is not an HDFS file system. See fs.defaultFS."
                )
            command.run(words, Cluster(fs, conf))
    except UsageError as error:
        if error.args:
            print(f"{name[1:]}: {error}", file=sys.stderr)
        print(f"Usage: howdah dfsadmin [{name}{command.space}{command.synopsis}]", file=sys.stderr)
        return EXIT_FAILURE
    except Failed as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except HowdahError as error:
        print(f"{name[1:]}: {str(error).partition(chr(10))[0]}", file=sys.stderr)
        return EXIT_FAILURE
    return 0


def _print_usage() -> None:
    print("Usage: howdah dfsadmin", file=sys.stderr)
    print("Most of it only the superuser may do.", file=sys.stderr)
    for name, command in COMMANDS.items():
        print(f"\t[{name}{command.space}{command.synopsis}]", file=sys.stderr)
    print("\t[-help [cmd]]", file=sys.stderr)


def _help(words: list[str]) -> int:
    if words and words[0].removeprefix("-") == "help":
        print("-help [cmd]:\n\tWhat a command does; of all commands if none is named.\n")
        return 0
    wanted = [f"-{words[0].removeprefix('-')}"] if words else list(COMMANDS)
    if words and wanted[0] not in COMMANDS:
        print(f"{words[0].removeprefix('-')}: Unknown command", file=sys.stderr)
        _print_usage()
        return EXIT_FAILURE
    for name in wanted:
        command = COMMANDS[name]
        lines = "".join(f"\t{line}\n" for line in command.help.splitlines())
        print(f"{name}{command.space}{command.synopsis}:\n{lines}")
    return 0
