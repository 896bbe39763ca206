"""`howdah dfsadmin`: what an administrator changes in a running cluster.

A table of commands, each a function `(words, fs) -> None`; names, words and exit codes
are those of `hdfs dfsadmin`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

import howdah
from howdah.config import Configuration
from howdah.errors import HowdahError, IllegalArgument
from howdah.fs.api import FileSystem

EXIT_FAILURE: Final = 255
_PREFIXES: Final = "kmgtpe"


class _Usage(Exception):
    """Words that a command cannot make sense of."""


def main(argv: list[str], conf: Configuration) -> int:
    """Run one of the commands of `COMMANDS`."""
    if not argv or argv[0] not in COMMANDS:
        print("Usage: howdah dfsadmin", file=sys.stderr)
        for name, (synopsis, _) in COMMANDS.items():
            print(f"\t[{name} {synopsis}]", file=sys.stderr)
        return EXIT_FAILURE
    name, *words = argv
    synopsis, run = COMMANDS[name]
    try:
        with howdah.connect(conf=conf) as fs:
            run(words, fs)
    except _Usage as error:
        print(f"{name[1:]}: {error}", file=sys.stderr)
        print(f"Usage: howdah dfsadmin [{name} {synopsis}]", file=sys.stderr)
        return EXIT_FAILURE
    except HowdahError as error:
        print(f"{name[1:]}: {error}", file=sys.stderr)
        return EXIT_FAILURE
    return 0


def _set_quota(words: list[str], fs: FileSystem) -> None:
    names, paths = _number_and_paths(words)
    for path in paths:
        fs.set_quota(path, names=names)


def _clear_quota(words: list[str], fs: FileSystem) -> None:
    for path in _some(words):
        fs.set_quota(path, names=None)


def _set_space_quota(words: list[str], fs: FileSystem) -> None:
    kind, rest = _storage_type(words)
    space, paths = _number_and_paths(rest)
    for path in paths:
        fs.set_quota(path, space_bytes=space, storage_type=kind)


def _clear_space_quota(words: list[str], fs: FileSystem) -> None:
    kind, rest = _storage_type(words)
    for path in _some(rest):
        fs.set_quota(path, space_bytes=None, storage_type=kind)


COMMANDS: Final[dict[str, tuple[str, Callable[[list[str], FileSystem], None]]]] = {
    "-setQuota": ("<quota> <dirname>...<dirname>", _set_quota),
    "-clrQuota": ("<dirname>...<dirname>", _clear_quota),
    "-setSpaceQuota": (
        "<quota> [-storageType <storagetype>] <dirname>...<dirname>",
        _set_space_quota,
    ),
    "-clrSpaceQuota": ("[-storageType <storagetype>] <dirname>...<dirname>", _clear_space_quota),
}


def _some(words: list[str]) -> list[str]:
    if not words:
        raise _Usage("Not enough arguments: expected 1 but got 0")
    return words


def _storage_type(words: list[str]) -> tuple[str | None, list[str]]:
    """`-storageType` with its value may stand anywhere."""
    if "-storageType" not in words:
        return None, words
    place = words.index("-storageType")
    if place + 1 == len(words):
        raise _Usage("option -storageType requires 1 argument.")
    return words[place + 1].upper(), words[:place] + words[place + 2 :]


def _number_and_paths(words: list[str]) -> tuple[int, list[str]]:
    if len(words) < 2:
        raise _Usage(f"Not enough arguments: expected 2 but got {len(words)}")
    return size(words[0]), words[1:]


def size(text: str) -> int:
    """A number with a binary prefix: `10g` is 10 times 2 to the 30th.

    Raises IllegalArgument.
    """
    power = _PREFIXES.find(text[-1:].lower()) + 1 if text else 0
    digits = text[:-1] if power else text
    if not (digits.isascii() and digits.isdigit()):
        raise IllegalArgument(f'"{text}" is not a valid value for a quota.')
    return int(digits) << (10 * power)
