"""The modes that `chmod` understands (pure).

Hadoop's rules: octal has three digits, or four of which the first is 0 or 1 for
the sticky bit; three digits leave the sticky bit as it is. Symbolic modes are
`[ugoa…](+|-|=)[rwxXt…]` in a comma-separated list, where no who means everyone
and no umask is applied. `X` is execute for directories and for files that
someone may execute already. `t` is the sticky bit, whoever is named.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from howdah.cli.dfs.problems import UsageProblem

STICKY = 0o1000

_OCTAL = re.compile(r"\s*[+]?([01]?)([0-7]{3})\s*", re.ASCII)
_CLAUSE = r"[ugoa]*[+=-]+[rwxXt]+"
_SYMBOLIC = re.compile(rf"\s*{_CLAUSE}(?:\s*,\s*{_CLAUSE})*\s*")
_PARTS = re.compile(r"([ugoa]*)([+=-]+)([rwxXt]+)")
_WHO = {"u": 0o700, "g": 0o070, "o": 0o007, "a": 0o777}
_BITS = {"r": 0o444, "w": 0o222, "x": 0o111}

Change = Callable[[int, bool], int]
"""The new mode for an old one; the flag says whether it is of a directory."""


def parse(text: str) -> Change:
    """What `chmod MODE` does to a mode; `UsageProblem` for what is none.

    >>> oct(parse("g+w,o=r")(0o755, False))
    '0o774'
    """
    octal = _OCTAL.fullmatch(text)
    if octal:
        return _octal(octal[1], int(octal[2], 8))
    if not _SYMBOLIC.fullmatch(text):
        raise UsageProblem(f"chmod : mode '{text}' does not match the expected pattern.")
    clauses = [(found[1], found[2][-1], found[3]) for found in _PARTS.finditer(text)]

    def change(mode: int, directory: bool) -> int:
        before = mode
        for who, operator, letters in clauses:
            mode = _apply(mode, who, operator, letters, directory or bool(before & 0o111))
        return mode

    return change


def _octal(sticky: str, bits: int) -> Change:
    def change(mode: int, directory: bool) -> int:
        kept = mode & STICKY if not sticky else STICKY * int(sticky)
        return kept | bits

    return change


def _apply(mode: int, who: str, operator: str, letters: str, may_execute: bool) -> int:
    mask = 0
    for letter in who or "a":
        mask |= _WHO[letter]
    bits = 0
    for letter in letters:
        if letter == "X":
            bits |= 0o111 if may_execute else 0
        elif letter != "t":
            bits |= _BITS[letter]
    bits &= mask
    sticky = STICKY if "t" in letters else 0
    if operator == "+":
        return mode | bits | sticky
    if operator == "-":
        return mode & ~(bits | sticky)
    return mode & ~(mask | STICKY) | bits | sticky
