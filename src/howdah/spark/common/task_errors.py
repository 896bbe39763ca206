"""What a task can fail by, and how it says so to the driver: class and message, in a row.

A task that fails ends well as far as Spark knows, and its row names the error. So the driver
raises the error as it was, with its class, and reads no stack traces of Java.
"""

from __future__ import annotations

from typing import Final

from howdah import errors
from howdah.fs import paths

# What another try within the same second will not change.
PERMANENT: Final = (
    errors.PathNotFound,
    errors.InvalidPath,
    errors.AccessDenied,
    errors.UnsupportedOperation,
    errors.QuotaExceeded,
    errors.PathIsDirectory,
    errors.PathComponentTooLong,
    errors.SafeMode,
)


class CopyFailed(errors.HowdahError, OSError):
    """A file could not be copied; the message says in a line which, where to, and why."""

    def __init__(self, message: str) -> None:
        super().__init__(paths.shown(message))


class ReadFailed(CopyFailed):
    """The source could not be read: what `-i` lets pass."""

    java_class = "org.apache.hadoop.tools.mapred.RetriableFileCopyCommand$CopyReadException"


class SourceChanged(CopyFailed):
    """The source was changed again and again while it was copied."""


class SourceGone(CopyFailed):
    """What was named to be copied is not there any more, or something else is in its place.
    Nothing lets that pass, and nothing is deleted for it."""


FAILURES: Final = (errors.HowdahError, OSError)
"""What a task makes a row of. Anything else is a defect, and left to Spark."""
_OWN: Final = {kind.__name__: kind for kind in (CopyFailed, ReadFailed, SourceChanged, SourceGone)}


def name_of(error: Exception) -> str:
    """The class of an error, as it is told."""
    return type(error).__name__


def text_of(error: Exception) -> str:
    """What an error says, in a line that Arrow takes: names need not be UTF-8."""
    return paths.shown(str(error))


def error_of(name: str, message: str) -> errors.HowdahError:
    """The error that was told. One that is not ours has its class in the message."""
    kind = _OWN.get(name) or getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, errors.HowdahError):
        return kind(message)
    return CopyFailed(f"{name}: {message}")
