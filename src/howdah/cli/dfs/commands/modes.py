"""The modes that `chmod` understands (pure).

Hadoop's rules, which are not quite a Unix shell's:

1. Octal has three digits, or four of which the first is 0 or 1 for the sticky
   bit; three digits leave the sticky bit as it is.
2. Symbolic modes are `[ugoa…](+|-|=)[rwxXt…]` in a comma-separated list. No who
   means everyone; `a` beside another letter adds nothing; no umask is applied.
3. Each class (user, group, others, sticky bit) is changed by the last clause that
   names it, starting from the mode as it was: after `a=r,u+w` the user has what
   it had and `w`.
4. The sticky bit `t` belongs to the clauses that name others, or everyone.
5. `X` is execute for directories and for files that someone may execute already.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from howdah.cli.arguments.usage import UsageError

STICKY = 0o1000

_OCTAL = re.compile(r"\s*[+]?([01]?)([0-7]{3})\s*", re.ASCII)
_CLAUSE = r"[ugoa]*[+=-]+[rwxXt]+"
_SYMBOLIC = re.compile(rf"\s*{_CLAUSE}(?:\s*,\s*{_CLAUSE})*\s*")
_PARTS = re.compile(r"([ugoa]*)([+=-]+)([rwxXt]+)")
_SHIFTS = {"u": 6, "g": 3, "o": 0}
_BITS = {"r": 4, "w": 2, "x": 1, "X": 1, "t": 0}

Change = Callable[[int, bool], int]
"""The new mode for an old one; the flag says whether it is of a directory."""


def parse(text: str) -> Change:
    """Return the change that `chmod MODE` makes to a mode. Raises `UsageError` for an invalid one.

    >>> oct(parse("g+w,o=r")(0o755, False))
    '0o774'
    """
    octal = _OCTAL.fullmatch(text)
    if octal:
        return _octal(octal[1], int(octal[2], 8))
    if not _SYMBOLIC.fullmatch(text):
        raise UsageError(f"chmod : mode '{text}' does not match the expected pattern.")
    classes: dict[str, tuple[str, str]] = {}
    for part in _PARTS.finditer(text):
        operator, letters = part[2][-1], part[3]
        for who in part[1].replace("a", "") or "ugo":
            classes[who] = operator, letters

    def change(mode: int, directory: bool) -> int:
        may_execute = directory or bool(mode & 0o111)
        result = mode
        for who, (operator, letters) in classes.items():
            bits = 0
            for letter in letters:
                bits |= _BITS[letter] if letter != "X" or may_execute else 0
            shift = _SHIFTS[who]
            result = _combine(result, operator, bits << shift, 0o7 << shift)
            if who == "o":
                result = _combine(result, operator, STICKY if "t" in letters else 0, STICKY)
        return result

    return change


def _octal(sticky: str, bits: int) -> Change:
    def change(mode: int, directory: bool) -> int:
        kept = mode & STICKY if not sticky else STICKY * int(sticky)
        return kept | bits

    return change


def _combine(mode: int, operator: str, bits: int, mask: int) -> int:
    if operator == "+":
        return mode | bits
    if operator == "-":
        return mode & ~bits
    return mode & ~mask | bits
