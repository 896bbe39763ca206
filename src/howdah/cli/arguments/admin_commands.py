"""Commands of administrators as Hadoop's AdminHelper and StringUtils read them: `cacheadmin`, `ec`.

A command's name begins with a dash, and the words behind it are taken out one after the other, by
their options. What is wrong is told in Hadoop's words, and the exit codes are Hadoop's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import howdah
from howdah import errors
from howdah.cli.arguments.administered import administered
from howdah.cli.arguments.tables import described
from howdah.config import Configuration
from howdah.fs.hdfs.filesystem import HdfsFileSystem

EXIT_USAGE: Final = 1
EXIT_FAILURE: Final = 2
EXIT_NONSENSE: Final = 255


class Wrong(Exception):
    """What is wrong with the words; it is printed, and the exit code is 1."""


class Nonsense(Exception):
    """Words that Hadoop's parsers throw IllegalArgumentException at."""


class Words:
    """What follows a command; each word that makes sense is taken out."""

    def __init__(self, words: list[str]) -> None:
        self.left = list(words)

    def value(self, option: str) -> str | None:
        for place, word in enumerate(self.left):
            if word == "--":
                break
            if word == option:
                if place + 1 == len(self.left):
                    raise Nonsense(
                        f"IllegalArgumentException: option {option} requires 1 argument."
                    )
                value = self.left[place + 1]
                del self.left[place : place + 2]
                return value
        return None

    def flag(self, option: str) -> bool:
        end = self.left.index("--") if "--" in self.left else len(self.left)
        if option not in self.left[:end]:
            return False
        self.left.remove(option)
        return True

    def pop_argument(self) -> str | None:
        """The first that is no option."""
        for place, word in enumerate(self.left):
            if word == "--":
                return self.left.pop(place + 1) if place + 1 < len(self.left) else None
            if not word.startswith("-"):
                return self.left.pop(place)
        return None

    def number(self, option: str, bits: int = 64) -> int | None:
        text = self.value(option)
        return None if text is None else number_of(text, bits)

    def none_left(self, usage: str | None = None, *, all_of_them: bool = False) -> None:
        """Raises Wrong if there is a word that nobody has taken."""
        if not self.left:
            return
        said = "Can't understand argument: " + self.left[0]
        if all_of_them:
            said = "Can't understand arguments: " + " ".join(self.left)
        raise Wrong(said if usage is None else f"{said}\nUsage is {usage}\n")


def number_of(text: str, bits: int = 64, radix: int = 10) -> int:
    digits = text[1:] if text[:1] in ("-", "+") else text
    under = "" if radix == 10 else f" under radix {radix}"
    try:
        if not digits.isascii() or not digits.isalnum():
            raise ValueError
        value = int(text, radix)
    except ValueError:
        raise Nonsense(f'NumberFormatException: For input string: "{text}"{under}') from None
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        if bits == 16:
            raise Nonsense(
                f'NumberFormatException: Value out of range. Value:"{text}" Radix:{radix}'
            )
        raise Nonsense(f'NumberFormatException: For input string: "{text}"{under}')
    return value


def checked_path(path: str) -> str:
    if not path:
        raise Nonsense("IllegalArgumentException: Can not create a Path from an empty string")
    return path


@dataclass(frozen=True, slots=True)
class Command:
    """`run` gets the words behind the name; it returns the exit code. `help` is the whole text
    about it, and `failure` the exit code where the namenode refuses."""

    name: str
    options: str
    help: str
    run: Callable[[Words, Configuration], int]
    failure: int = EXIT_FAILURE

    @property
    def usage(self) -> str:
        return usage_of(self.name, self.options)


def usage_of(name: str, options: str) -> str:
    return f"[{name}{' ' if options else ''}{options}]"


def _no_help(words: Words, conf: Configuration) -> int:
    raise AssertionError("the program itself helps")


HELP: Final = Command(
    "-help",
    "<command-name>",
    f"[-help <command-name>]\n\n\n\n{described([('<command-name>', '')])}",
    _no_help,
)


@dataclass(frozen=True, slots=True)
class Program:
    """A name, as `ec`, and its commands, of which `-help` is one more."""

    name: str
    commands: Sequence[Command]

    def run(self, argv: list[str], conf: Configuration) -> int:
        """Run one of the commands; the exit code."""
        if not argv:
            self._print_usage()
            return EXIT_USAGE
        name, *rest = argv
        command = self.named(name)
        if command is None:
            complain(f"Can't understand command '{name}'")
            if not name.startswith("-"):
                complain("Command names must start with dashes.")
            self._print_usage()
            return EXIT_USAGE
        try:
            return self._help(rest) if command is HELP else command.run(Words(rest), conf)
        except Wrong as wrong:
            complain(str(wrong))
            return EXIT_USAGE
        except Nonsense as nonsense:
            complain(str(nonsense))
            return EXIT_NONSENSE
        except errors.HowdahError as error:
            complain(error_text(error))
            return command.failure

    def named(self, name: str) -> Command | None:
        """The command of that name; None where there is none."""
        return next((each for each in (*self.commands, HELP) if each.name == name), None)

    def _print_usage(self) -> None:
        complain(f"Usage: howdah {self.name} [COMMAND]")
        for command in self.commands:
            complain(f"          {command.usage}")
        complain(f"          {HELP.usage}\n")

    def _help(self, names: list[str]) -> int:
        """Of all commands, or of one that is named without its dash."""
        if not names:
            for command in self.commands:
                complain(command.help)
            return EXIT_USAGE
        if len(names) != 1:
            raise Wrong("You must give exactly one argument to -help.")
        asked = self.named(f"-{names[0]}")
        if asked is None:
            known = ", ".join(command.name[1:] for command in self.commands)
            raise Wrong(f"Unknown command '{names[0]}'.\nValid help command names are:\n{known}")
        sys.stderr.write(asked.help)
        return 0


def complain(text: str) -> None:
    print(text, file=sys.stderr)


def error_text(error: errors.HowdahError) -> str:
    """The class of an exception and its first line, as Hadoop's commands print it."""
    name = error.remote_class.rpartition(".")[2].rpartition("$")[2]
    return f"{name}: {error.message.partition(chr(10))[0]}"


def connected(conf: Configuration, path: str | None = None) -> HdfsFileSystem:
    """The filesystem that a path names, or that administrators mean without one."""
    if path is not None and "://" in path:
        fs = howdah.connect(path, conf=conf, laid_over=False)
    else:
        fs = administered(conf)
    if not isinstance(fs, HdfsFileSystem):
        raise Nonsense(f"IllegalArgumentException: FileSystem {fs.uri} is not an HDFS file system")
    return fs
