"""Options that callers may give, and what is said of the others (pure).

fsspec's filesystems take any keyword, so a typo passes in silence: a file is written with
three replicas where two were meant. Here an unknown storage option is a `TypeError`, as of any
function of Python, that names the nearest known one.

When a file is opened that holds for misspelt options only. Libraries bring along what they know
of other filesystems (dask's `default_cache`), which means nothing here.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

FILESYSTEM: Final = frozenset(
    (
        *("host", "port", "user", "replication", "block_size", "conf", "proxy_to"),
        *("keytab", "principal", "kerb_ticket", "ec_policy", "token_file"),
    )
)
# What fsspec itself takes out of the options of any filesystem, or hands on to it.
OF_FSSPEC: Final = frozenset(
    (
        "asynchronous",
        "batch_size",
        "listings_expiry_time",
        "loop",
        "max_paths",
        "skip_instance_cache",
        "use_listings_cache",
    )
)
READING: Final = frozenset(("cache_type", "cache_options", "block_size", "size"))
WRITING: Final = frozenset(("replication", "hdfs_block_size", "permission", "ec_policy"))
# What callers bring along for other filesystems, whichever the mode is: it means nothing.
ANYWHERE: Final = frozenset(("block_size", "blocksize", "cache_type", "cache_options", "size"))
# What other clients of HDFS call it.
_ELSEWHERE: Final = {
    "default_block_size": "block_size",
    "extra_conf": "conf",
    "hdfs_block_size": "block_size",
    "kerberos_ticket": "kerb_ticket",
    "ticket_cache": "kerb_ticket",
    "token": "token_file",
    "username": "user",
}
_SPELT_ALIKE: Final = 0.85


def check(given: Iterable[str], known: Iterable[str], subject: str) -> None:
    """Raise `TypeError` for the first of `given` that is not `known`."""
    names = sorted(known)
    for name in sorted(set(given) - set(names)):
        near = [_ELSEWHERE[name]] if _ELSEWHERE.get(name) in names else []
        near = near or difflib.get_close_matches(name, names, 1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(names)}"
        raise TypeError(f"{subject} takes no {name!r}{hint}")


def check_spelling(given: Iterable[str], known: Iterable[str], subject: str) -> None:
    """Raise `TypeError` for the first of `given` that is one of `known` misspelt.

    >>> check_spelling(["default_cache", "precache_options"], ["cache_options"], "opening /a")
    >>> check_spelling(["cache_optoins"], ["cache_options"], "opening /a")
    Traceback (most recent call last):
    TypeError: opening /a takes no 'cache_optoins'; did you mean 'cache_options'?
    """
    names = sorted(known)
    for name in sorted(set(given) - set(names)):
        for near in difflib.get_close_matches(name, names, 1, _SPELT_ALIKE):
            if abs(len(name) - len(near)) <= 1:
                raise TypeError(f"{subject} takes no {name!r}; did you mean {near!r}?")
