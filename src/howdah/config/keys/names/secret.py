"""Which keys have values that nobody is shown (pure)."""

from __future__ import annotations

import re
from typing import Final

HIDDEN: Final = "<redacted>"
_SECRET: Final = re.compile(
    r"(access|secret|account|encryption|shared)[.-]?key(\..*)?$|session\.token$|passw(or)?d$|"
    r"\.secret(\..*)?$|refresh\.token(\..*)?$|^fs\.azure\.sas\.",
    re.IGNORECASE,
)


def is_secret(name: str) -> bool:
    """Whether the value of a key opens something.

    >>> is_secret("fs.s3a.bucket.b.secret.key"), is_secret("fs.s3a.endpoint")
    (True, False)
    """
    return _SECRET.search(name) is not None
