"""The entries of a directory that a word on the command line may become.

A shell waits for it while somebody types. So it ends after `TIMEOUT_S` whatever the cluster
does, tells at most `MOST` entries, and says nothing where nothing can be listed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

import howdah
from howdah.errors import HowdahError

if TYPE_CHECKING:
    from howdah.config import Configuration
    from howdah.fs.api import FileSystem

TIMEOUT_S: Final = 3.0
MOST: Final = 500


def candidates(typed: str, conf: Configuration, timeout_s: float = TIMEOUT_S) -> list[str]:
    """Return the paths that begin with `typed`, as far as they are known in time.

    A directory ends with a slash. Names with characters that cannot be shown are left out.
    """
    paths: list[str] = []

    def work() -> None:
        try:
            with howdah.connect(conf=conf) as fs:
                # One by one: what there is when the time is up counts.
                for path in islice(matching(fs, typed), MOST):
                    paths.append(path)
        except (HowdahError, OSError):
            # Nobody asked for anything yet: the command itself will say what is wrong.
            return

    asking = threading.Thread(target=work, name="completion", daemon=True)
    asking.start()
    asking.join(timeout_s)
    return list(paths)


def matching(fs: FileSystem, typed: str) -> Iterator[str]:
    """The entries of one directory whose paths begin with `typed`."""
    above, slash, begun = typed.rpartition("/")
    directory = above + slash or fs.home_directory()
    for status in fs.list_status_iter(directory):
        name = status.path.rpartition("/")[2]
        if name.startswith(begun) and name.isprintable():
            yield f"{above}{slash}{name}{'/' if status.is_directory else ''}"
