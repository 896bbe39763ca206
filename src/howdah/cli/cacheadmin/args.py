"""Words behind a command as Hadoop's StringUtils pops them, and what they stand for."""

from __future__ import annotations

from typing import Final

from howdah.fs.hdfs.caching import NEVER_MS

_UNITS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


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


def ttl_ms_of(words: Words, option: str) -> int | None:
    """Milliseconds of "30m" and the like."""
    text = words.value(option)
    if text is None:
        return None
    if text.lower() == "never":
        return NEVER_MS
    said = f"Error while parsing {option[1:]} value: Unable to parse relative time value of {text}"
    if len(text) < 2:
        raise Wrong(f"{said}: too short")
    number, unit = text[:-1], text[-1]
    try:
        value = number_of(number)
    except Nonsense:
        raise Wrong(f"{said}: {number} is not a number") from None
    if unit not in _UNITS:
        raise Wrong(f"{said}: unknown time unit {unit}")
    return value * _UNITS[unit]


def checked_path(path: str) -> str:
    if not path:
        raise Nonsense("IllegalArgumentException: Can not create a Path from an empty string")
    return path
