"""`hdfs`, for tools that call it: the words of Hadoop's script, answered by `howdah`.

The package `howdah-hdfs-command` (extra `hdfs-command`) puts it on the PATH. What Hadoop's script
takes before the command (`--config DIR`, `--loglevel LEVEL`) counts; what only makes sense with
its daemons and its JVM is refused by name. `howdah.cli.main` does the rest.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

from howdah.cli.arguments.usage import EXIT_FAILURE
from howdah.cli.main import main as howdah

_REFUSED: Final = ("--daemon", "--workers", "--hosts", "--hostnames")
_IGNORED: Final = ("--debug", "--buildpaths")
_LEVELS: Final = {"WARN": "WARNING", "FATAL": "ERROR", "TRACE": "DEBUG", "ALL": "DEBUG"}


def main(argv: Sequence[str] | None = None) -> int:
    """The program `hdfs`; the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    before: list[str] = []
    while words and words[0].startswith("--"):
        name, equals, value = words.pop(0).partition("=")
        if name in _IGNORED:
            continue
        if name in _REFUSED:
            print(
                f"hdfs: {name} is of Hadoop's own daemons; howdah's servers run in the foreground "
                "(howdah namenode, howdah datanode)",
                file=sys.stderr,
            )
            return EXIT_FAILURE
        if name in ("--config", "--loglevel"):
            if not equals and not words:
                print(f"hdfs: {name} wants a value", file=sys.stderr)
                return EXIT_FAILURE
            value = value if equals else words.pop(0)
        if name == "--config":
            before += ["--conf", value]
        elif name == "--loglevel":
            os.environ["HOWDAH_LOG_LEVEL"] = _LEVELS.get(value.upper(), value.upper())
        else:
            words.insert(0, f"{name}{equals}{value}")
            break
    return howdah([*before, *words])
