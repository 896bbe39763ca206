"""What is called how in a user's trash (pure). Clients and the namenode agree on it.

    /user/NAME/.Trash/Current          what was deleted last
    /user/NAME/.Trash/261121063004     a checkpoint: a `Current` that was closed then
    /user/NAME/.Trash/261121063004-1   another one of the same second

The time is local time.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

TRASH_NAME: Final = ".Trash"
CURRENT_NAME: Final = "Current"
MOST_CHECKPOINTS_A_SECOND: Final = 1000
_FORMAT: Final = "%y%m%d%H%M%S"
_OLD_FORMAT: Final = "%y%m%d%H%M"


def checkpoint_name(now_s: float, attempt: int = 0) -> str:
    """The name of a checkpoint that is made now."""
    name = datetime.fromtimestamp(now_s).strftime(_FORMAT)
    return f"{name}-{attempt}" if attempt else name


def checkpoint_time_s(name: str) -> float | None:
    """When a checkpoint was made, None for a name that is no checkpoint's.

    Names without seconds are those of Hadoop before 2.7.
    """
    stamp = name.partition("-")[0]
    for length, layout in ((12, _FORMAT), (10, _OLD_FORMAT)):
        if len(stamp) == length and stamp.isascii() and stamp.isdigit():
            try:
                return datetime.strptime(stamp, layout).timestamp()
            except ValueError:
                return None
    return None
