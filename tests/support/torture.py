"""How long the long tests are: `HOWDAH_TORTURE=10 ./dev torture` for ten times as many histories.

At 1, the default, all of `./dev torture` is an affair of two hours and more on two cores, so that
it can be run before each release. Tests that try every case there is don't look at it.
"""

from __future__ import annotations

import os


def times(count: int) -> int:
    """So many examples, or as many times more as the environment says.

    Raises ValueError if that is no number of at least 1.

    >>> times(50)
    50
    """
    told = os.environ.get("HOWDAH_TORTURE", "1")
    if not told.isdecimal() or int(told) < 1:
        raise ValueError(f"HOWDAH_TORTURE={told}: how many times as many histories, 1 or more")
    return count * int(told)
