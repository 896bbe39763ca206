"""Files with secrets that a configuration names (shell: looks at them, and logs).

What others can read is said, and is no reason not to start: a container has files of its own, which
are everybody's there, and Hadoop's servers take such files. What others can write is refused, where
a secret lets its owner be anybody.
"""

from __future__ import annotations

import logging
import stat
from pathlib import Path
from typing import Final

from howdah import errors

log = logging.getLogger(__name__)

LEAST_BYTES: Final = 16
"""A shorter secret can be guessed by who has something that was signed by it."""


def refuse_if_others_write(path: Path, harm: str) -> None:
    """Refuse a file that others than its owner can write, whose `harm` it is.

    Raises InvalidConfiguration, OSError.
    """
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise errors.InvalidConfiguration(
            f"{path} can be written by others than its owner (mode {mode:04o}), who could {harm}: "
            "chmod go-w"
        )


def warn_of_named(value: str, what: str, harm: str) -> None:
    """The same of a file that a value names as `@FILE`. A file that is not there is not this one's
    to find."""
    if value.startswith("@") and Path(value[1:]).exists():
        warn_if_shared(Path(value[1:]), what, harm)


def warn_if_shared(path: Path, what: str, harm: str, *, may_group: bool = False) -> None:
    """Say so in the log if others than the owner can read or change a file. `what` it is, and the
    `harm` that whoever has it can do; with `may_group` its group is trusted.

    Raises OSError.
    """
    mode = stat.S_IMODE(path.stat().st_mode)
    if not mode & (stat.S_IRWXO if may_group else stat.S_IRWXO | stat.S_IRWXG):
        return
    log.warning(
        "%s %s can be read or changed by others than its owner (mode %04o), who can %s: "
        "chmod %s %s",
        what,
        path,
        mode,
        harm,
        "o=" if may_group else "600",
        path,
    )
