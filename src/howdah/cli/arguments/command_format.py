"""Options and arguments of a command as Hadoop's shells read them (pure).

Mirrors org.apache.hadoop.fs.shell.CommandFormat: options stand before the first path, each
in a word of its own (`-R -h`, never `-Rh`), `--` ends them, a lone `-` is an argument.
Administration commands take a value from wherever it stands (`take_value`). What is wrong
is said in Hadoop's words, as scripts match on them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from howdah.cli.arguments.usage import UsageError

UNLIMITED = 1 << 31


@dataclass(frozen=True, slots=True)
class Parsed:
    """The options that were given, values of those that take one, and the rest."""

    flags: frozenset[str]
    values: dict[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()

    def __contains__(self, flag: str) -> bool:
        return flag in self.flags

    def number(self, option: str, default: int) -> int:
        """The integer value of an option."""
        text = self.values.get(option)
        return default if text is None else integer(text)


def parse(
    arguments: list[str],
    *,
    flags: tuple[str, ...] = (),
    valued: tuple[str, ...] = (),
    optional: tuple[str, ...] = (),
    least: int = 0,
    most: int = UNLIMITED,
) -> Parsed:
    """Take the leading options off `arguments` and check how many are left.

    `flags` and `valued` are named without their dash; a name may begin with one
    itself (`-ignore-fail-on-non-empty`). An `optional` one takes the next word as
    its value if that can be neither an option nor a path nor the last argument.
    """
    given: set[str] = set()
    values: dict[str, str] = {}
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word == "--":
            break
        name = word[1:]
        if name in flags:
            given.add(name)
        elif name in valued:
            if not rest:
                break
            values[name] = rest.pop(0)
        elif name in optional:
            given.add(name)
            if len(rest) > 1 and not rest[0].startswith("-") and "/" not in rest[0]:
                values[name] = rest.pop(0)
        else:
            raise UsageError(f"Illegal option {word}")
    check_count(rest, least, most)
    return Parsed(frozenset(given), values, tuple(rest))


def check_count(arguments: list[str], least: int, most: int = UNLIMITED) -> None:
    """Refuse too few or too many arguments."""
    if len(arguments) < least:
        raise UsageError(f"Not enough arguments: expected {least} but got {len(arguments)}")
    if len(arguments) > most:
        raise UsageError(f"Too many arguments: expected {most} but got {len(arguments)}")


def take_value(arguments: list[str], option: str) -> tuple[str | None, list[str]]:
    """The word behind `option`, wherever that stands, and the other arguments.

    >>> take_value(["-path", "/a", "b"], "-path")
    ('/a', ['b'])
    """
    if option not in arguments:
        return None, arguments
    place = arguments.index(option)
    if place + 1 == len(arguments):
        raise UsageError(f"option {option} requires 1 argument.")
    return arguments[place + 1], arguments[:place] + arguments[place + 2 :]


def integer(text: str) -> int:
    """A decimal integer, refused in the words of Java's number parser."""
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit()):
        raise UsageError(f'For input string: "{text}"')
    return int(text)


def short_integer(text: str) -> int:
    """One of Java's 16 bits, refused in the words of its parser."""
    value = integer(text)
    if not -(1 << 15) <= value < 1 << 15:
        raise UsageError(f'Value out of range. Value:"{text}" Radix:10')
    return value
