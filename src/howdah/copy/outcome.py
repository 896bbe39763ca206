"""The outcome of a copy: its sums, and the errors by which it fails, with Hadoop's exit codes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Final

from howdah import errors
from howdah.copy.counters import Counters
from howdah.copy.layout import InvalidInput
from howdah.copy.listing.entries import Totals
from howdah.copy.options import InvalidOptions
from howdah.copy.preserving import AclsNotSupported, XAttrsNotSupported

SUCCESS: Final = 0
INVALID_ARGUMENT: Final = -1
DUPLICATE_INPUT: Final = -2
ACLS_NOT_SUPPORTED: Final = -3
XATTRS_NOT_SUPPORTED: Final = -4
UNKNOWN_ERROR: Final = -999


class DuplicateFile(errors.HowdahError, ValueError):
    """Two sources would be copied to the same path."""

    java_class = "org.apache.hadoop.tools.CopyListing$DuplicateFileException"


class ListingChanged(errors.HowdahError, RuntimeError):
    """The rows that tasks copied are not the rows that were listed."""


def exit_code(error: Exception) -> int:
    """Hadoop's exit code for an error. A shell sees it modulo 256."""
    match error:
        case InvalidOptions() | InvalidInput():
            return INVALID_ARGUMENT
        case DuplicateFile():
            return DUPLICATE_INPUT
        case AclsNotSupported():
            return ACLS_NOT_SUPPORTED
        case XAttrsNotSupported():
            return XATTRS_NOT_SUPPORTED
        case _:
            return UNKNOWN_ERROR


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a copy."""

    counters: Counters
    listed: Totals
    seconds: float
    tasks: int
    notes: tuple[str, ...] = field(default=())

    def to_json(self) -> str:
        return json.dumps(
            {
                "counters": self.counters.as_dict(),
                "listed": asdict(self.listed),
                "seconds": round(self.seconds, 3),
                "tasks": self.tasks,
                "notes": list(self.notes),
            }
        )
