"""The file of access keys of S3, as `howdah s3 keys` writes it (pure).

    # howdah access keys 1
    ACCESS_KEY SECRET_KEY USER

A line for each key. Secrets stand there as they are: who checks a signature of S3 needs them. Empty
lines and lines that begin with `#` say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from howdah import errors
from howdah.formats.malformed import MalformedRecord
from howdah.formats.passwords import check_user

HEADER: Final = "# howdah access keys 1\n"
_ACCESS: Final = re.compile(r"[A-Za-z0-9_.-]{3,128}\Z", re.ASCII)
_SECRET: Final = re.compile(r"[!-~]{8,128}\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class AccessKey:
    """One key, and whose it is."""

    access_key: str
    secret_key: str = field(repr=False)
    user: str

    def __post_init__(self) -> None:
        """Raises IllegalArgument."""
        if not _ACCESS.match(self.access_key):
            raise errors.IllegalArgument(
                "an access key has 3 to 128 letters, digits and _ . - in it, and nothing else"
            )
        if not _SECRET.match(self.secret_key):
            raise errors.IllegalArgument("a secret key has 8 to 128 characters, without blanks")
        check_user(self.user)


def parse(text: str) -> dict[str, AccessKey]:
    """Return the keys of a file by their names.

    Raises MalformedRecord, which names the line and shows nothing of it.

    >>> parse("# of nobody\\n\\n")
    {}
    """
    found: dict[str, AccessKey] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 3:
            raise MalformedRecord(f"line {number}: it is not ACCESS_KEY SECRET_KEY USER")
        try:
            key = AccessKey(*words)
        except errors.IllegalArgument as error:
            raise MalformedRecord(f"line {number}: {error.message}") from None
        if key.access_key in found:
            raise MalformedRecord(f"line {number}: this access key has a line already")
        found[key.access_key] = key
    return found


def written(access_keys: Iterable[AccessKey]) -> str:
    """Return the text of a file.

    >>> written([AccessKey("AK1", "12345678", "ann")])
    '# howdah access keys 1\\nAK1 12345678 ann\\n'
    """
    ordered = sorted(access_keys, key=lambda key: key.access_key)
    return HEADER + "".join(f"{key.access_key} {key.secret_key} {key.user}\n" for key in ordered)
